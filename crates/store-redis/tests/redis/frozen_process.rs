//! A frozen process finds its connection dead: closed, reset, or silent. This costs one new
//! connection within the operation, and no error.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};
use vestibule_core::{PutMode, StoreError};
use vestibule_store_redis::{RedisOptions, RedisStore};

use super::process::Process;
use super::server::Server;
use super::tcp_proxy::TcpProxy;
use super::tools::{joining, queue, settings};

/// A third of it is what an operation waits before it has another connection opened: as long as a connection has to be
/// there for that.
pub(crate) const PATIENCE: Duration = Duration::from_secs(6);
/// Longest wait for what happens in the background.
const SOON: Duration = Duration::from_secs(20);

/// A store over a wire to a server of its own, holding a queue.
struct Wired {
    server: Server,
    wire: TcpProxy,
    store: Arc<RedisStore>,
}

impl Wired {
    async fn start() -> Self {
        let server = Server::start().await;
        let wire = TcpProxy::to(server.port()).await;
        let store = Arc::new(store_over(&wire, PATIENCE));
        store.put_settings(&settings(&json!({ "quota": 0 })), PutMode::Always).await.unwrap();
        assert_eq!(wire.opened(), 1);
        Self { server, wire, store }
    }

    async fn waiting(&self) -> u64 {
        self.store.stats(&queue()).await.unwrap().waiting
    }
}

fn store_over(wire: &TcpProxy, timeout: Duration) -> RedisStore {
    let options = RedisOptions { timeout, ..RedisOptions::default() };
    RedisStore::connect(&format!("redis://127.0.0.1:{}", wire.port()), options).unwrap()
}

pub(crate) async fn until(what: &str, mut ready: impl FnMut() -> bool) {
    let started = Instant::now();
    while !ready() {
        assert!(started.elapsed() < SOON, "in vain: {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn store_connects_before_the_first_operation() {
    let server = Server::start().await;
    let wire = TcpProxy::to(server.port()).await;
    let _store = store_over(&wire, PATIENCE);
    until("it connects", || wire.opened() == 1).await;
}

#[tokio::test]
async fn closed_connection_is_replaced_without_an_error() {
    let room = Wired::start().await;
    for (number, cut) in [TcpProxy::reset, TcpProxy::close, TcpProxy::reset].into_iter().enumerate() {
        cut(&room.wire);
        room.store.visit(&queue(), joining(number as u32)).await.unwrap();
        assert_eq!(room.wire.opened(), 2 + number as u64);
    }
    assert_eq!(room.waiting().await, 3);
}

#[tokio::test]
async fn silent_connection_is_replaced_without_an_error() {
    let room = Wired::start().await;
    room.store.visit(&queue(), joining(1)).await.unwrap();
    room.wire.silence();
    room.store.visit(&queue(), joining(2)).await.unwrap();
    assert_eq!(room.wire.opened(), 2);
    room.server.command("CONFIG RESETSTAT");
    for number in 3..13 {
        room.store.visit(&queue(), joining(number)).await.unwrap();
    }
    assert_eq!((room.wire.opened(), room.server.calls().get("fcall")), (2, Some(&10)), "the new one serves all");
    assert_eq!(room.waiting().await, 12);
}

#[tokio::test]
async fn non_idempotent_command_survives_a_dead_connection() {
    let room = Wired::start().await;
    for number in 0..10 {
        room.store.visit(&queue(), joining(number)).await.unwrap();
    }
    for cut in [TcpProxy::reset, TcpProxy::close, TcpProxy::silence] {
        cut(&room.wire);
        assert_eq!(room.store.release(&queue(), 1).await.unwrap(), 1);
    }
    assert_eq!((room.waiting().await, room.wire.opened()), (7, 4));
}

#[tokio::test]
async fn concurrent_operations_share_one_new_connection() {
    let room = Wired::start().await;
    room.wire.silence();
    let visits: Vec<_> = (0..500)
        .map(|number| {
            let store = room.store.clone();
            tokio::spawn(async move { store.visit(&queue(), joining(number)).await.unwrap() })
        })
        .collect();
    for visit in visits {
        visit.await.unwrap();
    }
    assert_eq!((room.waiting().await, room.wire.opened()), (500, 2));
}

#[tokio::test]
async fn connection_lost_under_load_fails_no_operation() {
    const VISITORS: u32 = 100;
    const VISITS: u32 = 20;
    let room = Wired::start().await;
    let done = Arc::new(AtomicU32::new(0));
    let visitors: Vec<_> = (0..VISITORS)
        .map(|number| {
            let (store, done) = (room.store.clone(), done.clone());
            tokio::spawn(async move {
                for _ in 0..VISITS {
                    store.visit(&queue(), joining(number)).await.unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    until("many are under way", || done.load(Ordering::Relaxed) > VISITORS * VISITS / 4).await;
    room.wire.silence();
    for visitor in visitors {
        visitor.await.unwrap();
    }
    assert_eq!((room.waiting().await, room.wire.opened()), (u64::from(VISITORS), 2));
}

#[tokio::test]
async fn non_idempotent_command_in_flight_is_not_retried() {
    let room = Wired::start().await;
    room.store.visit(&queue(), joining(1)).await.unwrap();
    // Writes are held back, so that the release is under way for as long as it takes.
    room.server.command("CLIENT PAUSE 60000 WRITE");
    let store = room.store.clone();
    let release = tokio::spawn(async move { store.release(&queue(), 1).await });
    until("the release is at the server", || room.server.command("CLIENT LIST").contains("flags=b")).await;
    room.wire.silence();
    room.server.command("CLIENT UNPAUSE");
    room.store.visit(&queue(), joining(2)).await.unwrap();
    assert_eq!(room.wire.opened(), 2, "the visit has another connection");
    let released = release.await.unwrap();
    assert!(matches!(released, Err(StoreError::Unavailable(_))), "{released:?}");
    assert_eq!(room.waiting().await, 1, "a second attempt would have released both");
}

#[tokio::test]
async fn slow_reply_is_received_and_its_connection_closed() {
    let room = Wired::start().await;
    room.server.signal("-STOP");
    let (store, number) = (room.store.clone(), 1);
    let visit = tokio::spawn(async move { store.visit(&queue(), joining(number)).await });
    until("another connection is opened", || room.wire.opened() == 2).await;
    room.server.signal("-CONT");
    visit.await.unwrap().unwrap();
    room.store.visit(&queue(), joining(2)).await.unwrap();
    assert_eq!(room.waiting().await, 2);
    until("the old one is closed", || room.server.command("CLIENT LIST").lines().count() == 2).await;
}

#[tokio::test]
async fn unreachable_server_fails_in_time_with_few_connections() {
    const TIMEOUT: Duration = Duration::from_millis(250);
    let server = Server::start().await;
    let wire = TcpProxy::to(server.port()).await;
    let store = store_over(&wire, TIMEOUT);
    let put = async || store.put_settings(&settings(&json!({ "quota": 0 })), PutMode::Always).await;
    let started = Instant::now();
    while put().await.is_err() {
        assert!(started.elapsed() < SOON);
    }
    wire.silence_all();
    let silent = Instant::now();
    while silent.elapsed() < Duration::from_secs(5) {
        let began = Instant::now();
        let answer = store.visit(&queue(), joining(1)).await;
        assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
        assert!(began.elapsed() < TIMEOUT + Duration::from_millis(750), "took {:?}", began.elapsed());
    }
    // Every other second one is opened beside, and each is tried again that often itself.
    let tried = silent.elapsed().as_secs() + 4;
    assert!(wire.opened() <= tried, "{} in {tried} seconds", wire.opened());
    wire.pass();
    let back = Instant::now();
    while put().await.is_err() {
        assert!(back.elapsed() < SOON, "the server is back and the store is not");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn thawed_process_is_served_on_any_connection_state() {
    let room = Wired::start().await;
    let wire = TcpProxy::to(room.server.port()).await;
    let mut process = Process::start(&format!("redis://127.0.0.1:{}", wire.port()), &[]);
    assert_eq!(process.visit(1), "answered");
    let nothing: fn(&TcpProxy) = |_| ();
    let freezes =
        [(nothing, 1), (TcpProxy::silence, 2), (TcpProxy::reset, 3), (TcpProxy::close, 4), (TcpProxy::silence, 5)];
    for (number, (meanwhile, opened)) in (2..).zip(freezes) {
        process.signal("-STOP");
        meanwhile(&wire);
        process.signal("-CONT");
        assert_eq!(process.visit(number), "answered");
        assert_eq!(wire.opened(), opened);
    }
    assert_eq!(room.waiting().await, 6);
}
