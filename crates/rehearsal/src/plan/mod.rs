//! Plays a crowd on the rules of the line in virtual time: no socket, no sleep.
//!
//! The visitors are those of a rehearsal and so are the rules; only the answers come from the line itself. A visitor far
//! from the front asks hundreds of times and hears nothing that changes what they do, so such questions are counted and
//! not played: they are asked again when half of their expected wait is over, or at the first one after they are let in,
//! whichever is first. That is what lets a million wait for an hour within a minute.

mod gate;
mod rates;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use vestibule_core::line::LineRules;

use self::gate::VirtualGate;
use self::rates::Rates;
use crate::cast::Cast;
use crate::cost::Sheet;
use crate::crowd::Crowd;
use crate::moment::Moment;
use crate::tally::Tally;
use crate::visitor::{Counted, Event, Question, Story};

/// Seconds between two purges.
const PURGE_EVERY: f64 = 5.0;
/// Longest time that a plan looks ahead, in seconds: two days.
const LONGEST: f64 = 172_800.0;

/// What was played.
pub struct Planned {
    /// What became of everybody.
    pub stories: Vec<Story>,
    /// What was counted.
    pub tally: Tally,
    /// When the last of them was gone.
    pub lasted: Moment,
    /// Whether everybody was served within the time that a plan looks ahead.
    pub over: bool,
}

/// Plays a crowd before a line with these rules.
#[must_use]
pub fn plan(crowd: Crowd, rules: &LineRules) -> Planned {
    Street::new(crowd, rules).run()
}

struct Street {
    cast: Cast,
    gate: VirtualGate,
    tally: Tally,
    rates: Rates,
    /// When the presence of those lapses who fell silent.
    lapses: BinaryHeap<Reverse<(Moment, u32)>>,
    purge: Moment,
    now: Moment,
}

impl Street {
    fn new(crowd: Crowd, rules: &LineRules) -> Self {
        Self {
            gate: VirtualGate::new(&crowd, rules),
            cast: Cast::new(crowd),
            tally: Tally::default(),
            rates: Rates::default(),
            lapses: BinaryHeap::new(),
            purge: Moment(0),
            now: Moment(0),
        }
    }

    fn run(mut self) -> Planned {
        let mut due = Vec::new();
        while !self.cast.is_over() && self.now < Moment::of_seconds(LONGEST) && self.cast.wheel.next_due(&mut due) {
            due.sort_by_key(|(at, _)| *at);
            for (at, visitor) in due.drain(..) {
                self.pass(at);
                if self.cast.is_due(visitor, at) {
                    self.wake(visitor);
                }
            }
        }
        self.weigh();
        let over = self.cast.is_over();
        self.rates.write(&mut self.tally);
        Planned { stories: self.cast.into_stories(), tally: self.tally, lasted: self.now, over }
    }

    /// Time passes: who fell silent lapses, and the purge runs.
    fn pass(&mut self, until: Moment) {
        while let Some(Reverse((at, visitor))) = self.lapses.peek().copied().filter(|Reverse((at, _))| *at <= until) {
            self.lapses.pop();
            self.now = self.now.max(at);
            if self.gate.lapse(self.now, visitor, at) {
                self.follow(None);
            }
        }
        self.now = self.now.max(until);
        if self.now >= self.purge {
            self.purge = self.now.after(PURGE_EVERY);
            self.gate.purge(self.now);
            self.follow(None);
        }
    }

    fn wake(&mut self, visitor: u32) {
        let waited = self.cast.of(visitor).is_in_line();
        let mut ask = self.cast.step(visitor, self.now, Event::Time);
        self.uncount(visitor);
        if ask.is_none() && waited && !self.cast.of(visitor).is_in_line() {
            let lapses = self.gate.falls_silent(self.now, visitor);
            self.lapses.push(Reverse((lapses, visitor)));
        }
        while let Some(asked) = ask {
            self.rates.add(self.now);
            let heard = self.gate.ask(self.now, visitor, asked.question, self.cast.of(visitor).is_endless());
            let before = self.cast.of(visitor).story().requests;
            ask = self.cast.step(visitor, self.now, Event::Answer(&heard, self.now));
            let skipped = self.cast.of(visitor).story().requests - before - u32::from(ask.is_some());
            if skipped > 0 {
                self.rates.spread(self.now, self.cast.of(visitor).wakes(), f64::from(skipped));
            }
            self.follow(Some(visitor));
            if asked.question == Question::Leave {
                self.gate.forget(visitor);
            }
        }
    }

    /// Those who were just let in hear of it when they ask next, which is sooner than they were counted to.
    fn follow(&mut self, asking: Option<u32>) {
        while let Some((visitor, within_ms)) = self.gate.next_admitted(self.now) {
            if asking != Some(visitor) {
                self.cast.hurry(visitor, self.now, within_ms);
                self.uncount(visitor);
            }
        }
    }

    /// Takes back what was counted ahead and is not asked after all.
    fn uncount(&mut self, visitor: u32) {
        if let Some(Counted { from, until, questions, .. }) = self.cast.take_uncounted(visitor) {
            self.rates.spread(from, until, -f64::from(questions));
        }
    }

    /// Bytes are not sent, so they are those that the costs take for granted.
    fn weigh(&mut self) {
        let assumed = Sheet::built_in().load;
        let joined = self.cast.stories().filter(|story| story.joined.is_some()).count() as f64;
        let asked = self.rates.sum();
        self.tally.sent_bytes = (asked * assumed.bytes_of_a_poll_s_request) as u64;
        self.tally.heard_bytes = (asked * assumed.bytes_of_a_poll_s_answer + joined * assumed.bytes_to_join) as u64;
    }
}

#[cfg(test)]
mod tests {
    use vestibule_core::line::Mode;

    use super::*;
    use crate::arrivals::Arrivals;
    use crate::crowd::{Habits, Shopping};
    use crate::figures::account_of;
    use crate::observe::Observation;

    pub(super) fn rules(quota: u64) -> LineRules {
        LineRules {
            mode: Mode::Open,
            quota,
            admissions_per_minute: None,
            waiting_ttl: 60,
            active_ttl: 600,
            claim_ttl: 30,
            hold_ttl: 600,
            max_session: None,
            credential_ttl: 2,
            epoch: 1,
            revision: 1,
        }
    }

    #[test]
    fn polls_that_are_counted_change_nothing() {
        // A short line, whose pace is hardly known; one of some minutes; and one that is known well.
        for (visitors, quota, shopping) in [(480, 80, (2.0, 6.0)), (800, 100, (10.0, 30.0)), (1000, 50, (30.0, 90.0))] {
            let habits = Habits { second_tab: 0.1, ..Habits::steadfast(Shopping::Uniform(shopping.0, shopping.1)) };
            let crowd = Crowd { visitors, arrivals: Arrivals::Burst(5.0), habits, seed: 3 };
            let figures = |street: Street| {
                let Planned { stories, tally, lasted, .. } = street.run();
                account_of(&stories, &tally, Some(quota), lasted, true, &Observation::default()).figures
            };
            let street = || Street::new(crowd.clone(), &rules(quota));
            let exact = Street { gate: street().gate.exact(), ..street() };
            let (counted, played) = (figures(street()), figures(exact));
            for (name, bound) in [("wait_p50", 0.04), ("wait_p90", 0.04), ("wait_longest", 0.04), ("requests", 0.08)] {
                let (one, other) = (counted.value(name).unwrap(), played.value(name).unwrap());
                println!("{visitors}: {name}: {one} counted, {other} played");
                assert!((one / other - 1.0).abs() < bound, "{visitors}: {name}: {one} counted, {other} played");
            }
        }
    }
}
