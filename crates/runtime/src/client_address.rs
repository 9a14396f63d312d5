//! Who a request comes from and by which scheme, as far as proxies that are trusted say so.

use std::net::IpAddr;

use http::HeaderMap;

/// Most proxies that may stand in front of the gate.
pub const TRUSTED_PROXIES_MAX: usize = 16;

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The visitor's address, an IPv4 one as such even where it came in its IPv6 form; `None` if nobody trusted says.
    pub address: Option<IpAddr>,
    /// Whether the visitor came by https.
    pub https: bool,
}

/// Reads `X-Forwarded-For` and `X-Forwarded-Proto` behind `trusted` proxies, each of which appends the address it was
/// called from: the visitor's own is the `trusted`-th from the end, whatever a visitor wrote before it. Without trusted
/// proxies it is the peer's.
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

/// Some proxies write a port behind the address.
fn parse_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse::<std::net::SocketAddr>().ok().map(|address| address.ip());
    text.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
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
        assert_eq!(address(&["203.0.113.9"], 2), None, "fewer entries than proxies: nobody to believe");
        assert_eq!(address(&["::ffff:203.0.113.9"], 1).as_deref(), Some("203.0.113.9"));
        assert_eq!(address(&["[::ffff:203.0.113.9]:443"], 1).as_deref(), Some("203.0.113.9"));
        let dual_stack = request_origin(&HeaderMap::new(), "::ffff:192.0.2.1".parse().ok(), 0);
        assert_eq!(dual_stack.address, "192.0.2.1".parse().ok());
        assert_eq!(address(&["garbage"], 1), None);
        assert_eq!(address(&[], 1), None);
    }
}
