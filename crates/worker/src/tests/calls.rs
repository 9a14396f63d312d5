use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use vestibule_core::jobs::{Enqueued, FailureReason, JobState, NewJob, Payload};
use vestibule_core::{Clock as _, SystemClock};

use super::fixture::{Fixture, NOW, new_job};
use crate::signature::signature;

#[tokio::test]
async fn payload_and_metadata_arrive_unchanged() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("updates.fifo", &json!({ "timeout": 60 })).await;
    let bytes: Vec<u8> = (0..=255).chain([0, 13, 10]).collect();
    let payload = Payload { content_type: "application/x-custom; charset=\"a b\"".to_owned(), bytes: bytes.clone() };
    let job =
        NewJob { group: Some("user-17".parse().unwrap()), user_id: Some("ada 17".to_owned()), ..new_job(payload) };
    let id = fixture.enqueue_job(&settings, job).await.to_string();
    let call = fixture.handler.next().await;
    assert_eq!((call.path.as_str(), call.body.as_ref()), ("/jobs", bytes.as_slice()));
    let enqueued_at = NOW.to_string();
    for (name, value) in [
        ("content-type", "application/x-custom; charset=\"a b\""),
        ("content-length", "259"),
        ("webhook-id", &id),
        ("idempotency-key", &id),
        ("vestibule-job-id", &id),
        ("vestibule-job-queue", "updates.fifo"),
        ("vestibule-group-id", "user-17"),
        ("vestibule-sequence-number", "1"),
        ("vestibule-receive-count", "1"),
        ("vestibule-enqueued-at", &enqueued_at),
        ("vestibule-user-id", "ada 17"),
    ] {
        assert_eq!(call.header(name), value, "{name}");
    }
    let timestamp: u64 = call.header("webhook-timestamp").parse().unwrap();
    assert!(timestamp.abs_diff(SystemClock::new().now().0 / 1_000_000) <= 10, "{timestamp}");
    assert_eq!(call.header("vestibule-deadline"), (timestamp + 60).to_string());
    let secret = settings.target.secret.as_ref().unwrap();
    assert_eq!(call.header("webhook-signature"), signature(secret, &id, timestamp, &bytes).unwrap());
    call.respond(204, &[]);
    let completed = fixture.reaches(&settings, id.parse().unwrap(), JobState::Completed).await;
    assert_eq!((completed.receive_count, completed.attempts[0].status), (1, Some(204)));
}

#[tokio::test]
async fn failed_job_is_retried_after_its_backoff() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({ "min_backoff": 60 })).await;
    let id = fixture.enqueue(&settings, None, "hello").await;
    let first = fixture.handler.next().await;
    let signed = first.header("webhook-id").to_owned();
    first.respond(500, &[]);
    let view = fixture.reaches(&settings, id, JobState::Retrying).await;
    assert_eq!((view.failed_attempts, view.response.as_slice()), (1, b"why".as_slice()));
    let attempt = view.attempts[0].clone();
    assert_eq!((attempt.reason, attempt.status), (Some(FailureReason::Status), Some(500)));
    fixture.clock.advance(40_000_000);
    let other = fixture.enqueue(&settings, None, "other").await;
    fixture.handler.next().await.respond(200, &[]);
    fixture.reaches(&settings, other, JobState::Completed).await;
    assert!(fixture.handler.is_quiet(), "it waits for its backoff");
    fixture.clock.advance(40_000_000);
    let second = fixture.handler.next().await;
    assert_eq!((second.header("webhook-id"), second.header("vestibule-receive-count")), (signed.as_str(), "2"));
    assert_eq!(second.body.as_ref(), b"hello");
    second.respond(204, &[]);
    fixture.reaches(&settings, id, JobState::Completed).await;
}

#[tokio::test]
async fn timeout_closes_the_connection() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({ "timeout": 1 })).await;
    let id = fixture.enqueue(&settings, None, "hello").await;
    fixture.handler.next().await.closed().await;
    let view = fixture.reaches(&settings, id, JobState::Retrying).await;
    assert_eq!((view.attempts[0].reason, view.attempts[0].status), (Some(FailureReason::Timeout), None));
}

#[tokio::test]
async fn broken_connection_is_a_failed_attempt() {
    let mut fixture = Fixture::start(8).await;
    let closed = json!({ "target": { "kind": "http", "url": "http://127.0.0.1:1/", "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=" } });
    let settings = fixture.job_queue("emails", &closed).await;
    let id = fixture.enqueue(&settings, None, "hello").await;
    let view = fixture.reaches(&settings, id, JobState::Retrying).await;
    assert_eq!(view.attempts[0].reason, Some(FailureReason::Connection));
    assert!(fixture.handler.is_quiet());
}

#[tokio::test]
async fn retry_after_is_no_attempt() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({ "max_attempts": 1 })).await;
    let id = fixture.enqueue(&settings, None, "first").await;
    fixture.handler.next().await.respond(503, &[("retry-after", "60")]);
    let view = fixture.reaches(&settings, id, JobState::Queued).await;
    assert_eq!((view.failed_attempts, view.attempts.len()), (0, 0));
    let second = fixture.enqueue(&settings, None, "second").await;
    fixture.handler.next().await.respond(429, &[("retry-after", "30")]);
    fixture.reaches(&settings, second, JobState::Queued).await;
    // 503 delays one job, 429 the job queue.
    let third = fixture.enqueue(&settings, None, "third").await;
    fixture.clock.advance(29_000_000);
    assert!(fixture.handler.is_quiet());
    fixture.clock.advance(2_000_000);
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let call = fixture.handler.next().await;
        bodies.push(call.body.clone());
        call.respond(200, &[]);
    }
    bodies.sort();
    assert_eq!(bodies, ["second", "third"]);
    for job in [second, third] {
        fixture.reaches(&settings, job, JobState::Completed).await;
    }
    fixture.clock.advance(30_000_000);
    let call = fixture.handler.next().await;
    assert_eq!(call.body.as_ref(), b"first");
    call.respond(200, &[]);
    fixture.reaches(&settings, id, JobState::Completed).await;
}

#[tokio::test]
async fn permanent_failure_is_not_repeated() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({})).await;
    for (status, headers) in [(422, [].as_slice()), (500, [("webhook-delivery", "abort-message")].as_slice())] {
        let id = fixture.enqueue(&settings, None, "hello").await;
        fixture.handler.next().await.respond(status, headers);
        let view = fixture.reaches(&settings, id, JobState::Failed).await;
        assert_eq!((view.reason, view.receive_count), (Some(FailureReason::Permanent), 1));
        assert_eq!(view.attempts[0].status, Some(status));
    }
}

#[tokio::test]
async fn redirect_is_a_failed_attempt() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({})).await;
    for status in [301, 302, 303, 307, 308] {
        let id = fixture.enqueue(&settings, None, "hello").await;
        let location = format!("{}/elsewhere", fixture.handler.url);
        fixture.handler.next().await.respond(status, &[("location", &location)]);
        let view = fixture.reaches(&settings, id, JobState::Retrying).await;
        assert_eq!(view.attempts[0].status, Some(status));
        assert!(fixture.handler.is_quiet(), "{status}");
    }
}

#[tokio::test]
async fn group_runs_one_job_at_a_time_in_order() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("updates.fifo", &json!({})).await;
    for text in ["a1", "a2", "a3"] {
        fixture.enqueue(&settings, Some("a"), text).await;
    }
    let first = fixture.handler.next().await;
    let other = fixture.enqueue(&settings, Some("b"), "b1").await;
    let b1 = fixture.handler.next().await;
    assert_eq!((first.body.as_ref(), b1.body.as_ref()), (b"a1".as_slice(), b"b1".as_slice()));
    b1.respond(200, &[]);
    fixture.reaches(&settings, other, JobState::Completed).await;
    assert!(fixture.handler.is_quiet(), "the group waits for its first job");
    first.respond(200, &[]);
    for text in ["a2", "a3"] {
        let call = fixture.handler.next().await;
        assert_eq!(call.body.as_ref(), text.as_bytes());
        assert!(fixture.handler.is_quiet());
        call.respond(200, &[]);
    }
}

#[tokio::test]
async fn concurrency_limits_calls() {
    let mut fixture = Fixture::start(64).await;
    let settings = fixture.job_queue("imports", &json!({ "concurrency": 3 })).await;
    let mut jobs = Vec::new();
    for number in 0..7 {
        jobs.push(fixture.enqueue(&settings, None, &number.to_string()).await);
    }
    let mut running = Vec::new();
    for _ in 0..3 {
        running.push(fixture.handler.next().await);
    }
    for _ in 0..4 {
        assert!(fixture.handler.is_quiet());
        running.remove(0).respond(200, &[]);
        running.push(fixture.handler.next().await);
    }
    for call in running {
        call.respond(200, &[]);
    }
    for job in jobs {
        fixture.reaches(&settings, job, JobState::Completed).await;
    }
}

#[tokio::test]
async fn slow_handler_does_not_stop_other_job_queues() {
    let mut fixture = Fixture::start(2).await;
    let slow = fixture.job_queue("slow", &json!({})).await;
    for text in ["1", "2", "3", "4"] {
        fixture.enqueue(&slow, None, text).await;
    }
    let mut running = Vec::new();
    for _ in 0..3 {
        running.push(fixture.handler.next().await);
    }
    let fast = fixture.job_queue("fast", &json!({})).await;
    for text in ["a", "b"] {
        let id = fixture.enqueue(&fast, None, text).await;
        let call = fixture.handler.next().await;
        assert_eq!(call.header("vestibule-job-queue"), "fast");
        call.respond(200, &[]);
        fixture.reaches(&fast, id, JobState::Completed).await;
    }
    assert!(fixture.handler.is_quiet(), "the total is used up");
}

#[tokio::test]
async fn settlement_is_repeated_until_the_backend_answers() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({})).await;
    fixture.backend.settle_failures.store(2, Ordering::SeqCst);
    let id = fixture.enqueue(&settings, None, "hello").await;
    fixture.handler.next().await.respond(204, &[]);
    let view = fixture.reaches(&settings, id, JobState::Completed).await;
    assert_eq!((view.receive_count, fixture.backend.settle_failures.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test]
async fn large_jobs_are_received_in_several_lists() {
    const JOBS: usize = 64;
    let mut fixture = Fixture::start(JOBS).await;
    let settings = fixture.job_queue("imports", &json!({ "concurrency": JOBS })).await;
    let payload = || Payload { content_type: "text/plain".to_owned(), bytes: vec![b'x'; 250_000] };
    let jobs = (0..JOBS).map(|_| new_job(payload())).collect();
    let began = Instant::now();
    assert_eq!(fixture.job_queues.enqueue(&settings, jobs).await.unwrap(), [Enqueued::Accepted; JOBS]);
    let mut calls = Vec::new();
    for _ in 0..JOBS {
        calls.push(fixture.handler.next().await);
    }
    // Two jobs are received at a time. With the interval at which jobs of other processes are looked for, that takes 3.1 s.
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}: it waited between them", began.elapsed());
    assert!(fixture.backend.received.load(Ordering::SeqCst) >= JOBS / 2);
}
