//! The settings that a line goes by.

use serde::{Deserialize, Serialize};

/// Whether and whom a queue admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// First come, first served.
    Open,
    /// Everyone passes; nothing is stored.
    Bypass,
    /// People join; nobody is admitted.
    Paused,
    /// Nobody joins; who is admitted stays.
    Closed,
    /// Nobody joins; who waits is admitted in order. Once the line has been empty for `hold_ttl`, so that no ticket can
    /// bring anybody back to it, the queue closes by itself.
    Draining,
}

impl Mode {
    /// Whether those who wait are admitted.
    #[must_use]
    pub const fn admits(self) -> bool {
        matches!(self, Self::Open | Self::Draining)
    }

    /// Whether newcomers join the line.
    #[must_use]
    pub const fn accepts_joins(self) -> bool {
        matches!(self, Self::Open | Self::Paused)
    }
}

/// The settings that a line goes by. Times in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRules {
    /// Whether and whom the queue admits.
    pub mode: Mode,
    /// Most sessions that may be let in at once.
    pub quota: u64,
    /// Most admissions a minute; `None` is no limit.
    pub admissions_per_minute: Option<u64>,
    /// How long a visit keeps a session in line.
    pub waiting_ttl: u64,
    /// How long a visit keeps a place.
    pub active_ttl: u64,
    /// How long a session that was let in while away, or never came back, keeps its place.
    pub claim_ttl: u64,
    /// How long after its last signature a ticket still holds its place in the order.
    pub hold_ttl: u64,
    /// How long a place lasts at most; `None` is no limit.
    pub max_session: Option<u64>,
    /// How long a credential may let a client through after the store was asked last: its slot stays taken for that long
    /// after the session left or was ended.
    pub credential_ttl: u64,
    /// Tickets of another epoch are void.
    pub epoch: u64,
    /// Grows with every change of the settings.
    pub revision: u64,
}

impl LineRules {
    /// How long a tombstone must stand: no ticket that was signed before it can return after it.
    pub(super) fn tombstone_ttl(&self) -> u64 {
        self.hold_ttl.max(self.active_ttl)
    }
}
