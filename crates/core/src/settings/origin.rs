//! Origins: the sites that admitted visitors go to.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::host::{is_subdomain_of, parse_hostname};
use crate::fields::FieldErrorCode as Code;

/// Scheme, host and port of a site: `https://www.example.com`. Paths and user names are rejected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    https: bool,
    host: String,
    /// `None` is the default port of the scheme.
    port: Option<u16>,
}

impl Origin {
    /// The host, in lower case.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether the scheme is https.
    pub const fn is_https(&self) -> bool {
        self.https
    }

    /// The port, or the default port of the scheme.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(if self.https { 443 } else { 80 })
    }

    /// Host and port, without a default port.
    pub fn authority(&self) -> String {
        self.port.map_or_else(|| self.host.clone(), |port| format!("{}:{port}", self.host))
    }

    /// The same scheme and port with another host.
    pub(super) fn with_host(&self, host: &str) -> Self {
        Self { host: host.to_owned(), ..self.clone() }
    }

    /// Whether the host is an IP address, `localhost` or a subdomain of it, which resolve to this
    /// machine.
    pub(super) fn names_an_address(&self) -> bool {
        let bare = self.host.trim_matches(['[', ']']);
        bare.parse::<IpAddr>().is_ok() || bare == "localhost" || is_subdomain_of(bare, "localhost")
    }

    /// Whether the host is a loopback address or `localhost`.
    pub(super) fn names_this_machine(&self) -> bool {
        let bare = self.host.trim_matches(['[', ']']);
        bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

crate::text_field! { Origin: Code::Origin, { "maxLength": 512 }; }

/// The error for a text that is not an [`Origin`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an origin is a scheme, a host and a port only, such as https://www.example.com")]
pub struct InvalidOrigin;

impl FromStr for Origin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        let (scheme, rest) = text.split_once("://").ok_or(InvalidOrigin)?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(InvalidOrigin),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port.parse::<u16>().map_err(|_| InvalidOrigin)?)),
            _ => (authority, None),
        };
        if port == Some(0) {
            return Err(InvalidOrigin);
        }
        let usual = if https { 443 } else { 80 };
        Ok(Self { https, host: parse_hostname(host).ok_or(InvalidOrigin)?, port: port.filter(|port| *port != usual) })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.https { "https" } else { "http" }, self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_is_scheme_host_and_port_only() {
        for (given, shown) in [
            ("https://www.example.com", "https://www.example.com"),
            ("HTTP://Shop.example.com:8080/", "http://shop.example.com:8080"),
            ("https://x.example:443", "https://x.example"),
            ("http://[::1]:9000", "http://[::1]:9000"),
        ] {
            assert_eq!(given.parse::<Origin>().unwrap().to_string(), shown);
        }
        for bad in [
            "",
            "www.example.com",
            "ftp://x",
            "https://u@x",
            "https://x/path",
            "https://x?q",
            "http://x:0",
            "http://x:99999",
            "javascript://x",
        ] {
            let error = bad.parse::<Origin>().unwrap_err().to_string();
            assert!(error.contains("such as https://www.example.com"), "{bad}: {error}");
        }
    }
}
