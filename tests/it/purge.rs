//! The purge over a real Redis.

mod function;
mod interrupted;

use std::sync::Arc;

use serde_json::json;
use vestibule_core::line::{Counters, Mode};
use vestibule_core::{PutMode, QueueId, Store};
use vestibule_purge::PurgeRound;
use vestibule_store_redis::{Keys, RedisOptions, RedisStore};
use vestibule_tests::{Redis, Value};

use crate::gate_fixture::TIMEOUT;
use crate::line_fixture::settings_of;
use vestibule_core::store::SettingsStore as _;

/// Puts sessions that expired long ago into a queue's keys: `ARGV[1]` active and `ARGV[2]` waiting ones.
const FILL: &str = "
    local admitted, waiting = tonumber(ARGV[1]), tonumber(ARGV[2])
    for i = 1, admitted + waiting do
        local session = string.format('%016d', i)
        redis.call('ZADD', i <= admitted and KEYS[1] or KEYS[2], 1000000 + i, session)
        redis.call('ZADD', KEYS[3], 2000000 + i, session)
    end
    return admitted + waiting";

/// Queues in a Redis whose sessions have all expired.
struct ExpiredSessions {
    redis: Redis,
    store: Arc<dyn Store>,
    queues: Vec<QueueId>,
    sessions: u64,
}

impl ExpiredSessions {
    /// This many queues with this many active and waiting sessions.
    async fn fill(queues: usize, admitted: u64, waiting: u64) -> Self {
        let redis = Redis::start().await;
        let store = Arc::new(connect(&redis));
        let queues: Vec<QueueId> = (0..queues).map(|number| format!("q-{number:03}").parse().unwrap()).collect();
        for queue in &queues {
            let settings = settings_of(queue, &json!({ "quota": admitted }));
            store.put_settings(&settings, PutMode::Always).await.unwrap();
            let keys = Keys::of(queue);
            let words = [&keys.active(), &keys.line(), &keys.pool(), &admitted.to_string(), &waiting.to_string()];
            let words: Vec<&str> = ["EVAL", FILL, "3"].into_iter().chain(words.map(String::as_str)).collect();
            assert_eq!(redis.command(&words).await.integer() as u64, admitted + waiting);
        }
        let sessions = queues.len() as u64 * (admitted + waiting);
        Self { redis, store, queues, sessions }
    }

    async fn count(&self, key: String) -> u64 {
        self.redis.command(&["ZCARD", &key]).await.integer() as u64
    }

    /// How many sessions are still there. In every queue, at any instant, each of them is in the pool and in exactly one
    /// of line and active set.
    async fn left(&self) -> u64 {
        let mut left = 0;
        for queue in &self.queues {
            let keys = Keys::of(queue);
            let [line, active, pool] =
                [self.count(keys.line()).await, self.count(keys.active()).await, self.count(keys.pool()).await];
            assert_eq!(line + active, pool, "{queue}");
            for (key, members) in [(keys.line(), line), (keys.active(), active)] {
                let both = self.redis.command(&["ZINTERCARD", "2", &key, &keys.pool()]).await;
                assert_eq!(both, Value::Integer(members.cast_signed()), "{queue}: all of {key} are in the pool");
            }
            left += pool;
        }
        left
    }

    /// What the queues counted, all together.
    async fn counted(&self) -> Counters {
        let mut sum = Counters::default();
        for queue in &self.queues {
            sum = sum.plus(&self.store.stats(queue).await.unwrap().counters);
        }
        sum
    }

    /// Two purges at the same time, over two connections.
    async fn purge_twice(&self) -> (PurgeRound, PurgeRound) {
        let other = connect(&self.redis);
        tokio::join!(vestibule_purge::run(self.store.as_ref(), TIMEOUT), vestibule_purge::run(&other, TIMEOUT))
    }

    async fn assert_all_expired(&self) {
        assert_eq!(self.left().await, 0);
        let counted = self.counted().await;
        assert_eq!(counted.expired_waiting + counted.expired_active, self.sessions, "each is counted once");
        assert_eq!(counted.admitted, 0, "expired sessions are not admitted");
    }
}

fn connect(redis: &Redis) -> RedisStore {
    RedisStore::connect(&redis.url(), RedisOptions { timeout: TIMEOUT, ..RedisOptions::default() }).unwrap()
}

#[tokio::test]
async fn concurrent_purges_remove_each_session_once() {
    let expired = ExpiredSessions::fill(20, 1500, 1500).await;
    let (first, second) = expired.purge_twice().await;
    expired.assert_all_expired().await;
    for round in [&first, &second] {
        assert_eq!((round.record.queues, round.record.failed, round.record.unfinished), (20, 0, false));
        assert!(round.record.expired > 0, "both had a share: {first:?} {second:?}");
    }
    assert!(first.record.expired + second.record.expired <= expired.sessions, "no session is counted twice");
}

#[tokio::test]
async fn concurrent_purges_report_each_session_once() {
    // A paused queue admits nobody, so the purge counts every expired session.
    let expired = ExpiredSessions::fill(20, 1500, 1500).await;
    for queue in &expired.queues {
        let mut settings = expired.store.settings(queue).await.unwrap().unwrap();
        settings.line.mode = Mode::Paused;
        expired.store.put_settings(&settings, PutMode::Always).await.unwrap();
    }
    let before = expired.left().await;
    let (first, second) = expired.purge_twice().await;
    assert_eq!(first.record.expired + second.record.expired, before);
    expired.assert_all_expired().await;
}

#[tokio::test]
async fn a_broken_queue_does_not_stop_the_others() {
    let expired = ExpiredSessions::fill(5, 10, 1000).await;
    let broken = Keys::of(&expired.queues[2]);
    expired.redis.command(&["SET", &broken.ended(), "nonsense"]).await;
    let round = vestibule_purge::run(expired.store.as_ref(), TIMEOUT).await;
    assert_eq!((round.record.queues, round.record.failed, round.record.unfinished), (5, 1, false));
    assert!(round.by_queue[&expired.queues[2]].failed);
    expired.redis.command(&["DEL", &broken.ended()]).await;
    vestibule_purge::run(expired.store.as_ref(), TIMEOUT).await;
    expired.assert_all_expired().await;
}

#[tokio::test]
async fn an_unavailable_store_ends_the_round() {
    let expired = ExpiredSessions::fill(40, 1, 1).await;
    let store = RedisStore::connect(&expired.redis.url(), RedisOptions::default()).unwrap();
    assert_eq!(vestibule_purge::run(&store, TIMEOUT).await.record.queues, 40);
    expired.redis.freeze();
    let round = vestibule_purge::run(&store, TIMEOUT).await;
    assert_eq!((round.record.queues, round.record.failed), (0, 1), "the list of queues was not read");
}
