#![doc = include_str!("../README.md")]

mod connector;
mod error;
mod failure_log;
mod forwarded;
mod headers;
mod limits;
mod pool;
mod proxy;
mod request_body;
mod response_body;
mod upgrade;

#[cfg(test)]
mod tests;

pub use error::ProxyError;
pub use forwarded::{Forwarded, TunnelEnd};
pub use headers::{prepare_later_request, prepare_response};
pub use limits::ProxyLimits;
pub use proxy::Proxy;
pub use response_body::error_of_truncated;
pub use upgrade::asks_for_upgrade;
pub use vestibule_tls::TlsError;
