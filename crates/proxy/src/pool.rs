//! Idle connections to origins, kept for later requests.

use std::collections::HashMap;

use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use parking_lot::Mutex;
use rustls::ClientConfig;
use vestibule_core::settings::Reach;
use vestibule_freeze::FreezeAwareInstant;

use crate::connector::Connector;
use crate::limits::ProxyLimits;
use crate::request_body::RequestBody;

pub(super) type OriginClient = Client<Connector, RequestBody>;

/// Maximum number of pools of listed networks. Beyond it, their idle connections are dropped.
const NETWORK_POOLS_MAX: usize = 256;

/// A pool per reach, so that a connection allowed for one tenant is never used for another that may not have it.
#[derive(Debug)]
pub(super) struct Pools {
    tls: ClientConfig,
    limits: ProxyLimits,
    public: Pool,
    private: Pool,
    any: Pool,
    networks: Mutex<HashMap<Reach, Pool>>,
}

impl Pools {
    pub(super) fn new(tls: &ClientConfig, limits: &ProxyLimits) -> Self {
        let pool = |reach| Pool::new(tls.clone(), limits.clone(), reach);
        Self {
            public: pool(Reach::Public),
            private: pool(Reach::Private),
            any: pool(Reach::Any),
            networks: Mutex::default(),
            tls: tls.clone(),
            limits: limits.clone(),
        }
    }

    /// The client to send the next request with.
    pub(super) fn client(&self, reach: &Reach) -> OriginClient {
        match reach {
            Reach::Public => self.public.client(),
            Reach::Private => self.private.client(),
            Reach::Any => self.any.client(),
            Reach::Networks(_) => self.client_for_networks(reach),
        }
    }

    fn client_for_networks(&self, reach: &Reach) -> OriginClient {
        let mut pools = self.networks.lock();
        if pools.len() >= NETWORK_POOLS_MAX && !pools.contains_key(reach) {
            pools.clear();
        }
        let new = || Pool::new(self.tls.clone(), self.limits.clone(), reach.clone());
        pools.entry(reach.clone()).or_insert_with(new).client()
    }
}

/// A client whose idle connections are dropped in time, even if the process was frozen.
///
/// The client uses the monotonic clock, which may stand still while a function is frozen. Meanwhile the network drops idle
/// connections silently, and a request on one of them would run into its timeout. So the pool replaces the client if its
/// connections were idle for too long by either clock.
#[derive(Debug)]
pub(super) struct Pool {
    limits: ProxyLimits,
    connector: Connector,
    current: Mutex<(OriginClient, FreezeAwareInstant)>,
}

impl Pool {
    pub(super) fn new(tls: ClientConfig, limits: ProxyLimits, reach: Reach) -> Self {
        let connector = Connector::new(tls, limits.connect_timeout, reach);
        let current = (client(&limits, connector.clone()), FreezeAwareInstant::now());
        Self { current: Mutex::new(current), connector, limits }
    }

    /// The client to send the next request with.
    pub(super) fn client(&self) -> OriginClient {
        let mut current = self.current.lock();
        let (current, used) = &mut *current;
        if used.elapsed() > self.limits.idle_timeout {
            *current = client(&self.limits, self.connector.clone());
        }
        *used = FreezeAwareInstant::now();
        current.clone()
    }

    /// Simulates that the process was frozen since its last request.
    #[cfg(test)]
    pub(super) fn sleep(&self, time: std::time::Duration) {
        let mut current = self.current.lock();
        current.1 = current.1.checked_sub(time).unwrap();
    }
}

fn client(limits: &ProxyLimits, connector: Connector) -> OriginClient {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(limits.idle_timeout)
        .pool_max_idle_per_host(limits.idle_connections)
        // A request is sent again only if the pooled connection was closed before any byte of it was sent.
        .retry_canceled_requests(true)
        .set_host(false)
        .build(connector)
}
