//! `/_vestibule/queue.js` and `/_vestibule/keepalive.js`.

use std::sync::LazyLock;

use axum::extract::{RawQuery, Request};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, header};
use vestibule_themes::{Asset, keepalive_script, queue_script, queue_script_version};

use super::theme::serve_asset;
use crate::compression::{Compression, accepts_gzip, gzip};

static QUEUE: LazyLock<Asset> = LazyLock::new(|| compressed(queue_script()));
static KEEPALIVE: LazyLock<Asset> = LazyLock::new(|| compressed(keepalive_script()));

/// The queue page's script. Pages name it with its hash, so it may be kept for good under that address. While gates of two versions
/// run, a page of one may get it from the other, whose script it must not keep.
pub(crate) async fn queue_js(RawQuery(query): RawQuery, request: Request) -> Response {
    let is_named = query.is_some_and(|query| query.strip_prefix("v=") == Some(queue_script_version()));
    serve_script(queue_script(), &QUEUE, is_named, &request)
}

/// The script that a site embeds.
pub(crate) async fn keepalive_js(request: Request) -> Response {
    serve_script(keepalive_script(), &KEEPALIVE, false, &request)
}

/// Compressed once, as small as it gets. The tag is weak, since the bytes differ from those of the plain one.
fn compressed(script: &Asset) -> Asset {
    let bytes = gzip(&script.bytes, Compression::best()).map_or_else(|| script.bytes.clone(), Bytes::from);
    Asset { bytes, etag: format!("W/{}", script.etag), ..script.clone() }
}

fn serve_script(plain: &Asset, compressed: &Asset, immutable: bool, request: &Request) -> Response {
    let gzipped = accepts_gzip(request.headers());
    let mut response = serve_asset(if gzipped { compressed } else { plain }, immutable, request.headers());
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if gzipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}
