//! Metrics of job queues: what the backend counts, and the calls of the worker.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{
    Failure, FailureReason, JobBackend, JobId, JobQueueSettings, NewJob, Outcome, Payload, Settlement, WebhookEvent,
    WebhookEventType, WebhookSubject,
};
use vestibule_core::settings::{JobQueueChange, JobQueuePlan};
use vestibule_core::{ManualClock, Micros, SystemClock};
use vestibule_metrics::{CallMetrics, Metrics, router};
use vestibule_runtime::{JobQueues, open_jobs, schedule_key, set_last_run};
use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};

use super::{TOKEN, scrape};
use crate::line_fixture::START;

/// A minute after a full hour, in seconds since 1970.
const SCHEDULED: u64 = 1_804_237_260;

/// Job queues with these IDs, whose jobs are in `backend`. They have room for six jobs; "orders.fifo" holds orders, and "mails" delivers webhook events and
/// has a schedule, which ran last at [`SCHEDULED`].
pub(super) async fn job_queues(backend: Arc<dyn JobBackend>, ids: &[&str]) -> Arc<JobQueues> {
    let records = Arc::new(MemoryRecords::new(SystemClock::new()));
    let job_queues = JobQueues::new(records, Arc::new(MemoryStore::new(SystemClock::new())), backend);
    let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
    let settings = |id: &&str| {
        let mut value = json!({ "id": id, "tenant": "acme", "target": target, "max_jobs": 6 });
        if *id == "orders.fifo" {
            value["target"] = json!({ "kind": "origin" });
        }
        if *id == "mails" {
            value["schedules"] = json!([{ "id": "hourly", "cron": "@hourly", "payload": "{}" }]);
            value["webhook"] = json!({ "event_types": ["queue.reset"] });
        }
        JobQueueSettings::from_json(&value).unwrap()
    };
    let change = |id| JobQueueChange { settings: settings(id), retired_secret: None, replaces: 0, changes: Vec::new() };
    let plan = JobQueuePlan { changed: ids.iter().map(change).collect(), ..JobQueuePlan::default() };
    let written = job_queues.execute(&plan).await.unwrap().written;
    assert_eq!(written.len(), ids.len());
    for mails in written.iter().filter(|it| !it.schedules.is_empty()) {
        let key = schedule_key(&mails.id, &mails.schedules[0]);
        set_last_run(&**job_queues.records(), &key, Micros(0).add_seconds(SCHEDULED)).await.unwrap();
    }
    Arc::new(job_queues)
}

fn metrics_of(job_queues: Arc<JobQueues>, calls: CallMetrics) -> axum::Router {
    let store = Arc::new(MemoryStore::new(SystemClock::new()));
    let metrics = Metrics::new(store, job_queues.records().clone());
    router(metrics.with_job_queues(job_queues, calls), TOKEN.parse().unwrap())
}

fn job(text: &str) -> NewJob {
    let payload = Payload { content_type: "text/plain".to_owned(), bytes: text.into() };
    NewJob::new(JobId::random(), payload)
}

#[tokio::test]
async fn samples_are_the_counts_of_the_backend() {
    let clock = Arc::new(ManualClock::at(START));
    let job_queues = job_queues(Arc::new(MemoryJobs::new(clock.clone())), &["idle.fifo", "mails"]).await;
    let mails = job_queues.get(&"mails".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let (backend, first) = (job_queues.backend(), job("one"));
    let jobs = vec![first.clone(), first, job("two"), job("three"), job("four"), job("five"), job("six")];
    backend.enqueue(&mails, jobs).await.unwrap();
    let subject = WebhookSubject::Queue("tour".parse().unwrap());
    let event = WebhookEvent::new(WebhookEventType::QueueReset, mails.tenant.clone(), subject, START);
    for _ in 0..2 {
        job_queues.publish(&event).await;
    }
    clock.advance(90_000_000);
    let leases: Vec<_> = backend.receive(&mails, 5).await.unwrap().jobs.iter().map(|job| job.lease).collect();
    let failure = Failure { reason: FailureReason::Status, status: Some(500), response: Vec::new() };
    let outcomes = [
        Outcome::Acknowledged(None),
        Outcome::Failed(failure.clone()),
        Outcome::FailedForGood(failure),
        Outcome::Requeued,
    ];
    let settlements = leases.iter().zip(outcomes).map(|(lease, outcome)| Settlement { lease: *lease, outcome });
    let settlements: Vec<_> = settlements.collect();
    backend.settle(&mails, settlements.clone()).await.unwrap();
    let contradiction = Settlement { lease: leases[0], outcome: Outcome::Requeued };
    backend.settle(&mails, vec![contradiction]).await.unwrap();

    let found = scrape(&metrics_of(job_queues, CallMetrics::new())).await;
    let value = |name: &str, labels: &[(&str, &str)]| found.value(name, labels);
    for (state, count) in [("ready", 2.0), ("delayed", 1.0), ("running", 1.0), ("dead", 1.0)] {
        let labels = [("job_queue", "mails"), ("state", state)];
        assert_eq!(value("vestibule_job_queue_jobs", &labels), Some(count), "{state}");
    }
    for (event, count) in [
        ("enqueued", 6.0),
        ("duplicate", 1.0),
        ("acknowledged", 1.0),
        ("failed", 2.0),
        ("requeued", 1.0),
        ("dead", 1.0),
        ("refused", 1.0),
        ("lost", 0.0),
    ] {
        assert_eq!(value("vestibule_jobs_total", &[("job_queue", "mails"), ("event", event)]), Some(count), "{event}");
    }
    for (id, age) in [("mails", 90.0), ("idle.fifo", 0.0)] {
        assert_eq!(value("vestibule_job_queue_oldest_age_seconds", &[("job_queue", id)]), Some(age), "{id}");
    }
    let labels = [("job_queue", "mails"), ("schedule", "hourly")];
    assert_eq!(value("vestibule_schedule_last_success_timestamp_seconds", &labels), Some(SCHEDULED as f64));
    let missed = value("vestibule_schedule_missed_timestamp_seconds", &labels);
    assert_eq!(missed, Some((SCHEDULED - 60 + 7_200) as f64), "the second full hour");
    let dropped = |id| value("vestibule_webhook_events_dropped_total", &[("job_queue", id)]);
    assert_eq!((dropped("mails"), dropped("idle.fifo")), (Some(2.0), None), "the job queue was full");
    assert_eq!(value("vestibule_up", &[]), Some(1.0));
    assert!(!found.types.contains_key("vestibule_job_duration_seconds"), "no call yet");
}

#[tokio::test]
async fn blocked_group_has_its_age() {
    let clock = Arc::new(ManualClock::at(START));
    let job_queues = job_queues(Arc::new(MemoryJobs::new(clock.clone())), &["idle.fifo", "updates.fifo"]).await;
    let updates = job_queues.get(&"updates.fifo".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let backend = job_queues.backend();
    let in_group = |text| NewJob { group: Some("user-17".parse().unwrap()), ..job(text) };
    backend.enqueue(&updates, vec![in_group("one"), in_group("two")]).await.unwrap();
    let lease = backend.receive(&updates, 1).await.unwrap().jobs[0].lease;
    let failure = Failure { reason: FailureReason::Timeout, status: None, response: Vec::new() };
    backend.settle(&updates, vec![Settlement { lease, outcome: Outcome::Failed(failure) }]).await.unwrap();
    clock.advance(45_000_000);

    let found = scrape(&metrics_of(job_queues, CallMetrics::new())).await;
    for (id, age) in [("updates.fifo", 45.0), ("idle.fifo", 0.0)] {
        assert_eq!(
            found.value("vestibule_job_queue_blocked_group_age_seconds", &[("job_queue", id)]),
            Some(age),
            "{id}"
        );
    }
}

#[tokio::test]
async fn orders_are_counted_by_outcome() {
    let clock = Arc::new(ManualClock::at(START));
    let job_queues = job_queues(Arc::new(MemoryJobs::new(clock)), &["idle.fifo", "orders.fifo"]).await;
    let orders = job_queues.get(&"orders.fifo".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let backend = job_queues.backend();
    for session in ["a", "b", "c", "d", "e", "f"] {
        let order = NewJob { group: Some(session.parse().unwrap()), ..job("order") };
        backend.enqueue(&orders, vec![order]).await.unwrap();
    }
    let failure = Failure { reason: FailureReason::Connection, status: None, response: Vec::new() };
    let [failed, unknown] = [Outcome::FailedForGood(failure.clone()), Outcome::Unknown(failure)];
    let done = Outcome::Acknowledged(None);
    let outcomes = [done.clone(), done.clone(), done, failed.clone(), failed, unknown];
    for (job, outcome) in backend.receive(&orders, 6).await.unwrap().jobs.into_iter().zip(outcomes) {
        backend.settle(&orders, vec![Settlement { lease: job.lease, outcome }]).await.unwrap();
    }
    job_queues.count_not_held(&orders.id, true);
    job_queues.count_not_held(&"missing.fifo".parse().unwrap(), false);

    let found = scrape(&metrics_of(job_queues, CallMetrics::new())).await;
    let outcome = |id, name| found.value("vestibule_held_orders_total", &[("job_queue", id), ("outcome", name)]);
    let counts = ["completed", "failed", "unknown"].map(|name| outcome("orders.fifo", name));
    assert_eq!(counts, [Some(3.0), Some(2.0), Some(1.0)]);
    assert_eq!(outcome("idle.fifo", "completed"), None, "it holds no orders");
    let not_held = |id, name| found.value("vestibule_orders_not_held_total", &[("job_queue", id), ("action", name)]);
    assert_eq!(["forwarded", "refused"].map(|name| not_held("orders.fifo", name)), [Some(1.0), Some(0.0)]);
    assert_eq!(not_held("missing.fifo", "refused"), Some(1.0));
    assert_eq!(not_held("idle.fifo", "refused"), None);
}

#[tokio::test]
async fn calls_of_the_worker_are_measured() {
    let calls = CallMetrics::new();
    let job_queues = job_queues(Arc::new(MemoryJobs::new(SystemClock::new())), &["mails"]).await;
    let metrics = metrics_of(job_queues.clone(), calls.clone());
    for milliseconds in [20, 400, 8_000] {
        calls.observe(&"mails".parse().unwrap(), Duration::from_millis(milliseconds));
    }
    let found = scrape(&metrics).await;
    let name = "vestibule_job_duration_seconds";
    assert_eq!(found.value(&format!("{name}_count"), &[("job_queue", "mails")]), Some(3.0));
    for (bound, count) in [("0.025", 1.0), ("1", 2.0), ("10", 3.0)] {
        let labels = [("job_queue", "mails"), ("le", bound)];
        assert_eq!(found.value(&format!("{name}_bucket"), &labels), Some(count), "{bound}");
    }
    let removed = job_queues.stored().await.unwrap();
    job_queues.execute(&JobQueuePlan { removed, ..JobQueuePlan::default() }).await.unwrap();
    assert_eq!(scrape(&metrics).await.value(&format!("{name}_count"), &[("job_queue", "mails")]), None);
}

#[tokio::test]
async fn unreachable_backend_lowers_up() {
    let backend = open_jobs("--jobs", "redis://127.0.0.1:1", "memory", Duration::from_millis(100), 0).unwrap();
    let found = scrape(&metrics_of(job_queues(backend, &["mails"]).await, CallMetrics::new())).await;
    assert_eq!((found.value("vestibule_up", &[]), found.value("vestibule_store_up", &[])), (Some(0.0), Some(1.0)));
    assert_eq!(found.all("vestibule_job_queue_jobs").count(), 0);
}
