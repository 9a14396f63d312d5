//! The result of the last purge run, for monitoring.

use serde::{Deserialize, Serialize};

use crate::time::Micros;

/// The last purge run over all queues. A store keeps one record, so every process can see whether
/// the purge still runs and what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LastPurge {
    /// End of the run, by the store's clock.
    pub at: Micros,
    /// Duration in milliseconds.
    pub took_ms: u64,
    /// Number of queues visited.
    pub queues: u64,
    /// Number of queues that could not be purged.
    pub failed: u64,
    /// Number of expired sessions removed.
    pub expired: u64,
    /// Number of old tombstones removed.
    pub tombstones: u64,
    /// Number of sessions admitted to the freed slots.
    pub admitted: u64,
    /// Whether the time limit ended the run before its work was done.
    pub unfinished: bool,
}
