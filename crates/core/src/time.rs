//! Time in whole microseconds since 1970.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::DateTime;
use serde::{Deserialize, Serialize};

use crate::fields::FieldErrorCode;

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

    /// This many microseconds earlier, at least 1970.
    #[must_use]
    pub const fn ahead(self, micros: u64) -> Self {
        Self(self.0.saturating_sub(micros))
    }

    /// Microseconds since `earlier`; 0 if `earlier` is later than this.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Whole seconds since 1970.
    pub const fn seconds(self) -> u64 {
        self.0 / MICROS_PER_SECOND
    }
}

/// An instant in whole seconds since 1970, written as RFC 3339. It is read with any offset and
/// written in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The error for a text that is no RFC 3339 time with an offset and whole seconds, from 1970 on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be a time with an offset in whole seconds, such as \"2027-03-04T10:00:00Z\"")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// An instant of the store's clock, without the fraction of its second.
    pub const fn of(instant: Micros) -> Self {
        Self(instant.seconds().cast_signed())
    }

    /// Whole seconds since 1970.
    pub const fn seconds(self) -> u64 {
        self.0 as u64
    }

    /// The instant in microseconds.
    pub const fn micros(self) -> Micros {
        Micros(self.seconds() * MICROS_PER_SECOND)
    }

    /// Seconds since `earlier`; 0 if `earlier` is later than this.
    pub const fn seconds_after(self, earlier: Self) -> u64 {
        self.seconds().saturating_sub(earlier.seconds())
    }

    /// This many seconds earlier, at least 1970.
    #[must_use]
    pub const fn minus_seconds(self, seconds: u64) -> Self {
        Self(self.seconds().saturating_sub(seconds).cast_signed())
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| InvalidTimestamp)?;
        let is_whole = time.timestamp_subsec_nanos() == 0 && time.timestamp() >= 0;
        is_whole.then(|| Self(time.timestamp())).ok_or(InvalidTimestamp)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The `Debug` of a time in UTC is RFC 3339.
        write!(f, "{:?}", DateTime::from_timestamp(self.0, 0).unwrap_or_default())
    }
}

crate::text_field! { Timestamp: FieldErrorCode::Timestamp, { "format": "date-time" }; }

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
