//! `GET /_vestibule/status?queue=`: the visitor status. Renews the session; a new visitor joins the line.

use axum::extract::State;
use axum::response::Response;
use http::{Method, StatusCode};

use super::EndpointRequest;
use crate::respond::{Answer, Reply, respond};
use crate::state::Gate;
use crate::visit::{VisitIntent, visit};

pub(crate) async fn status(State(gate): State<Gate>, request: EndpointRequest) -> Response {
    let credential = request.credential(&gate);
    let lost_cookie = request.page_session.is_some() && credential.is_none();
    let info = &request.info;
    let reads_only = info.method == Method::HEAD || info.is_prefetch() || info.is_embedded_elsewhere();
    let intent = if lost_cookie || reads_only { VisitIntent::Renew } else { VisitIntent::Join };
    let enter_url = request.enter_url();
    let visit = visit(&gate, request.queue, credential, intent, Some(enter_url)).await;
    let answer = Answer::new(visit, Reply::Status(StatusCode::OK)).with_cors(request.cors_origin);
    respond(&gate, &request.info, answer).await
}
