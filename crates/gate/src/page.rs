//! The pages of the gate as responses.

use std::sync::LazyLock;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use sha2::{Digest as _, Sha256};
use vestibule_core::settings::HOST_GAP;
use vestibule_core::{JoinStep, MICROS_PER_SECOND, SessionId, ThemeId, VisitorState, VisitorStatus};
use vestibule_runtime::{Decision, Outcome, Queue};
use vestibule_themes::{ErrorPage, JobPage, PageView, Themes, fallback_script, job_script, retry_script};

use crate::answer::JobReport;
use crate::cache_headers::set_private_cache;
use crate::compression::{Compression, accepts_gzip, gzip};
use crate::invitation_code::{PARAMETER, PresentedCode, clear_wrong, other_parameters};
use crate::page_cache::PageKey;
use crate::request::RequestInfo;
use crate::state::Gate;
use crate::visit_result::VisitResult;

/// Minimum reload interval of a page without JavaScript, in seconds.
const RELOAD_MIN: u64 = 10;

/// Reload interval of the page of a job without JavaScript, in seconds.
const JOB_RELOAD: u64 = 10;
/// Characters of a group of a code.
const CODE_GROUP: usize = 6;
/// The theme of queues without one.
const DEFAULT_THEME: &str = "default";

/// The theme of a queue.
pub(crate) fn theme_of(queue: &Queue) -> Option<ThemeId> {
    queue.settings.theme.clone().or_else(|| DEFAULT_THEME.parse().ok())
}

/// The queue page in the visitor's language and the brand's theme.
pub(crate) async fn queue_page(gate: &Gate, info: &RequestInfo, result: &VisitResult, status: StatusCode) -> Response {
    if is_of_first_visit(result) && !info.code_was_wrong() {
        return first_page(gate, info, result, status).await;
    }
    let queue = &result.queue;
    let nonce = nonce();
    let entered = VisitorStatus { enter_url: Some(info.path_and_query()), ..result.visitor_status.clone() };
    let parts = PageParts::of(gate, info, queue).await;
    let code_wrong = info.code_was_wrong();
    // Nobody can enter a code while the queue is closed.
    let asks_for_code =
        entered.state == VisitorState::InvitationRequired || code_wrong && entered.state != VisitorState::Closed;
    let code_fields = if asks_for_code { other_parameters(info.query.as_deref()) } else { Vec::new() };
    let invitation = info.presented.as_ref().filter(|code| code.is_in_address()).map(PresentedCode::as_pair);
    let view = PageView {
        invitation: invitation.as_deref(),
        code_wrong,
        code_fields: &code_fields,
        kept_seconds: kept(gate, info, result),
        stream_url: gate.stream_url.as_deref(),
        ..view(info, result, &entered, &nonce, &parts)
    };
    let mut body = gate.themes.queue_page(queue.settings.theme.as_ref(), &view).await;
    if asks_for_code && !body.contains(PARAMETER) {
        // The template has no form, and nobody could enter a code.
        body = Themes::built_in().queue_page(None, &view).await;
    }
    let mut response = html(info, status, &nonce, body);
    if code_wrong {
        clear_wrong(response.headers_mut(), info.origin.https);
    }
    response
}

/// Whether the visitor sees what all newcomers see who need a pre-ticket: nothing of a session or an earlier one.
fn is_of_first_visit(result: &VisitResult) -> bool {
    let status = &result.visitor_status;
    status.redeems() && status.session.is_none() && status.reason.is_none()
}

/// The queue page of a first visit.
async fn first_page(gate: &Gate, info: &RequestInfo, result: &VisitResult, status: StatusCode) -> Response {
    let queue = &result.queue;
    // Numbers of the line change all the time, and the page does not show them.
    let bare = VisitorStatus { waiting: None, active: None, ..result.visitor_status.clone() };
    let key = PageKey {
        queue: queue.settings.id.clone(),
        revision: queue.settings.line.revision,
        state: bare.state.as_str(),
        host: info.host.clone(),
        language: info.languages().page,
        message: bare.message.clone(),
    };
    let render = async || {
        let parts = PageParts::of(gate, info, queue).await;
        let view = PageView { stream_url: gate.stream_url.as_deref(), ..view(info, result, &bare, "", &parts) };
        gate.themes.queue_page(queue.settings.theme.as_ref(), &view).await
    };
    let page = gate.first_pages.page(key, render).await;
    let gzipped = page.gzipped.clone().filter(|_| accepts_gzip(&info.headers));
    let is_gzipped = gzipped.is_some();
    html_response(status, &page.style_sources, gzipped.unwrap_or_else(|| page.body.clone()), is_gzipped)
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
    let parts = PageParts::of(gate, info, queue).await;
    let line = &queue.settings.line;
    let session_left = result.admitted.map(|_| result.visitor_status.expires_in.unwrap_or(line.active_ttl));
    let view = PageView {
        refresh_seconds: match info.method {
            Method::GET if page.is_rejection() => result.visitor_status.poll_after,
            Method::GET => ErrorPage::RETRY_SECONDS,
            _ => 0,
        },
        kept_seconds: session_left,
        ..view(info, result, &result.visitor_status, &nonce, &parts)
    };
    let body = gate.themes.error_page(queue.settings.theme.as_ref(), page, status.as_u16(), &view).await;
    html(info, status, &nonce, body)
}

/// The page of a job that the visitor follows. While the job runs it asks for its state, and renews the visitor's session.
pub(crate) async fn job_page(
    gate: &Gate,
    info: &RequestInfo,
    result: &VisitResult,
    status: StatusCode,
    report: JobReport,
) -> Response {
    let JobReport { news, job, url, job_queue, details, .. } = report;
    let queue = &result.queue;
    let nonce = nonce();
    let parts = PageParts::of(gate, info, queue).await;
    let view = PageView {
        refresh_seconds: if news.is_running() { JOB_RELOAD } else { 0 },
        ..view(info, result, &result.visitor_status, &nonce, &parts)
    };
    let code = job.map(|job| in_groups(&job.to_string())).unwrap_or_default();
    let status_url = job_queue.zip(job).map(|(job_queue, job)| format!("/_vestibule/jobs/{job_queue}/{job}"));
    let (url, status_url) = (url.as_deref(), status_url.as_deref());
    let page = JobPage { news, code: &code, url, status_url, details: &details };
    let body = gate.themes.job_page(queue.settings.theme.as_ref(), &page, &view).await;
    // A theme whose page does not update by itself.
    let is_static = !body.contains(job_script());
    let mut response = html(info, status, &nonce, body);
    if news.is_running() && is_static {
        response.headers_mut().insert(header::REFRESH, HeaderValue::from(JOB_RELOAD));
    }
    response
}

/// A code in groups that people can read to each other.
fn in_groups(code: &str) -> String {
    let groups: Vec<&str> =
        code.as_bytes().chunks(CODE_GROUP).filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join("-")
}

/// What a page shows of its queue and its brand.
struct PageParts {
    /// The base path of the queue's assets.
    asset_base: String,
    /// The tenant's logo, if the theme has that file. Without it the page shows the name of the brand.
    logo: Option<String>,
    queue_name: String,
    brand_name: String,
}

impl PageParts {
    /// Those of this queue, for the host of the request.
    async fn of(gate: &Gate, info: &RequestInfo, queue: &Queue) -> Self {
        let asset_base = format!("/_vestibule/theme/{}/", queue.settings.id);
        let logo = match (queue.tenant.as_ref().and_then(|tenant| tenant.logo.as_ref()), theme_of(queue)) {
            (Some(logo), Some(theme)) if gate.themes.has_asset(&theme, logo).await => {
                Some(format!("{asset_base}{logo}"))
            }
            _ => None,
        };
        let named = |name: &str| name.replace(HOST_GAP, info.host.as_deref().unwrap_or_default());
        let queue_name = named(&queue.settings.name);
        let brand_name = queue.tenant.as_ref().map_or_else(String::new, |tenant| named(&tenant.name));
        Self { asset_base, logo, queue_name, brand_name }
    }
}

fn view<'a>(
    info: &RequestInfo,
    result: &'a VisitResult,
    visitor_status: &'a VisitorStatus,
    nonce: &'a str,
    parts: &'a PageParts,
) -> PageView<'a> {
    let Queue { settings, tenant, .. } = &*result.queue;
    PageView {
        queue_name: &parts.queue_name,
        brand_name: &parts.brand_name,
        color: tenant.as_ref().and_then(|tenant| tenant.color.as_ref()?.parse().ok()),
        logo: parts.logo.as_deref(),
        language: info.languages().page,
        refresh_seconds: match &visitor_status.join {
            Some(JoinStep::Redeem { retry_after }) => *retry_after,
            Some(JoinStep::Prove { delayed_after, .. }) => *delayed_after,
            Some(JoinStep::RetryLater { .. } | JoinStep::SignIn { .. }) | None => {
                refresh_seconds(visitor_status.poll_after, settings.line.waiting_ttl)
            }
        },
        hold_seconds: settings.line.hold_ttl,
        ..PageView::new(visitor_status, nonce, &parts.asset_base)
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

/// A page without a queue. The script of the page gets the same status in the background.
pub(crate) fn plain_page(info: &RequestInfo, status: StatusCode, page: ErrorPage) -> Response {
    watched_page(info, status, page, status)
}

/// A page without a queue, whose script gets the status `in_background` for the same request.
fn watched_page(info: &RequestInfo, status: StatusCode, page: ErrorPage, in_background: StatusCode) -> Response {
    let nonce = nonce();
    let watched = (info.method == Method::GET).then_some(in_background.as_u16());
    html(info, status, &nonce, Themes::plain_page(page, info.languages().page, &nonce, watched))
}

/// The page while the queues are not loaded yet. It reloads itself once its script gets another status than this one in the background.
pub(crate) fn unavailable_page(info: &RequestInfo, status: StatusCode, in_background: StatusCode) -> Response {
    let mut response = watched_page(info, status, ErrorPage::Unavailable, in_background);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(ErrorPage::RETRY_SECONDS));
    response.extensions_mut().insert(Decision::without_queue(Outcome::Unavailable));
    response
}

/// A random value that allows the styles of this response only.
fn nonce() -> String {
    SessionId::random().to_string().replace('-', "")
}

fn html(info: &RequestInfo, status: StatusCode, nonce: &str, body: String) -> Response {
    // The fastest level: pages are small, and browsers without JavaScript poll with them.
    let compressed = accepts_gzip(&info.headers).then(|| gzip(body.as_bytes(), Compression::fast())).flatten();
    let is_gzipped = compressed.is_some();
    let body = compressed.map_or_else(|| body.into(), Bytes::from);
    html_response(status, &format!("'nonce-{nonce}'"), body, is_gzipped)
}

/// The sources that allow the inline scripts of all pages.
static INLINE: LazyLock<String> = LazyLock::new(|| {
    let hashes =
        [fallback_script(), retry_script(), job_script()].map(|script| STANDARD.encode(Sha256::digest(script)));
    hashes.map(|hash| format!("'sha256-{hash}'")).join(" ")
});

/// A page whose inline styles have these sources.
fn html_response(status: StatusCode, style_sources: &str, body: Bytes, is_gzipped: bool) -> Response {
    let inline = &*INLINE;
    let policy = format!(
        "default-src 'none'; style-src {style_sources} 'self'; script-src 'self' {inline}; connect-src 'self'; img-src 'self' data:; \
         font-src 'self'; media-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    );
    let mut response = Body::from(body).into_response();
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if is_gzipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
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
