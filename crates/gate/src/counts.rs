//! Counts of tokens of accounts, which the next visit of a queue brings to the store.

use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};
use vestibule_core::QueueId;
use vestibule_core::line::Identities;

/// Tokens that were verified since the last visit, by queue.
#[derive(Default)]
pub(crate) struct IdentityCounts(Mutex<HashMap<QueueId, Identities>>);

impl IdentityCounts {
    fn counts(&self) -> MutexGuard<'_, HashMap<QueueId, Identities>> {
        self.0.lock()
    }

    /// Counts a token.
    pub(crate) fn add(&self, queue: &QueueId, accepted: bool) {
        let (accepted, rejected) = (u64::from(accepted), u64::from(!accepted));
        self.put_back(queue, Identities { accepted, rejected });
    }

    /// Counts what a visit did not bring to the store.
    pub(crate) fn put_back(&self, queue: &QueueId, counts: Identities) {
        if counts == Identities::default() {
            return;
        }
        let mut all = self.counts();
        let held = all.entry(queue.clone()).or_default();
        held.accepted += counts.accepted;
        held.rejected += counts.rejected;
    }

    /// The counts since the last visit.
    pub(crate) fn take(&self, queue: &QueueId) -> Identities {
        self.counts().remove(queue).unwrap_or_default()
    }
}
