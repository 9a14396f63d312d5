//! Time in whole microseconds since 1970.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// Microseconds in a second.
pub const MICROS_PER_SECOND: u64 = 1_000_000;

/// An instant by the store's clock, in microseconds since 1970. Counts stay below 2^53, so a double
/// represents them exactly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// This many seconds later.
    #[must_use]
    pub const fn add_seconds(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(MICROS_PER_SECOND)))
    }

    /// Microseconds since `earlier`; 0 if `earlier` is later than this.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whole seconds since 1970.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.0 / MICROS_PER_SECOND
    }
}

impl fmt::Debug for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.0)
    }
}

/// The time source of a memory store.
pub trait Clock: Send + Sync {
    /// The current time. A clock that steps back is tolerated: rule 7.
    fn now(&self) -> Micros;
}

/// The system clock, read once at the start and advanced by the monotonic clock, so that it never
/// goes back.
#[derive(Debug)]
pub struct SystemClock {
    base: Micros,
    started: std::time::Instant,
}

impl SystemClock {
    /// A clock that starts at the system time.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    pub fn new() -> Self {
        let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self { base: Micros(since_1970.as_micros() as u64), started: std::time::Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Micros {
        Micros(self.base.0 + self.started.elapsed().as_micros() as u64)
    }
}

/// A clock that changes only when it is moved: for tests and simulations.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock set to `now`.
    #[must_use]
    pub const fn at(now: Micros) -> Self {
        Self(AtomicU64::new(now.0))
    }

    /// Moves the clock forward.
    pub fn advance(&self, micros: u64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }

    /// Moves the clock back, like a system clock that is corrected.
    pub fn step_back(&self, micros: u64) {
        self.0.fetch_sub(micros, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::SeqCst))
    }
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> Micros {
        (**self).now()
    }
}
