//! Who a connection comes from.

use std::net::IpAddr;

/// Among a request's extensions: the address that the connection came from, as the server saw it. Failed sign-ins are
/// counted by it, unless a trusted proxy names another.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub Option<IpAddr>);
