//! Allowed origins of a tenant.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde_with::{DeserializeFromStr, SerializeDisplay};

use super::host::is_subdomain_of;
use super::origin::{InvalidOrigin, Origin};
use super::reach::embedded;
use crate::fields::FieldErrorCode as Code;

/// An allowed origin: `https://www.example.com`, `https://*.example.com` for every subdomain, or `http://10.20.0.0/16` for every
/// address of a network.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub enum OriginPattern {
    /// Exactly this origin.
    Exact(Origin),
    /// Every origin of this scheme and port whose host is a subdomain of this one.
    Below(Origin),
    /// Every origin of the scheme and port of this one whose host is an address of the network. Other allowed origins of this
    /// scheme and port may have addresses of the network, too.
    Network(Origin, IpNet),
}

crate::text_field! { OriginPattern: Code::OriginPattern, { "maxLength": 512 }; }

impl FromStr for OriginPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = match text.split_once("://*.") {
            Some((scheme, rest)) => format!("{scheme}://{rest}").parse().map(Self::Below),
            None => network(text).unwrap_or_else(|| text.parse().map(Self::Exact)),
        };
        parsed.map_err(|InvalidOrigin| format!("not an origin: \"{text}\""))
    }
}

/// A network with a scheme and maybe a port: `http://10.20.0.0/16:8080`, `https://[fd12::/32]`. `None` if there is no prefix length.
fn network(text: &str) -> Option<Result<OriginPattern, InvalidOrigin>> {
    let (scheme, rest) = text.split_once("://")?;
    let (address, rest) = rest.split_once('/')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (length, port) = rest.split_at(end);
    if length.is_empty() {
        return None;
    }
    let bracket = if address.starts_with('[') { "]" } else { "" };
    let Some(port) = port.strip_prefix(bracket).filter(|port| port.is_empty() || port.starts_with(':')) else {
        return Some(Err(InvalidOrigin));
    };
    let origin = format!("{scheme}://{address}{bracket}{port}").parse();
    let network = format!("{}/{length}", address.trim_start_matches('[')).parse::<IpNet>();
    // Bits after the prefix are a mistake: the network would be larger than what was written.
    let network = network.ok().filter(|network| network.trunc() == *network).ok_or(InvalidOrigin);
    Some(network.and_then(|network| Ok(OriginPattern::Network(origin?, network))))
}

impl fmt::Display for OriginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(origin) => origin.fmt(f),
            Self::Below(origin) => f.write_str(&origin.to_string().replacen("://", "://*.", 1)),
            Self::Network(origin, network) => {
                let (written, host) = (origin.to_string(), origin.host());
                let range = if host.starts_with('[') { format!("[{network}]") } else { network.to_string() };
                f.write_str(&written.replacen(host, &range, 1))
            }
        }
    }
}

impl OriginPattern {
    pub(super) fn matches(&self, origin: &Origin) -> bool {
        match self {
            Self::Exact(own) => own == origin,
            Self::Below(own) => own.with_host(origin.host()) == *origin && is_subdomain_of(origin.host(), own.host()),
            Self::Network(own, network) => {
                let address = origin.host().trim_matches(['[', ']']).parse::<IpAddr>();
                own.with_host(origin.host()) == *origin && address.is_ok_and(|it| network.contains(&embedded(it)))
            }
        }
    }

    /// The network whose addresses this origin may have.
    pub(super) fn network_of(&self, origin: &Origin) -> Option<IpNet> {
        match self {
            Self::Network(own, network) if own.with_host(origin.host()) == *origin => Some(*network),
            _ => None,
        }
    }
}
