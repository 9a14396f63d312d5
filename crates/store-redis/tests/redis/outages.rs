//! A dead or frozen server: every operation ends in time, and works again once the server does.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};
use vestibule_core::{PutMode, StoreError};
use vestibule_store_redis::{RedisOptions, RedisStore};

use super::server::Server;
use super::tools::{joining, queue, settings};

const TIMEOUT: Duration = Duration::from_millis(250);
/// Tolerance beyond the timeout on a busy machine.
const SLACK: Duration = Duration::from_millis(750);
/// Maximum time until a restored server is used again.
const RECOVERY: Duration = Duration::from_secs(10);

async fn store_at(server: &Server) -> RedisStore {
    let store = RedisStore::connect(&server.url(), RedisOptions::default()).unwrap();
    until_it_works(&store).await;
    store
}

/// A store with a timeout that a busy machine does not exceed.
pub(crate) fn patient(server: &Server) -> RedisStore {
    let options = RedisOptions { timeout: Duration::from_secs(10), ..RedisOptions::default() };
    RedisStore::connect(&server.url(), options).unwrap()
}

pub(crate) async fn write(store: &RedisStore) -> Result<(), StoreError> {
    store.put_settings(&settings(&json!({ "quota": 1 })), PutMode::Always).await.map(drop)
}

/// A visit, which must fail in time.
async fn fails_in_time(store: &RedisStore) {
    let started = Instant::now();
    let answer = store.visit(&queue(), joining(1)).await;
    assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
    assert!(started.elapsed() < TIMEOUT + SLACK, "took {:?}", started.elapsed());
}

async fn until_it_works(store: &RedisStore) {
    let started = Instant::now();
    while write(store).await.is_err() {
        assert!(started.elapsed() < RECOVERY, "the server is back and the store is not");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn dead_server_is_unavailable_until_it_restarts() {
    let mut server = Server::start().await;
    let store = store_at(&server).await;
    server.kill();
    for _ in 0..5 {
        fails_in_time(&store).await;
    }
    server.restart_empty().await;
    until_it_works(&store).await;
    assert_eq!(store.stats(&queue()).await.unwrap().waiting, 0, "it came back empty");
}

#[tokio::test]
async fn frozen_server_is_unavailable_until_it_thaws() {
    let server = Server::start().await;
    let store = store_at(&server).await;
    for freeze in [Duration::from_millis(100), Duration::from_secs(4)] {
        server.signal("-STOP");
        let frozen = Instant::now();
        fails_in_time(&store).await;
        while frozen.elapsed() < freeze {
            fails_in_time(&store).await;
            sleep(Duration::from_millis(50)).await;
        }
        server.signal("-CONT");
        until_it_works(&store).await;
    }
}

#[tokio::test]
async fn most_operations_fail_fast_during_an_outage() {
    let server = Server::start().await;
    // Two thousand visits begin within the timeout.
    let options = RedisOptions { timeout: Duration::from_secs(2), ..RedisOptions::default() };
    let store = Arc::new(RedisStore::connect(&server.url(), options).unwrap());
    until_it_works(&store).await;
    server.signal("-STOP");
    assert!(store.visit(&queue(), joining(1)).await.is_err());
    let visits: Vec<_> = (0..2000)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.visit(&queue(), joining(1)).await })
        })
        .collect();
    let mut at_once = 0;
    for visit in visits {
        let answer = visit.await.unwrap();
        let Err(StoreError::Unavailable(reason)) = answer else { panic!("{answer:?}") };
        at_once += usize::from(reason.contains("has not replied recently"));
    }
    assert!(at_once > 1900, "{at_once} of 2000 did not wait for a reply");
    server.signal("-CONT");
    until_it_works(&store).await;
}

#[tokio::test]
async fn store_starts_without_a_server_and_connects_later() {
    let mut server = Server::start().await;
    server.kill();
    let store = RedisStore::connect(&server.url(), RedisOptions::default()).unwrap();
    fails_in_time(&store).await;
    assert!(matches!(store.ping().await, Err(StoreError::Unavailable(_))));
    server.restart_empty().await;
    until_it_works(&store).await;
}

#[tokio::test]
async fn the_first_operation_waits_for_the_connection() {
    let server = Server::start().await;
    write(&patient(&server)).await.unwrap();
}

#[tokio::test]
async fn concurrent_operations_share_one_connection() {
    let server = Server::start().await;
    let store = Arc::new(patient(&server));
    write(&store).await.unwrap();
    let visits: Vec<_> = (0..500)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.visit(&queue(), joining(number)).await.unwrap() })
        })
        .collect();
    for visit in visits {
        visit.await.unwrap();
    }
    let clients = server.command("CLIENT LIST");
    assert_eq!(clients.lines().count(), 2, "the store and this question: {clients}");
    assert_eq!(store.stats(&queue()).await.unwrap().waiting, 499);
}

/// A visit is sent before its process notices that the server is frozen, and handled when it thaws.
#[tokio::test]
async fn late_visit_tells_of_the_interruption() {
    let server = Server::start().await;
    let store = store_at(&server).await;
    let short = settings(&json!({ "quota": 1, "waiting_ttl": 4, "claim_ttl": 2, "active_ttl": 60 }));
    store.put_settings(&short, PutMode::Always).await.unwrap();
    for visitor in 1..=3 {
        store.visit(&queue(), joining(visitor)).await.unwrap();
        sleep(Duration::from_millis(300)).await;
    }
    server.signal("-STOP");
    fails_in_time(&store).await;
    sleep(Duration::from_millis(2_500)).await;
    server.signal("-CONT");
    let started = Instant::now();
    let recovering = loop {
        match store.stats(&queue()).await {
            Ok(stats) => break stats.recovering,
            Err(error) => assert!(started.elapsed() < RECOVERY, "{error}"),
        }
        sleep(Duration::from_millis(20)).await;
    };
    assert!(recovering, "visitors could not be served for half of waiting_ttl");
}
