//! The address of the peer.

use std::net::IpAddr;

/// An extension of requests: the remote address of the connection. Failed sign-ins are counted by it, unless a trusted
/// proxy states another one.
#[derive(Debug, Clone, Copy)]
pub struct PeerAddress(pub Option<IpAddr>);
