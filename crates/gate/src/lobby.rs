//! The lobby of an event with a draw (rules 14 and 15): visitors who come before the start get a lobby ticket, see a
//! countdown, and after the start join the line at the arrival that the draw gives them.

use std::sync::Arc;

use tracing::error;
use vestibule_core::line::{LobbyEntry, Mode, VisitAnswer};
use vestibule_core::settings::{Event, EventOrder, LOBBY_MAX, Settings};
use vestibule_core::{
    EventStatus, LobbyTicket, Micros, SessionId, Ticket, VisitorState, VisitorStatus, beacon_after, lobby_after,
    support_code,
};
use vestibule_runtime::{Outcome, Queue};

use crate::state::Gate;
use crate::visit_result::{NewTicket, VisitResult};

/// What a lobby ticket is worth at an instant.
pub(crate) enum LobbyTicketValue {
    /// The draw has not taken place.
    InLobby,
    /// The ticket of the session in line at its drawn arrival.
    Drawn(Box<Ticket>),
    /// The draw has taken place, and this gate does not know its sale key.
    KeyUnknown,
    /// Nothing: its bearer is a newcomer.
    Void,
}

/// What a lobby ticket is worth at `now` by these settings.
pub(crate) fn value_of(gate: &Gate, settings: &Settings, ticket: &LobbyTicket, now: Micros) -> LobbyTicketValue {
    let Some(event) = event_of(settings, ticket) else { return LobbyTicketValue::Void };
    let Some(drawn_at) = event.drawn_at().filter(|drawn_at| *drawn_at <= now) else {
        return if event.missed_beacon(now) { LobbyTicketValue::Void } else { LobbyTicketValue::InLobby };
    };
    if now >= drawn_at.add_seconds(settings.line.hold_ttl) {
        return LobbyTicketValue::Void;
    }
    if let Some(draw) = gate.sale_keys.draw(&settings.id, event) {
        let head_start = ticket.batch().map_or(0, |batch| settings.head_start_of(batch));
        return LobbyTicketValue::Drawn(Box::new(ticket.drawn(&draw, drawn_at, head_start)));
    }
    // Another gate knows the key; a ticket is never lost because this one does not.
    if let Some(suppressed) = gate.unknown_sale_keys.allow() {
        let key = event.key.as_deref().unwrap_or_default();
        error!(queue = %settings.id, event = %event.id, key, suppressed, "the sale key of a draw is not among VESTIBULE_SALE_KEYS");
    }
    LobbyTicketValue::KeyUnknown
}

/// The event of a lobby ticket, unless the queue was reset or the event removed or suspended. A ticket from before the lobby is of
/// an earlier event with the same ID.
fn event_of<'a>(settings: &'a Settings, ticket: &LobbyTicket) -> Option<&'a Event> {
    let mut events = settings.line.events.planned();
    let event = events.find(|event| event.id == *ticket.event() && event.order == EventOrder::Draw);
    event.filter(|event| ticket.epoch() == settings.line.epoch && event.lobby_at().micros() <= ticket.came_at())
}

/// The result of a request with a lobby ticket before the draw. It needs no store call.
pub(crate) fn in_lobby(queue: Arc<Queue>, ticket: &LobbyTicket, mode: Mode, now: Micros) -> VisitResult {
    let settings = &queue.settings;
    let visitor_status = VisitorStatus { state: state_in(mode), ..lobby_status(settings, Some(ticket.session()), now) };
    VisitResult { known: true, ..VisitResult::new(queue, visitor_status, now, Outcome::Lobby) }
}

/// The state of a visitor in the lobby. If an operator sets another mode, lobby tickets are kept for the draw.
const fn state_in(mode: Mode) -> VisitorState {
    match mode {
        Mode::Closed | Mode::Draining => VisitorState::Closed,
        Mode::Paused => VisitorState::Paused,
        _ => VisitorState::Lobby,
    }
}

/// The lobby ticket of a newcomer whom the store has counted. Its cookie is kept until long after the draw, since the event may
/// be postponed while the page of the visitor reads the line document only: to at most [`LOBBY_MAX`] seconds after the lobby opened.
pub(crate) fn lobby_ticket(gate: &Gate, settings: &Settings, entry: &LobbyEntry) -> Option<NewTicket> {
    let event = settings.line.phase(entry.at(), true)?.event.filter(|event| event.order == EventOrder::Draw)?;
    let token = gate.tickets.sign_lobby(&settings.id, &event.id, entry)?;
    let until = event.ends_at.micros().add_seconds(LOBBY_MAX + settings.line.hold_ttl);
    let max_age = until.since(entry.at()).div_ceil(vestibule_core::MICROS_PER_SECOND);
    Some(NewTicket { token, max_age, is_first: false })
}

/// The status of a visitor in the lobby.
pub(crate) fn lobby_status(settings: &Settings, session: Option<SessionId>, now: Micros) -> VisitorStatus {
    let event = EventStatus::of(settings, now, true);
    let current = settings.line.phase(now, true).and_then(|current| current.event);
    let starts_in = event.as_ref().map(|event| event.starts_in);
    let poll_after = if current.is_some_and(|event| event.awaits_beacon(now)) {
        beacon_after(now)
    } else {
        lobby_after(starts_in, current.map_or(0, Event::draw_seconds), now)
    };
    VisitorStatus {
        session,
        support_code: session.map(|session| support_code(session, None)),
        revision: Some(settings.line.revision),
        event,
        ..VisitorStatus::new(settings.id.clone(), VisitorState::Lobby, poll_after)
    }
}

/// Whether the answer says that the visitor is in the lobby, or could only come to the lobby.
pub(crate) const fn is_lobby(answer: &VisitAnswer) -> bool {
    matches!(answer.mode, Mode::Lobby) && answer.session.is_none()
}

/// Adds the number of a drawn session to the status of its bearer.
/// Before the draw nobody may know it, also if an event was postponed since the ticket was converted.
pub(crate) fn add_number(
    gate: &Gate,
    settings: &Settings,
    now: Micros,
    ticket: Option<&Ticket>,
    status: &mut VisitorStatus,
) {
    let (Some(ticket), Some(shown)) = (ticket, &mut status.event) else { return };
    let is_of_event = ticket.event() == Some(&shown.id) && status.session == Some(ticket.session());
    let mut events = settings.line.events.planned();
    let event = events.find(|event| is_of_event && event.id == shown.id);
    let event = event.filter(|event| event.drawn_at().is_some_and(|drawn_at| drawn_at <= now));
    let draw = event.and_then(|event| gate.sale_keys.draw(&settings.id, event));
    shown.number = draw.map(|draw| draw.number(ticket.session()).to_string());
}
