//! In line: polls, loads anew, sleeps, closes the page, and hears where they stand.

use vestibule_core::VisitorState;

use super::{Counted, Heard, Next, Phase, Promise, Question, ReportedStatus, Stretch, Visitor};
use crate::crowd::{Habits, Kind};
use crate::moment::Moment;

/// Seconds between hearing that it is one's turn and going in, as `queue.js` has it.
const ENTER_AFTER: f64 = 1.5;
/// Least seconds for which a phone sleeps.
const ASLEEP_LEAST: f64 = 20.0;
/// Share of a second tab's requests that go with the cookie before the last.
const OLDER_COOKIE: f64 = 0.3;
/// Seconds after the first promise from which another one is kept.
const LATER_PROMISE: f64 = 120.0;
/// The queue page asks again within two thirds of the time that the gate keeps the place, so it is kept for half as long again.
const PRESENT_BEYOND: f64 = 1.5;

impl Visitor {
    /// Whatever is due first while the queue page is open.
    pub(super) fn act_in_line(&mut self, now: Moment, habits: &Habits) -> Next {
        let first = self.wakes();
        if first > now {
            return self.rest();
        }
        self.uncount(now);
        if first == self.timers.close {
            return self.close(now);
        }
        if first == self.timers.sleep {
            return self.sleep(now, habits);
        }
        if first == self.timers.reload {
            // The browser closes the page and opens it again: the beacon goes first.
            self.timers.reload = Moment::NEVER;
            self.story.absent = true;
            return self.ask(Question::Away);
        }
        self.timers.ask = Moment::NEVER;
        self.notice_absence(now);
        let next = self.ask(Question::Poll);
        self.asked.older = self.intent.second_tab && self.chance.happens(OLDER_COOKIE);
        if let Next::Ask(_) = next { Next::Ask(self.asked) } else { next }
    }

    fn close(&mut self, now: Moment) -> Next {
        self.story.absent = true;
        self.hold_still();
        self.story.gave_up = self.intent.stays_away.is_none();
        if self.intent.tells {
            self.phase = Phase::Outside;
            return self.ask(Question::Away);
        }
        match self.intent.stays_away {
            Some(away) => {
                self.phase = Phase::Outside;
                self.timers.ask = now.after_ms(away.0);
                self.rest()
            }
            None => self.vanish(),
        }
    }

    fn sleep(&mut self, now: Moment, habits: &Habits) -> Next {
        self.story.absent = true;
        self.hold_still();
        self.phase = Phase::Asleep;
        self.timers.ask = now.after(self.chance.between(habits.asleep.min(ASLEEP_LEAST), habits.asleep));
        self.rest()
    }

    pub(super) fn wake(&mut self, now: Moment, habits: &Habits) -> Next {
        self.phase = Phase::InLine;
        self.timers.sleep = now.after(self.chance.exponential(habits.awake));
        self.timers.ask = Moment::NEVER;
        self.ask(Question::Poll)
    }

    fn hold_still(&mut self) {
        let never = Moment::NEVER;
        (self.timers.ask, self.timers.close, self.timers.sleep, self.timers.reload) = (never, never, never, never);
    }

    /// The beacon is away. It belongs to a page that was closed, or to one that is loaded anew.
    pub(super) fn hear_away(&mut self, now: Moment, habits: &Habits) -> Next {
        if self.phase == Phase::InLine {
            self.timers.reload = now.after(self.chance.exponential(habits.reload_every).max(1.0));
            return self.enter(now);
        }
        match self.intent.stays_away {
            Some(away) => {
                self.timers.ask = now.after_ms(away.0);
                self.rest()
            }
            None => self.vanish(),
        }
    }

    pub(super) fn hear_page(&mut self, now: Moment, sent: Moment, heard: &Heard, habits: &Habits) -> Next {
        match *heard {
            Heard::Through => self.hear_site(now, sent, habits),
            Heard::QueuePage { ticket: true, .. } if matches!(self.phase, Phase::Shopping | Phase::Called) => {
                self.evicted()
            }
            Heard::QueuePage { ask_after_ms, ticket: false } if self.phase == Phase::Shopping => {
                self.page_failed(now, ask_after_ms)
            }
            Heard::QueuePage { ask_after_ms, ticket: false } if self.phase == Phase::Called => {
                self.timers.ask = now.after_ms(ask_after_ms);
                self.rest()
            }
            Heard::QueuePage { ask_after_ms, ticket } => {
                self.phase = Phase::InLine;
                if ticket {
                    self.join_line(now, sent, habits);
                    self.story.waited = Some(sent);
                    self.present_until = now.after(f64::from(ask_after_ms) / 1000.0 * PRESENT_BEYOND);
                }
                self.timers.ask = now.after_ms(self.interval(ask_after_ms, habits));
                self.rest()
            }
            Heard::Failed { retry_after_ms } if self.phase == Phase::Shopping => self.page_failed(now, retry_after_ms),
            Heard::Failed { retry_after_ms } => {
                self.timers.ask = self.back_off(now, retry_after_ms);
                self.rest()
            }
            Heard::VisitorStatus(_) | Heard::Done => {
                self.timers.ask = self.back_off(now, 0);
                self.rest()
            }
        }
    }

    fn join_line(&mut self, now: Moment, sent: Moment, habits: &Habits) {
        if self.story.joined.is_none() {
            (self.story.came, self.story.joined) = (Some(sent), Some(now));
            self.timers.close = self.intent.closes.map_or(Moment::NEVER, |after| now.after_ms(after.0));
            if self.intent.reloads {
                self.timers.reload = now.after(self.chance.exponential(habits.reload_every).max(1.0));
            }
            if self.intent.sleeps {
                self.timers.sleep = now.after(self.chance.exponential(habits.awake));
            }
        }
    }

    /// Milliseconds until the next poll. Of two tabs each asks as often as it is told to.
    pub(super) fn interval(&self, told_ms: u32, habits: &Habits) -> u32 {
        match self.intent.kind {
            Kind::Flooder => (habits.flood_every * 1000.0) as u32,
            _ if self.intent.second_tab => told_ms / 2,
            _ => told_ms,
        }
    }

    pub(super) fn hear_poll(&mut self, now: Moment, sent: Moment, heard: &Heard, habits: &Habits) -> Next {
        let told = match heard {
            Heard::VisitorStatus(told) => told,
            Heard::Failed { retry_after_ms } => {
                self.timers.ask = self.back_off(now, *retry_after_ms);
                return self.rest();
            }
            Heard::Through | Heard::QueuePage { .. } | Heard::Done => {
                self.timers.ask = self.back_off(now, 0);
                return self.rest();
            }
        };
        self.watch_place(told);
        if told.session != 0 && told.state != VisitorState::Unavailable {
            // Who had a page without a ticket joins by its first poll.
            self.join_line(now, sent, habits);
        }
        match told.state {
            VisitorState::Admitted => {
                self.let_in(now, sent, told.expires_in);
                self.hold_still();
                self.phase = Phase::Called;
                self.timers.ask = now.after(ENTER_AFTER);
                self.rest()
            }
            VisitorState::Closed => {
                self.story.turned_away = true;
                self.vanish()
            }
            // The gate knows nothing of this page: it loads itself anew.
            VisitorState::Waiting | VisitorState::Paused if told.session == 0 => self.enter(now),
            _ => self.wait_on(now, sent, told, habits),
        }
    }

    fn wait_on(&mut self, now: Moment, sent: Moment, told: &ReportedStatus, habits: &Habits) -> Next {
        if told.state != VisitorState::Unavailable {
            self.story.waited = Some(sent);
        }
        if let Some(seconds) = told.expires_in {
            self.present_until = now.after(seconds as f64);
        }
        self.keep_promise(now, told);
        let interval = self.interval(told.poll_after_ms, habits).max(1);
        self.timers.ask = now.after_ms(interval);
        if let Some(stretch) = told.stretch.filter(|stretch| stretch.until > self.timers.ask) {
            self.skip(now, interval, stretch);
        }
        self.rest()
    }

    /// Counts what is not asked: all but the last question of the stretch, which is asked when it ends.
    fn skip(&mut self, now: Moment, interval_ms: u32, stretch: Stretch) {
        let all = match self.intent.kind {
            Kind::Flooder => (stretch.until.0.saturating_sub(now.0) / interval_ms) as f32,
            _ if self.intent.second_tab => stretch.questions * 2.0,
            _ => stretch.questions,
        };
        let questions = (all - 1.0).round() as u32;
        self.count(questions);
        self.counted = Counted { from: now, first: self.timers.ask, until: stretch.until, questions };
        self.timers.ask = stretch.until;
    }

    fn keep_promise(&mut self, now: Moment, told: &ReportedStatus) {
        let Some(wait) = told.wait else { return };
        let whole = |seconds: u64| u32::try_from(seconds).unwrap_or(u32::MAX);
        let promise = Promise { at: now, p50: whole(wait.p50), p90: whole(wait.p90) };
        match self.story.first_promise {
            None => self.story.first_promise = Some(promise),
            Some(first) if self.story.later_promise.is_none() && now.since(first.at) >= LATER_PROMISE => {
                self.story.later_promise = Some(promise);
            }
            Some(_) => {}
        }
    }

    /// Whether the place is still the one that was given out first.
    fn watch_place(&mut self, told: &ReportedStatus) {
        let waits = matches!(told.state, VisitorState::Waiting | VisitorState::Paused | VisitorState::Admitted);
        if !waits || told.session == 0 {
            return;
        }
        let changed = self.session != 0 && told.session != self.session;
        let moved = !changed && self.joined_at != 0 && told.joined_at > self.joined_at;
        // A tab with an older cookie may be shown more than the other one was, as its cookie says no better.
        let rose = !changed && !self.asked.older && self.position != 0 && told.position > self.position;
        self.story.losses = self.story.losses.saturating_add(u8::from(changed || moved || rose));
        self.session = told.session;
        self.joined_at = if self.joined_at == 0 || changed { told.joined_at } else { self.joined_at };
        if told.position != 0 {
            self.position = told.position;
        }
    }
}
