//! The settings that control a line.

use serde::{Deserialize, Deserializer, Serialize};

use crate::fields::{Bounded, Nullable, ObjectReader, Omissible, OrDefault, Skipped};
use crate::line::{Observed, RATE_MAX, STEP_MAX};
use crate::settings::{Access, BetweenEvents, Events, FieldWording as W, Protection};
use crate::time::{MICROS_PER_SECOND, Micros};

/// Maximum quota.
pub const QUOTA_MAX: u64 = 10_000_000;
/// Maximum of `max_waiting`.
const WAITING_MAX: u64 = 10_000_000;
/// Maximum epoch and revision: integers that a double represents exactly.
const WHOLE_MAX: u64 = 1 << 53;
const DAY: u64 = 86_400;
/// The presence TTL is this part of the time until the visitor's turn.
pub const PRESENCE_SHARE: u64 = 4;

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
    /// The queue follows its events: the effective mode is that of the current phase.
    Scheduled,
    /// Only the effective mode of a scheduled queue: the lobby of an event with a draw. Nobody joins the line or is
    /// admitted; newcomers get a lobby ticket.
    Lobby,
    /// Only the effective mode of a scheduled queue: visitors join the line in their drawn order, and nobody is admitted.
    Draw,
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
        matches!(self, Self::Open | Self::Paused | Self::Draw)
    }
}

// An unknown mode of a newer version is read as paused: this version must not admit visitors.
crate::word_field! {
    Mode {
        Open = "open", Bypass = "bypass", Paused = "paused", Closed = "closed", Draining = "draining", Scheduled = "scheduled",
    } else Paused only shown { Lobby = "lobby", Draw = "draw" }
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
        /// What a scheduled queue does while no event takes place: `bypass` (the default) or `closed`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub between_events: Omissible<BetweenEvents>,
        /// The events that a scheduled queue follows, sorted by start.
        #[serde(skip_serializing_if = "is_empty")]
        pub events: Events,
        /// Maximum number of active visitors.
        pub quota: Bounded<0, QUOTA_MAX>,
        /// Maximum admissions per minute; `null` for no limit.
        pub admissions_per_minute: Nullable<Bounded<1, RATE_MAX>>,
        /// Seconds between steps: visitors are admitted at whole multiples of it since 1970, as many as
        /// `admissions_per_minute` allows for that time. `null` for evenly.
        pub admissions_every: Nullable<Bounded<1, STEP_MAX>>,
        /// Maximum number of waiting visitors; `null` for no limit. Newcomers beyond it do not join.
        pub max_waiting: Nullable<Bounded<1, WAITING_MAX>>,
        /// Who can join: `anyone` (the default) or `invited`, visitors with an invitation code.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub access: Omissible<Access>,
        /// Seconds after a visit until a waiting session expires; more if it has long to wait.
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
        /// Measures against automated clients.
        pub protection: OrDefault<Protection>,
        /// How long a credential may admit a client after the store was last asked. A slot stays taken
        /// for that long after its session left or was ended.
        pub credential_ttl: Skipped<u64>,
        /// The current epoch; tickets of another epoch are invalid.
        pub epoch: Bounded<1, WHOLE_MAX> = 1,
        /// Revision of the settings; each change increments it.
        pub revision: Bounded<0, WHOLE_MAX> = 1,
    }
    check = check_rules;
}

fn is_empty(events: &Events) -> bool {
    events.is_empty()
}

fn check_rules(rules: &mut LineRules, object: &mut ObjectReader<'_>) {
    check_times(rules, object);
    let is_step_without_rate = rules.admissions_every.is_some() && rules.admissions_per_minute.is_none();
    if is_step_without_rate && !object.is_stored() {
        object.error("admissions_every", W::StepWithoutRate);
    }
    rules.events.check(object);
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
    /// Rule 12: seconds for which a visit with a ticket keeps a waiting session present.
    ///
    /// `due` is when the visitor expects the turn, by the median wait last shown. The TTL is a quarter of
    /// the time until then, at least `waiting_ttl`, and at most half of `hold_ttl` if that is more. It is
    /// `waiting_ttl` if no wait was shown.
    #[must_use]
    pub fn presence_ttl(&self, now: Micros, due: Option<Micros>) -> u64 {
        let quarter = due.map_or(0, |due| due.since(now) / (PRESENCE_SHARE * MICROS_PER_SECOND));
        quarter.clamp(self.waiting_ttl, self.longest_presence_ttl())
    }

    /// Seconds of which a waiting visitor's poll interval is at most a third: the presence TTL.
    ///
    /// It is `waiting_ttl`, a third of which is within `claim_ttl`, where the turn may come much earlier than `due`: within
    /// `quota` positions of the front, since all slots may become free at once, and while the pace is not known. Farther
    /// back, the wait shown follows a change of pace slowly: the turn counts as due when the line gets there at the pace
    /// observed, if that is earlier.
    #[must_use]
    pub fn poll_ttl(&self, now: Micros, pace: &Observed, position: Option<u64>, due: Option<Micros>) -> u64 {
        let near = position.is_some_and(|position| position <= self.quota);
        if near || !pace.is_known() {
            return self.waiting_ttl;
        }
        let at_pace = position.and_then(|position| pace.seconds_for(position)).map(|seconds| now.add_seconds(seconds));
        self.presence_ttl(now, due.map(|due| at_pace.map_or(due, |at_pace| due.min(at_pace))))
    }

    /// The longest TTL that [`LineRules::presence_ttl`] returns.
    pub(super) fn longest_presence_ttl(&self) -> u64 {
        self.waiting_ttl.max(self.hold_ttl / 2)
    }

    /// Seconds after the start of a recovery until all visitors who still poll have returned: half of
    /// the longest presence TTL, at least `waiting_ttl`.
    pub(super) fn return_time(&self) -> u64 {
        self.waiting_ttl.max(self.hold_ttl / 4)
    }

    /// Duration of a tombstone: no ticket signed before it is valid after it.
    pub(super) fn tombstone_ttl(&self) -> u64 {
        self.hold_ttl.max(self.active_ttl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presence_lasts_a_quarter_of_the_shown_wait() {
        let rules = LineRules { waiting_ttl: 60, hold_ttl: 600, ..LineRules::default() };
        let now = Micros(1_700_000_000_000_000);
        let shown = |seconds| rules.presence_ttl(now, Some(now.add_seconds(seconds)));
        assert_eq!([100, 240, 400, 1200, 3600].map(shown), [60, 60, 100, 300, 300]);
        assert_eq!(rules.presence_ttl(now, None), 60, "no wait was shown");
        assert_eq!(rules.presence_ttl(now, Some(Micros(now.0 - 1))), 60, "the turn is overdue");
        let due = Some(now.add_seconds(3600));
        let limited = LineRules { quota: 20, ..rules.clone() };
        let pace = |admissions, seconds| Observed { admissions, seconds, age: seconds, ..Observed::default() };
        let polled = |position, pace| limited.poll_ttl(now, &pace, position, due);
        let slow = pace(20.0, 300.0);
        assert_eq!(
            [Some(20), Some(100), None].map(|at| polled(at, slow)),
            [60, 300, 300],
            "all slots may become free at once"
        );
        let unknown = [pace(9.0, 299.0), pace(10.0, 299.0), pace(0.0, 300.0)];
        assert_eq!(unknown.map(|pace| polled(Some(100), pace)), [60, 300, 300], "the pace is not known");
        // Ten admissions in half a second: position 100 may be reached in five, whatever is shown.
        assert_eq!(polled(Some(100), pace(10.0, 0.5)), 60);
        let short_hold = LineRules { hold_ttl: 100, ..rules };
        assert_eq!(short_hold.presence_ttl(now, Some(now.add_seconds(3600))), 60, "at least waiting_ttl");
    }
}
