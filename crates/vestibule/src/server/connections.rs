//! The open connections of one listener. When there are too many, the one that has waited for its client for longest is
//! closed, so that silent clients cannot keep others out.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};
use tracing::warn;

/// How long a client that has a request under way must have kept its connection waiting before others may replace it.
const BLOCKED_AFTER: Duration = Duration::from_secs(1);
/// One scan closes this share of the connections that may be closed, so that a flood does not cost a scan a connection.
const CLOSED_AT_ONCE: usize = 100;
/// Longest time that is waited for a connection to close.
const CLOSE_MAX: Duration = Duration::from_millis(100);
/// Time between two log lines about closed or refused connections.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// Most open connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// Of all clients.
    pub(crate) total: usize,
    /// Of one client network ([`client_network`]); `None` behind a proxy, where all connections come from one address.
    pub(crate) per_network: Option<usize>,
}

impl ConnectionLimits {
    /// For listeners that nobody else reaches.
    pub(crate) const LOCAL: Self = Self { total: 10_000, per_network: None };
}

/// The connections that are open now.
pub(super) struct Connections {
    limits: ConnectionLimits,
    began: Instant,
    open: Mutex<Open>,
    /// Connections that have a descriptor still, those included that were told to close.
    alive: AtomicUsize,
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
    /// Whether a request is under way.
    is_busy: AtomicBool,
    /// Since when the client is waited for, in microseconds since the listener began; [`NOT_WAITING`] otherwise.
    waits_since: AtomicU64,
}

const NOT_WAITING: u64 = u64::MAX;

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            began: Instant::now(),
            open: Mutex::default(),
            alive: AtomicUsize::new(0),
            ended: Notify::new(),
        })
    }

    /// Waits until connections that were closed to make room have given their descriptors back.
    pub(super) async fn closed(&self) {
        while self.alive.load(Ordering::Relaxed) > self.limits.total {
            if timeout(CLOSE_MAX, self.ended.notified()).await.is_err() {
                return;
            }
        }
    }

    /// Counts a new connection, and closes others if there are too many; `None` if none of them may be closed.
    pub(super) fn admit(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<Connection> {
        let network = self.limits.per_network.and(peer).and_then(client_network);
        let mut open = self.lock();
        let count = network.and_then(|network| open.of_network.get(&network)).copied().unwrap_or_default();
        let is_network_full = self.limits.per_network.is_some_and(|most| count >= most);
        if is_network_full && !self.make_room(&mut open, network) {
            return None;
        }
        if open.connections.len() >= self.limits.total && !self.make_room(&mut open, None) {
            return None;
        }
        let id = open.next_id;
        open.next_id += 1;
        let state = Arc::new(State {
            network,
            task: OnceLock::new(),
            is_busy: AtomicBool::new(false),
            waits_since: AtomicU64::new(self.now()),
        });
        open.connections.insert(id, state.clone());
        if let Some(network) = network {
            *open.of_network.entry(network).or_default() += 1;
        }
        self.alive.fetch_add(1, Ordering::Relaxed);
        Some(Connection(Arc::new(Counted { id, state, all: self.clone() })))
    }

    /// Closes the connections that have waited for their clients for longest, idle ones first; of one network, or of all.
    fn make_room(&self, open: &mut Open, network: Option<IpAddr>) -> bool {
        let now = self.now();
        let candidates = open.connections.iter().filter(|(_, state)| network.is_none() || state.network == network);
        let mut candidates: Vec<_> = candidates.filter_map(|(id, state)| Some((state.closable(now)?, *id))).collect();
        let count = (candidates.len() / CLOSED_AT_ONCE).max(1).min(candidates.len());
        if open.logged.is_none_or(|at| at.elapsed() >= LOG_EVERY) {
            open.logged = Some(Instant::now());
            let connections = open.connections.len();
            match network {
                _ if count == 0 => warn!(connections, "too many connections, all of them busy; refusing new ones"),
                Some(_) => warn!(connections, "too many connections of one address; closing its oldest idle ones"),
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
            }
        }
        true
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_micros() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// When this connection's turn to be closed is, idle ones before others; `None` if it may not be closed. One that was
    /// upgraded has no task any more.
    fn closable(&self, now: u64) -> Option<(bool, u64)> {
        let (is_busy, since) = (self.is_busy.load(Ordering::Relaxed), self.waits_since.load(Ordering::Relaxed));
        let is_blocked = now.saturating_sub(since) >= BLOCKED_AFTER.as_micros() as u64;
        let has_task = self.task.get().is_some_and(|task| !task.is_finished());
        (has_task && since != NOT_WAITING && (!is_busy || is_blocked)).then_some((is_busy, since))
    }
}

/// An open connection. It counts until the last clone is dropped.
#[derive(Clone)]
pub(super) struct Connection(Arc<Counted>);

struct Counted {
    id: u64,
    state: Arc<State>,
    all: Arc<Connections>,
}

impl Connection {
    /// The task that serves it: whoever aborts that closes the connection.
    pub(super) fn is_served_by(&self, task: AbortHandle) {
        let _ = self.0.state.task.set(task);
    }

    /// A request has begun. It ends when what is returned is dropped.
    pub(super) fn begin_request(&self) -> RequestUnderWay {
        self.0.state.is_busy.store(true, Ordering::Relaxed);
        self.0.state.waits_since.store(NOT_WAITING, Ordering::Relaxed);
        RequestUnderWay(self.clone())
    }

    /// The client sends nothing, or takes nothing.
    pub(super) fn blocked(&self) {
        let (now, order) = (self.0.all.now(), Ordering::Relaxed);
        let _ = self.0.state.waits_since.compare_exchange(NOT_WAITING, now, order, order);
    }

    /// The client sent or took something.
    pub(super) fn moved(&self) {
        if self.0.state.is_busy.load(Ordering::Relaxed) {
            self.0.state.waits_since.store(NOT_WAITING, Ordering::Relaxed);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.all.lock().remove(self.id);
        self.all.alive.fetch_sub(1, Ordering::Relaxed);
        self.all.ended.notify_one();
    }
}

/// A request between its head and the end of the answer.
pub(super) struct RequestUnderWay(Connection);

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        let Counted { state, all, .. } = &*self.0.0;
        state.is_busy.store(false, Ordering::Relaxed);
        state.waits_since.store(all.now(), Ordering::Relaxed);
    }
}

/// What counts as one client: an IPv4 address, or an IPv6 network of 64 bits. `None` for this machine itself, where the
/// web server or a load test in front of the gate has one address for many clients.
fn client_network(peer: IpAddr) -> Option<IpAddr> {
    let peer = peer.to_canonical();
    (!peer.is_loopback()).then(|| match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
    })
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinHandle;
    use tokio::time::advance;

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
        Connections::new(ConnectionLimits { total, per_network: Some(per_network) })
    }

    async fn connect(connections: &Arc<Connections>, peer: &str) -> Option<Client> {
        advance(Duration::from_millis(1)).await;
        let connection = connections.admit(peer.parse().ok())?;
        let task = tokio::spawn(std::future::pending());
        connection.is_served_by(task.abort_handle());
        Some(Client { connection: Some(connection), task })
    }

    fn request(client: &Client) -> RequestUnderWay {
        client.connection.as_ref().unwrap().begin_request()
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_idle_connection_makes_room() {
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
    async fn busy_connections_are_closed_only_if_their_clients_block_them() {
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
    async fn an_address_replaces_its_own_connections_only() {
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
    async fn a_flood_closes_one_percent_at_once() {
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

    #[test]
    fn an_ipv6_client_is_its_network() {
        let network = |peer: &str| client_network(peer.parse().unwrap()).map(|network| network.to_string());
        assert_eq!(network("2001:db8:1:2:3::4").as_deref(), Some("2001:db8:1:2::"));
        assert_eq!(network("::ffff:192.0.2.1").as_deref(), Some(A));
        assert_eq!(network("127.0.0.1"), None);
        assert_eq!(network("::1"), None);
    }
}
