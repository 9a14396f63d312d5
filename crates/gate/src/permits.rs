//! Permits for connections that stay open, such as streams and tunnels, so that they leave others to requests.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use vestibule_runtime::{OpenCount, client_network};

/// How many connections of a kind may be open; clones share them.
#[derive(Clone)]
pub struct Permits(Arc<Shared>);

struct Shared {
    open: Arc<OpenCount>,
    per_network: usize,
    of_network: Mutex<HashMap<IpAddr, usize>>,
}

impl Permits {
    /// As many as `open` allows, and `per_network` from one IPv4 address or IPv6 /64 network other than this machine.
    #[must_use]
    pub fn new(open: Arc<OpenCount>, per_network: usize) -> Self {
        Self(Arc::new(Shared { open, per_network, of_network: Mutex::default() }))
    }

    /// None, as in a function.
    #[must_use]
    pub fn none() -> Self {
        Self::new(Arc::new(OpenCount::new(0)), 0)
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.0.open.open()
    }

    /// Permits another one of this client; `None` at a limit.
    pub(crate) fn open(&self, client: Option<IpAddr>) -> Option<Permit> {
        if !self.0.open.try_open() {
            return None;
        }
        let network = client.and_then(client_network);
        let permit = Permit { permits: self.clone(), network };
        let Some(network) = network else { return Some(permit) };
        let mut networks = self.0.of_network.lock();
        let open = networks.entry(network).or_default();
        *open += 1;
        let is_within = *open <= self.0.per_network;
        drop(networks);
        // A permit that is not given gives back what it counted.
        is_within.then_some(permit)
    }
}

/// Counts as open until it is dropped.
pub(crate) struct Permit {
    permits: Permits,
    network: Option<IpAddr>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let shared = &self.permits.0;
        shared.open.ended();
        let Some(network) = self.network else { return };
        let mut networks = shared.of_network.lock();
        if let Some(open) = networks.get_mut(&network) {
            *open -= 1;
            if *open == 0 {
                networks.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Option<IpAddr> {
        address.parse().ok()
    }

    #[test]
    fn permits_are_limited_in_all_and_per_network() {
        let permits = Permits::new(Arc::new(OpenCount::new(5)), 2);
        let first = permits.open(client("192.0.2.1")).unwrap();
        let _second = permits.open(client("192.0.2.1")).unwrap();
        assert!(permits.open(client("192.0.2.1")).is_none());
        assert_eq!(permits.count(), 2, "one that is refused is not counted");
        drop(first);
        let _third = permits.open(client("192.0.2.1")).unwrap();
        let _others: Vec<_> = (0..3).map(|_| permits.open(client("127.0.0.1")).unwrap()).collect();
        assert!(permits.open(client("192.0.2.2")).is_none() && permits.open(None).is_none());
        assert!(Permits::none().open(None).is_none());
    }
}
