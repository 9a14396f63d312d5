//! A thousand queues.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http::header;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use vestibule_core::PutMode;
use vestibule_core::store::SettingsStore as _;
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::Redis;

use super::{ask, bytes_of, metrics_at, scrape, scraping, unzipped};
use crate::line_fixture::settings_of;

const QUEUES: usize = 1000;
/// How long a byte takes each way.
const DELAY: Duration = Duration::from_millis(5);
/// The largest body of a function's answer behind a load balancer.
const MAX_RESPONSE: usize = 1 << 20;

fn store_at(port: u16) -> Arc<RedisStore> {
    let options = RedisOptions { timeout: Duration::from_secs(10), ..RedisOptions::default() };
    Arc::new(RedisStore::connect(&format!("redis://127.0.0.1:{port}"), options).unwrap())
}

async fn a_thousand_queues(redis: &Redis) {
    let store = store_at(redis.port());
    let writes = stream::iter(0..QUEUES).map(|number| {
        let store = Arc::clone(&store);
        async move {
            let id = format!("a-queue-with-a-name-as-long-as-they-are-{number}").parse().unwrap();
            let settings = settings_of(&id, &json!({ "tenant": format!("tenant-{}", number % 40) }));
            store.put_settings(&settings, PutMode::Always).await.unwrap();
        }
    });
    writes.buffer_unordered(64).collect::<Vec<()>>().await;
}

/// The way to a Redis that is far away: what is sent arrives [`DELAY`] later, in its order, however much it is.
async fn far(redis: &Redis) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (near, port) = (listener.local_addr().unwrap().port(), redis.port());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
            tokio::spawn(carry(from_client, to_server));
            tokio::spawn(carry(from_server, to_client));
        }
    });
    near
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut bytes).await {
            let arrives = tokio::time::Instant::now() + DELAY;
            let _ = sender.send((arrives, bytes[..read].to_vec()));
        }
    });
    while let Some((arrives, bytes)) = receiver.recv().await {
        tokio::time::sleep_until(arrives).await;
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_queues_take_few_round_trips() {
    let redis = Redis::start().await;
    a_thousand_queues(&redis).await;
    let metrics = metrics_at(store_at(far(&redis).await));
    let one_after_the_other = 2 * DELAY * QUEUES as u32;
    // The first scrape asks for the tenants as well; each must be done in half of what one after the other would take.
    for _ in 0..2 {
        let found = timeout(one_after_the_other / 2, scrape(&metrics)).await.expect("one pass, pipelined");
        assert_eq!(found.value("vestibule_up", &[]), Some(1.0));
        assert_eq!(found.all("vestibule_queue_waiting").count(), QUEUES);
        assert_eq!(found.all("vestibule_queue_wait_seconds_count").count(), QUEUES);
    }
}

#[tokio::test]
async fn tenants_of_a_thousand_queues_are_read_once() {
    let redis = Redis::start().await;
    a_thousand_queues(&redis).await;
    let metrics = metrics_at(store_at(redis.port()));
    let mut asked = Vec::new();
    for _ in 0..3 {
        let before = (redis.calls("fcall").await, redis.calls("hmget").await);
        scrape(&metrics).await;
        asked.push((redis.calls("fcall").await - before.0, redis.calls("hmget").await - before.1));
    }
    // The script that reads a queue reads two hashes; the settings are a third.
    assert!(asked.iter().all(|(scripts, _)| *scripts >= QUEUES as u64), "{asked:?}");
    assert_eq!(asked[0].1 - asked[1].1, QUEUES as u64, "{asked:?}");
    assert_eq!(asked[1], asked[2]);
}

#[tokio::test]
async fn a_thousand_queues_fit_into_a_function_response() {
    let redis = Redis::start().await;
    a_thousand_queues(&redis).await;
    let metrics = metrics_at(store_at(redis.port()));
    let plain = bytes_of(ask(&metrics, scraping()).await).await;
    let response = ask(&metrics, scraping().header(header::ACCEPT_ENCODING, "gzip")).await;
    assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
    let zipped = bytes_of(response).await;
    assert_eq!(unzipped(&zipped).lines().count(), plain.split(|byte| *byte == b'\n').count() - 1);
    assert!(plain.len() > MAX_RESPONSE, "{} bytes would fit anyhow", plain.len());
    // In base64, with the rest of the answer around it.
    assert!(zipped.len() * 4 / 3 + 1000 < MAX_RESPONSE, "{} bytes", zipped.len());
    let (plain, zipped) = (plain.len() as f64 / QUEUES as f64, zipped.len() as f64 / QUEUES as f64);
    for (measured, documented) in [(plain, 6900.0), (zipped, 226.0)] {
        assert!(
            (measured / documented - 1.0_f64).abs() < 0.1,
            "{measured} bytes a queue, {documented} in docs/metrics.md"
        );
    }
    let fixture = MAX_RESPONSE as f64;
    assert!(
        fixture / plain > 150.0 && fixture / (zipped * 4.0 / 3.0) > 3400.0,
        "docs/metrics.md promises as many: {plain}, {zipped}"
    );
    let refused = ask(&metrics, scraping().header(header::ACCEPT_ENCODING, "gzip;q=0")).await;
    assert!(!refused.headers().contains_key(header::CONTENT_ENCODING));
}
