//! A job queue in some backend whose time only moves when the test moves it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{
    Canceled, DeadLetterPosition, Detail, Drained, Enqueued, Extension, Failure, FailureReason, JOB_BATCH, JobBackend,
    JobId, JobQueueSettings, JobResponse, JobStats, JobView, Lease, LeasedJob, NewJob, Outcome, Payload, ProgressAdded,
    Received, ReplayedAll, Resolution, Settled, Settlement,
};
use vestibule_core::{Clock as _, ManualClock, Micros, SessionId};
use vestibule_jobs_sqs::SqsJobs;
use vestibule_store_memory::MemoryJobs;
use vestibule_store_redis::{RedisJobs, RedisOptions};
use vestibule_tests::{Cluster, Redis, Sqs};

/// When the tests' time begins.
pub(crate) const START: Micros = Micros(1_700_000_000_000_000);

/// More jobs than a byte can number.
const MANY: u64 = 300;

/// What `max_bytes` counts of each of the first nine jobs: five bytes, and their content type.
pub(crate) const JOB_BYTES: u64 = 5 + 10;

/// How long a backend may take: these tests are about what it answers, not how soon.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A backend and the clock that it goes by.
pub(crate) struct JobsFixture {
    pub(crate) backend: Arc<dyn JobBackend>,
    pub(crate) clock: Arc<ManualClock>,
    /// How many jobs a test of many jobs has: more than one byte counts, unless the server is too slow for them.
    pub(crate) many: u64,
}

impl JobsFixture {
    pub(crate) fn memory() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        Self { backend: Arc::new(MemoryJobs::new(clock.clone())), clock, many: MANY }
    }

    /// A backend on the shared Redis of this process.
    pub(crate) async fn redis() -> Self {
        Self::at(&Redis::shared().await.url())
    }

    /// A backend on the shared Redis Cluster of this process.
    pub(crate) async fn cluster() -> Self {
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        Self::at(&SHARED.get_or_init(Cluster::start).await.url())
    }

    /// A backend on SQS queues of its own, with the shared Redis of this process.
    pub(crate) async fn sqs() -> Self {
        static SHARED: OnceCell<Sqs> = OnceCell::const_new();
        let sqs = SHARED.get_or_init(Sqs::start).await;
        let clock = Arc::new(ManualClock::at(START));
        let options = RedisOptions { timeout: TIMEOUT, clock: Some(clock.clone()), ..RedisOptions::default() };
        let (prefix, redis) = (sqs.queues().await.parse().unwrap(), Redis::shared().await.url());
        let backend = SqsJobs::connect(prefix, Some(sqs.server()), &redis, options).unwrap();
        Self { backend: Arc::new(backend), clock, many: 40 }
    }

    fn at(url: &str) -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let options = RedisOptions { timeout: TIMEOUT, clock: Some(clock.clone()), ..RedisOptions::default() };
        Self { backend: Arc::new(RedisJobs::connect(url, options).unwrap()), clock, many: MANY }
    }

    /// A new standard job queue with a random ID and these settings over the ordinary ones.
    pub(crate) fn standard(&self, settings: &Value) -> JobQueueFixture<'_> {
        self.with_id(&random_id(), settings)
    }

    /// The same as a FIFO job queue.
    pub(crate) fn fifo(&self, settings: &Value) -> JobQueueFixture<'_> {
        self.with_id(&format!("{}.fifo", random_id()), settings)
    }

    fn with_id(&self, id: &str, settings: &Value) -> JobQueueFixture<'_> {
        JobQueueFixture { fixture: self, settings: settings_of(id, settings) }
    }
}

pub(crate) fn random_id() -> String {
    format!("j-{}", SessionId::random())
}

/// The ordinary settings of a job queue, with `changes` over them.
pub(crate) fn settings_of(id: &str, changes: &Value) -> JobQueueSettings {
    let mut document = json!({
        "id": id, "tenant": "acme",
        "target": {
            "kind": "http", "url": "https://crm.acme.example/jobs",
            "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        },
    });
    document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    JobQueueSettings::from_json(&document).unwrap()
}

/// The job of this number, in a group or in none. Its backoffs differ from those of others, because its ID decides them.
pub(crate) fn job(number: u64, group: Option<&str>) -> NewJob {
    let (mut id, mixed) = ([0; JobId::SIZE], number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    id[..6].copy_from_slice(&mixed.to_be_bytes()[..6]);
    id[6..].copy_from_slice(&number.to_be_bytes());
    let payload = Payload { content_type: "text/plain".to_owned(), bytes: format!("job {number}").into_bytes() };
    NewJob { group: group.map(|group| group.parse().unwrap()), ..NewJob::new(JobId::from_bytes(id), payload) }
}

fn ids(numbers: &[u64]) -> Vec<JobId> {
    numbers.iter().map(|number| job(*number, None).id).collect()
}

/// The number of a job.
pub(crate) fn number_of(job: JobId) -> u64 {
    u64::from_be_bytes(*job.as_bytes().last_chunk().unwrap())
}

pub(crate) fn response(body: &[u8]) -> JobResponse {
    JobResponse { status: 204, body: body.to_vec(), ..JobResponse::default() }
}

pub(crate) fn failure() -> Failure {
    Failure { reason: FailureReason::Status, status: Some(500), response: b"broken".to_vec() }
}

/// One job queue.
pub(crate) struct JobQueueFixture<'a> {
    fixture: &'a JobsFixture,
    pub(crate) settings: JobQueueSettings,
}

impl JobQueueFixture<'_> {
    pub(crate) fn now(&self) -> Micros {
        self.fixture.clock.now()
    }

    pub(crate) fn advance_seconds(&self, seconds: u64) {
        self.advance_micros(seconds * 1_000_000);
    }

    pub(crate) fn advance_micros(&self, micros: u64) {
        self.fixture.clock.advance(micros);
    }

    pub(crate) fn step_back_seconds(&self, seconds: u64) {
        self.fixture.clock.step_back(seconds * 1_000_000);
    }

    pub(crate) async fn enqueue(&self, job: NewJob) -> Enqueued {
        self.enqueue_all(vec![job]).await[0]
    }

    pub(crate) async fn enqueue_all(&self, jobs: Vec<NewJob>) -> Vec<Enqueued> {
        self.fixture.backend.enqueue(&self.settings, jobs).await.unwrap()
    }

    /// Enqueues the jobs of these numbers in a group or in none.
    pub(crate) async fn enqueue_numbers(&self, numbers: impl IntoIterator<Item = u64>, group: Option<&str>) {
        let jobs: Vec<_> = numbers.into_iter().map(|number| job(number, group)).collect();
        for batch in jobs.chunks(JOB_BATCH) {
            let accepted = self.enqueue_all(batch.to_vec()).await;
            assert!(accepted.iter().all(|answer| *answer == Enqueued::Accepted), "{accepted:?}");
        }
    }

    pub(crate) async fn received(&self, max: usize) -> Received {
        self.fixture.backend.receive(&self.settings, max).await.unwrap()
    }

    pub(crate) async fn receive(&self, max: usize) -> Vec<LeasedJob> {
        self.received(max).await.jobs
    }

    /// The next instant at which a job can start.
    pub(crate) async fn next_due(&self) -> Option<Micros> {
        self.received(0).await.next_due
    }

    /// The payloads of the jobs that can start now, and their leases.
    pub(crate) async fn start(&self) -> (Vec<String>, Vec<Lease>) {
        let jobs = self.receive(JOB_BATCH).await;
        jobs.into_iter().map(|job| (String::from_utf8(job.payload.bytes).unwrap(), job.lease)).unzip()
    }

    /// Starts the only job that can start.
    pub(crate) async fn start_one(&self) -> Lease {
        let (started, leases) = self.start().await;
        assert_eq!(leases.len(), 1, "{started:?}");
        leases[0]
    }

    pub(crate) async fn extend(&self, leases: &[Lease]) -> Vec<bool> {
        let extensions: Vec<_> = leases.iter().copied().map(Extension::of).collect();
        self.fixture.backend.extend(&self.settings, &extensions).await.unwrap()
    }

    pub(crate) async fn extend_by(&self, lease: Lease, seconds: u64) -> Vec<bool> {
        self.extend_with(Extension { seconds, ..Extension::of(lease) }).await
    }

    pub(crate) async fn extend_with(&self, extension: Extension) -> Vec<bool> {
        self.fixture.backend.extend(&self.settings, &[extension]).await.unwrap()
    }

    pub(crate) async fn settle(&self, lease: Lease, outcome: Outcome) -> Settled {
        let settlement = Settlement { lease, outcome };
        self.fixture.backend.settle(&self.settings, vec![settlement]).await.unwrap()[0]
    }

    pub(crate) async fn acknowledge(&self, lease: Lease) -> Settled {
        self.settle(lease, Outcome::Acknowledged(Some(response(b"done")))).await
    }

    pub(crate) async fn fail(&self, lease: Lease) -> Settled {
        self.settle(lease, Outcome::Failed(failure())).await
    }

    pub(crate) async fn view(&self, number: u64) -> Option<JobView> {
        let id = job(number, None).id;
        self.fixture.backend.store().get(&self.settings, &[id], Detail::Contents).await.unwrap().remove(0)
    }

    /// What is known without contents.
    pub(crate) async fn status(&self, number: u64) -> Option<JobView> {
        let id = job(number, None).id;
        self.fixture.backend.store().get(&self.settings, &[id], Detail::Status).await.unwrap().remove(0)
    }

    pub(crate) async fn add_progress(&self, lease: Lease, message: &str) -> ProgressAdded {
        self.fixture.backend.store().add_progress(&self.settings, lease, message.parse().unwrap()).await.unwrap()
    }

    pub(crate) async fn mark_delivered(&self, number: u64) {
        self.fixture.backend.store().mark_delivered(&self.settings, job(number, None).id).await.unwrap();
    }

    pub(crate) async fn cancel(&self, numbers: &[u64]) -> Vec<Canceled> {
        self.fixture.backend.store().cancel(&self.settings, &ids(numbers)).await.unwrap()
    }

    pub(crate) async fn drain(&self) -> Drained {
        self.fixture.backend.store().drain(&self.settings).await.unwrap()
    }

    pub(crate) async fn dead_letters(&self, before: Option<DeadLetterPosition>, limit: usize) -> Vec<JobView> {
        self.fixture.backend.store().dead_letters(&self.settings, before, limit).await.unwrap()
    }

    pub(crate) async fn delete_dead(&self, numbers: &[u64]) -> Vec<bool> {
        self.fixture.backend.store().delete_dead(&self.settings, &ids(numbers)).await.unwrap()
    }

    pub(crate) async fn replay(&self, numbers: &[u64]) -> Vec<bool> {
        self.fixture.backend.replay(&self.settings, &ids(numbers)).await.unwrap()
    }

    pub(crate) async fn replay_all(&self, until: Option<Micros>) -> ReplayedAll {
        self.fixture.backend.replay_all(&self.settings, until).await.unwrap()
    }

    pub(crate) async fn resolve(&self, number: u64, resolution: Resolution) -> bool {
        self.fixture.backend.store().resolve(&self.settings, job(number, None).id, resolution).await.unwrap()
    }

    pub(crate) async fn remove(&self) -> bool {
        self.fixture.backend.store().remove(&self.settings).await.unwrap()
    }

    /// Creates the job queue again after it was removed.
    pub(crate) async fn create(&self) {
        self.fixture.backend.store().create(&self.settings).await.unwrap();
    }

    pub(crate) async fn reap(&self) -> bool {
        self.fixture.backend.store().reap(&self.settings).await.unwrap()
    }

    pub(crate) async fn stats(&self) -> JobStats {
        self.fixture.backend.store().stats(&self.settings).await.unwrap()
    }
}
