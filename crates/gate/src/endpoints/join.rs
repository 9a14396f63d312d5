//! `POST /_vestibule/join?queue=`: a newcomer joins with a proof of work and the pre-ticket to which it belongs.

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use vestibule_core::content_type::{JSON, media_type};
use vestibule_core::{ClientNetworks, JoinStep, PreTicket, Proof};
use vestibule_runtime::Outcome;

use super::EndpointRequest;
use super::challenge::without_pre_ticket;
use crate::answer::{Answer, Reply};
use crate::client::join_client;
use crate::counts::VisitCounts;
use crate::error::GateError;
use crate::request::Credential;
use crate::respond::{finish, respond};
use crate::state::Gate;
use crate::visit::{VisitorRequest, identify_visitor, visit_as};
use crate::visit_intent::VisitIntent;
use crate::visit_result::decision;

/// Maximum size of a body in bytes. A proof has about 900.
const BODY_MAX: usize = 8192;

/// The body: a proof, or the same as base64 of its JSON, as the widget of ALTCHA writes it into a form.
#[derive(Deserialize)]
#[serde(untagged)]
enum JoinBody {
    Proof { proof: Box<Proof> },
    Altcha { altcha: String },
}

pub(crate) async fn join(State(gate): State<Gate>, request: EndpointRequest, body: Body) -> Response {
    let (credential, identified) = identify_visitor(&gate, &request.info, &request.queue, true).await;
    let credential = match credential {
        Credential::PreTicket(pre_ticket) if pre_ticket.epoch() == request.queue.settings.line.epoch => {
            match prove(&gate, &request, pre_ticket, body).await {
                Ok(proven) => Credential::PreTicket(proven),
                Err(error) => return refuse(request, error),
            }
        }
        // The visitor is in line: the answer to an earlier request was lost, or another tab joined.
        credential @ (Credential::Ticket(_) | Credential::Lobby(_)) => credential,
        credential => {
            let answer = without_pre_ticket(&gate, &request, &credential);
            return respond(&gate, &request.info, answer.with_cors(request.cors_origin)).await;
        }
    };
    let client = join_client(&gate, &request.info, &request.queue.settings);
    let visitor = VisitorRequest { info: &request.info, client, is_endpoint: true };
    let visit = visit_as(&gate, request.queue, credential, identified, VisitIntent::JOIN, &visitor).await;
    let visit = visit.with_enter_url(&request.info);
    let status = match &visit.visitor_status.join {
        None => StatusCode::OK,
        Some(JoinStep::SignIn { .. }) => StatusCode::FORBIDDEN,
        Some(_) => StatusCode::TOO_MANY_REQUESTS,
    };
    let answer = Answer::new(visit, Reply::Status(status)).with_cors(request.cors_origin);
    respond(&gate, &request.info, answer).await
}

/// The pre-ticket with what the proof in the body proves.
async fn prove(
    gate: &Gate,
    request: &EndpointRequest,
    pre_ticket: PreTicket,
    body: Body,
) -> Result<PreTicket, GateError> {
    let queue = &request.queue.settings.id;
    if !request.info.header(header::CONTENT_TYPE).is_some_and(is_json) {
        return Err(GateError::NotJson);
    }
    let body = to_bytes(body, BODY_MAX).await.map_err(|_| GateError::BodyTooLarge { limit_bytes: BODY_MAX })?;
    let proven = read(&body).ok_or_else(|| "the body is not a proof of work".to_owned()).and_then(|proof| {
        let now = gate.clock.now();
        let verified = gate.tickets.challenges().verify(&proof, queue, pre_ticket.session(), now);
        let proven = verified.map_err(|error| error.to_string())?;
        let sum = pre_ticket.proving(proven.base, proven.difficulty, now);
        sum.ok_or_else(|| "the challenge adds to a proof that this pre-ticket does not have".to_owned())
    });
    gate.counts.add(queue, VisitCounts::proof(proven.is_ok()));
    proven.map_err(|reason| {
        let address = request.info.origin.address.and_then(ClientNetworks::of).map(|networks| networks.address);
        // Others behind the address have valid ones.
        if let Some(seconds) = gate.challenges.must_wait(address) {
            return GateError::TooManyInvalidProofs(seconds);
        }
        gate.challenges.count_invalid(address);
        GateError::InvalidProof(reason)
    })
}

/// Whether the body can be a proof. Pages of other sites cannot send JSON without asking first.
fn is_json(content_type: &str) -> bool {
    media_type(content_type) == JSON
}

fn read(body: &[u8]) -> Option<Proof> {
    match serde_json::from_slice(body).ok()? {
        JoinBody::Proof { proof } => Some(*proof),
        JoinBody::Altcha { altcha } => serde_json::from_slice(&STANDARD.decode(altcha).ok()?).ok(),
    }
}

fn refuse(request: EndpointRequest, error: GateError) -> Response {
    let decision = decision(Outcome::NotJoined, &request.queue, None, None);
    let mut response = error.into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    finish(response, Some(request.cors_origin), decision)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_a_proof() {
        assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/jsonp") && !is_json(""));
        for body in ["", "{}", "[]", "{\"proof\":1}", "{\"altcha\":\"?\"}", "{\"altcha\":\"e30=\"}"] {
            assert!(read(body.as_bytes()).is_none(), "{body}");
        }
    }
}
