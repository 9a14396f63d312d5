//! The settings that control a line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::mode::{Mode, known_mode};
use super::rate::{RATE_MAX, Rate, STEP_MAX};
use crate::Message;
use crate::fields::{
    Bounded, Field, FieldErrorCode as Code, Nullable, ObjectReader, Omissible, OrDefault, Reader, Skipped,
};
use crate::settings::{Access, BetweenEvents, Events, Protection};
use crate::time::{MICROS_PER_SECOND, Micros};

/// Maximum quota.
pub const QUOTA_MAX: u64 = 10_000_000;
/// Maximum of `max_waiting`.
const WAITING_MAX: u64 = 10_000_000;
/// Maximum stored epoch, and revision: integers that a double represents exactly.
const WHOLE_MAX: u64 = 1 << 53;
/// Maximum epoch that can be set. Resets increase it further.
const EPOCH_MAX: u64 = 1_000_000_000_000_000;
/// The epoch of settings that do not name one.
pub const EPOCH_DEFAULT: u64 = 1;
const DAY: u64 = 86_400;
/// The presence TTL is this part of the time until the visitor's turn.
pub const PRESENCE_SHARE: u64 = 4;

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
        pub epoch: Epoch = EPOCH_DEFAULT,
        /// Revision of the settings; each change increments it.
        pub revision: Bounded<0, WHOLE_MAX> = 1,
    }
    check = check_rules;
}

/// An epoch up to [`EPOCH_MAX`]. A stored one can be higher.
pub struct Epoch;

impl Field for Epoch {
    type Value = u64;

    fn expected() -> Message {
        Bounded::<1, EPOCH_MAX>::expected()
    }

    fn schema() -> Value {
        Bounded::<1, EPOCH_MAX>::schema()
    }

    fn parse(value: &Value, reader: &mut Reader) -> Option<u64> {
        if reader.is_stored() {
            Bounded::<1, WHOLE_MAX>::parse(value, reader)
        } else {
            Bounded::<1, EPOCH_MAX>::parse(value, reader)
        }
    }

    fn to_json(value: &u64) -> Value {
        (*value).into()
    }
}

fn is_empty(events: &Events) -> bool {
    events.is_empty()
}

fn check_rules(rules: &mut LineRules, object: &mut ObjectReader<'_>) {
    check_times(rules, object);
    let is_step_without_rate = rules.admissions_every.is_some() && rules.admissions_per_minute.is_none();
    if is_step_without_rate && !object.is_stored() {
        object.error("admissions_every", Code::StepWithoutRate);
    }
    rules.events.check(object);
}

fn check_times(rules: &mut LineRules, object: &mut ObjectReader<'_>) {
    if object.is_stored() {
        rules.hold_ttl = rules.hold_ttl.max(rules.waiting_ttl);
        rules.claim_ttl = rules.claim_ttl.max(rules.waiting_ttl.div_ceil(3));
    }
    if rules.hold_ttl < rules.waiting_ttl {
        object.error("hold_ttl", Code::HoldTtlTooShort);
    }
    if rules.claim_ttl * 3 < rules.waiting_ttl {
        object.error("claim_ttl", Code::ClaimTtlTooShort);
    }
}

impl LineRules {
    /// Rule 12: seconds for which a visit with a ticket keeps a waiting session present.
    ///
    /// `due` is when the visitor expects the turn, by the median wait last shown. The TTL is a quarter of
    /// the time until then, at least `waiting_ttl`, and at most half of `hold_ttl` if that is more. It is
    /// `waiting_ttl` if no wait was shown.
    pub fn presence_ttl(&self, now: Micros, due: Option<Micros>) -> u64 {
        let quarter = due.map_or(0, |due| due.since(now) / (PRESENCE_SHARE * MICROS_PER_SECOND));
        quarter.clamp(self.waiting_ttl, self.longest_presence_ttl())
    }

    /// Rule 20: whether only invited visitors can join.
    pub fn is_restricted(&self) -> bool {
        self.access.unwrap_or_default() == Access::Invited
    }

    /// The limit of admissions, if there is one.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.admissions_per_minute.map(|per_minute| Rate::stepped(per_minute, self.admissions_every))
    }

    /// The longest TTL that [`LineRules::presence_ttl`] returns.
    pub(super) fn longest_presence_ttl(&self) -> u64 {
        self.waiting_ttl.max(self.hold_ttl / 2)
    }

    /// Duration of a tombstone: no ticket signed before it is valid after it.
    pub(super) fn tombstone_ttl(&self) -> u64 {
        self.hold_ttl.max(self.active_ttl)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::{Object as _, Reading};
    use crate::line::Observed;

    #[test]
    fn epoch_has_room_for_resets() {
        let rules = |epoch: u64| json!({ "quota": 1, "epoch": epoch });
        assert_eq!(LineRules::from_json(&rules(EPOCH_MAX)).unwrap().epoch, EPOCH_MAX);
        let refused = LineRules::from_json(&rules(EPOCH_MAX + 1)).unwrap_err();
        assert_eq!(
            refused[0].to_string(),
            "epoch: must be a whole number from 1 to 1000000000000000; got 1000000000000001"
        );
        let after_reset = Reader::read::<LineRules>(&rules(EPOCH_MAX + 1), Reading::Stored).unwrap();
        assert_eq!(after_reset.epoch, EPOCH_MAX + 1);
    }

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
