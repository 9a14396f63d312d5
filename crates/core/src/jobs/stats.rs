//! Statistics of a job queue.

use super::id::JobId;
use crate::counters::counters;
use crate::time::Micros;

counters! {
    /// Counts of a job queue since it was created.
    pub struct JobCounters {
        /// Accepted jobs.
        enqueued = "enqueued",
        /// Jobs that equal an earlier one.
        duplicate = "duplicate",
        /// Acknowledged jobs.
        acknowledged = "acknowledged",
        /// Failed attempts.
        failed = "failed",
        /// Leases that were returned without an attempt.
        requeued = "requeued",
        /// Jobs that became dead letters.
        dead = "dead",
        /// Held orders whose outcome became unknown.
        unknown = "unknown",
        /// Unknown outcomes that are settled: an operator recorded it, a late result came, or the dead letter is gone.
        resolved = "resolved",
        /// Waiting jobs that were deleted.
        canceled = "canceled",
        /// Dead letters that were put back.
        replayed = "replayed",
        /// Refused settlements and extensions of old leases.
        refused = "refused",
        /// Jobs and dead letters that the backend has lost: what it knew of them was evicted or deleted.
        lost = "lost",
    }
}

/// A group whose first job was put back without being finished, so that the later ones wait (J6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockedGroup {
    /// Its first job.
    pub job: JobId,
    /// Seconds since the job was put back for the first time.
    pub age: u64,
}

/// The statistics of a job queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobStats {
    /// Jobs that wait, for their turn or for a retry.
    pub waiting: u64,
    /// Of those, the ones that can start now. The others wait for a time, for a retry, for the first job of their group, or for
    /// their message.
    pub ready: u64,
    /// Leased jobs.
    pub running: u64,
    /// Dead letters.
    pub dead: u64,
    /// Size of all payloads together.
    pub bytes: u64,
    /// Seconds since the oldest job that is not finished was accepted; `None` if there is none.
    pub oldest_age: Option<u64>,
    /// The group that has been blocked longest; only groups of the [`super::BLOCKING_SEARCH`] oldest jobs are considered.
    pub blocked_group: Option<BlockedGroup>,
    /// Until when a handler's `Retry-After` pauses the job queue.
    pub paused_until: Option<Micros>,
    /// Counts since the job queue was created.
    pub counters: JobCounters,
}

impl JobStats {
    /// Held orders whose outcome is unknown, and of which nobody has recorded what became of them.
    pub const fn unresolved(&self) -> u64 {
        self.counters.unknown.saturating_sub(self.counters.resolved)
    }
}
