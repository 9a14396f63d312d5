//! All visitors of a crowd, and whom to wake next.

use crate::crowd::Crowd;
use crate::moment::Moment;
use crate::visitor::{Ask, Counted, Event, Next, Story, Visitor};
use crate::wheel::Wheel;

/// The visitors, on a timer wheel.
pub(crate) struct Cast {
    crowd: Crowd,
    visitors: Vec<Visitor>,
    pub(crate) wheel: Wheel,
    /// People who are not gone yet; robots are not waited for.
    left: u32,
}

impl Cast {
    pub(crate) fn new(crowd: Crowd) -> Self {
        let visitors: Vec<Visitor> = (0..crowd.visitors).map(|number| Visitor::new(&crowd, number)).collect();
        let mut wheel = Wheel::default();
        for (number, visitor) in visitors.iter().enumerate() {
            wheel.put(visitor.wakes(), number as u32);
        }
        let left = visitors.iter().filter(|visitor| !visitor.is_endless()).count() as u32;
        Self { crowd, visitors, wheel, left }
    }

    pub(crate) fn of(&self, number: u32) -> &Visitor {
        &self.visitors[number as usize]
    }

    /// Whether somebody is still there whom it is all for.
    pub(crate) const fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Steps a visitor. What they ask is for the caller to ask; if they rest, they are woken.
    pub(crate) fn step(&mut self, number: u32, now: Moment, event: Event<'_>) -> Option<Ask> {
        let visitor = &mut self.visitors[number as usize];
        let was_gone = visitor.is_gone();
        match visitor.step(now, event, &self.crowd.habits) {
            Next::Ask(ask) => return Some(ask),
            Next::Rest(until) if until < Moment::NEVER => self.wheel.put(until, number),
            Next::Rest(_) | Next::Gone => {}
        }
        if self.visitors[number as usize].is_gone() && !was_gone && !self.visitors[number as usize].is_endless() {
            self.left -= 1;
        }
        None
    }

    /// Whether a wake-up is still what the visitor waits for.
    pub(crate) fn is_due(&self, number: u32, at: Moment) -> bool {
        self.of(number).wakes() == at
    }

    /// A visitor who waits is let in, and hears of it at the next question that is only counted: [`Visitor::hurry`].
    pub(crate) fn hurry(&mut self, number: u32, now: Moment, within_ms: u32) {
        let visitor = &mut self.visitors[number as usize];
        if visitor.is_in_line() && visitor.hurry(now, within_ms, &self.crowd.habits) {
            self.wheel.put(visitor.wakes(), number);
        }
    }

    /// Questions of a visitor that were counted and are not made after all.
    pub(crate) fn take_uncounted(&mut self, number: u32) -> Option<Counted> {
        self.visitors[number as usize].take_uncounted()
    }

    pub(crate) fn stories(&self) -> impl Iterator<Item = &Story> {
        self.visitors.iter().map(Visitor::story)
    }

    pub(crate) fn into_stories(self) -> Vec<Story> {
        self.visitors.into_iter().map(Visitor::into_story).collect()
    }
}
