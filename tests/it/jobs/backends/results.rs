//! What a job leaves behind: J18, H6.

use serde_json::json;
use vestibule_core::jobs::{
    DELIVERED_SECONDS, Failure, HELD_RESPONSE_MAX, JobResponse, JobState, NewJob, Outcome, PROGRESS_KEPT,
    ProgressAdded, RESULT_KEPT, Settled,
};

use super::fixture::{JOB_BYTES, JobQueueFixture, JobsFixture, failure, job, response};

/// A redirect with headers and a body of this size.
fn redirect(size: usize) -> JobResponse {
    let body = (0..=255).cycle().take(size).collect();
    JobResponse { status: 303, location: Some("/done".to_owned()), headers: b"set-cookie: a=b".to_vec(), body }
}

/// Enqueues and completes a job with this response.
async fn complete(queue: &JobQueueFixture<'_>, number: u64, response: JobResponse) -> Option<JobResponse> {
    let group = queue.settings.id.is_fifo().then_some("a");
    queue.enqueue(job(number, group)).await;
    let lease = queue.start_one().await;
    let settled = queue.settle(lease, Outcome::Acknowledged(Some(response))).await;
    assert_eq!(settled, Settled::Now(JobState::Completed));
    queue.view(number).await.unwrap().result
}

/// Fails the job of this number, which can start, with a response of this size. Returns how much of it is kept.
async fn fail(queue: &JobQueueFixture<'_>, number: u64, size: usize) -> usize {
    let lease = queue.start_one().await;
    queue.settle(lease, Outcome::Failed(Failure { response: vec![b'x'; size], ..failure() })).await;
    queue.advance_seconds(900);
    queue.view(number).await.unwrap().response.len()
}

pub(super) async fn j18_start_of_the_response_is_kept(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "result_ttl": 60 }));
    let kept = complete(&queue, 1, redirect(RESULT_KEPT + 1)).await.unwrap();
    let expected = JobResponse { location: None, headers: Vec::new(), ..redirect(RESULT_KEPT) };
    assert_eq!(kept, expected, "headers are for visitors of held orders");
    let status = queue.status(1).await.unwrap();
    assert_eq!(status.result, Some(JobResponse { status: 303, ..JobResponse::default() }), "without contents");
    queue.enqueue(job(2, None)).await;
    let lease = queue.start_one().await;
    queue.settle(lease, Outcome::Acknowledged(None)).await;
    let view = queue.view(2).await.unwrap();
    assert_eq!((view.result, view.attempts[0].status), (None, None), "a consumer has no response");
    assert!(!queue.view(1).await.unwrap().is_delivered);
    queue.mark_delivered(1).await;
    queue.advance_seconds(DELIVERED_SECONDS - 1);
    assert_eq!(queue.view(1).await.unwrap().result, Some(expected), "only held orders are reduced");
    queue.advance_seconds(1);
    assert_eq!(queue.view(1).await, None);
}

pub(super) async fn j18_responses_have_room_of_their_own(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_bytes": 2 * JOB_BYTES, "result_ttl": 60 }));
    let body = |result: Option<JobResponse>| result.unwrap().body.len();
    assert_eq!(body(complete(&queue, 1, response(&[b'x'; 16])).await), 16);
    queue.advance_seconds(1);
    assert_eq!(body(complete(&queue, 2, response(&[b'x'; 15])).await), 0, "no room: only the status is kept");
    assert_eq!(body(complete(&queue, 3, response(&[b'x'; 14])).await), 14);
    queue.enqueue_numbers(4..=5, None).await;
    assert_eq!(queue.stats().await.bytes, 2 * JOB_BYTES, "payloads have their own room");
    let leases = queue.start().await.1;
    assert_eq!(queue.add_progress(leases[0], "1").await, ProgressAdded::Full);
    queue.advance_seconds(59);
    assert_eq!(queue.view(1).await, None);
    queue.extend(&leases).await;
    assert_eq!(queue.add_progress(leases[0], "1").await, ProgressAdded::NotLeased, "its lease has ended");
    queue.advance_seconds(900);
    let lease = queue.start().await.1[0];
    assert_eq!(queue.add_progress(lease, &"1".repeat(30)).await, ProgressAdded::Added);
    assert_eq!(queue.add_progress(lease, "1").await, ProgressAdded::Full);
}

pub(super) async fn j18_responses_of_failures_share_that_room(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_bytes": 8 * JOB_BYTES, "max_attempts": 2 }));
    let fail = async |number, size| fail(&queue, number, size).await;
    queue.enqueue(job(1, None)).await;
    assert_eq!(fail(1, 29).await, 29);
    let lease = queue.start_one().await;
    assert_eq!(queue.add_progress(lease, &"1".repeat(92)).await, ProgressAdded::Full);
    assert_eq!(queue.add_progress(lease, &"1".repeat(91)).await, ProgressAdded::Added);
    queue.settle(lease, Outcome::Requeued).await;
    assert_eq!(fail(1, 20).await, 20, "it takes the place of the one before");
    queue.enqueue(job(2, None)).await;
    assert_eq!(fail(2, 10).await, 0, "no room");
    assert_eq!(fail(2, 9).await, 9);
    assert_eq!(queue.replay(&[1]).await, [true]);
    let lease = queue.start_one().await;
    let result = Outcome::Acknowledged(Some(response(&[b'x'; 20])));
    queue.settle(lease, result).await;
    assert_eq!(queue.view(1).await.unwrap().result.unwrap().body.len(), 20, "what a replayed job kept is gone");
    queue.delete_dead(&[2]).await;
    queue.enqueue(job(3, None)).await;
    assert_eq!(fail(3, 9).await, 9, "as is that of a deleted one");
}

pub(super) async fn j18_failures_leave_room_for_results(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_bytes": 400, "max_attempts": 1 }));
    for (number, size, kept) in [(1, 60, 60), (2, 41, 0), (3, 40, 40), (4, 1, 0)] {
        queue.enqueue(job(number, None)).await;
        assert_eq!(fail(&queue, number, size).await, kept, "failures have a quarter of the room: {size} bytes");
    }
    let result = complete(&queue, 5, response(&[b'x'; 300])).await.unwrap();
    assert_eq!(result.body.len(), 300);
    queue.delete_dead(&[1]).await;
    queue.enqueue(job(6, None)).await;
    assert_eq!(fail(&queue, 6, 60).await, 60, "a deleted one gives its room back");
}

pub(super) async fn j18_progress_is_numbered_and_kept(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "result_ttl": 60 }));
    queue.enqueue(job(1, Some("a"))).await;
    let old = queue.start_one().await;
    assert_eq!(queue.add_progress(old, r#"{"step":"früh"}"#).await, ProgressAdded::Added);
    let since = queue.now();
    queue.fail(old).await;
    assert_eq!(queue.add_progress(old, "2").await, ProgressAdded::NotLeased);
    queue.advance_seconds(10);
    let lease = queue.start_one().await;
    let progress = queue.status(1).await.unwrap().progress;
    assert_eq!((progress.len(), progress[0].id, progress[0].at), (1, 1, since), "a retry keeps it");
    assert_eq!(progress[0].message.as_str(), r#"{"step":"früh"}"#);
    let last = 2 * PROGRESS_KEPT + 1;
    for number in 2..=last {
        assert_eq!(queue.add_progress(lease, &number.to_string()).await, ProgressAdded::Added);
    }
    queue.acknowledge(lease).await;
    let progress = queue.view(1).await.unwrap().progress;
    let ids: Vec<_> = progress.iter().map(|it| it.id as usize).collect();
    assert_eq!(ids, (last - PROGRESS_KEPT + 1..=last).collect::<Vec<_>>());
    assert!(progress.iter().all(|it| it.message.as_str() == it.id.to_string() && it.at == queue.now()));
    queue.advance_seconds(60);
    queue.enqueue(job(1, Some("a"))).await;
    assert_eq!(queue.view(1).await.map(|view| view.progress), None, "a duplicate is not queued");
    queue.advance_seconds(240);
    queue.enqueue(job(1, Some("a"))).await;
    assert!(queue.view(1).await.unwrap().progress.is_empty(), "nothing is left of a job with the same ID");
}

pub(super) async fn h06_response_is_removed_after_its_delivery(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "target": { "kind": "origin" }, "result_ttl": 600 }));
    let kept = complete(&queue, 1, redirect(HELD_RESPONSE_MAX + 1)).await;
    assert_eq!(kept, Some(redirect(HELD_RESPONSE_MAX)));
    queue.advance_seconds(DELIVERED_SECONDS + 1);
    queue.mark_delivered(1).await;
    queue.advance_seconds(DELIVERED_SECONDS - 1);
    queue.mark_delivered(1).await;
    assert_eq!(queue.view(1).await.unwrap().result, kept, "the first delivery counts");
    queue.advance_seconds(1);
    let reduced = JobResponse { headers: Vec::new(), ..redirect(0) };
    assert_eq!(queue.view(1).await.unwrap().result, Some(reduced.clone()), "status and address of the redirect remain");
    queue.mark_delivered(1).await;
    queue.mark_delivered(2).await;
    queue.advance_seconds(DELIVERED_SECONDS);
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.result, view.is_delivered), (Some(reduced), true));
    queue.enqueue(NewJob { deduplication_id: Some("2".parse().unwrap()), ..job(2, Some("a")) }).await;
    queue.mark_delivered(2).await;
    assert_eq!(queue.view(2).await.unwrap().state, JobState::Queued, "nothing was delivered");
}
