//! `/_vestibule/check`: forward authentication for nginx, Traefik, Caddy and Envoy. The proxy describes the original
//! request by `X-Forwarded-Host`, `-Uri` and `-Method`, or by `X-Original-URL` and `X-Original-Method`.

use axum::extract::State;
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use vestibule_core::settings::{Preflights, normalize_host};
use vestibule_runtime::{Queue, forwarded_schemes, is_secure_scheme};

use super::QueryParams;
use crate::answer::{Answer, PassDelivery, Reply};
use crate::decide::{QueueMatch, decide_visit, match_queue};
use crate::error::GateError;
use crate::invitation::answer_link;
use crate::invitation_code::PresentedCode;
use crate::page::unavailable_page;
use crate::request::RequestInfo;
use crate::respond::{respond, set_location};
use crate::state::Gate;
use crate::visit::bypassed;
use crate::visit_result::VisitResult;

/// How the proxy wants the response.
#[derive(Debug, Deserialize)]
pub(crate) struct CheckParams {
    /// `page=true`: the 401 for a waiting page view has the queue page as its body, for proxies that pass it on.
    #[serde(default)]
    page: bool,
}

pub(crate) async fn check(
    State(gate): State<Gate>,
    QueryParams(params): QueryParams<CheckParams>,
    info: RequestInfo,
) -> Result<Response, GateError> {
    let info = original_request(info)?;
    let visit = match match_queue(&gate, &info).await {
        Ok(QueueMatch::Bypassed(queue)) => bypassed(&gate, queue),
        Ok(QueueMatch::Queued(queue)) if is_forwarded_preflight(&info, &queue) => bypassed(&gate, queue),
        Ok(QueueMatch::Queued(queue)) => {
            // The proxy passes the response on, also one with another address.
            if params.page
                && let Some(answer) = answer_link(&gate, &info, &queue, StatusCode::UNAUTHORIZED).await
            {
                return Ok(respond(&gate, &info, answer).await);
            }
            decide_visit(&gate, &info, queue).await
        }
        Err(GateError::QueuesNotLoaded) => return Ok(queues_not_loaded(&info, params.page)),
        // nginx takes any error but 401 and 403 for a fault.
        Err(error @ GateError::AmbiguousPath) => return Ok(error.into_response_with(StatusCode::FORBIDDEN)),
        Err(error) => return Err(error),
    };
    let answer = if visit.passes {
        Answer::new(visit, Reply::Empty(StatusCode::OK)).with_pass(PassDelivery::Header)
    } else {
        deny(&info, visit, params.page)
    };
    Ok(respond(&gate, &info, answer).await)
}

/// Whether the queue forwards this preflight. The proxy forwards it with all its headers, so it must have none but those
/// of a preflight.
fn is_forwarded_preflight(info: &RequestInfo, queue: &Queue) -> bool {
    let forwards = queue.settings.handover.preflights == Preflights::Forward;
    forwards && info.is_preflight() && !info.exceeds_preflight()
}

/// The request that the proxy describes. A proxy forwards headers that it does not set, so the visitor may have written
/// one of two headers with the same meaning. Both must agree.
fn original_request(mut info: RequestInfo) -> Result<RequestInfo, GateError> {
    let original = header_text(&info, "X-Original-URL")?.map(|url| OriginalTarget::read(&url));
    let forwarded = header_text(&info, "X-Forwarded-Uri")?.map(|uri| OriginalTarget::read(&uri));
    if let Some(https) = original_scheme(&info, original.as_ref())? {
        info.set_https(https);
    }
    let named = header_text(&info, "X-Forwarded-Host")?;
    let in_url = original.as_ref().and_then(|target| target.authority.clone());
    if let (Some(one), Some(other)) = (&named, &in_url)
        && normalize_host(one) != normalize_host(other)
    {
        return Err(GateError::ConflictingHeaders("X-Original-URL and X-Forwarded-Host"));
    }
    if let Some(authority) = named.or(in_url) {
        info.host = normalize_host(&authority);
        info.authority = authority;
    }
    let path_and_query = |target: &OriginalTarget| (target.path.clone(), target.query.clone());
    let (original, forwarded) = (original.as_ref().map(path_and_query), forwarded.as_ref().map(path_and_query));
    let target = require_equal("X-Original-URL and X-Forwarded-Uri", original, forwarded)?;
    (info.path, info.query) = target.unwrap_or_else(|| ("/".to_owned(), None));
    info.take_code();
    // It would become a part of the host in the address.
    if !info.path.starts_with('/') {
        return Err(GateError::InvalidRequest("forwarded path"));
    }
    let (forwarded, original) = (header_text(&info, "X-Forwarded-Method")?, header_text(&info, "X-Original-Method")?);
    let method = require_equal("X-Forwarded-Method and X-Original-Method", forwarded, original)?;
    let method = method.map(|method| method.parse::<Method>()).transpose();
    info.method = method.map_err(|_| GateError::InvalidRequest("forwarded method"))?.unwrap_or(Method::GET);
    if info.host.is_none() { Err(GateError::InvalidHost) } else { Ok(info) }
}

/// Whether the original request came by https; `None` if no header names its scheme.
fn original_scheme(info: &RequestInfo, original: Option<&OriginalTarget>) -> Result<Option<bool>, GateError> {
    let mut schemes = forwarded_schemes(&info.headers);
    let forwarded = schemes.next();
    if schemes.any(|other| Some(other) != forwarded) {
        return Err(GateError::ConflictingHeaders("X-Forwarded-Proto"));
    }
    require_equal("X-Original-URL and X-Forwarded-Proto", original.and_then(|target| target.https), forwarded)
}

/// A header as text. Invalid UTF-8 is replaced, so that such a header is not taken for absent. A proxy that adds a value may keep the
/// one that the visitor wrote, so several must be equal.
fn header_text(info: &RequestInfo, name: &'static str) -> Result<Option<String>, GateError> {
    let mut values = info.headers.get_all(name).into_iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.any(|other| other != first) {
        return Err(GateError::ConflictingHeaders(name));
    }
    Ok(Some(String::from_utf8_lossy(first.as_bytes()).into_owned()))
}

/// Requires that two headers agree if both are present.
fn require_equal<T: PartialEq>(
    headers: &'static str,
    one: Option<T>,
    other: Option<T>,
) -> Result<Option<T>, GateError> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(GateError::ConflictingHeaders(headers)),
        (one, other) => Ok(one.or(other)),
    }
}

/// The target of the original request, parsed leniently: the site may accept what a strict parser rejects. A fragment is
/// kept, because not every site removes it.
struct OriginalTarget {
    /// Whether the scheme is https, if the target has one.
    https: Option<bool>,
    authority: Option<String>,
    path: String,
    query: Option<String>,
}

impl OriginalTarget {
    fn read(text: &str) -> Self {
        let (https, authority, rest) = match text.split_once("://") {
            Some((scheme, rest)) if !scheme.contains(['/', '?']) => {
                let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
                (Some(is_secure_scheme(scheme)), Some(authority.to_owned()), rest)
            }
            _ => (None, None, text),
        };
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query.to_owned())));
        Self { https, authority, path: if path.is_empty() { "/".to_owned() } else { path.to_owned() }, query }
    }
}

/// 401 with the visitor status and the same address at the gate, which shows the queue page.
fn deny(info: &RequestInfo, mut visit: VisitResult, page: bool) -> Answer {
    if page && info.is_navigation() {
        let reply = Reply::page_of(&visit, StatusCode::UNAUTHORIZED);
        return Answer::new(visit, reply);
    }
    let address = address(info);
    visit.visitor_status.enter_url = Some(address.clone());
    Answer::new(visit, Reply::CheckDenied(address))
}

/// 401, because proxies take any other error for a fault. The gate shows the visitor a page that tries again.
fn queues_not_loaded(info: &RequestInfo, page: bool) -> Response {
    if page && info.is_navigation() {
        return unavailable_page(info, StatusCode::UNAUTHORIZED, StatusCode::UNAUTHORIZED);
    }
    let mut response = GateError::QueuesNotLoaded.into_response_with(StatusCode::UNAUTHORIZED);
    set_location(&mut response, address(info));
    response
}

fn address(info: &RequestInfo) -> String {
    // The gate takes the code of an invitation when it shows the page.
    let code = info.presented.as_ref().filter(|code| code.is_in_address()).map(PresentedCode::as_pair);
    let separator = if info.query.is_some() { "&" } else { "?" };
    let code = code.map(|code| format!("{separator}{code}")).unwrap_or_default();
    format!("{}://{}{}{code}", info.scheme(), info.authority, info.path_and_query())
}
