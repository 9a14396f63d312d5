//! Whether a newcomer joins: blocked networks, a full line, and limits of joins.

use super::limits::{
    BLOCKED_RETRY, JoinClient, JoinRejection, LimitStats, RATE_RETRY_MAX, RejectionReason, SECONDS_PER_MINUTE,
};
use super::rate::Rate;
use super::state::Line;
use crate::settings::{LimitMode, OnExceed};
use crate::time::{MICROS_PER_SECOND, Micros};
use crate::{JOIN_WINDOW, NetworkClass};

impl Line {
    /// Whether the newcomer of this operation may join. Counts the join or the rejection.
    pub(super) fn admits_join(&mut self, now: Micros) -> bool {
        let client = self.client;
        if let Err(rejection) = self.check_blocked(now, &client) {
            self.rejection = Some(rejection);
            return false;
        }
        // The answer says that the line is full.
        if self.is_full(now) {
            self.limit_counters.count_rejection(RejectionReason::Full);
            return false;
        }
        self.rejection = self.check_limits(now, &client).err();
        self.rejection.is_none()
    }

    /// Whether a newcomer from a blocked network is rejected, in attack mode also one from a suspicious network.
    fn check_blocked(&mut self, now: Micros, client: &JoinClient) -> Result<(), JoinRejection> {
        let attack_mode = self.attack_mode(now);
        let is_enforced = self.rules.protection.in_force(attack_mode).mode == LimitMode::Enforce;
        let is_blocked = match client.class {
            Some(NetworkClass::Blocked) => is_enforced,
            Some(NetworkClass::Suspicious) => attack_mode,
            _ => false,
        };
        if is_blocked { Err(self.reject(RejectionReason::Blocked, BLOCKED_RETRY)) } else { Ok(()) }
    }

    /// Counts a join, unless a limit rejects it.
    fn check_limits(&mut self, now: Micros, client: &JoinClient) -> Result<(), JoinRejection> {
        let protection = self.rules.protection.clone();
        let in_force = protection.in_force(self.attack_mode(now));
        if in_force.mode == LimitMode::Off {
            return Ok(());
        }
        let is_enforced = in_force.mode == LimitMode::Enforce;
        let rate = protection.joins_per_second.filter(|_| is_enforced);
        if let Some(rate) = rate {
            let per_minute = rate * SECONDS_PER_MINUTE;
            if self.limits.bucket.refill(now, Rate::evenly(per_minute)) == 0 {
                let recent = self.limits.rejections.count(now);
                return Err(self.reject(RejectionReason::Rate, recent.div_ceil(rate).clamp(1, RATE_RETRY_MAX)));
            }
        }
        self.limits.advance(now);
        let applies = self.limits.totals.sum(now).limits_apply() && client.class != Some(NetworkClass::Trusted);
        let estimates = self.limits.estimates(now, client, &protection);
        if let Some(estimates) = estimates.as_ref().filter(|_| applies) {
            let [address, network] = estimates.counted(client.class);
            let exceeds = |joins: u64, limit: Option<u64>| limit.is_some_and(|limit| joins > limit);
            let over_address = exceeds(address, in_force.per_address);
            let over_network = exceeds(network, in_force.per_network);
            self.limit_counters.over_address += u64::from(over_address);
            self.limit_counters.over_network += u64::from(over_network);
            if is_enforced && protection.on_exceed == OnExceed::Reject && (over_address || over_network) {
                let window = JOIN_WINDOW * MICROS_PER_SECOND;
                let rest = (window - now.0 % window).div_ceil(MICROS_PER_SECOND);
                return Err(self.reject(RejectionReason::Limit, rest));
            }
        }
        if rate.is_some() {
            self.limits.bucket.spend(1);
        }
        self.limits.count(now, client, &protection, estimates.as_ref());
        Ok(())
    }

    /// Counts a rejection.
    fn reject(&mut self, reason: RejectionReason, retry_after: u64) -> JoinRejection {
        self.limit_counters.count_rejection(reason);
        JoinRejection { reason, retry_after }
    }

    /// What limits tell an operator.
    pub(super) fn limit_stats(&self, now: Micros) -> LimitStats {
        LimitStats { counters: self.limit_counters, client_address: self.limits.totals.sum(now).client_address() }
    }
}
