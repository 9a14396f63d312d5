//! What every answer about a visitor carries: the new ticket, and that it must not be kept by anybody.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use vestibule_http::{Decision, Outcome, Queue};

use crate::request::{Seen, TICKET_HEADER};
use crate::visit::Served;

const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// Lets those around the gate see what was decided, unless the answer tells already.
pub(crate) fn decided(mut response: Response, served: &Served) -> Response {
    if response.extensions().get::<Decision>().is_none() {
        response.extensions_mut().insert(served.decision());
    }
    response
}

/// Says of an answer that nothing was decided on what it comes from: an own endpoint, or an error.
pub(crate) async fn decided_or_own(mut response: Response) -> Response {
    if response.extensions().get::<Decision>().is_none() {
        let outcome = match response.status() {
            status if status.is_client_error() => Outcome::Refused,
            status if status.is_server_error() => Outcome::Failed,
            _ => Outcome::Own,
        };
        response.extensions_mut().insert(Decision::without_queue(outcome));
    }
    response
}

/// Marks an answer as personal.
pub(crate) fn personal(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Hands the ticket that was signed anew to the visitor: in the cookie, and in the header if they read that one.
pub(crate) fn give_ticket(headers: &mut HeaderMap, seen: &Seen, served: &Served) {
    let Some(ticket) = &served.ticket else { return };
    let line = &served.queue.settings.line;
    // The browser keeps the ticket as long as it may be good for: a quit browser loses no place.
    let max_age = line.hold_ttl.max(line.active_ttl);
    let cookie = set_cookie(&served.queue, &served.queue.cookie_name, ticket, max_age, seen.origin.https);
    if let Ok(value) = HeaderValue::try_from(cookie) {
        headers.append(header::SET_COOKIE, value);
    }
    if seen.wants_ticket_header()
        && let Ok(value) = HeaderValue::try_from(ticket)
    {
        headers.insert(TICKET_HEADER, value);
    }
}

/// A cookie for this host, or for the queue's cookie domain.
pub(crate) fn set_cookie(queue: &Queue, name: &str, value: &str, max_age: u64, secure: bool) -> String {
    let domain = queue.settings.cookie_domain.as_ref().map(|domain| format!("; Domain={domain}")).unwrap_or_default();
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{domain}{secure}")
}

/// The standing as JSON.
pub(crate) fn standing_json(status: StatusCode, seen: &Seen, served: &Served) -> Response {
    let mut response = (status, Json(&served.standing)).into_response();
    let headers = response.headers_mut();
    personal(headers);
    headers.insert(header::RETRY_AFTER, served.retry_after());
    give_ticket(headers, seen, served);
    response
}
