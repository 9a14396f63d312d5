//! `POST /_vestibule/away?queue=`: the queue page was closed. The ticket still holds the place.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tracing::warn;

use super::Call;
use crate::cors::allow;
use crate::state::Gate;

pub(crate) async fn away(State(gate): State<Gate>, call: Call) -> Response {
    if let Some(ticket) = call.ticket(&gate)
        && let Err(error) = gate.store.away(&call.queue.settings.id, ticket).await
    {
        // A beacon reads no answer, and presence lapses by itself.
        warn!(queue = %call.queue.settings.id, %error, "an away beacon did not reach the store");
    }
    allow(StatusCode::NO_CONTENT.into_response(), call.asker)
}
