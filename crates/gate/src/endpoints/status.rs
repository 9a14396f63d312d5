//! `GET /_vestibule/status?queue=`: the visitor status. Renews the session; a new visitor joins the line.

use axum::extract::State;
use axum::response::Response;
use http::{Method, StatusCode};
use vestibule_core::line::RejectionReason;

use super::EndpointRequest;
use crate::answer::{Answer, Reply};
use crate::client::join_client;
use crate::invitation::visit_by_code;
use crate::respond::respond;
use crate::state::Gate;
use crate::visit::{VisitorRequest, identify_visitor, visit_as};
use crate::visit_intent::VisitIntent;

pub(crate) async fn status(State(gate): State<Gate>, request: EndpointRequest) -> Response {
    let (credential, identified) = identify_visitor(&gate, &request.info, &request.queue, true).await;
    let lost_cookie = request.has_page_session && credential.is_none();
    let info = &request.info;
    let reads_only = info.method == Method::HEAD || info.is_prefetch() || info.is_embedded_elsewhere();
    let intent = if lost_cookie || reads_only { VisitIntent::RENEW } else { VisitIntent::JOIN };
    let client = join_client(&gate, info, &request.queue.settings);
    let visitor = VisitorRequest { info, client, is_endpoint: true };
    let invited = if intent.joins() { visit_by_code(&gate, &visitor, &request.queue).await } else { None };
    let visit = if let Some(visit) = invited {
        visit
    } else {
        visit_as(&gate, request.queue, credential, identified, intent, &visitor).await
    };
    let visit = visit.with_enter_url(info);
    let is_rejected = visit.rejection().is_some_and(|reason| reason != RejectionReason::Full);
    let status = if is_rejected { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
    let answer = Answer::new(visit, Reply::Status(status)).with_cors(request.cors_origin);
    respond(&gate, &request.info, answer).await
}
