//! The events of a queue.

use axum::Json;
use axum::extract::State;
use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::line::{LineRules, Stats};
use vestibule_core::settings::{Event, Settings, event_problems};
use vestibule_core::{Micros, QueueId, SaleKeys, Timestamp};

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
    /// When admissions begin, in RFC 3339.
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
    /// When the drawn order is complete and admissions begin, in RFC 3339.
    ends_at: String,
    /// SHA-256 of the secret, in hexadecimal digits. `null` if the backoffice does not know the sale key.
    commitment: Option<String>,
    /// The secret, in hexadecimal digits; `null` before the draw.
    secret: Option<String>,
    /// The seed of the numbers, in hexadecimal digits; `null` before the draw.
    seed: Option<String>,
}

impl DrawState {
    /// The draw at this time. A suspended event is not drawn, so its secret stays one.
    fn of(keys: &SaleKeys, queue: &QueueId, event: &Event, now: Micros) -> Option<Self> {
        let (draw, ends_at) = (keys.draw(queue, event), event.draw_ends_at()?);
        let proof = draw.filter(|_| !event.suspended && event.drawn_at().is_some_and(|drawn_at| drawn_at <= now));
        Some(Self {
            key: event.key.clone().unwrap_or_default(),
            salt: event.salt.clone().unwrap_or_default(),
            ends_at: Timestamp::of(ends_at).to_string(),
            commitment: draw.map(|draw| draw.commitment().to_string()),
            secret: proof.map(|draw| draw.secret().to_string()),
            seed: proof.map(|draw| draw.seed().to_string()),
        })
    }
}

/// Get an event
///
/// Returns an event of a queue with its phase, its draw and its problems.
#[utoipa::path(get, path = "/queues/{queue}/events/{event}", tag = "queues",
    params(("queue" = String, Path, description = "ID of the queue"),
        ("event" = String, Path, description = "ID of the event")),
    responses((status = 200, description = "The event", body = EventState)))]
pub(crate) async fn get_event(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((queue, event)): Segments<(String, String)>,
) -> Result<Json<EventState>, Problem> {
    let settings = find_visible(&admin, &principal, &queue).await?;
    let stats = admin.store.stats(&settings.id).await?;
    let found = find_event(&settings, &event)?;
    let draw = DrawState::of(&admin.sale_keys, &settings.id, found, stats.now);
    let mut problems = event_problems(&settings.line, found, stats.now);
    if let Some(draw) = draw.as_ref().filter(|draw| draw.commitment.is_none() && !found.suspended) {
        problems.push(Code::SaleKeyMissing.with("key", draw.key.as_str()));
    }
    let is_followed = followed(&settings, &stats).is_some_and(|followed| followed.id == found.id);
    Ok(Json(EventState {
        id: found.id.to_string(),
        name: found.name.as_ref().unwrap_or(&settings.name).clone(),
        phase: phase_of(&settings.line, found, stats.now, stats.waiting > 0),
        lobby_at: found.lobby_at().to_string(),
        starts_at: found.starts_at.to_string(),
        ends_at: found.ends_at.to_string(),
        starts_in: found.starts_in(stats.now),
        lobby_tickets: (is_followed && draw.is_some()).then_some(stats.lobby_tickets),
        draw,
        problems: problems.into_iter().map(MessageView).collect(),
    }))
}

/// The event of a queue with this ID.
pub(crate) fn find_event<'a>(settings: &'a Settings, id: &str) -> Result<&'a Event, Problem> {
    let found = settings.line.events.iter().find(|event| event.id.as_str() == id);
    found.ok_or(Problem::NotFound(Code::AnEvent))
}

/// The event that the queue follows now: its counter is that of the statistics.
fn followed<'a>(settings: &'a Settings, stats: &Stats) -> Option<&'a Event> {
    settings.line.phase(stats.now, stats.waiting > 0)?.event
}

/// Asks for a confirmation of a change that removes or suspends an event with valid lobby tickets.
pub(super) async fn confirm_void_tickets(
    admin: &Admin,
    principal: &Principal,
    headers: &HeaderMap,
    before: &Settings,
    after: &Settings,
) -> Result<(), Problem> {
    let stats = admin.store.stats(&before.id).await?;
    let is_kept = |event: &Event| after.line.events.planned().any(|kept| kept.id == event.id);
    let may_have_tickets = |event: &Event| {
        let void_at = event.drawn_at().map(|drawn_at| drawn_at.add_seconds(before.line.hold_ttl));
        event.lobby_at().micros() <= stats.now && void_at.is_some_and(|void_at| stats.now < void_at)
    };
    let mut planned = before.line.events.planned();
    let Some(voided) = planned.find(|event| may_have_tickets(event) && !is_kept(event)) else { return Ok(()) };
    let is_followed = followed(before, &stats).is_some_and(|followed| followed.id == voided.id);
    if is_followed && stats.lobby_tickets == 0 {
        return Ok(());
    }
    let consequence = || {
        let event = voided.id.as_str();
        if is_followed {
            Code::WillVoidLobbyTickets.with("tickets", stats.lobby_tickets).with("event", event)
        } else {
            Code::WillVoidUncountedTickets.with("event", event)
        }
    };
    let subject = format!("event.void {} {} {}", before.id, before.line.revision, voided.id);
    confirmed(admin, principal, headers, &subject, consequence).await
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
