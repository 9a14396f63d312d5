//! Writes during which the store stops responding: the responses, and the events in the audit log.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use vestibule_core::jobs::{DRAIN_BATCH, JobId, NewJob, Payload};
use vestibule_core::line::Visit;
use vestibule_core::store::{OperationsStore as _, VisitStore as _};
use vestibule_core::{Clock, ManualClock, Micros, SessionId};
use vestibule_store_memory::MemoryRecords;
use vestibule_store_redis::{RedisJobs, RedisOptions, RedisStore};
use vestibule_tests::{AdminClient, AdminUnderTest, Redis, TestResponse};

use super::backoffice::{Backoffice, START, on_memory_and_redis, queue};
use super::job_queues::job_queue;

on_memory_and_redis! {
    repeated_release_with_same_key_admits_once,
    idempotency_key_is_not_reused_for_another_release,
}

/// A clock that every script asks, and that freezes the server when it was asked often enough.
struct Tripwire {
    clock: ManualClock,
    redis: Arc<Redis>,
    left: AtomicI64,
}

impl Clock for Tripwire {
    fn now(&self) -> Micros {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.redis.freeze();
        }
        self.clock.now()
    }
}

/// A backoffice whose lines and jobs are in a Redis that freezes, and whose records are elsewhere.
struct Breaking {
    admin: AdminUnderTest,
    root: AdminClient,
    tcp_proxy: Arc<Tripwire>,
    store: Arc<RedisStore>,
}

impl Breaking {
    async fn start() -> Self {
        let redis = Arc::new(Redis::start().await);
        let tcp_proxy = Arc::new(Tripwire { clock: ManualClock::at(START), redis, left: AtomicI64::new(-1) });
        let options =
            RedisOptions { timeout: Duration::from_secs(2), clock: Some(tcp_proxy.clone()), ..RedisOptions::default() };
        let url = tcp_proxy.redis.url();
        let store = Arc::new(RedisStore::connect(&url, options.clone()).unwrap());
        let jobs = Arc::new(RedisJobs::connect(&url, options).unwrap());
        let records = Arc::new(MemoryRecords::new(ManualClock::at(START)));
        let admin = AdminUnderTest::start_with_jobs(store.clone(), records, jobs).await;
        let mut root = admin.root().await;
        root.create("/tenants", json!({ "id": "acme", "name": "Acme" })).await;
        root.create("/queues", queue("tour", "acme", json!({ "quota": 0 }))).await;
        Self { admin, root, tcp_proxy, store }
    }

    async fn join(&self, count: usize) {
        for _ in 0..count {
            let visit = Visit::joining(SessionId::random());
            self.store.visit(&"tour".parse().unwrap(), visit).await.unwrap();
        }
    }

    async fn enqueue(&mut self, count: usize) {
        self.root.create("/job-queues", job_queue("mails", &json!({}))).await;
        let jobs = self.admin.jobs();
        let settings = jobs.get(&"mails".parse().unwrap()).await.unwrap().unwrap().settings.clone();
        for _ in 0..count {
            let job =
                NewJob::new(JobId::random(), Payload { content_type: "text/plain".to_owned(), bytes: Vec::new() });
            jobs.enqueue(&settings, vec![job]).await.unwrap();
        }
    }

    /// Sends a request with the confirmation that it asks for. The server freezes at the script `nth` of the second one.
    async fn confirm_and_freeze_at(&mut self, nth: i64, path: &str, body: Option<Value>) -> TestResponse {
        let asked = self.root.send(Method::POST, path, &[], body.clone()).await;
        self.freeze_at(nth);
        let confirmed = asked.confirmation();
        self.root.send(Method::POST, path, &[("x-vestibule-confirm", confirmed.as_str())], body).await
    }

    /// Freezes the server at the script `nth` from here on, the first being 1.
    fn freeze_at(&self, nth: i64) {
        self.tcp_proxy.left.store(nth, Ordering::SeqCst);
    }

    async fn newest_event(&mut self) -> Value {
        self.tcp_proxy.redis.thaw();
        self.root.get("/audit?limit=1").await.json()["events"][0].clone()
    }
}

impl Drop for Breaking {
    fn drop(&mut self) {
        self.tcp_proxy.redis.thaw();
    }
}

fn assert_unknown(answer: &TestResponse) {
    assert_eq!((answer.status.as_u16(), answer.code()), (504, "outcome_unknown".to_owned()), "{}", answer.text());
    assert!(answer.text().contains("may or may not have been applied"), "{}", answer.text());
    assert_eq!(answer.header("retry-after"), None, "no client repeats it by itself");
}

#[tokio::test]
async fn interrupted_release_is_audited() {
    let mut breaking = Breaking::start().await;
    breaking.join(1100).await;
    // The numbers for the confirmation, the first batch, the second.
    let body = Some(json!({ "count": 1100 }));
    let released = breaking.confirm_and_freeze_at(3, "/queues/tour/release", body).await;
    assert_eq!((released.status.as_u16(), released.json()), (200, json!({ "released": 500, "complete": false })));
    let event = breaking.newest_event().await;
    assert_eq!((&event["action"], &event["outcome"]), (&json!("queue.release"), &json!("incomplete")), "{event}");
    assert_eq!(event["changes"][1], json!({ "field": "released", "from": null, "to": 500 }));
}

#[tokio::test]
async fn interrupted_drain_reports_canceled_jobs() {
    let mut breaking = Breaking::start().await;
    breaking.enqueue(DRAIN_BATCH + 50).await;
    // The numbers for the confirmation, the first batch, the second.
    let drained = breaking.confirm_and_freeze_at(3, "/job-queues/mails/drain", None).await;
    let expected = json!({ "canceled": DRAIN_BATCH, "complete": false });
    assert_eq!((drained.status.as_u16(), drained.json()), (200, expected), "{}", drained.text());
    let event = breaking.newest_event().await;
    assert_eq!((&event["action"], &event["outcome"]), (&json!("job_queue.drain"), &json!("incomplete")), "{event}");
    assert_eq!(event["changes"][0], json!({ "field": "canceled", "from": null, "to": DRAIN_BATCH }));
    while breaking.root.get("/job-queues/mails/stats").await.json()["waiting"].is_null() {}
    let drained = breaking.root.confirmed(Method::POST, "/job-queues/mails/drain", None).await.json();
    assert_eq!(drained["complete"], true, "{drained}");
    assert!(
        drained["canceled"] == 50 || drained["canceled"] == 0,
        "the second batch may have been canceled: {drained}"
    );
}

#[tokio::test]
async fn release_without_answer_is_unknown_and_not_repeated() {
    let mut breaking = Breaking::start().await;
    breaking.join(5).await;
    breaking.freeze_at(1);
    let key = [("idempotency-key", "5f1c")];
    let body = || Some(json!({ "count": 5 }));
    assert_unknown(&breaking.root.send(Method::POST, "/queues/tour/release", &key, body()).await);
    let event = breaking.newest_event().await;
    assert_eq!((&event["action"], &event["outcome"]), (&json!("queue.release"), &json!("unknown")), "{event}");
    let stats = async || breaking.store.stats(&"tour".parse().unwrap()).await.unwrap();
    while breaking.store.ping().await.is_err() {}
    let before = stats().await.active;
    assert_unknown(&breaking.root.clone().send(Method::POST, "/queues/tour/release", &key, body()).await);
    assert_eq!(stats().await.active, before, "the key has been used");
}

#[tokio::test]
async fn changes_without_answer_are_unknown_and_audited() {
    for (method, path, body, action) in [
        (Method::PATCH, "/queues/tour/controls", json!({ "quota": 7 }), "queue.controls"),
        (Method::POST, "/queues/tour/reset", Value::Null, "queue.reset"),
    ] {
        let mut breaking = Breaking::start().await;
        let body = Some(body).filter(|body| !body.is_null());
        let first = if body.is_none() {
            Some(breaking.root.send(method.clone(), path, &[], None).await.confirmation())
        } else {
            None
        };
        let headers: Vec<_> = first.iter().map(|token| ("x-vestibule-confirm", token.as_str())).collect();
        // A reset asks for the numbers first.
        breaking.freeze_at(if first.is_some() { 2 } else { 1 });
        assert_unknown(&breaking.root.send(method, path, &headers, body).await);
        let event = breaking.newest_event().await;
        assert_eq!((&event["action"], &event["outcome"]), (&json!(action), &json!("unknown")), "{event}");
    }
}

async fn repeated_release_with_same_key_admits_once(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0 })).await;
    backoffice.join("tour", 5).await;
    let mut root = backoffice.root();
    for _ in 0..2 {
        let key = [("idempotency-key", "Vr3-x_9")];
        let released = root.send(Method::POST, "/queues/tour/release", &key, Some(json!({ "count": 2 }))).await;
        assert_eq!(released.json(), json!({ "released": 2, "complete": true }), "{}", released.text());
    }
    assert_eq!(backoffice.store.stats(&"tour".parse().unwrap()).await.unwrap().active, 2);
    let log = root.get("/audit?action=queue.release").await.json();
    assert_eq!(log["events"].as_array().unwrap().len(), 1, "{log}");
}

async fn idempotency_key_is_not_reused_for_another_release(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0 })).await;
    let mut root = backoffice.root();
    let mut release = async |key: &str, count: u64| {
        let key = [("idempotency-key", key)];
        root.send(Method::POST, "/queues/tour/release", &key, Some(json!({ "count": count }))).await
    };
    assert_eq!(release("k", 2).await.status, 200);
    assert_eq!(release("k", 3).await.wrong_fields(), ["Idempotency-Key: was used for a different request"]);
    assert_eq!(release("k k", 3).await.status, 422);
}
