//! How an admitted visitor reaches the site.

use axum::extract::Request;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use tracing::{info, warn};
use vestibule_core::settings::{HandoverKind, Origin, Reach, is_subdomain_of};
use vestibule_core::{QueueId, VisitorState};
use vestibule_lambda::ResponseLimit;
use vestibule_proxy::{Forwarded, ProxyError, TunnelEnd, asks_for_upgrade};
use vestibule_runtime::Outcome;
use vestibule_themes::ErrorPage;

use crate::answer::{Answer, BYPASS_HEADER, PASS_HEADER, PassDelivery, Reply};
use crate::error::GateError;
use crate::origin_loop::LOOP_HEADER;
use crate::own_headers;
use crate::pass::Pass;
use crate::request::RequestInfo;
use crate::response_buffer::{BufferError, ResponseBuffer};
use crate::state::Gate;
use crate::tunnel::{admission_end, limit_event_stream};
use crate::unsent_ticket::UnsentTicket;
use crate::visit_result::VisitResult;

/// Query parameter that carries a pass to an origin on another domain.
const PASS_PARAMETER: &str = "vestibule_pass";
/// Why requests pass that a rule lets pass.
const BY_RULE: &str = "rule";
/// Maximum length of a path in the log, in characters.
const PATH_LOGGED_MAX: usize = 200;

/// Hands a visitor over who may pass.
pub(crate) async fn hand_over(gate: &Gate, info: &RequestInfo, visit: VisitResult, request: Request) -> Answer {
    let handover = &visit.queue.settings.handover;
    match (handover.kind, handover.origin.clone()) {
        (HandoverKind::Redirect, Some(origin)) => redirect(gate, info, visit, &origin),
        // Boxed, because every request would otherwise reserve as much memory as a forwarded one.
        (HandoverKind::Proxy, Some(origin)) => Box::pin(proxy(gate, info, visit, &origin, request)).await,
        _ => checked(info, visit),
    }
}

/// 302 to the origin with path and query unchanged. The pass, or the reason why there is none, is in a cookie if the origin receives
/// it; otherwise the pass is in the query.
fn redirect(gate: &Gate, info: &RequestInfo, visit: VisitResult, origin: &Origin) -> Answer {
    let in_query = if cookie_reaches_origin(info, &visit) { None } else { pass_of(gate, &visit) };
    let location = match in_query {
        Some(pass) => with_pass(origin, info, pass.token.to_str().unwrap_or_default()),
        None => format!("{origin}{}", info.path_and_query()),
    };
    Answer::new(visit, Reply::Redirect(location)).with_pass(PassDelivery::Cookie)
}

/// Name of the cookie with a queue's pass, or with the reason why there is none. It contains the queue, so that two queues of one
/// domain do not overwrite each other's, and differs from the names of tickets.
pub(crate) fn pass_cookie(queue: &QueueId) -> String {
    format!("vestibule-pass_{queue}")
}

/// The pass of an admitted visitor.
pub(crate) fn pass_of(gate: &Gate, visit: &VisitResult) -> Option<Pass> {
    gate.pass_cache.of(&gate.passes, &visit.queue.settings.id, visit.admitted?, visit.now)
}

/// Whether the origin of a `redirect` handover receives cookies that are set here.
pub(crate) fn cookie_reaches_origin(info: &RequestInfo, visit: &VisitResult) -> bool {
    let handover = &visit.queue.settings.handover;
    let Some(origin) = handover.origin.as_ref().filter(|_| handover.kind == HandoverKind::Redirect) else {
        return false;
    };
    match &visit.queue.settings.cookie_domain {
        Some(domain) => origin.host() == domain || is_subdomain_of(origin.host(), domain),
        None => info.host.as_deref() == Some(origin.host()),
    }
}

/// The requested address at the origin, with this pass in place of any other.
fn with_pass(origin: &Origin, info: &RequestInfo, pass: &str) -> String {
    let mut query = String::new();
    for pair in info.query.as_deref().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        if pair.split('=').next() != Some(PASS_PARAMETER) {
            query.push_str(pair);
            query.push('&');
        }
    }
    format!("{origin}{}?{query}{PASS_PARAMETER}={pass}", info.path)
}

async fn proxy(gate: &Gate, info: &RequestInfo, visit: VisitResult, origin: &Origin, mut request: Request) -> Answer {
    request.headers_mut().clone_from(&info.headers);
    if info.presented.is_some()
        && let Ok(target) = info.path_and_query().parse()
    {
        // The origin does not see the code of an invitation.
        *request.uri_mut() = target;
    }
    let buffer = ResponseBuffer::of(request.extensions());
    let upgrades = asks_for_upgrade(&request);
    if buffer.is_function() && upgrades {
        info!(queue = %visit.queue.settings.id, "a function cannot upgrade connections");
        return Answer::new(visit, Reply::Error(GateError::UpgradeNotSupported));
    }
    let Ok(target) = origin.to_string().parse::<Uri>() else {
        return Answer::new(visit, Reply::ErrorPage(StatusCode::BAD_GATEWAY, ErrorPage::OriginDown));
    };
    // Only the tenant can allow an internal origin.
    let reach = visit.queue.tenant.as_ref().map_or(Reach::Public, |tenant| tenant.reach(origin));
    own_headers::remove_own(request.headers_mut());
    let mut tunnel_end: Option<TunnelEnd> = None;
    if upgrades {
        let session = visit.admitted.map(|slot| slot.session);
        let Some(permit) = gate.tunnels.open_in_session(session, info.origin.address) else {
            if let Some(suppressed) = gate.refused_tunnels.allow() {
                let session = session.map(tracing::field::display);
                warn!(queue = %visit.queue.settings.id, session, suppressed, "too many tunnels of one visitor or in all");
            }
            return Answer::new(visit, Reply::Error(GateError::TooManyTunnels));
        };
        let end = connection_end(gate, &visit);
        tunnel_end = Some(Box::pin(async move {
            let _permit = permit;
            end.await;
        }));
    }
    let context = Forwarded {
        peer: info.peer,
        proto: info.scheme(),
        host: &info.authority,
        trusted: gate.trusted_proxies > 0,
        headers: headers_for_origin(gate, info, &visit),
        tunnel_end,
    };
    let unsent = UnsentTicket::of(gate, &visit);
    // Boxed, because each of the wrappers around it holds it twice.
    let response = buffer.wait(Box::pin(gate.proxy.forward(&target, reach, request, context))).await;
    if let Some(unsent) = unsent {
        unsent.sent();
    }
    match response {
        Ok(response) => {
            let response = limit_event_stream(response, gate.streams.draining(), || connection_end(gate, &visit));
            Answer::new(visit, Reply::Forwarded(response, buffer))
        }
        Err(error) => failed(info, visit, &error),
    }
}

/// Resolves when what let this visit pass has ended, for a connection that stays open. A rule never ends.
fn connection_end(gate: &Gate, visit: &VisitResult) -> TunnelEnd {
    if bypass_reason(visit) == Some(BY_RULE) {
        return Box::pin(std::future::pending());
    }
    let session = visit.admitted.map(|slot| slot.session);
    admission_end(gate.clone(), visit.queue.settings.id.clone(), session)
}

/// The pass, or the reason why the request passes without one, and the deployment that forwards it.
pub(crate) fn headers_for_origin(gate: &Gate, info: &RequestInfo, visit: &VisitResult) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(names) = gate.deployment.header(&info.headers) {
        headers.insert(LOOP_HEADER, names);
    }
    if let Some(pass) = pass_of(gate, visit) {
        headers.insert(PASS_HEADER, pass.token);
    }
    if let Some(reason) = bypass_reason(visit) {
        headers.insert(BYPASS_HEADER, HeaderValue::from_static(reason));
    }
    headers
}

/// The answer in place of an origin's response that cannot be forwarded. The visitor stays admitted.
pub(crate) fn failed(info: &RequestInfo, mut visit: VisitResult, error: &BufferError) -> Answer {
    let error = match *error {
        BufferError::Origin(error) => error,
        BufferError::TooLarge { limit, announced } => return too_large(info, visit, limit, announced),
    };
    let status = error.status();
    if status.is_server_error() {
        visit.outcome = Outcome::Failed;
    }
    let (page, problem) = match error {
        ProxyError::Timeout => (ErrorPage::OriginSlow, GateError::OriginSlow),
        ProxyError::Unreachable | ProxyError::BadResponse => (ErrorPage::OriginDown, GateError::OriginDown),
        ProxyError::TooLarge | ProxyError::VisitorTimeout | ProxyError::BadRequest => {
            return Answer::new(visit, Reply::Error(GateError::NotForwarded(status)));
        }
    };
    let reply = if info.wants_page() { Reply::ErrorPage(status, page) } else { Reply::Error(problem) };
    Answer::new(visit, reply)
}

fn too_large(info: &RequestInfo, visit: VisitResult, limit: ResponseLimit, announced: Option<u64>) -> Answer {
    let path: String = info.path.chars().take(PATH_LOGGED_MAX).collect();
    warn!(
        queue = %visit.queue.settings.id, path, limit = limit.bytes(), content_length = announced,
        "the origin's response exceeds the limit of a function; use the handover redirect or check, or a rule that bypasses \
         the gate for this path"
    );
    let limit_mib = limit.mib();
    let reply = if info.is_navigation() {
        Reply::ErrorPage(StatusCode::BAD_GATEWAY, ErrorPage::ResponseTooLarge { limit_mib })
    } else {
        Reply::Error(GateError::ResponseTooLarge { limit_mib })
    };
    Answer::new(visit, reply)
}

/// 200 for a forward-auth proxy. A person who opens the gate directly (the proxy sends waiting visitors) sees the queue
/// page in its admitted state, which opens the address at the proxy again.
fn checked(info: &RequestInfo, mut visit: VisitResult) -> Answer {
    let reply = if info.is_navigation() {
        visit.visitor_status.state = VisitorState::Admitted;
        Reply::QueuePage(StatusCode::OK)
    } else {
        Reply::Empty(StatusCode::OK)
    };
    Answer::new(visit, reply).with_pass(PassDelivery::Header)
}

/// Why a request passes without an admission, for origins that verify passes.
pub(crate) fn bypass_reason(visit: &VisitResult) -> Option<&'static str> {
    if visit.admitted.is_some() || !visit.passes {
        return None;
    }
    Some(match visit.outcome {
        Outcome::Unavailable => "store-failure",
        _ if visit.by_mode => "mode",
        _ => BY_RULE,
    })
}

#[cfg(test)]
mod tests {
    use http::{Extensions, HeaderMap, Method};

    use crate::client_rules::ClientRules;

    use super::*;

    #[test]
    fn a_pass_in_the_query_leaves_the_address_unchanged() {
        let info = |uri: &'static str| {
            RequestInfo::of(
                &Method::GET,
                &Uri::from_static(uri),
                HeaderMap::new(),
                &Extensions::new(),
                0,
                &ClientRules::default(),
            )
        };
        let origin: Origin = "https://www.example.com".parse().unwrap();
        for (uri, location) in [
            ("/a%2Fb", "https://www.example.com/a%2Fb?vestibule_pass=P"),
            ("/a?x=%20&y=1;2", "https://www.example.com/a?x=%20&y=1;2&vestibule_pass=P"),
            ("/a?vestibule_pass=old&z", "https://www.example.com/a?z&vestibule_pass=P"),
        ] {
            assert_eq!(with_pass(&origin, &info(uri), "P"), location);
        }
    }
}
