//! How an admitted visitor reaches the site.

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use tracing::{info, warn};
use vestibule_core::settings::{HandoverKind, Origin, is_below};
use vestibule_core::{SessionId, Standing, StandingState};
use vestibule_http::{AnswerLimit, ApiError, Decision, Outcome};
use vestibule_themes::PlainPage;

use crate::answer::{give_ticket, personal, set_cookie};
use crate::carry::{Carrier, Lost};
use crate::page::{plain_page, queue_page};
use crate::proxy::{Forwarded, ProxyError, asks_for_upgrade, drop_unwritten};
use crate::request::Seen;
use crate::state::Gate;
use crate::visit::Served;

/// Cookie that carries a pass to an origin on the same site. Its name lies outside those of tickets.
const PASS_COOKIE: &str = "vestibule-pass";
/// Query parameter that carries a pass to an origin on another domain.
const PASS_PARAMETER: &str = "vestibule_pass";
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
    let queue = &served.queue;
    let by_cookie = cookie_reaches(seen, served, origin);
    let mut location = format!("{origin}{}", seen.path_and_query());
    let mut response = StatusCode::FOUND.into_response();
    if let Some(session) = served.admitted {
        if by_cookie {
            let ttl = queue.settings.line.active_ttl;
            if let Some(pass) = gate.passes.long(&queue.settings.id, session, served.now, ttl) {
                let cookie = set_cookie(queue, PASS_COOKIE, &pass, ttl, seen.origin.https);
                append(response.headers_mut(), &cookie);
            }
        } else if let Some(pass) = gate.passes.short(&queue.settings.id, session, served.now) {
            location = with_pass(origin, seen, pass.to_str().unwrap_or_default());
        }
    }
    let headers = response.headers_mut();
    personal(headers);
    if let Ok(location) = HeaderValue::try_from(location) {
        headers.insert(header::LOCATION, location);
    }
    give_ticket(headers, seen, served);
    response
}

fn append(headers: &mut HeaderMap, cookie: &str) {
    if let Ok(value) = HeaderValue::try_from(cookie) {
        headers.append(header::SET_COOKIE, value);
    }
}

fn cookie_reaches(seen: &Seen, served: &Served, origin: &Origin) -> bool {
    match &served.queue.settings.cookie_domain {
        Some(domain) => origin.host() == domain || is_below(origin.host(), domain),
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
    if carrier.is_function() {
        drop_unwritten(request.headers_mut());
    }
    let Ok(target) = origin.to_string().parse::<Uri>() else {
        return plain_page(seen, StatusCode::BAD_GATEWAY, PlainPage::OriginDown);
    };
    let pass = served.admitted.and_then(|session| gate.passes.short(&served.queue.settings.id, session, served.now));
    let context = Forwarded {
        peer: seen.peer,
        proto: seen.scheme(),
        host: &seen.authority,
        pass: pass.as_ref(),
        trusted: gate.trusted_proxies > 0,
    };
    let answer = async {
        let mut response = gate.proxy.forward(&target, request, context).await?;
        give_ticket_beside(response.headers_mut(), seen, served);
        Ok(response)
    };
    match carrier.carry(answer).await {
        Ok(response) => response,
        Err(Lost::Origin(error)) => origin_failed(seen, served, error),
        Err(Lost::TooLarge { limit, announced }) => too_large(seen, served, limit, announced),
    }
}

/// Adds the ticket to an answer of the origin, unless a shared cache may keep that answer: then the visitor's next
/// request carries it, and who has no ticket yet gets an answer that is theirs alone.
fn give_ticket_beside(headers: &mut HeaderMap, seen: &Seen, served: &Served) {
    if served.ticket.is_none() {
        return;
    }
    if is_shared(headers) {
        if served.known {
            return;
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    give_ticket(headers, seen, served);
}

fn is_shared(headers: &HeaderMap) -> bool {
    let directives = headers.get_all(header::CACHE_CONTROL).into_iter().filter_map(|value| value.to_str().ok());
    directives.flat_map(|value| value.split(',')).any(|directive| {
        let directive = directive.trim().to_ascii_lowercase();
        directive == "public" || directive.starts_with("s-maxage") || directive == "immutable"
    })
}

fn origin_failed(seen: &Seen, served: &Served, error: ProxyError) -> Response {
    let mut response = match error {
        ProxyError::Timeout => plain_page(seen, error.status(), PlainPage::OriginSlow),
        ProxyError::Unreachable | ProxyError::BadAnswer => plain_page(seen, error.status(), PlainPage::OriginDown),
        ProxyError::TooLarge | ProxyError::VisitorTimeout | ProxyError::BadRequest => error.status().into_response(),
    };
    give_ticket(response.headers_mut(), seen, served);
    if error.status().is_server_error() {
        response.extensions_mut().insert(Decision { outcome: Outcome::Failed, ..served.decision() });
    }
    response
}

/// The ticket goes along: the visitor is let in, and the next page may well be smaller.
fn too_large(seen: &Seen, served: &Served, limit: AnswerLimit, announced: Option<u64>) -> Response {
    let path: String = seen.path.chars().take(PATH_LOGGED_MAX).collect();
    warn!(
        queue = %served.queue.settings.id, path, limit = limit.bytes(), content_length = announced,
        "the origin's answer is larger than a function may give: hand over by redirect or check, or let the rules pass this path by the gate"
    );
    let error = ApiError::AnswerTooLarge { limit_mib: limit.mib() };
    let mut response = if seen.is_navigation() {
        plain_page(seen, StatusCode::BAD_GATEWAY, PlainPage::AnswerTooLarge { limit_mib: limit.mib() })
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
        let standing = Standing { state: StandingState::Admitted, ..served.standing.clone() };
        queue_page(gate, seen, &Served { standing, ..copy_of(served) }, StatusCode::OK).await
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
    Served { queue: served.queue.clone(), standing: served.standing.clone(), ticket: served.ticket.clone(), ..*served }
}

/// Session and pass as headers, for the proxy in front to pass on.
pub(crate) fn give_pass(gate: &Gate, served: &Served, headers: &mut HeaderMap) {
    let Some(session) = served.admitted else { return };
    let named = |session: SessionId| HeaderValue::try_from(session.to_string()).ok();
    if let Some(value) = named(session) {
        headers.insert("x-vestibule-session", value);
    }
    if let Some(pass) = gate.passes.short(&served.queue.settings.id, session, served.now) {
        headers.insert("x-vestibule-pass", pass);
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
