//! The page that draws previews in the dashboard: its own script puts there what the dashboard hands over, and keeps from
//! running, loading or reaching anything whatever a theme's author wrote.

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

/// The page's own script alone is run, and known by its hash. What is drawn has no origin, so nothing of the backoffice is
/// within its reach; it loads what the script made of the theme's files, and nothing from anywhere.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; img-src blob: data:; font-src blob: data:; media-src blob:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
    )
});

/// Answers the page. It is the same for everybody, but for the nonce of its styles.
pub(crate) async fn preview_frame() -> Response {
    let nonce = random_hex::<16>();
    let page = format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><title>Preview</title><style nonce=\"{nonce}\"></style></head>\
         <body><script>{SCRIPT}</script></body></html>\n"
    );
    let policy = format!("{}; style-src 'nonce-{nonce}' blob:", *POLICY);
    ([(CONTENT_SECURITY_POLICY, policy), (X_FRAME_OPTIONS, "SAMEORIGIN".to_owned())], Html(page)).into_response()
}
