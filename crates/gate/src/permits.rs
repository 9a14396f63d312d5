//! Permits for connections that stay open, such as streams and tunnels, so that they leave others to requests.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use vestibule_core::SessionId;
use vestibule_runtime::{OpenCount, client_network};

/// How many connections of a kind a session may have open.
const PER_SESSION: usize = 16;

/// How many connections of a kind may be open; clones share them.
#[derive(Clone)]
pub struct Permits(Arc<Shared>);

struct Shared {
    open: Arc<OpenCount>,
    per_network: usize,
    of_holder: Mutex<HashMap<Holder, usize>>,
}

/// Whose connections are limited together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Holder {
    Session(SessionId),
    Network(IpAddr),
}

impl Permits {
    /// As many as `open` allows, and `per_network` from one IPv4 address or IPv6 /64 network other than this machine.
    pub fn new(open: Arc<OpenCount>, per_network: usize) -> Self {
        Self(Arc::new(Shared { open, per_network, of_holder: Mutex::default() }))
    }

    /// None, as in a function.
    pub fn none() -> Self {
        Self::new(Arc::new(OpenCount::new(0)), 0)
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.0.open.open()
    }

    /// Permits another one of this client; `None` at a limit.
    pub(crate) fn open(&self, client: Option<IpAddr>) -> Option<Permit> {
        self.open_of(client.and_then(client_network).map(Holder::Network))
    }

    /// Permits another one of this session, or of this client if there is none; `None` at a limit. Admitted visitors may share an
    /// address, of an office or of a mobile network.
    pub(crate) fn open_in_session(&self, session: Option<SessionId>, client: Option<IpAddr>) -> Option<Permit> {
        match session {
            Some(session) => self.open_of(Some(Holder::Session(session))),
            None => self.open(client),
        }
    }

    fn open_of(&self, holder: Option<Holder>) -> Option<Permit> {
        if !self.0.open.try_open() {
            return None;
        }
        let permit = Permit { permits: self.clone(), holder };
        let Some(holder) = holder else { return Some(permit) };
        let limit = match holder {
            Holder::Session(_) => PER_SESSION,
            Holder::Network(_) => self.0.per_network,
        };
        let mut holders = self.0.of_holder.lock();
        let open = holders.entry(holder).or_default();
        *open += 1;
        let is_within = *open <= limit;
        drop(holders);
        // A permit that is not given gives back what it counted.
        is_within.then_some(permit)
    }
}

/// Counts as open until it is dropped.
pub(crate) struct Permit {
    permits: Permits,
    holder: Option<Holder>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let shared = &self.permits.0;
        shared.open.ended();
        let Some(holder) = self.holder else { return };
        let mut holders = shared.of_holder.lock();
        if let Some(open) = holders.get_mut(&holder) {
            *open -= 1;
            if *open == 0 {
                holders.remove(&holder);
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

    #[test]
    fn sessions_of_one_address_have_limits_of_their_own() {
        let permits = Permits::new(Arc::new(OpenCount::new(100)), 1);
        let (first, second) = (SessionId::random(), SessionId::random());
        let open = |session| permits.open_in_session(Some(session), client("192.0.2.1"));
        let mut of_first: Vec<_> = (0..PER_SESSION).map(|_| open(first).unwrap()).collect();
        assert!(open(first).is_none() && open(second).is_some());
        of_first.pop();
        assert!(open(first).is_some());
        let _without = permits.open_in_session(None, client("192.0.2.1")).unwrap();
        assert!(permits.open_in_session(None, client("192.0.2.1")).is_none());
    }
}
