//! Jobs in SQS while SQS or Redis fails, by their own clocks.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use vestibule_core::ManualClock;
use vestibule_core::jobs::{
    Detail, Enqueued, Extension, JobBackend as _, JobBackendError, JobQueueSettings, JobState, LeasedJob, NewJob,
    Outcome, Payload, Settled, Settlement,
};
use vestibule_jobs_sqs::SqsJobs;
use vestibule_store_redis::{JobRegistry, RedisOptions};
use vestibule_tests::{Redis, Sqs, wait_until};

use super::fixture::{START, failure, job, random_id, settings_of};

/// How long an operation that is to succeed may take.
const PATIENCE: Duration = Duration::from_secs(20);

fn backend(sqs: &Sqs, prefix: &str, redis: &Redis) -> SqsJobs {
    let options = RedisOptions { timeout: Duration::from_secs(5), ..RedisOptions::default() };
    SqsJobs::connect(prefix.parse().unwrap(), Some(sqs.server()), &redis.url(), options).unwrap()
}

fn fifo(changes: &serde_json::Value) -> JobQueueSettings {
    settings_of(&format!("{}.fifo", random_id()), changes)
}

async fn settle(jobs: &SqsJobs, settings: &JobQueueSettings, job: &LeasedJob, outcome: Outcome) -> Settled {
    jobs.settle(settings, vec![Settlement { lease: job.lease, outcome }]).await.unwrap()[0]
}

/// The next job, as soon as SQS brings it.
async fn next(jobs: &SqsJobs, settings: &JobQueueSettings) -> LeasedJob {
    let mut found = None;
    wait_until("a job arrives", PATIENCE, async || {
        found = jobs.receive(settings, 1).await.unwrap().jobs.pop();
        found.is_some()
    })
    .await;
    found.unwrap()
}

#[tokio::test]
async fn messages_are_hidden_until_retries_and_deleted_at_the_end() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let prefix = sqs.queues().await;
    let jobs = backend(&sqs, &prefix, &redis);
    for settings in [fifo(&json!({ "min_backoff": 2 })), settings_of(&random_id(), &json!({ "min_backoff": 2 }))] {
        let group = settings.id.is_fifo().then_some("a");
        let payload = Payload { content_type: "text/plain".to_owned(), bytes: vec![0xff; 256 * 1024] };
        let new: Vec<_> = (1..=5).map(|number| NewJob { payload: payload.clone(), ..job(number, group) }).collect();
        let new: Vec<_> = new
            .into_iter()
            .map(|new| NewJob { deduplication_id: group.map(|_| new.id.to_string().parse().unwrap()), ..new })
            .collect();
        assert_eq!(
            jobs.enqueue(&settings, new).await.unwrap(),
            [Enqueued::Accepted; 5],
            "more than one batch of 1 MiB"
        );
        let first = next(&jobs, &settings).await;
        assert_eq!(first.payload, payload);
        assert_eq!(jobs.extend(&settings, &[Extension::of(first.lease)]).await.unwrap(), [true]);
        let failed_at = Instant::now();
        assert_eq!(
            settle(&jobs, &settings, &first, Outcome::Failed(failure())).await,
            Settled::Now(JobState::Retrying)
        );
        let mut order = Vec::new();
        for _ in 0..5 {
            let job = next(&jobs, &settings).await;
            order.push((job.lease.job, failed_at.elapsed()));
            settle(&jobs, &settings, &job, Outcome::Acknowledged(None)).await;
        }
        let again = order.iter().find(|(job, _)| *job == first.lease.job).unwrap();
        assert!(again.1 >= Duration::from_millis(1_600), "not before its backoff: {:?}", again.1);
        if settings.id.is_fifo() {
            assert_eq!(order[0].0, first.lease.job, "its group waits for it");
        }
    }
    assert_eq!(sqs.messages(&prefix).await, 0);
}

#[tokio::test]
async fn refused_send_withdraws_the_job() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let settings = fifo(&json!({}));
    let refused = backend(&sqs, "sqs://missing", &redis).enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap();
    assert_eq!(refused, [Enqueued::NotSent]);
    let jobs = backend(&sqs, &sqs.queues().await, &redis);
    let stats = jobs.store().stats(&settings).await.unwrap();
    assert_eq!((stats.waiting, stats.bytes), (0, 0));
    assert_eq!(jobs.enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap(), [Enqueued::Accepted]);
}

#[tokio::test]
async fn every_job_has_an_answer_of_its_own() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let settings = fifo(&json!({ "max_jobs": 4 }));
    let jobs = backend(&sqs, &sqs.queues().await, &redis);
    // Of these, a message has arrived, and one is on its way.
    jobs.enqueue(&settings, vec![job(1, Some("a")), job(2, Some("b"))]).await.unwrap();
    next(&jobs, &settings).await;
    let new =
        |number: u64, content: u64, group| NewJob { payload: job(content, None).payload, ..job(number, Some(group)) };
    let several =
        vec![new(11, 1, "a"), new(12, 2, "b"), new(3, 3, "c"), new(13, 3, "c"), job(4, Some("d")), job(5, Some("e"))];
    let broken = backend(&sqs, "sqs://missing", &redis);
    let expected = [
        Enqueued::Duplicate(job(1, None).id),
        Enqueued::Unconfirmed,
        Enqueued::NotSent,
        // It equals the one before.
        Enqueued::NotSent,
        Enqueued::NotSent,
        Enqueued::Full,
    ];
    assert_eq!(broken.enqueue(&settings, several).await.unwrap(), expected);
    assert_eq!(jobs.store().stats(&settings).await.unwrap().counters.canceled, 2, "what was not sent is withdrawn");
    assert_eq!(
        jobs.enqueue(&settings, vec![new(3, 3, "c"), new(13, 3, "c")]).await.unwrap(),
        [Enqueued::Accepted, Enqueued::Duplicate(job(3, None).id)]
    );
}

/// Two tenants have had a job queue of this name.
#[tokio::test]
async fn messages_of_another_tenant_stay() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let jobs = backend(&sqs, &sqs.queues().await, &redis);
    let settings = fifo(&json!({}));
    let other = settings_of(settings.id.as_str(), &json!({ "tenant": "other" }));
    assert_eq!(jobs.enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap(), [Enqueued::Accepted]);
    assert_eq!(jobs.receive(&other, 9).await.unwrap().jobs, []);
    assert_eq!(jobs.enqueue(&other, vec![job(1, Some("a"))]).await.unwrap(), [Enqueued::Accepted]);
    for settings in [&other, &settings] {
        let received = next(&jobs, settings).await;
        settle(&jobs, settings, &received, Outcome::Acknowledged(None)).await;
    }
}

/// Enqueues these jobs and makes dead letters of them.
async fn fail_all(jobs: &SqsJobs, settings: &JobQueueSettings, numbers: std::ops::Range<u64>) {
    let new: Vec<_> = numbers.map(|number| job(number, Some(&format!("g{number}")))).collect();
    let mut count = new.len();
    for new in new.chunks(50) {
        jobs.enqueue(settings, new.to_vec()).await.unwrap();
    }
    while count > 0 {
        for received in jobs.receive(settings, 64).await.unwrap().jobs {
            settle(jobs, settings, &received, Outcome::FailedForGood(failure())).await;
            count -= 1;
        }
    }
}

#[tokio::test]
async fn replayed_jobs_that_are_not_sent_are_dead_letters_again() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let prefix = sqs.queues().await;
    let (jobs, settings) = (backend(&sqs, &prefix, &redis), fifo(&json!({ "concurrency": 100 })));
    fail_all(&jobs, &settings, 0..70).await;
    let broken = backend(&sqs, "sqs://missing", &redis);
    let error = broken.replay_all(&settings, None).await.unwrap_err();
    assert!(matches!(error, JobBackendError::NotSent(_)), "{error:?}");
    assert!(error.to_string().contains("the SQS queue missing-jobs.fifo: SQS answered 400"), "{error}");
    assert_eq!(jobs.store().stats(&settings).await.unwrap().dead, 70, "of all batches");
    sqs.freeze();
    let error = jobs.replay(&settings, &[job(0, None).id]).await.unwrap_err();
    assert!(matches!(error, JobBackendError::NotSent(_)), "it does not run, even if it was sent: {error:?}");
    assert_eq!(jobs.store().stats(&settings).await.unwrap().dead, 70);
    sqs.thaw();
    assert_eq!(jobs.replay_all(&settings, None).await.unwrap().replayed, 70);
    let mut run = Vec::new();
    while run.len() < 70 {
        for received in jobs.receive(&settings, 64).await.unwrap().jobs {
            settle(&jobs, &settings, &received, Outcome::Acknowledged(None)).await;
            run.push(received.lease.job);
        }
    }
    assert!(jobs.receive(&settings, 64).await.unwrap().jobs.is_empty(), "each of them once");
    assert_eq!(sqs.messages(&prefix).await, 0);
}

#[tokio::test]
async fn payloads_of_replayed_jobs_are_read_in_parts() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let prefix = sqs.queues().await;
    let (jobs, settings) = (backend(&sqs, &prefix, &redis), fifo(&json!({ "concurrency": 100 })));
    let payload = Payload { content_type: "text/plain".to_owned(), bytes: vec![b'x'; 200 * 1024] };
    let large = |number| NewJob { payload: payload.clone(), ..job(number, Some("a")) };
    for number in 0..8 {
        let new = NewJob { deduplication_id: Some(number.to_string().parse().unwrap()), ..large(number) };
        jobs.enqueue(&settings, vec![new]).await.unwrap();
        let received = next(&jobs, &settings).await;
        settle(&jobs, &settings, &received, Outcome::FailedForGood(failure())).await;
    }
    // Redis closes a connection with a larger reply.
    let limit = async |bytes: &str| {
        redis.command(&["CONFIG", "SET", "client-output-buffer-limit", &format!("normal {bytes} 0 0")]).await
    };
    limit("100kb").await;
    let error = jobs.replay_all(&settings, None).await.unwrap_err();
    assert!(matches!(error, JobBackendError::NotSent(_)), "{error:?}");
    assert_eq!(jobs.store().stats(&settings).await.unwrap().dead, 8, "they are dead letters again");
    limit("1mb").await;
    assert_eq!(jobs.replay_all(&settings, None).await.unwrap().replayed, 8);
    for _ in 0..8 {
        let received = next(&jobs, &settings).await;
        assert_eq!(received.payload, payload);
        settle(&jobs, &settings, &received, Outcome::Acknowledged(None)).await;
    }
}

/// F15: a process stops between registering a job and sending its message. The repeated request completes its work.
#[tokio::test]
async fn f15_repeated_enqueue_completes_one_whose_process_stopped() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let prefix = sqs.queues().await;
    let jobs = backend(&sqs, &prefix, &redis);
    let stopped = JobRegistry::connect(&redis.url(), RedisOptions::default()).unwrap();
    let orders = fifo(&json!({ "target": { "kind": "origin" } }));
    for settings in [fifo(&json!({})), settings_of(&random_id(), &json!({})), orders] {
        let new = job(1, settings.id.is_fifo().then_some("a"));
        let registered = stopped.register(&settings, std::slice::from_ref(&new)).await.unwrap()[0];
        assert_eq!(registered.answer, Enqueued::Accepted);
        assert!(jobs.receive(&settings, 1).await.unwrap().jobs.is_empty());
        for _ in 0..2 {
            let again = jobs.enqueue(&settings, vec![new.clone()]).await.unwrap();
            assert_eq!(again, [Enqueued::Duplicate(new.id)]);
        }
        let received = next(&jobs, &settings).await;
        assert_eq!((received.lease.job, &received.payload), (new.id, &new.payload));
        settle(&jobs, &settings, &received, Outcome::Acknowledged(None)).await;
        assert!(jobs.receive(&settings, 64).await.unwrap().jobs.is_empty(), "it runs once");
    }
    assert_eq!(sqs.messages(&prefix).await, 0);
}

/// A message that could not be deleted may come when the result of its job has expired.
#[tokio::test]
async fn ended_jobs_are_remembered_while_their_messages_may_come() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let clock = Arc::new(ManualClock::at(START));
    let options = RedisOptions { clock: Some(clock.clone()), ..RedisOptions::default() };
    let prefix = sqs.queues().await.parse().unwrap();
    let jobs = SqsJobs::connect(prefix, Some(sqs.server()), &redis.url(), options).unwrap();
    let settings = fifo(&json!({ "result_ttl": 60 }));
    jobs.enqueue(&settings, vec![job(1, Some("a")), job(2, Some("b"))]).await.unwrap();
    let mut received = jobs.receive(&settings, 9).await.unwrap().jobs;
    let (late, deleted) = (received.remove(0), received.remove(0));
    settle(&jobs, &settings, &deleted, Outcome::Acknowledged(None)).await;
    sqs.freeze();
    settle(&jobs, &settings, &late, Outcome::Acknowledged(None)).await;
    sqs.thaw();
    clock.advance(61_000_000);
    jobs.store().stats(&settings).await.unwrap();
    let ended = redis.command(&["KEYS", "*:ended:*"]).await;
    assert_eq!(ended.array().len(), 1, "of the message that was not deleted: {ended:?}");
}

#[tokio::test]
async fn target_pull_is_refused() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let jobs = backend(&sqs, &sqs.queues().await, &redis);
    let settings = fifo(&json!({ "target": { "kind": "pull" } }));
    let error = jobs.enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap_err();
    assert!(error.to_string().contains("use a target other than \"pull\""), "{error}");
    assert_eq!(jobs.store().stats(&settings).await.unwrap().waiting, 0);
}

/// F13: SQS does not answer, so the job may or may not have been sent. The repeated request completes its work.
#[tokio::test]
async fn f13_repeated_enqueue_completes_an_unconfirmed_one() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let prefix = sqs.queues().await;
    let (jobs, settings) = (backend(&sqs, &prefix, &redis), fifo(&json!({})));
    assert_eq!(jobs.enqueue(&settings, vec![job(0, Some("a"))]).await.unwrap(), [Enqueued::Accepted]);
    sqs.freeze();
    let unconfirmed = jobs.enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap();
    assert_eq!(unconfirmed, [Enqueued::Unconfirmed]);
    assert_eq!(jobs.store().stats(&settings).await.unwrap().waiting, 2, "it is not withdrawn");
    sqs.thaw();
    for _ in 0..5 {
        let again = jobs.enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap();
        assert_eq!(again, [Enqueued::Duplicate(job(1, None).id)]);
    }
    for number in 0..2 {
        let received = next(&jobs, &settings).await;
        assert_eq!(received.lease.job, job(number, None).id);
        settle(&jobs, &settings, &received, Outcome::Acknowledged(None)).await;
    }
    assert_eq!(sqs.messages(&prefix).await, 0, "it was sent once");
}

/// F15: Redis loses everything. Jobs run all the same, and no order is sent a second time.
#[tokio::test]
async fn f15_flushed_redis_loses_no_job() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let prefix = sqs.queues().await;
    let jobs = backend(&sqs, &prefix, &redis);
    let prefix_of_orders = sqs.queues().await;
    let held = backend(&sqs, &prefix_of_orders, &redis);
    let (settings, orders) = (fifo(&json!({})), fifo(&json!({ "target": { "kind": "origin" } })));
    let accepted = (1..=20).map(|number| job(number, Some(&format!("g{}", number % 3)))).collect();
    assert_eq!(jobs.enqueue(&settings, accepted).await.unwrap(), [Enqueued::Accepted; 20]);
    let before = next(&jobs, &settings).await;
    held.enqueue(&orders, vec![job(1, Some("a"))]).await.unwrap();
    let sent = next(&held, &orders).await;
    assert_eq!(held.extend(&orders, &[Extension::sent(sent.lease)]).await.unwrap(), [true]);
    redis.command(&["FLUSHALL"]).await;
    assert_eq!(settle(&jobs, &settings, &before, Outcome::Acknowledged(None)).await, Settled::NotLeased);
    assert_eq!(held.extend(&orders, &[Extension::sent(sent.lease)]).await.unwrap(), [false]);
    let mut order: Vec<LeasedJob> = Vec::new();
    wait_until("all jobs have run", Duration::from_secs(100), async || {
        // One at a time: when the hidden messages of a group are shown, moto delivers the last one first.
        for received in jobs.receive(&settings, 1).await.unwrap().jobs {
            settle(&jobs, &settings, &received, Outcome::Acknowledged(None)).await;
            order.push(received);
        }
        assert!(held.receive(&orders, 1).await.unwrap().jobs.is_empty(), "the order is not sent again");
        sqs.messages(&prefix).await + sqs.messages(&prefix_of_orders).await == 0
    })
    .await;
    for group in ["g0", "g1", "g2"] {
        let of_group = order.iter().filter(|job| job.group.as_ref().is_some_and(|it| it.as_str() == group));
        let of_group: Vec<_> = of_group.map(|job| super::fixture::number_of(job.lease.job)).collect();
        assert!(of_group.is_sorted() && of_group.len() >= 6, "{group}: {of_group:?}");
    }
    let view = held.store().get(&orders, &[job(1, None).id], Detail::Status).await.unwrap().remove(0).unwrap();
    assert_eq!(view.state, JobState::Unknown);
}
