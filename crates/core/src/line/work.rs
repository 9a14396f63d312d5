//! Proof of work of newcomers: whether a join needs a proof, and joins without one after a waiting time.

use super::join_distribution::JOIN_SLOT;
use super::limits::JoinRejection;
use super::types::Visit;
use crate::time::Micros;

/// Seconds, per unit of the difficulty, after which a newcomer may join without a proof.
pub const DELAY_PER_DIFFICULTY: u64 = 30;
/// Maximum of these seconds.
pub const DELAY_MAX: u64 = 300;
/// One join in this many, at most, is a delayed one.
pub const DELAYED_SHARE: u64 = 10;
/// Delayed joins in [`JOIN_SLOT`] seconds that are always possible: one per second.
pub const DELAYED_MIN: u64 = JOIN_SLOT;

/// Why the newcomer of an operation did not join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JoinRefusal {
    /// A limit rejected the join.
    Rejected(JoinRejection),
    /// The join needs a proof of work of this difficulty.
    NeedsProof(u64),
}

/// What the newcomer of an operation has proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct JoinWork {
    /// Whether the join needs no proof: an invitation names its session.
    pub(super) is_exempt: bool,
    /// The difficulty that is proven.
    pub(super) proven: u64,
    /// The difficulty that was required last.
    pub(super) required: Option<u64>,
    /// When the newcomer may join without a proof.
    pub(super) delayed_from: Option<Micros>,
}

impl JoinWork {
    /// What this visit proves to a line of this epoch.
    pub(super) fn of(visit: &Visit, epoch: u64) -> Self {
        let is_exempt = visit.head_start.is_some();
        let Some(pre_ticket) = visit.redeemed(epoch) else { return Self { is_exempt, ..Self::default() } };
        let required = pre_ticket.difficulty().map(u64::from);
        let delayed_from = |difficulty| pre_ticket.first_visit().add_seconds(delay_of(difficulty));
        Self {
            is_exempt,
            proven: pre_ticket.proven().map_or(0, u64::from),
            required,
            delayed_from: required.map(delayed_from),
        }
    }

    /// The session of the pre-ticket has ended, so what it proves counts no more: else one proof would do for many accounts.
    pub(super) fn spend(&mut self) {
        *self = Self { is_exempt: self.is_exempt, ..Self::default() };
    }
}

/// Seconds after the first visit from which a newcomer may join without a proof of this difficulty (rule W9).
pub const fn delay_of(difficulty: u64) -> u64 {
    let delay = DELAY_PER_DIFFICULTY.saturating_mul(difficulty);
    if delay < DELAY_MAX { delay } else { DELAY_MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_grows_with_the_difficulty_up_to_five_minutes() {
        assert_eq!([1, 2, 10, 64].map(delay_of), [30, 60, 300, 300]);
    }
}
