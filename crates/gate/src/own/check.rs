//! `/_vestibule/check`: forward-auth for nginx, Traefik, Caddy and Envoy. The request in question is told by
//! `X-Forwarded-Host`, `-Uri` and `-Method`, or by `X-Original-URL` and `X-Original-Method`.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode};
use serde::Deserialize;
use vestibule_core::settings::{Preflights, normalise_host};
use vestibule_http::{ApiError, Queue};

use super::Asks;
use crate::answer::{decided, give_ticket, personal, standing_json};
use crate::handover::give_pass;
use crate::judge::{Judgement, bypassing, judge_visit, judgement};
use crate::page::{queue_page, unavailable_page};
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
    Asks(asked): Asks<CheckAsked>,
    seen: Seen,
) -> Result<Response, ApiError> {
    let seen = asked_about(seen)?;
    let served = match judgement(&gate, &seen).await {
        Ok(Judgement::Bypasses(queue)) => bypassing(&gate, queue),
        Ok(Judgement::Meets(queue)) if is_forwarded_preflight(&seen, &queue) => bypassing(&gate, queue),
        Ok(Judgement::Meets(queue)) => judge_visit(&gate, &seen, queue).await,
        Err(ApiError::NotReady) => return Ok(not_ready(&seen, asked.page)),
        Err(error) => return Err(error),
    };
    if served.passes {
        return Ok(decided(through(&gate, &seen, &served), &served));
    }
    let decision = served.decision();
    let mut response = wait(&gate, &seen, served, asked.page).await;
    response.extensions_mut().insert(decision);
    Ok(response)
}

/// A preflight that the queue forwards. The proxy in front sends it on with all that it carries, so it must be a mere
/// question.
fn is_forwarded_preflight(seen: &Seen, queue: &Queue) -> bool {
    let forwards = queue.settings.handover.preflights == Preflights::Forward;
    forwards && seen.is_preflight() && !seen.exceeds_preflight()
}

/// The request that the proxy asks about. It speaks for the visitor, so its forwarding headers are the visitor's. A
/// proxy hands on what it does not set itself: where two headers say the same thing, the visitor may have written one of
/// them, and only if they agree is either believed.
fn asked_about(mut seen: Seen) -> Result<Seen, ApiError> {
    let original = said(&seen, "x-original-url").map(|url| Target::read(&url));
    let forwarded = said(&seen, "x-forwarded-uri").map(|uri| Target::read(&uri));
    let named = said(&seen, "x-forwarded-host");
    let in_url = original.as_ref().and_then(|target| target.authority.clone());
    if let (Some(one), Some(other)) = (&named, &in_url)
        && normalise_host(one) != normalise_host(other)
    {
        return Err(ApiError::Disagreement("X-Original-URL and X-Forwarded-Host"));
    }
    if let Some(authority) = named.or(in_url) {
        seen.host = normalise_host(&authority);
        seen.authority = authority;
    }
    let place = |target: &Target| (target.path.clone(), target.query.clone());
    let (original, forwarded) = (original.as_ref().map(place), forwarded.as_ref().map(place));
    let place = agreed("X-Original-URL and X-Forwarded-Uri", original, forwarded)?;
    (seen.path, seen.query) = place.unwrap_or_else(|| ("/".to_owned(), None));
    // It would become a part of the host in an address.
    if !seen.path.starts_with('/') {
        return Err(ApiError::Unreadable("forwarded path"));
    }
    let (forwarded, original) = (said(&seen, "x-forwarded-method"), said(&seen, "x-original-method"));
    let method = agreed("X-Forwarded-Method and X-Original-Method", forwarded, original)?;
    seen.method = method.and_then(|method| method.parse().ok()).unwrap_or(Method::GET);
    if let Some(proto) = seen.header("x-forwarded-proto") {
        seen.origin.https = proto == "https";
    }
    if seen.host.is_none() { Err(ApiError::NoHost) } else { Ok(seen) }
}

/// A header's text. Bytes that are no text are replaced, so that no header is as good as absent for them.
fn said(seen: &Seen, name: &str) -> Option<String> {
    seen.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// What two headers say of the same thing.
fn agreed<T: PartialEq>(headers: &'static str, one: Option<T>, other: Option<T>) -> Result<Option<T>, ApiError> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(ApiError::Disagreement(headers)),
        (one, other) => Ok(one.or(other)),
    }
}

/// An address or a path as the visitor's request line has it, read by its letters: what a stricter reader refuses, the
/// site may well take. What looks like a fragment stays: not every site leaves it out.
struct Target {
    authority: Option<String>,
    path: String,
    query: Option<String>,
}

impl Target {
    fn read(text: &str) -> Self {
        let (authority, rest) = match text.split_once("://") {
            Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
                let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
                (Some(authority.to_owned()), rest)
            }
            _ => (None, text),
        };
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query.to_owned())));
        Self { authority, path: if path.is_empty() { "/".to_owned() } else { path.to_owned() }, query }
    }
}

fn through(gate: &Gate, seen: &Seen, served: &Served) -> Response {
    let mut response = StatusCode::OK.into_response();
    let headers = response.headers_mut();
    personal(headers);
    give_ticket(headers, seen, served);
    give_pass(gate, served, headers);
    response
}

/// 401 with the visitor status, and where to send the visitor: the same address at the gate, which shows the queue page.
async fn wait(gate: &Gate, seen: &Seen, mut served: Served, page: bool) -> Response {
    if page && seen.is_navigation() {
        return queue_page(gate, seen, &served, StatusCode::UNAUTHORIZED).await;
    }
    let address = address(seen);
    // Whoever came with a ticket has it with the next request, and a cookie's is not shown in a header.
    let ticket = served.ticket.as_ref().filter(|_| !served.known);
    let ticket = ticket.and_then(|ticket| HeaderValue::try_from(ticket).ok());
    served.visitor_status.enter_url = Some(address.clone());
    let mut response = standing_json(StatusCode::UNAUTHORIZED, seen, &served);
    send_to(&mut response, address);
    // The proxy hands the ticket on to the gate that shows the page, so that the visitor is not counted twice.
    if let Some(ticket) = ticket {
        response.headers_mut().insert(crate::request::TICKET_HEADER, ticket);
    }
    response
}

/// Nobody knows yet which queue there is: 401, since proxies take everything else for a fault. The gate shows the visitor
/// a page that tries again.
fn not_ready(seen: &Seen, page: bool) -> Response {
    if page && seen.is_navigation() {
        return unavailable_page(seen, StatusCode::UNAUTHORIZED);
    }
    let mut response = ApiError::NotReady.into_response();
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    send_to(&mut response, address(seen));
    response
}

fn address(seen: &Seen) -> String {
    format!("{}://{}{}", seen.scheme(), seen.authority, seen.path_and_query())
}

fn send_to(response: &mut Response, address: String) {
    if let Ok(address) = HeaderValue::try_from(address) {
        response.headers_mut().insert("x-vestibule-location", address);
    }
}
