//! Which cookies an origin gets to see: all but the waiting room's own.

use http::{HeaderMap, HeaderValue, header::COOKIE};

/// How the names of the waiting room's own cookies begin.
const OWN_PREFIXES: [&[u8]; 2] = [b"vestibule_", b"__Host-vestibule_"];

/// Removes the waiting room's cookies, and leaves every other byte as the visitor sent it.
///
/// A quoted value does not shelter a semicolon: browsers know no such thing, and a stray quotation mark would else
/// hide a ticket from removal.
pub(super) fn hide_own(headers: &mut HeaderMap) {
    let kept: Vec<HeaderValue> = headers.get_all(COOKIE).iter().filter_map(without_own).collect();
    headers.remove(COOKIE);
    for value in kept {
        headers.append(COOKIE, value);
    }
}

/// `None` if nothing is left.
fn without_own(value: &HeaderValue) -> Option<HeaderValue> {
    let cookies = || value.as_bytes().split(|byte| *byte == b';');
    if !cookies().any(is_own) {
        return Some(value.clone());
    }
    let kept: Vec<&[u8]> = cookies().filter(|cookie| !is_own(cookie)).collect();
    let joined = kept.join(&b';');
    let rest = joined.trim_ascii_start();
    if rest.iter().all(|byte| *byte == b';' || byte.is_ascii_whitespace()) {
        return None;
    }
    HeaderValue::from_bytes(rest).ok()
}

fn is_own(cookie: &[u8]) -> bool {
    let cookie = cookie.trim_ascii_start();
    OWN_PREFIXES.iter().any(|prefix| cookie.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_of(cookies: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append(COOKIE, HeaderValue::from_bytes(cookie).unwrap());
        }
        hide_own(&mut headers);
        headers.get_all(COOKIE).iter().map(|value| value.as_bytes().to_vec()).collect()
    }

    #[test]
    fn own_cookies_go_wherever_they_stand() {
        for (sent, left) in [
            ("vestibule_q=t; a=1; b=2", "a=1; b=2"),
            ("a=1; vestibule_q=t; b=2", "a=1; b=2"),
            ("a=1; b=2; vestibule_q=t", "a=1; b=2"),
            ("a=1;vestibule_q=t;vestibule_r=\"x\";b=2", "a=1;b=2"),
            ("a=1; vestibule_q", "a=1"),
            ("__Host-vestibule_q=t; a=1; vestibule_q=u; __Host-a=1", "a=1; __Host-a=1"),
            ("a=\"1; vestibule_q=t; b=2\"", "a=\"1; b=2\""),
        ] {
            assert_eq!(left_of(&[sent.as_bytes()]), [left.as_bytes()], "{sent}");
        }
    }

    #[test]
    fn all_other_bytes_stay_as_they_were() {
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
    fn a_header_with_nothing_left_goes_and_its_neighbours_stay() {
        assert_eq!(left_of(&[b"vestibule_q=t"]), Vec::<Vec<u8>>::new());
        assert_eq!(left_of(&[b"vestibule_q=t; vestibule_r=u;"]), Vec::<Vec<u8>>::new());
        assert_eq!(left_of(&[b"b=1", b"vestibule_q=t", b"a=1"]), [b"b=1", b"a=1"]);
    }
}
