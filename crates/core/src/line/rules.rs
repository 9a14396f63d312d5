//! The settings that control a line.

use serde::{Deserialize, Deserializer, Serialize};

use crate::fields::{Bounded, Nullable, ObjectReader, Skipped};
use crate::line::RATE_MAX;
use crate::settings::FieldWording as W;

/// Maximum quota.
const QUOTA_MAX: u64 = 10_000_000;
/// Maximum epoch and revision: integers that a double represents exactly.
const WHOLE_MAX: u64 = 1 << 53;
const DAY: u64 = 86_400;

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

// An unknown mode of a newer version is read as paused: this version must not admit visitors.
crate::word_field! {
    Mode { Open = "open", Bypass = "bypass", Paused = "paused", Closed = "closed", Draining = "draining" } else Paused
}

crate::fields! {
    /// The settings that control a line. Times are in seconds.
    ///
    /// They are stored as named fields and read leniently: unknown fields are ignored, missing fields
    /// have their defaults, and a queue with an unknown mode is paused.
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
    #[serde(default)]
    pub struct LineRules {
        /// Mode of the queue.
        #[serde(deserialize_with = "known_mode")]
        pub mode: Mode = Mode::Open,
        /// Maximum number of active visitors.
        pub quota: Bounded<0, QUOTA_MAX>,
        /// Maximum admissions per minute; `null` for no limit.
        pub admissions_per_minute: Nullable<Bounded<1, RATE_MAX>>,
        /// Seconds after a visit until a waiting session expires.
        pub waiting_ttl: Bounded<3, 3600> = 60,
        /// Seconds after a visit until an active session expires.
        pub active_ttl: Bounded<1, DAY> = 600,
        /// Seconds for which an admission is held for an absent visitor, and for which an unconfirmed
        /// session keeps its position.
        pub claim_ttl: Bounded<1, 3600> = 30,
        /// Seconds after the last visit for which a ticket restores its position.
        pub hold_ttl: Bounded<1, { 7 * DAY }> = 600,
        /// Maximum length of an active session in seconds; `null` for no limit.
        pub max_session: Nullable<Bounded<1, { 30 * DAY }>>,
        /// How long a credential may admit a client after the store was last asked. A slot stays taken
        /// for that long after its session left or was ended.
        pub credential_ttl: Skipped<u64>,
        /// The current epoch; tickets of another epoch are invalid.
        pub epoch: Bounded<1, WHOLE_MAX> = 1,
        /// Revision of the settings; each change increments it.
        pub revision: Bounded<0, WHOLE_MAX> = 1,
    }
    check = check_times;
}

fn check_times(rules: &mut LineRules, object: &mut ObjectReader<'_>) {
    if object.is_stored() {
        rules.hold_ttl = rules.hold_ttl.max(rules.waiting_ttl);
        rules.claim_ttl = rules.claim_ttl.max(rules.waiting_ttl.div_ceil(3));
    }
    if rules.hold_ttl < rules.waiting_ttl {
        object.error("hold_ttl", W::HoldTtlTooShort);
    }
    if rules.claim_ttl * 3 < rules.waiting_ttl {
        object.error("claim_ttl", W::ClaimTtlTooShort);
    }
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
