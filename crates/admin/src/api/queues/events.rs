//! The events of a queue.

use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::line::{LineRules, Stats};
use vestibule_core::settings::{
    BeaconRound, DRAND_RELAY, Event, EventOrder, LobbyChange, LobbyEffect, Settings, affected_lobbies, event_problems,
};
use vestibule_core::{Message, Micros, QueueId, SaleKeys, Timestamp};

use crate::access::Principal;
use crate::api::queues::service::find_visible;
use crate::body::Segments;
use crate::codes::Code;
use crate::confirmation::confirmed;
use crate::message::MessageView;
use crate::problem::Problem;
use crate::state::Admin;

/// An event and what it does now.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventState {
    /// ID of the event.
    id: String,
    /// Name of the event, by default that of the queue.
    name: String,
    /// `upcoming`, `lobby`, `draw`, `running`, `ending`, `over` or `suspended`. It says what the times mean, whatever the mode of the queue.
    #[schema(value_type = String)]
    phase: &'static str,
    /// When the lobby opens, in RFC 3339.
    lobby_at: String,
    /// When the sale starts, in RFC 3339. Admissions begin then, or, with a draw, at `draw.ends_at`.
    starts_at: String,
    /// When the sale ends, in RFC 3339.
    ends_at: String,
    /// Seconds until the start by the clock of the store, negative afterwards.
    starts_in: f64,
    /// Lobby tickets that were issued. `null` for an event in order of arrival, and while the queue does not follow the event.
    lobby_tickets: Option<u64>,
    /// The draw; `null` for an event in order of arrival.
    draw: Option<DrawState>,
    /// What prevents the event from taking place as planned.
    problems: Vec<MessageView>,
}

/// The draw of an event: the commitment in advance, and after the draw what anyone needs to check it.
#[derive(Serialize, ToSchema)]
struct DrawState {
    /// ID of the sale key from which the secret derives.
    key: String,
    /// The text from which the secret derives.
    salt: String,
    /// When the drawn order is complete and admissions begin, in RFC 3339; `null` while the value of the beacon is missing.
    ends_at: Option<String>,
    /// SHA-256 of the secret, in hexadecimal digits. `null` if the backoffice does not know the sale key.
    commitment: Option<String>,
    /// The beacon; `null` for a draw without one.
    beacon: Option<BeaconState>,
    /// When the beacon was removed after the start, in RFC 3339; `null` if it was not.
    beacon_removed_at: Option<String>,
    /// The secret, in hexadecimal digits; `null` before the draw.
    secret: Option<String>,
    /// The seed of the numbers, in hexadecimal digits; `null` before the draw.
    seed: Option<String>,
}

impl DrawState {
    /// The draw at this time. A suspended event is not drawn, so its secret stays one.
    fn of(keys: &SaleKeys, queue: &QueueId, event: &Event, now: Micros) -> Option<Self> {
        if event.order != EventOrder::Draw {
            return None;
        }
        let is_drawn = !event.suspended && event.drawn_at().is_some_and(|drawn_at| drawn_at <= now);
        let proof = keys.draw(queue, event).filter(|_| is_drawn);
        Some(Self {
            key: event.key.clone().unwrap_or_default(),
            salt: event.salt.clone().unwrap_or_default(),
            ends_at: event.draw_ends_at().map(|at| Timestamp::of(at).to_string()),
            commitment: keys.commitment(queue, event).map(|commitment| commitment.to_string()),
            beacon: BeaconState::of(event, now),
            beacon_removed_at: event.beacon_removed_at.map(|at| at.to_string()),
            secret: proof.map(|draw| draw.secret().to_string()),
            seed: proof.map(|draw| draw.seed().to_string()),
        })
    }
}

/// The beacon of a draw.
#[derive(Serialize, ToSchema)]
struct BeaconState {
    /// `announced` before its round is published, `missing` until the value is recorded, `recorded`, or `missed` if it was not
    /// recorded before the end of the event.
    #[schema(value_type = String)]
    status: &'static str,
    /// Hash of the chain, in hexadecimal digits.
    #[schema(value_type = String)]
    chain: &'static str,
    /// The round that the draw uses.
    round: u64,
    /// When the round is published, in RFC 3339.
    published_at: String,
    /// Where a relay publishes it.
    address: String,
    /// SHA-256 of the signature, in hexadecimal digits; `null` until it is recorded.
    randomness: Option<String>,
    /// The signature of the round, in hexadecimal digits; `null` until it is recorded.
    signature: Option<String>,
    /// When the value was recorded and the order drawn, in RFC 3339; `null` before.
    received_at: Option<String>,
}

impl BeaconState {
    fn of(event: &Event, now: Micros) -> Option<Self> {
        let BeaconRound { beacon, round, published_at } = event.beacon_round()?;
        let value = event.beacon_value.as_ref();
        let status = match value {
            Some(_) => "recorded",
            None if event.missed_beacon(now) => "missed",
            None if published_at.micros() <= now => "missing",
            None => "announced",
        };
        Some(Self {
            status,
            chain: beacon.chain(),
            round,
            published_at: published_at.to_string(),
            address: beacon.address(DRAND_RELAY, round),
            randomness: value.map(|value| value.randomness.to_string()),
            signature: value.map(|value| value.signature.clone()),
            received_at: value.map(|value| value.received_at.to_string()),
        })
    }
}

/// Get an event
///
/// Returns an event of a queue with its phase, its draw and its problems.
#[utoipa::path(get, path = "/queues/{queue}/events/{event}", tag = "queues",
    responses((status = 200, description = "The event", body = EventState)))]
pub(crate) async fn get_event(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((queue, event)): Segments<(String, String)>,
) -> Result<Json<EventState>, Problem> {
    let settings = find_visible(&admin, &principal, &queue).await?;
    EventState::read(&admin, &settings, &event).await.map(Json)
}

impl EventState {
    /// The event with this ID of a queue with these settings, as it is now.
    pub(super) async fn read(admin: &Admin, settings: &Settings, event: &str) -> Result<Self, Problem> {
        let stats = admin.store.stats(&settings.id).await?;
        let found = find_event(settings, event)?;
        let draw = DrawState::of(&admin.sale_keys, &settings.id, found, stats.now);
        let mut problems = event_problems(&settings.line, found, stats.now);
        if let Some(draw) = draw.as_ref().filter(|draw| draw.commitment.is_none() && !found.suspended) {
            problems.push(Code::SaleKeyMissing.with("key", draw.key.as_str()));
        }
        let is_followed = followed(settings, &stats).is_some_and(|followed| followed.id == found.id);
        Ok(Self {
            id: found.id.to_string(),
            name: found.name.as_ref().unwrap_or(&settings.name).clone(),
            phase: phase_of(&settings.line, found, stats.now, stats.may_wait()),
            lobby_at: found.lobby_at().to_string(),
            starts_at: found.starts_at.to_string(),
            ends_at: found.ends_at.to_string(),
            starts_in: found.starts_in(stats.now),
            lobby_tickets: (is_followed && draw.is_some()).then_some(stats.lobby_tickets),
            draw,
            problems: problems.into_iter().map(MessageView).collect(),
        })
    }
}

/// The event of a queue with this ID.
pub(crate) fn find_event<'a>(settings: &'a Settings, id: &str) -> Result<&'a Event, Problem> {
    let found = settings.line.events.iter().find(|event| event.id.as_str() == id);
    found.ok_or(Problem::NotFound(Code::AnEvent))
}

/// The event that the queue follows now: its counter is that of the statistics.
fn followed<'a>(settings: &'a Settings, stats: &Stats) -> Option<&'a Event> {
    settings.line.phase(stats.now, stats.may_wait())?.event
}

/// Asks for a confirmation of a change that removes or suspends an event with valid lobby tickets, or removes its beacon.
pub(super) async fn confirm_lobby_changes(
    admin: &Admin,
    principal: &Principal,
    headers: &HeaderMap,
    before: &Settings,
    after: &Settings,
) -> Result<(), Problem> {
    let stats = admin.store.stats(&before.id).await?;
    let affected = affected_lobbies(&before.line, Some(&after.line), stats.now);
    let consequences: Vec<_> = affected.iter().filter_map(|change| consequence(before, &stats, change)).collect();
    let Some(message) = joined(consequences) else { return Ok(()) };
    let events: Vec<_> = affected.iter().map(|change| change.event.id.as_str()).collect();
    let subject = format!("event.void {} {} {}", before.id, before.line.revision, events.join(" "));
    confirmed(admin, principal, headers, &subject, || message).await
}

/// What a change does to the lobby of an event, with the number of its tickets; `None` if nobody was in it.
pub(crate) fn consequence(before: &Settings, stats: &Stats, change: &LobbyChange<'_>) -> Option<Message> {
    let is_counted = followed(before, stats).is_some_and(|followed| followed.id == change.event.id);
    let event = change.event.id.as_str();
    match (change.effect, is_counted) {
        (_, true) if stats.lobby_tickets == 0 => None,
        // From the draw on, visitors use their tickets to join the line.
        (LobbyEffect::Void, true) if change.event.drawn_at().is_some_and(|drawn_at| drawn_at <= stats.now) => {
            Some(Code::WillVoidUnusedTickets.with("tickets", stats.lobby_tickets).with("event", event))
        }
        (LobbyEffect::Void, true) => {
            Some(Code::WillVoidLobbyTickets.with("tickets", stats.lobby_tickets).with("event", event))
        }
        (LobbyEffect::Void, false) => Some(Code::WillVoidUncountedTickets.with("event", event)),
        (LobbyEffect::WithoutBeacon, true) => {
            Some(Code::WillRemoveBeacon.with("tickets", stats.lobby_tickets).with("event", event))
        }
        (LobbyEffect::WithoutBeacon, false) => Some(Code::WillRemoveBeaconUncounted.with("event", event)),
    }
}

/// What a reset or the removal of the queue does: to visitors, which is the first message, and to each lobby.
pub(crate) fn with_lobbies(first: Message, settings: &Settings, stats: &Stats) -> Message {
    let lobbies = affected_lobbies(&settings.line, None, stats.now);
    let lobbies = lobbies.iter().filter_map(|change| consequence(settings, stats, change));
    match joined(lobbies) {
        Some(lobbies) => Code::Both.with("first", first).with("then", lobbies),
        None => first,
    }
}

/// Several consequences as one message; `None` without any.
pub(crate) fn joined(consequences: impl IntoIterator<Item = Message>) -> Option<Message> {
    consequences.into_iter().reduce(|first, then| Code::Both.with("first", first).with("then", then))
}

fn phase_of(rules: &LineRules, event: &Event, now: Micros, waiting: bool) -> &'static str {
    if event.suspended {
        return "suspended";
    }
    if now < event.lobby_at().micros() {
        return "upcoming";
    }
    let current = vestibule_core::line::phase(rules, now, waiting);
    let is_current = current.event.is_some_and(|current| current.id == event.id);
    if is_current { current.phase.as_str() } else { "over" }
}
