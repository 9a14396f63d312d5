//! A purge that is killed in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use vestibule_purge::UNANSWERED_MAX;
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{Redis, wait_until};

use super::ExpiredSessions;
use super::function::deployed;
use crate::gate_fixture::TIMEOUT;

/// A proxy to Redis that forwards this many purge commands and drops the reply to the last of them.
struct Cut {
    port: u16,
    purges: Arc<AtomicU64>,
}

impl Cut {
    async fn after(redis: &Redis, most: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, server_port) = (listener.local_addr().unwrap().port(), redis.port());
        let purges = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&purges);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", server_port)).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&counted), most));
            }
        });
        Self { port, purges }
    }
}

/// Scripts are what a purge consists of; nothing passes in either direction once enough of them have gone out.
async fn carry(client: TcpStream, server: TcpStream, purges: Arc<AtomicU64>, most: u64) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let (mut up, mut down) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = from_client.read(&mut up) => {
                let Ok(read @ 1..) = read else { return };
                if purges.load(Ordering::SeqCst) >= most {
                    std::future::pending::<()>().await;
                }
                let scripts = up[..read].windows(5).filter(|word| *word == b"FCALL").count();
                purges.fetch_add(scripts as u64, Ordering::SeqCst);
                to_server.write_all(&up[..read]).await.unwrap();
            }
            read = from_server.read(&mut down) => {
                let Ok(read @ 1..) = read else { return };
                if purges.load(Ordering::SeqCst) >= most {
                    std::future::pending::<()>().await;
                }
                to_client.write_all(&down[..read]).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_killed_purge_leaves_consistent_queues() {
    for most in [1, 7, 60] {
        let expired = ExpiredSessions::fill(20, 1500, 1500).await;
        let cut = Cut::after(&expired.redis, most).await;
        let function = deployed(&format!("redis://127.0.0.1:{}", cut.port)).instances(1).await;
        let killing = async {
            wait_until("it is in the middle", TIMEOUT, async || cut.purges.load(Ordering::SeqCst) >= most).await;
            function.each()[0].kill();
        };
        let (answer, ()) = tokio::join!(function.invoke("{}"), killing);
        assert!(answer.is_err(), "it did not live to tell");
        assert_eq!(expired.store.last_purge().await.unwrap(), None, "nor to record it");

        // The last command may still be on its way to being done.
        let mut left = expired.left().await;
        let counted = async || {
            let counted = expired.counted().await;
            counted.expired_waiting + counted.expired_active
        };
        wait_until("all is counted", TIMEOUT, async || {
            left = expired.left().await;
            left + counted().await == expired.sessions
        })
        .await;
        assert!(left > 0, "it was cut off before the end");

        let whole = deployed(&expired.redis.url()).instances(1).await;
        let round: serde_json::Value = serde_json::from_slice(&whole.invoke("{}").await.unwrap()).unwrap();
        assert_eq!((&round["failed"], &round["unfinished"]), (&0.into(), &false.into()));
        expired.assert_all_expired().await;
    }
}

#[tokio::test]
async fn a_store_failure_ends_the_round_early() {
    let expired = ExpiredSessions::fill(60, 1500, 1500).await;
    let cut = Cut::after(&expired.redis, 20).await;
    let options = RedisOptions { timeout: Duration::from_millis(50), ..RedisOptions::default() };
    let store = RedisStore::connect(&format!("redis://127.0.0.1:{}", cut.port), options).unwrap();
    // As long as the budget lasts it would otherwise go on asking.
    let round = tokio::time::timeout(TIMEOUT, vestibule_purge::run(&store, TIMEOUT * 10)).await.unwrap();
    assert!(round.record.unfinished && round.record.failed == u64::from(UNANSWERED_MAX), "{round:?}");
    assert!(round.record.expired > 0);
    let round = vestibule_purge::run(expired.store.as_ref(), TIMEOUT).await;
    assert!(!round.record.unfinished && round.record.failed == 0);
    expired.assert_all_expired().await;
}
