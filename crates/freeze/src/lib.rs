#![doc = include_str!("../README.md")]

mod log_rate_limiter;
mod timer;

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

pub use log_rate_limiter::LogRateLimiter;
pub use timer::{sleep, timeout};

/// An instant by the monotonic and the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct FreezeAwareInstant {
    monotonic: Instant,
    wall: SystemTime,
}

impl FreezeAwareInstant {
    /// The current instant.
    #[expect(clippy::disallowed_methods, reason = "only compared with itself, and no rule of a line depends on it")]
    pub fn now() -> Self {
        Self { monotonic: Instant::now(), wall: SystemTime::now() }
    }

    /// The instant this much earlier, if both clocks can represent it.
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        let monotonic = self.monotonic.checked_sub(duration)?;
        Some(Self { monotonic, wall: self.wall.checked_sub(duration)? })
    }

    /// The instant as it is known after a freeze of this length during which the monotonic clock stood still, if the wall clock can
    /// represent it.
    #[cfg(any(test, feature = "test-util"))]
    pub fn before_freeze(&self, length: Duration) -> Option<Self> {
        Some(Self { wall: self.wall.checked_sub(length)?, ..*self })
    }

    /// The time since, by the clock that advanced more.
    pub fn elapsed(&self) -> Duration {
        let now = Self::now();
        let by_wall_clock = now.wall.duration_since(self.wall).unwrap_or_default();
        now.monotonic.saturating_duration_since(self.monotonic).max(by_wall_clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[tokio::test(start_paused = true)]
    async fn elapsed_time_is_the_larger_of_both_clocks() {
        let now = FreezeAwareInstant::now();
        assert!(now.elapsed() < HOUR);
        let wall_advanced = FreezeAwareInstant { wall: now.wall.checked_sub(HOUR).unwrap(), ..now };
        assert!(wall_advanced.elapsed() >= HOUR, "the monotonic clock stood still");
        tokio::time::advance(HOUR).await;
        assert!(now.elapsed() >= HOUR, "the wall clock stood still");
        let wall_set_back = FreezeAwareInstant { wall: now.wall + 2 * HOUR, ..now };
        assert!(wall_set_back.elapsed() >= HOUR, "the wall clock was set back");
    }
}
