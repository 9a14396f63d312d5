//! Redis dies and comes back empty in the middle of a line, and five hundred people keep their order.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;
use vestibule_core::line::SessionLocation;
use vestibule_core::settings::Settings;
use vestibule_core::{
    Clock as _, MICROS_PER_SECOND, ManualClock, Micros, PutMode, QueueId, SessionId, Store, SystemClock,
};
use vestibule_runtime::Directory;
use vestibule_store_redis::{Keys, RedisOptions, RedisStore};
use vestibule_tests::{GateOptions, GateUnderTest, Origin, Redis, Visitor};

use crate::gate_fixture::{document_of, over, random_id};

const PEOPLE: usize = 500;
const QUOTA: u64 = 60;
/// Admissions before Redis dies.
const THROUGH: usize = 100;
const TIMEOUT: Duration = Duration::from_secs(2);
/// The whole line moves through within this many polls, one a second.
const ROUNDS_MAX: usize = 100;

/// Who was admitted, and when by the store's clock.
#[derive(Default)]
struct Admissions(Mutex<Vec<(Micros, usize, SessionId)>>);

impl Admissions {
    fn all(&self) -> Vec<(Micros, usize, SessionId)> {
        self.0.lock().clone()
    }
}

/// Polls as a queue page does. Whether the visitor is admitted.
async fn polls_as_admitted(
    number: usize,
    visitor: &mut Visitor,
    store: &dyn Store,
    queue: &QueueId,
    admissions: &Admissions,
) -> bool {
    let answer = visitor.status(queue.as_str()).await;
    assert!(answer.status.is_success(), "{}", answer.status);
    let visitor_status = answer.json();
    if visitor_status["state"] == "admitted"
        && let session = visitor_status["session"].as_str().unwrap().parse().unwrap()
        && let Ok(Some(found)) = store.find(queue, session).await
        && let SessionLocation::Active { admitted_at } = found.state
    {
        admissions.0.lock().push((admitted_at, number, session));
        return true;
    }
    false
}

/// Nobody was admitted before an earlier arrival.
fn assert_in_order(mut sorted: Vec<(Micros, usize, SessionId)>) {
    sorted.sort_unstable();
    let mut latest = 0;
    for batch in sorted.chunk_by(|one, other| one.0 == other.0) {
        let first = batch.iter().map(|(_, number, _)| *number).min().unwrap();
        assert!(first >= latest, "number {first} was admitted after number {latest}");
        latest = batch.iter().map(|(_, number, _)| *number).max().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_redis_loses_no_position() {
    let (redis, clock) = (Redis::start().await, Arc::new(ManualClock::at(SystemClock::new().now())));
    let options = RedisOptions { timeout: TIMEOUT, clock: Some(clock.clone()), ..RedisOptions::default() };
    let store: Arc<dyn Store> = Arc::new(RedisStore::connect(&redis.url(), options).unwrap());
    let (origin, id) = (Origin::start(), random_id());
    let host = format!("{id}.example.com");
    let queue: QueueId = id.parse().unwrap();
    // The slots of those who were active and had not seen it are reserved for active_ttl.
    let times = json!({ "waiting_ttl": 8, "claim_ttl": 8, "active_ttl": 15, "recheck_after": 0 });
    let mut settings = json!({ "quota": 0, "name": "As it was" });
    settings.as_object_mut().unwrap().extend(times.as_object().unwrap().clone());
    let document = document_of(&id, &host, &origin.url(), &settings);
    let options = GateOptions { store_timeout: TIMEOUT, ..GateOptions::default() };
    let gate = GateUnderTest::start_with(Arc::clone(&store), &document, options).await;
    let epoch = store.reset(&queue).await.unwrap();

    let mut people = Vec::new();
    let mut sessions = Vec::new();
    for _ in 0..PEOPLE {
        let mut visitor = Visitor::new(gate.address(), &host);
        let visitor_status = visitor.status(&id).await.json();
        sessions.push(visitor_status["session"].as_str().unwrap().parse::<SessionId>().unwrap());
        people.push(visitor);
    }
    let mut changed = store.settings(&queue).await.unwrap().unwrap();
    changed.line.quota = QUOTA;
    store.put_settings(&changed, vestibule_core::PutMode::Always).await.unwrap();

    let admissions = Admissions::default();
    let (mut most, mut is_emptied, mut rounds) = (0, false, 0);
    let mut line: Vec<_> = people.into_iter().enumerate().collect();
    while !line.is_empty() {
        rounds += 1;
        assert!(rounds < ROUNDS_MAX, "{} are still in line", line.len());
        let polls = join_all(
            line.iter_mut().map(|(number, visitor)| polls_as_admitted(*number, visitor, &*store, &queue, &admissions)),
        );
        let are_admitted = if is_emptied || admissions.all().len() < THROUGH {
            polls.await
        } else {
            is_emptied = true;
            tokio::join!(polls, redis.restart_empty()).0
        };
        if let Ok(stats) = store.stats(&queue).await {
            most = most.max(stats.active);
        }
        let mut are_admitted = are_admitted.into_iter();
        let leaving = line.extract_if(.., |_| are_admitted.next() == Some(true)).map(async |(_, mut visitor)| {
            visitor.leave(queue.as_str()).await;
        });
        join_all(leaving).await;
        clock.advance(MICROS_PER_SECOND);
    }
    assert!(most <= QUOTA, "{most} were in at once");
    let admissions = admissions.all();
    let state_since = store.stats(&queue).await.unwrap().state_since;
    let (before, after): (Vec<_>, Vec<_>) = admissions.iter().copied().partition(|(at, _, _)| *at < state_since);
    assert!(before.len() >= THROUGH && !after.is_empty(), "{} and {}", before.len(), after.len());
    // Visitors who had been admitted without hearing of it are active again as of the last count before the loss; their own
    // instant of admission is lost. Those who came back before that count was known again are first in line.
    let counted_at = before.iter().map(|(at, _, _)| *at).max().unwrap();
    let (restored, heard): (Vec<_>, Vec<_>) = before.into_iter().partition(|(at, _, _)| *at == counted_at);
    let reached = restored.iter().map(|(_, number, _)| *number).max().unwrap();
    let first_in_line = after.iter().filter(|(_, number, _)| *number < reached).count();
    assert!(first_in_line < QUOTA as usize / 2, "{first_in_line} were admitted before and are not active");
    assert_in_order(heard);
    assert_in_order(after);
    let admitted: HashSet<_> = admissions.iter().map(|(_, number, session)| (*number, *session)).collect();
    assert_eq!(admitted, sessions.into_iter().enumerate().collect(), "everybody once, as who they were");
    let restored = store.settings(&queue).await.unwrap().unwrap();
    assert_eq!((restored.line.epoch, restored.line.quota, restored.name.as_str()), (epoch, QUOTA, "As it was"));
    assert_eq!(restored.line.revision, changed.line.revision + 1);
}

#[tokio::test]
async fn queue_lost_from_the_index_is_listed_again() {
    let redis = Redis::start().await;
    let store = over(&redis, TIMEOUT);
    let id = random_id();
    let document = document_of(&id, "shop.example.com", "http://127.0.0.1:9", &json!({}));
    let settings = Settings::from_value(&document["queues"][0]).unwrap();
    store.put_settings(&settings, PutMode::Always).await.unwrap();
    let directory = Arc::new(Directory::new(store.clone(), Vec::new(), Vec::new()));
    directory.refresh().await.unwrap();
    redis.command(&["DEL", Keys::QUEUES]).await;
    assert_eq!(store.queues().await.unwrap(), []);
    directory.refresh().await.unwrap();
    assert_eq!(store.queues().await.unwrap(), [(settings.id, 1)]);
}
