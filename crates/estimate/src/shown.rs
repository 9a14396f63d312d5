//! Smooths the displayed wait so that it does not jump.

use vestibule_core::WaitSeconds;

/// Time constant, in seconds, with which the displayed wait follows the current estimate.
const SMOOTHING_SECONDS: f64 = 60.0;
/// Upper bound of that time constant, as a share of the time for which the rate has been observed.
/// Early estimates are little more than a guess and are replaced quickly.
const SMOOTHING_SHARE: f64 = 0.5;

/// Waits below this many seconds are not smoothed.
const UNSMOOTHED_BELOW: f64 = 60.0;

/// An expected wait in milliseconds, finer than it is displayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitRange {
    /// Median wait at this position.
    pub p50_ms: u64,
    /// 0.9-quantile of the wait at this position.
    pub p90_ms: u64,
}

impl WaitRange {
    /// The wait to display to a visitor who was shown a median of `before_ms`, `passed` seconds
    /// ago.
    ///
    /// The result blends the earlier value, reduced by the time passed, with the current estimate
    /// (`self`). The current estimate has more weight the longer ago the earlier value was shown,
    /// and the less data it was based on: `known_for` is the number of seconds for which the rate
    /// has been observed, 0 if it is unknown. So the wait does not jump each time a slot becomes
    /// free. The range keeps its proportions.
    #[must_use]
    pub fn after(self, before_ms: u64, passed: f64, known_for: f64) -> Self {
        let expected = before_ms as f64 - passed * 1000.0;
        if expected.min(self.p50_ms as f64) < UNSMOOTHED_BELOW * 1000.0 {
            return self;
        }
        let within =
            if known_for > 0.0 { SMOOTHING_SECONDS.min(SMOOTHING_SHARE * known_for) } else { SMOOTHING_SECONDS };
        let share = -(-passed / within).exp_m1();
        let p50 = expected + share * (self.p50_ms as f64 - expected);
        let p90 = self.p90_ms as f64 * p50 / self.p50_ms as f64;
        Self { p50_ms: p50.round() as u64, p90_ms: p90.round() as u64 }
    }

    /// The wait in whole seconds, for display.
    pub const fn seconds(self) -> WaitSeconds {
        WaitSeconds { p50: (self.p50_ms + 500) / 1000, p90: (self.p90_ms + 500) / 1000 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long observation time for the admission rate.
    const LONG: f64 = 1000.0;

    #[test]
    fn observations_replace_a_guess_immediately() {
        let now = WaitRange { p50_ms: 300_000, p90_ms: 400_000 };
        assert_eq!(now.after(600_000, 0.0, 10.0).p50_ms, 600_000);
        assert!(now.after(600_000, 15.0, 20.0).p50_ms < 365_000);
        assert!(now.after(600_000, 15.0, 0.0).p50_ms > 500_000, "nothing was seen yet");
        assert_eq!(now.after(600_000, 15.0, 120.0), now.after(600_000, 15.0, LONG));
    }

    #[test]
    fn displayed_wait_decreases_and_follows_the_estimate() {
        let now = WaitRange { p50_ms: 300_000, p90_ms: 400_000 };
        assert_eq!(now.after(600_000, 0.0, LONG).p50_ms, 600_000, "two requests at once get the same answer");
        let soon = now.after(600_000, 2.0, LONG);
        assert!((585_000..=595_000).contains(&soon.p50_ms), "{soon:?}");
        assert_eq!(soon.p90_ms / 1000, soon.p50_ms * 4 / 3000, "{soon:?}");
        let mut shown = 600_000;
        for _ in 0..30 {
            shown = now.after(shown, 5.0, LONG).p50_ms;
        }
        assert!(shown.abs_diff(300_000) < 80_000, "{shown}");
        assert_eq!(now.after(61_000, 2.0, LONG), now, "near the end it is shown as it is known");
        assert_eq!(now.after(5000, 600.0, LONG), now, "after an absence longer than the wait, the estimate is new");
    }
}
