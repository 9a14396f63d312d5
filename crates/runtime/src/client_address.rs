//! The client address and the scheme of a request, from the headers of trusted proxies.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use http::{HeaderMap, HeaderName, HeaderValue};

/// Maximum number of trusted proxies.
pub const TRUSTED_PROXIES_MAX: usize = 16;
const X_FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED: &str = "forwarded";
const X_FORWARDED_PROTO: &str = "x-forwarded-proto";
/// The header of `CloudFront` with address and port.
const VIEWER_ADDRESS: &str = "cloudfront-viewer-address";

/// An extension of requests: the address of the client or proxy that opened the connection; `None` for a Unix socket.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub Option<IpAddr>);

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The visitor's address, with IPv4-mapped addresses as IPv4; `None` if no trusted proxy states it.
    pub address: Option<IpAddr>,
    /// Whether the request came through the trusted proxies, according to the header that states the address, even if none can be read.
    pub from_proxies: bool,
    /// Whether the visitor uses https.
    pub https: bool,
    /// Whether the request came through more proxies than are trusted, according to its headers. The visitor can cause this.
    pub extra_hops: bool,
}

/// Which header of a trusted proxy states the visitor's address: `VESTIBULE_CLIENT_ADDRESS`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ClientAddressSource {
    /// `X-Forwarded-For`, to which each proxy appends its peer.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239), to which each proxy appends an element.
    Forwarded,
    /// A header that one of the trusted proxies sets, such as `CF-Connecting-IP`. Its value is one address; of several, those before
    /// the last one may be the client's.
    Header(HeaderName),
}

/// A value of `VESTIBULE_CLIENT_ADDRESS` that is not the name of a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be \"x-forwarded-for\", \"forwarded\" or the name of a header that a trusted proxy sets, such as \"cf-connecting-ip\""
)]
pub struct InvalidClientAddressSource;

impl FromStr for ClientAddressSource {
    type Err = InvalidClientAddressSource;

    fn from_str(name: &str) -> Result<Self, InvalidClientAddressSource> {
        match name.to_ascii_lowercase().as_str() {
            X_FORWARDED_FOR => Ok(Self::XForwardedFor),
            FORWARDED => Ok(Self::Forwarded),
            name => name.parse().map(Self::Header).map_err(|_| InvalidClientAddressSource),
        }
    }
}

/// Reads the client address and `X-Forwarded-Proto` behind `trusted` proxies. Each of them appends the address of its peer, so
/// the visitor's address is the `trusted`-th from the end, whatever the visitor sent in the header. Without trusted proxies it
/// is the address of the peer.
pub fn request_origin(
    headers: &HeaderMap,
    peer: Option<IpAddr>,
    trusted: usize,
    source: &ClientAddressSource,
) -> RequestOrigin {
    if trusted == 0 {
        let extra_hops = headers.contains_key(X_FORWARDED_FOR) || headers.contains_key(FORWARDED);
        let address = peer.map(|peer| peer.to_canonical());
        return RequestOrigin { address, from_proxies: false, https: false, extra_hops };
    }
    let https = forwarded_schemes(headers).last().unwrap_or_default();
    let listed = match source {
        ClientAddressSource::XForwardedFor => all_values(headers, X_FORWARDED_FOR).collect(),
        ClientAddressSource::Forwarded => forwarded_for(headers),
        ClientAddressSource::Header(name) => {
            let address = all_values(headers, name.as_str()).last().and_then(|value| address_in(name, value));
            let from_proxies = headers.contains_key(name);
            return RequestOrigin { address, from_proxies, https, extra_hops: has_entry_before(headers, address) };
        }
    };
    let index = listed.len().checked_sub(trusted);
    let address = index.and_then(|index| parse_address(listed[index]));
    RequestOrigin { address, from_proxies: index.is_some(), https, extra_hops: listed.len() > trusted }
}

/// Whether each scheme that `X-Forwarded-Proto` names is one over TLS. The last is that of the proxy nearest to this process.
pub fn forwarded_schemes(headers: &HeaderMap) -> impl Iterator<Item = bool> {
    all_values(headers, X_FORWARDED_PROTO).filter(|scheme| !scheme.is_empty()).map(is_secure_scheme)
}

/// Whether a scheme is one over TLS. Some proxies name that of the web socket.
pub fn is_secure_scheme(scheme: &str) -> bool {
    ["https", "wss"].iter().any(|secure| scheme.eq_ignore_ascii_case(secure))
}

/// Whether `X-Forwarded-For` lists another address before this one, which is that of a proxy then.
fn has_entry_before(headers: &HeaderMap, address: Option<IpAddr>) -> bool {
    let index = all_values(headers, X_FORWARDED_FOR).position(|entry| parse_address(entry) == address);
    address.is_some() && index.is_some_and(|index| index > 0)
}

/// The `for` of each element of `Forwarded`, in order; empty for an element without one.
fn forwarded_for(headers: &HeaderMap) -> Vec<&str> {
    let lines = headers.get_all(FORWARDED).into_iter().map(HeaderValue::as_bytes);
    let elements = lines.flat_map(|line| split_unquoted(line, b','));
    let node = |element| {
        let pairs = split_unquoted(element, b';').into_iter().filter_map(|pair| text_of(pair).split_once('='));
        let found = pairs.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
        found.map_or("", |(_, value)| value.trim().trim_matches('"'))
    };
    elements.map(node).collect()
}

/// The parts of a line between separators that are not in quotation marks. Addresses contain no escapes. An odd number of quotation
/// marks quotes nothing: else a client that opens one hides what the proxies append.
fn split_unquoted(line: &[u8], separator: u8) -> Vec<&[u8]> {
    let is_paired = line.split(|byte| *byte == b'"').count() % 2 == 1;
    let mut quoted = false;
    line.split(|byte| {
        quoted ^= is_paired && *byte == b'"';
        *byte == separator && !quoted
    })
    .collect()
}

/// The address in a header of one proxy. That of `CloudFront` always ends with a port, also after an IPv6 address without brackets.
fn address_in(name: &HeaderName, text: &str) -> Option<IpAddr> {
    if name == VIEWER_ADDRESS {
        let (address, _) = text.rsplit_once(':')?;
        return parse_address(address);
    }
    parse_address(text)
}

fn all_values<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    headers.get_all(name).into_iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(text_of)
}

/// One entry of a list as text. It is empty if it is no UTF-8, so that a client who sends such bytes loses its own entry only.
fn text_of(entry: &[u8]) -> &str {
    std::str::from_utf8(entry).unwrap_or_default().trim()
}

/// Some proxies append a port to the address, or write an IPv6 address in brackets.
fn parse_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

/// The network that counts as one client: an IPv4 address or an IPv6 /64 network. `None` for this machine, where a web
/// server or load test has one address for many clients.
pub fn client_network(address: IpAddr) -> Option<IpAddr> {
    let address = address.to_canonical();
    (!address.is_loopback()).then(|| match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(forwarded: &[&str], trusted: usize) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.parse().unwrap());
        }
        address_from("x-forwarded-for", &headers, trusted)
    }

    fn address_from(source: &str, headers: &HeaderMap, trusted: usize) -> Option<String> {
        let origin = request_origin(headers, "192.0.2.1".parse().ok(), trusted, &source.parse().unwrap());
        origin.address.map(|address| address.to_string())
    }

    fn header(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), value.parse().unwrap())])
    }

    #[test]
    fn forwarded_elements_name_the_client() {
        let forwarded = |value, trusted| address_from("Forwarded", &header("forwarded", value), trusted);
        assert_eq!(forwarded("for=203.0.113.9;proto=https;by=192.0.2.7", 1).as_deref(), Some("203.0.113.9"));
        assert_eq!(
            forwarded("for=10.0.0.1, proto=http; For=\"[2001:db8::1]:4711\", for=192.0.2.7", 2).as_deref(),
            Some("2001:db8::1")
        );
        assert_eq!(forwarded("for=\"203.0.113.9, 10.0.0.1\"", 1), None, "a quoted comma separates nothing");
        assert_eq!(forwarded("for=_hidden", 1), None);
        assert_eq!(forwarded("for=unknown", 1), None);
        assert_eq!(forwarded("proto=https", 1), None);
        assert_eq!(forwarded("for=203.0.113.9", 2), None);
        assert_eq!(forwarded("for=203.0.113.9", 0).as_deref(), Some("192.0.2.1"));
    }

    #[test]
    fn unclosed_quotation_mark_hides_no_proxy() {
        let forwarded = |value: &str, trusted| address_from("Forwarded", &header("forwarded", value), trusted);
        for sent in ["for=192.0.2.9;by=\"", "for=\"", "\"", "for=192.0.2.9;by=\"\\\"\"", "for=\"a\", by=\""] {
            let behind_one = format!("{sent}, for=203.0.113.9");
            assert_eq!(forwarded(&behind_one, 1).as_deref(), Some("203.0.113.9"), "{sent}");
            let behind_two = format!("{sent}, for=\"[2001:db8::1]:4711\", for=203.0.113.9;proto=https");
            assert_eq!(forwarded(&behind_two, 2).as_deref(), Some("2001:db8::1"), "{sent}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_spoil_one_entry() {
        let of = |name: &'static str, value: &[u8], trusted| {
            let headers =
                HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap())]);
            let origin = request_origin(&headers, None, trusted, &name.parse().unwrap());
            (origin.address.map(|address| address.to_string()), origin.from_proxies)
        };
        let client = || Some("203.0.113.9".to_owned());
        assert_eq!(of("x-forwarded-for", b"\xff, 203.0.113.9", 1), (client(), true));
        assert_eq!(of("x-forwarded-for", b"\xff\x80,203.0.113.9 , 198.51.100.2", 2), (client(), true));
        assert_eq!(of("forwarded", b"for=\xff, for=203.0.113.9;proto=https", 1), (client(), true));
        assert_eq!(of("forwarded", b"by=\"\xff, for=203.0.113.9", 1), (client(), true));
        assert_eq!(of("x-forwarded-for", b"\xff", 1), (None, true), "a proxy that states no address");
        assert_eq!(of("x-forwarded-for", b"\xff", 2), (None, false), "past a proxy");
        assert_eq!(of("cf-connecting-ip", b"\xff", 1), (None, true));
    }

    #[test]
    fn proxies_name_the_scheme_in_any_case() {
        let https = |value| {
            request_origin(&header("x-forwarded-proto", value), None, 1, &ClientAddressSource::XForwardedFor).https
        };
        for secure in ["https", "HTTPS", "wss", "http, https", "https,"] {
            assert!(https(secure), "{secure}");
        }
        for other in ["http", "https, http", "", "ws", "httpsx"] {
            assert!(!https(other), "{other}");
        }
    }

    #[test]
    fn header_of_a_proxy_names_the_client() {
        let cloudflare =
            |trusted| address_from("CF-Connecting-IP", &header("cf-connecting-ip", "203.0.113.9"), trusted);
        assert_eq!(cloudflare(2).as_deref(), Some("203.0.113.9"));
        assert_eq!(cloudflare(0).as_deref(), Some("192.0.2.1"), "no proxy is trusted");
        let viewer = |value| address_from("cloudfront-viewer-address", &header("cloudfront-viewer-address", value), 1);
        assert_eq!(viewer("203.0.113.9:46532").as_deref(), Some("203.0.113.9"));
        assert_eq!(viewer("2001:db8::17:46532").as_deref(), Some("2001:db8::17"));
        assert_eq!(viewer("203.0.113.9"), None);
        assert_eq!(address_from("true-client-ip", &HeaderMap::new(), 1), None);
        let mut appended = header("true-client-ip", "198.51.100.1");
        appended.append("true-client-ip", "203.0.113.9".parse().unwrap());
        assert_eq!(address_from("true-client-ip", &appended, 1).as_deref(), Some("203.0.113.9"), "the proxy's is last");
        let joined = header("true-client-ip", "198.51.100.1, 203.0.113.9");
        assert_eq!(address_from("true-client-ip", &joined, 1).as_deref(), Some("203.0.113.9"));
        assert_eq!("no header".parse::<ClientAddressSource>(), Err(InvalidClientAddressSource));
    }

    #[test]
    fn more_entries_than_proxies_are_extra_hops() {
        let extra = |source: &str, headers: HeaderMap, trusted| {
            request_origin(&headers, None, trusted, &source.parse().unwrap()).extra_hops
        };
        let list = || header("x-forwarded-for", "203.0.113.9, 198.51.100.2");
        assert_eq!([0, 1, 2, 3].map(|trusted| extra("x-forwarded-for", list(), trusted)), [true, true, false, false]);
        assert!(!extra("x-forwarded-for", HeaderMap::new(), 0));
        assert!(extra("forwarded", header("forwarded", "for=203.0.113.9, for=198.51.100.2"), 1));
        let named = |address: &str, listed: &str| {
            let mut headers = header("x-forwarded-for", listed);
            headers.insert("cf-connecting-ip", address.parse().unwrap());
            extra("cf-connecting-ip", headers, 1)
        };
        assert!(named("198.51.100.2", "203.0.113.9, 198.51.100.2"), "the header names the proxy in front");
        assert!(!named("203.0.113.9", "203.0.113.9, 198.51.100.2"), "the proxies are behind the client");
        assert!(!named("203.0.113.9", "198.51.100.2"), "the list does not name it");
        assert!(!extra("cf-connecting-ip", list(), 1), "no header names a client");
    }

    #[test]
    fn clients_cannot_forge_their_address() {
        assert_eq!(address(&["203.0.113.9"], 0).as_deref(), Some("192.0.2.1"));
        assert_eq!(address(&["10.0.0.1, 203.0.113.9"], 1).as_deref(), Some("203.0.113.9"));
        assert_eq!(address(&["10.0.0.1", "203.0.113.9, 198.51.100.2:443"], 2).as_deref(), Some("203.0.113.9"));
        assert_eq!(address(&["203.0.113.9"], 2), None, "fewer entries than proxies: no trusted address");
        assert_eq!(address(&["::ffff:203.0.113.9"], 1).as_deref(), Some("203.0.113.9"));
        assert_eq!(address(&["[::ffff:203.0.113.9]:443"], 1).as_deref(), Some("203.0.113.9"));
        let dual_stack =
            request_origin(&HeaderMap::new(), "::ffff:192.0.2.1".parse().ok(), 0, &ClientAddressSource::XForwardedFor);
        assert_eq!(dual_stack.address, "192.0.2.1".parse().ok());
        assert_eq!(address(&["garbage"], 1), None);
        assert_eq!(address(&[], 1), None);
    }

    #[test]
    fn ipv6_client_is_its_64_bit_network() {
        let network = |address: &str| client_network(address.parse().unwrap()).map(|network| network.to_string());
        assert_eq!(network("2001:db8:1:2:3::4").as_deref(), Some("2001:db8:1:2::"));
        assert_eq!(network("::ffff:192.0.2.1").as_deref(), Some("192.0.2.1"));
        assert_eq!(network("127.0.0.1"), None);
        assert_eq!(network("::1"), None);
    }
}
