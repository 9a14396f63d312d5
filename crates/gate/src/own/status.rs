//! `GET /_vestibule/status?queue=`: the visitor's visitor status. A visit: it keeps the place, and joins who has none.

use axum::extract::State;
use axum::response::Response;
use http::{Method, StatusCode};

use super::Call;
use crate::answer::{decided, standing_json};
use crate::cors::allow;
use crate::state::Gate;
use crate::visit::{Joining, serve};

pub(crate) async fn status(State(gate): State<Gate>, call: Call) -> Response {
    let ticket = call.ticket(&gate);
    let drawn_for_somebody = call.of_page.is_some() && ticket.is_none();
    let looks_only =
        call.seen.method == Method::HEAD || call.seen.is_speculative() || call.seen.is_embedded_elsewhere();
    let joining = if drawn_for_somebody || looks_only { Joining::Never } else { Joining::Joins };
    let enter_url = call.enter_url();
    let served = serve(&gate, call.queue, ticket, joining, Some(enter_url)).await;
    decided(allow(standing_json(StatusCode::OK, &call.seen, &served), call.asker), &served)
}
