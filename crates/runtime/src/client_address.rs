//! The client address and the scheme of a request, from the headers of trusted proxies.

use std::net::{IpAddr, Ipv6Addr};

use http::HeaderMap;

/// Maximum number of trusted proxies.
pub const TRUSTED_PROXIES_MAX: usize = 16;

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The visitor's address, with IPv4-mapped addresses as IPv4; `None` if no trusted proxy states it.
    pub address: Option<IpAddr>,
    /// Whether the visitor uses https.
    pub https: bool,
}

/// Reads `X-Forwarded-For` and `X-Forwarded-Proto` behind `trusted` proxies. Each of them appends the address of its peer, so
/// the visitor's address is the `trusted`-th from the end, whatever the visitor sent in the header. Without trusted proxies it
/// is the address of the peer.
#[must_use]
pub fn request_origin(headers: &HeaderMap, peer: Option<IpAddr>, trusted: usize) -> RequestOrigin {
    if trusted == 0 {
        return RequestOrigin { address: peer.map(|peer| peer.to_canonical()), https: false };
    }
    let listed: Vec<&str> = all_values(headers, "x-forwarded-for").collect();
    let address = listed.len().checked_sub(trusted).and_then(|index| parse_address(listed[index]));
    let https =
        all_values(headers, "x-forwarded-proto").last().is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
    RequestOrigin { address, https }
}

fn all_values<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a str> {
    headers.get_all(name).into_iter().flat_map(|value| value.to_str().unwrap_or_default().split(',')).map(str::trim)
}

/// Some proxies append a port to the address.
fn parse_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

/// The network that counts as one client: an IPv4 address or an IPv6 /64 network. `None` for this machine, where a web
/// server or load test has one address for many clients.
#[must_use]
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
        request_origin(&headers, "192.0.2.1".parse().ok(), trusted).address.map(|address| address.to_string())
    }

    #[test]
    fn clients_cannot_forge_their_address() {
        assert_eq!(address(&["203.0.113.9"], 0).as_deref(), Some("192.0.2.1"));
        assert_eq!(address(&["10.0.0.1, 203.0.113.9"], 1).as_deref(), Some("203.0.113.9"));
        assert_eq!(address(&["10.0.0.1", "203.0.113.9, 198.51.100.2:443"], 2).as_deref(), Some("203.0.113.9"));
        assert_eq!(address(&["203.0.113.9"], 2), None, "fewer entries than proxies: no trusted address");
        assert_eq!(address(&["::ffff:203.0.113.9"], 1).as_deref(), Some("203.0.113.9"));
        assert_eq!(address(&["[::ffff:203.0.113.9]:443"], 1).as_deref(), Some("203.0.113.9"));
        let dual_stack = request_origin(&HeaderMap::new(), "::ffff:192.0.2.1".parse().ok(), 0);
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
