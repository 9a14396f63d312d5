//! `/_vestibule/queue.js` and `/_vestibule/keepalive.js`.

use axum::extract::{RawQuery, Request};
use axum::response::Response;
use vestibule_themes::{keepalive_script, queue_script};

use super::theme::serve_asset;

/// The queue page's script. Pages name it with its hash, so it may be kept for good under that address.
pub(crate) async fn queue_js(RawQuery(query): RawQuery, request: Request) -> Response {
    serve_asset(queue_script(), query.is_some_and(|query| query.starts_with("v=")), &request)
}

/// The script that a site embeds.
pub(crate) async fn keepalive_js(request: Request) -> Response {
    serve_asset(keepalive_script(), false, &request)
}
