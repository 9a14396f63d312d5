//! Headers of requests and responses as the other side receives them.

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, InvalidHeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE},
};
use hyper::body::SizeHint;
use vestibule_core::settings::name_with_hyphens;

use crate::error::{Failure, ProxyError};
use crate::forwarded::Forwarded;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Headers of one connection: RFC 9110, 7.6.1, and those of older specifications and clients.
const HOP_BY_HOP: [&str; 7] =
    ["connection", "http2-settings", "keep-alive", "proxy", "te", "transfer-encoding", "upgrade"];

/// Headers by which origins and their frameworks override the path, method, host or client address. The caller has decided
/// on what the request line says.
const OVERRIDES: [&str; 32] = [
    "x-original-url",
    "x-rewrite-url",
    "x-original-uri",
    "x-original-path",
    "x-envoy-original-path",
    "x-http-path-override",
    "x-original-method",
    "x-method",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-host",
    "x-original-host",
    "x-real-host",
    "x-http-host-override",
    "x-forwarded",
    "x-forwarded-prefix",
    "x-forwarded-uri",
    "forwarded",
    "forwarded-for",
    "x-real-ip",
    "true-client-ip",
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "fastly-client-ip",
    "client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-originating-ip",
    "x-remote-ip",
    "x-azure-clientip",
    "x-envoy-external-address",
];

/// Changes the headers of the visitor's request into those that the origin receives, for a request that is sent later.
///
/// # Errors
/// The host cannot be a header.
pub fn prepare_later_request(headers: &mut HeaderMap, context: Forwarded<'_>) -> Result<(), ProxyError> {
    prepare_request(headers, context, None).map_err(|failure| failure.kind)
}

/// Changes the headers of the visitor's request into those that the origin receives. `upgrade` names the protocols of an
/// upgrade that is forwarded.
pub(super) fn prepare_request(
    headers: &mut HeaderMap,
    context: Forwarded<'_>,
    upgrade: Option<&HeaderValue>,
) -> Result<(), Failure> {
    let takes_trailers = tokens(headers, &TE).any(|token| token.eq_ignore_ascii_case("trailers"));
    drop_hop_by_hop(headers);
    // Without it no trailers are sent. They would bypass the rules of this function.
    headers.remove(TRAILER);
    headers.remove(EXPECT);
    drop_overrides(headers, &context);
    add_forwarded(headers, context).map_err(|error| Failure::new(ProxyError::BadRequest, error))?;
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.append(CONNECTION, HeaderValue::from_static("te"));
    }
    if let Some(protocols) = upgrade {
        headers.append(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocols.clone());
    }
    Ok(())
}

/// Changes the headers of the origin's response into those that the visitor receives. `Trailer` stays, because trailers are
/// forwarded.
pub fn prepare_response(headers: &mut HeaderMap) {
    drop_hop_by_hop(headers);
}

/// Announces a body of unknown length, even with methods that rarely have one.
pub(super) fn frame_request(headers: &mut HeaderMap, size: &SizeHint) {
    if size.exact().is_none() {
        headers.remove(CONTENT_LENGTH);
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
}

/// Removes the length of a body of unknown length. In responses to `HEAD` it stays unchanged.
pub(super) fn frame_response(headers: &mut HeaderMap, size: &SizeHint) {
    if size.exact().is_none() {
        headers.remove(CONTENT_LENGTH);
    }
}

/// The members of a comma-separated list, without those that are not ASCII.
pub(super) fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    let members = headers.get_all(name).into_iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    members.filter_map(|member| std::str::from_utf8(member.trim_ascii()).ok()).filter(|member| !member.is_empty())
}

/// `Connection` cannot name `X-Forwarded-*`, which trusted proxies have set.
fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION).filter_map(|name| name.parse().ok()).collect();
    drop_where(headers, |name| is_hop_by_hop(name.as_str()) || named.contains(name) && !is_forwarding(name.as_str()));
}

/// Removes headers that would override the request at the origin, and `X-Forwarded-*` unless a trusted proxy sent them. No proxy
/// spells its headers in another way than with hyphens. Any header that is spelled so is dropped if the origin can take it for one
/// of the connection, for one that has been sent, too, or for one that is set.
fn drop_overrides(headers: &mut HeaderMap, context: &Forwarded<'_>) {
    let others: Vec<HeaderName> = headers.keys().chain(context.headers.keys()).cloned().collect();
    drop_where(headers, |name| {
        let read = name_with_hyphens(name.as_str());
        let is_read_so = read == name.as_str();
        let is_of_other = || others.iter().any(|other| other.as_str() == read);
        OVERRIDES.contains(&read.as_str())
            || is_forwarding(&read) && !(context.trusted && is_read_so)
            || !is_read_so && (is_hop_by_hop(&read) || CONTENT_LENGTH == read.as_str() || is_of_other())
    });
}

fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP.contains(&name) || name.starts_with("proxy-")
}

fn is_forwarding(name: &str) -> bool {
    name.starts_with("x-forwarded-")
}

fn add_forwarded(headers: &mut HeaderMap, context: Forwarded<'_>) -> Result<(), InvalidHeaderValue> {
    let host = HeaderValue::from_str(context.host)?;
    headers.insert(HOST, host.clone());
    headers.insert(FORWARDED_HOST, host);
    headers.insert(FORWARDED_PROTO, HeaderValue::from_str(context.proto)?);
    if let Some(peer) = context.peer {
        let mut addresses: Vec<&[u8]> = headers.get_all(FORWARDED_FOR).iter().map(HeaderValue::as_bytes).collect();
        let peer = peer.to_canonical().to_string();
        addresses.push(peer.as_bytes());
        let addresses = HeaderValue::from_bytes(&addresses.join(b", ".as_slice()))?;
        headers.insert(FORWARDED_FOR, addresses);
    }
    headers.extend(context.headers);
    Ok(())
}

fn drop_where(headers: &mut HeaderMap, unwanted: impl Fn(&HeaderName) -> bool) {
    let names: Vec<HeaderName> = headers.keys().filter(|name| unwanted(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}
