//! Which jobs start, and when: J8, J13, J17.

use serde_json::json;
use vestibule_core::jobs::{JOB_BATCH, NewJob, Outcome, Payload, RECEIVE_BYTES, Received};

use super::fixture::{JobQueueFixture, JobsFixture, job, number_of};

pub(super) async fn j08_standard_runs_in_parallel(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "concurrency": 3 }));
    queue.enqueue_numbers(1..=5, None).await;
    let (started, leases) = queue.start().await;
    assert_eq!(started, ["job 1", "job 2", "job 3"]);
    assert!(queue.start().await.0.is_empty());
    assert_eq!((queue.stats().await.waiting, queue.stats().await.running), (2, 3));
    queue.acknowledge(leases[1]).await;
    assert_eq!(queue.start().await.0, ["job 4"]);
    let queue = fixture.standard(&json!({ "concurrency": 1000 }));
    queue.enqueue_numbers(0..100, None).await;
    assert_eq!(queue.receive(usize::MAX).await.len(), JOB_BATCH);
    assert_eq!(queue.receive(usize::MAX).await.len(), 100 - JOB_BATCH);
}

pub(super) async fn j08_receive_has_at_most_its_bytes(fixture: &JobsFixture) {
    let sized = |number, bytes: u64| {
        let payload = Payload { bytes: vec![b'x'; bytes as usize - 10], content_type: "text/plain".to_owned() };
        NewJob { payload, ..job(number, None) }
    };
    let numbers = |received: &Received| received.jobs.iter().map(|job| number_of(job.lease.job)).collect::<Vec<_>>();
    // Four starts at once: what a receive leaves out does not count as started.
    let queue = fixture.standard(&json!({ "dispatches_per_minute": 240, "concurrency": 6 }));
    for (number, bytes) in [(1, RECEIVE_BYTES / 2), (2, RECEIVE_BYTES / 2), (3, 100), (4, RECEIVE_BYTES), (5, 100)] {
        queue.enqueue(sized(number, bytes)).await;
    }
    let first = queue.received(6).await;
    assert_eq!((numbers(&first), first.has_more, first.next_due), (vec![1, 2], true, Some(queue.now())));
    let second = queue.received(6).await;
    assert_eq!((numbers(&second), second.has_more), (vec![3], true));
    let third = queue.received(6).await;
    assert_eq!((numbers(&third), third.has_more), (vec![4], false), "the rate is used up");
    queue.advance_seconds(1);
    queue.enqueue(sized(6, RECEIVE_BYTES)).await;
    let last = queue.received(1).await;
    assert_eq!((numbers(&last), last.has_more), (vec![5], false), "no more was asked for");
    // A single job may be larger.
    let queue = fixture.standard(&json!({ "concurrency": 2 }));
    for number in 1..=3 {
        queue.enqueue(sized(number, RECEIVE_BYTES + 1)).await;
    }
    let first = queue.received(9).await;
    assert_eq!((numbers(&first), first.has_more), (vec![1], true));
    let second = queue.received(9).await;
    assert_eq!((numbers(&second), second.has_more), (vec![2], false), "no third one may run");
}

pub(super) async fn j08_longest_due_starts_first(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({}));
    queue.enqueue(NewJob { delay_seconds: 10, ..job(9, None) }).await;
    queue.enqueue_numbers([3, 2, 1], None).await;
    assert_eq!(queue.view(9).await.unwrap().due_at, Some(queue.now().add_seconds(10)));
    assert_eq!(queue.start().await.0, ["job 3", "job 2", "job 1"], "in the order of acceptance");
    queue.advance_micros(10_000_000 - 1);
    assert!(queue.start().await.0.is_empty());
    queue.enqueue(NewJob { delay_seconds: 1, ..job(5, None) }).await;
    queue.advance_seconds(1);
    assert_eq!(queue.start().await.0, ["job 9", "job 5"]);
    // More than one byte of the sequence number decides.
    let queue = fixture.standard(&json!({ "concurrency": 1000 }));
    queue.enqueue_numbers(0..fixture.many, None).await;
    let mut order = Vec::new();
    while let (started, _) = queue.start().await
        && !started.is_empty()
    {
        order.extend(started);
    }
    assert_eq!(order, (0..fixture.many).map(|number| format!("job {number}")).collect::<Vec<_>>());
}

pub(super) async fn j08_receive_count_never_decreases(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({}));
    queue.enqueue(job(1, None)).await;
    for count in 1..=6 {
        let lease = queue.start_one().await;
        assert_eq!(lease.receive_count, count);
        match count {
            1 | 4 => drop(queue.settle(lease, Outcome::Requeued).await),
            2 | 5 => drop(queue.fail(lease).await),
            _ => queue.advance_seconds(30),
        }
        assert_eq!(queue.view(1).await.unwrap().receive_count, count);
        queue.advance_seconds(900);
    }
}

pub(super) async fn j08_rate_limits_starts(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "dispatches_per_minute": 120, "concurrency": 100 }));
    queue.enqueue_numbers(0..50, None).await;
    let mut started = 0;
    for _ in 0..100 {
        started += queue.start().await.0.len();
        queue.advance_micros(100_000);
    }
    assert_eq!(started, 21, "two at once, and two more per second for 9.9 seconds");
}

pub(super) async fn jobs_that_can_start_are_counted(fixture: &JobsFixture) {
    let standard = fixture.standard(&json!({ "concurrency": 1 }));
    standard.enqueue(NewJob { delay_seconds: 10, ..job(1, None) }).await;
    standard.enqueue_numbers(2..=4, None).await;
    let count = async |queue: &JobQueueFixture<'_>| {
        let stats = queue.stats().await;
        (stats.waiting, stats.ready, stats.running)
    };
    assert_eq!(count(&standard).await, (4, 3, 0));
    let lease = standard.start_one().await;
    assert_eq!(count(&standard).await, (3, 2, 1));
    standard.fail(lease).await;
    assert_eq!(count(&standard).await, (4, 2, 0), "one waits for its delay and one for its retry");
    standard.advance_seconds(10);
    assert_eq!(count(&standard).await, (4, 4, 0));

    let fifo = fixture.fifo(&json!({}));
    fifo.enqueue_numbers(1..=3, Some("a")).await;
    fifo.enqueue_numbers(4..=4, Some("b")).await;
    assert_eq!(count(&fifo).await, (4, 2, 0), "one job of each group");
}

pub(super) async fn j08_next_due_is_exact(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "dispatches_per_minute": 60, "concurrency": 2 }));
    assert_eq!(queue.next_due().await, None, "nothing waits or runs");
    queue.enqueue(NewJob { delay_seconds: 3, ..job(1, None) }).await;
    assert_eq!(queue.next_due().await, Some(queue.now().add_seconds(3)));
    queue.advance_seconds(3);
    queue.enqueue_numbers(2..=3, None).await;
    let first = queue.start_one().await;
    let earned = queue.now().add_seconds(1);
    assert_eq!(queue.next_due().await, Some(earned), "the rate");
    queue.advance_seconds(1);
    queue.start_one().await;
    let lease_ends = queue.now().add_seconds(29);
    assert_eq!(queue.next_due().await, Some(lease_ends), "no slot is free before the first lease ends");
    queue.settle(first, Outcome::Later { seconds: 20, pauses: true }).await;
    assert_eq!(queue.next_due().await, Some(queue.now().add_seconds(20)), "the pause");
}

pub(super) async fn j08_jobs_ahead_are_counted(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "concurrency": 1 }));
    queue.enqueue(NewJob { delay_seconds: 10, ..job(9, None) }).await;
    queue.enqueue_numbers(1..=3, None).await;
    let lease = queue.start_one().await;
    let ahead = async |number| queue.status(number).await.unwrap().ahead;
    assert_eq!([ahead(1).await, ahead(2).await, ahead(3).await, ahead(9).await], [0, 0, 1, 2].map(Some));
    queue.acknowledge(lease).await;
    assert_eq!(ahead(1).await, Some(0));
    let queue = fixture.fifo(&json!({ "concurrency": 1 }));
    queue.enqueue_numbers(1..=3, Some("a")).await;
    queue.enqueue_numbers(4..=6, Some("b")).await;
    let ahead = async || {
        let mut counts = Vec::new();
        for number in 1..=6 {
            counts.push(queue.status(number).await.unwrap().ahead.unwrap());
        }
        counts
    };
    assert_eq!(ahead().await, [0, 2, 3, 1, 2, 3], "the next one of a group starts after the first ones of all groups");
    queue.start_one().await;
    assert_eq!(ahead().await, [0, 1, 2, 0, 1, 2], "a job that runs has started");
}

pub(super) async fn j13_paused_job_queue_starts_nothing(fixture: &JobsFixture) {
    let mut queue = fixture.standard(&json!({ "paused": true }));
    queue.enqueue_numbers(1..=1, None).await;
    assert!(queue.start().await.0.is_empty());
    assert_eq!(queue.next_due().await, None);
    queue.settings.paused = false;
    assert_eq!(queue.start().await.0, ["job 1"]);
}

pub(super) async fn j17_clock_stepping_back_stops_nothing(fixture: &JobsFixture) {
    let queue = fixture.standard(&json!({ "dispatches_per_minute": 60 }));
    queue.enqueue_numbers(1..=2, None).await;
    let lease = queue.start_one().await;
    queue.step_back_seconds(3_600);
    queue.acknowledge(lease).await;
    queue.enqueue(job(3, None)).await;
    assert!(queue.start().await.0.is_empty(), "the rate is earned again from now on");
    queue.advance_seconds(1);
    assert_eq!(queue.start().await.0, ["job 3"], "job 2 is due when the clock is back");
    queue.advance_seconds(3_599);
    assert_eq!(queue.start().await.0, ["job 2"]);
}
