//! What makes two orders equal (H4).

use std::borrow::Cow;

use axum::body::Bytes;
use http::{Method, header};
use memchr::memmem;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use vestibule_core::hex;
use vestibule_core::identity::IdentityToken;
use vestibule_core::jobs::{DeduplicationId, Payload};
use vestibule_core::settings::IdentityKind;

use crate::request::RequestInfo;

const MULTIPART: &str = "multipart/form-data";
/// Maximum length of a boundary (RFC 2046, 5.1.1). A form with a longer one is compared as a whole.
const BOUNDARY_MAX: usize = 70;

/// The deduplication ID of an order: the visitor's `Idempotency-Key`, or a hash of method, path, query, content and credentials.
pub(super) fn deduplication_id(info: &RequestInfo, target: &str, body: &Bytes) -> Option<DeduplicationId> {
    if let Some(key) = info.headers.get("idempotency-key").filter(|key| !key.is_empty()) {
        return id_of_key(key.as_bytes());
    }
    let content_type = info.header(header::CONTENT_TYPE).unwrap_or_default();
    let credentials = credentials(info.header(header::AUTHORIZATION).unwrap_or_default());
    hash(&info.method, target, content_type, body, &credentials).parse().ok()
}

/// What an `Authorization` header says of who sends the order. Cookies say that, too, but any of them may change from one click to the
/// next, as do the credentials of other schemes, which are signed for one request: a double click would be two orders.
fn credentials(authorization: &str) -> Cow<'_, str> {
    let (scheme, token) = authorization.split_once(' ').unwrap_or((authorization, ""));
    if scheme.eq_ignore_ascii_case("bearer") {
        return bearer_of(token.trim()).map_or(authorization.into(), Into::into);
    }
    if scheme.eq_ignore_ascii_case("basic") { authorization.into() } else { "".into() }
}

/// Whose token this is, if it is a JWT: clients renew these every few minutes. The session sends it, so nothing is gained by a forged one.
fn bearer_of(token: &str) -> Option<String> {
    let token = IdentityToken::read(token.as_bytes(), IdentityKind::Jwt).ok()?;
    let (issuer, subject) = token.claimed_bearer()?;
    Some(json!([issuer, subject]).to_string())
}

/// The deduplication ID of an `Idempotency-Key`: the key, or its hash if it is too long or has characters that no ID has.
fn id_of_key(key: &[u8]) -> Option<DeduplicationId> {
    let valid = std::str::from_utf8(key).ok().and_then(|key| key.parse().ok());
    valid.or_else(|| format!("key-sha256-{}", hex(Sha256::digest(key))).parse().ok())
}

fn hash(method: &Method, target: &str, content_type: &str, body: &[u8], credentials: &str) -> String {
    let content = comparable(content_type, body).hash();
    let digest = Sha256::new()
        .chain_update(method.as_str())
        .chain_update([0])
        .chain_update(target)
        .chain_update([0])
        .chain_update(content)
        .chain_update(credentials)
        .finalize();
    format!("sha256-{}", hex(digest))
}

/// The content as it is compared. The boundary between the parts of a form differs each time that a browser sends it, so its
/// parts are compared.
fn comparable(content_type: &str, body: &[u8]) -> Payload {
    let whole = || Payload { content_type: content_type.to_owned(), bytes: body.to_vec() };
    let Some(boundary) = boundary(content_type) else { return whole() };
    let delimiter = format!("--{boundary}");
    let mut bytes = Vec::with_capacity(body.len());
    for part in split(body, delimiter.as_bytes()) {
        // With its length before each part, different parts are never equal.
        bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
        bytes.extend_from_slice(part);
    }
    Payload { content_type: MULTIPART.to_owned(), bytes }
}

/// The boundary of a form with parts.
fn boundary(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').map(str::trim);
    parameters.next().filter(|media_type| media_type.eq_ignore_ascii_case(MULTIPART))?;
    parameters
        .find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let value = value.trim_matches('"');
            (name.eq_ignore_ascii_case("boundary") && !value.is_empty()).then_some(value)
        })
        .filter(|boundary| boundary.len() <= BOUNDARY_MAX)
}

/// The parts of a body, in linear time: the visitor chooses both the body and the delimiter.
fn split<'a>(body: &'a [u8], delimiter: &[u8]) -> Vec<&'a [u8]> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for at in memmem::find_iter(body, delimiter) {
        parts.push(&body[start..at]);
        start = at + delimiter.len();
    }
    parts.push(&body[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn form(boundary: &str, fields: &[(&str, &str)]) -> (String, Vec<u8>) {
        let part = |(name, value): &(&str, &str)| {
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        };
        let body = fields.iter().map(part).collect::<String>() + &format!("--{boundary}--\r\n");
        (format!("multipart/form-data; boundary={boundary}"), body.into_bytes())
    }

    fn of((content_type, body): &(String, Vec<u8>)) -> String {
        hash(&Method::POST, "/checkout", content_type, body, "")
    }

    #[test]
    fn boundary_does_not_count() {
        let fields = [("ticket", "a"), ("seat", "1")];
        let one = form("----WebKitFormBoundaryA1", &fields);
        assert_eq!(of(&one), of(&form("----WebKitFormBoundaryB2", &fields)));
        assert_eq!(of(&one), of(&(one.0.replace("boundary=", "Boundary=\"") + "\"", one.1.clone())), "in quotes");
        for other in [&[("ticket", "a"), ("seat", "2")][..], &[("ticket", "a")], &[("seat", "1"), ("ticket", "a")]] {
            assert_ne!(of(&one), of(&form("x", other)), "{other:?}");
        }
    }

    #[test]
    fn form_with_a_long_boundary_is_compared_as_a_whole() {
        let fields = [("seat", "1")];
        let at_limit = ["a", "b"].map(|letter| of(&form(&letter.repeat(BOUNDARY_MAX), &fields)));
        assert_eq!(at_limit[0], at_limit[1]);
        let above = ["a", "b"].map(|letter| of(&form(&letter.repeat(BOUNDARY_MAX + 1), &fields)));
        assert_ne!(above[0], above[1]);
    }

    #[test]
    fn parts_are_what_is_between_delimiters() {
        for (body, expected) in
            [("", vec![""]), ("a", vec!["a"]), ("--x", vec!["", ""]), ("a--x--xb----x", vec!["a", "", "b--", ""])]
        {
            let expected: Vec<&[u8]> = expected.into_iter().map(str::as_bytes).collect();
            assert_eq!(split(body.as_bytes(), b"--x"), expected, "{body}");
        }
    }

    #[test]
    fn every_key_counts() {
        let id = |key: &str| id_of_key(key.as_bytes()).unwrap();
        assert_eq!(id("order-1").as_str(), "order-1");
        for key in ["order 1".to_owned(), "ü".to_owned(), "x".repeat(101)] {
            assert_eq!(id(&key), id(&key));
            assert_ne!(id(&key), id(&format!("{key}2")), "{key}");
        }
        assert!(id_of_key(b"\xff").is_some());
    }

    #[test]
    fn renewed_tokens_name_the_same_user() {
        let jwt = |claims: serde_json::Value| {
            let [header, claims] =
                [json!({ "alg": "RS256" }), claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
            format!("Bearer {header}.{claims}.c2lnbmF0dXJl")
        };
        let of = |issuer: &str, subject: &str, issued_at: u64| {
            jwt(json!({ "iss": issuer, "sub": subject, "iat": issued_at, "exp": issued_at + 300 }))
        };
        let first = of("https://id.example.com", "user-1", 1);
        assert_eq!(credentials(&first), credentials(&of("https://id.example.com", "user-1", 2)));
        for other in [of("https://id.example.com", "user-2", 1), of("https://other.example.com", "user-1", 1)] {
            assert_ne!(credentials(&first), credentials(&other), "{other}");
        }
        // Without a subject, and tokens that are none, are compared as a whole.
        for whole in
            [jwt(json!({ "iss": "https://id.example.com" })), "Bearer opaque".to_owned(), "Basic YTpi".to_owned()]
        {
            assert_eq!(credentials(&whole), whole);
        }
        assert_eq!(credentials("DPoP opaque"), "");
    }

    #[test]
    fn each_part_of_an_order_counts() {
        let base = hash(&Method::POST, "/a?b", "text/plain", b"c", "");
        assert_eq!(base, hash(&Method::POST, "/a?b", "text/plain", b"c", ""));
        for other in [
            hash(&Method::PUT, "/a?b", "text/plain", b"c", ""),
            hash(&Method::POST, "/a", "text/plain", b"c", ""),
            hash(&Method::POST, "/a?b", "text/html", b"c", ""),
            hash(&Method::POST, "/a?b", "text/plain", b"", ""),
            hash(&Method::POST, "/a?b", "text/plain", b"c", "Bearer a"),
        ] {
            assert_ne!(base, other);
        }
        let json = |text: &str| hash(&Method::POST, "/", "application/json", text.as_bytes(), "");
        assert_eq!(json(r#"{"a":1,"b":2}"#), json(r#"{ "b": 2, "a": 1 }"#));
        assert!(base.parse::<DeduplicationId>().is_ok(), "{base}");
    }
}
