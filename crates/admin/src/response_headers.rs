//! Request IDs and security headers. A request ID is the client's or a new one; the logs and the response contain it.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use vestibule_runtime::request_origin;

use crate::secret::random_hex;
use crate::state::Admin;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The request ID of an AWS load balancer.
const TRACE_ID: HeaderName = HeaderName::from_static("x-amzn-trace-id");
/// Browsers use https only, for a year after the last response.
const HSTS: &str = "max-age=31536000";
/// Maximum length of a client's request ID.
const LONGEST: usize = 128;
/// Bytes of a new request ID.
const BYTES: usize = 8;

/// The id of a request.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

impl RequestId {
    fn of(headers: &HeaderMap) -> Self {
        let given = [REQUEST_ID, TRACE_ID].iter().find_map(|name| headers.get(name)?.to_str().ok());
        let fits = |text: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=;:./+".contains(&byte);
            !text.is_empty() && text.len() <= LONGEST && text.bytes().all(plain)
        };
        Self(given.filter(fits).map_or_else(random_hex::<BYTES>, str::to_owned))
    }
}

/// Sets the request ID and the security headers. Over https that includes HSTS: the cookie of a sign-in must never be sent
/// over plain http.
pub(crate) async fn set_security_headers(State(admin): State<Admin>, mut request: Request, next: Next) -> Response {
    let https = request_origin(request.headers(), None, admin.trusted_proxies).https;
    let id = RequestId::of(request.headers());
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
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
    headers.entry(header::X_FRAME_OPTIONS).or_insert(HeaderValue::from_static("DENY"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: HeaderName, value: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        RequestId::of(&headers).0
    }

    #[test]
    fn valid_request_id_is_kept() {
        assert_eq!(id(REQUEST_ID, "a1-b2"), "a1-b2");
        assert_eq!(
            id(TRACE_ID, "Root=1-67891233-abcdef012345678912345678"),
            "Root=1-67891233-abcdef012345678912345678"
        );
        for odd in ["a b", "\"x\"", "<x>", &"x".repeat(129)] {
            assert_eq!(id(REQUEST_ID, odd).len(), 2 * BYTES, "{odd}");
        }
        assert_ne!(RequestId::of(&HeaderMap::new()).0, RequestId::of(&HeaderMap::new()).0);
    }
}
