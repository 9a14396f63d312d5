//! CORS on endpoints, and the preflights that the gate answers for the site. Pages of the queue's hosts and of its origin
//! are allowed with credentials, all others are not.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use vestibule_core::settings::{HostPattern, Origin, Settings};
use vestibule_runtime::Directory;

use crate::error::GateError;
use crate::request::RequestInfo;

/// The origin of the page that sent the request, from the `Origin` header.
pub(crate) enum CorsOrigin {
    /// No `Origin` header: not a cross-origin request.
    None,
    /// The page may read the response.
    Allowed(HeaderValue),
}

/// Checks the origin of a request against the queue.
pub(crate) fn cors_origin(
    directory: &Directory,
    info: &RequestInfo,
    settings: &Settings,
) -> Result<CorsOrigin, GateError> {
    let Some(value) = info.headers.get(header::ORIGIN) else { return Ok(CorsOrigin::None) };
    let origin = value.to_str().ok().and_then(|text| text.parse::<Origin>().ok()).ok_or(GateError::OriginNotAllowed)?;
    let own = settings.handover.origin.as_ref().is_some_and(|own| own.to_string() == origin.to_string());
    let named = is_reached_alike(info, &origin) && is_of_site(directory, info, settings, origin.host());
    if own || named { Ok(CorsOrigin::Allowed(value.clone())) } else { Err(GateError::OriginNotAllowed) }
}

/// Whether this is a host of the queue. `*` matches all hosts, so only the requested host counts as one of this site.
fn is_of_site(directory: &Directory, info: &RequestInfo, settings: &Settings, host: &str) -> bool {
    let is_named = || settings.hosts.iter().any(|pattern| *pattern != HostPattern::Any && pattern.matches(host));
    (info.host.as_deref() == Some(host) || is_named()) && directory.has_host(&settings.id, host)
}

/// Whether the origin and the gate have the same port, and the origin no weaker scheme: a page loaded over http may be
/// forged.
fn is_reached_alike(info: &RequestInfo, origin: &Origin) -> bool {
    let scheme = if origin.is_https() { "https" } else { "http" };
    let here = format!("{scheme}://{}", info.authority).parse::<Origin>();
    (origin.is_https() || !info.origin.https) && here.is_ok_and(|here| here.port() == origin.port())
}

/// Allows the page to read the response.
pub(crate) fn add_cors_headers(headers: &mut HeaderMap, cors_origin: CorsOrigin) {
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let CorsOrigin::Allowed(origin) = cors_origin {
        allow_origin(headers, origin);
        let exposed = "retry-after, location, x-vestibule-ticket, x-job-id, x-job-duplicate";
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
    }
}

/// Allows pages of every site to read this response, which says nothing about its visitor.
pub(crate) fn readable_by_all(info: &RequestInfo, mut response: Response) -> Response {
    let origin = info.headers.get(header::ORIGIN).cloned().map_or(CorsOrigin::None, CorsOrigin::Allowed);
    add_cors_headers(response.headers_mut(), origin);
    response
}

fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
}

/// Answers a preflight to an endpoint.
pub(crate) fn endpoint_preflight() -> Response {
    preflight_response(
        HeaderValue::from_static("GET, POST"),
        HeaderValue::from_static("content-type, authorization, x-vestibule-ticket, idempotency-key"),
    )
}

/// Answers a preflight to the site in place of its origin, with all methods and headers that it asks for. The request
/// itself still has to be admitted.
pub(crate) fn answer_preflight(
    directory: &Directory,
    info: &RequestInfo,
    settings: &Settings,
) -> Result<(Response, CorsOrigin), GateError> {
    let cors_origin = cors_origin(directory, info, settings)?;
    let named = |name| info.headers.get(name).cloned().unwrap_or(HeaderValue::from_static(""));
    let methods = named(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = preflight_response(methods, named(header::ACCESS_CONTROL_REQUEST_HEADERS));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok((response, cors_origin))
}

/// Allows these methods and headers.
pub(crate) fn preflight_response(methods: HeaderValue, names: HeaderValue) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}
