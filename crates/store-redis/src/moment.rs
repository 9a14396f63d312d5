//! A point in time measured by both clocks of the machine.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// A time by the monotonic and the wall clock. In a frozen process one of them stops; which one
/// depends on what froze it.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    steady: Instant,
    wall: SystemTime,
}

impl Moment {
    /// The present one.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "only compared with itself, so that a freeze shows; decides on no visitor"
    )]
    pub fn now() -> Self {
        Self { steady: Instant::now(), wall: SystemTime::now() }
    }

    /// Elapsed time by the clock that advanced more.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let now = Self::now();
        let by_the_wall = now.wall.duration_since(self.wall).unwrap_or_default();
        now.steady.saturating_duration_since(self.steady).max(by_the_wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    #[tokio::test(start_paused = true)]
    async fn elapsed_time_is_the_larger_of_both_clocks() {
        let now = Moment::now();
        assert!(now.elapsed() < HOUR);
        assert!(
            Moment { wall: now.wall.checked_sub(HOUR).unwrap(), ..now }.elapsed() >= HOUR,
            "the steady one stood still"
        );
        tokio::time::advance(HOUR).await;
        assert!(now.elapsed() >= HOUR, "the one on the wall stood still");
        assert!(Moment { wall: now.wall + 2 * HOUR, ..now }.elapsed() >= HOUR, "the one on the wall was set back");
    }
}
