//! `POST /_vestibule/keepalive?queue=`: pushes the session's expiry ahead; joins nobody.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::Call;
use crate::answer::{decided, standing_json};
use crate::cors::allow;
use crate::handover::renew_pass_cookie;
use crate::state::Gate;
use crate::visit::{Joining, serve};

pub(crate) async fn keepalive(State(gate): State<Gate>, call: Call) -> Response {
    let ticket = call.ticket(&gate);
    let enter_url = call.enter_url();
    let served = serve(&gate, call.queue, ticket, Joining::Never, Some(enter_url)).await;
    let mut response = standing_json(StatusCode::OK, &call.seen, &served);
    renew_pass_cookie(&gate, &call.seen, &served, response.headers_mut());
    decided(allow(response, call.asker), &served)
}
