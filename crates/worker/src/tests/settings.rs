use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tokio::time::{pause, sleep};
use vestibule_core::jobs::{Enqueued, JobBackend as _, JobQueueSettings, JobState, Payload, SigningSecret};
use vestibule_core::settings::{JobQueuePlan, RetiredSecret};
use vestibule_core::{Clock as _, SystemClock};

use super::fixture::{Fixture, new_job, soon};
use crate::signature::signature;

#[tokio::test]
async fn settings_are_followed() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({ "paused": true })).await;
    let first = fixture.enqueue(&settings, None, "first").await;
    let other = fixture.job_queue("other", &json!({})).await;
    fixture.enqueue(&other, None, "other").await;
    let call = fixture.handler.next().await;
    assert_eq!(call.header("vestibule-job-queue"), "other", "a paused job queue starts nothing");
    call.respond(200, &[]);
    let url = format!("{}/new?v=2", fixture.handler.url);
    let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let settings =
        fixture.job_queue("emails", &json!({ "target": { "kind": "http", "url": url, "secret": secret } })).await;
    let call = fixture.handler.next().await;
    assert_eq!((call.path.as_str(), call.header("vestibule-job-queue")), ("/jobs/new?v=2", "emails"));
    call.respond(200, &[]);
    fixture.reaches(&settings, first, JobState::Completed).await;
}

#[tokio::test]
async fn removed_job_queue_is_not_asked_for_jobs() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({})).await;
    let id = fixture.enqueue(&settings, None, "first").await;
    fixture.handler.next().await.respond(200, &[]);
    fixture.reaches(&settings, id, JobState::Completed).await;
    let removed = vec![fixture.stored("emails").await.unwrap()];
    let plan = JobQueuePlan { removed, ..JobQueuePlan::default() };
    assert_eq!(fixture.job_queues.execute(&plan).await.unwrap().removed.len(), 1);
    // The loop has ended when it no longer holds what wakes it.
    let wake = fixture.job_queues.wake(&settings.id);
    soon("the end of the loop", async {
        while std::sync::Arc::strong_count(&wake) > 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let payload = Payload { content_type: "text/plain".to_owned(), bytes: "second".into() };
    let second = fixture.job_queues.enqueue(&settings, vec![new_job(payload)]).await.unwrap();
    assert_eq!(second, [Enqueued::Removed]);
    let other = fixture.job_queue("other", &json!({})).await;
    fixture.enqueue(&other, None, "other").await;
    assert_eq!(fixture.handler.next().await.header("vestibule-job-queue"), "other");
    assert!(fixture.handler.is_quiet());
}

#[tokio::test]
async fn job_queue_whose_next_job_is_far_away_is_idle() {
    let fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({ "paused": true, "timeout": 900 })).await;
    fixture.enqueue(&settings, None, "first").await;
    let running = JobQueueSettings { paused: false, ..settings };
    let received = fixture.backend.receive(&running, 1).await.unwrap();
    assert_eq!(received.jobs.len(), 1, "another worker has it, so it is due when its lease ends");
    fixture.write(&running, None).await;
    pause();
    sleep(Duration::from_secs(90)).await;
    let before = fixture.backend.received.load(Ordering::SeqCst);
    sleep(Duration::from_mins(1)).await;
    let calls = fixture.backend.received.load(Ordering::SeqCst) - before;
    assert!((50..=70).contains(&calls), "{calls} receives in a minute");
}

#[tokio::test]
async fn both_secrets_sign_after_a_rotation() {
    let mut fixture = Fixture::start(8).await;
    let now = SystemClock::new().now().seconds();
    for (id, until, has_both) in [("emails", now + 60, true), ("later", now - 1, false)] {
        let mut settings = fixture.job_queue(id, &json!({ "paused": true })).await;
        fixture.enqueue(&settings, None, "hello").await;
        let old = settings.target.secret.replace(SigningSecret::generated([9; 32])).unwrap();
        settings.paused = false;
        fixture.write(&settings, Some(RetiredSecret { secret: old.clone(), until })).await;
        let call = fixture.handler.next().await;
        let (id, timestamp) = (call.header("webhook-id"), call.header("webhook-timestamp").parse().unwrap());
        let [new, old] = [settings.target.secret.as_ref().unwrap(), &old]
            .map(|secret| signature(secret, id, timestamp, b"hello").unwrap());
        let expected = if has_both { format!("{new} {old}") } else { new };
        assert_eq!(call.header("webhook-signature"), expected);
        call.respond(200, &[]);
    }
}
