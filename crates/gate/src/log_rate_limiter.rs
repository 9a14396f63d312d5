//! Limits the log lines of a fault that affects every request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Minimum time between two lines.
const EVERY: Duration = Duration::from_secs(1);

/// Allows one line per second and counts the suppressed ones.
pub(crate) struct LogRateLimiter {
    started: Instant,
    next_ms: AtomicU64,
    suppressed: AtomicU64,
}

impl LogRateLimiter {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), next_ms: AtomicU64::new(0), suppressed: AtomicU64::new(0) }
    }

    /// `Some` if a line may be logged, with the number of lines suppressed since the last one.
    pub(crate) fn allow(&self) -> Option<u64> {
        self.allow_at(self.started.elapsed())
    }

    fn allow_at(&self, now: Duration) -> Option<u64> {
        let next = self.next_ms.load(Ordering::Relaxed);
        let is_allowed = now.as_millis() as u64 >= next
            && self
                .next_ms
                .compare_exchange(next, (now + EVERY).as_millis() as u64, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if is_allowed {
            return Some(self.suppressed.swap(0, Ordering::Relaxed));
        }
        self.suppressed.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_second_counts_the_suppressed() {
        let throttle = LogRateLimiter::new();
        let at = |ms| throttle.allow_at(Duration::from_millis(ms));
        assert_eq!(at(5), Some(0));
        assert_eq!((at(6), at(1004)), (None, None));
        assert_eq!(at(1005), Some(2));
        assert_eq!(at(1006), None);
    }
}
