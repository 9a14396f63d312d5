//! `POST /_vestibule/away?queue=`: the queue page was closed. The ticket still holds the place.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tokio::time::Instant;
use tracing::warn;
use vestibule_http::Outcome;

use super::Call;
use crate::cors::allow;
use crate::state::Gate;
use crate::visit::decision;

pub(crate) async fn away(State(gate): State<Gate>, call: Call) -> Response {
    let mut decision = decision(Outcome::Endpoint, &call.queue, None, None);
    if let Some(ticket) = call.ticket(&gate) {
        decision.session = Some(ticket.session());
        let asked = Instant::now();
        let told = gate.store.away(&call.queue.settings.id, ticket).await;
        decision.store_time = Some(asked.elapsed());
        if let Err(error) = told {
            // A beacon reads no answer, and presence expires by itself.
            if let Some(held_back) = gate.store_failures.pass() {
                warn!(queue = %call.queue.settings.id, %error, held_back, "an away beacon did not reach the store");
            }
        }
    }
    let mut response = allow(StatusCode::NO_CONTENT.into_response(), call.asker);
    response.extensions_mut().insert(decision);
    response
}
