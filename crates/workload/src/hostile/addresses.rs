//! The addresses of clients, from ranges that are reserved for benchmarks and documentation: 198.18.0.0/15 (RFC 2544) and
//! `2001:db8::/32` (RFC 3849). A gate with one trusted proxy reads them from `X-Forwarded-For`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Hostile, NETWORKS_MAX};

/// Number of /24 networks of 198.18.0.0/15.
const V4_NETWORKS: u32 = 512;
/// Number of addresses used of an IPv4 network.
const V4_ADDRESSES: u32 = 254;
/// The first address of 198.18.0.0/15.
const V4_FIRST: u32 = u32::from_be_bytes([198, 18, 0, 0]);
/// The first two groups of `2001:db8::/32`.
const V6_FIRST: [u16; 2] = [0x2001, 0xdb8];

/// The networks of a group.
#[derive(Debug, Clone, Copy)]
struct GroupNetworks {
    /// The number of its first client.
    first_client: u32,
    addresses: u32,
    networks: u32,
    /// The first network, of IPv4 or IPv6.
    first_network: u32,
    is_v4: bool,
}

/// The addresses of all clients of a workload. Visitors have an IPv6 address each, spread over [`NETWORKS_MAX`] networks.
#[derive(Debug, Clone)]
pub(crate) struct ClientAddresses {
    groups: Vec<GroupNetworks>,
}

impl ClientAddresses {
    /// The addresses of this many visitors, and of the hostile clients after them. `None` without hostile clients: all requests
    /// then come from this machine.
    pub(crate) fn new(visitors: u32, hostile: &[Hostile]) -> Option<Self> {
        let (mut first_client, mut next_v4, mut next_v6) = (visitors, 0, 0);
        let mut groups = Vec::new();
        for group in hostile {
            let (addresses, networks) = (group.addresses, group.networks);
            let is_v4 = next_v4 + networks <= V4_NETWORKS && addresses.div_ceil(networks) <= V4_ADDRESSES;
            let next = if is_v4 { &mut next_v4 } else { &mut next_v6 };
            let first_network = *next;
            *next += networks;
            groups.push(GroupNetworks { first_client, addresses, networks, first_network, is_v4 });
            first_client += group.clients();
        }
        (!groups.is_empty()).then_some(Self { groups })
    }

    /// The address of a client.
    pub(crate) fn of(&self, client: u32) -> IpAddr {
        let Some(group) = self.groups.iter().rfind(|group| group.first_client <= client) else {
            return v6(client % NETWORKS_MAX, client / NETWORKS_MAX);
        };
        let address = (client - group.first_client) % group.addresses;
        let (network, host) = (group.first_network + address % group.networks, address / group.networks);
        if group.is_v4 {
            Ipv4Addr::from_bits(V4_FIRST + (network << 8) + host + 1).into()
        } else {
            // Wraps around if the groups have more networks than there are.
            v6(NETWORKS_MAX + network % NETWORKS_MAX, host)
        }
    }
}

/// An address of this /48 and this /64 of it.
fn v6(network: u32, subnet: u32) -> IpAddr {
    let [first, second] = V6_FIRST;
    Ipv6Addr::new(first, second, network as u16, subnet as u16, 0, 0, 0, 1).into()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use vestibule_core::ClientNetworks;

    use super::*;

    /// The numbers of addresses and networks of these clients, as limits count them.
    fn counted(addresses: &ClientAddresses, clients: std::ops::Range<u32>) -> (usize, usize) {
        let networks: Vec<ClientNetworks> =
            clients.map(|client| ClientNetworks::of(addresses.of(client)).unwrap()).collect();
        let distinct = |of: &dyn Fn(&ClientNetworks) -> String| networks.iter().map(of).collect::<HashSet<_>>().len();
        (distinct(&|networks| networks.address.to_string()), distinct(&|networks| networks.network.to_string()))
    }

    #[test]
    fn groups_have_the_addresses_and_networks_they_ask_for() {
        let groups =
            ["farm:sessions=2000,addresses=1000,networks=16", "farm:sessions=9000,addresses=9000,networks=8000"];
        let groups = groups.map(|text| text.parse().unwrap());
        let addresses = ClientAddresses::new(500, &groups).unwrap();
        assert_eq!(counted(&addresses, 0..500), (500, 500));
        assert_eq!(counted(&addresses, 500..2500), (1000, 16));
        assert_eq!(counted(&addresses, 2500..11_500), (9000, 8000));
        assert_eq!(counted(&addresses, 0..11_500), (10_500, 8516), "no network is shared");
        assert_eq!(addresses.of(500).to_string(), "198.18.0.1");
        assert!(ClientAddresses::new(500, &[]).is_none());
    }
}
