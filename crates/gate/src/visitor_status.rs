//! The visitor status from an answer of the store.

use vestibule_core::line::{LineRules, Mode, RejectionReason, VisitAnswer, VisitKind};
use vestibule_core::settings::{HandoverKind, Settings};
use vestibule_core::{
    EventStatus, JoinStep, Micros, PASS_TTL, RetryReason, Ticket, VisitorState, VisitorStatus, confirm_after,
    draw_after, full_after, poll_after, rejected_after, support_code,
};
use vestibule_estimate::{WaitRange, estimate_wait};

/// The position that the visitor sees. It never rises, although a restored session ahead raises the rank: those few are
/// admitted before it matters. Until all have returned after a loss, ranks are too small, so the last known position is
/// shown, if any.
fn shown_position(answer: &VisitAnswer, ticket: Option<&Ticket>) -> Option<u64> {
    let session = answer.session.filter(|session| session.admitted_at.is_none())?;
    let known = ticket.filter(|ticket| waits_on(ticket, answer)).and_then(Ticket::position);
    if answer.restoring { known } else { Some(known.map_or(session.position, |known| known.min(session.position))) }
}

/// Whether the answer is about the session of the ticket.
fn is_of(ticket: &Ticket, answer: &VisitAnswer) -> bool {
    answer.session.is_some_and(|session| session.id == ticket.session())
}

/// Whether the ticket states what this session was shown while it waited.
fn waits_on(ticket: &Ticket, answer: &VisitAnswer) -> bool {
    is_of(ticket, answer) && ticket.admitted_at().is_none()
}

/// The estimated wait at this position.
fn expected(settings: &Settings, answer: &VisitAnswer, position: Option<u64>) -> Option<WaitRange> {
    let rules = LineRules { quota: answer.quota, ..settings.line.in_mode(answer.mode) };
    estimate_wait(&rules, &answer.flow(), answer.now, position?)
}

/// The wait that the visitor sees: a smooth continuation of the wait that the ticket says they saw before.
fn shown_wait(expected: WaitRange, answer: &VisitAnswer, ticket: Option<&Ticket>) -> WaitRange {
    let before = ticket.filter(|ticket| waits_on(ticket, answer));
    let Some((before, before_ms)) = before.and_then(|ticket| Some((ticket, ticket.wait_ms()?))) else {
        return expected;
    };
    let passed = answer.now.since(before.signed_at()) as f64 / vestibule_core::MICROS_PER_SECOND as f64;
    let seen = answer.pace.observed(answer.now);
    // The first admissions say little about the pace, so the shown wait does not jump.
    let known_for = if seen.is_known() { seen.age } else { 0.0 };
    expected.after(before_ms, passed, known_for)
}

/// The visitor status after an answer of the store, and the wait that it shows.
pub(crate) fn visitor_status(
    settings: &Settings,
    answer: &VisitAnswer,
    ticket: Option<&Ticket>,
) -> (VisitorStatus, Option<WaitRange>) {
    let position = shown_position(answer, ticket);
    let session = answer.session.as_ref();
    let admitted = session.is_some_and(|session| session.admitted_at.is_some());
    let state = match answer.mode {
        Mode::Bypass => VisitorState::Admitted,
        _ if admitted => VisitorState::Admitted,
        Mode::Closed | Mode::Scheduled => VisitorState::Closed,
        Mode::Draining if session.is_none() => VisitorState::Closed,
        _ if answer.kind == VisitKind::InvitationRequired => VisitorState::InvitationRequired,
        _ if answer.kind == VisitKind::Full => VisitorState::Full,
        // In the lobby, sessions from before it wait; everyone else gets the status of the lobby.
        Mode::Paused | Mode::Lobby => VisitorState::Paused,
        Mode::Draw => VisitorState::Lobby,
        Mode::Open | Mode::Draining => VisitorState::Waiting,
    };
    // Until the order is complete, ranks mean nothing.
    let is_drawing = answer.mode == Mode::Draw;
    let position = position.filter(|_| !is_drawing);
    let rank = if answer.restoring { position } else { session.map(|session| session.position) };
    let rank = rank.filter(|_| !admitted && !is_drawing);
    let expected = expected(settings, answer, rank);
    let wait = expected.map(|expected| shown_wait(expected, answer, ticket));
    let wait_seconds = wait.map(WaitRange::seconds);
    // A line that moves faster than shown is corrected slowly, and needs frequent polls.
    let soonest = expected.map(WaitRange::seconds).into_iter().chain(wait_seconds).map(|wait| wait.p50).min();
    let left = session.map(|session| session.expires_at.since(answer.now) / vestibule_core::MICROS_PER_SECOND);
    let seen = answer.pace.observed(answer.now);
    // The ticket of this answer will say the same.
    let due = wait.map(|wait| Micros(answer.now.0 + wait.p50_ms * 1000));
    let full = match (admitted, settings.handover.kind) {
        (false, _) => settings.line.poll_ttl(answer.now, &seen, rank, due),
        // A pass must be renewed in time.
        (true, HandoverKind::Redirect) => settings.line.active_ttl.min(PASS_TTL * 3 / 2),
        (true, HandoverKind::Proxy | HandoverKind::Check) => settings.line.active_ttl,
    };
    let mut ask_after = poll_after(rank, soonest, full, left, answer.now);
    let event = EventStatus::of(settings, answer.now, answer.may_wait());
    let is_drawn = ticket.is_some_and(|ticket| is_of(ticket, answer) && ticket.event().is_some());
    if matches!(state, VisitorState::Full | VisitorState::InvitationRequired) {
        ask_after = full_after(answer.now);
    } else if is_drawing && !admitted {
        let draw_ends_in = event.as_ref().and_then(|event| event.draw_ends_in);
        ask_after = draw_after(draw_ends_in, settings.line.waiting_ttl, left, answer.now);
    }
    if session.is_some_and(|session| !session.confirmed) {
        ask_after = ask_after.min(confirm_after(answer.now));
    }
    match answer.kind {
        VisitKind::NeedsPreTicket => ask_after = JoinStep::REDEEM_AFTER,
        VisitKind::Rejected(rejection) => ask_after = rejected_after(rejection.retry_after, answer.now),
        _ => {}
    }
    let retry_later =
        |reason| Some(JoinStep::RetryLater { retry_after: ask_after, reason: RetryReason::Rejected(reason) });
    let join = match answer.kind {
        VisitKind::NeedsPreTicket => Some(JoinStep::redeem()),
        VisitKind::Rejected(rejection) => retry_later(rejection.reason),
        VisitKind::Full => retry_later(RejectionReason::Full),
        _ => None,
    };
    let visitor_status = VisitorStatus {
        queue: settings.id.clone(),
        session: session.map(|session| session.id),
        support_code: session
            .map(|session| support_code(session.id, (!admitted && !is_drawn).then_some(session.arrival))),
        state,
        reason: None,
        position,
        // While visitors far from the front may not have returned, the number is lower than the position of the ticket.
        waiting: Some(answer.waiting).filter(|_| state != VisitorState::Lobby && !answer.restoring),
        active: Some(answer.active).filter(|_| state != VisitorState::Lobby),
        wait_seconds,
        // A drawn arrival is an order and not a time.
        joined_at: session.filter(|_| !is_drawn).map(|session| session.arrival.seconds()),
        expires_in: left,
        poll_after: ask_after,
        enter_url: None,
        revision: Some(answer.revision),
        message: None,
        message_language: None,
        event,
        join,
    };
    (visitor_status, wait)
}

/// The visitor status while the store is unavailable, with the last known position.
pub(crate) fn unavailable(settings: &Settings, ticket: Option<&Ticket>, now: Micros) -> VisitorStatus {
    let waiting = ticket.filter(|ticket| ticket.admitted_at().is_none());
    let undrawn = ticket.filter(|ticket| ticket.event().is_none());
    let code_of = |ticket: &Ticket| {
        let arrival = undrawn.filter(|it| it.admitted_at().is_none()).map(Ticket::arrival);
        support_code(ticket.session(), arrival)
    };
    let full = settings.line.waiting_ttl;
    let poll_after = poll_after(None, None, full.min(30), None, now);
    VisitorStatus {
        session: ticket.map(Ticket::session),
        support_code: ticket.map(code_of),
        position: waiting.and_then(Ticket::position),
        joined_at: undrawn.map(|ticket| ticket.arrival().seconds()),
        event: EventStatus::of(settings, now, waiting.is_some()),
        ..VisitorStatus::new(settings.id.clone(), VisitorState::Unavailable, poll_after)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::line::{Pace, SessionState, StayCounts};
    use vestibule_core::{KeyList, SessionId, ShownStatus, TicketOrigin, TicketSigner};

    use super::*;

    const NOW: Micros = Micros(1_700_000_600_000_000);

    fn settings() -> Settings {
        Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 100, "handover": { "kind": "check" },
        }))
        .unwrap()
    }

    /// The answer for this position in a line that admits one visitor per second.
    fn answer(position: u64) -> VisitAnswer {
        let since = Micros(NOW.0 - 600_000_000);
        let window = Micros(NOW.0 - 300_000_000);
        let stays = StayCounts { short: 300, short_ms: 30_000_000, long: 0 };
        let moved = Pace { since, window, current: 300, previous: 300, stays, stays_before: stays, ..Pace::default() };
        let id = SessionId::from_bytes([3; 14]);
        let expires_at = NOW.add_seconds(60);
        let session = SessionState { id, arrival: since, admitted_at: None, position, expires_at, confirmed: true };
        VisitAnswer {
            now: NOW,
            revision: 1,
            epoch: 1,
            mode: Mode::Open,
            session: Some(session),
            kind: VisitKind::Renewed,
            waiting: 900,
            active: 100,
            reached: since,
            quota: 100,
            recovering: false,
            restoring: false,
            attack_mode: false,
            pace: moved,
        }
    }

    /// A ticket that was signed this many seconds ago with this estimate.
    fn ticket_signed(seconds: u64, shown: ShownStatus) -> Ticket {
        let signer = TicketSigner::new(&KeyList::of_bytes("k1", [1; 32])).unwrap();
        let queue = "tour".parse().unwrap();
        let answer = VisitAnswer { now: Micros(NOW.0 - seconds * 1_000_000), ..answer(1) };
        let ticket = signer.sign(&queue, &answer, shown, TicketOrigin::default()).unwrap();
        signer.verify(&queue, ticket.as_bytes()).unwrap()
    }

    #[test]
    fn the_shown_position_never_rises() {
        let shown = |ticket: Option<&Ticket>| {
            let (visitor_status, wait) = visitor_status(&settings(), &answer(600), ticket);
            let seconds = visitor_status.wait_seconds.unwrap();
            assert_eq!(wait.unwrap().seconds(), seconds, "the ticket keeps what is shown");
            (visitor_status.position.unwrap(), seconds.p50)
        };
        let (position, known) = shown(None);
        assert_eq!(position, 600);
        assert!((570..=615).contains(&known), "{known}");
        let before = ticket_signed(3, ShownStatus { position: Some(590), wait_ms: Some(900_000), presumed: false });
        let (position, wait) = shown(Some(&before));
        assert_eq!(position, 590, "somebody came back to an older position");
        assert!((870..=897).contains(&wait), "{wait}");
        let long_ago = ticket_signed(400, ShownStatus { position: Some(590), wait_ms: Some(900_000), presumed: false });
        assert!(shown(Some(&long_ago)).1.abs_diff(known) <= 2);
    }

    #[test]
    fn the_shown_wait_ignores_the_first_admissions() {
        let before = ticket_signed(3, ShownStatus { position: Some(600), wait_ms: Some(900_000), presumed: false });
        let shown = |admissions: u64, ticket: Option<&Ticket>| {
            let mut answer = answer(600);
            let since = Micros(NOW.0 - 6_000_000);
            answer.pace = Pace { since, window: since, current: admissions, previous: 0, ..answer.pace };
            visitor_status(&settings(), &answer, ticket).0.wait_seconds.unwrap().p50
        };
        let after_three = shown(3, Some(&before));
        assert!(after_three.abs_diff(897) < 250, "{after_three}");
        let (after_sixty, measured) = (shown(60, Some(&before)), shown(60, None));
        assert!(after_sixty.abs_diff(measured) < measured.abs_diff(897), "{after_sixty} follows {measured}");
    }

    #[test]
    fn fast_lines_are_polled_often() {
        let ask_after = |ticket: Option<&Ticket>| {
            let (visitor_status, _) = visitor_status(&settings(), &answer(60), ticket);
            (visitor_status.wait_seconds.unwrap().p50, visitor_status.poll_after)
        };
        let (known, soon) = ask_after(None);
        assert!((50..=70).contains(&known) && soon <= 3, "{known} and {soon}");
        let before = ticket_signed(3, ShownStatus { position: Some(60), wait_ms: Some(900_000), presumed: false });
        let (shown, as_soon) = ask_after(Some(&before));
        assert!(shown > 800 && as_soon <= 3, "{shown} and {as_soon}");
    }

    #[test]
    fn far_visitors_poll_within_a_third_of_their_presence() {
        let asks_after = |wait_seconds: u64| {
            let mut answer = answer(wait_seconds);
            answer.session = answer.session.map(|session| SessionState { expires_at: NOW.add_seconds(600), ..session });
            let polls: Vec<u64> = (0..200)
                .map(|micros| {
                    answer.now = Micros(NOW.0 + micros);
                    visitor_status(&settings(), &answer, None).0.poll_after
                })
                .collect();
            (*polls.iter().min().unwrap(), *polls.iter().max().unwrap())
        };
        assert_eq!(asks_after(3600), (75, 100));
        let (_, longest) = asks_after(480);
        assert!((28..=32).contains(&longest), "{longest}");
        let mut about_to_expire = answer(3600);
        about_to_expire.session =
            about_to_expire.session.map(|it| SessionState { expires_at: NOW.add_seconds(30), ..it });
        let asks_after = visitor_status(&settings(), &about_to_expire, None).0.poll_after;
        assert!(asks_after <= 20, "{asks_after}");
    }

    #[test]
    fn the_position_of_the_ticket_is_shown_until_all_have_returned() {
        let before = ticket_signed(70, ShownStatus { position: Some(590), wait_ms: Some(600_000), presumed: false });
        let mut answer = answer(4);
        let shown = |answer: &VisitAnswer, ticket| {
            let (shown, _) = visitor_status(&settings(), answer, ticket);
            (shown.position, shown.waiting)
        };
        answer.restoring = true;
        assert_eq!((shown(&answer, Some(&before)), shown(&answer, None)), ((Some(590), None), (None, None)));
        answer.restoring = false;
        assert_eq!([Some(&before), None].map(|ticket| shown(&answer, ticket)), [(Some(4), Some(900)); 2]);
    }

    #[test]
    fn a_new_visitor_returns_the_ticket_within_seconds() {
        let asks_after = |confirmed| {
            let mut answer = answer(900);
            answer.session = answer.session.map(|session| SessionState { confirmed, ..session });
            visitor_status(&settings(), &answer, None).0.poll_after
        };
        assert!((2..=4).contains(&asks_after(false)) && asks_after(true) > 4);
    }
}
