//! What the caller says about a request.

use std::net::IpAddr;
use std::pin::Pin;

use http::HeaderMap;

/// Closes an upgraded connection when it resolves.
pub type TunnelEnd = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The visitor's side of a request, and what the caller adds.
pub struct Forwarded<'a> {
    /// The peer of the visitor's connection: the visitor or the last proxy in between. It replaces `X-Forwarded-For`, or is
    /// appended to it if the request is trusted.
    pub peer: Option<IpAddr>,
    /// The scheme that the visitor used, `http` or `https`: `X-Forwarded-Proto`.
    pub proto: &'a str,
    /// The host that the visitor requested, with its port if it had one: `Host` and `X-Forwarded-Host`.
    pub host: &'a str,
    /// Whether the request came from a trusted proxy, whose `X-Forwarded-*` headers are kept.
    pub trusted: bool,
    /// Headers to set, each in place of the visitor's header of the same name.
    pub headers: HeaderMap,
    /// Closes an upgraded connection when it resolves; `None` if only the two sides do.
    pub tunnel_end: Option<TunnelEnd>,
}
