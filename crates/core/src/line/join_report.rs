//! What is known about the joins of the current window and the one before: histograms by address and network, the largest
//! networks, and the events of two windows. Operators read it; no rule depends on it.

use super::event_windows::{EventWindows, WindowEvents};
use super::join_distribution::{JoinDistribution, JoinHistogram, NetworkJoins, RecentCount};
use super::limits::{JoinTotals, WindowTotals};
use super::state::Line;
use super::types::Stats;
use crate::join_counters::JOIN_WINDOW;
use crate::time::{MICROS_PER_SECOND, Micros};
use crate::{JoinLoad, ProofMode, difficulty};

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

impl ProtectionReport {
    /// The difficulty of the proof of work for the first join of a network; 0 if none is required.
    pub fn difficulty(&self) -> u64 {
        let (protection, attack_mode) = (&self.stats.rules.protection, self.stats.attack_mode_until.is_some());
        let mode =
            if self.stats.enforces_limits() { protection.in_force(attack_mode).proof_mode } else { ProofMode::Off };
        let load = JoinLoad { address: 1, network: 1, per_second: self.joins_per_second, class: None };
        difficulty(&load, mode, protection.proof_of_work.from, attack_mode)
    }
}

impl Stats {
    /// The events so far that are counted by window.
    fn window_events(&self) -> WindowEvents {
        WindowEvents::of(&self.counters, self.limits.counters)
    }
}

impl Line {
    /// Notes the events so far if a window has begun.
    pub(super) fn advance_event_windows(&mut self, now: Micros) {
        self.event_windows.advance(now, WindowEvents::of(&self.counters, self.limit_counters));
    }

    /// What is known about the joins of the current window and the one before. Does not change the state.
    pub fn protection_report(&self, now: Micros) -> ProtectionReport {
        let (totals, recent, distribution) = self.limits.joins();
        let joins = JoinState { totals, recent, distribution, events: self.event_windows };
        ProtectionReport::of(self.stats(now), joins)
    }
}
