//! `GET /_vestibule/challenge?queue=`: the challenge of a newcomer who has to prove work. It belongs to the pre-ticket that the
//! request brings. The store is not asked.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use vestibule_core::{
    ChallengeTerms, ClientNetworks, FirstVisit, JoinStep, PreTicket, RetryReason, SessionId, VisitorState,
};
use vestibule_runtime::Outcome;

use super::EndpointRequest;
use crate::answer::{Answer, Reply};
use crate::error::GateError;
use crate::pre_tickets::PreTicketOffer;
use crate::request::Credential;
use crate::respond::respond;
use crate::state::Gate;
use crate::two_step::{accepts_first_visits, first_visit_counts};
use crate::visit::not_visited;
use crate::visit_result::VisitResult;

/// Seconds after which a client asks again that got no challenge.
const RETRY_AFTER: u64 = 2;

pub(crate) async fn challenge(State(gate): State<Gate>, request: EndpointRequest) -> Response {
    let credential = request.credential(&gate);
    let current = request.queue.settings.line.epoch;
    let answer = match credential {
        Credential::PreTicket(pre_ticket) if pre_ticket.epoch() == current => answer(&gate, &request, pre_ticket),
        credential => without_pre_ticket(&gate, &request, &credential),
    };
    respond(&gate, &request.info, answer.with_cors(request.cors_origin)).await
}

/// The challenge of a pre-ticket: what was required last less what is proven.
fn answer(gate: &Gate, request: &EndpointRequest, pre_ticket: PreTicket) -> Answer {
    let settings = &request.queue.settings;
    let now = gate.clock.now();
    let visit = not_visited(gate, request.queue.clone(), Outcome::Endpoint);
    let difficulty = if pre_ticket.difficulty().is_none() { 1 } else { pre_ticket.work_left() };
    if difficulty == 0 {
        return Answer::new(visit, Reply::Error(GateError::NothingToProve));
    }
    let terms = ChallengeTerms {
        queue: settings.id.clone(),
        epoch: settings.line.epoch,
        session: pre_ticket.session(),
        difficulty,
        base: pre_ticket.proven().unwrap_or(0).into(),
        effort: settings.line.protection.proof_of_work.effort,
    };
    let network = request.info.origin.address.and_then(ClientNetworks::of).map(|networks| networks.network);
    let Some(challenge) = gate.challenges.challenge(gate.tickets.challenges(), terms, now, network) else {
        return too_many(visit);
    };
    // Rule W6: the first challenge that is issued while the first visit counts keeps the arrival, if a proof was required. Its end is
    // by the store's clock, so a process that does not know it keeps none.
    let is_required = pre_ticket.difficulty().is_some();
    let counts = is_required && gate.clock.has_synced() && first_visit_counts(settings, now, &pre_ticket);
    let solving = if counts { pre_ticket.solving(challenge.parameters.expires_at) } else { pre_ticket };
    let visit = VisitResult { pre_ticket: Some(PreTicketOffer::Again(solving)), ..visit };
    Answer::new(visit, Reply::Challenge(Box::new(challenge)))
}

/// This process makes no more challenges in this second.
fn too_many(visit: VisitResult) -> Answer {
    let mut visit = VisitResult { outcome: Outcome::Rejected, ..visit };
    // Spread by the clock, so that clients do not come back at once.
    let retry_after = RETRY_AFTER + visit.now.0 % RETRY_AFTER;
    let status = &mut visit.visitor_status;
    status.state = VisitorState::Waiting;
    status.poll_after = retry_after;
    status.join = Some(JoinStep::RetryLater { retry_after, reason: RetryReason::Challenges });
    Answer::new(visit, Reply::Status(StatusCode::TOO_MANY_REQUESTS))
}

/// The answer to a request that needs a pre-ticket and has none. A newcomer gets one if newcomers can join.
pub(super) fn without_pre_ticket(gate: &Gate, request: &EndpointRequest, credential: &Credential) -> Answer {
    let info = &request.info;
    let is_newcomer = !matches!(credential, Credential::Ticket(_) | Credential::Lobby(_));
    let may_join = is_newcomer && !info.is_prefetch() && !info.is_embedded_elsewhere();
    let gets_one = may_join && accepts_first_visits(gate, &request.queue.settings);
    let epoch = request.queue.settings.line.epoch;
    let first = || PreTicketOffer::First(FirstVisit::new(epoch, SessionId::random(), gate.clock.now()));
    let visit = not_visited(gate, request.queue.clone(), Outcome::NotJoined);
    let visit = VisitResult { pre_ticket: gets_one.then(first), ..visit };
    Answer::new(visit, Reply::Error(GateError::PreTicketRequired))
}
