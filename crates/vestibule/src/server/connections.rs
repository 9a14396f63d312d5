//! The open connections of a listener. At the limit, the connection that has been idle for longest is closed, so that idle
//! clients cannot block others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tracing::warn;
use vestibule_runtime::{ConnectionCounts, client_network};

/// How long a client must have stalled within a request before its connection may be closed for another.
const BLOCKED_AFTER: Duration = Duration::from_secs(1);
/// One scan closes one in this many candidates, so that a flood does not cause a scan per connection.
const CLOSE_SHARE: usize = 100;
/// Maximum wait for a connection to close.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);
/// Interval between log lines about closed or refused connections.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of open connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// From all clients.
    pub(crate) total: usize,
    /// From one client network ([`client_network`]); `None` behind a proxy, where all connections come from one address.
    pub(crate) per_network: Option<usize>,
}

impl ConnectionLimits {
    /// For listeners on this machine.
    pub(crate) const LOCAL: Self = Self { total: 10_000, per_network: None };
}

/// The open connections.
pub(super) struct Connections {
    limits: ConnectionLimits,
    began: Instant,
    open: Mutex<Open>,
    /// Includes connections that are closing, which still have a descriptor.
    counts: Arc<ConnectionCounts>,
    ended: Notify,
}

#[derive(Default)]
struct Open {
    next_id: u64,
    connections: HashMap<u64, Arc<State>>,
    of_network: HashMap<IpAddr, usize>,
    logged: Option<Instant>,
}

struct State {
    network: Option<IpAddr>,
    task: OnceLock<AbortHandle>,
    /// Requests so far.
    requests: AtomicU64,
    /// Whether a request is in progress.
    is_busy: AtomicBool,
    /// Whether it has become a tunnel, which has no more requests.
    is_tunnel: AtomicBool,
    /// Since when the connection waits for its client, in microseconds since the listener started; or [`NOT_WAITING`].
    waits_since: AtomicU64,
}

const NOT_WAITING: u64 = u64::MAX;

impl Connections {
    pub(super) fn new(limits: ConnectionLimits, counts: Arc<ConnectionCounts>) -> Arc<Self> {
        Arc::new(Self { limits, began: Instant::now(), open: Mutex::default(), counts, ended: Notify::new() })
    }

    /// Waits until closing connections have released their descriptors.
    pub(super) async fn closed(&self) {
        while self.counts.connections.open() > self.limits.total {
            if timeout(CLOSE_TIMEOUT, self.ended.notified()).await.is_err() {
                return;
            }
        }
    }

    /// Registers a connection and closes others if there are too many; `None` if none of them may be closed.
    pub(super) fn admit(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<Connection> {
        let network = self.limits.per_network.and(peer).and_then(client_network);
        let mut open = self.lock();
        let count = network.and_then(|network| open.of_network.get(&network)).copied().unwrap_or_default();
        let is_network_full = self.limits.per_network.is_some_and(|limit| count >= limit);
        let is_refused = is_network_full && !self.make_room(&mut open, network)
            || open.connections.len() >= self.limits.total && !self.make_room(&mut open, None);
        if is_refused {
            self.counts.refused.increment();
            return None;
        }
        let id = open.next_id;
        open.next_id += 1;
        let state = Arc::new(State {
            network,
            task: OnceLock::new(),
            requests: AtomicU64::new(0),
            is_busy: AtomicBool::new(false),
            is_tunnel: AtomicBool::new(false),
            waits_since: AtomicU64::new(self.now()),
        });
        open.connections.insert(id, state.clone());
        if let Some(network) = network {
            *open.of_network.entry(network).or_default() += 1;
        }
        self.counts.connections.opened();
        Some(Connection(Arc::new(Counted { id, state, all: self.clone() })))
    }

    /// Closes the connections that have waited for longest, idle ones first; of one network, or of all.
    fn make_room(&self, open: &mut Open, network: Option<IpAddr>) -> bool {
        let now = self.now();
        let candidates = open.connections.iter().filter(|(_, state)| network.is_none() || state.network == network);
        let mut candidates: Vec<_> = candidates.filter_map(|(id, state)| Some((state.closable(now)?, *id))).collect();
        let count = (candidates.len() / CLOSE_SHARE).max(1).min(candidates.len());
        if open.logged.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
            open.logged = Some(Instant::now());
            let connections = open.connections.len();
            match network {
                _ if count == 0 => warn!(connections, "too many connections, all busy; refusing new ones"),
                Some(_) => warn!(connections, "too many connections from one address; closing its oldest idle ones"),
                None => warn!(connections, "too many connections; closing the oldest idle ones"),
            }
        }
        if count == 0 {
            return false;
        }
        candidates.select_nth_unstable(count - 1);
        for (_, id) in candidates.into_iter().take(count) {
            if let Some(task) = open.remove(id).and_then(|state| state.task.get().cloned()) {
                task.abort();
                self.counts.displaced.increment();
            }
        }
        true
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }
}

impl Open {
    fn remove(&mut self, id: u64) -> Option<Arc<State>> {
        let state = self.connections.remove(&id)?;
        if let Some(network) = state.network
            && let Some(count) = self.of_network.get_mut(&network)
        {
            *count -= 1;
            if *count == 0 {
                self.of_network.remove(&network);
            }
        }
        Some(state)
    }
}

impl State {
    /// The key by which connections are closed, idle ones first; `None` if this one may not be closed. An upgraded
    /// connection has no task.
    fn closable(&self, now: u64) -> Option<(bool, u64)> {
        let (is_busy, since) = (self.is_busy.load(Ordering::Relaxed), self.waits_since.load(Ordering::Relaxed));
        let is_blocked = now.saturating_sub(since) >= BLOCKED_AFTER.as_micros() as u64;
        let has_task = self.task.get().is_some_and(|task| !task.is_finished());
        (has_task && since != NOT_WAITING && (!is_busy || is_blocked)).then_some((is_busy, since))
    }
}

/// An open connection, counted until the last clone is dropped.
#[derive(Clone)]
pub(super) struct Connection(Arc<Counted>);

struct Counted {
    id: u64,
    state: Arc<State>,
    all: Arc<Connections>,
}

impl Connection {
    /// Sets the task that serves the connection; aborting it closes the connection.
    pub(super) fn set_task(&self, task: AbortHandle) {
        let _ = self.0.state.task.set(task);
    }

    /// The number of requests so far, and whether what the client sends now is another one.
    pub(super) fn requests(&self) -> (u64, bool) {
        let State { requests, is_busy, is_tunnel, .. } = &*self.0.state;
        let expects_request = !is_busy.load(Ordering::Relaxed) && !is_tunnel.load(Ordering::Relaxed);
        (requests.load(Ordering::Relaxed), expects_request)
    }

    /// Marks the start of a request, which ends when the returned value is dropped.
    pub(super) fn begin_request(&self) -> ActiveRequest {
        self.0.state.requests.fetch_add(1, Ordering::Relaxed);
        self.0.state.is_busy.store(true, Ordering::Relaxed);
        self.0.state.waits_since.store(NOT_WAITING, Ordering::Relaxed);
        ActiveRequest(self.clone())
    }

    /// The client has stalled.
    pub(super) fn blocked(&self) {
        let (now, order) = (self.0.all.now(), Ordering::Relaxed);
        let _ = self.0.state.waits_since.compare_exchange(NOT_WAITING, now, order, order);
    }

    /// The client sent or received data.
    pub(super) fn moved(&self) {
        if self.0.state.is_busy.load(Ordering::Relaxed) {
            self.0.state.waits_since.store(NOT_WAITING, Ordering::Relaxed);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.all.lock().remove(self.id);
        self.all.counts.connections.ended();
        self.all.ended.notify_one();
    }
}

/// A request from its head to the end of the response.
pub(super) struct ActiveRequest(Connection);

impl ActiveRequest {
    /// The response switches protocols.
    pub(super) fn becomes_tunnel(&self) {
        self.0.0.state.is_tunnel.store(true, Ordering::Relaxed);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let Counted { state, all, .. } = &*self.0.0;
        state.is_busy.store(false, Ordering::Relaxed);
        state.waits_since.store(all.now(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinHandle;
    use tokio::time::advance;
    use vestibule_runtime::CountLimits;

    use super::*;

    const A: &str = "192.0.2.1";
    const B: &str = "192.0.2.2";

    struct Client {
        connection: Option<Connection>,
        task: JoinHandle<()>,
    }

    impl Client {
        async fn is_closed(&mut self) -> bool {
            tokio::task::yield_now().await;
            if self.task.is_finished() {
                self.connection = None;
            }
            self.connection.is_none()
        }
    }

    fn limits(total: usize, per_network: usize) -> Arc<Connections> {
        let counts = Arc::new(ConnectionCounts::new(CountLimits::default()));
        Connections::new(ConnectionLimits { total, per_network: Some(per_network) }, counts)
    }

    async fn connect(connections: &Arc<Connections>, peer: &str) -> Option<Client> {
        advance(Duration::from_millis(1)).await;
        let connection = connections.admit(peer.parse().ok())?;
        let task = tokio::spawn(std::future::pending());
        connection.set_task(task.abort_handle());
        Some(Client { connection: Some(connection), task })
    }

    fn request(client: &Client) -> ActiveRequest {
        client.connection.as_ref().unwrap().begin_request()
    }

    #[tokio::test(start_paused = true)]
    async fn oldest_idle_connection_is_closed_first() {
        let connections = limits(3, 3);
        let mut first = connect(&connections, A).await.unwrap();
        let mut second = connect(&connections, A).await.unwrap();
        let mut third = connect(&connections, B).await.unwrap();
        let under_way = request(&first);
        let _fourth = connect(&connections, B).await.unwrap();
        assert!(!first.is_closed().await && second.is_closed().await && !third.is_closed().await);
        drop(under_way);
        let _fifth = connect(&connections, B).await.unwrap();
        assert!(!first.is_closed().await && third.is_closed().await, "a request renews the connection");
    }

    #[tokio::test(start_paused = true)]
    async fn busy_connections_are_closed_only_if_stalled() {
        let connections = limits(2, 2);
        let mut reader = connect(&connections, A).await.unwrap();
        let mut slow_site = connect(&connections, A).await.unwrap();
        let _under_way = [request(&reader), request(&slow_site)];
        reader.connection.as_ref().unwrap().blocked();
        assert!(connect(&connections, B).await.is_none(), "a pause is no reason to close");
        advance(BLOCKED_AFTER).await;
        assert!(connect(&connections, B).await.is_some());
        assert!(reader.is_closed().await && !slow_site.is_closed().await);
    }

    #[tokio::test(start_paused = true)]
    async fn address_limit_closes_only_its_own_connections() {
        let connections = limits(10, 2);
        let mut other = connect(&connections, B).await.unwrap();
        let mut first = connect(&connections, A).await.unwrap();
        let _second = connect(&connections, A).await.unwrap();
        let third = connect(&connections, A).await.unwrap();
        assert!(first.is_closed().await && !other.is_closed().await);
        drop(third);
        assert!(connect(&connections, A).await.is_some(), "a connection that ended no longer counts");
    }

    #[tokio::test(start_paused = true)]
    async fn flood_closes_one_percent_at_once() {
        let connections = limits(1000, 1000);
        let mut clients = Vec::new();
        for _ in 0..1001 {
            clients.push(connect(&connections, A).await.unwrap());
        }
        let mut closed = Vec::new();
        for (number, client) in clients.iter_mut().enumerate() {
            if client.is_closed().await {
                closed.push(number);
            }
        }
        assert_eq!(closed, (0..10).collect::<Vec<_>>());
    }
}
