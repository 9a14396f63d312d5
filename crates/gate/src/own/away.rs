//! `POST /_vestibule/away?queue=`: the queue page was closed. The ticket still holds the place.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tracing::warn;
use vestibule_http::ApiError;

use super::{Asked, Asks, Call};
use crate::cors::allow;
use crate::request::Seen;
use crate::state::Gate;
use crate::visit::Served;

pub(crate) async fn away(State(gate): State<Gate>, Asks(asked): Asks<Asked>, seen: Seen) -> Result<Response, ApiError> {
    let call = Call::of(&gate, &asked, seen).await?;
    if let Some(ticket) = Served::ticket_of(&gate, &call.seen, &call.queue)
        && let Err(error) = gate.store.away(&call.queue.settings.id, ticket).await
    {
        // A beacon reads no answer, and presence lapses by itself.
        warn!(queue = %call.queue.settings.id, %error, "an away beacon did not reach the store");
    }
    Ok(allow(StatusCode::NO_CONTENT.into_response(), call.asker))
}
