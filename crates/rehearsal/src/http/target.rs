//! Whom a rehearsal asks.

use std::net::{IpAddr, ToSocketAddrs};

use http::{HeaderValue, Uri};

use crate::visitor::Question;

/// A target that a rehearsal can't or won't ask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No address.
    #[error(
        "{0:?} is no address of a site: it takes http:// or https://, a host, and a path if the queue stands before one, such as http://127.0.0.1:8080/"
    )]
    NoAddress(String),
    /// A host that nobody knows.
    #[error("{0} has no address: is its name spelled right?")]
    UnknownHost(String),
    /// Somebody else's site, as far as can be told.
    #[error(
        "{0} is not this machine. A rehearsal sends as much as a crowd does: if the site is yours, and those who run it know of this, \
         say so with --i-own-this-site"
    )]
    NotLoopback(String),
    /// A host or queue that can't be written into a request.
    #[error("{0:?} takes letters, digits, dots, dashes, and a port at most")]
    BadName(String),
}

/// The gate that is asked, and what of it.
#[derive(Debug, Clone)]
pub struct Target {
    /// What connections are made to.
    pub(super) connect: Uri,
    /// What the `Host` header says.
    pub(super) host: HeaderValue,
    paths: [Uri; Question::ALL.len()],
    health: Uri,
    shown: String,
}

impl Target {
    /// The target at this address. `host` is what requests name as their host, if it is not that of the address; `queue`
    /// is the queue's id, which may be left out where the host has only one.
    ///
    /// # Errors
    /// An address that is none, or one outside of this machine where `owned` is not said.
    pub fn new(address: &str, host: Option<&str>, queue: Option<&str>, owned: bool) -> Result<Self, TargetError> {
        let no_address = || TargetError::NoAddress(address.to_owned());
        let uri: Uri = address.parse().map_err(|_| no_address())?;
        let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https")).ok_or_else(no_address)?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(no_address)?;
        let port = authority.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        check_owner(authority.host(), port, owned)?;
        let named = host.unwrap_or(authority.as_str());
        let bad_name = |name: &str| TargetError::BadName(name.to_owned());
        if named.is_empty() || !named.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte)) {
            return Err(bad_name(named));
        }
        if let Some(queue) = queue.filter(|queue| queue.parse::<vestibule_core::QueueId>().is_err()) {
            return Err(bad_name(queue));
        }
        let query = queue.map(|queue| format!("?queue={queue}")).unwrap_or_default();
        let own = |endpoint: &str| format!("/_vestibule/{endpoint}{query}").parse::<Uri>();
        let page = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        let page: Uri = page.parse().map_err(|_| no_address())?;
        let path = |question| match question {
            Question::Enter | Question::Page => Ok(page.clone()),
            Question::Poll => own("status"),
            Question::Keepalive => own("keepalive"),
            Question::Away => own("away"),
            Question::Leave => own("leave"),
        };
        let paths: Result<Vec<Uri>, _> = Question::ALL.into_iter().map(path).collect();
        let paths = paths.ok().and_then(|paths| paths.try_into().ok()).ok_or_else(no_address)?;
        Ok(Self {
            connect: format!("{scheme}://{authority}/").parse().map_err(|_| no_address())?,
            host: HeaderValue::try_from(named).map_err(|_| bad_name(named))?,
            paths,
            health: Uri::from_static("/_vestibule/health"),
            shown: address.to_owned(),
        })
    }

    pub(super) fn path(&self, question: Question) -> Uri {
        self.paths[question.index()].clone()
    }

    pub(super) fn health(&self) -> Uri {
        self.health.clone()
    }

    /// The address as it was given.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// Whether all addresses of the host are this machine's own.
fn check_owner(host: &str, port: u16, owned: bool) -> Result<(), TargetError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<IpAddr> = (bare, port)
        .to_socket_addrs()
        .map_err(|_| TargetError::UnknownHost(bare.to_owned()))?
        .map(|address| address.ip())
        .collect();
    if addresses.is_empty() {
        return Err(TargetError::UnknownHost(bare.to_owned()));
    }
    let here = addresses.iter().all(|address| address.to_canonical().is_loopback());
    if here || owned { Ok(()) } else { Err(TargetError::NotLoopback(bare.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_asked_unless_the_site_is_one_s_own() {
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
    fn what_is_no_address_is_told_with_what_one_looks_like() {
        for wrong in ["", "127.0.0.1:8080", "ftp://127.0.0.1/", "http://", "http://a b/", "http://me:word@127.0.0.1/"] {
            let error = Target::new(wrong, None, None, false).unwrap_err();
            assert!(matches!(error, TargetError::NoAddress(_)), "{wrong}: {error}");
        }
        assert!(matches!(Target::new("http://127.0.0.1/", Some("a\r\nb"), None, false), Err(TargetError::BadName(_))));
        assert!(matches!(Target::new("http://127.0.0.1/", None, Some("A/b"), false), Err(TargetError::BadName(_))));
    }
}
