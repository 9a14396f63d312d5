//! Keeps the gate's own cookies and headers from the origin: tickets stay secret, and a visitor cannot send a pass.

use http::header::COOKIE;
use http::{HeaderMap, HeaderName, HeaderValue};
use vestibule_core::settings::name_with_hyphens;

use crate::invitation_code::WRONG_COOKIE;
use crate::request::LANGUAGE_COOKIE;

/// Prefixes of the names of the gate's cookies.
const COOKIE_PREFIXES: [&[u8]; 4] =
    [b"vestibule_", b"__Host-vestibule_", LANGUAGE_COOKIE.as_bytes(), WRONG_COOKIE.as_bytes()];
/// Prefix of the names of the gate's headers.
const HEADER_PREFIX: &str = "x-vestibule-";

/// Removes the gate's cookies and headers from a visitor's request, and those that an origin can take for them.
pub(crate) fn remove_own(headers: &mut HeaderMap) {
    let is_own = |name: &&HeaderName| name_with_hyphens(name.as_str()).starts_with(HEADER_PREFIX);
    let names: Vec<HeaderName> = headers.keys().filter(is_own).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    remove_own_cookies(headers);
}

/// Leaves all other bytes of `Cookie` unchanged. A semicolon in a quoted value separates cookies too, as it does in browsers:
/// otherwise a stray quotation mark would keep a ticket from being removed.
fn remove_own_cookies(headers: &mut HeaderMap) {
    let kept: Vec<HeaderValue> = headers.get_all(COOKIE).iter().filter_map(without_own_cookies).collect();
    headers.remove(COOKIE);
    for value in kept {
        headers.append(COOKIE, value);
    }
}

/// `None` if nothing is left.
fn without_own_cookies(value: &HeaderValue) -> Option<HeaderValue> {
    let cookies = || value.as_bytes().split(|byte| *byte == b';');
    if !cookies().any(is_own_cookie) {
        return Some(value.clone());
    }
    let kept: Vec<&[u8]> = cookies().filter(|cookie| !is_own_cookie(cookie)).collect();
    let joined = kept.join(&b';');
    let rest = joined.trim_ascii_start();
    if rest.iter().all(|byte| *byte == b';' || byte.is_ascii_whitespace()) {
        return None;
    }
    HeaderValue::from_bytes(rest).ok()
}

fn is_own_cookie(cookie: &[u8]) -> bool {
    let cookie = cookie.trim_ascii_start();
    COOKIE_PREFIXES.iter().any(|prefix| cookie.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_of(cookies: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(COOKIE, HeaderValue::from_bytes(cookie).unwrap());
        }
        remove_own(&mut headers);
        headers.get_all(COOKIE).iter().map(|value| value.as_bytes().to_vec()).collect()
    }

    #[test]
    fn own_cookies_are_removed_at_any_position() {
        for (sent, left) in [
            ("vestibule_q=t; a=1; b=2", "a=1; b=2"),
            ("a=1; vestibule_q=t; b=2", "a=1; b=2"),
            ("a=1; b=2; vestibule_q=t", "a=1; b=2"),
            ("a=1;vestibule_q=t;vestibule_r=\"x\";b=2", "a=1;b=2"),
            ("a=1; vestibule_q", "a=1"),
            ("vestibule-language=de; a=1; language=fr", "a=1; language=fr"),
            ("__Host-vestibule_q=t; a=1; vestibule_q=u; __Host-a=1", "a=1; __Host-a=1"),
            ("a=\"1; vestibule_q=t; b=2\"", "a=\"1; b=2\""),
        ] {
            assert_eq!(left_of(&[sent.as_bytes()]), [left.as_bytes()], "{sent}");
        }
    }

    #[test]
    fn other_cookies_stay_unchanged() {
        for sent in [
            b"a=1;b=2;  c = 3 ;; ".as_slice(),
            b"",
            b";",
            b"a=\"x, y\\\"\"; a=1; a=2; =; ==; x",
            b"caf\xc3\xa9=\xff\xfe; VESTIBULE_q=1; my_vestibule_=1; a=vestibule_q",
        ] {
            assert_eq!(left_of(&[sent]), [sent]);
            let mixed = [b"vestibule_q=t; ", sent].concat();
            let left = left_of(&[&mixed]);
            let expected = sent.trim_ascii_start();
            assert_eq!(left.concat(), if expected == b";" { b"" } else { expected });
        }
    }

    #[test]
    fn header_of_own_cookies_only_is_removed() {
        assert_eq!(left_of(&[b"vestibule_q=t"]), Vec::<Vec<u8>>::new());
        assert_eq!(left_of(&[b"vestibule_q=t; vestibule_r=u;"]), Vec::<Vec<u8>>::new());
        assert_eq!(left_of(&[b"b=1", b"vestibule_q=t", b"a=1"]), [b"b=1", b"a=1"]);
    }

    #[test]
    fn visitors_cannot_send_a_pass() {
        let mut headers = HeaderMap::new();
        for name in ["x-vestibule-pass", "x_vestibule_pass", "x-vestibule_bypass", "x-vestibule-ticket", "x-kept"] {
            headers.append(name, HeaderValue::from_static("forged"));
        }
        headers.append("x-vestibule-pass", HeaderValue::from_static("forged again"));
        remove_own(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["x-kept"]);
    }
}
