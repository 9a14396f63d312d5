//! `POST /_vestibule/keepalive?queue=`: pushes the session's expiry ahead; joins nobody.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use vestibule_http::ApiError;

use super::{Asked, Asks, Call};
use crate::answer::standing_json;
use crate::cors::allow;
use crate::request::Seen;
use crate::state::Gate;
use crate::visit::{Joining, Served, serve};

pub(crate) async fn keepalive(
    State(gate): State<Gate>,
    Asks(asked): Asks<Asked>,
    seen: Seen,
) -> Result<Response, ApiError> {
    let call = Call::of(&gate, &asked, seen).await?;
    let ticket = Served::ticket_of(&gate, &call.seen, &call.queue);
    let enter_url = format!("{}://{}/", call.seen.scheme(), call.seen.authority);
    let served = serve(&gate, call.queue, ticket, Joining::Never, Some(enter_url)).await;
    Ok(allow(standing_json(StatusCode::OK, &call.seen, &served), call.asker))
}
