//! `GET /_vestibule/health`: 200 if the store answers, 503 if not.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use vestibule_runtime::{Decision, Outcome};

use crate::state::Gate;

pub(crate) async fn health(State(gate): State<Gate>) -> Response {
    let answers = gate.store.ping().await.is_ok();
    let queues = gate.directory.queues().len();
    let status = if answers { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let store = if answers { "up" } else { "down" };
    let mut response = (status, Json(json!({ "store": store, "queues": queues }))).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A 503 says what was asked for: it is no failure to answer.
    response.extensions_mut().insert(Decision::without_queue(Outcome::Endpoint));
    response
}
