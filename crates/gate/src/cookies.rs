//! How the gate sets cookies.

use http::{HeaderMap, HeaderValue, header};

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
