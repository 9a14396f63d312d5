//! CORS on the own endpoints, and the preflights that the gate answers for the site: the queue's hosts and its handover
//! origin, with credentials, nobody else.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use vestibule_core::settings::{Origin, Settings};
use vestibule_http::ApiError;

use crate::request::Seen;

/// The page that asks, as its `Origin` header names it.
pub(crate) enum Asker {
    /// No `Origin` header: not a request of another origin's page.
    Nobody,
    /// A page that may read the answer.
    Welcome(HeaderValue),
}

/// Who asks. A page of an origin that has nothing to do with the queue is refused.
pub(crate) fn asker(seen: &Seen, settings: &Settings) -> Result<Asker, ApiError> {
    let Some(value) = seen.headers.get(header::ORIGIN) else { return Ok(Asker::Nobody) };
    let origin = value.to_str().ok().and_then(|text| text.parse::<Origin>().ok()).ok_or(ApiError::ForeignOrigin)?;
    let own = settings.handover.origin.as_ref().is_some_and(|own| own.to_string() == origin.to_string());
    let named = is_reached_alike(seen, &origin)
        && settings.hosts.iter().any(|host| {
            // Every host: then only the very host that was asked is a page of this site.
            let any = *host == vestibule_core::settings::HostPattern::Any;
            if any { seen.host.as_deref() == Some(origin.host()) } else { host.matches(origin.host()) }
        });
    if own || named { Ok(Asker::Welcome(value.clone())) } else { Err(ApiError::ForeignOrigin) }
}

/// Whether a page of this origin and the gate are reached by one port, and the page by no weaker scheme: a page that came
/// by http may be anybody's.
fn is_reached_alike(seen: &Seen, origin: &Origin) -> bool {
    let scheme = if origin.is_https() { "https" } else { "http" };
    let here = format!("{scheme}://{}", seen.authority).parse::<Origin>();
    (origin.is_https() || !seen.origin.https) && here.is_ok_and(|here| here.port() == origin.port())
}

/// Lets the asking page read the answer.
pub(crate) fn allow(mut response: Response, asker: Asker) -> Response {
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Asker::Welcome(origin) = asker {
        allow_origin(headers, origin);
        headers
            .insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after, x-vestibule-ticket"));
    }
    response
}

fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
}

/// Answers a preflight of a welcome page to an own endpoint.
pub(crate) fn allow_preflight(asker: Asker) -> Response {
    allow_these(
        asker,
        HeaderValue::from_static("GET, POST"),
        HeaderValue::from_static("content-type, x-vestibule-ticket"),
    )
}

/// Answers a preflight to the site in the place of its origin. Pages of the queue's hosts and of its origin may send what
/// they ask for; the request itself has to be let in all the same.
pub(crate) fn answer_preflight(seen: &Seen, settings: &Settings) -> Response {
    let asker = match asker(seen, settings) {
        Ok(asker) => asker,
        Err(error) => return error.into_response(),
    };
    let named = |name| seen.headers.get(name).cloned().unwrap_or(HeaderValue::from_static(""));
    let methods = named(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = allow_these(asker, methods, named(header::ACCESS_CONTROL_REQUEST_HEADERS));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn allow_these(asker: Asker, methods: HeaderValue, names: HeaderValue) -> Response {
    let mut response = allow(StatusCode::NO_CONTENT.into_response(), asker);
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}
