//! What the last round of the purge left behind for whoever watches over it.

use serde::{Deserialize, Serialize};

use crate::time::Micros;

/// The last round of the purge over all queues. A store keeps one for all of them, so that it is seen from every process
/// when the purge stopped running, and what it did when it ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LastPurge {
    /// When the round ended, by the store's clock.
    pub at: Micros,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Queues looked at.
    pub queues: u64,
    /// Queues that could not be purged.
    pub failed: u64,
    /// Lapsed sessions removed.
    pub expired: u64,
    /// Old tombstones removed.
    pub tombstones: u64,
    /// Sessions admitted into the places that became free.
    pub admitted: u64,
    /// Whether the round's time ended before its work did.
    pub unfinished: bool,
}
