//! What a header says on the other side of the proxy.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, InvalidHeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE},
};
use hyper::body::SizeHint;

use crate::respond::BYPASS_HEADER;

use super::{
    Forwarded, cookies,
    error::{Failure, ProxyError},
    upgrade::Upgrade,
};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const PASS: HeaderName = HeaderName::from_static("x-vestibule-pass");

/// Speak of one connection only: RFC 9110, 7.6.1, and what older texts and clients add.
const HOP_BY_HOP: [&str; 7] =
    ["connection", "http2-settings", "keep-alive", "proxy", "te", "transfer-encoding", "upgrade"];

/// Headers by which origins and their frameworks take another address, method, host or visitor for the request's own. The
/// gate has decided on what the request line says.
const CLAIMS: [&str; 22] = [
    "x-original-url",
    "x-rewrite-url",
    "x-original-uri",
    "x-original-method",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-host",
    "x-original-host",
    "x-http-host-override",
    "x-forwarded",
    "forwarded",
    "forwarded-for",
    "x-real-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "fastly-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-originating-ip",
    "x-remote-ip",
];

/// Turns the visitor's header into the origin's.
pub(super) fn prepare_request(
    headers: &mut HeaderMap,
    context: Forwarded<'_>,
    upgrade: Option<&Upgrade>,
) -> Result<(), Failure> {
    let takes_trailers = tokens(headers, &TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    drop_hop_by_hop(headers);
    // Without it no trailers are sent: whatever they claim would escape the rules of this function.
    headers.remove(TRAILER);
    headers.remove(EXPECT);
    drop_claims(headers, context.trusted);
    cookies::hide_own(headers);
    introduce(headers, context).map_err(|error| Failure::new(ProxyError::BadRequest, error))?;
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.append(CONNECTION, HeaderValue::from_static("te"));
    }
    if let Some(upgrade) = upgrade {
        headers.append(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, upgrade.protocols().clone());
    }
    Ok(())
}

/// Turns the origin's header into the visitor's. `Trailer` stays: trailers that it announces are handed on.
pub(super) fn prepare_answer(headers: &mut HeaderMap) {
    drop_hop_by_hop(headers);
}

/// Announces a body of unknown length even with methods that seldom have one, and then no other length.
pub(super) fn frame_request(headers: &mut HeaderMap, size: &SizeHint) {
    if size.exact().is_none() {
        headers.remove(CONTENT_LENGTH);
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

/// Leaves no length that the body does not have. In answers to `HEAD` it stays what it was.
pub(super) fn frame_answer(headers: &mut HeaderMap, size: &SizeHint) {
    if size.exact().is_none() {
        headers.remove(CONTENT_LENGTH);
    }
}

/// The members of a comma-separated list; those that are not ASCII are left out.
pub(super) fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    let members = headers.get_all(name).into_iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    members.filter_map(|member| std::str::from_utf8(member.trim_ascii()).ok()).filter(|member| !member.is_empty())
}

/// A visitor may not name what proxies in front of the gate have written as belonging to their connection.
fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION).filter_map(|name| name.parse().ok()).collect();
    drop_where(headers, |name| {
        HOP_BY_HOP.contains(&name.as_str())
            || name.as_str().starts_with("proxy-")
            || named.contains(name) && !is_forwarding(name.as_str())
    });
}

/// Drops what only the proxy may say, and what would make the request another one at the origin. An underscore counts as
/// a hyphen, because it does where a header becomes a variable (CGI, WSGI, PHP).
fn drop_claims(headers: &mut HeaderMap, trusted: bool) {
    drop_where(headers, |name| {
        let spelled = name.as_str().replace('_', "-");
        spelled.starts_with("x-vestibule-") || CLAIMS.contains(&spelled.as_str()) || is_forwarding(&spelled) && !trusted
    });
}

fn is_forwarding(name: &str) -> bool {
    name.starts_with("x-forwarded-")
}

fn introduce(headers: &mut HeaderMap, context: Forwarded<'_>) -> Result<(), InvalidHeaderValue> {
    let host = HeaderValue::from_str(context.host)?;
    headers.insert(HOST, host.clone());
    headers.insert(FORWARDED_HOST, host);
    headers.insert(FORWARDED_PROTO, HeaderValue::from_str(context.proto)?);
    if let Some(peer) = context.peer {
        let mut way: Vec<&[u8]> = headers.get_all(FORWARDED_FOR).iter().map(HeaderValue::as_bytes).collect();
        let peer = peer.to_canonical().to_string();
        way.push(peer.as_bytes());
        let way = HeaderValue::from_bytes(&way.join(b", ".as_slice()))?;
        headers.insert(FORWARDED_FOR, way);
    }
    if let Some(pass) = context.pass {
        headers.insert(PASS, pass.clone());
    }
    if let Some(reason) = context.bypass {
        headers.insert(BYPASS_HEADER, HeaderValue::from_static(reason));
    }
    Ok(())
}

fn drop_where(headers: &mut HeaderMap, unwanted: impl Fn(&HeaderName) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| unwanted(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}
