//! Limits the log lines of a fault that affects every request.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use vestibule_freeze::FreezeAwareInstant;

/// Minimum time between two lines.
const EVERY: Duration = Duration::from_secs(1);

/// Allows one line per second and counts the suppressed ones.
#[derive(Default)]
pub(crate) struct LogRateLimiter(Mutex<Lines>);

#[derive(Default)]
struct Lines {
    allowed_at: Option<FreezeAwareInstant>,
    suppressed: u64,
}

impl LogRateLimiter {
    /// `Some` if a line may be logged, with the number of lines suppressed since the last one.
    pub(crate) fn allow(&self) -> Option<u64> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.allowed_at.is_some_and(|at| at.elapsed() < EVERY) {
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

    #[tokio::test(start_paused = true)]
    async fn one_line_per_second_counts_the_suppressed() {
        let limiter = LogRateLimiter::default();
        assert_eq!(limiter.allow(), Some(0));
        assert_eq!((limiter.allow(), limiter.allow()), (None, None));
        advance(EVERY).await;
        assert_eq!((limiter.allow(), limiter.allow()), (Some(2), None));
    }

    #[tokio::test(start_paused = true)]
    async fn line_is_allowed_after_a_freeze() {
        let limiter = LogRateLimiter::default();
        assert_eq!((limiter.allow(), limiter.allow()), (Some(0), None));
        let mut lines = limiter.0.lock().unwrap();
        lines.allowed_at = lines.allowed_at.and_then(|at| at.before_freeze(EVERY));
        drop(lines);
        assert_eq!(limiter.allow(), Some(1));
    }
}
