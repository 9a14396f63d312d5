//! Events in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use vestibule_core::{MICROS_PER_SECOND, Micros, SessionId};

/// What can happen. Visitors are named by their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The queue page or the site asks, from one of the visitor's tabs.
    Poll(usize),
    /// The visitor closes the queue page for good.
    Close(usize),
    /// The visitor's phone falls asleep.
    Sleep(usize),
    /// It wakes.
    Wake(usize),
    /// The visitor has finished shopping.
    Finish(usize),
    /// The time to claim a slot ends for a visitor admitted while away.
    ClaimEnds(SessionId),
    /// A robot without cookies requests the page.
    Robot,
    /// The purge runs.
    Purge,
    /// An operator sets the quota.
    SetQuota(u64),
    /// The store loses its state, and the gate restores the settings.
    Flush,
}

/// Pending events. Events at the same instant keep their insertion order.
#[derive(Default)]
pub(crate) struct EventQueue {
    events: BinaryHeap<Reverse<(Micros, u64, Event)>>,
    put: u64,
}

impl EventQueue {
    pub(crate) fn at(&mut self, instant: Micros, event: Event) {
        self.put += 1;
        self.events.push(Reverse((instant, self.put, event)));
    }

    pub(crate) fn next(&mut self) -> Option<(Micros, Event)> {
        self.events.pop().map(|Reverse((instant, _, event))| (instant, event))
    }
}

/// The instant this many seconds later.
pub(crate) fn later(now: Micros, seconds: f64) -> Micros {
    Micros(now.0 + (seconds.max(0.0) * MICROS_PER_SECOND as f64) as u64)
}
