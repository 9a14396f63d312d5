//! Held orders: H7 to H9, H11, H13.

use serde_json::json;
use vestibule_core::jobs::{
    Enqueued, Extension, Failure, FailureReason, JobResponse, JobState, Lease, NewJob, Outcome, Resolution, Settled,
};

use super::fixture::{JobQueueFixture, JobsFixture, failure, job, settings_of};

fn origin(more: &serde_json::Value) -> serde_json::Value {
    let mut settings = json!({ "target": { "kind": "origin" } });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

/// The same order again, by the same session.
fn again(number: u64) -> NewJob {
    NewJob { payload: job(1, None).payload, ..job(number, Some("a")) }
}

fn response(status: u16) -> Outcome {
    Outcome::Acknowledged(Some(JobResponse { status, ..JobResponse::default() }))
}

fn lost() -> Outcome {
    Outcome::Unknown(Failure { reason: FailureReason::Connection, status: None, response: Vec::new() })
}

const FIRST: fn() -> Enqueued = || Enqueued::Duplicate(job(1, None).id);

/// Enqueues the order, receives it, and records that it is sent.
async fn send(queue: &JobQueueFixture<'_>) -> Lease {
    assert_eq!(queue.enqueue(again(1)).await, Enqueued::Accepted);
    let lease = queue.start_one().await;
    assert_eq!(queue.extend_with(Extension::sent(lease)).await, [true]);
    lease
}

pub(super) async fn h07_only_the_current_lease_may_send(fixture: &JobsFixture) {
    let queue = fixture.fifo(&origin(&json!({})));
    queue.enqueue(again(1)).await;
    let old = queue.start_one().await;
    queue.advance_seconds(30);
    assert_eq!(queue.extend_with(Extension::sent(old)).await, [false], "the lease has expired");
    assert_eq!(queue.view(1).await.unwrap().state, JobState::Retrying, "it was not sent");
    queue.advance_seconds(10);
    let new = queue.start_one().await;
    assert_eq!(queue.extend_with(Extension::sent(old)).await, [false]);
    queue.advance_seconds(30);
    assert_eq!(queue.view(1).await.unwrap().state, JobState::Retrying);
    assert_eq!(queue.settle(new, response(200)).await, Settled::NotLeased);
}

pub(super) async fn h08_order_that_may_have_been_sent_is_unknown(fixture: &JobsFixture) {
    let short = json!({ "deduplication_interval": 10, "result_ttl": 120, "retention": 60, "timeout": 1 });
    let queue = fixture.fifo(&origin(&short));
    let lease = send(&queue).await;
    queue.advance_seconds(20);
    assert_eq!(queue.extend(&[lease]).await, [true], "a later extension does not take the mark back");
    queue.enqueue(job(2, Some("a"))).await;
    queue.advance_seconds(30);
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.state, view.reason), (JobState::Unknown, Some(FailureReason::LeaseExpired)));
    assert_eq!(view.payload, None, "H13");
    assert_eq!(queue.start().await.0, ["job 2"], "it is not sent again, and its group continues");
    let stats = queue.stats().await;
    assert_eq!((stats.dead, stats.counters.unknown, stats.counters.dead), (1, 1, 0));
    queue.advance_micros(120_000_000 - 1);
    assert_eq!(queue.enqueue(again(3)).await, FIRST(), "the visitor is not asked to submit it again");
    queue.advance_micros(1);
    assert_eq!(queue.enqueue(again(3)).await, Enqueued::Accepted);
    assert_eq!(queue.replay(&[1]).await, [false], "H13");
    assert_eq!(queue.stats().await.unresolved(), 1);
    assert_eq!(queue.delete_dead(&[1]).await, [true]);
    assert_eq!(queue.stats().await.unresolved(), 0);
}

pub(super) async fn h08_lost_response_is_unknown(fixture: &JobsFixture) {
    let queue = fixture.fifo(&origin(&json!({})));
    let lease = send(&queue).await;
    assert_eq!(queue.settle(lease, lost()).await, Settled::Now(JobState::Unknown));
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.attempts.len(), view.attempts[0].reason), (1, Some(FailureReason::Connection)));
    assert_eq!(queue.enqueue(again(2)).await, FIRST());
    queue.delete_dead(&[1]).await;
    assert_eq!(queue.enqueue(again(2)).await, FIRST(), "it may have been placed");
    // Orders that the origin may have processed are not sent again, whatever their job queue is.
    let queue = fixture.fifo(&json!({}));
    queue.enqueue(again(1)).await;
    let lease = queue.start_one().await;
    assert_eq!(queue.settle(lease, lost()).await, Settled::Now(JobState::Retrying), "only held orders are sent once");
}

pub(super) async fn h08_repeated_order_that_may_be_placed_is_unknown(fixture: &JobsFixture) {
    let queue = fixture.fifo(&origin(&json!({ "retry": "always", "max_attempts": 2 })));
    let lease = send(&queue).await;
    assert_eq!(queue.settle(lease, lost()).await, Settled::Now(JobState::Retrying));
    queue.advance_seconds(10);
    let lease = queue.start_one().await;
    let refused = Outcome::Failed(failure());
    assert_eq!(
        queue.settle(lease, refused).await,
        Settled::Now(JobState::Unknown),
        "the first attempt may have placed it"
    );
    assert_eq!(queue.enqueue(again(2)).await, FIRST());
}

pub(super) async fn h08_order_that_waits_has_no_second_one(fixture: &JobsFixture) {
    let queue = fixture.fifo(&origin(&json!({ "deduplication_interval": 10, "retention": 60 })));
    queue.enqueue(again(1)).await;
    queue.advance_seconds(50);
    assert_eq!(queue.enqueue(again(2)).await, FIRST());
    let lease = queue.start_one().await;
    assert_eq!(queue.settle(lease, response(303)).await, Settled::Now(JobState::Completed));
    assert_eq!(queue.enqueue(again(2)).await, Enqueued::Accepted, "another one, after deduplication_interval");
}

pub(super) async fn h08_order_that_waits_longer_than_expected_has_no_second_one(fixture: &JobsFixture) {
    let short =
        json!({ "deduplication_interval": 60, "retention": 60, "timeout": 1, "result_ttl": 60, "max_backoff": 5 });
    let mut queue = fixture.fifo(&origin(&short));
    queue.enqueue(again(1)).await;
    queue.settings.retention = 3_600;
    queue.advance_seconds(68);
    assert_eq!(queue.enqueue(again(2)).await, FIRST(), "before its first attempt");
    let lease = queue.start_one().await;
    queue.fail(lease).await;
    queue.advance_seconds(68);
    assert_eq!(queue.enqueue(again(2)).await, FIRST(), "between two attempts");
    let lease = queue.start_one().await;
    assert_eq!(queue.settle(lease, response(303)).await, Settled::Now(JobState::Completed));
    assert_eq!(queue.enqueue(again(2)).await, Enqueued::Accepted, "deduplication_interval has passed");

    // An unknown outcome ends the wait, too.
    let queue = fixture.fifo(&origin(&short));
    let lease = send(&queue).await;
    assert_eq!(queue.settle(lease, lost()).await, Settled::Now(JobState::Unknown));
    queue.advance_micros(61_000_000 - 1);
    assert_eq!(queue.enqueue(again(2)).await, FIRST());
    queue.advance_micros(1);
    assert_eq!(queue.enqueue(again(2)).await, Enqueued::Accepted);
}

pub(super) async fn h08_result_is_kept_for_duplicates(fixture: &JobsFixture) {
    let queue = fixture.fifo(&origin(&json!({ "deduplication_interval": 600, "result_ttl": 60 })));
    let lease = send(&queue).await;
    assert_eq!(queue.settle(lease, response(303)).await, Settled::Now(JobState::Completed));
    queue.advance_micros(600_000_000 - 1);
    assert_eq!(queue.enqueue(again(2)).await, FIRST());
    assert_eq!(queue.view(1).await.map(|view| view.state), Some(JobState::Completed), "the visitor reads its outcome");
    queue.advance_micros(1);
    assert_eq!(queue.enqueue(again(2)).await, Enqueued::Accepted);
    assert_eq!(queue.view(1).await, None);
}

pub(super) async fn h08_unprocessed_order_is_sent_again(fixture: &JobsFixture) {
    let queue = fixture.fifo(&origin(&json!({ "max_attempts": 2 })));
    let lease = send(&queue).await;
    let refused = Failure { status: Some(503), ..failure() };
    assert_eq!(queue.settle(lease, Outcome::Failed(refused.clone())).await, Settled::Now(JobState::Retrying));
    assert_eq!(queue.enqueue(again(2)).await, FIRST(), "it will be sent");
    queue.advance_seconds(10);
    let lease = queue.start_one().await;
    queue.advance_seconds(30);
    let view = queue.view(1).await.unwrap();
    assert_eq!(view.state, JobState::Failed, "the mark is that of one attempt; this one was not sent");
    assert_eq!(view.payload, None, "H13");
    assert_eq!(queue.settle(lease, response(200)).await, Settled::NotLeased);
    assert_eq!(queue.enqueue(again(2)).await, Enqueued::Accepted, "it was not placed");
    let queue = fixture.fifo(&origin(&json!({ "retention": 60 })));
    queue.enqueue(again(1)).await;
    queue.advance_seconds(60);
    assert_eq!(queue.view(1).await.unwrap().reason, Some(FailureReason::Expired));
    assert_eq!(queue.enqueue(again(2)).await, Enqueued::Accepted, "it was never sent");
}

pub(super) async fn h08_rejected_order_can_be_submitted_again(fixture: &JobsFixture) {
    for (status, expected) in [(200, FIRST()), (303, FIRST()), (400, Enqueued::Accepted), (500, Enqueued::Accepted)] {
        let queue = fixture.fifo(&origin(&json!({})));
        let lease = send(&queue).await;
        assert_eq!(queue.settle(lease, response(status)).await, Settled::Now(JobState::Completed), "{status}");
        assert_eq!(queue.enqueue(again(2)).await, expected, "{status}");
    }
}

pub(super) async fn h08_late_result_replaces_unknown(fixture: &JobsFixture) {
    let expired = async |queue: &JobQueueFixture<'_>| {
        let lease = send(queue).await;
        queue.advance_seconds(40);
        assert_eq!(queue.view(1).await.unwrap().state, JobState::Unknown);
        lease
    };
    let queue = fixture.fifo(&origin(&json!({})));
    let lease = expired(&queue).await;
    assert_eq!(queue.settle(lease, Outcome::Requeued).await, Settled::NotLeased);
    assert_eq!(queue.settle(lease, lost()).await, Settled::NotLeased, "it stays unknown");
    for _ in 0..2 {
        assert_eq!(queue.settle(lease, response(303)).await, Settled::Now(JobState::Completed));
    }
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.result.map(|it| it.status), view.reason), (Some(303), None));
    assert_eq!((view.attempts.len(), view.attempts[0].status, view.attempts[0].reason), (1, Some(303), None));
    assert_eq!(queue.settle(lease, response(200)).await, Settled::NotLeased);
    let stats = queue.stats().await;
    assert_eq!((stats.dead, stats.counters.acknowledged), (0, 1));
    assert_eq!(queue.enqueue(again(2)).await, FIRST());
    let queue = fixture.fifo(&origin(&json!({})));
    let lease = expired(&queue).await;
    assert_eq!(queue.settle(lease, Outcome::Failed(failure())).await, Settled::Now(JobState::Failed));
    assert_eq!(queue.enqueue(again(2)).await, Enqueued::Accepted, "it was not placed");
    let stats = queue.stats().await;
    assert_eq!((stats.dead, stats.counters.unknown, stats.counters.dead), (1, 1, 1));
    assert_eq!(stats.unresolved(), 0);
}

pub(super) async fn h08_retry_always_sends_again(fixture: &JobsFixture) {
    let queue = fixture.fifo(&origin(&json!({ "retry": "always" })));
    let old = send(&queue).await;
    queue.advance_seconds(30);
    assert_eq!(queue.view(1).await.unwrap().state, JobState::Retrying);
    assert_eq!(queue.settle(old, response(200)).await, Settled::NotLeased);
    queue.advance_seconds(10);
    let lease = queue.start_one().await;
    assert_eq!(queue.settle(lease, lost()).await, Settled::Now(JobState::Retrying));
    assert_eq!(queue.enqueue(again(2)).await, FIRST());
}

pub(super) async fn h09_operator_resolves_an_unknown_outcome(fixture: &JobsFixture) {
    let queue = fixture.fifo(&origin(&json!({})));
    let lease = send(&queue).await;
    assert!(!queue.resolve(1, Resolution::Placed).await, "its outcome is not unknown");
    assert!(!queue.resolve(9, Resolution::Placed).await);
    queue.settle(lease, lost()).await;
    let unresolved = async || queue.stats().await.unresolved();
    assert_eq!(unresolved().await, 1);
    assert!(queue.resolve(1, Resolution::Placed).await);
    assert_eq!(unresolved().await, 0);
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.state, view.resolution), (JobState::Unknown, Some(Resolution::Placed)));
    assert_eq!(queue.enqueue(again(2)).await, FIRST());
    assert!(queue.resolve(1, Resolution::NotPlaced).await);
    assert_eq!(queue.status(1).await.unwrap().resolution, Some(Resolution::NotPlaced));
    assert!(queue.resolve(1, Resolution::Placed).await, "that was a mistake");
    assert_eq!(queue.enqueue(again(2)).await, FIRST());
    assert!(queue.resolve(1, Resolution::NotPlaced).await);
    assert_eq!(queue.enqueue(again(2)).await, Enqueued::Accepted, "the visitor can submit it again");
    assert_eq!(queue.dead_letters(None, 9).await.len(), 1);
    assert_eq!(queue.settle(lease, response(200)).await, Settled::Now(JobState::Completed), "the origin knows better");
    assert_eq!(queue.view(1).await.unwrap().resolution, None);
    assert!(!queue.resolve(1, Resolution::Placed).await);
    assert_eq!((unresolved().await, queue.stats().await.counters.unknown), (0, 1));
}

pub(super) async fn h11_changed_pace_applies_to_the_next_receive(fixture: &JobsFixture) {
    let mut queue = fixture.fifo(&origin(&json!({ "concurrency": 1 })));
    for number in 1..=4 {
        queue.enqueue(job(number, Some(&format!("session-{number}")))).await;
    }
    queue.start_one().await;
    assert!(queue.start().await.1.is_empty());
    queue.settings.concurrency = 3;
    assert_eq!(queue.start().await.1.len(), 2);

    let mut queue = fixture.fifo(&origin(&json!({ "dispatches_per_minute": 1, "concurrency": 100 })));
    for number in 1..=4 {
        queue.enqueue(job(number, Some(&format!("session-{number}")))).await;
    }
    queue.start_one().await;
    queue.advance_seconds(10);
    assert!(queue.start().await.1.is_empty());
    queue.settings.dispatches_per_minute = Some(60);
    queue.advance_seconds(2);
    assert_eq!(queue.start().await.1.len(), 1);
}

pub(super) async fn h13_dead_letters_of_orders_keep_no_payload(fixture: &JobsFixture) {
    let mut queue = fixture.fifo(&origin(&json!({ "max_attempts": 1 })));
    queue.enqueue(again(1)).await;
    let lease = queue.start_one().await;
    queue.fail(lease).await;
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.state, view.payload, queue.stats().await.bytes), (JobState::Failed, None, 0));
    assert_eq!(queue.replay(&[1]).await, [false]);
    assert_eq!(queue.replay_all(None).await.replayed, 0);
    // Nor can they be replayed after a change of the target: there is nothing to send.
    queue.settings = settings_of(queue.settings.id.as_str(), &json!({}));
    assert_eq!(queue.replay(&[1]).await, [false]);
}
