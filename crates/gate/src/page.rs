//! The pages of the gate as responses.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use vestibule_core::settings::HOST_GAP;
use vestibule_core::{MICROS_PER_SECOND, SessionId, VisitorStatus};
use vestibule_runtime::{Decision, Outcome, Queue};
use vestibule_themes::{ErrorPage, PageView, Themes};

use crate::compression::{Compression, accepts_gzip, gzip};
use crate::endpoints::theme::theme_of;
use crate::request::RequestInfo;
use crate::respond::set_private_cache;
use crate::state::Gate;
use crate::visit::VisitResult;

/// Minimum reload interval of a page without JavaScript, in seconds.
const RELOAD_MIN: u64 = 10;

/// The queue page in the visitor's language and the brand's theme.
pub(crate) async fn queue_page(gate: &Gate, info: &RequestInfo, result: &VisitResult, status: StatusCode) -> Response {
    let queue = &result.queue;
    let nonce = nonce();
    let entered = VisitorStatus { enter_url: Some(info.path_and_query()), ..result.visitor_status.clone() };
    let (asset_base, logo) = assets(gate, queue).await;
    let (queue_name, brand_name) = names(info, queue);
    let view = PageView {
        kept_seconds: kept(gate, info, result),
        logo: logo.as_deref(),
        queue_name: &queue_name,
        brand_name: &brand_name,
        stream_url: gate.stream_url.as_deref(),
        ..view(info, result, &entered, &nonce, &asset_base)
    };
    let body = gate.themes.queue_page(queue.settings.theme.as_ref(), &view).await;
    html(info, status, &nonce, body)
}

/// The page in place of a response of the origin. It reloads itself, which renews the visitor's session.
pub(crate) async fn error_page(
    gate: &Gate,
    info: &RequestInfo,
    result: &VisitResult,
    status: StatusCode,
    page: ErrorPage,
) -> Response {
    let queue = &result.queue;
    let nonce = nonce();
    let (asset_base, logo) = assets(gate, queue).await;
    let (queue_name, brand_name) = names(info, queue);
    let line = &queue.settings.line;
    let session_left = result.admitted.map(|_| result.visitor_status.expires_in.unwrap_or(line.active_ttl));
    let view = PageView {
        refresh_seconds: if info.method == Method::GET { ErrorPage::RETRY_SECONDS } else { 0 },
        kept_seconds: session_left,
        logo: logo.as_deref(),
        queue_name: &queue_name,
        brand_name: &brand_name,
        ..view(info, result, &result.visitor_status, &nonce, &asset_base)
    };
    let body = gate.themes.error_page(queue.settings.theme.as_ref(), page, &view).await;
    html(info, status, &nonce, body)
}

/// The names of the queue and of the brand for this host.
fn names(info: &RequestInfo, queue: &Queue) -> (String, String) {
    let named = |name: &str| name.replace(HOST_GAP, info.host.as_deref().unwrap_or_default());
    (named(&queue.settings.name), queue.tenant.as_ref().map_or_else(String::new, |tenant| named(&tenant.name)))
}

fn view<'a>(
    info: &RequestInfo,
    result: &'a VisitResult,
    visitor_status: &'a VisitorStatus,
    nonce: &'a str,
    asset_base: &'a str,
) -> PageView<'a> {
    let Queue { settings, tenant, .. } = &*result.queue;
    PageView {
        visitor_status,
        queue_name: &settings.name,
        brand_name: tenant.as_ref().map_or("", |tenant| &tenant.name),
        color: tenant.as_ref().and_then(|tenant| tenant.color.as_ref()?.parse().ok()),
        logo: None,
        language: info.languages().page,
        nonce,
        asset_base,
        refresh_seconds: refresh_seconds(visitor_status.poll_after, settings.line.waiting_ttl),
        hold_seconds: settings.line.hold_ttl,
        kept_seconds: None,
        stream_url: None,
    }
}

/// A reload costs more than a poll, so it is rarer, but frequent enough to renew the session.
fn refresh_seconds(poll_after: u64, waiting_ttl: u64) -> u64 {
    poll_after.max(RELOAD_MIN.min(waiting_ttl / 2)).max(1)
}

/// Seconds for which the ticket holds the position of a visitor who cannot join now.
fn kept(gate: &Gate, info: &RequestInfo, result: &VisitResult) -> Option<u64> {
    let settings = &result.queue.settings;
    if result.visitor_status.session.is_some() && !matches!(result.outcome, Outcome::Unavailable | Outcome::Lobby) {
        return Some(settings.line.hold_ttl);
    }
    let ticket = info.ticket(&result.queue, &gate.tickets)?;
    let age = result.now.since(ticket.signed_at()) / MICROS_PER_SECOND;
    let holds = ticket.epoch() == settings.line.epoch && ticket.admitted_at().is_none();
    settings.line.hold_ttl.checked_sub(age).filter(|left| holds && *left > 0)
}

/// The base path of the queue's assets, and the tenant's logo if the theme has that file. Without it the page shows the
/// name of the brand.
async fn assets(gate: &Gate, queue: &Queue) -> (String, Option<String>) {
    let base = format!("/_vestibule/theme/{}/", queue.settings.id);
    let logo = match (queue.tenant.as_ref().and_then(|tenant| tenant.logo.as_ref()), theme_of(queue)) {
        (Some(logo), Some(theme)) if gate.themes.has_asset(&theme, logo).await => Some(format!("{base}{logo}")),
        _ => None,
    };
    (base, logo)
}

/// A page without a queue.
pub(crate) fn plain_page(info: &RequestInfo, status: StatusCode, page: ErrorPage) -> Response {
    let nonce = nonce();
    let body = Themes::plain_page(page, info.languages().page, &nonce);
    html(info, status, &nonce, body)
}

/// The page while the queues are not loaded yet. It reloads itself.
pub(crate) fn unavailable_page(info: &RequestInfo, status: StatusCode) -> Response {
    let mut response = plain_page(info, status, ErrorPage::Unavailable);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(ErrorPage::RETRY_SECONDS));
    response.extensions_mut().insert(Decision::without_queue(Outcome::Unavailable));
    response
}

/// A random value that allows the styles of this response only.
fn nonce() -> String {
    SessionId::random().to_string().replace('-', "")
}

fn html(info: &RequestInfo, status: StatusCode, nonce: &str, body: String) -> Response {
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}' 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; \
         font-src 'self'; media-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    // The fastest level: pages are small, and browsers without JavaScript poll with them.
    let compressed = accepts_gzip(&info.headers).then(|| gzip(body.as_bytes(), Compression::fast())).flatten();
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
    set_private_cache(headers);
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
    fn pages_without_script_reload_every_ten_seconds_or_later() {
        assert_eq!(refresh_seconds(2, 60), 10);
        assert_eq!(refresh_seconds(20, 60), 20);
        assert_eq!(refresh_seconds(1, 6), 3, "within half of a short waiting_ttl");
    }
}
