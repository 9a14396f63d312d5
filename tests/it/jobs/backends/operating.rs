//! What operators do with jobs: J13, J14.

use serde_json::json;
use vestibule_core::jobs::{
    Canceled, DRAIN_BATCH, DeadLetterPosition, Drained, Enqueued, FailureReason, JOB_BATCH, JOB_REAP_BATCH, JobState,
    JobStats, JobView, NewJob, REMOVED_SECONDS, REPLAY_BATCH, ReplayedAll,
};

use super::fixture::{JOB_BYTES, JobQueueFixture, JobsFixture, job, number_of};

/// Enqueues jobs that become dead letters, one per second.
async fn fail_all(queue: &JobQueueFixture<'_>, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        let group = queue.settings.id.is_fifo().then_some("a");
        queue.enqueue(job(number, group)).await;
        let lease = queue.start_one().await;
        queue.fail(lease).await;
        queue.advance_seconds(1);
    }
}

fn numbers(views: &[JobView]) -> Vec<u64> {
    views.iter().map(|view| number_of(view.id)).collect()
}

fn position(view: &JobView) -> DeadLetterPosition {
    DeadLetterPosition { ended_at: view.ended_at.unwrap(), sequence: view.sequence }
}

pub(super) async fn j13_canceled_job_is_deleted(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({}));
    queue.enqueue_numbers(1..=3, Some("a")).await;
    let lease = queue.start_one().await;
    assert_eq!(
        queue.cancel(&[1, 2, 2, 9]).await,
        [Canceled::Leased, Canceled::Canceled, Canceled::Unknown, Canceled::Unknown]
    );
    assert_eq!((queue.view(2).await, queue.stats().await.bytes), (None, 2 * JOB_BYTES));
    assert_eq!(queue.enqueue(job(2, Some("a"))).await, Enqueued::Accepted, "no duplicate of a job that never runs");
    queue.acknowledge(lease).await;
    assert_eq!(queue.start().await.0, ["job 3"]);
    assert_eq!(queue.cancel(&[1]).await, [Canceled::Finished]);
    let counters = queue.stats().await.counters;
    assert_eq!((counters.canceled, counters.dead), (1, 0));
    let queue = fixture.fifo(&json!({}));
    queue.enqueue_numbers(1..=2, Some("a")).await;
    queue.cancel(&[1]).await;
    assert_eq!(queue.start().await.0, ["job 2"], "the next one of its group can start");
    let queue = fixture.standard(&json!({}));
    queue.enqueue(job(1, None)).await;
    let lease = queue.start_one().await;
    queue.fail(lease).await;
    assert_eq!(queue.cancel(&[1]).await, [Canceled::Canceled], "it waits for its retry");
    queue.advance_seconds(900);
    assert!(queue.start().await.0.is_empty());
}

pub(super) async fn j13_drain_deletes_what_is_not_leased(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "concurrency": 3 }));
    let count = DRAIN_BATCH as u64 + 5;
    for group in ["a", "b"] {
        let from = if group == "a" { 0 } else { count };
        queue.enqueue_numbers(from..from + count, Some(group)).await;
    }
    let leases = queue.start().await.1;
    assert_eq!(queue.drain().await, Drained { canceled: DRAIN_BATCH as u64, has_more: true });
    assert_eq!(queue.drain().await, Drained { canceled: DRAIN_BATCH as u64, has_more: true });
    assert_eq!(queue.drain().await, Drained { canceled: 8, has_more: false });
    assert_eq!(queue.drain().await, Drained { canceled: 0, has_more: false });
    let stats = queue.stats().await;
    assert_eq!((stats.waiting, stats.running, stats.counters.canceled), (0, 2, 2 * count - 2));
    for lease in leases {
        queue.acknowledge(lease).await;
    }
    assert_eq!((queue.next_due().await, queue.stats().await.bytes), (None, 0));
    assert_eq!(queue.enqueue(job(1, Some("a"))).await, Enqueued::Accepted);
}

pub(super) async fn only_an_empty_job_queue_is_removed(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_attempts": 1 }));
    assert!(queue.remove().await, "it has never had a job");
    queue.create().await;
    queue.enqueue_numbers(1..=2, None).await;
    assert!(!queue.remove().await);
    let (_, leases) = queue.start().await;
    queue.acknowledge(leases[0]).await;
    assert!(!queue.remove().await, "a job runs");
    queue.fail(leases[1]).await;
    assert!(!queue.remove().await, "there is a dead letter");
    assert_eq!(queue.stats().await.counters.acknowledged, 1, "nothing was removed");
    assert_eq!(queue.delete_dead(&[2]).await, [true]);
    assert!(queue.remove().await);
    assert_eq!((queue.stats().await, queue.view(1).await), (JobStats::default(), None));
    queue.create().await;
    assert_eq!(queue.enqueue(job(1, None)).await, Enqueued::Accepted);
    assert_eq!(queue.view(1).await.unwrap().sequence, 1);
    let queue = fixture.fifo(&json!({}));
    for _ in 0..3 {
        assert_eq!(queue.enqueue(job(1, Some("a"))).await, Enqueued::Accepted, "it is no duplicate of a removed one");
        let lease = queue.start_one().await;
        queue.acknowledge(lease).await;
        assert!(queue.remove().await);
        queue.create().await;
    }
}

/// Another process may not know yet that it was removed.
pub(super) async fn j03_removed_job_queue_accepts_no_jobs(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({}));
    queue.enqueue(job(1, None)).await;
    let lease = queue.start_one().await;
    queue.acknowledge(lease).await;
    assert!(queue.remove().await);
    let answers = queue.enqueue_all(vec![job(2, None), job(3, None)]).await;
    assert_eq!(answers, [Enqueued::Removed, Enqueued::Removed]);
    assert_eq!((queue.stats().await, queue.view(2).await), (JobStats::default(), None));
    assert!(queue.start().await.0.is_empty());
    queue.create().await;
    assert_eq!(queue.enqueue(job(2, None)).await, Enqueued::Accepted);
    let queue = fixture.standard(&json!({}));
    assert!(queue.remove().await);
    queue.advance_seconds(REMOVED_SECONDS);
    assert_eq!(queue.enqueue(job(1, None)).await, Enqueued::Accepted, "it is not refused for ever");
}

/// As every operation removes a batch, the clock steps back to show what one has left.
pub(super) async fn expired_results_are_removed_in_batches(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "concurrency": 1000, "result_ttl": 60, "retention": 60 }));
    let batch = JOB_REAP_BATCH as u64;
    queue.enqueue_numbers(0..=batch, None).await;
    while let (_, leases) = queue.start().await
        && !leases.is_empty()
    {
        for lease in leases {
            queue.acknowledge(lease).await;
        }
    }
    assert!(!queue.reap().await);
    queue.advance_seconds(60);
    assert!(queue.reap().await);
    assert!(!queue.reap().await);
    queue.step_back_seconds(1);
    for number in [0, batch] {
        assert_eq!(queue.view(number).await, None);
    }
    queue.enqueue(job(1_000, None)).await;
    let lease = queue.start_one().await;
    queue.extend_by(lease, 100).await;
    queue.advance_seconds(61);
    assert!(!queue.reap().await, "a job that runs is never too old");
}

pub(super) async fn j14_dead_letters_are_listed(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_attempts": 1 }));
    fail_all(&queue, 1..=3).await;
    // These end at the same instant.
    queue.enqueue_numbers(4..=6, None).await;
    for lease in queue.start().await.1 {
        queue.fail(lease).await;
    }
    let all = queue.dead_letters(None, JOB_BATCH + 1).await;
    assert_eq!(numbers(&all), [6, 5, 4, 3, 2, 1]);
    assert!(all.iter().all(|view| view.state == JobState::Failed && view.payload.is_none()), "without contents");
    assert_eq!(all[0].response, b"broken");
    let page = queue.dead_letters(Some(position(&all[1])), 2).await;
    assert_eq!(numbers(&page), [4, 3]);
    assert_eq!(page, all[2..4]);
    assert_eq!(queue.delete_dead(&[5, 4, 4, 9]).await, [true, true, false, false]);
    assert_eq!(numbers(&queue.dead_letters(Some(position(&all[1])), 2).await), [3, 2], "the position need not exist");
    assert_eq!(numbers(&queue.dead_letters(Some(position(&all[5])), 2).await), [0_u64; 0]);
    assert!(queue.dead_letters(None, 0).await.is_empty());
    assert_eq!((queue.view(4).await, queue.stats().await.dead, queue.stats().await.bytes), (None, 4, 4 * JOB_BYTES));
}

pub(super) async fn j14_deleted_dead_letter_has_no_duplicates(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "max_attempts": 1 }));
    fail_all(&queue, 1..=1).await;
    let again = NewJob { payload: job(1, None).payload, ..job(2, Some("a")) };
    assert_eq!(queue.enqueue(again.clone()).await, Enqueued::Duplicate(job(1, None).id), "it can be replayed");
    queue.delete_dead(&[1]).await;
    assert_eq!(queue.enqueue(again).await, Enqueued::Accepted);
}

pub(super) async fn j14_replayed_job_goes_to_the_end(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "max_attempts": 1, "retention": 60 }));
    fail_all(&queue, 1..=1).await;
    queue.advance_seconds(100);
    queue.enqueue_numbers(2..=3, Some("a")).await;
    assert_eq!(queue.replay(&[1, 1, 2, 9]).await, [true, false, false, false]);
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.state, view.sequence, view.failed_attempts), (JobState::Queued, 4, 0));
    assert_eq!((view.receive_count, view.enqueued_at), (1, queue.now()), "the receive count never decreases");
    assert_eq!((view.reason, view.response, view.ended_at, view.attempts.len()), (None, Vec::new(), None, 1));
    for expected in ["job 2", "job 3", "job 1"] {
        let (started, leases) = queue.start().await;
        assert_eq!(started, [expected]);
        queue.acknowledge(leases[0]).await;
    }
    let stats = queue.stats().await;
    assert_eq!((stats.dead, stats.counters.replayed, stats.bytes), (0, 1, 0));
    let queue = fixture.standard(&json!({ "max_attempts": 1 }));
    fail_all(&queue, 1..=2).await;
    assert_eq!(queue.replay(&[2, 1]).await, [true, true]);
    assert_eq!(queue.start().await.0, ["job 2", "job 1"], "in the order of the request");
}

pub(super) async fn j14_all_dead_letters_are_replayed_once(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "max_attempts": 1, "concurrency": 1000 }));
    let count = REPLAY_BATCH as u64 + 10;
    queue.enqueue_numbers(0..count, None).await;
    let fail_started = async || {
        while let (_, leases) = queue.start().await
            && !leases.is_empty()
        {
            for lease in leases {
                queue.fail(lease).await;
            }
        }
    };
    fail_started().await;
    let until = queue.now();
    queue.advance_seconds(1);
    let first = queue.replay_all(None).await;
    assert_eq!(first, ReplayedAll { replayed: REPLAY_BATCH as u64, until: queue.now(), has_more: true });
    queue.advance_seconds(1);
    fail_started().await;
    let second = queue.replay_all(Some(first.until)).await;
    assert_eq!((second.replayed, second.has_more), (10, false), "what failed again meanwhile is not replayed again");
    assert_eq!(queue.replay_all(Some(until)).await, ReplayedAll { replayed: 0, until, has_more: false });
    assert_eq!(queue.stats().await.counters.replayed, count);
    let queue = fixture.fifo(&json!({ "max_attempts": 1 }));
    fail_all(&queue, 1..=3).await;
    queue.replay_all(None).await;
    assert_eq!(queue.start().await.0, ["job 1"], "the oldest one first");
}

pub(super) async fn j13_drained_orders_can_be_submitted_again(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "target": { "kind": "origin" } }));
    queue.enqueue_numbers(1..=2, Some("a")).await;
    assert_eq!(queue.drain().await, Drained { canceled: 2, has_more: false });
    let view = queue.view(1).await.unwrap();
    assert_eq!((view.state, view.reason), (JobState::Failed, Some(FailureReason::Canceled)));
    let again = NewJob { payload: job(1, None).payload, ..job(3, Some("a")) };
    assert_eq!(queue.enqueue(again).await, Enqueued::Accepted);
    assert_eq!(queue.cancel(&[3]).await, [Canceled::Canceled]);
    assert_eq!(queue.view(3).await.unwrap().state, JobState::Failed, "its visitor learns of it");
    assert_eq!(queue.stats().await.counters.dead, 3);
}
