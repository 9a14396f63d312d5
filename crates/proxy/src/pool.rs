//! Idle connections to origins, kept for later requests.

use std::collections::HashMap;
use std::time::Duration;

use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use parking_lot::Mutex;
use rustls::ClientConfig;
use vestibule_core::settings::Reach;
use vestibule_freeze::FreezeAwareInstant;
use vestibule_http_client::RESPONSE_FIELDS_MAX;

use crate::connector::Connector;
use crate::limits::ProxyLimits;
use crate::request_body::RequestBody;

pub(super) type OriginClient = Client<Connector, RequestBody>;

/// Maximum number of pools of listed networks. Beyond it, their idle connections are dropped.
const NETWORK_POOLS_MAX: usize = 256;
/// How long connections are used for further requests: the names of origins are resolved again for new ones, so that an address that
/// has changed is noticed under steady traffic too.
const CLIENT_AGE_MAX: Duration = Duration::from_mins(1);

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
        self.with_pool(reach, Pool::client)
    }

    /// A client without connections.
    pub(super) fn new_client(&self, reach: &Reach) -> OriginClient {
        self.with_pool(reach, Pool::new_client)
    }

    fn with_pool(&self, reach: &Reach, make: fn(&Pool) -> OriginClient) -> OriginClient {
        match reach {
            Reach::Public => make(&self.public),
            Reach::Private => make(&self.private),
            Reach::Any => make(&self.any),
            Reach::Networks(_) => self.with_network_pool(reach, make),
        }
    }

    fn with_network_pool(&self, reach: &Reach, make: fn(&Pool) -> OriginClient) -> OriginClient {
        let mut pools = self.networks.lock();
        if pools.len() >= NETWORK_POOLS_MAX && !pools.contains_key(reach) {
            pools.clear();
        }
        let new = || Pool::new(self.tls.clone(), self.limits.clone(), reach.clone());
        make(pools.entry(reach.clone()).or_insert_with(new))
    }
}

/// A client whose idle connections are dropped in time, even if the process was frozen.
///
/// The client uses the monotonic clock, which may stand still while a function is frozen. Meanwhile the network drops idle
/// connections silently, and a request on one of them would run into its timeout. So the pool replaces the client if its
/// connections were idle for too long by either clock, and every [`CLIENT_AGE_MAX`].
#[derive(Debug)]
pub(super) struct Pool {
    limits: ProxyLimits,
    connector: Connector,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    client: OriginClient,
    used: FreezeAwareInstant,
    created: FreezeAwareInstant,
}

impl Pool {
    pub(super) fn new(tls: ClientConfig, limits: ProxyLimits, reach: Reach) -> Self {
        let connector = Connector::new(tls, limits.connect_timeout, reach);
        let (now, client) = (FreezeAwareInstant::now(), client(&limits, connector.clone()));
        Self { current: Mutex::new(Current { client, used: now, created: now }), connector, limits }
    }

    /// The client to send the next request with.
    pub(super) fn client(&self) -> OriginClient {
        let mut current = self.current.lock();
        let now = FreezeAwareInstant::now();
        if current.used.elapsed() > self.limits.idle_timeout || current.created.elapsed() > CLIENT_AGE_MAX {
            (current.client, current.created) = (self.new_client(), now);
        }
        current.used = now;
        current.client.clone()
    }

    /// A client without connections.
    fn new_client(&self) -> OriginClient {
        client(&self.limits, self.connector.clone())
    }

    /// Simulates that requests have been sent for this long.
    #[cfg(test)]
    pub(super) fn grow_old(&self, time: Duration) {
        let mut current = self.current.lock();
        current.created = current.created.checked_sub(time).unwrap();
    }

    /// Simulates that the process was frozen since its last request.
    #[cfg(test)]
    pub(super) fn sleep(&self, time: Duration) {
        let mut current = self.current.lock();
        current.used = current.used.checked_sub(time).unwrap();
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
        .http1_max_headers(RESPONSE_FIELDS_MAX)
        .build(connector)
}
