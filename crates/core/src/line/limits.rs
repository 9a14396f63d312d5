//! Limits of joins: how many sessions join from one address, from one network, and in the whole queue.
//!
//! Joins are counted, not present sessions: otherwise a client that leaves and returns would not be limited. A session that returns
//! by its ticket does not join.

use serde::{Deserialize, Serialize};

use super::join_distribution::{JoinDistribution, RecentCount};
use super::rate::{ADMISSION_COST, Bucket};
use crate::counters::counters;
use crate::join_counters::{Cells, JoinCounters, expired_halves, half_of};
use crate::settings::Protection;
use crate::time::{MICROS_PER_SECOND, Micros};
use crate::{JOIN_WINDOWS, NetworkClass, NetworkPrefix, PrefixDigest, SHARED_PART, join_window};

/// Joins in both windows from which limits by address and network apply. With fewer, their addresses say too little.
pub const ADDRESS_LIMITS_FROM: u64 = 20;
/// Seconds after which a client of a blocked network may try again.
pub const BLOCKED_RETRY: u64 = 300;
/// Maximum time in seconds after which a client may try again that the rate rejected.
pub const RATE_RETRY_MAX: u64 = 60;
/// A rate per second in the units of an admission rate, which is per minute.
pub(super) const SECONDS_PER_MINUTE: u64 = ADMISSION_COST / MICROS_PER_SECOND;

/// What limits know about the client of a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JoinClient {
    /// Digests of its address and network; `None` if the address is not usable.
    pub prefixes: Option<ClientDigests>,
    /// Its network, if the queue lists the largest ones; `None` if the address is not usable.
    pub network: Option<NetworkPrefix>,
    /// What the operators say about its network.
    pub class: Option<NetworkClass>,
    /// Whether the request came through more proxies than are trusted.
    pub extra_hops: bool,
}

/// Digests of a client's address and network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientDigests {
    /// That of the address.
    pub address: PrefixDigest,
    /// That of the network.
    pub network: PrefixDigest,
}

crate::names! {
    /// Why a newcomer does not join.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RejectionReason {
        /// The network is blocked.
        Blocked = "blocked",
        /// The line is full.
        Full = "full",
        /// More sessions join than `joins_per_second` allows.
        Rate = "rate",
        /// Too many sessions joined from the address or the network.
        Limit = "limit",
    }
    /// The name used in JSON and metrics.
    fn as_str
}

/// A join that was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinRejection {
    /// Why.
    pub reason: RejectionReason,
    /// Seconds after which the client may try again.
    pub retry_after: u64,
}

crate::names! {
    /// Whether the addresses of clients can be relied on.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ClientAddressState {
        /// They can.
        #[default]
        Ok = "ok",
        /// Most joins have no usable address: `trusted_proxies` is too high, or selects a proxy of one's own.
        Unusable = "unusable",
        /// Most networks came through more proxies than are trusted: another proxy is in front. Limits by address and network do
        /// not apply.
        ExtraProxy = "extra_proxy",
    }
    /// The name used in JSON and metrics.
    fn as_str
}

counters! {
    /// Rejected joins and joins above a limit since the queue's state began.
    pub struct LimitCounters {
        /// Rejected: the network is blocked.
        rejected_blocked = "rejected:blocked",
        /// Rejected: the line is full.
        rejected_full = "rejected:full",
        /// Rejected: more than `joins_per_second`.
        rejected_rate = "rejected:rate",
        /// Rejected: more than `per_address` or `per_network`.
        rejected_limit = "rejected:limit",
        /// Joins above `per_address`, rejected or not.
        over_address = "over_limit:address",
        /// Joins above `per_network`, rejected or not.
        over_network = "over_limit:network",
        /// Newcomers who had to prove work, or more of it, before they join.
        challenged = "challenged",
        /// Joins without the proof that they would need in mode `enforce`.
        would_challenge = "would_challenge",
        /// Proofs of work that gates accepted.
        proofs_valid = "proofs:valid",
        /// Proofs of work that gates did not accept.
        proofs_invalid = "proofs:invalid",
        /// Joins without proof of work, after a waiting time.
        delayed_joins = "delayed_joins",
    }
}

impl LimitCounters {
    /// The joins that were rejected for this reason.
    pub const fn rejected(&self, reason: RejectionReason) -> u64 {
        match reason {
            RejectionReason::Blocked => self.rejected_blocked,
            RejectionReason::Full => self.rejected_full,
            RejectionReason::Rate => self.rejected_rate,
            RejectionReason::Limit => self.rejected_limit,
        }
    }

    /// All rejected joins.
    pub fn all_rejected(&self) -> u64 {
        RejectionReason::ALL.into_iter().map(|reason| self.rejected(reason)).sum()
    }

    pub(super) fn count_rejection(&mut self, reason: RejectionReason) {
        match reason {
            RejectionReason::Blocked => self.rejected_blocked += 1,
            RejectionReason::Full => self.rejected_full += 1,
            RejectionReason::Rate => self.rejected_rate += 1,
            RejectionReason::Limit => self.rejected_limit += 1,
        }
    }
}

/// What limits tell an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitStats {
    /// Rejected joins and joins above a limit.
    pub counters: LimitCounters,
    /// Whether the addresses of clients can be relied on; `None` if fewer than [`ADDRESS_LIMITS_FROM`] sessions joined in two windows.
    pub client_address: Option<ClientAddressState>,
}

/// The joins of one window, by what is known about their addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowTotals {
    /// Joins.
    pub joins: u64,
    /// Joins without a usable address.
    pub without_address: u64,
    /// Networks that joined for the first time in the window.
    pub networks: u64,
    /// Those of them that came through more proxies than are trusted.
    pub extra_hops: u64,
}

/// Totals by half of the join counters, and the window of the last join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JoinTotals {
    /// The window of the last join or rejection.
    pub window: u64,
    /// Totals by half.
    pub halves: [WindowTotals; JOIN_WINDOWS],
}

impl JoinTotals {
    /// Continues in the window of `now`: clears what is too old.
    pub(super) fn advance(&mut self, now: Micros) {
        let next = join_window(now);
        for half in expired_halves(Some(self.window), next) {
            self.halves[*half] = WindowTotals::default();
        }
        self.window = next;
    }

    /// The totals of the current window and the one before.
    pub fn sum(mut self, now: Micros) -> WindowTotals {
        self.advance(now);
        let [one, other] = self.halves;
        WindowTotals {
            joins: one.joins + other.joins,
            without_address: one.without_address + other.without_address,
            networks: one.networks + other.networks,
            extra_hops: one.extra_hops + other.extra_hops,
        }
    }
}

impl WindowTotals {
    /// What the totals say about the addresses of clients; `None` below [`ADDRESS_LIMITS_FROM`] joins. A network counts once, however
    /// often it joins, so that an attacker needs more networks than all others to reach `ExtraProxy`.
    pub const fn client_address(&self) -> Option<ClientAddressState> {
        if self.joins < ADDRESS_LIMITS_FROM {
            None
        } else if self.without_address * 2 > self.joins {
            Some(ClientAddressState::Unusable)
        } else if self.extra_hops * 2 > self.networks {
            Some(ClientAddressState::ExtraProxy)
        } else {
            Some(ClientAddressState::Ok)
        }
    }

    /// Whether limits by address and network apply.
    pub const fn limits_apply(&self) -> bool {
        matches!(self.client_address(), Some(ClientAddressState::Ok | ClientAddressState::Unusable))
    }
}

/// What a line knows about joins. It is not saved: after a restart limits start from zero.
#[derive(Debug, Default)]
pub(super) struct Limits {
    counters: Option<JoinCounters>,
    pub(super) totals: JoinTotals,
    /// Rejections by the rate.
    pub(super) rejections: RecentCount,
    pub(super) joins: RecentCount,
    /// Joins without a proof of work, after a waiting time.
    pub(super) delayed: RecentCount,
    pub(super) bucket: Bucket,
    distribution: JoinDistribution,
}

/// Joins of a client's address and network in both windows, and of its network in the current one, this one included.
pub(super) struct Estimates {
    pub(super) address: u64,
    pub(super) network: u64,
    network_in_window: u64,
}

impl Estimates {
    /// These joins as limits count them: those of a shared network count as a part, and those of a trusted one never exceed a
    /// limit.
    pub(super) fn counted(&self, class: Option<NetworkClass>) -> [u64; 2] {
        [self.address, self.network].map(|joins| match class {
            Some(NetworkClass::Trusted) => 1,
            Some(NetworkClass::Shared) => joins.div_ceil(SHARED_PART),
            _ => joins,
        })
    }
}

impl Limits {
    fn cells(client: &JoinClient, protection: &Protection) -> Option<(Cells, Cells)> {
        let digests = client.prefixes?;
        Some((digests.address.cells(protection.counters), digests.network.cells(protection.counters)))
    }

    /// Continues in the window of `now`: forgets what is too old.
    pub(super) fn advance(&mut self, now: Micros) {
        self.totals.advance(now);
        self.distribution.advance(now);
        if let Some(counters) = &mut self.counters {
            counters.advance(now);
        }
    }

    /// Continues in the slot of `now` with all events of the last seconds.
    pub(super) fn advance_recent(&mut self, now: Micros) {
        for events in [&mut self.rejections, &mut self.joins, &mut self.delayed] {
            events.advance(now);
        }
    }

    /// The estimates for a client with a usable address.
    pub(super) fn estimates(&mut self, now: Micros, client: &JoinClient, protection: &Protection) -> Option<Estimates> {
        let (address, network) = Self::cells(client, protection)?;
        let kept = self.counters.take().filter(|counters| counters.counters() == protection.counters);
        if kept.is_none() {
            self.distribution.forget_histograms();
        }
        let counters = kept.unwrap_or_else(|| JoinCounters::new(protection.counters, now));
        let counters = self.counters.insert(counters);
        Some(Estimates {
            address: counters.estimate(address) + 1,
            network: counters.estimate(network) + 1,
            network_in_window: counters.in_window(network) + 1,
        })
    }

    /// Counts a join.
    pub(super) fn count(
        &mut self,
        now: Micros,
        client: &JoinClient,
        protection: &Protection,
        estimates: Option<&Estimates>,
    ) {
        self.joins.count(now);
        let totals = &mut self.totals.halves[half_of(self.totals.window)];
        totals.joins += 1;
        if let Some(estimates) = estimates {
            let is_new_network = estimates.network_in_window == 1;
            totals.networks += u64::from(is_new_network);
            totals.extra_hops += u64::from(is_new_network && client.extra_hops);
            let [address, network] = estimates.counted(client.class);
            self.distribution.count(address, network);
            if let Some(prefix) = client.network.filter(|_| protection.show_networks) {
                self.distribution.list(prefix, estimates.network_in_window);
            }
        } else {
            totals.without_address += 1;
        }
        if let (Some(counters), Some((address, network))) = (&mut self.counters, Self::cells(client, protection)) {
            counters.add(address);
            counters.add(network);
        }
    }

    /// Forgets the networks.
    pub(super) fn forget_networks(&mut self) {
        self.distribution.forget_networks();
    }

    /// Forgets the networks if both windows are over.
    pub(super) fn forget_old_networks(&mut self, now: Micros) {
        if join_window(now) >= self.distribution.window + JOIN_WINDOWS as u64 {
            self.distribution.forget_networks();
        }
    }

    /// What reports say about joins, except for events.
    pub(super) fn joins(&self) -> (JoinTotals, RecentCount, JoinDistribution) {
        (self.totals, self.joins, self.distribution.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::join_distribution::LARGEST_NETWORKS_MAX;
    use crate::{JOIN_WINDOW, PrefixDigest};

    #[test]
    fn addresses_are_assessed_from_twenty_joins_on() {
        let state = |joins, without_address, networks, extra_hops| {
            WindowTotals { joins, without_address, networks, extra_hops }.client_address()
        };
        assert_eq!(state(19, 19, 0, 0), None);
        assert_eq!(state(20, 10, 10, 5), Some(ClientAddressState::Ok), "half of each");
        assert_eq!(state(20, 11, 9, 0), Some(ClientAddressState::Unusable));
        assert_eq!(state(20, 0, 3, 2), Some(ClientAddressState::ExtraProxy));
        assert!(!WindowTotals { joins: 19, ..WindowTotals::default() }.limits_apply());
        assert!(WindowTotals { joins: 20, networks: 20, ..WindowTotals::default() }.limits_apply());
        assert!(!WindowTotals { joins: 20, networks: 2, extra_hops: 2, ..WindowTotals::default() }.limits_apply());
    }

    /// 16 addresses of each network join, and hosting networks much more often.
    #[test]
    fn a_million_joins_need_no_more_memory() {
        const NETWORKS: u32 = 60_000;
        let now = Micros(1_700_000_100_000_000);
        let protection = Protection::default();
        let mut limits = Limits::default();
        let digest = |number: u32| {
            // Spread over the cells, as keyed digests are.
            PrefixDigest::of_rows([number.wrapping_mul(0x9E37_79B1), number.wrapping_mul(0x85EB_CA77) ^ 0x27D4_EB2F])
        };
        let client = |number: u32| {
            let network = if number.is_multiple_of(4) { number % 100 } else { number % NETWORKS };
            let address = (network << 8) | (number / NETWORKS);
            let prefix: std::net::Ipv4Addr = ((11 << 24) + (network << 8)).into();
            JoinClient {
                prefixes: Some(ClientDigests { address: digest(address ^ (1 << 31)), network: digest(network) }),
                network: Some(NetworkPrefix::of(ipnet::Ipv4Net::new_assert(prefix, 24).into())),
                ..JoinClient::default()
            }
        };
        limits.advance(now);
        for number in 0..1_000_000 {
            let client = client(number);
            let estimates = limits.estimates(now, &client, &protection);
            limits.count(now, &client, &protection, estimates.as_ref());
        }
        let counters = limits.counters.as_ref().unwrap();
        assert_eq!(counters.counters(), protection.counters, "no more cells");
        let joins = &limits.distribution.halves[half_of(limits.distribution.window)];
        assert!(joins.networks.len() <= LARGEST_NETWORKS_MAX, "{}", joins.networks.len());
        let largest = joins.networks.values().filter(|joins| **joins >= 10_000).count();
        assert_eq!(largest, 25, "the hosting networks are listed, with no fewer joins than they had");
    }

    #[test]
    fn totals_of_old_windows_do_not_count() {
        let start = Micros(1_700_000_100_000_000);
        let mut totals = JoinTotals::default();
        totals.advance(start);
        totals.halves[half_of(totals.window)].joins = 7;
        let after = |seconds| totals.sum(start.add_seconds(seconds)).joins;
        assert_eq!([after(0), after(JOIN_WINDOW), after(2 * JOIN_WINDOW)], [7, 7, 0]);
    }
}
