//! Uses the invitation codes that visitors present (rule 20).

use std::sync::Arc;

use http::StatusCode;
use vestibule_core::line::SessionLocation;
use vestibule_core::settings::Settings;
use vestibule_core::{PreTicket, StoreError, Ticket};
use vestibule_runtime::{Outcome, Queue};

use crate::answer::{Answer, Reply};
use crate::client::join_client;
use crate::identity::{Identified, identify, identify_again, identity_unavailable, return_address, sign_in};
use crate::invitation_code::PresentedCode;
use crate::request::{Credential, RequestInfo};
use crate::state::Gate;
use crate::store_visit::{StoreDeadline, release};
use crate::visit::{VisitorRequest, not_visited, visit, visit_line};
use crate::visit_intent::{InvitedSession, VisitIntent};
use crate::visit_result::VisitResult;

/// What became of a code.
pub(crate) enum CodeUse {
    /// Its session is in line or in the lobby, or the visitor passes without it.
    Used(VisitResult),
    /// It is not valid. The visitor is whoever they were before.
    Wrong,
    /// It is valid and cannot be used now: the line is full, a limit rejects the visitor, the queue is closed, or the visitor must
    /// sign in.
    NotNow(VisitResult),
    /// The store is unavailable.
    Unavailable,
}

/// Uses a code. One that no sale key made costs no store call. A genuine one first asks the store, because the settings may have
/// changed, and the visitor may be active. Visitors who wait ahead of the code's session keep theirs: anyone can send a
/// visitor to a link.
pub(crate) async fn present(
    gate: &Gate,
    queue: &Arc<Queue>,
    mut credential: Credential,
    presented: &PresentedCode,
    request: &VisitorRequest<'_>,
) -> CodeUse {
    let client = request.client;
    let Some(code) = presented.code().filter(|code| gate.sale_keys.made(&queue.settings, code)) else {
        return CodeUse::Wrong;
    };
    let identified = identify(gate, request.info, queue, &mut credential, request.is_endpoint).await;
    let sent = if let Credential::PreTicket(pre_ticket) = &credential { Some(*pre_ticket) } else { None };
    let before = visit(gate, queue.clone(), credential, VisitIntent::RENEW, client).await;
    match before.outcome {
        Outcome::Unavailable => return CodeUse::Unavailable,
        _ if before.passes => return CodeUse::Used(before),
        _ => {}
    }
    let queue = before.queue.clone();
    let Some(invitation) = gate.sale_keys.invitation(&queue.settings, &code, before.now) else {
        return CodeUse::Wrong;
    };
    if before.visitor_status.session == Some(invitation.session) {
        return CodeUse::Used(before);
    }
    let before = match require_account(gate, before, identified, sent.as_ref(), request).await {
        Ok(before) => before,
        Err(visit) => return CodeUse::NotNow(visit),
    };
    let invited = InvitedSession {
        session: invitation.session,
        batch: Some(invitation.batch),
        head_start: invitation.head_start,
        is_from_lobby: false,
    };
    let deadline = StoreDeadline::of(gate);
    match is_ahead_of(gate, &before, invited, &deadline).await {
        Ok(true) => return CodeUse::Used(before),
        Ok(false) => {}
        Err(_) => return CodeUse::Unavailable,
    }
    let intent = VisitIntent { invited: Some(invited), ..VisitIntent::JOIN };
    let joined = visit_line(gate, queue, None, intent, client, &deadline).await;
    if joined.visitor_status.session == Some(invitation.session) && joined.outcome != Outcome::Unavailable {
        if let Some(replaced) = ticket_of(gate, &before) {
            release(gate, &before.queue.settings.id, replaced, &deadline).await;
        }
        return CodeUse::Used(joined);
    }
    match joined.outcome {
        Outcome::Full | Outcome::Rejected | Outcome::Closed if before.visitor_status.session.is_some() => {
            CodeUse::NotNow(before)
        }
        Outcome::Full | Outcome::Rejected | Outcome::Closed => CodeUse::NotNow(joined),
        Outcome::Unavailable => CodeUse::Unavailable,
        // The session of the code has ended.
        _ => CodeUse::Wrong,
    }
}

/// The answer to a visitor whose queue requires accounts and who has not shown one, as the error. A visitor who waits already keeps
/// the position.
async fn require_account(
    gate: &Gate,
    before: VisitResult,
    identified: Identified,
    sent: Option<&PreTicket>,
    request: &VisitorRequest<'_>,
) -> Result<VisitResult, VisitResult> {
    let identity = before.queue.settings.line.protection.identity.clone();
    let Some(identity) = identity.filter(|identity| identity.required) else { return Ok(before) };
    // The ticket says that the token was valid once, not that it still is.
    let identified = match identified {
        Identified::AsBefore => identify_again(gate, request.info, &before.queue, request.is_endpoint).await,
        other => other,
    };
    match identified {
        Identified::Verified(_) => Ok(before),
        _ if before.visitor_status.session.is_some() => Err(before),
        Identified::Unavailable => Err(identity_unavailable(gate, before, sent)),
        Identified::Nobody | Identified::AsBefore => {
            Err(sign_in(gate, &identity, before, sent, &return_address(request.info)))
        }
    }
}

/// The ticket of a visit's answer.
fn ticket_of(gate: &Gate, visit: &VisitResult) -> Option<Ticket> {
    let ticket = visit.ticket.as_ref()?;
    gate.tickets.verify(&visit.queue.settings.id, ticket.token.as_bytes()).ok()
}

/// Whether the visitor waits ahead of where the session of a code is, or would join. That session, which another device may have, is
/// not touched.
async fn is_ahead_of(
    gate: &Gate,
    visit: &VisitResult,
    invited: InvitedSession,
    deadline: &StoreDeadline,
) -> Result<bool, StoreError> {
    let Some(own) = ticket_of(gate, visit) else { return Ok(false) };
    let Settings { id, line, .. } = &visit.queue.settings;
    let found = deadline.limit(gate.store.find(id, invited.session)).await?;
    Ok(match found.filter(|found| visit.now < found.expires_at).map(|found| found.state) {
        Some(SessionLocation::Waiting { arrival, .. }) => own.arrival() <= arrival,
        // It is admitted, or the code is used up.
        Some(SessionLocation::Active { .. } | SessionLocation::Ended) => false,
        None => own.arrival() <= line.arrival_ahead(visit.now, visit.now, invited.head_start),
    })
}

/// The answer to a page view with a code in its address: the same address without it, or the page with this status if the code
/// cannot be used now. The page presents the code again when it reloads. `None` without a code, and if the store is unavailable.
pub(crate) async fn answer_link(
    gate: &Gate,
    info: &RequestInfo,
    queue: &Arc<Queue>,
    page_status: StatusCode,
) -> Option<Answer> {
    let presented = info.presented.as_ref().filter(|code| code.is_in_address() && info.is_navigation())?;
    let credential = info.credential(queue, &gate.tickets, gate.clock.now());
    let client = join_client(gate, info, &queue.settings);
    let request = VisitorRequest { info, client, is_endpoint: false };
    let used = Box::pin(present(gate, queue, credential, presented, &request)).await;
    // A path that begins with two slashes would be another host.
    let address = format!("{}://{}{}", info.scheme(), info.authority, info.path_and_query());
    match used {
        CodeUse::Used(visit) => Some(Answer::new(visit, Reply::Redirect(address))),
        CodeUse::Wrong => {
            let visit = not_visited(gate, queue.clone(), Outcome::InvitationRequired);
            Some(Answer::new(visit, Reply::WrongCode(address)))
        }
        CodeUse::NotNow(visit) => {
            let reply = Reply::page_of(&visit, page_status);
            Some(Answer::new(visit, reply))
        }
        CodeUse::Unavailable => None,
    }
}

/// The visit of a request with a code in its header, or of an open page with a code in its address; `None` without one, and if the
/// code is not valid.
pub(crate) async fn visit_by_code(
    gate: &Gate,
    request: &VisitorRequest<'_>,
    queue: &Arc<Queue>,
) -> Option<VisitResult> {
    let info = request.info;
    let presented = info.presented.as_ref()?;
    let credential = info.credential(queue, &gate.tickets, gate.clock.now());
    match Box::pin(present(gate, queue, credential, presented, request)).await {
        CodeUse::Used(visit) | CodeUse::NotNow(visit) => Some(visit),
        CodeUse::Wrong | CodeUse::Unavailable => None,
    }
}
