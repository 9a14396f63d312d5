//! How an admitted visitor reaches the site.

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use tracing::{info, warn};
use vestibule_core::settings::{HandoverKind, Origin, Reach, is_subdomain_of};
use vestibule_core::{QueueId, VisitorState, VisitorStatus};
use vestibule_http::{AnswerLimit, ApiError, Decision, Outcome};
use vestibule_themes::PlainPage;

use crate::answer::{give_ticket, is_offered_to_shared_caches, personal, set_cookie};
use crate::carry::{Carrier, Lost};
use crate::page::{error_page, queue_page};
use crate::pass::Pass;
use crate::proxy::{Forwarded, ProxyError, asks_for_upgrade};
use crate::request::Seen;
use crate::state::Gate;
use crate::tunnel::Held;
use crate::visit::Served;

/// Query parameter that carries a pass to an origin on another domain.
const PASS_PARAMETER: &str = "vestibule_pass";
/// Tells the origin that a request passes without an admission, and why.
pub(crate) const BYPASS_HEADER: HeaderName = HeaderName::from_static("x-vestibule-bypass");
/// Most characters of a path in the log.
const PATH_LOGGED_MAX: usize = 200;

/// Hands an admitted visitor over.
pub(crate) async fn hand_over(gate: &Gate, seen: &Seen, served: &Served, request: Request) -> Response {
    match (served.queue.settings.handover.kind, &served.queue.settings.handover.origin) {
        (HandoverKind::Redirect, Some(origin)) => redirect(gate, seen, served, origin),
        // Every judged request would otherwise have as much room made for it as one that is forwarded takes.
        (HandoverKind::Proxy, Some(origin)) => Box::pin(proxy(gate, seen, served, origin, request)).await,
        _ => checked(gate, seen, served).await,
    }
}

/// 302 to the origin with path and query unchanged. The pass goes along in a cookie where one reaches the origin, else
/// in the address.
fn redirect(gate: &Gate, seen: &Seen, served: &Served, origin: &Origin) -> Response {
    let mut location = format!("{origin}{}", seen.path_and_query());
    let mut response = StatusCode::FOUND.into_response();
    if cookie_reaches(seen, served, origin) {
        give_pass_cookie(gate, seen, served, response.headers_mut());
    } else if let Some(pass) = pass_of(gate, served) {
        location = with_pass(origin, seen, pass.token.to_str().unwrap_or_default());
    }
    let headers = response.headers_mut();
    personal(headers);
    if let Ok(location) = HeaderValue::try_from(location) {
        headers.insert(header::LOCATION, location);
    }
    give_ticket(headers, seen, served);
    response
}

/// Name of the cookie that carries a queue's pass to an origin on the same site: one a queue, or two queues on one domain
/// would overwrite each other's. It lies outside the names of tickets.
fn pass_cookie(queue: &QueueId) -> String {
    format!("vestibule-pass_{queue}")
}

/// The pass of the session that was served, if it is admitted.
fn pass_of(gate: &Gate, served: &Served) -> Option<Pass> {
    gate.passes.of(&served.queue.settings.id, served.admitted?, served.now)
}

fn give_pass_cookie(gate: &Gate, seen: &Seen, served: &Served, headers: &mut HeaderMap) {
    let Some(pass) = pass_of(gate, served) else { return };
    let (token, max_age) = (pass.token.to_str().unwrap_or_default(), pass.seconds_left(served.now));
    let cookie = set_cookie(&served.queue, &pass_cookie(&served.queue.settings.id), token, max_age, seen.origin.https);
    if let Ok(value) = HeaderValue::try_from(cookie) {
        headers.append(header::SET_COOKIE, value);
    }
}

/// A pass lasts for a minute at most, so whoever stays at an origin that is not behind the gate gets a new one with every
/// keepalive, where the origin reads it from a cookie.
pub(crate) fn renew_pass_cookie(gate: &Gate, seen: &Seen, served: &Served, headers: &mut HeaderMap) {
    let handover = &served.queue.settings.handover;
    if handover.kind == HandoverKind::Redirect
        && handover.origin.as_ref().is_some_and(|origin| cookie_reaches(seen, served, origin))
    {
        give_pass_cookie(gate, seen, served, headers);
    }
}

fn cookie_reaches(seen: &Seen, served: &Served, origin: &Origin) -> bool {
    match &served.queue.settings.cookie_domain {
        Some(domain) => origin.host() == domain || is_subdomain_of(origin.host(), domain),
        None => seen.host.as_deref() == Some(origin.host()),
    }
}

/// The visitor's address at the origin with this pass, in place of any that was there.
fn with_pass(origin: &Origin, seen: &Seen, pass: &str) -> String {
    let mut query = String::new();
    for pair in seen.query.as_deref().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        if pair.split('=').next() != Some(PASS_PARAMETER) {
            query.push_str(pair);
            query.push('&');
        }
    }
    format!("{origin}{}?{query}{PASS_PARAMETER}={pass}", seen.path)
}

async fn proxy(gate: &Gate, seen: &Seen, served: &Served, origin: &Origin, mut request: Request) -> Response {
    request.headers_mut().clone_from(&seen.headers);
    let carrier = Carrier::of(request.extensions());
    if carrier.is_function() && asks_for_upgrade(&request) {
        info!(queue = %served.queue.settings.id, "an upgrade was asked for, which no function can grant");
        return ApiError::NoUpgrade.into_response();
    }
    let Ok(target) = origin.to_string().parse::<Uri>() else {
        return error_page(gate, seen, served, StatusCode::BAD_GATEWAY, PlainPage::OriginDown).await;
    };
    // Without its tenant nobody says that the origin may be internal.
    let reach = served.queue.tenant.as_ref().map_or(Reach::Public, |tenant| tenant.reach(origin));
    let pass = pass_of(gate, served);
    if let Some(slot) = served.admitted {
        request.extensions_mut().insert(Held::new(gate, &served.queue, slot.session));
    }
    let context = Forwarded {
        peer: seen.peer,
        proto: seen.scheme(),
        host: &seen.authority,
        pass: pass.as_ref().map(|pass| &pass.token),
        bypass: bypass_reason(served),
        trusted: gate.trusted_proxies > 0,
    };
    let answer = async {
        let mut response = gate.proxy.forward(&target, reach, request, context).await?;
        give_ticket_beside(response.headers_mut(), seen, served);
        Ok(response)
    };
    match carrier.carry(answer).await {
        Ok(response) => response,
        Err(Lost::Origin(error)) => origin_failed(gate, seen, served, error).await,
        Err(Lost::TooLarge { limit, announced }) => too_large(gate, seen, served, limit, announced).await,
    }
}

/// Adds the ticket to an answer of the origin, which makes that answer private. The images and scripts that the origin
/// offers to shared caches stay theirs: a visitor who has a ticket gets the new one with another answer.
fn give_ticket_beside(headers: &mut HeaderMap, seen: &Seen, served: &Served) {
    if !(served.known && !seen.is_navigation() && is_offered_to_shared_caches(headers)) {
        give_ticket(headers, seen, served);
    }
}

async fn origin_failed(gate: &Gate, seen: &Seen, served: &Served, error: ProxyError) -> Response {
    let status = error.status();
    let mut response = match error {
        ProxyError::Timeout => error_page(gate, seen, served, status, PlainPage::OriginSlow).await,
        ProxyError::Unreachable | ProxyError::BadAnswer => {
            error_page(gate, seen, served, status, PlainPage::OriginDown).await
        }
        ProxyError::TooLarge | ProxyError::VisitorTimeout | ProxyError::BadRequest => error.status().into_response(),
    };
    give_ticket(response.headers_mut(), seen, served);
    if error.status().is_server_error() {
        response.extensions_mut().insert(Decision { outcome: Outcome::Failed, ..served.decision() });
    }
    response
}

/// The ticket goes along: the visitor is let in, and the next page may well be smaller.
async fn too_large(gate: &Gate, seen: &Seen, served: &Served, limit: AnswerLimit, announced: Option<u64>) -> Response {
    let path: String = seen.path.chars().take(PATH_LOGGED_MAX).collect();
    warn!(
        queue = %served.queue.settings.id, path, limit = limit.bytes(), content_length = announced,
        "the origin's answer is larger than a function may give: hand over by redirect or check, or let the rules pass this path by the gate"
    );
    let error = ApiError::AnswerTooLarge { limit_mib: limit.mib() };
    let mut response = if seen.is_navigation() {
        let page = PlainPage::AnswerTooLarge { limit_mib: limit.mib() };
        error_page(gate, seen, served, StatusCode::BAD_GATEWAY, page).await
    } else {
        error.into_response()
    };
    give_ticket(response.headers_mut(), seen, served);
    response
}

/// 200 for the proxy in front. A person who got here (the proxy sends those who wait) is shown that they are in, and
/// asks the proxy again.
async fn checked(gate: &Gate, seen: &Seen, served: &Served) -> Response {
    let mut response = if seen.is_navigation() {
        let visitor_status = VisitorStatus { state: VisitorState::Admitted, ..served.visitor_status.clone() };
        queue_page(gate, seen, &Served { visitor_status, ..copy_of(served) }, StatusCode::OK).await
    } else {
        let mut response = Body::empty().into_response();
        personal(response.headers_mut());
        give_ticket(response.headers_mut(), seen, served);
        response
    };
    give_pass(gate, served, response.headers_mut());
    response
}

fn copy_of(served: &Served) -> Served {
    Served {
        queue: served.queue.clone(),
        visitor_status: served.visitor_status.clone(),
        ticket: served.ticket.clone(),
        ..*served
    }
}

/// Why a request passes although nobody was admitted, so that an origin that asks for passes lets it through.
fn bypass_reason(served: &Served) -> Option<&'static str> {
    if served.admitted.is_some() || !served.passes {
        return None;
    }
    Some(match served.outcome {
        Outcome::Unavailable => "store-failure",
        // The rules let it pass without asking the store, which knows the mode.
        _ if served.store_time.is_none() => "rule",
        _ => "mode",
    })
}

/// Session and pass as headers, or why there are none, for the proxy in front to pass on.
pub(crate) fn give_pass(gate: &Gate, served: &Served, headers: &mut HeaderMap) {
    if let Some(reason) = bypass_reason(served) {
        headers.insert(BYPASS_HEADER, HeaderValue::from_static(reason));
    }
    let Some(slot) = served.admitted else { return };
    if let Ok(value) = HeaderValue::try_from(slot.session.to_string()) {
        headers.insert("x-vestibule-session", value);
    }
    if let Some(pass) = pass_of(gate, served) {
        headers.insert("x-vestibule-pass", pass.token);
    }
}

#[cfg(test)]
mod tests {
    use http::{Extensions, Method};

    use super::*;

    #[test]
    fn a_pass_in_the_address_leaves_the_rest_of_it_as_it_was() {
        let seen =
            |uri: &'static str| Seen::of(&Method::GET, &Uri::from_static(uri), HeaderMap::new(), &Extensions::new(), 0);
        let origin: Origin = "https://www.example.com".parse().unwrap();
        for (uri, location) in [
            ("/a%2Fb", "https://www.example.com/a%2Fb?vestibule_pass=P"),
            ("/a?x=%20&y=1;2", "https://www.example.com/a?x=%20&y=1;2&vestibule_pass=P"),
            ("/a?vestibule_pass=old&z", "https://www.example.com/a?z&vestibule_pass=P"),
        ] {
            assert_eq!(with_pass(&origin, &seen(uri), "P"), location);
        }
    }
}
