//! `POST /_vestibule/leave?queue=`: the visitor gives the place up for good.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use tokio::time::Instant;
use tracing::warn;
use vestibule_core::{StoreError, Ticket};
use vestibule_http::{ApiError, Outcome, Queue};

use super::Call;
use crate::answer::{set_cookie, ticket_cookies};
use crate::cors::allow;
use crate::state::Gate;
use crate::visit::decision;

pub(crate) async fn leave(State(gate): State<Gate>, call: Call) -> Response {
    let mut decision = decision(Outcome::Endpoint, &call.queue, None, None);
    let mut has_left = true;
    if let Some(ticket) = call.ticket(&gate) {
        decision.session = Some(ticket.session());
        let asked = Instant::now();
        has_left = reaches_the_store(&gate, &call.queue, ticket).await;
        decision.store_time = Some(asked.elapsed());
    }
    let mut response = if has_left {
        gone(&call)
    } else {
        decision.outcome = Outcome::Unavailable;
        ApiError::StoreUnavailable.into_response()
    };
    response.extensions_mut().insert(decision);
    allow(response, call.asker)
}

async fn reaches_the_store(gate: &Gate, queue: &Queue, ticket: Ticket) -> bool {
    match gate.store.leave(&queue.settings.id, ticket).await {
        Ok(_) | Err(StoreError::UnknownQueue(_)) => true,
        Err(error) => {
            if let Some(held_back) = gate.store_failures.pass() {
                warn!(queue = %queue.settings.id, %error, held_back, "a leave did not reach the store");
            }
            false
        }
    }
}

/// Nothing to say, and cookies that are gone.
fn gone(call: &Call) -> Response {
    let queue = &call.queue;
    let mut response = StatusCode::NO_CONTENT.into_response();
    let [host_only, plain] = ticket_cookies(queue);
    let names = call.seen.origin.https.then_some(host_only).into_iter().chain([plain]);
    for name in names {
        let gone = set_cookie(queue, &name, "", 0, call.seen.origin.https);
        if let Ok(value) = HeaderValue::try_from(gone) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    response
}
