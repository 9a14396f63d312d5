use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that systems give to outgoing connections: a server that was stopped finds its port free again.
const LOWEST: u32 = 12_000;
const HIGHEST: u32 = 22_000;

/// A cluster node talks to its peers on its own port plus this.
pub(crate) const CLUSTER_BUS: u16 = 10_000;

/// A port of 127.0.0.1 that nobody listens on; no two calls in a process give the same one.
pub fn free_port() -> u16 {
    next_port(is_free)
}

/// A port that is free together with its cluster bus port.
pub(crate) fn free_cluster_port() -> u16 {
    next_port(|port| is_free(port) && is_free(port + CLUSTER_BUS))
}

/// Starts at a port of the process's own, so that test processes side by side don't meet.
fn next_port(suits: impl Fn(u16) -> bool) -> u16 {
    static WALKED: AtomicU32 = AtomicU32::new(0);
    let span = HIGHEST - LOWEST;
    let start = std::process::id().wrapping_mul(101) % span;
    loop {
        let walked = WALKED.fetch_add(1, Ordering::Relaxed);
        assert!(walked < span, "no free port from {LOWEST} to {HIGHEST}");
        let port = (LOWEST + (start + walked) % span) as u16;
        if suits(port) {
            return port;
        }
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}
