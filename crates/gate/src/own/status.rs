//! `GET /_vestibule/status?queue=`: the visitor's standing. A visit: it keeps the place, and joins who has none.

use axum::extract::State;
use axum::response::Response;
use http::{Method, StatusCode};
use vestibule_http::ApiError;

use super::{Asked, Asks, Call};
use crate::answer::standing_json;
use crate::cors::allow;
use crate::request::Seen;
use crate::state::Gate;
use crate::visit::{Joining, Served, serve};

pub(crate) async fn status(
    State(gate): State<Gate>,
    Asks(asked): Asks<Asked>,
    seen: Seen,
) -> Result<Response, ApiError> {
    let call = Call::of(&gate, &asked, seen).await?;
    let ticket = Served::ticket_of(&gate, &call.seen, &call.queue);
    let drawn_for_somebody = call.of_page.is_some() && ticket.is_none();
    let looks_only = call.seen.method == Method::HEAD || call.seen.is_speculative();
    let joining = if drawn_for_somebody || looks_only { Joining::Never } else { Joining::Joins };
    let enter_url = format!("{}://{}/", call.seen.scheme(), call.seen.authority);
    let served = serve(&gate, call.queue, ticket, joining, Some(enter_url)).await;
    Ok(allow(standing_json(StatusCode::OK, &call.seen, &served), call.asker))
}
