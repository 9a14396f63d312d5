//! Displayed estimates, and how often they were right.

use vestibule_core::{MICROS_PER_SECOND, Micros, WaitSeconds};
use vestibule_estimate::WaitRange;

/// A range that a visitor was shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    at: Micros,
    pub(crate) wait: WaitRange,
    /// Whether it was the visitor's first range.
    pub(crate) is_first: bool,
    /// The actual wait, in seconds.
    took: f64,
    /// Relative difference of the median from the value expected after the previous range.
    jump: Option<f64>,
}

impl Shown {
    /// The range displayed for the current estimate `wait`, the observation time of the pace, and
    /// the previous range `before`.
    pub(crate) fn after(before: Option<&Self>, now: Micros, wait: WaitRange, known_for: f64) -> Self {
        let wait = before.map_or(wait, |before| wait.after(before.wait.p50_ms, before.seconds_until(now), known_for));
        let jump = before.and_then(|before| before.jump_to(now, wait.seconds()));
        Self { at: now, wait, is_first: before.is_none(), took: 0.0, jump }
    }

    /// The range with the actual wait of a visitor admitted at `now`.
    pub(crate) fn until(self, now: Micros) -> Self {
        Self { took: self.seconds_until(now), ..self }
    }

    fn seconds_until(&self, now: Micros) -> f64 {
        now.since(self.at) as f64 / MICROS_PER_SECOND as f64
    }

    /// The median is expected to shrink by the time that passed. Below a minute seconds are no jump.
    fn jump_to(&self, now: Micros, range: WaitSeconds) -> Option<f64> {
        let expected = self.wait.seconds().p50 as f64 - self.seconds_until(now);
        (expected >= 60.0).then(|| (range.p50 as f64 / expected - 1.0).abs())
    }
}

/// Accuracy of the ranges.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    pub(crate) of: usize,
    /// Share of actual waits below the median.
    pub(crate) below_p50: f64,
    /// Share of actual waits below the 0.9-quantile.
    pub(crate) below_p90: f64,
}

impl Shares {
    pub(crate) fn of<'a>(shown: impl Iterator<Item = &'a Shown>) -> Self {
        let (mut of, mut below_p50, mut below_p90) = (0, 0, 0);
        for shown in shown {
            let range = shown.wait.seconds();
            of += 1;
            below_p50 += usize::from(shown.took <= range.p50 as f64);
            below_p90 += usize::from(shown.took <= range.p90 as f64);
        }
        let share = |count: usize| count as f64 / of as f64;
        Self { of, below_p50: share(below_p50), below_p90: share(below_p90) }
    }
}

/// The quantile of the jumps of medians that leaves out the share `but`.
pub(crate) fn jump(shown: &[Shown], but: f64) -> f64 {
    let mut jumps: Vec<f64> = shown.iter().filter_map(|shown| shown.jump).collect();
    jumps.sort_by(f64::total_cmp);
    jumps[(jumps.len() as f64 * (1.0 - but)) as usize]
}
