//! The frame that shows previews in the dashboard. Its script inserts the pages that the dashboard sends, and nothing in
//! them runs, loads or reaches anything.

use std::sync::LazyLock;

use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS};
use sha2::{Digest, Sha256};

use crate::secret::random_hex;

/// Route of the page.
pub(crate) const PREVIEW_FRAME: &str = "/preview-frame";
const SCRIPT: &str = include_str!("frame.js");

/// Only the page's own script runs, by its hash. The page has no origin, so it cannot reach the backoffice. It loads only
/// the files that the script provides.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; img-src blob: data:; font-src blob: data:; media-src blob:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
    )
});

/// Returns the page. Only the nonce of its styles differs.
pub(crate) async fn preview_frame() -> Response {
    let nonce = random_hex::<16>();
    let page = format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><title>Preview</title><style nonce=\"{nonce}\"></style></head>\
         <body><script>{SCRIPT}</script></body></html>\n"
    );
    let policy = format!("{}; style-src 'nonce-{nonce}' blob:", *POLICY);
    ([(CONTENT_SECURITY_POLICY, policy), (X_FRAME_OPTIONS, "SAMEORIGIN".to_owned())], Html(page)).into_response()
}
