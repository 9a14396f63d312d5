//! What is known about the joins of the current window and the one before: histograms by address and network, the largest
//! networks, and the events of two windows. Operators read it; no rule depends on it.

use std::collections::BTreeMap;

use super::limits::{JoinTotals, LimitCounters, WindowTotals};
use super::state::Line;
use super::types::Stats;
use crate::client_network::NetworkPrefix;
use crate::join_counters::{JOIN_WINDOW, JOIN_WINDOWS, expired_halves, half_of, join_window};
use crate::time::{MICROS_PER_SECOND, Micros};

/// Number of cells of a histogram. Cell `i` counts the joins that were the 2^i-th to below the 2^(i+1)-th of their address or
/// network in two windows; the last one has all further ones.
pub const HISTOGRAM_CELLS: usize = 16;
/// Maximum number of networks that are listed for a window.
pub const LARGEST_NETWORKS_MAX: usize = 64;
/// Joins in a window from which a network is listed.
pub const LARGEST_NETWORKS_FROM: u64 = 16;
/// Length of the slots in which joins and rejections per second are counted, in seconds.
pub const JOIN_SLOT: u64 = 10;

/// A histogram of joins.
pub type JoinHistogram = [u64; HISTOGRAM_CELLS];

/// The cell of a histogram for a join that is the `count`-th one, from 1.
#[must_use]
pub const fn histogram_cell(count: u64) -> usize {
    let exponent = if count == 0 { 0 } else { count.ilog2() as usize };
    if exponent < HISTOGRAM_CELLS { exponent } else { HISTOGRAM_CELLS - 1 }
}

/// Events in the current slot of [`JOIN_SLOT`] seconds and in the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecentCount {
    /// The slot of the last event.
    pub slot: u64,
    /// Events in that slot.
    pub current: u64,
    /// Events in the slot before.
    pub before: u64,
}

impl RecentCount {
    /// Counts an event; returns how many there were in the last 10 to 20 seconds.
    pub(super) fn count(&mut self, now: Micros) -> u64 {
        let slot = now.0 / (JOIN_SLOT * MICROS_PER_SECOND);
        if slot != self.slot {
            self.before = if slot == self.slot + 1 { self.current } else { 0 };
            self.current = 0;
            self.slot = slot;
        }
        self.current += 1;
        self.current + self.before
    }

    /// Events per second in the last [`JOIN_SLOT`] seconds, as if those of the slot before were even.
    #[must_use]
    pub fn per_second(&self, now: Micros) -> f64 {
        let length = JOIN_SLOT * MICROS_PER_SECOND;
        let slot = now.0 / length;
        let (current, before) = match slot.checked_sub(self.slot) {
            Some(0) => (self.current, self.before),
            Some(1) => (0, self.current),
            _ => (0, 0),
        };
        let left = (length - now.0 % length) as f64 / length as f64;
        (current as f64 + before as f64 * left) / JOIN_SLOT as f64
    }
}

/// A network and its joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkJoins {
    /// The network.
    pub network: NetworkPrefix,
    /// Joins in both windows.
    pub joins: u64,
}

/// Joins of one window by address and network.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WindowJoins {
    /// Joins by the number of joins of their address.
    pub by_address: JoinHistogram,
    /// Joins by the number of joins of their network.
    pub by_network: JoinHistogram,
    /// The largest networks with their joins in the window.
    pub networks: BTreeMap<NetworkPrefix, u64>,
}

/// Joins by address and network in both windows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JoinDistribution {
    /// The window of the last join.
    pub window: u64,
    /// Joins by half; see [`half_of`].
    pub halves: [WindowJoins; JOIN_WINDOWS],
    /// The largest network that is not listed had this many joins in the window or fewer.
    floor: u64,
}

impl JoinDistribution {
    /// The distribution of a window and the one before.
    #[must_use]
    pub const fn new(window: u64, halves: [WindowJoins; JOIN_WINDOWS]) -> Self {
        Self { window, halves, floor: 0 }
    }

    /// Continues in the window of `now`: forgets what is too old.
    pub(super) fn advance(&mut self, now: Micros) {
        let next = join_window(now);
        for half in expired_halves(Some(self.window), next) {
            self.halves[*half] = WindowJoins::default();
        }
        if self.window != next {
            (self.window, self.floor) = (next, 0);
        }
    }

    /// Counts a join that limits count as the `address`-th of its address and the `network`-th of its network.
    pub(super) fn count(&mut self, address: u64, network: u64) {
        let half = &mut self.halves[half_of(self.window)];
        half.by_address[histogram_cell(address)] += 1;
        half.by_network[histogram_cell(network)] += 1;
    }

    /// Lists a network with its joins in this window, if it is among the largest.
    pub(super) fn list(&mut self, network: NetworkPrefix, joins: u64) {
        if joins < LARGEST_NETWORKS_FROM || joins <= self.floor {
            return;
        }
        let listed = &mut self.halves[half_of(self.window)].networks;
        listed.insert(network, joins);
        if listed.len() > LARGEST_NETWORKS_MAX {
            let least =
                |listed: &BTreeMap<NetworkPrefix, u64>| listed.iter().map(|(network, joins)| (*joins, *network)).min();
            if let Some((_, network)) = least(listed) {
                listed.remove(&network);
            }
            self.floor = least(listed).map_or(0, |(joins, _)| joins);
        }
    }

    /// Removes the histograms.
    pub(super) fn forget_histograms(&mut self) {
        for half in &mut self.halves {
            (half.by_address, half.by_network) = Default::default();
        }
    }

    /// Removes the networks.
    pub(super) fn forget_networks(&mut self) {
        for half in &mut self.halves {
            half.networks.clear();
        }
        self.floor = 0;
    }

    /// The histograms of both windows by address and by network, and the largest networks, largest first.
    #[must_use]
    pub fn sum(mut self, now: Micros) -> (JoinHistogram, JoinHistogram, Vec<NetworkJoins>) {
        self.advance(now);
        let [mut one, other] = self.halves;
        for (network, joins) in other.networks {
            *one.networks.entry(network).or_default() += joins;
        }
        let sum = |one: JoinHistogram, other: JoinHistogram| std::array::from_fn(|cell| one[cell] + other[cell]);
        let mut networks: Vec<_> =
            one.networks.into_iter().map(|(network, joins)| NetworkJoins { network, joins }).collect();
        networks.sort_by_key(|entry| (std::cmp::Reverse(entry.joins), entry.network));
        networks.truncate(LARGEST_NETWORKS_MAX);
        (sum(one.by_address, other.by_address), sum(one.by_network, other.by_network), networks)
    }
}

/// Events that are counted by window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowEvents {
    /// Pre-tickets issued to first visits.
    pub pre_tickets_issued: u64,
    /// Sessions that joined by a pre-ticket.
    pub pre_tickets_redeemed: u64,
    /// Rejected joins and joins above a limit.
    pub limits: LimitCounters,
}

impl WindowEvents {
    /// Number of events.
    pub const COUNT: usize = 2 + LimitCounters::COUNT;

    /// The names of their counters, in the order of [`WindowEvents::from_values`].
    #[must_use]
    pub fn names() -> [&'static str; Self::COUNT] {
        let limits = LimitCounters::default().named();
        std::array::from_fn(|index| match index {
            0 => "pre_tickets_issued",
            1 => "pre_tickets_redeemed",
            index => limits[index - 2].0,
        })
    }

    fn values(&self) -> [u64; Self::COUNT] {
        let limits = self.limits.named();
        std::array::from_fn(|index| match index {
            0 => self.pre_tickets_issued,
            1 => self.pre_tickets_redeemed,
            index => limits[index - 2].1,
        })
    }

    /// The events with these values, in the order of [`WindowEvents::names`].
    #[must_use]
    pub fn from_values(values: [u64; Self::COUNT]) -> Self {
        let [pre_tickets_issued, pre_tickets_redeemed, limits @ ..] = values;
        Self { pre_tickets_issued, pre_tickets_redeemed, limits: LimitCounters::from_values(limits) }
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
    fn advance(&mut self, now: Micros, events: WindowEvents) {
        let next = join_window(now);
        if next != self.window {
            let previous = if next == self.window + 1 { self.current } else { events };
            *self = Self { window: next, current: events, previous };
        }
    }

    /// The events in the current window and the one before, of `events` so far.
    #[must_use]
    pub fn sum(mut self, now: Micros, events: WindowEvents) -> WindowEvents {
        self.advance(now, events);
        events.since(&self.previous)
    }
}

/// What a line knows about joins and pre-tickets in both windows.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtectionReport {
    /// The statistics of the queue.
    pub stats: Stats,
    /// Length of both windows until now in seconds; less if the state is younger.
    pub window_seconds: u64,
    /// Joins, by what is known about their addresses.
    pub totals: WindowTotals,
    /// Joins per second in the last seconds.
    pub joins_per_second: f64,
    /// Joins by the number of joins of their address.
    pub by_address: JoinHistogram,
    /// Joins by the number of joins of their network.
    pub by_network: JoinHistogram,
    /// The largest networks, largest first.
    pub networks: Vec<NetworkJoins>,
    /// Pre-tickets, rejections and joins above a limit.
    pub events: WindowEvents,
}

/// What a store keeps for a report.
#[derive(Debug, Clone, Default)]
pub struct JoinState {
    /// Totals by half.
    pub totals: JoinTotals,
    /// Recent joins.
    pub recent: RecentCount,
    /// Joins by address and network.
    pub distribution: JoinDistribution,
    /// The events until the windows began.
    pub events: EventWindows,
}

impl ProtectionReport {
    /// The report at the time of the statistics.
    #[must_use]
    pub fn of(stats: Stats, joins: JoinState) -> Self {
        let now = stats.now;
        let (by_address, by_network, networks) = joins.distribution.sum(now);
        let since_window = JOIN_WINDOW + now.seconds() % JOIN_WINDOW;
        Self {
            window_seconds: since_window.min(now.since(stats.state_since) / MICROS_PER_SECOND),
            totals: joins.totals.sum(now),
            joins_per_second: joins.recent.per_second(now),
            by_address,
            by_network,
            networks,
            events: joins.events.sum(now, stats.window_events()),
            stats,
        }
    }
}

impl Stats {
    /// The events so far that are counted by window.
    fn window_events(&self) -> WindowEvents {
        WindowEvents {
            pre_tickets_issued: self.counters.pre_tickets_issued,
            pre_tickets_redeemed: self.counters.pre_tickets_redeemed,
            limits: self.limits.counters,
        }
    }
}

impl Line {
    /// Notes the events so far if a window has begun.
    pub(super) fn advance_event_windows(&mut self, now: Micros) {
        let events = WindowEvents {
            pre_tickets_issued: self.counters.pre_tickets_issued,
            pre_tickets_redeemed: self.counters.pre_tickets_redeemed,
            limits: self.limit_counters,
        };
        self.event_windows.advance(now, events);
    }

    /// What is known about the joins of the current window and the one before. Does not change the state.
    #[must_use]
    pub fn protection_report(&self, now: Micros) -> ProtectionReport {
        let JoinState { totals, recent, distribution, .. } = self.limits.join_state();
        let joins = JoinState { totals, recent, distribution, events: self.event_windows };
        ProtectionReport::of(self.stats(now), joins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Micros = Micros(1_700_000_100_000_000);

    fn network(number: u8) -> NetworkPrefix {
        NetworkPrefix::of(format!("203.0.{number}.0/24").parse().unwrap())
    }

    #[test]
    fn cells_of_a_histogram_double() {
        let cells = [1, 2, 3, 4, 7, 8, 32_768, 65_535, 65_536, u64::MAX].map(histogram_cell);
        assert_eq!(cells, [0, 1, 1, 2, 2, 3, 15, 15, 15, 15]);
    }

    #[test]
    fn events_of_the_last_slots_count() {
        let (mut recent, start) = (RecentCount::default(), START);
        assert_eq!((recent.count(start), recent.count(start.add_seconds(9))), (1, 2));
        assert_eq!(recent.count(start.add_seconds(10)), 3);
        assert_eq!(recent.count(start.add_seconds(20)), 2);
        assert_eq!(recent.count(start.add_seconds(60)), 1);
    }

    #[test]
    fn joins_per_second_are_those_of_ten_seconds() {
        let recent = RecentCount { slot: START.0 / 10_000_000, current: 100, before: 200 };
        let rate = |at: Micros| (recent.per_second(at) * 10.0).round() as u64;
        let rates = [0, 5, 10, 15, 20].map(|seconds| rate(START.add_seconds(seconds)));
        assert_eq!(rates, [300, 200, 100, 50, 0]);
        assert_eq!(rate(Micros(START.0 - 1)), 0, "the clock stepped back");
    }

    #[test]
    fn largest_networks_are_listed() {
        let mut joins = JoinDistribution::default();
        joins.advance(START);
        joins.list(network(0), LARGEST_NETWORKS_FROM - 1);
        for number in 0..100 {
            joins.list(network(number), LARGEST_NETWORKS_FROM + u64::from(number));
        }
        // A network that is not among the largest is not listed, and one that joins more is.
        joins.list(network(1), LARGEST_NETWORKS_FROM + 2);
        joins.list(network(2), 500);
        let (.., networks) = joins.clone().sum(START);
        let listed = |count: usize| (networks[count].network, networks[count].joins);
        assert_eq!((networks.len(), listed(0), listed(1)), (64, (network(2), 500), (network(99), 115)));
        assert_eq!(networks.last().map(|last| last.joins), Some(LARGEST_NETWORKS_FROM + 37));
        // Two windows add up, the third one forgets the first.
        joins.advance(START.add_seconds(JOIN_WINDOW));
        joins.list(network(3), 20);
        joins.list(network(2), 30);
        let (.., networks) = joins.clone().sum(START.add_seconds(JOIN_WINDOW));
        assert_eq!((networks[0].joins, networks.len()), (530, 64));
        let (.., networks) = joins.sum(START.add_seconds(2 * JOIN_WINDOW));
        assert_eq!(networks.iter().map(|entry| entry.joins).collect::<Vec<_>>(), [30, 20]);
    }

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
