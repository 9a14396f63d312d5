//! Jobs in SQS while SQS or Redis fails, by their own clocks.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use vestibule_core::jobs::{
    Detail, Enqueued, Extension, JobBackend as _, JobBackendError, JobQueueSettings, JobState, LeasedJob, NewJob,
    Outcome, Payload, Settled, Settlement,
};
use vestibule_jobs_sqs::SqsJobs;
use vestibule_store_redis::RedisOptions;
use vestibule_tests::{Redis, Sqs, wait_until};

use super::fixture::{failure, job, random_id, settings_of};

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
    let error = backend(&sqs, "sqs://missing", &redis).enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap_err();
    assert!(matches!(error, JobBackendError::NotSent(_)), "{error:?}");
    assert!(error.to_string().contains("the SQS queue missing-jobs.fifo: SQS answered 400"), "{error}");
    let jobs = backend(&sqs, &sqs.queues().await, &redis);
    let stats = jobs.stats(&settings).await.unwrap();
    assert_eq!((stats.waiting, stats.bytes), (0, 0));
    assert_eq!(jobs.enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap(), [Enqueued::Accepted]);
}

/// F13: SQS does not answer, so the job may or may not have been sent. The repeated request completes its work.
#[tokio::test]
async fn f13_repeated_enqueue_completes_an_unconfirmed_one() {
    let (sqs, redis) = (Sqs::start().await, Redis::start().await);
    let prefix = sqs.queues().await;
    let (jobs, settings) = (backend(&sqs, &prefix, &redis), fifo(&json!({})));
    assert_eq!(jobs.enqueue(&settings, vec![job(0, Some("a"))]).await.unwrap(), [Enqueued::Accepted]);
    sqs.freeze();
    jobs.enqueue(&settings, vec![job(1, Some("a"))]).await.unwrap_err();
    assert_eq!(jobs.stats(&settings).await.unwrap().waiting, 2, "it is not withdrawn");
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
    let view = held.get(&orders, &[job(1, None).id], Detail::Status).await.unwrap().remove(0).unwrap();
    assert_eq!(view.state, JobState::Unknown);
}
