//! Puts a store's answer in words for the visitor.

use vestibule_core::line::{Mode, VisitAnswer};
use vestibule_core::settings::Settings;
use vestibule_core::{Micros, Standing, StandingState, VerifiedTicket, poll_after, wait_estimate};

/// The position that the visitor is shown. It never rises while they stay: who comes back to an older place may raise
/// the rank, but the visitor has been told, and those few leave the line before it matters. While a lost state is being
/// taken back ranks mean nothing yet, so the last known position is shown, and none to who has none.
fn shown_position(answer: &VisitAnswer, ticket: Option<&VerifiedTicket>) -> Option<u64> {
    let place = answer.place.filter(|place| place.admitted_at.is_none())?;
    let known = ticket
        .filter(|ticket| ticket.session() == place.session && ticket.admitted_at().is_none())
        .and_then(VerifiedTicket::position);
    if answer.recovering { known } else { Some(known.map_or(place.rank, |known| known.min(place.rank))) }
}

/// The standing after an answer of the store. `enter_url` is where an admitted visitor goes.
pub(crate) fn standing_of(
    settings: &Settings,
    answer: &VisitAnswer,
    ticket: Option<&VerifiedTicket>,
    enter_url: Option<String>,
) -> Standing {
    let position = shown_position(answer, ticket);
    let place = answer.place.as_ref();
    let admitted = place.is_some_and(|place| place.admitted_at.is_some());
    let state = match answer.mode {
        Mode::Bypass => StandingState::Admitted,
        _ if admitted => StandingState::Admitted,
        Mode::Closed => StandingState::Closed,
        Mode::Draining if place.is_none() => StandingState::Closed,
        Mode::Paused => StandingState::Paused,
        Mode::Open | Mode::Draining => StandingState::Waiting,
    };
    let rank = if answer.recovering { position } else { place.map(|place| place.rank) };
    let rank = rank.filter(|_| !admitted);
    let wait_seconds = rank.and_then(|rank| {
        let rules = vestibule_core::line::LineRules { mode: answer.mode, quota: answer.quota, ..settings.line.clone() };
        wait_estimate(&rules, &answer.flow(), answer.now, rank)
    });
    let left = place.map(|place| place.expires_at.since(answer.now) / vestibule_core::MICROS_PER_SECOND);
    let full = if admitted { settings.line.active_ttl } else { settings.line.waiting_ttl };
    Standing {
        queue: settings.id.clone(),
        session: place.map(|place| place.session),
        state,
        position,
        waiting: Some(answer.waiting),
        active: Some(answer.active),
        wait_seconds,
        joined_at: place.map(|place| place.arrival.seconds()),
        expires_in: left,
        poll_after: poll_after(rank, wait_seconds.map(|wait| wait.p50), full, left, answer.now),
        enter_url: enter_url.filter(|_| state == StandingState::Admitted),
        revision: Some(answer.revision),
    }
}

/// The standing while the store can't be asked: the last known position, and the assurance that it holds.
pub(crate) fn unavailable(settings: &Settings, ticket: Option<&VerifiedTicket>, now: Micros) -> Standing {
    let waiting = ticket.filter(|ticket| ticket.admitted_at().is_none());
    let full = settings.line.waiting_ttl;
    Standing {
        queue: settings.id.clone(),
        session: ticket.map(VerifiedTicket::session),
        state: StandingState::Unavailable,
        position: waiting.and_then(VerifiedTicket::position),
        waiting: None,
        active: None,
        wait_seconds: None,
        joined_at: ticket.map(|ticket| ticket.arrival().seconds()),
        expires_in: None,
        poll_after: poll_after(None, None, full.min(30), None, now),
        enter_url: None,
        revision: None,
    }
}
