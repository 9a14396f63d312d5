//! Limits of the proxy.

use std::time::Duration;

/// Time limits of the proxy, and how many connections it keeps.
#[derive(Clone, Debug)]
pub struct ProxyLimits {
    /// Maximum time to connect: DNS, TCP and TLS together. Default 5 s.
    pub connect_timeout: Duration,
    /// Maximum silence of the origin when it is its turn: before the head of its response, and between two chunks of the
    /// body. An upload may take longer, but may not pause for longer. Default 60 s.
    pub read_timeout: Duration,
    /// How long an idle connection is kept. Default 4 s, which is less than the 5 s after which common origins close
    /// theirs: a request on a connection that the origin is about to close is lost.
    pub idle_timeout: Duration,
    /// Maximum number of idle connections per origin. Default 256.
    pub idle_connections: usize,
    /// Maximum size of a request body in bytes; `None`, the default, for no limit.
    pub upload_bytes: Option<u64>,
    /// How long the other direction of an upgraded connection may continue after one direction has ended. Default 5 s.
    pub closing_timeout: Duration,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_mins(1),
            idle_timeout: Duration::from_secs(4),
            idle_connections: 256,
            upload_bytes: None,
            closing_timeout: Duration::from_secs(5),
        }
    }
}
