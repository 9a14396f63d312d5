//! `POST /_vestibule/leave?queue=`: ends the session.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use vestibule_core::{StoreError, Ticket};
use vestibule_runtime::{Outcome, Queue};

use super::EndpointRequest;
use crate::cookies;
use crate::error::GateError;
use crate::respond::finish;
use crate::state::Gate;
use crate::store_visit::StoreDeadline;
use crate::visit_result::decision;

pub(crate) async fn leave(State(gate): State<Gate>, request: EndpointRequest) -> Response {
    let mut decision = decision(Outcome::Endpoint, &request.queue, None, None);
    let mut has_left = true;
    if let Some(ticket) = request.ticket(&gate) {
        decision.session = Some(ticket.session());
        let deadline = StoreDeadline::of(&gate);
        has_left = end_session(&gate, &request.queue, ticket, &deadline).await;
        decision.store_time = Some(deadline.elapsed());
    }
    let response = if has_left {
        left(&request)
    } else {
        decision.outcome = Outcome::Unavailable;
        GateError::StoreUnavailable.into_response()
    };
    finish(response, Some(request.cors_origin), decision)
}

async fn end_session(gate: &Gate, queue: &Queue, ticket: Ticket, deadline: &StoreDeadline) -> bool {
    match deadline.limit(gate.visits.leave(&queue.settings.id, ticket)).await {
        Ok(_) | Err(StoreError::UnknownQueue(_)) => true,
        Err(error) => {
            gate.warn_store_failure(&queue.settings.id, &error, "a leave did not reach the store");
            false
        }
    }
}

/// 204, with the ticket cookies deleted.
fn left(request: &EndpointRequest) -> Response {
    let queue = &request.queue;
    let https = request.info.origin.https;
    let mut response = StatusCode::NO_CONTENT.into_response();
    let [plain, host_only] = &queue.ticket_cookies;
    for name in https.then_some(host_only).into_iter().chain([plain]) {
        cookies::append(response.headers_mut(), name, "", 0, queue.settings.cookie_domain.as_deref(), https);
    }
    response
}
