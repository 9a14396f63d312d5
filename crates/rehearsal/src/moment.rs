//! Time as a crowd counts it.

use serde::Serialize;

/// An instant in milliseconds since the crowd began: 49 days of them, in four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct Moment(pub u32);

impl Moment {
    /// What never comes.
    pub const NEVER: Self = Self(u32::MAX);

    /// The instant this many seconds after the beginning.
    #[must_use]
    pub fn of_seconds(seconds: f64) -> Self {
        Self((seconds.max(0.0) * 1000.0).min(f64::from(u32::MAX)) as u32)
    }

    /// This many milliseconds later.
    #[must_use]
    pub const fn after_ms(self, ms: u32) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// This many seconds later.
    #[must_use]
    pub fn after(self, seconds: f64) -> Self {
        self.after_ms(Self::of_seconds(seconds).0)
    }

    /// Seconds since the beginning.
    #[must_use]
    pub fn seconds(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Seconds since `earlier`; 0 if that lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> f64 {
        f64::from(self.0.saturating_sub(earlier.0)) / 1000.0
    }

    /// The whole second it lies in.
    #[must_use]
    pub const fn second(self) -> usize {
        (self.0 / 1000) as usize
    }
}
