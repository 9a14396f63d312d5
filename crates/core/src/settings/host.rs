//! Host names in settings and in requests.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::fields::FieldErrorCode as Code;

/// Maximum length of a host name in DNS.
const HOST_MAX: usize = 253;

/// A host of a queue: `tickets.example.com`, or `*.example.com` for its subdomains.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostPattern {
    /// Exactly this host.
    Exact(String),
    /// Every subdomain of this host.
    Wildcard(String),
    /// Every host: `*`.
    Any,
}

/// The error for a text that is not a [`HostPattern`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a host is a name such as tickets.example.com, *.example.com or *, without scheme or port")]
pub struct InvalidHost;

impl FromStr for HostPattern {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        if text == "*" {
            return Ok(Self::Any);
        }
        match text.strip_prefix("*.") {
            Some(rest) => parse_hostname(rest).map(Self::Wildcard),
            None => parse_hostname(text).map(Self::Exact),
        }
        .ok_or(InvalidHost)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(host) => f.write_str(host),
            Self::Wildcard(domain) => write!(f, "*.{domain}"),
            Self::Any => f.write_str("*"),
        }
    }
}

crate::text_field! {
    HostPattern: Code::Host, { "maxLength": HOST_MAX + 2 }, DROPPED_IF_INVALID;
}

impl HostPattern {
    /// Whether all hosts of the pattern are this domain or subdomains of it.
    pub(super) fn is_within(&self, domain: &str) -> bool {
        match self {
            Self::Exact(host) | Self::Wildcard(host) => host == domain || is_subdomain_of(host, domain),
            Self::Any => false,
        }
    }

    /// Whether the pattern matches `host`, as normalized by [`normalize_host`].
    pub fn matches(&self, host: &str) -> bool {
        match self {
            Self::Exact(name) => name == host,
            Self::Wildcard(domain) => is_subdomain_of(host, domain),
            Self::Any => true,
        }
    }
}

/// Whether `host` is a subdomain of `domain`.
pub fn is_subdomain_of(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).and_then(|front| front.strip_suffix('.')).is_some_and(|label| !label.is_empty())
}

/// Whether browsers take both hosts for the same site: they are equal, or subdomains of one domain below a public suffix.
pub fn are_same_site(host: &str, other: &str) -> bool {
    let domain = |host| psl::domain_str(host).filter(|_| host.parse::<IpAddr>().is_err());
    host == other || domain(host).is_some_and(|shared| domain(other) == Some(shared))
}

/// The host in lower case, if it is a plain name or address.
pub(super) fn parse_hostname(text: &str) -> Option<String> {
    let host = text.to_ascii_lowercase();
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = bracketed {
        return address.parse::<std::net::Ipv6Addr>().is_ok().then_some(host);
    }
    let label_fits = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    (host.len() <= HOST_MAX && host.split('.').all(label_fits)).then_some(host)
}

/// The host of a request's `Host` header or authority: lower case, without port and trailing dot.
/// `None` if it is invalid.
pub fn normalize_host(authority: &str) -> Option<String> {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !host.ends_with(':') => host,
        _ => authority,
    };
    parse_hostname(host.strip_suffix('.').unwrap_or(host))
}

/// The normalized host, and the path, of a URL with or without a scheme; query and fragment are left out. `None` if the host is
/// invalid.
pub fn host_and_path(url: &str) -> Option<(String, &str)> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let path = rest[end..].split(['?', '#']).next().filter(|path| !path.is_empty()).unwrap_or("/");
    Some((normalize_host(&rest[..end])?, path))
}

crate::text_kind! {
    /// A domain of an allowlist.
    pub DomainName: Code::Domain, { "maxLength": 253 }, parse_hostname;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn url_is_parsed_like_a_browser() {
        for (url, host, path) in [
            ("https://Tickets.example.com:8443/Shop?x=/y#z", "tickets.example.com", "/Shop"),
            ("tickets.example.com", "tickets.example.com", "/"),
            ("http://[::1]:8080?x", "[::1]", "/"),
        ] {
            assert_eq!(host_and_path(url), Some((host.to_owned(), path)), "{url}");
        }
        for bad in ["", "/shop", "https://", "https://a b/"] {
            assert_eq!(host_and_path(bad), None, "{bad}");
        }
    }

    #[test]
    fn request_host_is_normalized() {
        for (given, host) in [
            ("Tickets.Example.COM:8443", "tickets.example.com"),
            ("example.com.", "example.com"),
            ("127.0.0.1:80", "127.0.0.1"),
            ("[::1]:8080", "[::1]"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(normalize_host(given).as_deref(), Some(host), "{given}");
        }
        for bad in ["", "a b", "a/b", "user@host", "a..b", "host\r\nx", "ex\u{e4}mple.com", ":80"] {
            assert_eq!(normalize_host(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn wildcard_matches_subdomains_only() {
        let below: HostPattern = "*.example.com".parse().unwrap();
        assert!(below.matches("a.example.com") && below.matches("a.b.example.com"));
        assert!(!below.matches("example.com") && !below.matches("badexample.com") && !below.matches(".example.com"));
    }

    #[test]
    fn invalid_host_pattern_names_the_expected_form() {
        for bad in ["https://example.com", "example.com:8080", "a.*.example.com", "", "*."] {
            let error = bad.parse::<HostPattern>().unwrap_err().to_string();
            assert!(error.contains("tickets.example.com, *.example.com or *"), "{bad}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_host_header_panics(text in "\\PC{0,300}") {
            if let Some(host) = normalize_host(&text) {
                prop_assert_eq!(normalize_host(&host), Some(host));
            }
        }
    }

    #[test]
    fn subdomains_of_one_registrable_domain_are_the_same_site() {
        for (host, other, same) in [
            ("queue.example.com", "www.example.com", true),
            ("example.com", "www.example.com", true),
            ("localhost", "localhost", true),
            ("queue.example.com", "www.example.org", false),
            ("shop.co.uk", "queue.co.uk", false),
            ("a.github.io", "b.github.io", false),
            ("10.0.0.1", "10.9.0.1", false),
        ] {
            assert_eq!(are_same_site(host, other), same, "{host} {other}");
        }
    }
}
