//! What can't be read lowers `vestibule_up` and fails no scrape.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use vestibule_store_redis::{Keys, RedisOptions, RedisStore};
use vestibule_tests::{Exposition, Redis, wait_until};

use super::{metrics_at, metrics_of, scrape};
use crate::gate_fixture::TIMEOUT;
use crate::line_fixture::{LineFixture, StoreFixture};

fn up(found: &Exposition, fixture: &LineFixture<'_>) -> Option<f64> {
    let queue = fixture.queue.as_str();
    found.all("vestibule_queue_up").find(|it| it.labels["queue"] == queue).map(|it| it.value)
}

async fn a_broken_queue(break_it: impl AsyncFn(&Redis, Keys<'_>)) -> (Exposition, Exposition) {
    let redis = Redis::start().await;
    let stores = StoreFixture::at(&redis.url());
    let [whole, broken] = [stores.open(json!({})).await, stores.open(json!({ "tenant": "other" })).await];
    whole.join().await;
    let metrics = metrics_of(&stores);
    let before = scrape(&metrics).await;
    assert_eq!(before.value("vestibule_up", &[]), Some(1.0));
    break_it(&redis, Keys::of(&broken.queue)).await;
    // Once by who has read the queue before, and once by who never has.
    let found = [scrape(&metrics).await, scrape(&metrics_of(&stores)).await];
    for found in &found {
        assert_eq!(found.value("vestibule_up", &[]), Some(0.0), "{found:?}");
        assert_eq!(found.value("vestibule_store_up", &[]), Some(1.0));
        assert_eq!(found.value("vestibule_queues", &[]), Some(2.0));
        assert_eq!((up(found, &whole), up(found, &broken)), (Some(1.0), Some(0.0)));
        assert_eq!(found.all("vestibule_queue_active").count(), 1, "of the broken one there is nothing to say");
        let of = [("tenant", "acme"), ("queue", whole.queue.as_str())];
        assert_eq!(found.value("vestibule_queue_active", &of), Some(1.0));
    }
    found.into()
}

fn tenant_of_broken_queue(found: &Exposition) -> &str {
    &found.all("vestibule_queue_up").find(|it| it.value == 0.0).unwrap().labels["tenant"]
}

#[tokio::test]
async fn a_queue_with_a_corrupt_line_does_not_hide_others() {
    let found = a_broken_queue(async |redis, keys| {
        redis.command(&["SET", &keys.line(), "nonsense"]).await;
    });
    let (known, unknown) = found.await;
    assert_eq!((tenant_of_broken_queue(&known), tenant_of_broken_queue(&unknown)), ("other", "other"));
}

#[tokio::test]
async fn a_queue_with_corrupt_settings_does_not_hide_others() {
    let found = a_broken_queue(async |redis, keys| {
        redis.command(&["HSET", &keys.settings(), "rules", "x", "document", "{"]).await;
    });
    let (known, unknown) = found.await;
    assert_eq!((tenant_of_broken_queue(&known), tenant_of_broken_queue(&unknown)), ("other", ""));
}

#[tokio::test]
async fn a_queue_missing_in_the_store_does_not_hide_others() {
    a_broken_queue(async |redis, keys| {
        redis.command(&["DEL", &keys.settings()]).await;
    })
    .await;
}

/// A store that answers nothing, asked with the timeout that is the default.
async fn an_absent_store(take_away: impl Fn(&Redis), give_back: impl AsyncFn(&Redis)) {
    let redis = Redis::start().await;
    let store = Arc::new(RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap());
    let metrics = metrics_at(store);
    wait_until("the store is up", TIMEOUT, async || scrape(&metrics).await.value("vestibule_up", &[]) == Some(1.0))
        .await;
    take_away(&redis);
    let found = tokio::time::timeout(Duration::from_secs(10), scrape(&metrics)).await.unwrap();
    for name in ["vestibule_up", "vestibule_store_up"] {
        assert_eq!(found.value(name, &[]), Some(0.0), "{name}");
    }
    let names: Vec<&str> = found.types.keys().map(String::as_str).collect();
    assert_eq!(names, ["vestibule_build_info", "vestibule_store_up", "vestibule_up"], "nothing is made up");
    give_back(&redis).await;
    wait_until("the store is up", TIMEOUT, async || scrape(&metrics).await.value("vestibule_up", &[]) == Some(1.0))
        .await;
}

#[tokio::test]
async fn store_up_is_zero_while_the_store_is_down() {
    an_absent_store(Redis::kill, Redis::restart_empty).await;
}

#[tokio::test]
async fn store_up_is_zero_while_the_store_is_silent() {
    an_absent_store(Redis::freeze, async |redis| redis.thaw()).await;
}
