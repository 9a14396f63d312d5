//! Time since the start of a run.

use serde::Serialize;

/// An instant, in milliseconds since the start of a run. The maximum is 49 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct SimTime(pub u32);

impl SimTime {
    /// After the end of every run.
    pub const NEVER: Self = Self(u32::MAX);

    /// The instant at this many seconds after the start.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds.max(0.0) * 1000.0).min(f64::from(u32::MAX)) as u32)
    }

    /// Adds milliseconds.
    #[must_use]
    pub const fn add_ms(self, ms: u32) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Adds seconds.
    #[must_use]
    pub fn add_seconds(self, seconds: f64) -> Self {
        self.add_ms(Self::from_seconds(seconds).0)
    }

    /// Seconds since the start.
    pub fn seconds(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Seconds since `earlier`; 0 if that is later.
    pub fn since(self, earlier: Self) -> f64 {
        f64::from(self.0.saturating_sub(earlier.0)) / 1000.0
    }

    /// The index of the second.
    pub const fn second(self) -> usize {
        (self.0 / 1000) as usize
    }
}
