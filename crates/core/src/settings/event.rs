//! Events: sales with their times, which a scheduled queue follows.

use std::ops::Deref;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::beacon::{Beacon, BeaconValue, beacon_randomness};
use super::name::Name;
use crate::fields::{Bounded, Field, FieldErrorCode as Code, Flag, List, ObjectReader, Omissible, Reader, Reading};
use crate::line::Mode;
use crate::time::{Micros, Timestamp};
use crate::token::is_key_id;
use crate::{EventId, Message};

/// Maximum number of events per queue.
pub const EVENTS_MAX: usize = 50;
/// How long before its start the lobby of an event opens by default, in seconds.
pub const LOBBY_DEFAULT: u64 = 1_800;
/// Minimum time between the opening of the lobby and the start, in seconds.
const LOBBY_MIN: u64 = 60;
/// Maximum time between the opening of the lobby and the start, in seconds, also of an event that is postponed.
pub const LOBBY_MAX: u64 = 86_400;
/// Minimum and maximum duration of an event, in seconds.
const DURATION_MIN: u64 = 60;
const DURATION_MAX: u64 = 30 * 86_400;
/// Minimum time between the end of an event and the opening of the next lobby, in seconds.
const PAUSE_MIN: u64 = 900;

/// How long visitors of the lobby have to join the line after a draw by default, in seconds.
const DRAW_DEFAULT: u64 = 30;
/// Default and minimum of an event with a beacon: gates learn of its value within a few seconds, and pages within 20.
const DRAW_WITH_BEACON_MIN: u64 = 45;
const DRAW_MIN: u64 = 10;
const DRAW_MAX: u64 = 600;
/// Maximum length of a salt.
pub(super) const SALT_MAX: usize = 64;

/// The order in which the visitors of an event are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventOrder {
    /// In an order that is drawn at the start for all visitors of the lobby; later visitors follow in order of arrival.
    Draw,
    /// In order of arrival: visitors join the line before the start.
    Arrival,
}

// Visitors were promised the order of the event: one that this version does not know is an error.
crate::word_field!(EventOrder { Draw = "draw", Arrival = "arrival" }, NEVER_IGNORED);

/// What a scheduled queue does while no event takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BetweenEvents {
    /// All visitors continue to the site.
    #[default]
    Bypass,
    /// No visitor joins.
    Closed,
}

crate::word_field!(BetweenEvents { Bypass = "bypass", Closed = "closed" });

impl BetweenEvents {
    /// The effective mode while no event takes place.
    pub const fn mode(self) -> Mode {
        match self {
            Self::Bypass => Mode::Bypass,
            Self::Closed => Mode::Closed,
        }
    }
}

crate::fields! {
    /// A sale with its times. Times are in RFC 3339 with an offset, in whole seconds.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Event {
        /// ID of the event, unique in the queue.
        pub id: EventId,
        /// Name shown to visitors, by default that of the queue.
        pub name: Omissible<Name>,
        /// When the lobby opens, 60 seconds to 24 hours before the start. By default 30 minutes before it.
        pub lobby_at: Omissible<Timestamp>,
        /// When the sale starts. Admissions begin then, or, with a draw, `draw_seconds` after the order is drawn.
        pub starts_at: Timestamp,
        /// When the sale ends, 60 seconds to 30 days after the start. Visitors in line are still admitted.
        pub ends_at: Timestamp,
        /// Order of admissions: `draw` or `arrival`.
        pub order: EventOrder = EventOrder::Draw,
        /// Seconds after the start in which visitors of the lobby join the line in their drawn order and nobody is admitted.
        /// By default 30, with a beacon 45, which is then the minimum.
        pub draw_seconds: Omissible<Bounded<DRAW_MIN, DRAW_MAX>>,
        /// A text from which the secret of the draw derives. By default that of the stored event, or its start in seconds
        /// since 1970 if it is new.
        pub salt: Omissible<Salt>,
        /// ID of the sale key from which the secret of the draw derives. By default that of the stored event, or the first
        /// sale key if it is new.
        pub key: Omissible<KeyId>,
        /// A public random value that nobody knows before the start, and from which the draw then derives as well:
        /// `drand-quicknet`. Nobody is admitted until it is recorded.
        pub beacon: Omissible<Beacon>,
        /// The value of the beacon, which the server records once. Settings can only repeat it.
        pub beacon_value: Omissible<BeaconValue>,
        /// When the beacon was removed after the start, which is then when the order is drawn. The server records it. Settings can
        /// only repeat it.
        pub beacon_removed_at: Omissible<Timestamp>,
        /// Whether the queue ignores the event.
        pub suspended: Flag = false,
    }
    check = check_event;
}

crate::text_kind! {
    /// The salt of a draw.
    pub Salt: Code::Salt, { "pattern": "^[a-z0-9-]{1,64}$" }, parse_salt;
    /// The ID of a key.
    pub KeyId: Code::KeyId, { "pattern": "^[A-Za-z0-9._-]{1,32}$" }, |text| is_key_id(text).then(|| text.to_owned());
}

fn parse_salt(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    ((1..=SALT_MAX).contains(&text.len()) && text.bytes().all(is_plain)).then(|| text.to_owned())
}

fn check_event(event: &mut Event, object: &mut ObjectReader<'_>) {
    let (lobby_at, starts_at, ends_at) = (event.lobby_at(), event.starts_at, event.ends_at);
    if !event.can_open_at(lobby_at) {
        object.error("lobby_at", Code::LobbyTime);
    }
    if !(DURATION_MIN..=DURATION_MAX).contains(&ends_at.seconds_after(starts_at)) {
        object.error("ends_at", Code::EventDuration);
    } else if event.order == EventOrder::Draw && ends_at.seconds_after(starts_at) < event.draw_seconds() + DURATION_MIN
    {
        object.error("ends_at", Code::DrawDuration);
    }
    check_beacon(event, object);
}

fn check_beacon(event: &mut Event, object: &mut ObjectReader<'_>) {
    if event.beacon.is_some() && event.order != EventOrder::Draw {
        object.error("beacon", Code::BeaconNeedsDraw);
    }
    if event.beacon.is_some() && event.draw_seconds() < DRAW_WITH_BEACON_MIN {
        object.error("draw_seconds", Code::DrawSecondsWithBeacon);
    }
    let is_false = |value: &BeaconValue| {
        let named = event.beacon_round().filter(|named| named.round == value.round);
        beacon_randomness(&value.signature) != Some(value.randomness)
            || named.is_none_or(|named| value.received_at < named.published_at)
    };
    if event.beacon_value.as_ref().is_some_and(is_false) {
        object.error("beacon_value", Code::BeaconValue);
    }
    let is_removed = event.beacon.is_none() && event.order == EventOrder::Draw;
    if event.beacon_removed_at.is_some_and(|at| !is_removed || at < event.starts_at) {
        object.error("beacon_removed_at", Code::BeaconRemovedAt);
    }
}

impl Event {
    /// When the lobby opens.
    pub fn lobby_at(&self) -> Timestamp {
        self.lobby_at.unwrap_or_else(|| self.starts_at.minus_seconds(LOBBY_DEFAULT))
    }

    /// Whether the lobby can open at this time.
    pub(super) fn can_open_at(&self, lobby_at: Timestamp) -> bool {
        (LOBBY_MIN..=LOBBY_MAX).contains(&self.starts_at.seconds_after(lobby_at))
    }

    /// Seconds after the start in which nobody is admitted while visitors join the line in their drawn order; 0 for an event
    /// in order of arrival.
    pub fn draw_seconds(&self) -> u64 {
        match self.order {
            EventOrder::Draw => {
                let default = if self.beacon.is_some() { DRAW_WITH_BEACON_MIN } else { DRAW_DEFAULT };
                self.draw_seconds.unwrap_or(default)
            }
            EventOrder::Arrival => 0,
        }
    }

    /// When the drawn order is complete and admissions begin; `None` for an event in order of arrival, and while the value of
    /// the beacon is missing.
    pub fn draw_ends_at(&self) -> Option<Micros> {
        self.drawn_at().map(|drawn_at| drawn_at.add_seconds(self.draw_seconds()))
    }

    /// The end of the draw phase; `None` for an event in order of arrival. While the value of the beacon is missing, it is the
    /// end of the event.
    pub fn draw_phase_ends_at(&self) -> Option<Micros> {
        (self.order == EventOrder::Draw).then(|| self.draw_ends_at().unwrap_or(self.ends_at.micros()))
    }

    /// When the seed of the draw becomes known; `None` for an event in order of arrival, and while the value of the beacon is
    /// missing.
    pub fn drawn_at(&self) -> Option<Micros> {
        if self.order != EventOrder::Draw || self.lacks_beacon_value() {
            return None;
        }
        let received_at = self.beacon_value.as_ref().map(|value| value.received_at);
        Some(received_at.or(self.beacon_removed_at).unwrap_or(self.starts_at).micros())
    }
}

/// The events of a queue, sorted by start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Events(pub(super) Arc<[Event]>);

impl Deref for Events {
    type Target = [Event];

    fn deref(&self) -> &[Event] {
        &self.0
    }
}

impl Events {
    /// These events, with another one in place of that with its ID.
    #[must_use]
    pub fn with(&self, changed: &Event) -> Self {
        Self(self.iter().map(|event| if event.id == changed.id { changed.clone() } else { event.clone() }).collect())
    }

    /// The events that are not suspended.
    pub fn planned(&self) -> impl DoubleEndedIterator<Item = &Event> + Clone {
        self.iter().filter(|event| !event.suspended)
    }

    /// Sorts the events by start, and checks user input for events that exclude each other.
    pub(crate) fn check(&mut self, object: &mut ObjectReader<'_>) {
        if !object.is_stored() {
            self.check_ids(object);
            self.check_pauses(object);
        }
        let mut sorted = self.to_vec();
        sorted.sort_by_key(|event| event.starts_at);
        *self = Self(sorted.into());
    }

    fn check_ids(&self, object: &mut ObjectReader<'_>) {
        for (index, event) in self.iter().enumerate() {
            if self[..index].iter().any(|other| other.id == event.id) {
                object.error(&format!("events[{index}].id"), Code::EventIdTaken.with("id", event.id.as_str()));
            }
        }
    }

    /// Two sales at once need two queues.
    fn check_pauses(&self, object: &mut ObjectReader<'_>) {
        let mut planned: Vec<_> = self.iter().enumerate().filter(|(_, event)| !event.suspended).collect();
        planned.sort_by_key(|(_, event)| event.starts_at);
        for pair in planned.windows(2) {
            let [(_, before), (index, event)] = pair else { continue };
            if event.lobby_at().seconds_after(before.ends_at) < PAUSE_MIN {
                let fault =
                    Code::EventTooEarly.with("other", before.id.as_str()).with("ends_at", before.ends_at.to_string());
                object.error(&format!("events[{index}].lobby_at"), fault);
            }
        }
    }
}

/// A list of events.
type EventList = List<Event, 0, EVENTS_MAX>;

impl Field for Events {
    type Value = Self;
    const NEVER_IGNORED: bool = true;
    const OMISSIBLE: bool = true;

    fn expected() -> Message {
        EventList::expected()
    }

    fn schema() -> Value {
        EventList::schema()
    }

    /// An event that this version can't read is an error in stored settings, too: without the event the queue would let
    /// everyone pass.
    fn parse(value: &Value, reader: &mut Reader) -> Option<Self> {
        let events = EventList::parse(value, reader)?;
        let is_complete = value.as_array().is_some_and(|given| given.len() == events.len());
        if !is_complete {
            reader.error(Self::expected());
        }
        is_complete.then(|| Self(events.into()))
    }

    fn to_json(value: &Self) -> Value {
        value.iter().map(Event::to_json).collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }

    fn is_omitted(value: &Self) -> bool {
        value.is_empty()
    }
}

impl FromIterator<Event> for Events {
    /// In the order of their starts.
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        let mut sorted: Vec<Event> = events.into_iter().collect();
        sorted.sort_by_key(|event| event.starts_at);
        Self(sorted.into())
    }
}

impl Serialize for Events {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::to_json(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let events = Vec::<Value>::deserialize(deserializer)?;
        let read = events.iter().map(|event| Reader::read::<Event>(event, Reading::Stored));
        read.collect::<Result<_, _>>().map(Self).map_err(|_| D::Error::custom("an event cannot be read"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use crate::line::LineRules;
    use crate::settings::Settings;

    fn with(events: &Value) -> Value {
        json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
            "mode": "scheduled", "events": events,
        })
    }

    pub(in crate::settings) fn settings(events: &Value) -> Settings {
        Settings::from_value(&with(events)).unwrap()
    }

    fn errors(events: &Value) -> Vec<String> {
        let errors = Settings::from_value(&with(events)).unwrap_err();
        errors.iter().map(ToString::to_string).collect()
    }

    pub(in crate::settings) fn sale(id: &str, starts_at: &str, ends_at: &str) -> Value {
        json!({ "id": id, "starts_at": starts_at, "ends_at": ends_at, "order": "arrival" })
    }

    pub(in crate::settings) const SPRING: (&str, &str) = ("2027-03-04T10:00:00Z", "2027-03-04T14:00:00Z");

    #[test]
    fn events_are_sorted_and_written_in_utc() {
        let later = sale("second", "2027-03-11T11:00:00+01:00", "2027-03-11T15:00:00+01:00");
        let settings = settings(&json!([later, sale("first", SPRING.0, SPRING.1)]));
        let events = &settings.line.events;
        assert_eq!(events.iter().map(|event| event.id.as_str()).collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!(events[0].lobby_at().to_string(), "2027-03-04T09:30:00Z");
        let written = settings.to_value();
        assert_eq!(written["events"][1]["starts_at"], "2027-03-11T10:00:00Z");
        assert_eq!(written["events"][0].get("lobby_at"), None, "the default is not written");
        assert_eq!(Settings::from_value(&written).unwrap().line.events, *events);
        assert_eq!(Settings::from_stored(&written).unwrap().line.events, *events);
        let rules = serde_json::to_value(&settings.line).unwrap();
        assert_eq!(serde_json::from_value::<LineRules>(rules).unwrap(), settings.line);
    }

    #[test]
    fn queues_without_events_are_written_as_before() {
        let written = settings(&json!([])).to_value();
        assert!(written.get("events").is_none() && written.get("between_events").is_none(), "{written}");
    }

    #[test]
    fn times_need_an_offset_and_whole_seconds() {
        for text in ["2027-03-04T10:00:00", "2027-03-04", "2027-03-04T10:00:00.5Z", "1969-12-31T23:59:59Z", "soon"] {
            let found = errors(&json!([sale("a", text, SPRING.1)]));
            let expected =
                "events[0].starts_at: must be a time with an offset in whole seconds, such as \"2027-03-04T10:00:00Z\"";
            assert!(found.iter().any(|error| error.starts_with(expected)), "{found:?}");
        }
    }

    #[test]
    fn lobby_and_duration_have_bounds() {
        let lobby = |lobby_at: &str| json!([{ "id": "a", "lobby_at": lobby_at, "starts_at": SPRING.0, "ends_at": SPRING.1, "order": "arrival" }]);
        for good in ["2027-03-03T10:00:00Z", "2027-03-04T09:59:00Z"] {
            settings(&lobby(good));
        }
        for wrong in ["2027-03-03T09:59:59Z", "2027-03-04T09:59:01Z", "2027-03-04T10:01:00Z"] {
            assert_eq!(errors(&lobby(wrong)), ["events[0].lobby_at: must be 60 seconds to 24 hours before starts_at"]);
        }
        for good in ["2027-03-04T10:01:00Z", "2027-04-03T10:00:00Z"] {
            settings(&json!([sale("a", SPRING.0, good)]));
        }
        for wrong in ["2027-03-04T10:00:59Z", "2027-04-03T10:00:01Z", "2027-03-04T09:00:00Z"] {
            let found = errors(&json!([sale("a", SPRING.0, wrong)]));
            assert_eq!(found, ["events[0].ends_at: must be 60 seconds to 30 days after starts_at"]);
        }
    }

    #[test]
    fn lobby_opens_15_minutes_after_the_event_before() {
        let next = |starts_at: &str| sale("next", starts_at, "2027-03-04T20:00:00Z");
        settings(&json!([next("2027-03-04T14:45:00Z"), sale("first", SPRING.0, SPRING.1)]));
        let found = errors(&json!([next("2027-03-04T14:44:59Z"), sale("first", SPRING.0, SPRING.1)]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0]
                .starts_with("events[0].lobby_at: must be at least 15 minutes after the end of the event \"first\"")
        );
        let mut first = sale("first", SPRING.0, SPRING.1);
        first["suspended"] = true.into();
        settings(&json!([next("2027-03-04T14:44:59Z"), first]));
    }

    #[test]
    fn event_ids_are_unique_and_orders_known() {
        let later = sale("a", "2027-03-11T10:00:00Z", "2027-03-11T12:00:00Z");
        let found = errors(&json!([sale("a", SPRING.0, SPRING.1), later]));
        assert_eq!(found, ["events[1].id: is already used by another event of the queue: \"a\""]);
        let raffle = json!([{ "id": "a", "starts_at": SPRING.0, "ends_at": SPRING.1, "order": "raffle" }]);
        assert_eq!(errors(&raffle), ["events[0].order: must be one of \"draw\", \"arrival\"; got \"raffle\""]);
    }

    #[test]
    fn stored_event_of_a_newer_version_is_never_ignored() {
        for (field, value) in [("order", json!("raffle")), ("starts_at", json!("soon"))] {
            let mut stored = with(&json!([sale("a", SPRING.0, SPRING.1)]));
            stored["events"][0][field] = value;
            assert!(Settings::from_stored(&stored).is_err(), "{field}");
        }
        let mut stored = with(&json!([sale("a", SPRING.0, SPRING.1)]));
        stored["events"][0]["poster"] = "blue".into();
        assert!(Settings::from_stored(&stored).is_ok(), "an unknown field may mean anything");
    }

    #[test]
    fn draw_ends_a_minute_before_the_event() {
        let event = |ends_at: &str, seconds: u64| json!([{ "id": "a", "starts_at": SPRING.0, "ends_at": ends_at, "draw_seconds": seconds }]);
        assert_eq!(
            settings(&event("2027-03-04T10:02:00Z", 60)).line.events[0].draw_ends_at().unwrap().seconds(),
            1_804_154_460
        );
        let found = errors(&event("2027-03-04T10:02:00Z", 61));
        assert_eq!(
            found,
            [
                "events[0].ends_at: must be at least 60 seconds after the end of the draw, which is draw_seconds after starts_at"
            ]
        );
        assert!(errors(&event(SPRING.1, 9))[0].starts_with("events[0].draw_seconds: "));
    }
}
