//! `GET /metrics`.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prometheus::TextEncoder;
use tracing::error;
use vestibule_runtime::Problem;

use crate::state::MetricsState;

/// The text format of Prometheus.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn metrics(State(state): State<MetricsState>, headers: HeaderMap) -> Response {
    if !state.token.is_in(&headers) {
        return unauthorized();
    }
    match TextEncoder::new().encode_to_string(&state.metrics.families().await) {
        Ok(text) => found(text),
        Err(error) => {
            error!(%error, "the metrics could not be encoded");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "The metrics could not be encoded.")
                .into_response()
        }
    }
}

fn found(text: String) -> Response {
    ([(header::CONTENT_TYPE, TEXT), (header::CACHE_CONTROL, "no-store")], text).into_response()
}

fn unauthorized() -> Response {
    let message = "Authentication required. Send the metrics token as \"Authorization: Bearer {token}\".";
    let mut answer = Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", message).into_response();
    let challenge = HeaderValue::from_static("Bearer realm=\"vestibule metrics\"");
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    answer
}
