//! Whether a join needs a proof of work, and joins without one after a waiting time.

use super::newcomer::Newcomer;
use super::state::Line;
use super::work::{DELAYED_MIN, DELAYED_SHARE, JoinRefusal, JoinWork};
use crate::time::Micros;
use crate::{JoinLoad, difficulty};

/// What a join needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkNeeded {
    /// The difficulty.
    difficulty: u64,
    /// Whether less is proven.
    is_missing: bool,
    /// Whether the newcomer has waited long enough to join without a proof.
    pub(super) is_delayed: bool,
}

impl Line {
    /// What a join needs with this work proven (rule L4).
    pub(super) fn work_needed(&self, now: Micros, work: &JoinWork, load: &JoinLoad) -> WorkNeeded {
        let (protection, attack_mode) = (&self.rules.protection, self.attack_mode(now));
        let mode = protection.in_force(attack_mode).proof_mode;
        let difficulty = difficulty(load, mode, protection.proof_of_work.from, attack_mode);
        let is_missing = !work.is_exempt && difficulty > work.proven;
        let is_delayed = is_missing && work.delayed_from.is_some_and(|from| from <= now);
        WorkNeeded { difficulty, is_missing, is_delayed }
    }

    /// Whether a join that no limit rejects may happen with what is proven. Counts what happens.
    pub(super) fn check_work(
        &mut self,
        now: Micros,
        newcomer: &mut Newcomer<'_>,
        is_enforced: bool,
        need: WorkNeeded,
    ) -> Result<(), JoinRefusal> {
        if !need.is_missing {
            return Ok(());
        }
        if !is_enforced {
            self.limit_counters.would_challenge += 1;
            return Ok(());
        }
        let (joins, delayed) = (self.limits.joins.recent(now), self.limits.delayed.recent(now));
        if need.is_delayed && delayed + 1.0 <= (joins / DELAYED_SHARE as f64).max(DELAYED_MIN as f64) {
            self.limits.delayed.count(now);
            self.limit_counters.delayed_joins += 1;
            newcomer.joins_late = true;
            return Ok(());
        }
        // Who asks again is counted once.
        let is_new = newcomer.work.required.is_none_or(|required| required < need.difficulty);
        self.limit_counters.challenged += u64::from(is_new);
        Err(JoinRefusal::NeedsProof(need.difficulty))
    }
}
