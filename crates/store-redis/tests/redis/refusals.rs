//! A server that answers and refuses commands because of its own state: every write, or all of them.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};
use vestibule_core::{PutMode, StoreError};
use vestibule_records::{DocumentKind, EphemeralKey, EphemeralKind, LogName, RecordStore as _};
use vestibule_store_redis::{RedisOptions, RedisStore};

use super::frozen_process::until;
use super::outages::{patient, write};
use super::server::{Server, free_port};
use super::tcp_proxy::TcpProxy;
use super::tools::{joining, queue, settings};

/// Longest wait for what happens in the background.
const SOON: Duration = Duration::from_secs(10);
/// Milliseconds between two visits.
const PAUSE_MS: u64 = 20;

fn store_over(wire: &TcpProxy, scheme: &str) -> RedisStore {
    let options = RedisOptions { timeout: Duration::from_secs(2), ..RedisOptions::default() };
    RedisStore::connect(&format!("{scheme}://127.0.0.1:{}", wire.port()), options).unwrap()
}

async fn until_it_works(store: &RedisStore) {
    let started = Instant::now();
    while write(store).await.is_err() {
        assert!(started.elapsed() < SOON, "the server executes commands and the store does not send them");
        sleep(Duration::from_millis(PAUSE_MS)).await;
    }
}

fn assert_refused<T: std::fmt::Debug>(answer: &Result<T, StoreError>, reason: &str) {
    assert!(matches!(answer, Err(StoreError::Refused(it)) if it.starts_with(reason)), "{answer:?}");
}

#[tokio::test]
async fn replica_gets_few_connections_and_serves_reads() {
    let server = Server::start().await;
    let wire = TcpProxy::to(server.port()).await;
    let store = store_over(&wire, "redis");
    write(&store).await.unwrap();
    server.command("REPLICAOF 127.0.0.1 1");
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        assert_refused(&store.visit(&queue(), joining(1)).await, "READONLY ");
        assert_eq!(store.stats(&queue()).await.unwrap().waiting, 0);
        sleep(Duration::from_millis(PAUSE_MS)).await;
    }
    let expected = 2 + began.elapsed().as_secs() / 2;
    assert!((2..=expected).contains(&wire.opened()), "{} connections, {expected} expected", wire.opened());
    server.command("REPLICAOF NO ONE");
    store.visit(&queue(), joining(1)).await.unwrap();
}

#[tokio::test]
async fn new_primary_is_used_once_the_old_one_is_a_replica() {
    let (server, other) = (Server::start().await, Server::start().await);
    let wire = TcpProxy::to(server.port()).await;
    let store = store_over(&wire, "redis");
    write(&store).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    server.command("REPLICAOF 127.0.0.1 1");
    wire.lead_to(other.port());
    write(&store).await.unwrap();
    assert_eq!((wire.opened(), other.command("DBSIZE").as_str()), (2, "3"), "queue, state and index");
}

#[tokio::test]
async fn cluster_that_is_down_gets_few_connections() {
    let (port, bus) = (free_port(), free_port().to_string());
    let wire = TcpProxy::to(port).await;
    let announced = wire.port().to_string();
    let announced = ["--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", &announced];
    let options = [&["--cluster-enabled", "yes", "--cluster-port", &bus], &announced[..]].concat();
    let server = Server::start_with(port, &options).await;
    server.command("CLUSTER ADDSLOTSRANGE 0 16383");
    until("the cluster is up", || server.command("CLUSTER INFO").contains("cluster_state:ok")).await;
    let store = store_over(&wire, "redis-cluster");
    until_it_works(&store).await;
    let before = wire.opened();
    // A slot of another queue: the whole cluster is down then.
    server.command("CLUSTER DELSLOTS 1");
    until("the cluster is down", || server.command("CLUSTER INFO").contains("cluster_state:fail")).await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        let answer = store.visit(&queue(), joining(1)).await;
        assert!(matches!(answer, Err(StoreError::Unavailable(_) | StoreError::Refused(_))), "{answer:?}");
        sleep(Duration::from_millis(PAUSE_MS)).await;
    }
    let opened = wire.opened() - before;
    assert!(opened < 80, "{opened} connections");
    server.command("CLUSTER ADDSLOTS 1");
    until("the cluster is up", || server.command("CLUSTER INFO").contains("cluster_state:ok")).await;
    until_it_works(&store).await;
}

#[tokio::test]
async fn ping_fails_while_writes_are_refused() {
    let server = Server::start().await;
    let store = patient(&server);
    write(&store).await.unwrap();
    for (begin, end, reason) in [
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY "),
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "OOM "),
        ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS "),
    ] {
        store.ping().await.unwrap();
        server.command(begin);
        assert_refused(&store.ping().await, reason);
        assert_refused(&store.visit(&queue(), joining(1)).await, reason);
        assert_refused(&store.release(&queue(), 1).await, reason);
        server.command(end);
    }
    store.ping().await.unwrap();
}

#[tokio::test]
async fn operators_can_act_on_a_server_without_memory() {
    let server = Server::start().await;
    let store = patient(&server);
    write(&store).await.unwrap();
    server.command("CONFIG SET maxmemory 1");
    let bypass = settings(&json!({ "quota": 1, "mode": "bypass" }));
    store.put_settings(&bypass, PutMode::IfRevision(1)).await.unwrap();
    store.reset(&queue()).await.unwrap();
    store.put_document(DocumentKind::Operators, "zoe", "{}", 0).await.unwrap();
    store.append(&LogName::Audit, "{}").await.unwrap();
    let key = EphemeralKey::new(EphemeralKind::SignIn, "0f");
    store.set_ephemeral(&key, "zoe", 60).await.unwrap();
    assert!(!store.set_ephemeral_if_absent(&key, "zoe", 60).await.unwrap());
    assert_eq!(store.take_ephemeral(&key).await.unwrap().as_deref(), Some("zoe"));
    let failures = EphemeralKey::new(EphemeralKind::Failures, "0f");
    assert_eq!(store.increment(&failures, 60).await.unwrap(), 1);
    store.decrement(&failures).await.unwrap();
    store.remove_queue(&queue()).await.unwrap();
    assert_eq!(store.queues().await.unwrap(), [(queue(), 0)]);
}

#[tokio::test]
async fn server_without_functions_is_named_without_arguments() {
    let server = Server::start_with(free_port(), &["--rename-command", "FCALL", ""]).await;
    let store = patient(&server);
    assert_refused(&store.ping().await, "Redis 7.0 or Valkey 7.2 or newer is required");
    let written = store.put_document(DocumentKind::Operators, "zoe", "secret", 0).await;
    assert!(!format!("{written:?}").contains("secret"), "{written:?}");
    assert_refused(&written, "Redis 7.0 or Valkey 7.2 or newer is required");
}
