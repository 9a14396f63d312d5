//! Admission control for every path that is not an endpoint of the gate: continue or wait.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};
use tracing::{info, warn};
use vestibule_core::settings::{HandoverKind, Preflights, Route, Rule, decide as match_rules};
use vestibule_runtime::{Outcome, Queue};
use vestibule_themes::ErrorPage;

use crate::answer::{Answer, Reply};
use crate::client::join_client;
use crate::cors::answer_preflight;
use crate::error::GateError;
use crate::handover::hand_over;
use crate::held::{answer_order_url, hold_or_hand_over};
use crate::invitation::{answer_link, visit_by_code};
use crate::page::{plain_page, unavailable_page};
use crate::request::RequestInfo;
use crate::respond::{finish, respond};
use crate::state::Gate;
use crate::visit::{VisitorRequest, admit_without_recheck, between_events, bypassed, identify_visitor, visit_as};
use crate::visit_intent::VisitIntent;
use crate::visit_result::{VisitResult, decision};

/// The queue of a request, and what its rules say.
pub(crate) enum QueueMatch {
    /// The request is queued.
    Queued(Arc<Queue>),
    /// The request passes; the queue names the origin.
    Bypassed(Arc<Queue>),
}

/// Finds the queue of a request: by host, then by the first matching rule.
pub(crate) async fn match_queue(gate: &Gate, info: &RequestInfo) -> Result<QueueMatch, GateError> {
    let host = info.host.as_deref().ok_or(GateError::InvalidHost)?;
    let queues = gate.directory.of_host(host).await;
    if queues.is_empty() {
        if !gate.directory.index_loaded() {
            return Err(GateError::QueuesNotLoaded);
        }
        if let Some(suppressed) = gate.unknown_hosts.allow() {
            info!(host, suppressed, "no queue is configured for this host");
        }
        return Err(GateError::UnknownHost);
    }
    let rules: Vec<&[Rule]> = queues.iter().map(|queue| queue.settings.rules.as_slice()).collect();
    let ruling = info.facts(&gate.clients, |facts| match_rules(&rules, facts));
    let queue = Arc::clone(&queues[ruling.queue.unwrap_or_default()]);
    match ruling.route {
        Route::Queue => Ok(QueueMatch::Queued(queue)),
        Route::Bypass => Ok(QueueMatch::Bypassed(queue)),
        Route::Reject => Err(GateError::AmbiguousPath),
    }
}

/// Decides on a request and answers it.
pub(crate) async fn handle(State(gate): State<Gate>, mut info: RequestInfo, request: Request) -> Response {
    if gate.deployment.is_loop(&info.headers) {
        return origin_loop(&gate, &info);
    }
    if let Some(answer) = answer_order_url(&gate, &info).await {
        return respond(&gate, &info, answer).await;
    }
    let answer = match match_queue(&gate, &info).await {
        Ok(QueueMatch::Queued(queue)) if info.is_preflight() => {
            if !forwards_preflights(&queue) {
                return preflight(&gate, &info, &queue);
            }
            bypass_preflight(&gate, &mut info, queue, request).await
        }
        Ok(QueueMatch::Queued(queue)) => queue_request(&gate, &info, queue, request).await,
        Ok(QueueMatch::Bypassed(queue)) => hand_over(&gate, &info, bypassed(&gate, queue), request).await,
        Err(GateError::UnknownHost) if info.is_navigation() => {
            return plain_page(&info, StatusCode::NOT_FOUND, ErrorPage::NoQueue);
        }
        Err(error @ GateError::QueuesNotLoaded) if info.is_navigation() => {
            return unavailable_page(&info, StatusCode::OK, error.status());
        }
        Err(error) => return error.into_response(),
    };
    respond(&gate, &info, answer).await
}

/// The response to a request that this deployment forwarded to itself.
fn origin_loop(gate: &Gate, info: &RequestInfo) -> Response {
    if let Some(suppressed) = gate.origin_loops.allow() {
        warn!(
            host = info.host,
            suppressed,
            "the origin leads back to this gate; set it to an address of the site itself, not to its public name"
        );
    }
    if info.wants_page() {
        return plain_page(info, StatusCode::LOOP_DETECTED, ErrorPage::OriginDown);
    }
    GateError::OriginLoop.into_response()
}

fn forwards_preflights(queue: &Queue) -> bool {
    let handover = &queue.settings.handover;
    handover.preflights == Preflights::Forward && handover.kind == HandoverKind::Proxy
}

/// A preflight carries no ticket, so it can never be admitted. The gate answers it in place of the origin.
fn preflight(gate: &Gate, info: &RequestInfo, queue: &Queue) -> Response {
    match answer_preflight(&gate.directory, info, &queue.settings) {
        Ok((response, cors)) => finish(response, Some(cors), decision(Outcome::Endpoint, queue, None, None)),
        Err(error) => finish(error.into_response(), None, decision(Outcome::Refused, queue, None, None)),
    }
}

/// Forwards a preflight where the queue says so, with only those headers that browsers send with one.
async fn bypass_preflight(gate: &Gate, info: &mut RequestInfo, queue: Arc<Queue>, request: Request) -> Answer {
    info.keep_of_preflight();
    let (parts, _) = request.into_parts();
    hand_over(gate, info, bypassed(gate, queue), Request::from_parts(parts, Body::empty())).await
}

async fn queue_request(gate: &Gate, info: &RequestInfo, queue: Arc<Queue>, request: Request) -> Answer {
    let page_status = StatusCode::from_u16(queue.settings.queue_status).unwrap_or(StatusCode::OK);
    if let Some(answer) = answer_link(gate, info, &queue, page_status).await {
        return answer;
    }
    let visit = decide_visit(gate, info, queue).await;
    if visit.passes {
        // Boxed: those who wait would copy the room for it several times.
        return Box::pin(hold_or_hand_over(gate, info, visit, request)).await;
    }
    let status = StatusCode::from_u16(visit.queue.settings.queue_status).unwrap_or(StatusCode::OK);
    let reply = if info.is_navigation() {
        Reply::page_of(&visit, status)
    } else if info.method == Method::POST && info.wants_page() {
        Reply::ErrorPage(StatusCode::TOO_MANY_REQUESTS, ErrorPage::NotProcessed)
    } else {
        Reply::Status(StatusCode::TOO_MANY_REQUESTS)
    };
    Answer::new(visit, reply).in_place_of_site(&gate.directory, info)
}

/// The visit of a queued request.
pub(crate) async fn decide_visit(gate: &Gate, info: &RequestInfo, queue: Arc<Queue>) -> VisitResult {
    let (credential, identified) = identify_visitor(gate, info, &queue, false).await;
    // The session of a visitor who has just signed in is handed over to the account.
    if identified.account().is_none()
        && let Some(result) = admit_without_recheck(gate, &queue, credential.ticket())
    {
        return result;
    }
    if gate.last_answers.passes(&queue.settings, gate.clock.now()) {
        return between_events(gate, queue, None);
    }
    let client = join_client(gate, info, &queue.settings);
    let request = VisitorRequest { info, client, is_endpoint: false };
    if info.is_navigation()
        && let Some(result) = visit_by_code(gate, &request, &queue).await
    {
        return result;
    }
    let intent = if info.is_navigation() { VisitIntent::JOIN } else { VisitIntent::RENEW };
    visit_as(gate, queue, credential, identified, intent, &request).await
}
