//! `GET /_vestibule/theme/<queue>/<path>`: an asset of a theme, with `ETag`. Exempt from admission control, because the
//! queue page needs it.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use vestibule_themes::{Asset, ThemeStorageUnavailable};

use super::find_queue;
use crate::error::GateError;
use crate::page::theme_of;
use crate::request::RequestInfo;
use crate::state::Gate;

/// `Retry-After` in seconds while themes are unavailable.
const RETRY_SECONDS: u64 = 2;

pub(crate) async fn asset(
    State(gate): State<Gate>,
    Path((queue, path)): Path<(String, String)>,
    info: RequestInfo,
) -> Result<Response, GateError> {
    // A script is same-origin on the host that serves it, so it is not served on hosts of other tenants.
    let queue = find_queue(&gate, &info, Some(&queue)).await?;
    let theme = theme_of(&queue).ok_or(GateError::NotFound)?;
    match gate.themes.asset(&theme, &path).await {
        Ok(asset) => {
            let asset = asset.ok_or(GateError::NotFound)?;
            Ok(serve_asset(&asset, asset.immutable, &info.headers))
        }
        Err(ThemeStorageUnavailable) => Ok(away()),
    }
}

/// 503 that is never cached.
fn away() -> Response {
    let headers = [
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (header::RETRY_AFTER, HeaderValue::from(RETRY_SECONDS)),
    ];
    (StatusCode::SERVICE_UNAVAILABLE, headers).into_response()
}

/// Serves an asset, with 304 if the client has it.
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
    // An SVG image that is opened directly must not run scripts.
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

/// Whether the client has the version with this `ETag`.
pub(super) fn has_it(headers: &HeaderMap, etag: &str) -> bool {
    let listed = headers.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|value| value.to_str().ok());
    listed
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag.trim_start_matches("W/"))
}
