//! The names of the gate's cookies, and how they are set.

use http::{HeaderMap, HeaderValue, header};
use vestibule_runtime::Queue;

/// Browsers accept a cookie with this prefix only over https from the host itself, so that no other host can set it.
const HOST_ONLY: &str = "__Host-";

/// Names of the queue's ticket cookie: the one that only this host can set, and the one where that can't be had, because
/// the visitor came by http or the queue has a cookie domain.
pub(crate) fn ticket_cookies(queue: &Queue) -> [String; 2] {
    [format!("{HOST_ONLY}{}", queue.cookie_name), queue.cookie_name.clone()]
}

/// Sets a cookie for this host or this cookie domain; only for https if the request came by it.
pub(crate) fn append(
    headers: &mut HeaderMap,
    name: &str,
    value: &str,
    max_age: u64,
    domain: Option<&str>,
    https: bool,
) {
    let domain = domain.map(|domain| format!("; Domain={domain}")).unwrap_or_default();
    let secure = if https { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{domain}{secure}");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        headers.append(header::SET_COOKIE, cookie);
    }
}
