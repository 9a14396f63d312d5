//! What the next visit of a queue reports to the store.

use std::collections::HashMap;

use parking_lot::Mutex;
use vestibule_core::QueueId;
use vestibule_core::line::{Identities, ProofCounts};

/// What this process counted since the last visit of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct VisitCounts {
    /// Pre-tickets that were issued.
    pub(crate) pre_tickets_issued: u64,
    /// Tokens of accounts that were verified.
    pub(crate) identities: Identities,
    /// Proofs of work that were verified.
    pub(crate) proofs: ProofCounts,
}

impl VisitCounts {
    /// One pre-ticket that was issued.
    pub(crate) fn pre_ticket() -> Self {
        Self { pre_tickets_issued: 1, ..Self::default() }
    }

    /// One token that was verified.
    pub(crate) fn identity(is_accepted: bool) -> Self {
        let identities = Identities { accepted: is_accepted.into(), rejected: (!is_accepted).into() };
        Self { identities, ..Self::default() }
    }

    /// One proof that was verified.
    pub(crate) fn proof(is_valid: bool) -> Self {
        Self { proofs: ProofCounts { valid: is_valid.into(), invalid: (!is_valid).into() }, ..Self::default() }
    }
}

/// The counts since the last visit, by queue.
#[derive(Default)]
pub(crate) struct CountsByQueue(Mutex<HashMap<QueueId, VisitCounts>>);

impl CountsByQueue {
    /// Counts what happened, or what a visit did not bring to the store.
    pub(crate) fn add(&self, queue: &QueueId, counts: VisitCounts) {
        let mut all = self.0.lock();
        let sum = all.entry(queue.clone()).or_default();
        sum.pre_tickets_issued += counts.pre_tickets_issued;
        sum.identities.accepted += counts.identities.accepted;
        sum.identities.rejected += counts.identities.rejected;
        sum.proofs.valid += counts.proofs.valid;
        sum.proofs.invalid += counts.proofs.invalid;
    }

    /// The counts since the last visit, for the next one.
    pub(crate) fn take(&self, queue: &QueueId) -> VisitCounts {
        self.0.lock().remove(queue).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_reported_once() {
        let (counts, queue): (_, QueueId) = (CountsByQueue::default(), "tour".parse().unwrap());
        for one in [VisitCounts::pre_ticket(), VisitCounts::identity(false), VisitCounts::proof(true)] {
            counts.add(&queue, one);
            counts.add(&queue, one);
        }
        let taken = counts.take(&queue);
        let expected = VisitCounts {
            pre_tickets_issued: 2,
            identities: Identities { accepted: 0, rejected: 2 },
            proofs: ProofCounts { valid: 2, invalid: 0 },
        };
        assert_eq!((taken, counts.take(&queue)), (expected, VisitCounts::default()));
        counts.add(&queue, taken);
        assert_eq!(counts.take(&queue), expected, "the visit failed");
    }
}
