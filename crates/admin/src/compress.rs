//! Answers are compressed for whoever takes that: a load balancer takes 1 MB of a function, and the settings of a
//! thousand queues are more.

use std::io::Write as _;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, Method};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;

/// Fewest bytes that are worth it.
const LEAST: u64 = 1024;

/// Compresses what is text, is all there already, and is not small. A stream is left as it is.
pub(crate) async fn compress(request: Request, next: Next) -> Response {
    let wanted = accepts_gzip(request.headers()) && request.method() != Method::HEAD;
    let mut response = next.run(request).await;
    let size = response.body().size_hint().exact();
    if size.is_none_or(|size| size < LEAST) || !is_text(response.headers()) {
        return response;
    }
    response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    if !wanted {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(body) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return Response::from_parts(parts, Body::empty());
    };
    match gzip(&body) {
        Some(compressed) => {
            parts.headers.remove(CONTENT_LENGTH);
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            Response::from_parts(parts, compressed.into())
        }
        None => Response::from_parts(parts, body.into()),
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let refused = |coding: &str| coding.split(';').nth(1).is_some_and(|q| q.trim() == "q=0");
    let offered = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    offered.split(',').map(str::trim).any(|coding| coding.split(';').next() == Some("gzip") && !refused(coding))
}

fn is_text(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default();
    let texts = ["application/json", "application/toml", "application/manifest+json", "image/svg+xml"];
    essence.starts_with("text/") || texts.contains(&essence)
}

fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::default());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}
