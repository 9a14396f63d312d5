//! Connections to origins that are kept for the next request.

use std::{
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};

use vestibule_core::settings::Reach;

use super::{ProxyLimits, connector::Connector, request_body::RequestBody};

pub(super) type OriginClient = Client<Connector, RequestBody>;

/// A pool for each reach: a connection that one tenant may have is never used for another that may not.
#[derive(Debug)]
pub(super) struct Pools {
    public: Pool,
    private: Pool,
    any: Pool,
}

impl Pools {
    pub(super) fn new(limits: &ProxyLimits) -> Self {
        let pool = |reach| Pool::new(limits.clone(), reach);
        Self { public: pool(Reach::Public), private: pool(Reach::Private), any: pool(Reach::Any) }
    }

    /// The client to send the next request with.
    pub(super) fn client(&self, reach: Reach) -> OriginClient {
        match reach {
            Reach::Public => self.public.client(),
            Reach::Private => self.private.client(),
            Reach::Any => self.any.client(),
        }
    }
}

/// A client whose idle connections are closed in time, even if the process was frozen meanwhile.
///
/// The client goes by the steady clock, which may stand still while a function is frozen. The network forgets idle
/// connections without a word, and a request on one of them would wait in vain until its time is over. So the clock on
/// the wall is asked as well: when it says that the connections were idle for too long, they are left behind.
#[derive(Debug)]
pub(super) struct Pool {
    limits: ProxyLimits,
    connector: Connector,
    current: Mutex<(OriginClient, SystemTime)>,
}

impl Pool {
    pub(super) fn new(limits: ProxyLimits, reach: Reach) -> Self {
        let connector = Connector::new(limits.connect_timeout, reach);
        Self { current: Mutex::new((client(&limits, connector.clone()), wall())), connector, limits }
    }

    /// The client to send the next request with.
    pub(super) fn client(&self) -> OriginClient {
        let now = wall();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, used) = &mut *current;
        if now.duration_since(*used).is_ok_and(|idle| idle > self.limits.idle_timeout) {
            *kept = client(&self.limits, self.connector.clone());
        }
        *used = now;
        kept.clone()
    }

    /// Makes it look as if the process had slept since its last request.
    #[cfg(test)]
    pub(super) fn sleep(&self, time: std::time::Duration) {
        let mut current = self.current.lock().unwrap();
        current.1 = current.1.checked_sub(time).unwrap();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "only compared with itself, so that a freeze shows; decides on no visitor"
)]
fn wall() -> SystemTime {
    SystemTime::now()
}

fn client(limits: &ProxyLimits, connector: Connector) -> OriginClient {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(limits.idle_timeout)
        .pool_max_idle_per_host(limits.idle_connections)
        // A request is sent again only if the pooled connection was closed before any byte of it left.
        .retry_canceled_requests(true)
        .set_host(false)
        .build(connector)
}
