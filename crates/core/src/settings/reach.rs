//! The addresses that gate and worker may connect to for an origin, so that a tenant can't reach internal
//! services (SSRF).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The addresses allowed for the host of an origin, checked after DNS resolution. None of them allows a cloud metadata service.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Public addresses.
    Public,
    /// Public addresses and private networks, without loopback and link-local addresses.
    Private,
    /// Public addresses and these networks.
    Networks(Arc<[IpNet]>),
    /// Every other address.
    Any,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(first: u16, second: u16, third: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0), length)
}

/// Private networks, and shared address space (CGNAT), which cloud services use too.
const PRIVATE_V4: [Ipv4Net; 4] =
    [v4(10, 0, 0, 0, 8), v4(172, 16, 0, 0, 12), v4(192, 168, 0, 0, 16), v4(100, 64, 0, 0, 10)];

/// Unique local addresses, and the site-local ones they replaced.
const PRIVATE_V6: [Ipv6Net; 2] = [v6(0xfc00, 0, 0, 7), v6(0xfec0, 0, 0, 10)];

/// Addresses that are neither public nor private, from the IANA registries of special-purpose
/// addresses: this network, loopback, link-local with the metadata services, protocol assignments,
/// documentation, benchmarks, multicast, reserved.
const SPECIAL_V4: [Ipv4Net; 10] = [
    v4(0, 0, 0, 0, 8),
    v4(127, 0, 0, 0, 8),
    v4(169, 254, 0, 0, 16),
    v4(192, 0, 0, 0, 24),
    v4(192, 0, 2, 0, 24),
    v4(198, 18, 0, 0, 15),
    v4(198, 51, 100, 0, 24),
    v4(203, 0, 113, 0, 24),
    v4(224, 0, 0, 0, 4),
    v4(240, 0, 0, 0, 4),
];

/// The same for IPv6. Global unicast is `2000::/3`; everything else that is not private is special.
const SPECIAL_V6: [Ipv6Net; 4] =
    [v6(0x2001, 0, 0, 23), v6(0x2001, 0xdb8, 0, 32), v6(0x3fff, 0, 0, 20), v6(0x5f00, 0, 0, 16)];
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

/// Metadata services, which give credentials to everybody who asks from this machine: of the clouds, of Amazon ECS and EKS, and
/// of Alibaba Cloud.
const METADATA: [IpAddr; 7] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

impl Reach {
    /// Public addresses and these networks, and all private networks if `is_private`.
    pub(super) fn networks(mut networks: Vec<IpNet>, is_private: bool) -> Self {
        if is_private {
            networks.extend(PRIVATE_V4.map(IpNet::V4));
            networks.extend(PRIVATE_V6.map(IpNet::V6));
        }
        Self::Networks(networks.into())
    }

    /// Whether this address may be connected to.
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = embedded(address);
        if METADATA.contains(&address) {
            return false;
        }
        let is_public = || !is_special(address) && !is_private(address);
        match self {
            Self::Any => true,
            Self::Private => !is_special(address),
            Self::Networks(networks) => networks.iter().any(|network| network.contains(&address)) || is_public(),
            Self::Public => is_public(),
        }
    }
}

/// Whether an address is that of this machine, as loopback or unspecified.
pub fn is_own_address(address: IpAddr) -> bool {
    let address = embedded(address);
    address.is_loopback() || address.is_unspecified() || matches!(address, IpAddr::V4(four) if four.octets()[0] == 0)
}

/// The IPv4 address embedded in an IPv6 address: IPv4-mapped, IPv4-compatible, NAT64 (RFC 6052) and
/// 6to4.
pub(super) fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    match six.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)).into()
        }
        _ => address,
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => PRIVATE_V4.iter().any(|net| net.contains(&four)),
        IpAddr::V6(six) => PRIVATE_V6.iter().any(|net| net.contains(&six)),
    }
}

fn is_special(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => SPECIAL_V4.iter().any(|net| net.contains(&four)),
        IpAddr::V6(six) => {
            SPECIAL_V6.iter().any(|net| net.contains(&six)) || !(GLOBAL_V6.contains(&six) || is_private(address))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_addresses_are_refused_in_every_form() {
        for internal in [
            "0.0.0.0",
            "127.0.0.1",
            "127.8.9.10",
            "10.1.2.3",
            "172.31.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "100.100.100.200",
            "169.254.169.254",
            "192.0.0.192",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001:0:7f00:1::",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "100::1",
            "2001:db8::1",
        ] {
            let address = internal.parse().unwrap();
            assert!(!Reach::Public.allows(address), "{internal}");
            assert_eq!(Reach::Any.allows(address), !METADATA.contains(&embedded(address)), "{internal}");
        }
    }

    #[test]
    fn metadata_services_are_always_refused() {
        let everything = Reach::Networks(["0.0.0.0/0", "::/0"].map(|all| all.parse().unwrap()).into());
        for reach in [Reach::Public, Reach::Private, Reach::Any, everything] {
            for metadata in [
                "169.254.169.254",
                "169.254.170.2",
                "169.254.170.23",
                "100.100.100.200",
                "fd00:ec2::254",
                "fd00:ec2::23",
                "fd20:ce::254",
                "::ffff:169.254.169.254",
                "64:ff9b::a9fe:a9fe",
                "2002:a9fe:a9fe::",
            ] {
                assert!(!reach.allows(metadata.parse().unwrap()), "{reach:?} {metadata}");
            }
        }
    }

    #[test]
    fn networks_add_to_public_addresses() {
        let networks = || vec!["10.20.0.0/16".parse().unwrap(), "fd12::/32".parse().unwrap()];
        let (own, private) = (Reach::networks(networks(), false), Reach::networks(networks(), true));
        for inside in ["10.20.0.1", "::ffff:10.20.3.4", "64:ff9b::a14:1", "fd12::7", "1.1.1.1"] {
            assert!(own.allows(inside.parse().unwrap()) && private.allows(inside.parse().unwrap()), "{inside}");
        }
        for outside in ["10.21.0.1", "192.168.0.1", "fd13::1"] {
            assert!(!own.allows(outside.parse().unwrap()) && private.allows(outside.parse().unwrap()), "{outside}");
        }
        for special in ["127.0.0.1", "169.254.1.1", "::1"] {
            assert!(!own.allows(special.parse().unwrap()) && !private.allows(special.parse().unwrap()), "{special}");
        }
    }

    #[test]
    fn own_addresses_are_known_in_every_form() {
        for own in ["127.0.0.1", "127.8.9.10", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
        {
            assert!(is_own_address(own.parse().unwrap()), "{own}");
        }
        for other in ["1.1.1.1", "10.0.0.1", "169.254.1.1", "fd12::1", "2606:4700::1111", "::ffff:10.0.0.1"] {
            assert!(!is_own_address(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn public_addresses_are_allowed() {
        for public in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101"] {
            assert!(Reach::Public.allows(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn private_reach_excludes_the_machine_and_metadata() {
        for private in ["10.1.2.3", "172.16.0.9", "192.168.1.1", "100.64.0.1", "fd12::1", "::ffff:10.0.0.1", "1.1.1.1"]
        {
            assert!(Reach::Private.allows(private.parse().unwrap()), "{private}");
        }
        for special in ["127.0.0.1", "169.254.169.254", "100.100.100.200", "fd00:ec2::254", "::1", "fe80::1", "0.0.0.0"]
        {
            assert!(!Reach::Private.allows(special.parse().unwrap()), "{special}");
        }
    }
}
