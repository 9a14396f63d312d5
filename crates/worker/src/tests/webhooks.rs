use serde_json::{Value, json};
use vestibule_core::jobs::{Failure, FailureReason, JobId, JobState, Lease, Outcome, Settlement};

use super::fixture::Fixture;
use crate::webhooks::{JobEvents, WAITING_MAX};

fn webhook() -> Value {
    json!({ "webhook": { "event_types": ["job.dead_lettered", "order.outcome_unknown"] }, "max_attempts": 1 })
}

/// W1, J19.
#[tokio::test]
async fn dead_letter_event_has_no_payload() {
    let mut fixture = Fixture::start(8).await;
    fixture.job_queue("hooks", &webhook()).await;
    let mails = fixture.job_queue("mails", &json!({ "max_attempts": 2, "min_backoff": 1 })).await;
    let id = fixture.enqueue(&mails, None, "ada@example.com").await;
    fixture.handler.next().await.respond(500, &[]);
    fixture.reaches(&mails, id, JobState::Retrying).await;
    fixture.clock.advance(2_000_000);
    let second = fixture.handler.next().await;
    assert_eq!(second.header("vestibule-job-queue"), "mails", "the first failure is no event");
    second.respond(503, &[]);

    let call = fixture.handler.next().await;
    assert_eq!(call.header("vestibule-job-queue"), "hooks");
    let mut body: Value = serde_json::from_slice(&call.body).unwrap();
    assert!(body["timestamp"].take().is_string());
    let data = json!({
        "tenant": "acme", "job_queue": "mails", "job_id": id.to_string(), "reason": "status", "status": 503,
    });
    assert_eq!(body, json!({ "type": "job.dead_lettered", "timestamp": null, "data": data }));
    call.respond(204, &[]);
}

/// J19.
#[tokio::test]
async fn unknown_outcome_event_has_no_response() {
    let mut fixture = Fixture::start(8).await;
    fixture.job_queue("hooks", &webhook()).await;
    let orders = fixture.job_queue("orders", &json!({})).await;
    let (events, publish) = JobEvents::new(fixture.job_queues.clone());
    let failure = Failure { reason: FailureReason::Timeout, status: None, response: b"ada@example.com".to_vec() };
    let id = JobId::random();
    let settlement = Settlement { lease: Lease { job: id, receive_count: 1 }, outcome: Outcome::Unknown(failure) };
    events.settled(&orders, &settlement, JobState::Unknown);
    drop(events);
    publish.await;
    let call = fixture.handler.next().await;
    let body: Value = serde_json::from_slice(&call.body).unwrap();
    let data = json!({
        "tenant": "acme", "job_queue": "orders", "job_id": id.to_string(), "reason": "timeout", "status": null,
    });
    assert_eq!((&body["type"], &body["data"]), (&json!("order.outcome_unknown"), &data));
    call.respond(204, &[]);
}

#[tokio::test]
async fn dead_webhook_event_is_no_event() {
    let mut fixture = Fixture::start(8).await;
    let hooks = fixture.job_queue("hooks", &webhook()).await;
    let id = fixture.enqueue(&hooks, None, "{}").await;
    fixture.handler.next().await.respond(500, &[]);
    fixture.reaches(&hooks, id, JobState::Failed).await;
    fixture.begin_stop();
    fixture.stopped().await;
    let stats = fixture.job_queues.job_store().stats(&hooks).await.unwrap();
    assert_eq!((stats.counters.enqueued, stats.dead), (1, 1));
}

#[tokio::test]
async fn dead_letters_of_a_tenant_lose_no_events_of_others() {
    let fixture = Fixture::start(8).await;
    let foreign = |more: Value| {
        let mut value = json!({ "tenant": "globex", "paused": true });
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    };
    let hooks = fixture.job_queue("hooks", &json!({ "webhook": webhook()["webhook"], "paused": true })).await;
    let other_hooks = fixture.job_queue("other-hooks", &foreign(json!({ "webhook": webhook()["webhook"] }))).await;
    let mails = fixture.job_queue("mails", &json!({})).await;
    let other_mails = fixture.job_queue("other-mails", &foreign(json!({}))).await;
    let (events, publish) = JobEvents::new(fixture.job_queues.clone());
    let fail = |settings| {
        let failure = Failure { reason: FailureReason::Status, status: Some(500), response: Vec::new() };
        let lease = Lease { job: JobId::random(), receive_count: 1 };
        events.settled(settings, &Settlement { lease, outcome: Outcome::Failed(failure) }, JobState::Failed);
    };
    (0..WAITING_MAX + 5).for_each(|_| fail(&mails));
    fail(&other_mails);
    drop(events);
    publish.await;
    let waiting = async |settings| fixture.job_queues.job_store().stats(settings).await.unwrap().waiting;
    assert_eq!((waiting(&hooks).await, waiting(&other_hooks).await), (WAITING_MAX as u64, 1));
}

#[tokio::test]
async fn events_of_the_last_jobs_are_enqueued_before_the_stop() {
    let mut fixture = Fixture::start(8).await;
    let hooks = fixture.job_queue("hooks", &json!({ "webhook": webhook()["webhook"], "paused": true })).await;
    let mails = fixture.job_queue("mails", &json!({ "max_attempts": 1 })).await;
    fixture.enqueue(&mails, None, "hello").await;
    let call = fixture.handler.next().await;
    fixture.begin_stop();
    call.respond(400, &[]);
    fixture.stopped().await;
    assert_eq!(fixture.job_queues.job_store().stats(&hooks).await.unwrap().waiting, 1);
}
