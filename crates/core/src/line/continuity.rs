//! What a state records about its own past, and about its most recent recovery.

use serde::{Deserialize, Serialize};

use super::LineRules;
use crate::time::{MICROS_PER_SECOND, Micros};

/// Precision of the time of last use, in microseconds. A write per visit would cost more.
pub const CLOCK_GRAIN: u64 = 250_000;
/// Minimum idle time that counts as a gap, in microseconds.
pub const GAP_MIN: u64 = MICROS_PER_SECOND;

/// What a state records about its own past, to detect a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Continuity {
    /// Time of last use, rounded to [`CLOCK_GRAIN`].
    pub(super) used_at: Micros,
    /// Start and end of the longest recent gap without use; 0 if there was none. A ticket signed
    /// within the gap shows that the state went back in time.
    pub(super) gap: (Micros, Micros),
    /// Whether any session was waiting at the time of last use.
    pub(super) waited: bool,
    /// The last time without visits in which sessions waited, if it was so long that it may have been an interruption, from the
    /// visit on that ended it.
    pub(super) silence: Option<LostTime>,
    /// Whether the clock stepped back, so that expiries may be too far ahead.
    pub(super) stepped_back: bool,
}

/// A time that the state does not know, or in which visitors may not have been served, and the state before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LostTime {
    /// The last visit before it; 0 if unknown.
    pub(super) from: Micros,
    /// The first visit after it.
    pub(super) until: Micros,
    /// Number of active sessions.
    pub(super) active: u64,
    /// The latest arrival admitted in order.
    pub(super) reached: Micros,
}

/// The most recent recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Recovery {
    /// Its start; 0 if there was none.
    pub(super) since: Micros,
    /// Number of active sessions before it, as far as known.
    pub(super) known: u64,
    /// When they were counted.
    pub(super) known_at: Micros,
    /// The end of the time that the state does not know. A later census counts what the state knows.
    pub(super) lost_until: Micros,
    /// The latest arrival admitted in order by then.
    pub(super) reached: Micros,
    /// How many of them are accounted for: still present, returned or left.
    pub(super) settled: u64,
    /// The TTLs at its start. A TTL that is raised later does not prolong it.
    pub(super) ttls: RecoveryTtls,
}

/// The TTLs on which the length of a recovery depends, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RecoveryTtls {
    pub(super) waiting: u64,
    pub(super) active: u64,
    pub(super) hold: u64,
}

impl RecoveryTtls {
    /// Those of these rules.
    pub(super) const fn of(rules: &LineRules) -> Self {
        Self { waiting: rules.waiting_ttl, active: rules.active_ttl, hold: rules.hold_ttl }
    }

    /// The shorter ones.
    pub(super) fn min(self, other: Self) -> Self {
        Self {
            waiting: self.waiting.min(other.waiting),
            active: self.active.min(other.active),
            hold: self.hold.min(other.hold),
        }
    }
}

/// The number of active sessions at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Census {
    /// When they were counted, by the store's clock.
    pub at: Micros,
    /// Number of active sessions.
    pub active: u64,
    /// The latest arrival admitted in order: every present session that arrived earlier was active.
    pub reached: Micros,
}
