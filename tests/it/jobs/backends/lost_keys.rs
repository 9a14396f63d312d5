//! Job queues of which Redis has lost a key, because it was evicted or deleted.

use serde_json::json;
use vestibule_core::jobs::{
    Detail, Enqueued, JobBackend as _, JobId, JobQueueSettings, JobState, JobStats, Lease, NewJob, Outcome, Settled,
    Settlement,
};
use vestibule_store_redis::{RedisJobs, RedisOptions};
use vestibule_tests::Redis;

use super::fixture::{JOB_BYTES, job, number_of, random_id, settings_of};

/// A job queue on the shared server.
struct Fixture {
    redis: &'static Redis,
    jobs: RedisJobs,
    settings: JobQueueSettings,
}

impl Fixture {
    async fn standard() -> Self {
        Self::with(&random_id()).await
    }

    async fn fifo() -> Self {
        Self::with(&format!("{}.fifo", random_id())).await
    }

    async fn with(id: &str) -> Self {
        let redis = Redis::shared().await;
        let jobs = RedisJobs::connect(&redis.url(), RedisOptions::default()).unwrap();
        Self { redis, jobs, settings: settings_of(id, &json!({ "concurrency": 100 })) }
    }

    async fn lose(&self, name: &str) {
        let key = format!("vestibule:{{jobs:{}:{}}}:{name}", self.settings.tenant, self.settings.id);
        assert_eq!(self.redis.command(&["DEL", &key]).await.integer(), 1);
    }

    async fn enqueue(&self, jobs: impl IntoIterator<Item = NewJob>) {
        let answers = self.jobs.enqueue(&self.settings, jobs.into_iter().collect()).await.unwrap();
        assert!(answers.iter().all(|answer| *answer == Enqueued::Accepted), "{answers:?}");
    }

    /// The numbers of the jobs that can start now, and their leases.
    async fn receive(&self, max: usize) -> (Vec<u64>, Vec<Lease>) {
        let received = self.jobs.receive(&self.settings, max).await.unwrap().jobs;
        received.into_iter().map(|job| (number_of(job.lease.job), job.lease)).unzip()
    }

    async fn acknowledge(&self, lease: Lease) -> Settled {
        let settlement = Settlement { lease, outcome: Outcome::Acknowledged(None) };
        self.jobs.settle(&self.settings, vec![settlement]).await.unwrap()[0]
    }

    async fn stats(&self) -> JobStats {
        self.jobs.store().stats(&self.settings).await.unwrap()
    }
}

fn id(number: u64) -> JobId {
    job(number, None).id
}

#[tokio::test]
async fn lost_records_are_forgotten() {
    let queue = Fixture::fifo().await;
    let new = |numbers: std::ops::Range<u64>| numbers.map(|number| job(number, Some("a")));
    queue.enqueue(new(0..3)).await;
    let lease = queue.receive(1).await.1[0];
    queue.lose("jobs").await;
    // They are no duplicates of jobs that never run.
    queue.enqueue(new(0..2)).await;
    assert_eq!(queue.acknowledge(lease).await, Settled::NotLeased);
    let stats = queue.stats().await;
    assert_eq!((stats.waiting, stats.running, stats.bytes, stats.counters.lost), (2, 0, 2 * JOB_BYTES, 3));
    for number in 0..2 {
        let (received, leases) = queue.receive(10).await;
        assert_eq!(received, [number]);
        queue.acknowledge(leases[0]).await;
    }
    queue.enqueue(new(5..7)).await;
    queue.lose("jobs").await;
    assert_eq!(queue.stats().await.counters.lost, 5);
    assert!(queue.jobs.store().remove(&queue.settings).await.unwrap());
}

#[tokio::test]
async fn waiting_jobs_start_although_the_set_of_ready_ones_is_lost() {
    let queue = Fixture::standard().await;
    queue.enqueue((1..=3).map(|number| job(number, None))).await;
    let lease = queue.receive(1).await.1[0];
    queue.lose("ready").await;
    let view = queue.jobs.store().get(&queue.settings, &[id(2)], Detail::Status).await.unwrap().remove(0);
    assert_eq!(view.unwrap().state, JobState::Queued);
    assert_eq!(queue.receive(10).await.0, [2, 3]);
    assert_eq!(queue.acknowledge(lease).await, Settled::Now(JobState::Completed));

    // The first job of a group runs, so that no group has a ready one for a time.
    let queue = Fixture::fifo().await;
    queue.enqueue([(1, "a"), (2, "a"), (3, "b"), (4, "b")].map(|(number, group)| job(number, Some(group)))).await;
    let lease = queue.receive(1).await.1[0];
    queue.lose("ready").await;
    queue.enqueue([job(5, Some("c"))]).await;
    let (received, _) = queue.receive(10).await;
    assert_eq!(received, [3, 5], "one of each group that does not run");
    assert!(queue.receive(10).await.0.is_empty());
    queue.acknowledge(lease).await;
    assert_eq!(queue.receive(10).await.0, [2]);
}

#[tokio::test]
async fn unfinished_jobs_are_found_again() {
    for queue in [Fixture::standard().await, Fixture::fifo().await] {
        let group = queue.settings.id.is_fifo().then_some("a");
        queue.enqueue((1..=3).map(|number| job(number, group))).await;
        let (_, leases) = queue.receive(1).await;
        queue.lose("unfinished").await;
        let stats = queue.stats().await;
        assert_eq!((stats.waiting, stats.running), (2, 1));
        assert!(!queue.jobs.store().remove(&queue.settings).await.unwrap(), "it has jobs");
        assert_eq!(queue.acknowledge(leases[0]).await, Settled::Now(JobState::Completed));
        assert_eq!(queue.jobs.store().drain(&queue.settings).await.unwrap().canceled, 2);
        assert!(queue.jobs.store().remove(&queue.settings).await.unwrap());
    }
}

#[tokio::test]
async fn next_job_of_a_group_starts_although_the_groups_are_lost() {
    let queue = Fixture::fifo().await;
    queue.enqueue((1..=3).map(|number| job(number, Some("a")))).await;
    let (_, leases) = queue.receive(1).await;
    queue.lose("groups").await;
    queue.enqueue([job(4, Some("b"))]).await;
    assert_eq!(queue.receive(10).await.0, [4]);
    queue.acknowledge(leases[0]).await;
    assert_eq!(queue.receive(10).await.0, [2]);
}

#[tokio::test]
async fn job_without_payload_is_a_dead_letter() {
    let queue = Fixture::standard().await;
    queue.enqueue((1..=2).map(|number| job(number, None))).await;
    queue.lose("payloads").await;
    queue.enqueue([job(3, None)]).await;
    assert_eq!(queue.receive(10).await.0, [3], "others start");
    let dead = queue.jobs.store().dead_letters(&queue.settings, None, 10).await.unwrap();
    assert_eq!(dead.iter().map(|view| number_of(view.id)).collect::<Vec<_>>(), [2, 1]);
    assert!(dead.iter().all(|view| json!(view.reason) == "payload_lost"), "{dead:?}");
    assert_eq!(queue.jobs.replay(&queue.settings, &[id(1)]).await.unwrap(), [false], "there is nothing to run");
    let stats = queue.stats().await;
    assert_eq!((stats.waiting, stats.running, stats.dead, stats.bytes), (0, 1, 2, JOB_BYTES));
}
