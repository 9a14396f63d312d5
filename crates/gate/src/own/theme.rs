//! `GET /_vestibule/theme/<queue>/<path>`: a theme's asset, with `ETag`. Never judged, so that the queue page's own
//! images do not stand in the line.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use vestibule_core::{QueueId, ThemeId};
use vestibule_http::{ApiError, Queue};
use vestibule_themes::{Asset, ThemesAway};

use crate::request::Seen;
use crate::state::Gate;

/// The theme of a queue that names none, as its pages have it.
const DEFAULT_THEME: &str = "default";
/// Seconds to ask again after, while themes can't be read.
const RETRY_SECONDS: u64 = 2;

pub(crate) async fn asset(
    State(gate): State<Gate>,
    Path((queue, path)): Path<(String, String)>,
    seen: Seen,
) -> Result<Response, ApiError> {
    let id: QueueId = queue.parse().map_err(|_| ApiError::NotFound)?;
    let queue = find(&gate, &id).await?;
    // A script of a theme is same-origin wherever it is served, so it is not served on another tenant's hosts.
    let is_own = |host: &str| queue.settings.hosts.iter().any(|pattern| pattern.matches(host));
    if !seen.host.as_deref().is_some_and(is_own) {
        return Err(ApiError::NotFound);
    }
    let theme = theme_of(&queue).ok_or(ApiError::NotFound)?;
    match gate.themes.asset(&theme, &path).await {
        Ok(asset) => {
            let asset = asset.ok_or(ApiError::NotFound)?;
            Ok(serve_asset(&asset, asset.immutable, &seen.headers))
        }
        Err(ThemesAway) => Ok(away()),
    }
}

/// The theme that a queue's files are taken from.
pub(crate) fn theme_of(queue: &Queue) -> Option<ThemeId> {
    queue.settings.theme.clone().or_else(|| DEFAULT_THEME.parse().ok())
}

/// The queue of this id. The first request of a process may well be for a file, so it too makes the gate look for queues.
async fn find(gate: &Gate, id: &QueueId) -> Result<Arc<Queue>, ApiError> {
    if let Some(queue) = gate.directory.queue(id) {
        return Ok(queue);
    }
    if gate.directory.is_read() {
        return Err(ApiError::NotFound);
    }
    // Looks into the index, as any host without a queue does, and no more often than those.
    gate.directory.of_host("").await;
    let missing = if gate.directory.is_read() { ApiError::NotFound } else { ApiError::NotReady };
    gate.directory.queue(id).ok_or(missing)
}

/// Whether there is such a file can't be told now, so nothing is said that anybody keeps.
fn away() -> Response {
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::RETRY_AFTER, HeaderValue::from(RETRY_SECONDS)),
    ];
    (StatusCode::SERVICE_UNAVAILABLE, headers).into_response()
}

/// An asset as an answer: 304 where the visitor has it already.
pub(super) fn serve_asset(asset: &Asset, immutable: bool, headers: &HeaderMap) -> Response {
    let mut response = if has_it(headers, &asset.etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let mut response = Body::from(asset.bytes.clone()).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
        response
    };
    let headers = response.headers_mut();
    let caching = if immutable { "public, max-age=31536000, immutable" } else { "public, max-age=300" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // An image that is opened by itself runs nothing either.
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
    );
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("cross-origin"));
    if let Ok(etag) = HeaderValue::try_from(&asset.etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}

fn has_it(headers: &HeaderMap, etag: &str) -> bool {
    let listed = headers.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|value| value.to_str().ok());
    listed
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag.trim_start_matches("W/"))
}
