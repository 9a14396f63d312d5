//! `POST /_vestibule/keepalive?queue=`: renews the session; joins nobody.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use super::EndpointRequest;
use crate::answer::{Answer, PassDelivery, Reply};
use crate::respond::respond;
use crate::state::Gate;
use crate::visit::renew;

/// A pass is valid for a minute at most, so every keepalive renews the cookie of an origin that is not behind the gate.
pub(crate) async fn keepalive(State(gate): State<Gate>, request: EndpointRequest) -> Response {
    let credential = request.credential(&gate);
    let visit = renew(&gate, request.queue, credential).await.with_enter_url(&request.info);
    let answer = Answer::new(visit, Reply::Status(StatusCode::OK));
    respond(&gate, &request.info, answer.with_pass(PassDelivery::Cookie).with_cors(request.cors_origin)).await
}
