//! CORS on the own endpoints: the queue's hosts and its handover origin, with credentials, nobody else.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};
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
    let own = settings.handover.origin.as_ref() == Some(&origin);
    let named = settings.hosts.iter().any(|host| {
        // Every host: then only the very host that was asked is a page of this site.
        let any = *host == vestibule_core::settings::HostPattern::Any;
        if any { seen.host.as_deref() == Some(origin.host()) } else { host.matches(origin.host()) }
    });
    if own || named { Ok(Asker::Welcome(value.clone())) } else { Err(ApiError::ForeignOrigin) }
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

/// Answers a preflight of a welcome page.
pub(crate) fn allow_preflight(response: Response, asker: Asker) -> Response {
    let mut response = allow(response, asker);
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    let allowed = HeaderValue::from_static("content-type, x-vestibule-ticket");
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}
