//! `/_vestibule/check`: forward-auth for nginx, Traefik, Caddy and Envoy. The request in question is told by
//! `X-Forwarded-Host`, `-Uri` and `-Method`, or by `X-Original-URL` and `X-Original-Method`.

use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, Uri};
use serde::Deserialize;
use vestibule_core::settings::normalise_host;
use vestibule_http::ApiError;

use crate::answer::{give_ticket, personal, standing_json};
use crate::handover::give_pass;
use crate::judge::{Judgement, bypassing, judge_visit, judgement};
use crate::page::queue_page;
use crate::request::Seen;
use crate::state::Gate;
use crate::visit::Served;

/// How the proxy in front wants its answer.
#[derive(Debug, Deserialize)]
pub(crate) struct CheckAsked {
    /// `page=true`: who waits for a page gets the queue page with the 401, for proxies that pass that on to the visitor.
    #[serde(default)]
    page: bool,
}

pub(crate) async fn check(
    State(gate): State<Gate>,
    Query(asked): Query<CheckAsked>,
    seen: Seen,
) -> Result<Response, ApiError> {
    let seen = asked_about(seen)?;
    let served = match judgement(&gate, &seen).await? {
        Judgement::Bypasses(queue) => bypassing(&gate, queue),
        Judgement::Meets(queue) if seen.is_preflight() => bypassing(&gate, queue),
        Judgement::Meets(queue) => judge_visit(&gate, &seen, queue).await,
    };
    Ok(if served.passes { through(&gate, &seen, &served) } else { wait(&gate, &seen, served, asked.page) })
}

/// The request that the proxy asks about. It speaks for the visitor, so its forwarding headers are the visitor's.
fn asked_about(mut seen: Seen) -> Result<Seen, ApiError> {
    let original = seen.header("x-original-url").and_then(|url| url.parse::<Uri>().ok());
    let authority = seen.header("x-forwarded-host").map(str::to_owned);
    let authority = authority.or_else(|| Some(original.as_ref()?.authority()?.as_str().to_owned()));
    if let Some(authority) = authority {
        seen.host = normalise_host(&authority);
        seen.authority = authority;
    }
    let target = original.or_else(|| seen.header("x-forwarded-uri").and_then(|uri| uri.parse().ok()));
    let target = target.unwrap_or_else(|| Uri::from_static("/"));
    target.path().clone_into(&mut seen.path);
    seen.query = target.query().map(str::to_owned);
    let method = seen.header("x-forwarded-method").or_else(|| seen.header("x-original-method"));
    seen.method = method.and_then(|method| method.parse().ok()).unwrap_or(Method::GET);
    if let Some(proto) = seen.header("x-forwarded-proto") {
        seen.origin.https = proto == "https";
    }
    if seen.host.is_none() { Err(ApiError::NoHost) } else { Ok(seen) }
}

fn through(gate: &Gate, seen: &Seen, served: &Served) -> Response {
    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    personal(headers);
    give_ticket(headers, seen, served);
    give_pass(gate, served, headers);
    response
}

/// 401 with the standing, and where to send the visitor: the same address at the gate, which shows the queue page.
fn wait(gate: &Gate, seen: &Seen, mut served: Served, page: bool) -> Response {
    if page && seen.is_navigation() {
        return queue_page(gate, seen, &served, StatusCode::UNAUTHORIZED);
    }
    let address = format!("{}://{}{}", seen.scheme(), seen.authority, seen.path_and_query());
    let ticket = served.ticket.as_ref().and_then(|ticket| HeaderValue::try_from(ticket).ok());
    served.standing.enter_url = Some(address.clone());
    let mut response = standing_json(StatusCode::UNAUTHORIZED, seen, &served);
    if let Ok(address) = HeaderValue::try_from(address) {
        response.headers_mut().insert("x-vestibule-location", address);
    }
    // The proxy hands the ticket on to the gate that shows the page, so that the visitor is not counted twice.
    if let Some(ticket) = ticket {
        response.headers_mut().insert(crate::request::TICKET_HEADER, ticket);
    }
    response
}
