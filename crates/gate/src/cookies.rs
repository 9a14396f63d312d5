//! The names of the gate's cookies, and how they are set.

use vestibule_runtime::Queue;

/// Browsers accept a cookie with this prefix only over https from the host itself, so that no other host can set it.
const HOST_ONLY: &str = "__Host-";

/// Names of the queue's ticket cookie: the one that only this host can set, and the one where that can't be had, because
/// the visitor came by http or the queue has a cookie domain.
pub(crate) fn ticket_cookies(queue: &Queue) -> [String; 2] {
    [format!("{HOST_ONLY}{}", queue.cookie_name), queue.cookie_name.clone()]
}

/// The value of a `Set-Cookie` header for this host, or for the queue's cookie domain.
pub(crate) fn cookie(queue: &Queue, name: &str, value: &str, max_age: u64, secure: bool) -> String {
    let domain = queue.settings.cookie_domain.as_ref().map(|domain| format!("; Domain={domain}")).unwrap_or_default();
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{domain}{secure}")
}
