//! The network of a client, as pre-tickets know it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Length of the prefix of an IPv4 network.
const V4_PREFIX: u8 = 24;
/// Length of the prefix of an IPv6 network.
const V6_PREFIX: u8 = 48;

/// The network of a client: IPv4 /24 or IPv6 /48. `None` for an address that does not say where a client is: one of this machine
/// or of a private network.
pub(crate) fn network_of(address: IpAddr) -> Option<String> {
    match address.to_canonical() {
        IpAddr::V4(address) if is_public_v4(address) => {
            let network = Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - V4_PREFIX)));
            Some(format!("{network}/{V4_PREFIX}"))
        }
        IpAddr::V6(address) if is_public_v6(address) => {
            let network = Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - V6_PREFIX)));
            Some(format!("{network}/{V6_PREFIX}"))
        }
        _ => None,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    let is_carrier_nat = first == 100 && (64..128).contains(&second);
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_unspecified()
        || is_carrier_nat)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    !(address.is_loopback() || address.is_unspecified() || address.is_unique_local() || address.is_unicast_link_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_of_public_addresses_are_known() {
        let network = |address: &str| network_of(address.parse().unwrap());
        assert_eq!(network("203.0.113.9").as_deref(), Some("203.0.113.0/24"));
        assert_eq!(network("::ffff:203.0.113.9").as_deref(), Some("203.0.113.0/24"));
        assert_eq!(network("2001:db8:1:2::9").as_deref(), Some("2001:db8:1::/48"));
        for inside in ["127.0.0.1", "10.1.2.3", "192.168.0.1", "100.64.0.1", "169.254.1.1", "0.0.0.0"] {
            assert_eq!(network(inside), None, "{inside}");
        }
        for inside in ["::1", "fd00::1", "fe80::1", "::"] {
            assert_eq!(network(inside), None, "{inside}");
        }
    }
}
