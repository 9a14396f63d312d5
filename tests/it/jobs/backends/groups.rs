//! Order within groups, and none between them: J5, J6.

use serde_json::json;
use vestibule_core::SessionId;
use vestibule_core::jobs::{BLOCKING_SEARCH, BlockedGroup, Canceled, JobState, NewJob, Outcome, Settled};

use super::fixture::{JobsFixture, job};

pub(super) async fn j05_group_runs_in_order(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({}));
    // More than one byte of the sequence number decides.
    queue.enqueue_numbers(1..=fixture.many, Some("a")).await;
    let mut order = Vec::new();
    loop {
        let (started, leases) = queue.start().await;
        let Some(lease) = leases.first() else { break };
        assert_eq!(leases.len(), 1);
        order.extend(started);
        queue.acknowledge(*lease).await;
    }
    assert_eq!(order, (1..=fixture.many).map(|number| format!("job {number}")).collect::<Vec<_>>());
}

pub(super) async fn j05_next_waits_for_acknowledgement(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "max_attempts": 1 }));
    queue.enqueue_numbers(1..=3, Some("a")).await;
    let lease = queue.start_one().await;
    assert!(queue.start().await.0.is_empty());
    assert_eq!(queue.acknowledge(lease).await, Settled::Now(JobState::Completed));
    let (started, leases) = queue.start().await;
    assert_eq!(started, ["job 2"]);
    assert_eq!(queue.fail(leases[0]).await, Settled::Now(JobState::Failed));
    assert_eq!(queue.start().await.0, ["job 3"], "a dead letter frees its group");
}

pub(super) async fn j05_groups_of_visitors_are_separate(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({}));
    let [one, other] = [SessionId::random(), SessionId::random()];
    for (number, visitor) in (1..).zip([None, Some(one), Some(other), Some(one), None]) {
        let new = job(number, Some("a"));
        let group = new.group.clone().map(|group| visitor.map_or(group.clone(), |session| group.of_visitor(session)));
        queue.enqueue(NewJob { group, ..new }).await;
    }
    let (started, leases) = queue.start().await;
    assert_eq!(started, ["job 1", "job 2", "job 3"]);
    queue.acknowledge(leases[1]).await;
    assert_eq!(queue.start().await.0, ["job 4"], "it waited for the first job of its visitor alone");
    let shown = queue.view(5).await.unwrap();
    assert_eq!(shown.group.unwrap().as_str(), "a");
}

pub(super) async fn j05_groups_take_turns(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "concurrency": 1 }));
    for number in 0..6 {
        queue.enqueue(job(number, Some(if number < 4 { "a" } else { "b" }))).await;
        queue.advance_seconds(1);
    }
    let mut order = Vec::new();
    while let (started, leases) = queue.start().await
        && !leases.is_empty()
    {
        order.extend(started);
        queue.advance_seconds(1);
        queue.acknowledge(leases[0]).await;
    }
    assert_eq!(order, ["job 0", "job 4", "job 1", "job 5", "job 2", "job 3"]);
}

pub(super) async fn j06_groups_run_in_parallel(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({}));
    // One name begins with the other.
    for (number, group) in (1..).zip(["a", "a!", "a", "a!", "~"]) {
        queue.enqueue(job(number, Some(group))).await;
    }
    let (started, leases) = queue.start().await;
    assert_eq!(started, ["job 1", "job 2", "job 5"]);
    queue.acknowledge(leases[0]).await;
    assert_eq!(queue.start().await.0, ["job 3"]);
    queue.acknowledge(leases[1]).await;
    assert_eq!(queue.start().await.0, ["job 4"]);
}

pub(super) async fn j06_failing_group_blocks_itself(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "max_attempts": 2 }));
    queue.enqueue_numbers(1..=2, Some("a")).await;
    let lease = queue.start_one().await;
    assert_eq!(queue.fail(lease).await, Settled::Now(JobState::Retrying));
    queue.enqueue(job(3, Some("b"))).await;
    assert_eq!(queue.start().await.0, ["job 3"]);
    queue.advance_seconds(7);
    let (started, leases) = queue.start().await;
    assert_eq!(started, ["job 1"], "the failed job comes again before the next one");
    assert_eq!(queue.fail(leases[0]).await, Settled::Now(JobState::Failed));
    assert_eq!(queue.start().await.0, ["job 2"]);
}

pub(super) async fn blocked_group_is_reported(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "max_attempts": 3, "min_backoff": 60 }));
    queue.enqueue_numbers(1..=2, Some("a")).await;
    queue.enqueue_numbers(3..=3, Some("alone")).await;
    let (started, leases) = queue.start().await;
    assert_eq!(started, ["job 1", "job 3"]);
    queue.advance_seconds(5);
    assert_eq!(queue.stats().await.blocked_group, None, "the first attempt of job 1 is not over");
    queue.fail(leases[1]).await;
    queue.advance_seconds(5);
    assert_eq!(queue.stats().await.blocked_group, None, "nothing waits behind job 3");
    queue.settle(leases[0], Outcome::Later { seconds: 80, pauses: false }).await;
    let job_1 = job(1, None).id;
    let blocked = async |age| assert_eq!(queue.stats().await.blocked_group, Some(BlockedGroup { job: job_1, age }));
    queue.advance_seconds(7);
    blocked(7).await;
    queue.advance_seconds(73);
    let (_, leases) = queue.start().await;
    let again = leases.into_iter().find(|lease| lease.job == job_1).unwrap();
    blocked(80).await;
    queue.fail(again).await;
    queue.advance_micros(2_999_999);
    blocked(82).await;
    assert_eq!(queue.cancel(&[1]).await, [Canceled::Canceled]);
    assert_eq!(queue.stats().await.blocked_group, None, "job 2 can start");
}

pub(super) async fn blocked_group_is_found_among_the_oldest_jobs(fixture: &JobsFixture) {
    let queue = fixture.fifo(&json!({ "concurrency": 1000, "min_backoff": 60 }));
    queue.enqueue_numbers(1..=BLOCKING_SEARCH as u64, Some("a")).await;
    queue.enqueue_numbers(101..=102, Some("b")).await;
    let (_, leases) = queue.start().await;
    let of = |number| *leases.iter().find(|lease| lease.job == job(number, None).id).unwrap();
    queue.fail(of(101)).await;
    queue.advance_seconds(1);
    assert_eq!(queue.stats().await.blocked_group, None, "64 jobs are older");
    queue.fail(of(1)).await;
    assert_eq!(queue.stats().await.blocked_group, Some(BlockedGroup { job: of(1).job, age: 0 }));
    queue.cancel(&[1]).await;
    assert_eq!(queue.stats().await.blocked_group, Some(BlockedGroup { job: of(101).job, age: 1 }));
}
