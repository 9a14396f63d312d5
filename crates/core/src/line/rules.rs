//! The settings that control a line.

use serde::{Deserialize, Deserializer, Serialize};

/// The mode of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// First come, first served.
    Open,
    /// All visitors continue to the site; nothing is stored.
    Bypass,
    /// Visitors join; none is admitted.
    #[default]
    Paused,
    /// No visitor joins; active sessions continue.
    Closed,
    /// No visitor joins; waiting sessions are admitted in order. Once the line has been empty for
    /// `hold_ttl`, so that no ticket can restore a session to it, the queue closes automatically.
    Draining,
}

impl Mode {
    /// Whether waiting sessions are admitted.
    #[must_use]
    pub const fn admits(self) -> bool {
        matches!(self, Self::Open | Self::Draining)
    }

    /// Whether newcomers can join the line.
    #[must_use]
    pub const fn accepts_joins(self) -> bool {
        matches!(self, Self::Open | Self::Paused)
    }
}

/// The settings that control a line. Times are in seconds.
///
/// They are stored as named fields and read leniently: unknown fields are ignored, missing fields
/// have their defaults, and a queue with an unknown mode is paused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LineRules {
    /// The mode.
    #[serde(deserialize_with = "known_mode")]
    pub mode: Mode,
    /// Maximum number of active sessions.
    pub quota: u64,
    /// Maximum number of admissions per minute; `None` is unlimited.
    pub admissions_per_minute: Option<u64>,
    /// How long a visit keeps a waiting session present.
    pub waiting_ttl: u64,
    /// How long a visit keeps a slot.
    pub active_ttl: u64,
    /// How long a session keeps its position or slot if it is unconfirmed, or was admitted while
    /// away.
    pub claim_ttl: u64,
    /// How long a ticket holds its position after it was signed.
    pub hold_ttl: u64,
    /// Maximum duration of an active session; `None` is unlimited.
    pub max_session: Option<u64>,
    /// How long a credential may admit a client after the store was last asked. A slot stays taken
    /// for that long after its session left or was ended.
    pub credential_ttl: u64,
    /// The current epoch; tickets of another epoch are void.
    pub epoch: u64,
    /// Revision of the settings; each change increments it.
    pub revision: u64,
}

fn known_mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mode, D::Error> {
    let mode = serde_json::Value::deserialize(deserializer)?;
    Ok(Mode::deserialize(&mode).unwrap_or_default())
}

impl LineRules {
    /// Duration of a tombstone: no ticket signed before it is valid after it.
    pub(super) fn tombstone_ttl(&self) -> u64 {
        self.hold_ttl.max(self.active_ttl)
    }
}
