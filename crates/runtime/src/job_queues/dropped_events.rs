//! Counts of the webhook events that a process has dropped.

use std::time::Duration;

use vestibule_freeze::LogRateLimiter;

/// Minimum time between two log lines about dropped events of a job queue.
const DROPPED_LINES_EVERY: Duration = Duration::from_secs(10);

/// The webhook events of a job queue that were dropped.
pub(super) struct DroppedEvents {
    pub(super) count: u64,
    pub(super) warnings: LogRateLimiter,
}

impl Default for DroppedEvents {
    fn default() -> Self {
        Self { count: 0, warnings: LogRateLimiter::every(DROPPED_LINES_EVERY) }
    }
}
