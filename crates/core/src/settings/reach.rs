//! The addresses that the gate may connect to for an origin, so that a tenant can't reach internal
//! services (SSRF).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// The addresses allowed for the host of an origin, checked after DNS resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Public addresses.
    Public,
    /// Public addresses and private networks, without loopback, link-local addresses and cloud
    /// metadata services.
    Private,
    /// Every address.
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

/// Metadata services with addresses in private ranges: Alibaba Cloud and Amazon EC2.
const METADATA: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254))];

impl Reach {
    /// Whether the gate may connect to this address.
    #[must_use]
    pub fn allows(self, address: IpAddr) -> bool {
        let address = embedded(address);
        match self {
            Self::Any => true,
            Self::Private => !is_special(address),
            Self::Public => !is_special(address) && !is_private(address),
        }
    }
}

/// The IPv4 address embedded in an IPv6 address: IPv4-mapped, IPv4-compatible, NAT64 (RFC 6052) and
/// 6to4.
fn embedded(address: IpAddr) -> IpAddr {
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
    let special = match address {
        IpAddr::V4(four) => SPECIAL_V4.iter().any(|net| net.contains(&four)),
        IpAddr::V6(six) => {
            SPECIAL_V6.iter().any(|net| net.contains(&six)) || !(GLOBAL_V6.contains(&six) || is_private(address))
        }
    };
    special || METADATA.contains(&address)
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
            assert!(!Reach::Public.allows(internal.parse().unwrap()), "{internal}");
            assert!(Reach::Any.allows(internal.parse().unwrap()), "{internal}");
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
