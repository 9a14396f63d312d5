use std::time::Duration;

use parking_lot::Mutex;

use crate::FreezeAwareInstant;

/// Limits the log lines of a fault that affects every request: allows one per interval and counts the suppressed ones.
#[derive(Debug)]
pub struct LogRateLimiter {
    interval: Duration,
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    allowed_at: Option<FreezeAwareInstant>,
    suppressed: u64,
}

impl LogRateLimiter {
    /// Allows a line at once, and the next one after this time.
    pub fn every(interval: Duration) -> Self {
        Self { interval, lines: Mutex::default() }
    }

    /// `Some` if a line may be logged, with the number of lines suppressed since the last one.
    pub fn allow(&self) -> Option<u64> {
        let mut lines = self.lines.lock();
        if lines.allowed_at.is_some_and(|at| at.elapsed() < self.interval) {
            lines.suppressed += 1;
            return None;
        }
        lines.allowed_at = Some(FreezeAwareInstant::now());
        Some(std::mem::take(&mut lines.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const INTERVAL: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn one_line_per_interval_counts_the_suppressed() {
        let limiter = LogRateLimiter::every(INTERVAL);
        assert_eq!(limiter.allow(), Some(0));
        assert_eq!((limiter.allow(), limiter.allow()), (None, None));
        advance(INTERVAL).await;
        assert_eq!((limiter.allow(), limiter.allow()), (Some(2), None));
    }

    #[tokio::test(start_paused = true)]
    async fn line_is_allowed_after_a_freeze() {
        let limiter = LogRateLimiter::every(INTERVAL);
        assert_eq!((limiter.allow(), limiter.allow()), (Some(0), None));
        let mut lines = limiter.lines.lock();
        lines.allowed_at = lines.allowed_at.and_then(|at| at.before_freeze(INTERVAL));
        drop(lines);
        assert_eq!(limiter.allow(), Some(1));
    }
}
