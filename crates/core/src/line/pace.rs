//! How fast the line moved of late: what the wait estimate is made from.

use crate::time::{MICROS_PER_SECOND, Micros};

/// Length of the window over which admissions are counted, in seconds.
pub const PACE_WINDOW: u64 = 120;
const WINDOW_US: u64 = PACE_WINDOW * MICROS_PER_SECOND;

/// Admissions out of a line in which people waited, in a sliding window: the count of the running window and of the one
/// before it. It starts anew when a line forms, since the quiet before says nothing about how fast places become free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pace {
    /// When the line formed.
    pub since: Micros,
    /// Start of the running window.
    pub window: Micros,
    /// Admissions in the running window.
    pub current: u64,
    /// Admissions in the window before.
    pub previous: u64,
}

impl Pace {
    /// A line forms.
    pub(super) fn start(now: Micros) -> Self {
        Self { since: now, window: now, current: 0, previous: 0 }
    }

    fn roll(&mut self, now: Micros) {
        let elapsed = now.since(self.window);
        if elapsed >= 2 * WINDOW_US {
            (self.previous, self.current, self.window) = (0, 0, now);
        } else if elapsed >= WINDOW_US {
            (self.previous, self.current) = (self.current, 0);
            self.window = Micros(self.window.0 + WINDOW_US);
        }
    }

    /// Counts admissions.
    pub(super) fn count(&mut self, now: Micros, admissions: u64) {
        self.roll(now);
        self.current += admissions;
    }

    /// The admissions seen and the seconds they were seen in, as of `now`.
    #[must_use]
    pub fn observed(&self, now: Micros) -> (f64, f64) {
        let mut pace = *self;
        pace.roll(now);
        let elapsed = now.since(pace.window) as f64;
        let share = (1.0 - elapsed / WINDOW_US as f64).clamp(0.0, 1.0);
        let admissions = pace.current as f64 + pace.previous as f64 * share;
        let seconds = now.since(pace.since).min(WINDOW_US) as f64 / MICROS_PER_SECOND as f64;
        (admissions, seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_slides_over_the_admissions_of_the_last_minutes() {
        let start = Micros(5_000_000_000);
        let mut pace = Pace::start(start);
        for second in 0..300 {
            pace.count(start.plus_seconds(second), 2);
        }
        let (admissions, seconds) = pace.observed(start.plus_seconds(300));
        assert!((admissions / seconds - 2.0).abs() < 0.1, "{admissions} in {seconds}");
        assert_eq!(pace.observed(start.plus_seconds(900)), (0.0, 120.0));
    }
}
