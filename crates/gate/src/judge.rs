//! Judges every path that is not the gate's own: through, or wait.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tracing::info;
use vestibule_core::settings::{HandoverKind, Preflights, Rule, RuleAction, decide};
use vestibule_http::{ApiError, Outcome, Queue};
use vestibule_themes::PlainPage;

use crate::answer::{decided, standing_json};
use crate::cors::answer_preflight;
use crate::handover::hand_over;
use crate::page::{plain_page, queue_page, unavailable_page};
use crate::request::Seen;
use crate::state::Gate;
use crate::visit::{Joining, Served, decision, passes_unasked, serve};

/// What the rules say of a request.
pub(crate) enum Judgement {
    /// It meets this queue.
    Meets(Arc<Queue>),
    /// It passes; this queue knows where to.
    Bypasses(Arc<Queue>),
}

/// Which queue a request meets: by host, then by the first matching rule.
pub(crate) async fn judgement(gate: &Gate, seen: &Seen) -> Result<Judgement, ApiError> {
    let host = seen.host.as_deref().ok_or(ApiError::NoHost)?;
    let queues = gate.directory.of_host(host).await;
    if queues.is_empty() {
        if !gate.directory.is_read() {
            return Err(ApiError::NotReady);
        }
        if let Some(held_back) = gate.unknown_hosts.pass() {
            info!(host, held_back, "no queue stands in front of this host");
        }
        return Err(ApiError::UnknownHost);
    }
    let rules: Vec<&[Rule]> = queues.iter().map(|queue| queue.settings.rules.as_slice()).collect();
    let ruling = seen.facts(|facts| decide(&rules, facts));
    let queue = Arc::clone(&queues[ruling.queue.unwrap_or_default()]);
    match ruling.action {
        RuleAction::Queue => Ok(Judgement::Meets(queue)),
        RuleAction::Bypass => Ok(Judgement::Bypasses(queue)),
    }
}

/// Judges a request and answers it.
pub(crate) async fn judge(State(gate): State<Gate>, seen: Seen, request: Request) -> Response {
    match judgement(&gate, &seen).await {
        Ok(Judgement::Meets(queue)) if seen.is_preflight() => preflight(&gate, seen, queue, request).await,
        Ok(Judgement::Meets(queue)) => meet(&gate, &seen, queue, request).await,
        Ok(Judgement::Bypasses(queue)) => pass(&gate, &seen, &bypassing(&gate, queue), request).await,
        Err(error) if seen.is_navigation() && error == ApiError::UnknownHost => {
            plain_page(&seen, StatusCode::NOT_FOUND, PlainPage::NoQueue)
        }
        Err(ApiError::NotReady) if seen.is_navigation() => unavailable_page(&seen, StatusCode::OK),
        Err(error) => error.into_response(),
    }
}

async fn pass(gate: &Gate, seen: &Seen, served: &Served, request: Request) -> Response {
    decided(hand_over(gate, seen, served, request).await, served)
}

/// A preflight carries no ticket, so nobody can be let in by it. It goes to the origin only where the queue says so, and
/// then with nothing that a browser would not send.
async fn preflight(gate: &Gate, mut seen: Seen, queue: Arc<Queue>, request: Request) -> Response {
    let handover = &queue.settings.handover;
    if handover.preflights == Preflights::Answer || handover.kind != HandoverKind::Proxy {
        let mut response = answer_preflight(&seen, &queue.settings);
        let outcome = if response.status().is_success() { Outcome::Endpoint } else { Outcome::NotFound };
        response.extensions_mut().insert(decision(outcome, &queue, None, None));
        return response;
    }
    let served = bypassing(gate, queue);
    seen.keep_of_preflight();
    let (parts, _) = request.into_parts();
    pass(gate, &seen, &served, Request::from_parts(parts, Body::empty())).await
}

async fn meet(gate: &Gate, seen: &Seen, queue: Arc<Queue>, request: Request) -> Response {
    let served = judge_visit(gate, seen, queue).await;
    if served.passes {
        return pass(gate, seen, &served, request).await;
    }
    if seen.is_navigation() {
        let status = StatusCode::from_u16(served.queue.settings.queue_status).unwrap_or(StatusCode::OK);
        return decided(queue_page(gate, seen, &served, status).await, &served);
    }
    decided(standing_json(StatusCode::TOO_MANY_REQUESTS, seen, &served), &served)
}

/// The visit that a judged request is.
pub(crate) async fn judge_visit(gate: &Gate, seen: &Seen, queue: Arc<Queue>) -> Served {
    let ticket = Served::ticket_of(gate, seen, &queue);
    if let Some(served) = passes_unasked(gate, &queue, ticket.as_ref()) {
        return served;
    }
    let joining = if seen.is_navigation() { Joining::Joins } else { Joining::Never };
    serve(gate, queue, ticket, joining, Some(seen.path_and_query())).await
}

/// A request that passes without being anybody's visit.
pub(crate) fn bypassing(gate: &Gate, queue: Arc<Queue>) -> Served {
    let now = gate.clock.now();
    let visitor_status = crate::visitor_status::unavailable(&queue.settings, None, now);
    let outcome = Outcome::Bypassed;
    Served {
        queue,
        visitor_status,
        ticket: None,
        admitted: None,
        passes: true,
        now,
        known: false,
        outcome,
        store_time: None,
    }
}
