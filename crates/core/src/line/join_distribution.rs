//! Joins of the current window and the one before by address and network, and how many there were in the last seconds.

use std::collections::BTreeMap;

use crate::client_network::NetworkPrefix;
use crate::join_counters::{JOIN_WINDOWS, expired_halves, half_of, join_window};
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
    /// Continues in the slot of `now`.
    pub(super) fn advance(&mut self, now: Micros) {
        let slot = now.0 / (JOIN_SLOT * MICROS_PER_SECOND);
        if slot != self.slot {
            self.before = if slot == self.slot + 1 { self.current } else { 0 };
            self.current = 0;
            self.slot = slot;
        }
    }

    /// Counts an event; returns how many there were in the last 10 to 20 seconds.
    pub(super) fn count(&mut self, now: Micros) -> u64 {
        self.advance(now);
        self.current += 1;
        self.current + self.before
    }

    /// Events per second in the last [`JOIN_SLOT`] seconds, as if those of the slot before were even.
    pub fn per_second(&self, now: Micros) -> f64 {
        self.recent(now) / JOIN_SLOT as f64
    }

    /// Events in the last [`JOIN_SLOT`] seconds, as if those of the slot before were even.
    pub(super) fn recent(&self, now: Micros) -> f64 {
        let length = JOIN_SLOT * MICROS_PER_SECOND;
        let slot = now.0 / length;
        let (current, before) = match slot.checked_sub(self.slot) {
            Some(0) => (self.current, self.before),
            Some(1) => (0, self.current),
            _ => (0, 0),
        };
        let left = (length - now.0 % length) as f64 / length as f64;
        current as f64 + before as f64 * left
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
    /// Joins by half; windows alternate between the two.
    pub halves: [WindowJoins; JOIN_WINDOWS],
    /// The largest network that is not listed had this many joins in the window or fewer.
    floor: u64,
}

impl JoinDistribution {
    /// The distribution of a window and the one before.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JOIN_WINDOW;

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
}
