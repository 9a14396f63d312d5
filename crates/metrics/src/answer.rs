//! `GET /metrics`.

use std::io::Write as _;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prometheus::TextEncoder;
use tracing::error;
use vestibule_runtime::Problem;

use crate::MetricsState;

/// The text format of Prometheus.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn metrics(State(state): State<MetricsState>, headers: HeaderMap) -> Response {
    if !state.token.is_in(&headers) {
        return unauthorized();
    }
    match TextEncoder::new().encode_to_string(&state.metrics.families().await) {
        Ok(text) => found(&headers, text),
        Err(error) => {
            error!(%error, "the metrics could not be encoded");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "The metrics could not be encoded.")
                .into_response()
        }
    }
}

/// A thousand queues are four megabytes of text, a twentieth of that compressed, and an answer of a function behind a
/// load balancer has one megabyte at most.
fn found(headers: &HeaderMap, text: String) -> Response {
    let mut answer = match accepts_gzip(headers).then(|| gzip(text.as_bytes())).flatten() {
        Some(compressed) => ([(header::CONTENT_ENCODING, "gzip")], compressed).into_response(),
        None => text.into_response(),
    };
    let fields = answer.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(TEXT));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    fields.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    answer
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let refused = |coding: &str| coding.split(';').nth(1).is_some_and(|q| q.trim() == "q=0");
    let offered = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    offered.split(',').map(str::trim).any(|coding| coding.split(';').next() == Some("gzip") && !refused(coding))
}

/// How hard it is tried: a scrape is rare, and large where there are many queues.
const LEVEL: Compression = Compression::new(6);

fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 16), LEVEL);
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

fn unauthorized() -> Response {
    let message = "Authentication required. Send the metrics token as \"Authorization: Bearer {token}\".";
    let mut answer = Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", message).into_response();
    let challenge = HeaderValue::from_static("Bearer realm=\"vestibule metrics\"");
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    answer
}
