//! Restores path and query as the visitor sent them from an event.
//!
//! A load balancer and a function URL pass the path unchanged. An HTTP API decodes it, so `%2F` has become `/`, which cannot
//! be undone. Characters that are not allowed in a path are encoded again, so that a `?` or `#` in it does not start a query
//! or fragment. A load balancer splits the query into names and values, which it does not decode. Some information is lost:
//! values of a repeated name are adjacent, `a` without a value becomes `a=`, and empty pairs (`&&`) are missing. Everything
//! else is restored byte for byte, in the order of the event. A function URL and an HTTP API pass the query unchanged.

use std::fmt::Write as _;

use http::uri::PathAndQuery;
use serde_json::Value;

/// The encoding of the path of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathForm {
    /// As the visitor sent it.
    Written,
    /// Decoded: a `%` is a literal one.
    Decoded,
}

/// The target of a request; `None` if the parts are not a valid one.
pub(crate) fn target(path: &str, form: PathForm, query: &str) -> Option<PathAndQuery> {
    let path = if path.is_empty() { "/" } else { path };
    let mut target = String::with_capacity(path.len() + 1 + query.len());
    for (at, byte) in path.bytes().enumerate() {
        let lone = byte == b'%' && form == PathForm::Decoded && !is_escape(&path.as_bytes()[at..]);
        push(&mut target, byte, lone || matches!(byte, b'?' | b'`'));
    }
    if !query.is_empty() {
        target.push('?');
        for byte in query.bytes() {
            push(&mut target, byte, byte == b'"');
        }
    }
    let begins = target.starts_with('/') || target == "*";
    begins.then(|| PathAndQuery::try_from(target).ok())?
}

/// The values of a parameter or header: an event has one of them or a list.
pub(crate) fn one_or_many(values: &Value) -> &[Value] {
    values.as_array().map_or(std::slice::from_ref(values), Vec::as_slice)
}

/// The query from pairs of names and values that are not decoded. `None` if a value is not a text.
pub(crate) fn query_of(parameters: &Value) -> Option<String> {
    let mut query = String::new();
    for (name, values) in parameters.as_object()? {
        for value in one_or_many(values) {
            if !query.is_empty() {
                query.push('&');
            }
            name.bytes().for_each(|byte| push(&mut query, byte, matches!(byte, b'&' | b'=')));
            query.push('=');
            value.as_str()?.bytes().for_each(|byte| push(&mut query, byte, byte == b'&'));
        }
    }
    Some(query)
}

/// Encodes the bytes that are not allowed in a target, and those that are `special` in this part of it.
fn push(target: &mut String, byte: u8, special: bool) {
    if special || !byte.is_ascii_graphic() || matches!(byte, b'#' | b'<' | b'>') {
        // Writing into a text never fails.
        let _ = write!(target, "%{byte:02X}");
    } else {
        target.push(char::from(byte));
    }
}

fn is_escape(bytes: &[u8]) -> bool {
    bytes.len() >= 3 && bytes[1].is_ascii_hexdigit() && bytes[2].is_ascii_hexdigit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(path: &str, query: &str) -> String {
        target(path, PathForm::Written, query).unwrap().to_string()
    }

    #[test]
    fn valid_targets_are_unchanged() {
        for (path, query) in [
            ("/", ""),
            ("//a//b/", "a=%2B+%20&b=&c=="),
            ("/a%2Fb%20c/../%2e;x=1", "q=a=b?c/d"),
            ("/100%", "100%"),
            ("/{a}|\"b\"\\^[c]'(d)*", "a=[1]{2}|`3`'^\\"),
            ("*", ""),
        ] {
            let whole = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
            assert_eq!(written(path, query), whole);
        }
        assert_eq!(written("", ""), "/");
    }

    #[test]
    fn invalid_bytes_of_a_target_are_encoded() {
        assert_eq!(written("/a?b#c d`", "x#y z\""), "/a%3Fb%23c%20d%60?x%23y%20z%22");
        assert_eq!(written("/caf\u{e9}\u{7f}\r\n", ""), "/caf%C3%A9%7F%0D%0A");
        for path in ["a", "http://elsewhere/", "?a", "**"] {
            assert_eq!(target(path, PathForm::Written, ""), None, "{path}");
        }
    }

    #[test]
    fn decoded_percent_sign_is_reencoded() {
        let decoded = |path| target(path, PathForm::Decoded, "").unwrap().to_string();
        assert_eq!(decoded("/100%"), "/100%25");
        assert_eq!(decoded("/50%/x"), "/50%25/x");
        assert_eq!(decoded("/a%20b"), "/a%20b", "one that may have been left as it was");
    }

    #[test]
    fn parameters_are_joined_to_the_original_query() {
        let query = |json: &str| query_of(&serde_json::from_str(json).unwrap());
        assert_eq!(query(r#"{"z":"%2B+%20","a":"","c":"="}"#).as_deref(), Some("z=%2B+%20&a=&c=="));
        assert_eq!(query(r#"{"b":["1","2"],"a":["3"]}"#).as_deref(), Some("b=1&b=2&a=3"));
        assert_eq!(query(r#"{"a&b=c":"d&e f"}"#).as_deref(), Some("a%26b%3Dc=d%26e%20f"));
        assert_eq!(query("{}").as_deref(), Some(""));
        assert_eq!(query(r#"{"a":1}"#), None);
        assert_eq!(query(r#"["a"]"#), None);
    }
}
