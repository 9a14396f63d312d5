//! Leases, failures and ends: J9, J10, J12, J14, J16, J18.

use serde_json::json;
use vestibule_core::jobs::{
    ATTEMPTS_KEPT, Attempt, Failure, FailureReason, JOB_REAP_BATCH, JobState, Lease, Outcome, RESPONSE_KEPT,
    RETRY_AFTER_MAX, Settled,
};

use super::fixture::{JOB_BYTES, JobsFixture, START, failure, job, response, settings_of};

pub(super) async fn j09_expired_lease_is_a_failed_attempt(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({}));
    queue.enqueue(job(1, None)).await;
    let lease = queue.start_one().await;
    queue.advance_micros(30_000_000 - 1);
    assert_eq!(queue.view(1).await.unwrap().state, JobState::Running);
    queue.advance_micros(1);
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.state, view.failed_attempts), (JobState::Retrying, 1));
    let reason = Some(FailureReason::LeaseExpired);
    let ended_at = START.add_seconds(30);
    let expected = Attempt { receive_count: 1, started_at: START, ended_at, reason, status: None };
    assert_eq!(view.attempts, [expected]);
    assert_eq!(queue.acknowledge(lease).await, Settled::NotLeased);
}

pub(super) async fn j09_old_lease_is_refused(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({}));
    queue.enqueue(job(1, None)).await;
    let old = queue.start_one().await;
    queue.advance_seconds(40);
    assert_eq!(queue.extend(&[old]).await, [false]);
    queue.advance_seconds(10);
    let new = queue.start_one().await;
    let unknown = Lease { job: job(2, None).id, receive_count: 1 };
    assert_eq!(queue.extend(&[old, new, unknown]).await, [false, true, false]);
    assert_eq!(queue.acknowledge(old).await, Settled::NotLeased, "an old lease settles nothing");
    assert_eq!(queue.acknowledge(new).await, Settled::Now(JobState::Completed));
    assert_eq!(queue.stats().await.counters.refused, 4);
}

pub(super) async fn j09_repeated_settlement_is_answered_again(fixture: &JobsFixture) {
    let later = Outcome::Later { seconds: 5, pauses: false };
    for (outcome, state) in [
        (Outcome::Acknowledged(Some(response(b"done"))), JobState::Completed),
        (Outcome::Acknowledged(None), JobState::Completed),
        (Outcome::Failed(failure()), JobState::Retrying),
        (Outcome::FailedForGood(failure()), JobState::Failed),
        (later, JobState::Queued),
        (Outcome::Requeued, JobState::Queued),
    ] {
        let queue = fixture.standard(&json!({}));
        queue.enqueue(job(1, None)).await;
        let lease = queue.start_one().await;
        assert_eq!(queue.settle(lease, outcome.clone()).await, Settled::Now(state));
        let counters = queue.stats().await.counters;
        assert_eq!(queue.settle(lease, outcome.clone()).await, Settled::Now(state), "{outcome:?}");
        assert_eq!(queue.stats().await.counters, counters, "nothing happens again");
        let timeout = Failure { reason: FailureReason::Timeout, ..failure() };
        assert_eq!(queue.settle(lease, Outcome::Failed(timeout)).await, Settled::NotLeased, "after {outcome:?}");
    }

    let queue = fixture.standard(&json!({ "result_ttl": 60 }));
    queue.enqueue(job(1, None)).await;
    let old = queue.start_one().await;
    queue.fail(old).await;
    queue.advance_seconds(10);
    let new = queue.start_one().await;
    assert_eq!(queue.fail(old).await, Settled::NotLeased, "the job was received again");
    queue.acknowledge(new).await;
    queue.advance_seconds(59);
    assert_eq!(queue.acknowledge(new).await, Settled::Now(JobState::Completed));
    queue.advance_seconds(1);
    assert_eq!(queue.acknowledge(new).await, Settled::NotLeased, "its result is not kept any more");
}

pub(super) async fn j09_extension_keeps_the_lease(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({}));
    queue.enqueue_numbers(1..=2, None).await;
    let leases = queue.start().await.1;
    for _ in 0..5 {
        queue.advance_seconds(29);
        assert_eq!(queue.extend(&leases).await, [true, true]);
    }
    queue.step_back_seconds(20);
    assert_eq!(queue.extend(&leases).await, [true, true], "an extension never shortens a lease");
    queue.advance_micros(50_000_000 - 1);
    assert_eq!(queue.acknowledge(leases[0]).await, Settled::Now(JobState::Completed));
    queue.advance_micros(1);
    assert_eq!(queue.acknowledge(leases[1]).await, Settled::NotLeased, "30 seconds after the last extension");
    assert_eq!(queue.view(1).await.unwrap().attempts[0].started_at, START);
}

pub(super) async fn j09_pulled_job_is_leased_for_its_timeout(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "target": { "kind": "pull" }, "timeout": 600 }));
    queue.enqueue(job(1, None)).await;
    let lease = queue.start_one().await;
    queue.advance_seconds(599);
    assert_eq!(queue.extend_by(lease, 900).await, [true]);
    queue.advance_seconds(899);
    assert_eq!(queue.view(1).await.unwrap().state, JobState::Running);
    queue.advance_seconds(1);
    assert_eq!(queue.view(1).await.unwrap().state, JobState::Retrying);
}

pub(super) async fn j10_failed_job_is_retried(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_attempts": 3 }));
    queue.enqueue(job(1, None)).await;
    for attempt in 1..=2 {
        let lease = queue.start_one().await;
        assert_eq!(queue.fail(lease).await, Settled::Now(JobState::Retrying));
        let view = queue.view(1).await.unwrap();
        assert_eq!((view.failed_attempts, view.response), (attempt, b"broken".to_vec()));
        assert!(queue.start().await.0.is_empty(), "not before its backoff has passed");
        queue.advance_seconds(12);
    }
    let lease = queue.start_one().await;
    assert_eq!(queue.fail(lease).await, Settled::Now(JobState::Failed));
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.reason, view.due_at), (Some(FailureReason::Status), None));
    let counters = queue.stats().await.counters;
    assert_eq!((counters.failed, counters.dead, counters.acknowledged), (3, 1, 0));
    queue.advance_seconds(3_600);
    assert!(queue.start().await.0.is_empty(), "a dead letter stays where it is");
}

pub(super) async fn j10_backoff_doubles_and_spreads(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "min_backoff": 5, "max_backoff": 60, "max_attempts": 100 }));
    queue.enqueue(job(1, None)).await;
    for attempt in 1..=40 {
        let lease = queue.start_one().await;
        queue.fail(lease).await;
        let bytes = lease.job.as_bytes();
        let expected = queue.settings.backoff(attempt, bytes[attempt as usize % bytes.len()]);
        let due = queue.view(1).await.unwrap().due_at.unwrap();
        assert_eq!(due.since(queue.now()), expected, "attempt {attempt}");
        queue.advance_micros(expected);
    }
}

pub(super) async fn j10_permanent_failure_is_not_retried(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({}));
    queue.enqueue(job(1, None)).await;
    let lease = queue.start_one().await;
    let reported = Failure { reason: FailureReason::Permanent, ..failure() };
    assert_eq!(queue.settle(lease, Outcome::FailedForGood(reported)).await, Settled::Now(JobState::Failed));
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.reason, view.failed_attempts), (Some(FailureReason::Permanent), 1));
}

pub(super) async fn j10_retry_after_is_not_an_attempt(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_attempts": 1 }));
    queue.enqueue_numbers(1..=2, None).await;
    let later = |pauses| Outcome::Later { seconds: 9_999, pauses };
    let lease = queue.receive(1).await[0].lease;
    assert_eq!(queue.settle(lease, later(false)).await, Settled::Now(JobState::Queued));
    let lease = queue.start_one().await;
    assert_eq!(lease.job, job(2, None).id, "the other one may start");
    queue.settle(lease, later(true)).await;
    queue.enqueue(job(3, None)).await;
    assert!(queue.start().await.0.is_empty(), "the whole job queue is paused");
    assert_eq!(queue.stats().await.paused_until, Some(START.add_seconds(RETRY_AFTER_MAX)));
    queue.advance_seconds(RETRY_AFTER_MAX);
    assert_eq!(queue.start().await.0, ["job 3", "job 1", "job 2"]);
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.failed_attempts, view.receive_count, view.attempts.len()), (0, 2, 0));
    assert_eq!(queue.stats().await.paused_until, None);
    assert_eq!(queue.stats().await.counters.requeued, 2);
}

pub(super) async fn j13_pause_of_an_operator_ends_that_of_the_handler(fixture: &JobsFixture) {
    let mut queue = fixture.standard(&json!({}));
    queue.enqueue(job(1, None)).await;
    let lease = queue.start_one().await;
    queue.settle(lease, Outcome::Later { seconds: 30, pauses: false }).await;
    queue.enqueue(job(2, None)).await;
    let lease = queue.start_one().await;
    queue.settle(lease, Outcome::Later { seconds: 3_600, pauses: true }).await;
    queue.advance_seconds(60);
    assert!(queue.start().await.0.is_empty(), "the whole job queue is paused");
    queue.settings.paused = true;
    assert_eq!(queue.stats().await.paused_until, None);
    queue.settings.paused = false;
    queue.advance_seconds(60);
    assert_eq!(queue.start().await.0, ["job 1"], "the other one waits for its retry delay");
}

pub(super) async fn j12_requeued_job_is_next(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "max_attempts": 1 }));
    queue.enqueue_numbers(1..=2, Some("a")).await;
    queue.advance_seconds(5);
    let lease = queue.start_one().await;
    queue.advance_seconds(5);
    queue.enqueue(job(3, Some("b"))).await;
    assert_eq!(queue.settle(lease, Outcome::Requeued).await, Settled::Now(JobState::Queued));
    assert_eq!(queue.view(1).await.unwrap().due_at, Some(START.add_seconds(5)));
    assert_eq!(queue.start().await.0, ["job 1", "job 3"]);
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.failed_attempts, view.receive_count), (0, 2));
}

pub(super) async fn j14_dead_letter_keeps_payload_and_response(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_attempts": 1 }));
    queue.enqueue(job(1, None)).await;
    let lease = queue.start_one().await;
    let response: Vec<u8> = (0..=255).cycle().take(RESPONSE_KEPT + 1).collect();
    let kept = response[..RESPONSE_KEPT].to_vec();
    queue.settle(lease, Outcome::Failed(Failure { response, ..failure() })).await;
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.payload, view.response), (Some(job(1, None).payload), kept));
    assert_eq!(view.attempts[0].status, Some(500));
    let stats = queue.stats().await;
    assert_eq!((stats.dead, stats.waiting, stats.bytes), (1, 0, JOB_BYTES));
    queue.advance_seconds(queue.settings.dead_letter_retention);
    assert_eq!(queue.view(1).await, None);
    assert_eq!((queue.stats().await.dead, queue.stats().await.bytes), (0, 0));
}

pub(super) async fn j16_unfinished_job_expires(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "retention": 60 }));
    queue.enqueue_numbers(1..=2, Some("a")).await;
    queue.advance_seconds(59);
    let lease = queue.start_one().await;
    queue.enqueue(job(3, Some("a"))).await;
    queue.advance_seconds(2);
    assert_eq!(queue.view(1).await.unwrap().state, JobState::Running, "it may still complete");
    assert_eq!(queue.view(2).await.unwrap().reason, Some(FailureReason::Expired));
    assert_eq!(queue.fail(lease).await, Settled::Now(JobState::Failed));
    assert_eq!(queue.view(1).await.unwrap().reason, Some(FailureReason::Expired));
    assert_eq!(queue.start().await.0, ["job 3"]);
    queue.advance_seconds(28);
    assert_eq!(queue.stats().await.oldest_age, Some(30));
}

/// The backend may know that nothing expires for long by the settings of before.
pub(super) async fn j16_shorter_retention_applies_at_once(fixture: &JobsFixture) {
    let mut queue = fixture.standard(&json!({ "retention": 86_400 }));
    queue.enqueue(job(1, None)).await;
    queue.advance_seconds(61);
    queue.enqueue(job(2, None)).await;
    queue.settings = settings_of(queue.settings.id.as_str(), &json!({ "retention": 60 }));
    assert_eq!(queue.view(1).await.unwrap().reason, Some(FailureReason::Expired));
    assert_eq!(queue.view(2).await.unwrap().reason, None);
    queue.advance_seconds(60);
    assert_eq!(queue.view(2).await.unwrap().reason, Some(FailureReason::Expired));
}

/// After a pause there may be more of them than an operation removes.
pub(super) async fn j16_expired_jobs_never_start(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "retention": 60, "concurrency": 1000 }));
    queue.enqueue_numbers(0..fixture.many, None).await;
    queue.advance_seconds(60);
    queue.enqueue(job(1_000, None)).await;
    let mut started = Vec::new();
    for _ in 0..fixture.many.div_ceil(JOB_REAP_BATCH as u64) + 2 {
        started.extend(queue.start().await.0);
    }
    assert_eq!(started, ["job 1000"]);
    assert_eq!((queue.stats().await.waiting, queue.stats().await.dead), (0, fixture.many));
    assert_eq!(queue.view(0).await.unwrap().reason, Some(FailureReason::Expired));
}

pub(super) async fn j18_result_is_kept_for_result_ttl(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "result_ttl": 60 }));
    queue.enqueue(job(1, None)).await;
    let lease = queue.start_one().await;
    queue.fail(lease).await;
    queue.advance_seconds(10);
    let lease = queue.start_one().await;
    queue.acknowledge(lease).await;
    queue.advance_micros(60_000_000 - 1);
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.state, view.payload, view.response), (JobState::Completed, None, Vec::new()));
    assert_eq!((view.attempts.len(), view.attempts[1].status), (2, Some(204)));
    queue.advance_micros(1);
    assert_eq!(queue.view(1).await, None);
}

pub(super) async fn j18_last_attempts_are_kept(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_attempts": 100, "max_backoff": 5 }));
    queue.enqueue(job(1, None)).await;
    for _ in 0..ATTEMPTS_KEPT + 2 {
        let lease = queue.start_one().await;
        queue.fail(lease).await;
        queue.advance_seconds(10);
    }
    let view = queue.view(1).await.unwrap();
    let counts: Vec<_> = view.attempts.iter().map(|attempt| attempt.receive_count).collect();
    assert_eq!(counts, (3..=ATTEMPTS_KEPT as u64 + 2).collect::<Vec<_>>());
}

/// An operation ends a limited number of expired leases, and the next ones end the rest.
pub(super) async fn expired_leases_end_in_batches(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "concurrency": 1000, "max_attempts": 1, "retention": 60 }));
    let batch = JOB_REAP_BATCH as u64;
    queue.enqueue_numbers(0..=2 * batch, None).await;
    while !queue.start().await.0.is_empty() {}
    queue.advance_seconds(30);
    assert_eq!(queue.stats().await.running, batch + 1);
    assert_eq!(queue.stats().await.running, 1);
    assert_eq!((queue.stats().await.running, queue.stats().await.dead), (0, 2 * batch + 1));
    queue.enqueue_numbers(1_000..=1_000 + batch, None).await;
    queue.advance_seconds(60);
    assert_eq!(queue.stats().await.waiting, 1);
    assert_eq!(queue.stats().await.waiting, 0);
}
