//! The addresses and networks that count as one client.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
/// Prefix lengths of a client's address and network, for IPv4.
const V4_PREFIXES: (u8, u8) = (32, 24);
/// Prefix lengths of a client's address and network, for IPv6.
const V6_PREFIXES: (u8, u8) = (64, 48);
/// Shared by the customers of a carrier (RFC 6598).
const CARRIER_NAT: (Ipv4Addr, u8) = (Ipv4Addr::new(100, 64, 0, 0), 10);

/// The prefixes by which a client is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientNetworks {
    /// The address: IPv4 /32 or IPv6 /64.
    pub address: IpNet,
    /// The network: IPv4 /24 or IPv6 /48.
    pub network: IpNet,
}

impl ClientNetworks {
    /// The prefixes of an address. IPv4-mapped addresses are IPv4; 6to4 and Teredo addresses count by their own IPv6 prefix.
    /// `None` if the address says nothing about the client: a loopback, private, carrier-NAT, link-local, unique-local or
    /// unspecified address, which belongs to a proxy.
    pub fn of(address: IpAddr) -> Option<Self> {
        let address = address.to_canonical();
        if !is_usable(address) {
            return None;
        }
        let (longer, shorter) = if address.is_ipv4() { V4_PREFIXES } else { V6_PREFIXES };
        let prefix = |length| IpNet::new(address, length).ok().map(|prefix| prefix.trunc());
        Some(Self { address: prefix(longer)?, network: prefix(shorter)? })
    }
}

/// A network as stores keep it: whether it is IPv4 or IPv6, and the bytes of its prefix. Ordered by these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetworkPrefix([u8; Self::SIZE]);

impl NetworkPrefix {
    /// Size of the stored form: the version and the six bytes of an IPv6 /48, the last three of which are 0 for an IPv4 /24.
    pub const SIZE: usize = 7;
    const V4: u8 = 4;
    const V6: u8 = 6;

    /// The network of a client.
    pub fn of(network: IpNet) -> Self {
        let mut bytes = [0; Self::SIZE];
        match network {
            IpNet::V4(net) => {
                bytes[0] = Self::V4;
                bytes[1..4].copy_from_slice(&net.network().octets()[..3]);
            }
            IpNet::V6(net) => {
                bytes[0] = Self::V6;
                bytes[1..].copy_from_slice(&net.network().octets()[..6]);
            }
        }
        Self(bytes)
    }

    /// The network with this stored form; `None` if it is none.
    pub fn from_bytes(bytes: [u8; Self::SIZE]) -> Option<Self> {
        let is_valid = match bytes[0] {
            Self::V4 => bytes[4..] == [0; 3],
            version => version == Self::V6,
        };
        is_valid.then_some(Self(bytes))
    }

    /// The stored form.
    pub const fn as_bytes(&self) -> &[u8; Self::SIZE] {
        &self.0
    }

    /// The network.
    pub fn network(&self) -> IpNet {
        let [version, prefix @ ..] = &self.0;
        if *version == Self::V4 {
            let mut octets = [0; 4];
            octets[..3].copy_from_slice(&prefix[..3]);
            IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::from(octets), V4_PREFIXES.1))
        } else {
            let mut octets = [0; 16];
            octets[..prefix.len()].copy_from_slice(prefix);
            IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::from(octets), V6_PREFIXES.1))
        }
    }
}

impl fmt::Display for NetworkPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.network().fmt(f)
    }
}

/// Whether an address can be that of a visitor on the internet.
fn is_usable(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let is_carrier_nat = Ipv4Net::new(CARRIER_NAT.0, CARRIER_NAT.1).is_ok_and(|net| net.contains(&v4));
            !(v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_unspecified() || is_carrier_nat)
        }
        IpAddr::V6(v6) => {
            let is_local =
                v6.is_loopback() || v6.is_unspecified() || v6.is_unicast_link_local() || v6.is_unique_local();
            !is_local
        }
    }
}

/// What an operator says about a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkClass {
    /// Known visitors: no limit by address or network, and no proof of work.
    Trusted,
    /// Many visitors behind few addresses, such as a mobile carrier or a school: joins count as a part.
    Shared,
    /// Unlikely to be visitors, such as hosting companies: much proof of work.
    Suspicious,
    /// Nobody joins.
    Blocked,
}

crate::word_field!(NetworkClass {
    Trusted = "trusted", Shared = "shared", Suspicious = "suspicious", Blocked = "blocked",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_networks_are_read_as_written() {
        for (address, expected) in [("203.0.113.9", "203.0.113.0/24"), ("2001:db8:1:2::3", "2001:db8:1::/48")] {
            let network = NetworkPrefix::of(ClientNetworks::of(address.parse().unwrap()).unwrap().network);
            assert_eq!(NetworkPrefix::from_bytes(*network.as_bytes()), Some(network));
            assert_eq!(network.to_string(), expected);
        }
        assert_eq!(NetworkPrefix::from_bytes([5; 7]), None);
        assert_eq!(NetworkPrefix::from_bytes([4; 7]), None, "more than a /24");
    }

    fn networks(address: &str) -> Option<(String, String)> {
        let networks = ClientNetworks::of(address.parse().unwrap())?;
        Some((networks.address.to_string(), networks.network.to_string()))
    }

    #[track_caller]
    fn counted_as(address: &str, prefix: &str, network: &str) {
        assert_eq!(networks(address), Some((prefix.to_owned(), network.to_owned())), "{address}");
    }

    #[test]
    fn clients_are_counted_by_address_and_network() {
        counted_as("203.0.113.9", "203.0.113.9/32", "203.0.113.0/24");
        counted_as("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48");
        counted_as("::ffff:203.0.113.9", "203.0.113.9/32", "203.0.113.0/24");
        counted_as("2002:cb00:7109:1::1", "2002:cb00:7109:1::/64", "2002:cb00:7109::/48");
        counted_as("2001:0:1:2:3:4:5:6", "2001:0:1:2::/64", "2001:0:1::/48");
        counted_as("198.18.7.1", "198.18.7.1/32", "198.18.7.0/24");
    }

    #[test]
    fn addresses_of_proxies_are_not_counted() {
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.1.1",
            "0.0.0.0",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
        ] {
            assert_eq!(networks(address), None, "{address}");
        }
        assert!(networks("100.63.255.255").is_some() && networks("100.128.0.0").is_some());
    }
}
