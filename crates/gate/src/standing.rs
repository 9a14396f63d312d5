//! Puts a store's answer in words for the visitor.

use vestibule_core::line::{Mode, VisitAnswer};
use vestibule_core::settings::Settings;
use vestibule_core::{Micros, Standing, StandingState, VerifiedTicket, wait_estimate};

/// Seconds between polls near the front.
const POLL_NEAR: u64 = 2;
/// Positions that count as near the front, however slow the line.
const NEAR_FRONT: u64 = 10;
/// Polls that fit into the expected wait: who waits an hour need not ask each two seconds.
const POLLS_PER_WAIT: u64 = 20;

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
        Mode::Paused => StandingState::Paused,
        Mode::Open => StandingState::Waiting,
    };
    let rank = if answer.recovering { position } else { place.map(|place| place.rank) };
    let rank = rank.filter(|_| !admitted);
    let wait_seconds = rank.and_then(|rank| {
        let rules = vestibule_core::line::LineRules { mode: answer.mode, quota: answer.quota, ..settings.line.clone() };
        wait_estimate(&rules, &answer.pace, answer.now, rank)
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

/// Seconds until the visitor should ask again: 2 near the front, more the farther away, jittered so that not everyone
/// comes at the same second, and at most a third of the time that a visit keeps the visitor present (`full`), or two
/// thirds of what is left of it.
fn poll_after(rank: Option<u64>, wait: Option<u64>, full: u64, left: Option<u64>, now: Micros) -> u64 {
    let most = (full / 3).min(left.map_or(u64::MAX, |left| left * 2 / 3)).max(1);
    let wanted = match (rank, wait) {
        (Some(rank), _) if rank <= NEAR_FRONT => POLL_NEAR,
        (Some(_), Some(wait)) => (wait / POLLS_PER_WAIT).max(POLL_NEAR),
        _ => most,
    };
    let longest = wanted.min(most);
    // The last digits of the store's clock are as good as random, and cost nothing.
    let spread = longest.saturating_sub(POLL_NEAR).min(longest / 4) + 1;
    longest - now.0 % spread
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_are_jittered_and_never_later_than_a_third_of_the_presence() {
        let at = |micros: u64, rank, wait| poll_after(Some(rank), Some(wait), 60, Some(60), Micros(micros));
        assert_eq!(at(5, 1, 3600), 2, "near the front");
        assert_eq!(at(5, 500, 20), 2, "a fast line");
        let far: Vec<u64> = (0..100).map(|micros| at(micros, 5000, 3600)).collect();
        assert!(far.iter().all(|seconds| (15..=20).contains(seconds)));
        assert!(far.iter().any(|seconds| *seconds != far[0]), "everyone at the same second");
        assert_eq!(poll_after(Some(900), Some(3600), 3, Some(3), Micros(0)), 1);
        assert_eq!(poll_after(None, None, 60, Some(6), Micros(0)), 4, "before the session lapses");
    }
}
