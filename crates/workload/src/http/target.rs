//! The target of a load test.

use std::net::{IpAddr, ToSocketAddrs};

use http::{HeaderValue, Uri};

use crate::visitor::RequestKind;

/// A target that is invalid or not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Not a URL.
    #[error("{0:?} is not a valid URL: use http:// or https://, a host and a path, such as http://127.0.0.1:8080/")]
    InvalidUrl(String),
    /// The host cannot be resolved.
    #[error("cannot resolve {0}: check the name")]
    UnknownHost(String),
    /// Not this machine.
    #[error(
        "{0} is not this machine. A load test sends as many requests as its visitors would: run it only against your own site and \
         with its operators' knowledge, and pass --allow-remote"
    )]
    NotLoopback(String),
    /// An invalid host or queue.
    #[error("{0:?} is invalid: use letters, digits, dots and dashes, and for a host an optional port")]
    InvalidName(String),
}

/// The gate under test.
#[derive(Debug, Clone)]
pub struct Target {
    /// The `Host` header.
    pub(super) host: HeaderValue,
    uris: [Uri; RequestKind::ALL.len()],
    health: Uri,
    line: Uri,
    challenge: Uri,
    url: String,
}

impl Target {
    /// The target at a URL. `host` replaces the `Host` header; `queue` is needed if the host has several queues.
    ///
    /// # Errors
    /// An invalid URL, or one of another machine without `allow_remote`.
    pub fn new(
        address: &str,
        host: Option<&str>,
        queue: Option<&str>,
        allow_remote: bool,
    ) -> Result<Self, TargetError> {
        let invalid = || TargetError::InvalidUrl(address.to_owned());
        let uri: Uri = address.parse().map_err(|_| invalid())?;
        let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https")).ok_or_else(invalid)?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(invalid)?;
        let port = authority.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        check_is_local(authority.host(), port, allow_remote)?;
        let named = host.unwrap_or(authority.as_str());
        let invalid_name = |name: &str| TargetError::InvalidName(name.to_owned());
        if named.is_empty() || !named.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte)) {
            return Err(invalid_name(named));
        }
        if let Some(queue) = queue.filter(|queue| queue.parse::<vestibule_core::QueueId>().is_err()) {
            return Err(invalid_name(queue));
        }
        let query = queue.map(|queue| format!("?queue={queue}")).unwrap_or_default();
        let endpoint = |name: &str| format!("{scheme}://{authority}/_vestibule/{name}{query}").parse::<Uri>();
        let uri_of = |kind| match kind {
            RequestKind::Enter | RequestKind::Page => Ok(uri.clone()),
            RequestKind::Poll => endpoint("status"),
            RequestKind::Stream => endpoint("stream"),
            RequestKind::Keepalive => endpoint("keepalive"),
            RequestKind::Away => endpoint("away"),
            RequestKind::Leave => endpoint("leave"),
            RequestKind::Join => endpoint("join"),
        };
        let uris: Result<Vec<Uri>, _> = RequestKind::ALL.into_iter().map(uri_of).collect();
        let uris = uris.ok().and_then(|uris| uris.try_into().ok()).ok_or_else(invalid)?;
        Ok(Self {
            host: HeaderValue::try_from(named).map_err(|_| invalid_name(named))?,
            uris,
            health: format!("{scheme}://{authority}/_vestibule/health").parse().map_err(|_| invalid())?,
            line: endpoint("line").map_err(|_| invalid())?,
            challenge: endpoint("challenge").map_err(|_| invalid())?,
            url: address.to_owned(),
        })
    }

    pub(super) fn uri(&self, kind: RequestKind) -> Uri {
        self.uris[kind.index()].clone()
    }

    pub(super) fn health(&self) -> Uri {
        self.health.clone()
    }

    pub(super) fn challenge(&self) -> Uri {
        self.challenge.clone()
    }

    pub(super) fn line(&self) -> Uri {
        self.line.clone()
    }

    /// The URL as given.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Checks that all addresses of the host are loopback addresses, unless remote targets are allowed.
fn check_is_local(host: &str, port: u16, allow_remote: bool) -> Result<(), TargetError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<IpAddr> = (bare, port)
        .to_socket_addrs()
        .map_err(|_| TargetError::UnknownHost(bare.to_owned()))?
        .map(|address| address.ip())
        .collect();
    if addresses.is_empty() {
        return Err(TargetError::UnknownHost(bare.to_owned()));
    }
    let local = addresses.iter().all(|address| address.to_canonical().is_loopback());
    if local || allow_remote { Ok(()) } else { Err(TargetError::NotLoopback(bare.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_targets_need_permission() {
        for own in
            ["http://127.0.0.1:8080", "http://[::1]:8080/shop?a=b", "http://127.8.9.1/", "http://[::ffff:127.0.0.1]/"]
        {
            assert!(Target::new(own, None, None, false).is_ok(), "{own}");
        }
        for other in ["http://192.0.2.7:8080", "https://[2001:db8::1]/", "http://0.0.0.0/"] {
            let refused = Target::new(other, None, None, false).unwrap_err();
            assert!(matches!(refused, TargetError::NotLoopback(_)), "{other}: {refused}");
            assert!(Target::new(other, None, None, true).is_ok(), "{other}");
        }
    }

    #[test]
    fn invalid_urls_hosts_and_queues_are_rejected() {
        for wrong in ["", "127.0.0.1:8080", "ftp://127.0.0.1/", "http://", "http://a b/", "http://me:word@127.0.0.1/"] {
            let error = Target::new(wrong, None, None, false).unwrap_err();
            assert!(matches!(error, TargetError::InvalidUrl(_)), "{wrong}: {error}");
        }
        assert!(matches!(
            Target::new("http://127.0.0.1/", Some("a\r\nb"), None, false),
            Err(TargetError::InvalidName(_))
        ));
        assert!(matches!(Target::new("http://127.0.0.1/", None, Some("A/b"), false), Err(TargetError::InvalidName(_))));
    }
}
