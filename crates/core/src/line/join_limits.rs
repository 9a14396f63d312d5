//! Whether a newcomer joins: blocked networks, a full line, and limits of joins.

use super::limits::{
    BLOCKED_RETRY, JoinClient, JoinRejection, LimitStats, RATE_RETRY_MAX, RejectionReason, SECONDS_PER_MINUTE,
};
use super::newcomer::Newcomer;
use super::rate::Rate;
use super::state::Line;
use super::types::ProofCounts;
use super::work::JoinRefusal;
use crate::settings::{LimitMode, OnExceed};
use crate::time::{MICROS_PER_SECOND, Micros};
use crate::{JOIN_WINDOW, JoinLoad, NetworkClass};

impl Line {
    /// Whether the newcomer may join. Counts the join or the rejection.
    pub(super) fn admits_join(&mut self, now: Micros, newcomer: &mut Newcomer<'_>) -> bool {
        if self.is_blocked(now, newcomer) {
            return false;
        }
        // The answer says that the line is full.
        if self.is_full(now) {
            self.limit_counters.count_rejection(RejectionReason::Full);
            return false;
        }
        newcomer.refusal = self.check_limits(now, newcomer).err();
        newcomer.refusal.is_none()
    }

    /// Whether nobody joins from the network of the newcomer, or comes to the lobby.
    pub(super) fn is_blocked(&mut self, now: Micros, newcomer: &mut Newcomer<'_>) -> bool {
        let rejection = self.check_blocked(now, &newcomer.visit.client).err();
        newcomer.refusal = rejection.map(JoinRefusal::Rejected);
        newcomer.refusal.is_some()
    }

    /// Counts the proofs of work that a process verified.
    pub(super) fn count_proofs(&mut self, proofs: ProofCounts) {
        self.limit_counters.proofs_valid += proofs.valid;
        self.limit_counters.proofs_invalid += proofs.invalid;
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

    /// Counts a join, unless a limit rejects it or it needs a proof of work.
    fn check_limits(&mut self, now: Micros, newcomer: &mut Newcomer<'_>) -> Result<(), JoinRefusal> {
        let client = &newcomer.visit.client;
        let protection = self.rules.protection.clone();
        let in_force = protection.in_force(self.attack_mode(now));
        if in_force.mode == LimitMode::Off {
            return Ok(());
        }
        let is_enforced = in_force.mode == LimitMode::Enforce;
        self.limits.advance_recent(now);
        let rate = protection.joins_per_second.filter(|_| is_enforced);
        if let Some(rate) = rate {
            let per_minute = rate * SECONDS_PER_MINUTE;
            if self.limits.bucket.refill(now, Rate::evenly(per_minute)) == 0 {
                let recent = self.limits.rejections.count(now);
                let retry_after = recent.div_ceil(rate).clamp(1, RATE_RETRY_MAX);
                return Err(JoinRefusal::Rejected(self.reject(RejectionReason::Rate, retry_after)));
            }
        }
        self.limits.advance(now);
        let applies = self.limits.totals.sum(now).limits_apply() && client.class != Some(NetworkClass::Trusted);
        let estimates = self.limits.estimates(now, client, &protection);
        let effective = estimates.as_ref().filter(|_| applies);
        let need = self.work_needed(
            now,
            &newcomer.work,
            &JoinLoad {
                address: effective.map_or(0, |estimates| estimates.address),
                network: effective.map_or(0, |estimates| estimates.network),
                per_second: self.limits.joins.per_second(now),
                class: client.class,
            },
        );
        let [address, network] = effective.map_or([0; 2], |estimates| estimates.counted(client.class));
        let exceeds = |joins: u64, limit: Option<u64>| limit.is_some_and(|limit| joins > limit);
        let over_address = exceeds(address, in_force.per_address);
        let over_network = exceeds(network, in_force.per_network);
        self.limit_counters.over_address += u64::from(over_address);
        self.limit_counters.over_network += u64::from(over_network);
        let rejects = protection.on_exceed == OnExceed::Reject || need.is_delayed;
        if is_enforced && rejects && (over_address || over_network) {
            let window = JOIN_WINDOW * MICROS_PER_SECOND;
            let rest = (window - now.0 % window).div_ceil(MICROS_PER_SECOND);
            return Err(JoinRefusal::Rejected(self.reject(RejectionReason::Limit, rest)));
        }
        self.check_work(now, newcomer, is_enforced, need)?;
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
