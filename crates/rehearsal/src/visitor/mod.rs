//! One visitor: a small state machine that is told the time and what it heard, and says what it does next.
//!
//! It knows no clock, no socket and no gate. `rehearse` steps it with real time and real answers, `plan` with virtual
//! time and answers of the rules themselves, so that both play the same crowd.

mod exchange;
mod line;
mod shop;
mod story;
#[cfg(test)]
mod tests;

pub use exchange::{Ask, Heard, Question, ReportedStatus, Stretch};
pub use story::{Promise, Story};

use crate::chance::Chance;
use crate::crowd::{Crowd, Habits, Intent, Kind};
use crate::moment::Moment;

/// Where a visitor is, as far as they know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not there yet, or on the way back.
    Outside,
    /// In line, the queue page open.
    InLine,
    /// In line, the phone in the pocket.
    Asleep,
    /// ReportedStatus that it is their turn, and about to go in.
    Called,
    /// On the site.
    Shopping,
    /// Never to come back.
    Gone,
}

/// What a visitor does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Asks the gate.
    Ask(Ask),
    /// Does nothing until then.
    Rest(Moment),
    /// Is gone for good.
    Gone,
}

/// What happens to a visitor.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The time has come that they rested until.
    Time,
    /// The answer to what they asked, and when that was sent.
    Answer(&'a Heard, Moment),
}

/// A visitor.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub(crate) intent: Intent,
    pub(crate) chance: Chance,
    pub(crate) phase: Phase,
    pub(crate) asked: Ask,
    pub(crate) timers: Timers,
    pub(crate) failures: u8,
    pub(crate) pages: u32,
    /// The session, position and arrival that they were told last; 0 before they were told any.
    pub(crate) session: u64,
    pub(crate) position: u32,
    pub(crate) joined_at: u64,
    /// Until when the gate said it keeps them present.
    pub(crate) present_until: Moment,
    /// Questions that are only counted, from when on and until when.
    pub(crate) counted: Counted,
    /// Of them, those that are not made after all.
    pub(crate) uncounted: Option<Counted>,
    /// For how long a visit keeps the place on the site, as far as they were told; 0 is unknown.
    pub(crate) kept_ms: u32,
    story: Story,
}

/// Questions that are made evenly between two instants, and only counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Counted {
    pub(crate) from: Moment,
    /// When the first of them is made.
    pub(crate) first: Moment,
    pub(crate) until: Moment,
    pub(crate) questions: u32,
}

/// What is due when; [`Moment::NEVER`] is never.
#[derive(Debug, Clone)]
pub(crate) struct Timers {
    /// The next question: to come, to poll, to wake, to go in.
    pub(crate) ask: Moment,
    pub(crate) close: Moment,
    pub(crate) sleep: Moment,
    pub(crate) reload: Moment,
    pub(crate) page: Moment,
    pub(crate) keepalive: Moment,
    pub(crate) finish: Moment,
}

impl Visitor {
    /// The visitor of this number, who rests until the arrival.
    #[must_use]
    pub fn new(crowd: &Crowd, number: u32) -> Self {
        let mut chance = Chance::of(crowd.seed, number);
        let intent = crowd.intent(&mut chance);
        let never = Moment::NEVER;
        let timers = Timers {
            ask: intent.comes,
            close: never,
            sleep: never,
            reload: never,
            page: never,
            keepalive: never,
            finish: never,
        };
        Self {
            chance,
            phase: Phase::Outside,
            asked: Ask::of(Question::Enter),
            timers,
            failures: 0,
            pages: 0,
            session: 0,
            position: 0,
            joined_at: 0,
            present_until: Moment::NEVER,
            counted: Counted::default(),
            uncounted: None,
            kept_ms: 0,
            story: Story::of(intent.kind),
            intent,
        }
    }

    /// When the visitor acts next by themselves.
    #[must_use]
    pub fn wakes(&self) -> Moment {
        let timers = &self.timers;
        let all = [timers.close, timers.sleep, timers.reload, timers.page, timers.keepalive, timers.finish];
        all.into_iter().fold(timers.ask, Moment::min)
    }

    /// What became of the visitor so far.
    #[must_use]
    pub const fn story(&self) -> &Story {
        &self.story
    }

    /// What became of the visitor.
    #[must_use]
    pub fn into_story(self) -> Story {
        self.story
    }

    /// Whether the visitor is gone for good.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.phase == Phase::Gone
    }

    /// Whether the visitor asks by themselves for ever, and is not waited for.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.intent.kind == Kind::Bot
    }

    /// Whether the queue page is open.
    #[must_use]
    pub fn is_in_line(&self) -> bool {
        self.phase == Phase::InLine
    }

    /// The one step: what the visitor does at `now`, when this happens.
    pub fn step(&mut self, now: Moment, event: Event<'_>, habits: &Habits) -> Next {
        match event {
            Event::Time => self.act(now, habits),
            Event::Answer(heard, sent) => {
                if self.intent.kind == Kind::Bot {
                    self.bot_hears(now, heard, habits)
                } else {
                    self.hear(now, sent, heard, habits)
                }
            }
        }
    }

    /// They are let in; for virtual time, which skips questions that change nothing. Of those that are only counted, the
    /// next one is asked: the first when they were told to, a later one within so many milliseconds. Returns whether that is
    /// earlier than they meant to ask.
    pub(crate) fn hurry(&mut self, now: Moment, within_ms: u32, habits: &Habits) -> bool {
        let Counted { first, questions, .. } = self.counted;
        let at = if now < first { first } else { now.after_ms(self.interval(within_ms, habits)) };
        let earlier = questions > 0 && at < self.timers.ask;
        if earlier {
            self.uncount(at);
            self.timers.ask = at;
        }
        earlier
    }

    /// What was counted ahead is not asked from `now` on.
    pub(crate) fn uncount(&mut self, now: Moment) {
        let Counted { from, first, until, questions } = std::mem::take(&mut self.counted);
        let from_now = from.max(now);
        if questions > 0 && from_now < until {
            let left = f64::from(questions + 1) * until.since(from_now) / until.since(from);
            let questions = questions.min(left.round() as u32);
            self.story.requests = self.story.requests.saturating_sub(questions);
            self.uncounted = Some(Counted { from: from_now, first, until, questions });
        }
    }

    /// Questions that were counted and are not made after all, since this was asked last.
    pub(crate) fn take_uncounted(&mut self) -> Option<Counted> {
        self.uncounted.take()
    }

    fn act(&mut self, now: Moment, habits: &Habits) -> Next {
        match self.phase {
            Phase::Outside | Phase::Called => self.enter(now),
            Phase::InLine => self.act_in_line(now, habits),
            Phase::Asleep => self.wake(now, habits),
            Phase::Shopping => self.act_in_shop(now),
            Phase::Gone => Next::Gone,
        }
    }

    fn hear(&mut self, now: Moment, sent: Moment, heard: &Heard, habits: &Habits) -> Next {
        if matches!(heard, Heard::Failed { .. }) {
            self.story.failures = self.story.failures.saturating_add(1);
        } else {
            self.failures = 0;
        }
        match self.asked.question {
            Question::Enter | Question::Page => self.hear_page(now, sent, heard, habits),
            Question::Poll => self.hear_poll(now, sent, heard, habits),
            Question::Keepalive => self.hear_keepalive(now, sent, heard),
            Question::Away => self.hear_away(now, habits),
            Question::Leave => self.vanish(),
        }
    }

    /// A robot asks for the page again and again, as somebody new each time.
    fn bot_hears(&mut self, now: Moment, heard: &Heard, habits: &Habits) -> Next {
        match heard {
            Heard::Through => self.story.passages = self.story.passages.saturating_add(1),
            Heard::Failed { .. } => self.story.failures = self.story.failures.saturating_add(1),
            _ => {}
        }
        self.timers.ask = now.after(self.chance.exponential(habits.bots_every).max(0.05));
        Next::Rest(self.timers.ask)
    }

    pub(crate) fn enter(&mut self, now: Moment) -> Next {
        self.timers.ask = Moment::NEVER;
        self.notice_absence(now);
        self.ask(Question::Enter)
    }

    pub(crate) fn ask(&mut self, question: Question) -> Next {
        self.asked = Ask::of(question);
        self.count(1);
        Next::Ask(self.asked)
    }

    pub(crate) fn count(&mut self, questions: u32) {
        self.story.requests = self.story.requests.saturating_add(questions);
    }

    pub(crate) fn rest(&self) -> Next {
        Next::Rest(self.wakes())
    }

    pub(crate) fn vanish(&mut self) -> Next {
        self.phase = Phase::Gone;
        Next::Gone
    }

    /// Who asks later than the gate keeps them present was absent: others may have gone first.
    pub(crate) fn notice_absence(&mut self, now: Moment) {
        if self.story.joined.is_some() && self.story.admitted.is_none() && now > self.present_until {
            self.story.absent = true;
        }
    }

    /// How long a browser waits after a request without an answer: twice as long each time, as the queue page does.
    pub(crate) fn back_off(&mut self, now: Moment, retry_after_ms: u32) -> Moment {
        let backoff = BACKOFF_MAX_S.min(BACKOFF_FIRST_S * f64::from(1_u32 << self.failures.min(8)));
        self.failures = self.failures.saturating_add(1);
        now.after((backoff * self.chance.between(0.5, 1.0)).max(f64::from(retry_after_ms) / 1000.0))
    }
}

/// What `queue.js` waits after the first request without an answer, and at most.
const BACKOFF_FIRST_S: f64 = 2.0;
const BACKOFF_MAX_S: f64 = 30.0;
