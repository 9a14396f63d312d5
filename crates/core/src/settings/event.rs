//! Events: sales with their times, which a scheduled queue follows.

use std::ops::Deref;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::Name;
use super::beacon::{Beacon, BeaconValue, check_beacon};
use super::wording::FieldWording as W;
use crate::draw::ADDED_SALT_LEN;
use crate::fields::{Bounded, Field, Flag, List, ObjectReader, Omissible, Reader, Reading};
use crate::line::{LineRules, Mode};
use crate::time::{Micros, Timestamp};
use crate::token::is_key_id;
use crate::{EventId, FieldError, Message, QueueId, SaleKeys};

/// Maximum number of events per queue.
pub const EVENTS_MAX: usize = 50;
/// How long before its start the lobby of an event opens by default, in seconds.
pub const LOBBY_DEFAULT: u64 = 1_800;
/// Minimum and maximum time between the opening of the lobby and the start, in seconds.
const LOBBY_MIN: u64 = 60;
const LOBBY_MAX: u64 = 86_400;
/// Minimum and maximum duration of an event, in seconds.
const DURATION_MIN: u64 = 60;
const DURATION_MAX: u64 = 30 * 86_400;
/// Seconds for which a gate uses the store's answer that a queue is idle: it lets requests pass without asking, so a change
/// of the settings applies within this time.
pub const IDLE_USED_FOR: u64 = 30;
/// Minimum time between the end of an event and the opening of the next lobby, in seconds.
const PAUSE_MIN: u64 = 900;

/// How long visitors of the lobby have to join the line after a draw by default, in seconds.
const DRAW_DEFAULT: u64 = 30;
/// Default and minimum of an event with a beacon: gates learn of its value within a few seconds, and pages within 20.
pub(super) const DRAW_WITH_BEACON_MIN: u64 = 45;
const DRAW_MIN: u64 = 10;
const DRAW_MAX: u64 = 600;
/// Seconds after a draw in which visitors of the lobby should still be able to return to their drawn position.
const RETURN_MIN: u64 = 120;
/// Maximum length of a salt.
pub(super) const SALT_MAX: usize = 64;

/// The order in which the visitors of an event are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventOrder {
    /// In an order that is drawn at the start for everyone who is in the lobby; later visitors follow in order of arrival.
    Draw,
    /// In order of arrival: visitors join the line before the start.
    Arrival,
}

// Visitors were promised the order of the event: one that this version does not know is an error.
crate::word_field!(EventOrder { Draw = "draw", Arrival = "arrival" }, NEVER_IGNORED);

/// What a scheduled queue does while no event takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    #[must_use]
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
        /// When admissions begin.
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
    pub Salt: W::Salt, { "pattern": "^[a-z0-9-]{1,64}$" }, parse_salt;
    /// The ID of a key.
    pub KeyId: W::KeyId, { "pattern": "^[A-Za-z0-9._-]{1,32}$" }, |text| is_key_id(text).then(|| text.to_owned());
}

fn parse_salt(text: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    ((1..=SALT_MAX).contains(&text.len()) && text.bytes().all(is_plain)).then(|| text.to_owned())
}

fn check_event(event: &mut Event, object: &mut ObjectReader<'_>) {
    let (lobby_at, starts_at, ends_at) = (event.lobby_at(), event.starts_at, event.ends_at);
    if !event.can_open_at(lobby_at) {
        object.error("lobby_at", W::LobbyTime);
    }
    if !(DURATION_MIN..=DURATION_MAX).contains(&ends_at.seconds_after(starts_at)) {
        object.error("ends_at", W::EventDuration);
    } else if event.order == EventOrder::Draw && ends_at.seconds_after(starts_at) < event.draw_seconds() + DURATION_MIN
    {
        object.error("ends_at", W::DrawDuration);
    }
    check_beacon(event, object);
}

impl Event {
    /// When the lobby opens.
    #[must_use]
    pub fn lobby_at(&self) -> Timestamp {
        self.lobby_at.unwrap_or_else(|| self.starts_at.minus_seconds(LOBBY_DEFAULT))
    }

    /// Whether the lobby can open at this time.
    fn can_open_at(&self, lobby_at: Timestamp) -> bool {
        (LOBBY_MIN..=LOBBY_MAX).contains(&self.starts_at.seconds_after(lobby_at))
    }

    /// Seconds after the start in which nobody is admitted while visitors join the line in their drawn order; 0 for an event
    /// in order of arrival.
    #[must_use]
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
    #[must_use]
    pub fn draw_ends_at(&self) -> Option<Micros> {
        self.drawn_at().map(|drawn_at| drawn_at.add_seconds(self.draw_seconds()))
    }

    /// The end of the draw phase; `None` for an event in order of arrival. While the value of the beacon is missing, it is the
    /// end of the event.
    #[must_use]
    pub fn draw_phase_ends_at(&self) -> Option<Micros> {
        (self.order == EventOrder::Draw).then(|| self.draw_ends_at().unwrap_or(self.ends_at.micros()))
    }

    /// When the seed of the draw becomes known; `None` for an event in order of arrival, and while the value of the beacon is
    /// missing.
    #[must_use]
    pub fn drawn_at(&self) -> Option<Micros> {
        if self.order != EventOrder::Draw || self.lacks_beacon_value() {
            return None;
        }
        let received_at = self.beacon_value.as_ref().map(|value| value.received_at);
        Some(received_at.or(self.beacon_removed_at).unwrap_or(self.starts_at).micros())
    }

    /// Whether visitors can have valid lobby tickets at `now`: from the opening of the lobby until `hold_ttl` seconds after the
    /// draw.
    fn may_have_lobby_tickets(&self, hold_ttl: u64, now: Micros) -> bool {
        let void_at = self.drawn_at().map_or(self.ends_at.micros(), |drawn_at| drawn_at.add_seconds(hold_ttl));
        self.order == EventOrder::Draw && self.lobby_at().micros() <= now && now < void_at
    }

    /// Completes the salt and the key of a draw from the stored event, or for a new one.
    fn complete_draw(&mut self, before: Option<&Self>, salts: &Salts<'_>, keys: &SaleKeys) -> Result<(), W> {
        if self.order != EventOrder::Draw {
            return Ok(());
        }
        let from_before = |field: fn(&Self) -> &Option<String>| before.and_then(|before| field(before).clone());
        let (given, held) = (self.salt.take(), from_before(|it| &it.salt));
        self.salt = match (given, held) {
            (None, Some(held)) => Some(held),
            (Some(given), Some(held)) if salts.is_from(&given, &held) => Some(held),
            (given, _) => Some(salts.of_new(self, given, keys)),
        };
        let named = self.key.take().or_else(|| from_before(|it| &it.key));
        let key = named.or_else(|| keys.ids().next().map(str::to_owned));
        let is_known = key.as_deref().is_some_and(|key| keys.ids().any(|known| known == key));
        // A process that does not know the key can leave an event as it is.
        let is_kept = before.is_some_and(|before| before.key == key);
        self.key = key;
        if is_known || is_kept && self.key.is_some() { Ok(()) } else { Err(W::UnknownSaleKey) }
    }

    /// The locked fields (rule 13.7) that `after`, the same event after a change at `now`, has changed.
    fn locked_changes(&self, after: &Self, now: Micros) -> impl Iterator<Item = (&'static str, W)> {
        let (has_lobby, has_started) = (self.lobby_at().micros() <= now, self.starts_at.micros() <= now);
        let is_removed = self.beacon.is_some() && after.beacon.is_none();
        let is_decided = self.beacon_value.is_some() || self.missed_beacon(now);
        let changes = [
            ("lobby_at", has_lobby && self.lobby_at() != after.lobby_at(), W::LobbyLocked),
            ("order", has_lobby && self.order != after.order, W::LobbyLocked),
            ("salt", has_lobby && self.salt != after.salt, W::LobbyLocked),
            ("key", has_lobby && self.key != after.key, W::LobbyLocked),
            ("starts_at", has_started && self.starts_at != after.starts_at, W::StartLocked),
            ("beacon", has_lobby && self.beacon != after.beacon && after.beacon.is_some(), W::LobbyLocked),
            ("beacon", is_removed && is_decided, W::BeaconLocked),
        ];
        changes.into_iter().filter(|(_, is_changed, _)| *is_changed).map(|(field, _, fault)| (field, fault))
    }
}

/// Where the salts of new draws come from.
#[derive(Debug, Clone, Copy, Default)]
pub enum SaltPolicy {
    /// From whoever writes the settings, or else from the start of the event: for those who operate the deployment.
    #[default]
    AsGiven,
    /// From a sale key and the revision of the settings. The secret of a salt is public after its draw, so nobody may bring
    /// it back: not even by removing the event and creating it again.
    Unpredictable,
}

/// What the salts of the new draws of a queue depend on.
struct Salts<'a> {
    policy: SaltPolicy,
    queue: &'a QueueId,
    epoch: u64,
    /// Revision of the stored settings; 0 for a new queue.
    revision: u64,
}

impl Salts<'_> {
    fn of_new(&self, event: &Event, given: Option<String>, keys: &SaleKeys) -> String {
        match self.policy {
            SaltPolicy::AsGiven => given.unwrap_or_else(|| event.starts_at.seconds().to_string()),
            SaltPolicy::Unpredictable => {
                let given = given.unwrap_or_default();
                let added = keys.salt(self.queue, &event.id, &given, self.epoch, self.revision);
                let kept = kept_of(&given);
                if kept.is_empty() { added } else { format!("{kept}-{added}") }
            }
        }
    }

    /// Whether the stored salt is what became of the given one, so that writing the same settings again changes nothing.
    fn is_from(&self, given: &str, held: &str) -> bool {
        let added = held.strip_prefix(kept_of(given)).and_then(|rest| rest.strip_prefix('-'));
        let is_added = added.is_some_and(|added| added.len() == ADDED_SALT_LEN);
        held == given || (matches!(self.policy, SaltPolicy::Unpredictable) && is_added)
    }
}

/// The part of a given salt to which digits are added.
fn kept_of(given: &str) -> &str {
    &given[..given.len().min(SALT_MAX - ADDED_SALT_LEN - 1)]
}

/// Completes the salts and keys of the draws of `rules` from the stored rules, or for new events, and what the server has
/// recorded about their beacons. Returns an error for each event whose key is not among `keys`, and for each that states
/// something else about its beacon.
pub fn complete_draws(
    queue: &QueueId,
    before: Option<&LineRules>,
    rules: &mut LineRules,
    keys: &SaleKeys,
    policy: SaltPolicy,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let revision = before.map_or(0, |before| before.revision);
    let salts = Salts { policy, queue, epoch: rules.epoch, revision };
    let mut events = rules.events.to_vec();
    for (index, event) in events.iter_mut().enumerate() {
        let held = before.and_then(|before| before.events.iter().find(|held| held.id == event.id));
        if let Err(field) = event.complete_beacon(held) {
            errors.push(FieldError::new(format!("events[{index}].{field}"), W::RecordedByServer));
        }
        if let Err(fault) = event.complete_draw(held, &salts, keys) {
            let known: Vec<&str> = keys.ids().collect();
            let fault = if known.is_empty() { W::NoSaleKeys.into() } else { fault.with("known", known.join(", ")) };
            errors.push(FieldError::new(format!("events[{index}].key"), fault));
        }
    }
    rules.events = Events(events.into());
    errors
}

/// Keeps the lobbies that are open at `now` where they are: an event whose `lobby_at` follows from its start has the stored one
/// when it is postponed.
pub fn keep_open_lobbies(before: &LineRules, after: &mut LineRules, now: Micros) {
    let open = before.events.iter().filter(|held| held.lobby_at().micros() <= now);
    let open: Vec<&Event> = open.collect();
    let mut events = after.events.to_vec();
    for event in events.iter_mut().filter(|event| event.lobby_at.is_none()) {
        let held = open.iter().find(|held| held.id == event.id).map(|held| held.lobby_at());
        event.lobby_at = held.filter(|lobby_at| *lobby_at != event.lobby_at() && event.can_open_at(*lobby_at));
    }
    after.events = events.into_iter().collect();
}

/// What a change of the settings does to the lobby of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LobbyEffect {
    /// Its lobby tickets become invalid.
    Void,
    /// Its order is drawn without the beacon.
    WithoutBeacon,
}

/// A lobby that a change affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LobbyChange<'a> {
    /// The event, as it was before.
    pub event: &'a Event,
    /// What happens to its lobby.
    pub effect: LobbyEffect,
}

/// The events that can have valid lobby tickets at `now` and that a change removes or suspends, or whose beacon it removes.
#[must_use]
pub fn affected_lobbies<'a>(before: &'a LineRules, after: Option<&LineRules>, now: Micros) -> Vec<LobbyChange<'a>> {
    let effect_on = |event: &Event| {
        let kept = after.and_then(|after| after.events.planned().find(|kept| kept.id == event.id));
        match kept {
            None => Some(LobbyEffect::Void),
            Some(kept) => (event.lacks_beacon_value() && kept.beacon.is_none()).then_some(LobbyEffect::WithoutBeacon),
        }
    };
    let open = before.events.planned().filter(|event| event.may_have_lobby_tickets(before.hold_ttl, now));
    open.filter_map(|event| Some(LobbyChange { event, effect: effect_on(event)? })).collect()
}

/// Records in `after` the beacons that a change at `now` removes from events that have started and wait for them. To be called
/// right before the change is written.
pub fn settle_removed_beacons(before: &LineRules, after: &mut LineRules, now: Micros) {
    let mut events = after.events.to_vec();
    for event in &mut events {
        if let Some(held) = before.events.iter().find(|held| held.id == event.id) {
            event.draw_at_removal(held, now);
        }
    }
    after.events = Events(events.into());
}

/// What an event that did not exist before may not state: values that only the server records.
#[must_use]
pub fn invented_beacon_values(before: Option<&LineRules>, after: &LineRules) -> Vec<FieldError> {
    let is_new = |event: &Event| before.is_none_or(|before| before.events.iter().all(|held| held.id != event.id));
    let new = after.events.iter().enumerate().filter(|(_, event)| is_new(event));
    let stated = new.flat_map(|(index, event)| {
        let fields =
            [("beacon_value", event.beacon_value.is_some()), ("beacon_removed_at", event.beacon_removed_at.is_some())];
        fields.into_iter().filter(|(_, is_stated)| *is_stated).map(move |(field, _)| (index, field))
    });
    stated.map(|(index, field)| FieldError::new(format!("events[{index}].{field}"), W::RecordedByServer)).collect()
}

/// The changes of `events` from `before` to `after` that the rules no longer allow at `now` (rule
/// 13.7): once the lobby of an event has opened, its `id`, `lobby_at` and `order` are fixed, and once the
/// event has started, its `starts_at` as well. A suspended event in order of arrival has no lobby.
#[must_use]
pub fn locked_event_changes(before: &LineRules, after: &LineRules, now: Micros) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let is_new = |event: &Event| before.events.iter().all(|held| held.id != event.id);
    // A suspended draw may have taken place or have lobby tickets.
    let is_fixed = |event: &&Event| !event.suspended || event.order == EventOrder::Draw;
    for held in before.events.iter().filter(is_fixed) {
        let Some(index) = after.events.iter().position(|event| event.id == held.id) else {
            // A new event at the same time would be the same event with another ID.
            let is_open = !held.suspended && held.lobby_at().micros() <= now && now < held.ends_at.micros();
            let same = after.events.iter().position(|event| is_new(event) && event.lobby_at() < held.ends_at);
            if let Some(index) = same.filter(|_| is_open) {
                errors.push(FieldError::new(format!("events[{index}].id"), W::LobbyLocked));
            }
            continue;
        };
        let locked = held.locked_changes(&after.events[index], now);
        errors.extend(locked.map(|(field, fault)| FieldError::new(format!("events[{index}].{field}"), fault)));
    }
    errors
}

/// Events of `after` whose lobby opens so soon after a change at `now` that gates may not know it yet: until now, the queue
/// let all requests pass without asking the store.
#[must_use]
pub fn late_lobbies(before: &LineRules, after: &LineRules, now: Micros) -> Vec<FieldError> {
    if after.mode != Mode::Scheduled || before.effective_mode(now, false) != Mode::Bypass {
        return Vec::new();
    }
    let is_known = |event: &Event| {
        before.mode == Mode::Scheduled && before.events.planned().any(|held| held.lobby_at() == event.lobby_at())
    };
    let is_late = |event: &Event| {
        event.lobby_at().micros() < now.add_seconds(IDLE_USED_FOR) && now < event.ends_at.micros() && !is_known(event)
    };
    let late = after.events.iter().enumerate().filter(|(_, event)| !event.suspended && is_late(event));
    let fault = || W::LobbySoon.with("seconds", IDLE_USED_FOR);
    late.map(|(index, _)| FieldError::new(format!("events[{index}].lobby_at"), fault())).collect()
}

/// What prevents an event from taking place as planned, seen from `now`. Nothing for a suspended event.
#[must_use]
pub fn event_problems(rules: &LineRules, event: &Event, now: Micros) -> Vec<Message> {
    if event.suspended {
        return Vec::new();
    }
    if event.ends_at.micros() <= now {
        return vec![W::EventPast.into()];
    }
    let is_short = event.order == EventOrder::Draw && rules.hold_ttl < event.draw_seconds() + RETURN_MIN;
    let problems = [
        (rules.mode != Mode::Scheduled, W::NotScheduled),
        (rules.quota == 0, W::QuotaZero),
        (is_short, W::HoldTtlForDraw),
    ];
    problems.into_iter().filter(|(is_there, _)| *is_there).map(|(_, problem)| problem.into()).collect()
}

/// The events of a queue, sorted by start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Events(Arc<[Event]>);

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
    #[must_use]
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
                object.error(&format!("events[{index}].id"), W::EventIdTaken.with("id", event.id.as_str()));
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
                    W::EventTooEarly.with("other", before.id.as_str()).with("ends_at", before.ends_at.to_string());
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
        read.collect::<Result<_, _>>().map(Self).map_err(|_| D::Error::custom("an event can't be read"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::settings::Settings;

    fn with(events: &Value) -> Value {
        json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" },
            "mode": "scheduled", "events": events,
        })
    }

    fn settings(events: &Value) -> Settings {
        Settings::from_value(&with(events)).unwrap()
    }

    fn errors(events: &Value) -> Vec<String> {
        let errors = Settings::from_value(&with(events)).unwrap_err();
        errors.iter().map(ToString::to_string).collect()
    }

    fn sale(id: &str, starts_at: &str, ends_at: &str) -> Value {
        json!({ "id": id, "starts_at": starts_at, "ends_at": ends_at, "order": "arrival" })
    }

    const SPRING: (&str, &str) = ("2027-03-04T10:00:00Z", "2027-03-04T14:00:00Z");

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
    fn draws_are_completed_once() {
        let keys = |ids: &str| {
            SaleKeys::new(
                &ids.split(',')
                    .map(|id| format!("{id}:{}", "A".repeat(43)))
                    .collect::<Vec<_>>()
                    .join(",")
                    .parse()
                    .unwrap(),
            )
            .unwrap()
        };
        let draw = |starts_at: &str| {
            settings(
                &json!([{ "id": "a", "starts_at": starts_at, "ends_at": "2027-03-04T20:00:00Z", "order": "draw" }]),
            )
            .line
        };
        let complete = |before: Option<&LineRules>, rules: &mut LineRules, keys: &SaleKeys| {
            complete_draws(&"tour".parse().unwrap(), before, rules, keys, SaltPolicy::AsGiven)
        };
        let mut first = draw(SPRING.0);
        assert!(complete(None, &mut first, &keys("new,old")).is_empty());
        let of = |rules: &LineRules| (rules.events[0].salt.clone().unwrap(), rules.events[0].key.clone().unwrap());
        assert_eq!(of(&first), ("1804154400".to_owned(), "new".to_owned()));
        let mut postponed = draw("2027-03-04T11:00:00Z");
        assert!(complete(Some(&first), &mut postponed, &keys("newer,new")).is_empty());
        assert_eq!(of(&postponed), of(&first), "the commitment stays");
        assert!(complete(Some(&first), &mut postponed, &SaleKeys::default()).is_empty(), "nothing new to draw");
        let named = |rules: &mut LineRules, keys: &SaleKeys| {
            complete(None, rules, keys).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(named(&mut first, &keys("other")), ["events[0].key: is not one of the sale keys: other"]);
        let none = named(&mut draw(SPRING.0), &SaleKeys::default());
        assert!(none[0].starts_with("events[0].key: a draw needs a sale key"), "{none:?}");
    }

    #[test]
    fn published_secret_cannot_be_brought_back() {
        let keys = SaleKeys::new(&format!("new:{}", "A".repeat(43)).parse().unwrap()).unwrap();
        let queue: QueueId = "tour".parse().unwrap();
        let salt = |before: Option<&LineRules>, given: Option<&str>| {
            let mut event = json!({ "id": "a", "starts_at": SPRING.0, "ends_at": SPRING.1, "order": "draw" });
            if let Some(given) = given {
                event["salt"] = given.into();
            }
            let mut rules = settings(&json!([event])).line;
            rules.revision = before.map_or(1, |before| before.revision + 1);
            assert!(complete_draws(&queue, before, &mut rules, &keys, SaltPolicy::Unpredictable).is_empty());
            (rules.events[0].salt.clone().unwrap(), rules)
        };
        let (first, created) = salt(None, Some("mine"));
        assert!(first.starts_with("mine-") && first.len() == 21, "{first}");
        assert_eq!(salt(None, Some("mine")).0, first, "a plan and its execution agree");
        assert_eq!(salt(Some(&created), Some(&first)).0, first);
        assert_eq!(salt(Some(&created), None).0, first);
        let removed = LineRules { events: Events::default(), revision: 2, ..created.clone() };
        assert_ne!(salt(Some(&removed), Some(&first)).0, first, "the event was removed and created again");
        assert_eq!(salt(Some(&created), Some("mine")).0, first, "the same settings again");
        assert_ne!(salt(Some(&created), Some("yours")).0, first, "another salt for the same event");
        let longest = "a".repeat(SALT_MAX);
        assert_eq!(salt(None, Some(&longest)).0.len(), SALT_MAX);
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

    #[test]
    fn lobby_that_opens_soon_after_a_change_is_late() {
        let now = "2027-03-04T09:29:30Z".parse::<Timestamp>().unwrap().micros();
        let rules = |events: &Value| settings(events).line;
        let (none, sale_soon) = (rules(&json!([])), rules(&json!([sale("a", SPRING.0, SPRING.1)])));
        let late = |before: &LineRules, after: &LineRules, micros: u64| {
            let found = late_lobbies(before, after, Micros(now.0 + micros));
            found.into_iter().map(|error| error.to_string()).collect::<Vec<_>>()
        };
        assert!(late(&none, &sale_soon, 0).is_empty(), "gates ask again within 30 seconds");
        let text = "events[0].lobby_at: opens so soon after the change that gates can let requests pass for up to 30 more seconds";
        assert_eq!(late(&none, &sale_soon, 1), [text]);
        assert_eq!(late(&none, &sale_soon, 3_600_000_000), [text], "the event is running");
        assert!(late(&none, &sale_soon, 5 * 3_600_000_000).is_empty(), "the event is over");
        assert!(late(&sale_soon, &sale_soon, 1).is_empty(), "gates know it");
        let open = LineRules { mode: Mode::Open, ..sale_soon.clone() };
        assert!(late(&open, &sale_soon, 1).is_empty(), "gates ask the store");
        let bypass = LineRules { mode: Mode::Bypass, ..sale_soon.clone() };
        assert_eq!(late(&bypass, &sale_soon, 1), [text]);
        let closed = LineRules { between_events: Some(BetweenEvents::Closed), ..none };
        assert!(late(&closed, &sale_soon, 1).is_empty());
    }

    #[test]
    fn postponed_event_keeps_its_open_lobby() {
        let before = settings(&json!([sale("a", SPRING.0, SPRING.1)])).line;
        let postponed = |starts_at: &str, now: &str, micros: i64| {
            let now = Micros(now.parse::<Timestamp>().unwrap().micros().0.saturating_add_signed(micros));
            let mut after = settings(&json!([sale("a", starts_at, "2027-03-06T14:00:00Z")])).line;
            keep_open_lobbies(&before, &mut after, now);
            (after.events[0].lobby_at().to_string(), locked_event_changes(&before, &after, now).len())
        };
        let lobby = "2027-03-04T09:30:00Z";
        assert_eq!(postponed("2027-03-04T11:00:00Z", lobby, -1), ("2027-03-04T10:30:00Z".to_owned(), 0));
        assert_eq!(postponed("2027-03-04T11:00:00Z", lobby, 0), (lobby.to_owned(), 0), "the lobby is open");
        assert_eq!(postponed("2027-03-05T09:30:00Z", lobby, 0), (lobby.to_owned(), 0));
        let too_late = ("2027-03-05T09:00:01Z".to_owned(), 1);
        assert_eq!(postponed("2027-03-05T09:30:01Z", lobby, 0), too_late, "a lobby is open for 24 hours at most");
        assert_eq!(postponed("2027-03-04T11:00:00Z", SPRING.0, 0).1, 1, "the start is locked");
        let mut same = before.clone();
        keep_open_lobbies(&before, &mut same, SPRING.0.parse::<Timestamp>().unwrap().micros());
        assert_eq!(same, before, "nothing is written that did not change");
    }

    #[test]
    fn fields_are_locked_by_phase() {
        let before = settings(&json!([sale("a", SPRING.0, SPRING.1)])).line;
        let changed = |lobby_at: &str, starts_at: &str, ends_at: &str| {
            let event = json!({ "id": "a", "name": "New", "lobby_at": lobby_at, "starts_at": starts_at, "ends_at": ends_at, "order": "arrival" });
            settings(&json!([event])).line
        };
        let locked = |after: &LineRules, now: &str, micros: i64| {
            let now = Micros(now.parse::<Timestamp>().unwrap().micros().0.saturating_add_signed(micros));
            let errors = locked_event_changes(&before, after, now);
            errors.into_iter().map(|error| error.field).collect::<Vec<_>>()
        };
        let lobby = changed("2027-03-04T09:40:00Z", SPRING.0, SPRING.1);
        assert!(locked(&lobby, "2027-03-04T09:30:00Z", -1).is_empty());
        assert_eq!(locked(&lobby, "2027-03-04T09:30:00Z", 0), ["events[0].lobby_at"]);
        let start = changed("2027-03-04T09:30:00Z", "2027-03-04T10:10:00Z", SPRING.1);
        assert!(locked(&start, SPRING.0, -1).is_empty(), "an event can be postponed until it starts");
        assert_eq!(locked(&start, SPRING.0, 0), ["events[0].starts_at"]);
        let end = changed("2027-03-04T09:30:00Z", SPRING.0, "2027-03-04T15:00:00Z");
        assert!(locked(&end, SPRING.1, 0).is_empty(), "name and end are free");
        assert!(locked(&LineRules { events: Events::default(), ..before.clone() }, SPRING.1, 0).is_empty());
        let renamed = settings(&json!([sale("b", SPRING.0, SPRING.1)])).line;
        assert!(locked(&renamed, "2027-03-04T09:30:00Z", -1).is_empty());
        assert_eq!(locked(&renamed, "2027-03-04T09:30:00Z", 0), ["events[0].id"]);
    }
}
