//! `GET /_vestibule/jwks.json`: the public keys that passes are verified with.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, header};

use crate::state::Gate;

pub(crate) async fn jwks(State(gate): State<Gate>) -> Response {
    let mut response = Json(gate.passes.jwks()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}
