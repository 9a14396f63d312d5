//! Two-step admission (rule 23): pre-tickets for newcomers who can't join yet.

use std::sync::Arc;

use http::Method;
use vestibule_core::line::{DELAY_MAX, Mode, RejectionReason, Visit, VisitAnswer, VisitKind};
use vestibule_core::settings::Settings;
use vestibule_core::{FirstVisit, JoinStep, Micros, NetworkClass, PreTicket, SessionId, VisitorState, VisitorStatus};
use vestibule_runtime::{Outcome, Queue};

use crate::counts::VisitCounts;
use crate::pre_tickets::PreTicketOffer;
use crate::request::RequestInfo;
use crate::state::Gate;
use crate::visit_result::{NewTicket, VisitResult};
use crate::visitor_status::unavailable;

/// Maximum seconds after which a newcomer without JavaScript is asked to come back: the longest waiting time, up to half longer. Its
/// browser keeps the pre-ticket until then, whatever `hold_ttl` is.
const RETURN_MAX: u64 = DELAY_MAX / 2 * 3;

/// The pre-ticket after this answer to a newcomer: one is required, the line is full, or a limit or missing proof kept them out.
pub(crate) fn offer_after(settings: &Settings, visit: &Visit, answer: &VisitAnswer) -> Option<PreTicketOffer> {
    let first = |session, preserved| {
        PreTicketOffer::First(FirstVisit { preserved, ..FirstVisit::new(answer.epoch, session, answer.now) })
    };
    // Who is invited, or comes from the lobby, keeps the ticket or the code that names the session.
    if visit.head_start.is_some() && answer.kind != VisitKind::NeedsPreTicket {
        return None;
    }
    // The session of an account joins in any case; the pre-ticket's own session ends then.
    let own = || if visit.account.is_some() { Some(SessionId::random()) } else { visit.join };
    let uses_pre_tickets = answer.attack_mode || settings.line.protection.pre_ticket_from.is_some();
    match answer.kind {
        // The session of a pre-ticket has ended; it never joins under another id.
        VisitKind::NeedsPreTicket if visit.redeem.is_some() => Some(first(SessionId::random(), false)),
        VisitKind::NeedsPreTicket => Some(first(own()?, false)),
        VisitKind::NeedsProof(difficulty) => challenged(settings, visit, answer, own(), difficulty),
        VisitKind::Full if uses_pre_tickets => {
            turned_away(settings, answer.now, visit.redeem.as_ref(), first(own()?, true))
        }
        VisitKind::Rejected(rejection) if uses_pre_tickets && keeps_arrival(visit, rejection.reason) => {
            turned_away(settings, answer.now, visit.redeem.as_ref(), first(own()?, true))
        }
        _ => None,
    }
}

/// Whether a newcomer whom a limit rejected keeps the arrival of the first visit: unless the network is blocked. A suspicious one
/// is so only for as long as attack mode lasts.
fn keeps_arrival(visit: &Visit, reason: RejectionReason) -> bool {
    reason != RejectionReason::Blocked || visit.client.class == Some(NetworkClass::Suspicious)
}

/// The pre-ticket of a newcomer who is turned away: the one that was sent if its first visit still counts, so that nobody gains
/// by keeping one, otherwise `first`. `None` if its arrival is preserved already and still counts.
fn turned_away(
    settings: &Settings,
    now: Micros,
    sent: Option<&PreTicket>,
    first: PreTicketOffer,
) -> Option<PreTicketOffer> {
    let Some(pre_ticket) = sent.filter(|sent| sent.epoch() == settings.line.epoch) else { return Some(first) };
    if pre_ticket.proven().is_some() {
        return Some(PreTicketOffer::Again(keep_proof(settings, now, *pre_ticket)));
    }
    match (first_visit_counts(settings, now, pre_ticket), pre_ticket.is_preserved()) {
        (true, true) => None,
        (true, false) => Some(PreTicketOffer::Again(pre_ticket.preserve())),
        (false, _) => Some(first),
    }
}

/// Whether the first visit of a pre-ticket counts for the arrival. One that is ahead of the store's clock, by that of a process, counts as
/// one now.
pub(crate) fn first_visit_counts(settings: &Settings, now: Micros, pre_ticket: &PreTicket) -> bool {
    settings.line.first_visit_counts(now.max(pre_ticket.first_visit()), pre_ticket)
}

/// Rule W5: the pre-ticket of a newcomer who has proven work and did not join. Nothing is computed twice, and the arrival is kept; that
/// is now if the first visit no longer counts.
fn keep_proof(settings: &Settings, now: Micros, pre_ticket: PreTicket) -> PreTicket {
    let counts = first_visit_counts(settings, now, &pre_ticket);
    if counts { pre_ticket.preserve() } else { pre_ticket.restart(now) }
}

/// The pre-ticket of a newcomer who has to prove work: the one that was sent, or that of a first visit.
fn challenged(
    settings: &Settings,
    visit: &Visit,
    answer: &VisitAnswer,
    own: Option<SessionId>,
    difficulty: u64,
) -> Option<PreTicketOffer> {
    let difficulty = u32::try_from(difficulty).ok()?;
    let sent = visit.redeem.filter(|sent| sent.epoch() == answer.epoch);
    // An account has spent a pre-ticket whose proof does not count.
    let sent = sent.filter(|sent| sent.proven().is_none_or(|proven| proven < difficulty));
    let Some(sent) = sent else {
        let first = FirstVisit::new(answer.epoch, own?, answer.now);
        return Some(PreTicketOffer::First(FirstVisit { difficulty: Some(difficulty), ..first }));
    };
    let kept = if sent.proven().is_some() { keep_proof(settings, answer.now, sent) } else { sent };
    Some(PreTicketOffer::Again(kept.requiring(difficulty)))
}

/// The pre-ticket of a newcomer who can't join yet: the store does not answer, or an account is needed. There is none without the
/// store's clock, and while no newcomer can join.
pub(crate) fn offer_without_answer(
    gate: &Gate,
    settings: &Settings,
    sent: Option<&PreTicket>,
    session: Option<SessionId>,
) -> Option<PreTicketOffer> {
    let session = session.filter(|_| accepts_first_visits(gate, settings))?;
    let now = gate.clock.now();
    let first = FirstVisit { preserved: true, ..FirstVisit::new(settings.line.epoch, session, now) };
    turned_away(settings, now, sent, PreTicketOffer::First(first))
}

/// Whether newcomers without an invitation can join, or come to the lobby, as far as this process knows without the store: only then
/// a first visit counts. After an event nobody waits, as far as it knows.
pub(crate) fn accepts_first_visits(gate: &Gate, settings: &Settings) -> bool {
    let mode = settings.line.effective_mode(gate.clock.now(), false);
    gate.clock.has_synced() && mode.accepts_newcomers() && !settings.line.is_restricted()
}

/// The answer to a newcomer without an account for whom the line is full: a pre-ticket keeps the first visit.
pub(crate) fn turned_away_when_full(gate: &Gate, found: VisitResult, sent: Option<&PreTicket>) -> VisitResult {
    let pre_ticket = offer_without_answer(gate, &found.queue.settings, sent, Some(SessionId::random()));
    VisitResult { pre_ticket, ..found }
}

/// The answer to a newcomer who needs a pre-ticket, if the store said so within the last second: then it is not asked.
pub(crate) fn answer_without_store(gate: &Gate, queue: &Arc<Queue>) -> Option<VisitResult> {
    let found = not_joined_without_store(gate, queue)?;
    let first = FirstVisit::new(queue.settings.line.epoch, SessionId::random(), found.now);
    let offer = PreTicketOffer::First(first);
    let (poll_after, join) = (JoinStep::REDEEM_AFTER, Some(JoinStep::redeem()));
    let visitor_status = VisitorStatus { poll_after, join, ..found.visitor_status };
    Some(VisitResult { visitor_status, pre_ticket: Some(offer), outcome: Outcome::PreTicket, ..found })
}

/// The answer to a newcomer who does not join now. The store is not asked if it said within the last second that newcomers need a
/// pre-ticket.
pub(crate) fn not_joined_without_store(gate: &Gate, queue: &Arc<Queue>) -> Option<VisitResult> {
    let settings = &queue.settings;
    if settings.line.is_restricted() || !gate.clock.has_synced() {
        return None;
    }
    let now = gate.clock.now();
    let (waiting, active) = gate.pre_tickets.required(&settings.id, now)?;
    let mode = settings.line.effective_mode(now, true);
    let visitor_status = VisitorStatus {
        state: if mode == Mode::Paused { VisitorState::Paused } else { VisitorState::Waiting },
        waiting: Some(waiting),
        active: Some(active),
        revision: Some(settings.line.revision),
        ..unavailable(settings, None, now)
    };
    Some(VisitResult::new(queue.clone(), visitor_status, now, Outcome::NotJoined))
}

/// Signs the pre-ticket of an answer; a request for its headers alone gets none.
pub(crate) fn sign_offer(gate: &Gate, info: &RequestInfo, visit: &VisitResult) -> Option<NewTicket> {
    let settings = &visit.queue.settings;
    let network = info.network();
    let network = network.as_deref();
    let offer = visit.pre_ticket.as_ref().filter(|_| info.method != Method::HEAD)?;
    let token = match offer {
        PreTicketOffer::First(first) => {
            gate.counts.add(&settings.id, VisitCounts::pre_ticket());
            gate.tickets.sign_first_visit(&settings.id, first, network)
        }
        PreTicketOffer::Again(pre_ticket) => gate.tickets.sign_pre_ticket(&settings.id, pre_ticket, network),
    };
    Some(NewTicket { token: token?, max_age: settings.line.hold_ttl.max(RETURN_MAX), is_first: false })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::line::Line;

    use super::*;

    const NOW: Micros = Micros(1_700_000_000_000_000);

    fn settings() -> Settings {
        Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["*"], "quota": 2, "handover": { "kind": "check" },
        }))
        .unwrap()
    }

    #[test]
    fn turned_away_newcomers_keep_their_first_visit() {
        let settings = settings();
        let mut line = Line::new(settings.line.clone(), NOW, false);
        let visit = Visit::joining(SessionId::random());
        let answer = VisitAnswer { kind: VisitKind::Full, ..line.visit(NOW, &Visit::default()) };
        let session = visit.join.unwrap();
        let first = FirstVisit { preserved: true, ..FirstVisit::new(1, session, NOW) };
        assert_eq!(offer_after(&settings, &visit, &answer), Some(PreTicketOffer::First(first)));
        let mut never = settings;
        never.line.protection.pre_ticket_from = None;
        assert_eq!(offer_after(&never, &visit, &answer), None, "the queue uses no pre-tickets");
        let keepalive = Visit::default();
        assert_eq!(offer_after(&never, &keepalive, &answer), None);
    }
}
