//! The exit of the gate: everything that holds for all answers about a visitor is set here. That is the new ticket, the
//! pass, cache headers, `Retry-After`, CORS and the decision for log and metrics.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use vestibule_core::settings::{HOST_GAP, Settings};
use vestibule_core::{MICROS_PER_SECOND, PASS_TTL, VisitorStatus};
use vestibule_runtime::{Decision, Outcome};
use vestibule_themes::{ErrorPage, JOB_POLL_SECONDS};

use crate::answer::{Answer, BYPASS_HEADER, PASS_HEADER, PassDelivery, QueuedJob, Reply};
use crate::cache_headers::{allows_shared_cache, keep_private, set_private_cache};
use crate::cookies;
use crate::cors::{CorsOrigin, add_cors_headers};
use crate::error::GateError;
use crate::handover::{bypass_reason, cookie_reaches_origin, failed, pass_cookie, pass_of};
use crate::invitation_code::set_wrong;
use crate::page::{error_page, job_page, plain_page, queue_page};
use crate::request::{NEW_TICKET_HEADER, RequestInfo, TICKET_HEADER};
use crate::response_buffer::ResponseBuffer;
use crate::state::Gate;
use crate::two_step::sign_offer;
use crate::visit_result::{NewTicket, VisitResult};

/// A response that shared caches may keep carries no new ticket before this part of the lifetime of the old one: a third.
const RENEWAL_PART: u64 = 3;

/// Writes the response to a visitor.
pub(crate) async fn respond(gate: &Gate, info: &RequestInfo, answer: Answer) -> Response {
    let Answer { mut visit, reply, pass, cors } = answer;
    if visit.pre_ticket.is_some() {
        visit.ticket = sign_offer(gate, info, &visit);
    }
    let languages = || info.languages().tags;
    let passes = visit.passes;
    complete_status(&mut visit.visitor_status, &visit.queue.settings, passes, info.host.as_deref(), languages);
    let (mut response, buffer) = response_of(gate, info, &visit, reply).await;
    let headers = response.headers_mut();
    // Images and scripts that the origin offers to shared caches stay cacheable: the visitor gets the new ticket with
    // another response, which has to come in time.
    let stays_shared = buffer.is_some()
        && visit.known
        && !info.is_navigation()
        && allows_shared_cache(headers, visit.now)
        && has_young_ticket(gate, info, &visit);
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

/// Whether the ticket of the visitor can be renewed later: less than a part of its lifetime is over.
fn has_young_ticket(gate: &Gate, info: &RequestInfo, visit: &VisitResult) -> bool {
    let hold_micros = visit.queue.settings.line.hold_ttl * MICROS_PER_SECOND;
    info.ticket(&visit.queue, &gate.tickets).is_some_and(|ticket| {
        let signed_at = ticket.signed_at();
        let lifetime = ticket.slot_expires_at().map_or(hold_micros, |expires_at| expires_at.since(signed_at));
        visit.now.since(signed_at) < lifetime / RENEWAL_PART
    })
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
    let found = message.map(|message| message.in_language(languages()));
    status.message = found.map(|(text, _)| text.to_owned());
    status.message_language = found.and_then(|(_, tag)| tag.map(str::to_owned));
    if let Some(event) = &mut status.event {
        event.name = event.name.replace(HOST_GAP, host.unwrap_or_default());
    }
}

/// The response of the gate, or that of the origin with its buffer; without what [`respond`] adds to every response.
/// Pages are boxed: every request would make room for one otherwise.
async fn response_of(
    gate: &Gate,
    info: &RequestInfo,
    visit: &VisitResult,
    reply: Reply,
) -> (Response, Option<ResponseBuffer>) {
    let (mut response, retry_after) = match reply {
        Reply::Forwarded(response, buffer) => return (response, Some(buffer)),
        Reply::Redirect(location) => (redirect(StatusCode::FOUND, location), None),
        Reply::WrongCode(location) => {
            let mut response = redirect(StatusCode::FOUND, location);
            set_wrong(response.headers_mut(), info.origin.https);
            (response, None)
        }
        Reply::QueuePage(status) => (Box::pin(queue_page(gate, info, visit, status)).await, Some(visit.retry_after())),
        Reply::ErrorPage(status, page) => {
            let retry_after = match page {
                _ if status == StatusCode::TOO_MANY_REQUESTS => Some(visit.retry_after()),
                page => page.retries().then(|| HeaderValue::from(ErrorPage::RETRY_SECONDS)),
            };
            (Box::pin(error_page(gate, info, visit, status, page)).await, retry_after)
        }
        Reply::Status(status) => (status_json(status, visit), Some(visit.retry_after())),
        Reply::CheckDenied(address) => (check_denied(info, visit, address), Some(visit.retry_after())),
        Reply::Challenge(challenge) => (Json(&challenge).into_response(), None),
        Reply::SeeOther(location) => (redirect(StatusCode::SEE_OTHER, location), None),
        Reply::Queued(job) => (queued(job), Some(HeaderValue::from(JOB_POLL_SECONDS))),
        Reply::JobPage(status, report) => {
            let retry_after = report.retry_after.map(HeaderValue::from);
            (Box::pin(job_page(gate, info, visit, status, report)).await, retry_after)
        }
        Reply::Empty(status) => (status.into_response(), None),
        // No browser shows the response to an upgrade.
        Reply::Error(error) if info.wants_page() && !matches!(error, GateError::UpgradeNotSupported) => {
            let page = Box::pin(error_page(gate, info, visit, error.status(), error.page())).await;
            (page, error.retry_after().map(HeaderValue::from))
        }
        Reply::Error(error) => (error.into_response(), None),
    };
    let headers = response.headers_mut();
    set_private_cache(headers);
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, seconds);
    }
    (response, None)
}

/// The response to a request that fails before anything is known about its visitor: a page for a navigation.
pub(crate) fn refuse(info: &RequestInfo, error: GateError) -> Response {
    if !info.wants_page() {
        return error.into_response();
    }
    let mut response = plain_page(info, error.status(), error.page());
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The job of a request, as a client can follow it.
fn queued(job: QueuedJob) -> Response {
    let mut response = (StatusCode::ACCEPTED, Json(&job)).into_response();
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::try_from(job.job_id.to_string()) {
        headers.insert("x-job-id", id);
    }
    if job.duplicate {
        headers.insert("x-job-duplicate", HeaderValue::from_static("true"));
    }
    if let Ok(location) = HeaderValue::try_from(job.location) {
        headers.insert(header::LOCATION, location);
    }
    response
}

fn redirect(status: StatusCode, location: String) -> Response {
    let mut response = status.into_response();
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

fn check_denied(info: &RequestInfo, visit: &VisitResult, address: String) -> Response {
    let mut response = status_json(StatusCode::UNAUTHORIZED, visit);
    // The proxy hands a new ticket on to the gate that shows the page, so that the visitor joins once. A browser that came with a
    // ticket sends its cookie again, and the ticket of a cookie is never shown in a header. A pre-ticket is for the visitor to
    // bring: it proves nothing if the proxy does.
    let is_sent_again = visit.known && !info.wants_ticket_header(&visit.queue);
    let ticket = visit.ticket.as_ref().filter(|_| !is_sent_again && visit.pre_ticket.is_none());
    if let Some(ticket) = ticket.and_then(|ticket| HeaderValue::try_from(&ticket.token).ok()) {
        response.headers_mut().insert(NEW_TICKET_HEADER, ticket);
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
            StatusCode::NOT_FOUND => Outcome::NotFound,
            status if status.is_client_error() => Outcome::Refused,
            status if status.is_server_error() => Outcome::Failed,
            _ => Outcome::Endpoint,
        };
        response.extensions_mut().insert(Decision::without_queue(outcome));
    }
    response
}

/// Sets the new ticket in the cookie, and in the header for clients that use it.
fn set_ticket(headers: &mut HeaderMap, info: &RequestInfo, visit: &VisitResult) {
    let Some(ticket) = &visit.ticket else { return };
    let NewTicket { token, max_age, .. } = ticket;
    let domain = visit.queue.settings.cookie_domain.as_deref();
    if let Some(name) = visit.queue.accepted_ticket_cookies(info.is_https_everywhere).first() {
        cookies::append(headers, name, token, *max_age, domain, info.origin.https);
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

/// Sets the pass in its cookie, or the reason why the request passes without one: a load balancer that routes by this cookie would
/// send the visitor back here otherwise. A pass that the visitor has stays, because it is valid on other paths too.
fn set_pass_cookie(gate: &Gate, info: &RequestInfo, visit: &VisitResult, headers: &mut HeaderMap) {
    if !cookie_reaches_origin(info, visit) {
        return;
    }
    let name = pass_cookie(&visit.queue.settings.id);
    let domain = visit.queue.settings.cookie_domain.as_deref();
    let mut set = |value: &str, max_age| cookies::append(headers, &name, value, max_age, domain, info.origin.https);
    if let Some(pass) = pass_of(gate, visit) {
        set(pass.token.to_str().unwrap_or_default(), pass.seconds_left(visit.now));
    } else if let Some(reason) = bypass_reason(visit)
        && info.cookie(&name).is_none_or(|sent| sent == reason)
    {
        set(reason, PASS_TTL);
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
