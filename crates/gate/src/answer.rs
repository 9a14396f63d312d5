//! What every answer about a visitor carries: the new ticket, and that it must not be kept by anybody.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use vestibule_http::{Decision, Outcome, Queue};

use crate::request::{Seen, TICKET_HEADER};
use crate::visit::Served;

/// Headers by which shared caches are told how long to keep an answer, beside `Cache-Control`.
const SHARED_CACHE_HEADERS: [HeaderName; 4] = [
    header::EXPIRES,
    HeaderName::from_static("surrogate-control"),
    HeaderName::from_static("cdn-cache-control"),
    HeaderName::from_static("x-accel-expires"),
];
/// Browsers take a cookie of this prefix from the very host over https only, so that no other host of the site can set it.
const HOST_ONLY: &str = "__Host-";
const ROBOTS: HeaderName = HeaderName::from_static("x-robots-tag");

/// Lets those around the gate see what was decided, unless the answer tells already.
pub(crate) fn decided(mut response: Response, served: &Served) -> Response {
    if response.extensions().get::<Decision>().is_none() {
        response.extensions_mut().insert(served.decision());
    }
    response
}

/// Says of an answer that nothing was decided on what it comes from: an own endpoint, or an error.
pub(crate) async fn decided_or_own(mut response: Response) -> Response {
    if response.extensions().get::<Decision>().is_none() {
        let outcome = match response.status() {
            status if status.is_client_error() => Outcome::NotFound,
            status if status.is_server_error() => Outcome::Failed,
            _ => Outcome::Endpoint,
        };
        response.extensions_mut().insert(Decision::without_queue(outcome));
    }
    response
}

/// Marks an answer as personal.
pub(crate) fn personal(headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(ROBOTS, HeaderValue::from_static("noindex"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Keeps an answer out of shared caches, whatever the origin said: they would hand it to others.
pub(crate) fn keep_private(headers: &mut HeaderMap) {
    for name in SHARED_CACHE_HEADERS {
        headers.remove(name);
    }
    let vendors: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().ends_with("-cdn-cache-control")).cloned().collect();
    for name in vendors {
        headers.remove(name);
    }
    let said: Vec<String> = cache_directives(headers).collect();
    if said.iter().any(|directive| directive == "no-store") {
        return;
    }
    // A directive with a list in quotes has commas of its own.
    let is_list = said.iter().any(|directive| directive.contains('"'));
    let kept = said.into_iter().filter(|directive| !is_list && !is_for_shared_caches(directive));
    let directives: Vec<String> = std::iter::once("private".to_owned()).chain(kept).collect();
    if let Ok(value) = HeaderValue::try_from(directives.join(", ")) {
        headers.insert(header::CACHE_CONTROL, value);
    }
}

/// Whether an answer says that a shared cache may keep it.
pub(crate) fn is_offered_to_shared_caches(headers: &HeaderMap) -> bool {
    let mut directives = cache_directives(headers).peekable();
    if directives.peek().is_none() {
        return SHARED_CACHE_HEADERS.iter().any(|name| headers.contains_key(name));
    }
    let said: Vec<String> = directives.collect();
    let is_kept_from_them = |directive: &String| {
        directive.starts_with("private")
            || directive.starts_with("no-cache")
            || matches!(directive.as_str(), "no-store" | "max-age=0")
    };
    !said.iter().any(is_kept_from_them)
        && said.iter().any(|directive| {
            directive == "immutable" || directive.starts_with("max-age") || is_for_shared_caches(directive)
        })
}

fn is_for_shared_caches(directive: &str) -> bool {
    matches!(directive, "public" | "private" | "proxy-revalidate") || directive.starts_with("s-maxage")
}

fn cache_directives(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let values = headers.get_all(header::CACHE_CONTROL).into_iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(|directive| directive.trim().to_ascii_lowercase())
        .filter(|it| !it.is_empty())
}

/// Names of the queue's ticket cookie: the one that only this host can set, and the one where that can't be had, because
/// the visitor came by http or the queue has a cookie domain.
pub(crate) fn ticket_cookies(queue: &Queue) -> [String; 2] {
    [format!("{HOST_ONLY}{}", queue.cookie_name), queue.cookie_name.clone()]
}

/// Hands the ticket that was signed anew to the visitor: in the cookie, and in the header if they read that one.
pub(crate) fn give_ticket(headers: &mut HeaderMap, seen: &Seen, served: &Served) {
    let Some(ticket) = &served.ticket else { return };
    let line = &served.queue.settings.line;
    // The browser keeps the ticket as long as it may be good for: a quit browser loses no place.
    let max_age = line.hold_ttl.max(line.active_ttl);
    let [host_only, plain] = ticket_cookies(&served.queue);
    let is_host_only = seen.origin.https && served.queue.settings.cookie_domain.is_none();
    let name = if is_host_only { host_only } else { plain };
    let cookie = set_cookie(&served.queue, &name, ticket, max_age, seen.origin.https);
    if let Ok(value) = HeaderValue::try_from(cookie) {
        headers.append(header::SET_COOKIE, value);
    }
    keep_private(headers);
    if seen.wants_ticket_header(&served.queue)
        && let Ok(value) = HeaderValue::try_from(ticket)
    {
        headers.insert(TICKET_HEADER, value);
    }
}

/// A cookie for this host, or for the queue's cookie domain.
pub(crate) fn set_cookie(queue: &Queue, name: &str, value: &str, max_age: u64, secure: bool) -> String {
    let domain = queue.settings.cookie_domain.as_ref().map(|domain| format!("; Domain={domain}")).unwrap_or_default();
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{domain}{secure}")
}

/// The visitor status as JSON.
pub(crate) fn standing_json(status: StatusCode, seen: &Seen, served: &Served) -> Response {
    let mut response = (status, Json(&served.visitor_status)).into_response();
    let headers = response.headers_mut();
    personal(headers);
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-site"));
    headers.insert(header::RETRY_AFTER, served.retry_after());
    give_ticket(headers, seen, served);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private(said: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.append(*name, HeaderValue::from_static(value));
        }
        keep_private(&mut headers);
        headers
    }

    #[test]
    fn an_answer_with_a_ticket_is_private_whatever_it_was() {
        for (said, becomes) in [
            ("", "private"),
            ("public", "private"),
            ("max-age=300", "private, max-age=300"),
            ("Public, S-MaxAge=60, max-age=5, proxy-revalidate, immutable", "private, max-age=5, immutable"),
            ("private=\"x-a, x-b\", public", "private"),
            ("no-cache", "private, no-cache"),
            ("public, no-store", "public, no-store"),
        ] {
            assert_eq!(private(&[("cache-control", said)])[header::CACHE_CONTROL], becomes, "{said}");
        }
        let left = private(&[
            ("expires", "Thu, 01 Jan 2099 00:00:00 GMT"),
            ("x-accel-expires", "60"),
            ("cloudflare-cdn-cache-control", "max-age=60"),
            ("etag", "\"1\""),
        ]);
        assert_eq!(left.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["etag", "cache-control"]);
    }

    #[test]
    fn an_answer_is_offered_to_shared_caches_only_by_its_own_words() {
        for (name, value, offered) in [
            ("cache-control", "max-age=60", true),
            ("cache-control", "public", true),
            ("cache-control", "private, max-age=60", false),
            ("cache-control", "no-cache", false),
            ("cache-control", "max-age=0", false),
            ("expires", "Thu, 01 Jan 2099 00:00:00 GMT", true),
            ("etag", "\"1\"", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(is_offered_to_shared_caches(&headers), offered, "{name}: {value}");
        }
    }
}
