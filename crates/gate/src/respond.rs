//! The exit of the gate: everything that holds for all answers about a visitor is set here. That is the new ticket, the
//! pass, cache headers, `Retry-After`, CORS and the decision for log and metrics.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use vestibule_core::VisitorStatus;
use vestibule_core::settings::{HOST_GAP, Settings};
use vestibule_runtime::{Decision, Outcome, Queue};
use vestibule_themes::ErrorPage;

use crate::cors::{CorsOrigin, add_cors_headers};
use crate::error::GateError;
use crate::handover::{bypass_reason, cookie_reaches_origin, failed, pass_cookie, pass_of};
use crate::invitation::set_wrong;
use crate::page::{error_page, queue_page};
use crate::request::{RequestInfo, TICKET_HEADER};
use crate::response_buffer::ResponseBuffer;
use crate::state::Gate;
use crate::two_step::sign_offer;
use crate::visit::{NewTicket, VisitResult};

/// Headers other than `Cache-Control` that tell shared caches how long to keep a response.
const SHARED_CACHE_HEADERS: [HeaderName; 4] = [
    header::EXPIRES,
    HeaderName::from_static("surrogate-control"),
    HeaderName::from_static("cdn-cache-control"),
    HeaderName::from_static("x-accel-expires"),
];
/// Browsers accept a cookie with this prefix only over https from the host itself, so that no other host can set it.
const HOST_ONLY: &str = "__Host-";
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// Tells the origin that a request passes without an admission, and why.
pub(crate) const BYPASS_HEADER: HeaderName = HeaderName::from_static("x-vestibule-bypass");
/// Carries the pass to the origin.
pub(crate) const PASS_HEADER: HeaderName = HeaderName::from_static("x-vestibule-pass");

/// The answer to a request about a visitor.
pub(crate) struct Answer {
    pub(crate) visit: VisitResult,
    pub(crate) reply: Reply,
    pub(crate) pass: PassDelivery,
    pub(crate) cors: Option<CorsOrigin>,
}

/// What the visitor gets.
pub(crate) enum Reply {
    /// The response of the origin.
    Forwarded(Response, ResponseBuffer),
    /// 302 to this address.
    Redirect(String),
    /// The same after a wrong invitation code, which the page at that address reports.
    WrongCode(String),
    /// The queue page.
    QueuePage(StatusCode),
    /// A page in place of the response of the origin.
    ErrorPage(StatusCode, ErrorPage),
    /// The visitor status as JSON.
    Status(StatusCode),
    /// 401 with the visitor status for a forward-auth proxy, which sends the visitor to this address.
    CheckDenied(String),
    /// No body.
    Empty(StatusCode),
    /// Problem details.
    Error(GateError),
}

impl Reply {
    /// The page for a visitor who is not admitted: the queue page with this status, or the page of a rejection.
    pub(crate) fn page_of(visit: &VisitResult, status: StatusCode) -> Self {
        if let Some(page) = visit.sign_in_page() {
            return Self::ErrorPage(status, page);
        }
        visit
            .rejection_page()
            .map_or(Self::QueuePage(status), |page| Self::ErrorPage(StatusCode::TOO_MANY_REQUESTS, page))
    }
}

/// How the pass of an admitted visitor is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassDelivery {
    /// Not in this response.
    None,
    /// In a cookie, if the origin receives it.
    Cookie,
    /// In a header for a forward-auth proxy, or the reason why there is none.
    Header,
}

impl Answer {
    pub(crate) const fn new(visit: VisitResult, reply: Reply) -> Self {
        Self { visit, reply, pass: PassDelivery::None, cors: None }
    }

    pub(crate) fn with_pass(self, pass: PassDelivery) -> Self {
        Self { pass, ..self }
    }

    pub(crate) fn with_cors(self, cors: CorsOrigin) -> Self {
        Self { cors: Some(cors), ..self }
    }
}

/// Writes the response to a visitor.
pub(crate) async fn respond(gate: &Gate, info: &RequestInfo, answer: Answer) -> Response {
    let Answer { mut visit, reply, pass, cors } = answer;
    if visit.pre_ticket.is_some() {
        visit.ticket = sign_offer(gate, info, &visit);
    }
    let languages = || info.languages().tags;
    let passes = visit.passes;
    complete_status(&mut visit.visitor_status, &visit.queue.settings, passes, info.host.as_deref(), languages);
    let (mut response, buffer) = match reply {
        Reply::Forwarded(response, buffer) => (response, Some(buffer)),
        reply => (own_response(gate, info, &visit, reply).await, None),
    };
    let headers = response.headers_mut();
    // Images and scripts that the origin offers to shared caches stay cacheable: the visitor gets the new ticket with
    // another response.
    let stays_shared = buffer.is_some() && visit.known && !info.is_navigation() && allows_shared_cache(headers);
    if !stays_shared {
        set_ticket(headers, info, &visit);
    }
    set_pass(gate, info, &visit, pass, headers);
    let response = match buffer {
        Some(buffer) => match buffer.collect(response).await {
            Ok(response) => response,
            Err(error) => return Box::pin(respond(gate, info, failed(info, visit, &error))).await,
        },
        None => response,
    };
    finish(response, cors, visit.decision())
}

/// Adds what depends on the request: the operator's message for a visitor who does not pass, and the host in the name of
/// the event.
pub(crate) fn complete_status<'a>(
    status: &mut VisitorStatus,
    settings: &Settings,
    passes: bool,
    host: Option<&str>,
    languages: impl FnOnce() -> Vec<&'a str>,
) {
    let message = settings.message.as_ref().filter(|_| !passes);
    status.message = message.map(|message| message.in_language(languages()).to_owned());
    if let Some(event) = &mut status.event {
        event.name = event.name.replace(HOST_GAP, host.unwrap_or_default());
    }
}

/// A response of the gate itself, without what [`respond`] adds to every response.
async fn own_response(gate: &Gate, info: &RequestInfo, visit: &VisitResult, reply: Reply) -> Response {
    let (mut response, retry_after) = match reply {
        Reply::Forwarded(response, _) => (response, None),
        Reply::Redirect(location) => (found(location), None),
        Reply::WrongCode(location) => {
            let mut response = found(location);
            set_wrong(response.headers_mut(), info.origin.https);
            (response, None)
        }
        Reply::QueuePage(status) => (queue_page(gate, info, visit, status).await, Some(visit.retry_after())),
        Reply::ErrorPage(status, page) => {
            let retry_after = match page {
                page if page.is_rejection() => Some(visit.retry_after()),
                page => page.retries().then(|| HeaderValue::from(ErrorPage::RETRY_SECONDS)),
            };
            (error_page(gate, info, visit, status, page).await, retry_after)
        }
        Reply::Status(status) => (status_json(status, visit), Some(visit.retry_after())),
        Reply::CheckDenied(address) => (check_denied(visit, address), Some(visit.retry_after())),
        Reply::Empty(status) => (status.into_response(), None),
        Reply::Error(error) => (error.into_response(), None),
    };
    let headers = response.headers_mut();
    set_private_cache(headers);
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, seconds);
    }
    response
}

fn found(location: String) -> Response {
    let mut response = StatusCode::FOUND.into_response();
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn status_json(status: StatusCode, visit: &VisitResult) -> Response {
    let mut response = (status, Json(&visit.visitor_status)).into_response();
    let policy = HeaderValue::from_static("same-site");
    response.headers_mut().insert("cross-origin-resource-policy", policy);
    response
}

fn check_denied(visit: &VisitResult, address: String) -> Response {
    let mut response = status_json(StatusCode::UNAUTHORIZED, visit);
    // The proxy hands a new ticket on to the gate that shows the page, so that the visitor joins once. A visitor who came
    // with a ticket sends it again, and the ticket of a cookie is never shown in a header. A pre-ticket is for the visitor to
    // bring: it proves nothing if the proxy does.
    let ticket = visit.ticket.as_ref().filter(|_| !visit.known && visit.pre_ticket.is_none());
    if let Some(ticket) = ticket.and_then(|ticket| HeaderValue::try_from(&ticket.token).ok()) {
        response.headers_mut().insert(TICKET_HEADER, ticket);
    }
    set_location(&mut response, address);
    response
}

/// The address to which a forward-auth proxy sends a visitor who has to wait.
pub(crate) fn set_location(response: &mut Response, address: String) {
    if let Ok(address) = HeaderValue::try_from(address) {
        response.headers_mut().insert("x-vestibule-location", address);
    }
}

/// Adds CORS headers and the decision for log and metrics.
pub(crate) fn finish(mut response: Response, cors: Option<CorsOrigin>, decision: Decision) -> Response {
    if let Some(cors) = cors {
        add_cors_headers(response.headers_mut(), cors);
    }
    response.extensions_mut().insert(decision);
    response
}

/// Adds a decision to responses without one: static endpoints and errors.
pub(crate) async fn ensure_decision(mut response: Response) -> Response {
    if response.extensions().get::<Decision>().is_none() {
        let outcome = match response.status() {
            status if status.is_client_error() => Outcome::NotFound,
            status if status.is_server_error() => Outcome::Failed,
            _ => Outcome::Endpoint,
        };
        response.extensions_mut().insert(Decision::without_queue(outcome));
    }
    response
}

/// Keeps a response out of all caches and search engines.
pub(crate) fn set_private_cache(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Sets the new ticket in the cookie, and in the header for clients that use it.
fn set_ticket(headers: &mut HeaderMap, info: &RequestInfo, visit: &VisitResult) {
    let Some(ticket) = &visit.ticket else { return };
    let NewTicket { token, max_age } = ticket;
    let [host_only, plain] = ticket_cookies(&visit.queue);
    let is_host_only = info.origin.https && visit.queue.settings.cookie_domain.is_none();
    let name = if is_host_only { host_only } else { plain };
    let cookie = cookie(&visit.queue, &name, token, *max_age, info.origin.https);
    if let Ok(value) = HeaderValue::try_from(cookie) {
        headers.append(header::SET_COOKIE, value);
    }
    keep_private(headers);
    if info.wants_ticket_header(&visit.queue)
        && let Ok(value) = HeaderValue::try_from(token)
    {
        headers.insert(TICKET_HEADER, value);
    }
}

fn set_pass(gate: &Gate, info: &RequestInfo, visit: &VisitResult, delivery: PassDelivery, headers: &mut HeaderMap) {
    match delivery {
        PassDelivery::None => {}
        PassDelivery::Cookie => set_pass_cookie(gate, info, visit, headers),
        PassDelivery::Header => set_pass_headers(gate, visit, headers),
    }
}

fn set_pass_cookie(gate: &Gate, info: &RequestInfo, visit: &VisitResult, headers: &mut HeaderMap) {
    if !cookie_reaches_origin(info, visit) {
        return;
    }
    let Some(pass) = pass_of(gate, visit) else { return };
    let (token, max_age) = (pass.token.to_str().unwrap_or_default(), pass.seconds_left(visit.now));
    let name = pass_cookie(&visit.queue.settings.id);
    if let Ok(value) = HeaderValue::try_from(cookie(&visit.queue, &name, token, max_age, info.origin.https)) {
        headers.append(header::SET_COOKIE, value);
    }
}

fn set_pass_headers(gate: &Gate, visit: &VisitResult, headers: &mut HeaderMap) {
    if let Some(reason) = bypass_reason(visit) {
        headers.insert(BYPASS_HEADER, HeaderValue::from_static(reason));
    }
    let Some(slot) = visit.admitted else { return };
    if let Ok(value) = HeaderValue::try_from(slot.session.to_string()) {
        headers.insert("x-vestibule-session", value);
    }
    if let Some(pass) = pass_of(gate, visit) {
        headers.insert(PASS_HEADER, pass.token);
    }
}

/// The value of a `Set-Cookie` header for this host, or for the queue's cookie domain.
pub(crate) fn cookie(queue: &Queue, name: &str, value: &str, max_age: u64, secure: bool) -> String {
    let domain = queue.settings.cookie_domain.as_ref().map(|domain| format!("; Domain={domain}")).unwrap_or_default();
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{domain}{secure}")
}

/// Keeps an answer out of shared caches, whatever the origin said: they would hand it to others.
pub(crate) fn keep_private(headers: &mut HeaderMap) {
    for name in SHARED_CACHE_HEADERS {
        headers.remove(name);
    }
    let vendors: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().ends_with("-cdn-cache-control")).cloned().collect();
    for name in vendors {
        headers.remove(name);
    }
    let said: Vec<String> = cache_directives(headers).collect();
    if said.iter().any(|directive| directive == "no-store") {
        return;
    }
    // A directive with a list in quotes has commas of its own.
    let is_list = said.iter().any(|directive| directive.contains('"'));
    let kept = said.into_iter().filter(|directive| !is_list && !is_for_shared_caches(directive));
    let directives: Vec<String> = std::iter::once("private".to_owned()).chain(kept).collect();
    if let Ok(value) = HeaderValue::try_from(directives.join(", ")) {
        headers.insert(header::CACHE_CONTROL, value);
    }
}

/// Whether an answer says that a shared cache may keep it.
pub(crate) fn allows_shared_cache(headers: &HeaderMap) -> bool {
    let mut directives = cache_directives(headers).peekable();
    if directives.peek().is_none() {
        return SHARED_CACHE_HEADERS.iter().any(|name| headers.contains_key(name));
    }
    let said: Vec<String> = directives.collect();
    let is_kept_from_them = |directive: &String| {
        directive.starts_with("private")
            || directive.starts_with("no-cache")
            || matches!(directive.as_str(), "no-store" | "max-age=0")
    };
    !said.iter().any(is_kept_from_them)
        && said.iter().any(|directive| {
            directive == "immutable" || directive.starts_with("max-age") || is_for_shared_caches(directive)
        })
}

fn is_for_shared_caches(directive: &str) -> bool {
    matches!(directive, "public" | "private" | "proxy-revalidate") || directive.starts_with("s-maxage")
}

fn cache_directives(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let values = headers.get_all(header::CACHE_CONTROL).into_iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(|directive| directive.trim().to_ascii_lowercase())
        .filter(|it| !it.is_empty())
}

/// Names of the queue's ticket cookie: the one that only this host can set, and the one where that can't be had, because
/// the visitor came by http or the queue has a cookie domain.
pub(crate) fn ticket_cookies(queue: &Queue) -> [String; 2] {
    [format!("{HOST_ONLY}{}", queue.cookie_name), queue.cookie_name.clone()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private(said: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.append(*name, HeaderValue::from_static(value));
        }
        keep_private(&mut headers);
        headers
    }

    #[test]
    fn responses_with_tickets_are_private() {
        for (said, becomes) in [
            ("", "private"),
            ("public", "private"),
            ("max-age=300", "private, max-age=300"),
            ("Public, S-MaxAge=60, max-age=5, proxy-revalidate, immutable", "private, max-age=5, immutable"),
            ("private=\"x-a, x-b\", public", "private"),
            ("no-cache", "private, no-cache"),
            ("public, no-store", "public, no-store"),
        ] {
            assert_eq!(private(&[("cache-control", said)])[header::CACHE_CONTROL], becomes, "{said}");
        }
        let left = private(&[
            ("expires", "Thu, 01 Jan 2099 00:00:00 GMT"),
            ("x-accel-expires", "60"),
            ("cloudflare-cdn-cache-control", "max-age=60"),
            ("etag", "\"1\""),
        ]);
        assert_eq!(left.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["etag", "cache-control"]);
    }

    #[test]
    fn shared_caching_must_be_explicit() {
        for (name, value, offered) in [
            ("cache-control", "max-age=60", true),
            ("cache-control", "public", true),
            ("cache-control", "private, max-age=60", false),
            ("cache-control", "no-cache", false),
            ("cache-control", "max-age=0", false),
            ("expires", "Thu, 01 Jan 2099 00:00:00 GMT", true),
            ("etag", "\"1\"", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(allows_shared_cache(&headers), offered, "{name}: {value}");
        }
    }
}
