//! Answers to visitors who need an account to join and have not shown one (rule 24).

use vestibule_core::settings::Identity;
use vestibule_core::{JoinStep, SessionId, VisitorState, VisitorStatus};

use crate::request::RequestInfo;
use crate::state::Gate;
use crate::two_step::offer_without_answer;
use crate::visit_result::VisitResult;
use vestibule_core::PreTicket;
use vestibule_runtime::Outcome;

/// The answer to a visitor who must sign in: where, and a pre-ticket that keeps the time of the first visit meanwhile. `address` is
/// where the visitor returns to.
pub(crate) fn sign_in(
    gate: &Gate,
    identity: &Identity,
    found: VisitResult,
    sent: Option<&PreTicket>,
    address: &str,
) -> VisitResult {
    let Some(page) = &identity.sign_in else { return found };
    let url = page.returning_to(address);
    let pre_ticket = offer_without_answer(gate, &found.queue.settings, sent, Some(SessionId::random()));
    let visitor_status = VisitorStatus { join: Some(JoinStep::SignIn { url }), ..found.visitor_status.clone() };
    VisitResult { visitor_status, pre_ticket, ..found }
}

/// The answer to a newcomer whose token cannot be verified now: the page tries again, and a pre-ticket keeps the first visit.
pub(crate) fn identity_unavailable(gate: &Gate, found: VisitResult, sent: Option<&PreTicket>) -> VisitResult {
    let pre_ticket = offer_without_answer(gate, &found.queue.settings, sent, Some(SessionId::random()));
    let visitor_status = VisitorStatus { state: VisitorState::Unavailable, ..found.visitor_status.clone() };
    VisitResult { visitor_status, pre_ticket, outcome: Outcome::Unavailable, ..found }
}

/// The address to which the visitor returns after signing in: the page of a navigation, else the site through the gate.
pub(crate) fn return_address(info: &RequestInfo) -> String {
    let path = if info.is_navigation() { info.path_and_query() } else { "/".to_owned() };
    format!("{}://{}{path}", info.scheme(), info.authority)
}
