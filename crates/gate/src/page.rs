//! The queue page as an answer.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use vestibule_core::settings::HOST_GAP;
use vestibule_core::{MICROS_PER_SECOND, SessionId, VisitorStatus};
use vestibule_http::{Decision, Outcome, Queue};
use vestibule_themes::{PageView, PlainPage, Themes, negotiate};

use crate::answer::{give_ticket, personal};
use crate::compress::{Compression, accepts_gzip, gzip};
use crate::own::theme::theme_of;
use crate::request::Seen;
use crate::state::Gate;
use crate::visit::Served;

/// Seconds after which a page without JavaScript loads itself again, at least.
const RELOAD_MIN: u64 = 10;

/// The queue page, in the visitor's language and the brand's theme.
pub(crate) async fn queue_page(gate: &Gate, seen: &Seen, served: &Served, status: StatusCode) -> Response {
    let queue = &served.queue;
    let nonce = nonce();
    let entered = VisitorStatus { enter_url: Some(seen.path_and_query()), ..served.visitor_status.clone() };
    let (asset_base, logo) = assets(gate, queue).await;
    let (queue_name, brand_name) = names(seen, queue);
    let view = PageView {
        kept_seconds: kept(gate, seen, served),
        logo: logo.as_deref(),
        queue_name: &queue_name,
        brand_name: &brand_name,
        ..view(seen, served, &entered, &nonce, &asset_base)
    };
    let body = gate.themes.queue_page(queue.settings.theme.as_ref(), &view).await;
    let mut response = html(seen, status, &nonce, body);
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, served.retry_after());
    give_ticket(headers, seen, served);
    response
}

/// The page in place of a site that gives no answer to show. It loads itself again, which renews the visitor's session.
pub(crate) async fn error_page(
    gate: &Gate,
    seen: &Seen,
    served: &Served,
    status: StatusCode,
    page: PlainPage,
) -> Response {
    let queue = &served.queue;
    let nonce = nonce();
    let (asset_base, logo) = assets(gate, queue).await;
    let (queue_name, brand_name) = names(seen, queue);
    let line = &queue.settings.line;
    let session_left = served.admitted.map(|_| served.visitor_status.expires_in.unwrap_or(line.active_ttl));
    let view = PageView {
        refresh_seconds: if seen.method == Method::GET { PlainPage::RETRY_SECONDS } else { 0 },
        kept_seconds: session_left,
        logo: logo.as_deref(),
        queue_name: &queue_name,
        brand_name: &brand_name,
        ..view(seen, served, &served.visitor_status, &nonce, &asset_base)
    };
    let body = gate.themes.error_page(queue.settings.theme.as_ref(), page, &view).await;
    let mut response = html(seen, status, &nonce, body);
    if page.retries() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(PlainPage::RETRY_SECONDS));
    }
    response
}

/// The names of the queue and of the brand, as this visitor reads them.
fn names(seen: &Seen, queue: &Queue) -> (String, String) {
    let named = |name: &str| name.replace(HOST_GAP, seen.host.as_deref().unwrap_or_default());
    (named(&queue.settings.name), queue.tenant.as_ref().map_or_else(String::new, |tenant| named(&tenant.name)))
}

fn view<'a>(
    seen: &Seen,
    served: &'a Served,
    visitor_status: &'a VisitorStatus,
    nonce: &'a str,
    asset_base: &'a str,
) -> PageView<'a> {
    let Queue { settings, tenant, .. } = &*served.queue;
    PageView {
        visitor_status,
        queue_name: &settings.name,
        brand_name: tenant.as_ref().map_or("", |tenant| &tenant.name),
        colour: tenant.as_ref().and_then(|tenant| tenant.colour.as_ref()?.parse().ok()),
        logo: None,
        language: negotiate(seen.header("accept-language")),
        nonce,
        asset_base,
        refresh_seconds: refresh_seconds(visitor_status.poll_after, settings.line.waiting_ttl),
        hold_seconds: settings.line.hold_ttl,
        claim_seconds: settings.line.claim_ttl,
        kept_seconds: None,
    }
}

/// A reload costs more than a poll, so it comes less often, but often enough to stay present.
fn refresh_seconds(poll_after: u64, waiting_ttl: u64) -> u64 {
    poll_after.max(RELOAD_MIN.min(waiting_ttl / 2)).max(1)
}

/// For how long the ticket of a visitor who can't join now holds their position.
fn kept(gate: &Gate, seen: &Seen, served: &Served) -> Option<u64> {
    let settings = &served.queue.settings;
    if served.visitor_status.session.is_some() && served.outcome != Outcome::Unavailable {
        return Some(settings.line.hold_ttl);
    }
    let ticket = Served::ticket_of(gate, seen, &served.queue)?;
    let age = served.now.since(ticket.signed_at()) / MICROS_PER_SECOND;
    let holds = ticket.epoch() == settings.line.epoch && ticket.admitted_at().is_none();
    settings.line.hold_ttl.checked_sub(age).filter(|left| holds && *left > 0)
}

/// Where the queue's assets are, and its tenant's logo, if the queue's theme has that file: without it the page shows the
/// brand's name, not a broken image.
async fn assets(gate: &Gate, queue: &Queue) -> (String, Option<String>) {
    let base = format!("/_vestibule/theme/{}/", queue.settings.id);
    let logo = match (queue.tenant.as_ref().and_then(|tenant| tenant.logo.as_ref()), theme_of(queue)) {
        (Some(logo), Some(theme)) if gate.themes.has_asset(&theme, logo).await => Some(format!("{base}{logo}")),
        _ => None,
    };
    (base, logo)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_script_reload_every_ten_seconds_at_most() {
        assert_eq!(refresh_seconds(2, 60), 10);
        assert_eq!(refresh_seconds(20, 60), 20);
        assert_eq!(refresh_seconds(1, 6), 3, "a short waiting_ttl would end meanwhile");
    }
}
