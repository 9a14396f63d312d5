//! The events of the current window and the one before.

use super::Counters;
use super::limits::LimitCounters;
use crate::join_counters::join_window;
use crate::time::Micros;

/// Events that are counted by window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowEvents {
    /// Pre-tickets issued to first visits.
    pub pre_tickets_issued: u64,
    /// Sessions that joined by a pre-ticket.
    pub pre_tickets_redeemed: u64,
    /// Rejected joins and joins above a limit.
    pub limits: LimitCounters,
    /// Tokens of accounts that were accepted.
    pub identities_accepted: u64,
    /// Tokens of accounts that were rejected.
    pub identities_rejected: u64,
}

/// The names of the counters before and after those of limits.
const NAMES_BEFORE: [&str; 2] = ["pre_tickets_issued", "pre_tickets_redeemed"];
const NAMES_AFTER: [&str; 2] = ["identities:accepted", "identities:rejected"];

impl WindowEvents {
    /// Number of events.
    pub const COUNT: usize = NAMES_BEFORE.len() + LimitCounters::COUNT + NAMES_AFTER.len();

    /// The events so far.
    pub fn of(counters: &Counters, limits: LimitCounters) -> Self {
        let Counters { pre_tickets_issued, pre_tickets_redeemed, identities_accepted, identities_rejected, .. } =
            *counters;
        Self { pre_tickets_issued, pre_tickets_redeemed, limits, identities_accepted, identities_rejected }
    }

    /// The names of their counters, in the order of [`WindowEvents::from_values`].
    pub fn names() -> [&'static str; Self::COUNT] {
        let limits = LimitCounters::default().named().map(|(name, _)| name);
        let mut names = NAMES_BEFORE.into_iter().chain(limits).chain(NAMES_AFTER);
        std::array::from_fn(|_| names.next().unwrap_or_default())
    }

    fn values(&self) -> [u64; Self::COUNT] {
        let limits = self.limits.named().map(|(_, count)| count);
        let before = [self.pre_tickets_issued, self.pre_tickets_redeemed];
        let after = [self.identities_accepted, self.identities_rejected];
        let mut values = before.into_iter().chain(limits).chain(after);
        std::array::from_fn(|_| values.next().unwrap_or_default())
    }

    /// The events with these values, in the order of [`WindowEvents::names`].
    pub fn from_values(values: [u64; Self::COUNT]) -> Self {
        let [pre_tickets_issued, pre_tickets_redeemed, limits @ .., identities_accepted, identities_rejected] = values;
        let limits = LimitCounters::from_values(limits);
        Self { pre_tickets_issued, pre_tickets_redeemed, limits, identities_accepted, identities_rejected }
    }

    fn since(&self, before: &Self) -> Self {
        let (values, before) = (self.values(), before.values());
        Self::from_values(std::array::from_fn(|index| values[index].saturating_sub(before[index])))
    }
}

/// The events until the start of the current window and of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventWindows {
    /// The window of the last visit.
    pub window: u64,
    /// The events when it began.
    pub current: WindowEvents,
    /// The events when the window before it began.
    pub previous: WindowEvents,
}

impl EventWindows {
    /// Notes the events so far if a window has begun.
    pub(super) fn advance(&mut self, now: Micros, events: WindowEvents) {
        let next = join_window(now);
        if next != self.window {
            let previous = if next == self.window + 1 { self.current } else { events };
            *self = Self { window: next, current: events, previous };
        }
    }

    /// The events in the current window and the one before, of `events` so far.
    pub fn sum(mut self, now: Micros, events: WindowEvents) -> WindowEvents {
        self.advance(now, events);
        events.since(&self.previous)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JOIN_WINDOW;

    const START: Micros = Micros(1_700_000_100_000_000);

    #[test]
    fn events_of_two_windows_are_reported() {
        let events = |pre_tickets_issued| WindowEvents { pre_tickets_issued, ..WindowEvents::default() };
        let mut windows = EventWindows::default();
        let after = |windows: &EventWindows, seconds, so_far| {
            windows.sum(START.add_seconds(seconds), events(so_far)).pre_tickets_issued
        };
        windows.advance(START, events(10));
        assert_eq!(after(&windows, 0, 15), 5);
        windows.advance(START.add_seconds(JOIN_WINDOW), events(15));
        assert_eq!(after(&windows, JOIN_WINDOW, 22), 12, "5 and 7");
        assert_eq!(after(&windows, 2 * JOIN_WINDOW, 22), 7, "nobody came in the current window");
        assert_eq!(after(&windows, 3 * JOIN_WINDOW, 22), 0);
        windows.advance(START.add_seconds(5 * JOIN_WINDOW), events(22));
        assert_eq!(after(&windows, 5 * JOIN_WINDOW, 23), 1);
    }
}
