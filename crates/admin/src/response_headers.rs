//! Headers of every response: the request ID and the security headers.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderValue, header};
use vestibule_runtime::{ClientAddressSource, request_origin};

use crate::request_id::{REQUEST_ID, RequestId};
use crate::state::Admin;

/// Browsers use https only, for a year after the last response.
const HSTS: &str = "max-age=31536000";

/// Marks a page whose policy lists the sites that may frame it.
#[derive(Clone, Copy)]
pub(crate) struct FramedBySites;

/// Sets the request ID and the security headers. Over https that includes HSTS: the cookie of a sign-in must never be sent
/// over plain http.
pub(crate) async fn set_security_headers(State(admin): State<Admin>, mut request: Request, next: Next) -> Response {
    let https = request_origin(request.headers(), None, admin.trusted_proxies, &ClientAddressSource::default()).https;
    let id = RequestId::of(request.headers());
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    let is_framed = response.extensions().get::<FramedBySites>().is_some();
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        headers.insert(REQUEST_ID, value);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if https {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if !is_framed {
        headers.entry(header::X_FRAME_OPTIONS).or_insert(HeaderValue::from_static("DENY"));
    }
    response
}
