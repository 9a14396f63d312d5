//! The queue page as an answer.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use vestibule_core::{SessionId, Standing};
use vestibule_http::{Decision, Outcome, Queue};
use vestibule_themes::{PageView, PlainPage, Themes, negotiate};

use crate::answer::{give_ticket, personal};
use crate::compress::{Compression, accepts_gzip, gzip};
use crate::request::Seen;
use crate::state::Gate;
use crate::visit::Served;

/// The queue page, in the visitor's language and the brand's theme.
pub(crate) async fn queue_page(gate: &Gate, seen: &Seen, served: &Served, status: StatusCode) -> Response {
    let queue = &served.queue;
    let nonce = nonce();
    let entered = Standing { enter_url: Some(seen.path_and_query()), ..served.standing.clone() };
    let asset_base = format!("/_vestibule/theme/{}/", queue.settings.id);
    let logo = logo(queue, &asset_base);
    let view = PageView {
        standing: &entered,
        queue_name: &queue.settings.name,
        brand_name: queue.tenant.as_ref().map_or("", |tenant| &tenant.name),
        colour: queue.tenant.as_ref().and_then(|tenant| tenant.colour.as_ref()?.parse().ok()),
        logo: logo.as_deref(),
        language: negotiate(seen.header("accept-language")),
        nonce: &nonce,
        asset_base: &asset_base,
        refresh_seconds: served.standing.poll_after,
        hold_seconds: queue.settings.line.hold_ttl,
    };
    let body = gate.themes.queue_page(queue.settings.theme.as_ref(), &view).await;
    let mut response = html(seen, status, &nonce, body);
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, served.retry_after());
    give_ticket(headers, seen, served);
    response
}

fn logo(queue: &Queue, asset_base: &str) -> Option<String> {
    let logo = queue.tenant.as_ref()?.logo.as_ref()?;
    Some(format!("{asset_base}{logo}"))
}

/// A page that says one thing.
pub(crate) fn plain_page(seen: &Seen, status: StatusCode, page: PlainPage) -> Response {
    let nonce = nonce();
    let body = Themes::plain_page(page, negotiate(seen.header("accept-language")), &nonce);
    html(seen, status, &nonce, body)
}

/// Nobody knows yet which queue there is, as the store gives no answer. The page loads itself again until it does.
pub(crate) fn unavailable_page(seen: &Seen, status: StatusCode) -> Response {
    let mut response = plain_page(seen, status, PlainPage::Unavailable);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(PlainPage::RETRY_SECONDS));
    response.extensions_mut().insert(Decision::without_queue(Outcome::Unavailable));
    response
}

/// A fresh random value that allows this answer's own styles, and no others.
fn nonce() -> String {
    SessionId::random().to_string().replace('-', "")
}

fn html(seen: &Seen, status: StatusCode, nonce: &str, body: String) -> Response {
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}' 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; \
         font-src 'self'; media-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    // The fastest level: pages are small, and a poll of a browser without JavaScript is one.
    let compressed = accepts_gzip(&seen.headers).then(|| gzip(body.as_bytes(), Compression::fast())).flatten();
    let mut response = match compressed {
        Some(bytes) => {
            let mut response = Body::from(bytes).into_response();
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        }
        None => Body::from(body).into_response(),
    };
    *response.status_mut() = status;
    let headers = response.headers_mut();
    personal(headers);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding, accept-language, cookie"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}
