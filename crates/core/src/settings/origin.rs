//! Where admitted visitors go.

use std::fmt;
use std::str::FromStr;

use super::host::plain_host;

/// Scheme, host and port of a site: `https://www.example.com`. Nothing else, so that a path or a user can't hide in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    https: bool,
    host: String,
    port: Option<u16>,
}

impl Origin {
    /// The host, in lower case.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether the scheme is https.
    #[must_use]
    pub const fn is_https(&self) -> bool {
        self.https
    }

    /// Host and port, without the port where it is the scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        let usual = if self.https { 443 } else { 80 };
        match self.port {
            Some(port) if port != usual => format!("{}:{port}", self.host),
            _ => self.host.clone(),
        }
    }
}

impl FromStr for Origin {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (scheme, rest) = text.split_once("://").ok_or(())?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(()),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port.parse::<u16>().map_err(|_| ())?)),
            _ => (authority, None),
        };
        if port == Some(0) {
            return Err(());
        }
        Ok(Self { https, host: plain_host(host).ok_or(())?, port })
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
    fn an_origin_is_scheme_host_and_port_and_nothing_else() {
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
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }
}
