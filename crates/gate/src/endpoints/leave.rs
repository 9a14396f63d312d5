//! `POST /_vestibule/leave?queue=`: ends the session, unless others have it, too.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use vestibule_runtime::Outcome;

use super::EndpointRequest;
use crate::cookies;
use crate::error::GateError;
use crate::respond::finish;
use crate::state::Gate;
use crate::store_visit::{self, StoreDeadline};
use crate::visit_result::decision;

pub(crate) async fn leave(State(gate): State<Gate>, request: EndpointRequest) -> Response {
    let mut decision = decision(Outcome::Endpoint, &request.queue, None, None);
    let mut stored = Ok(());
    if let Some(ticket) = request.ticket(&gate) {
        decision.session = Some(ticket.session());
        let deadline = StoreDeadline::of(&gate);
        stored = store_visit::leave(&gate, &request.queue.settings.id, ticket, &deadline).await;
        decision.store_time = Some(deadline.elapsed());
    }
    let response = match stored {
        Ok(()) => left(&request),
        Err(error) => {
            gate.warn_store_failure(&request.queue.settings.id, &error, "a leave did not reach the store");
            decision.outcome = Outcome::Unavailable;
            GateError::StoreUnavailable.into_response()
        }
    };
    finish(response, Some(request.cors_origin), decision)
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
