//! Alerts about job queues.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{
    Failure, FailureReason, JobBackend as _, JobId, JobQueueSettings, NewJob, Outcome, Payload, Settlement,
};
use vestibule_core::settings::{JobQueueChange, JobQueuePlan};
use vestibule_core::{Clock as _, Micros, SystemClock};
use vestibule_runtime::{JobQueues, schedule_key, set_last_run};
use vestibule_store_redis::{RedisJobs, RedisStore};

use super::{Measured, Watch, during, patient, put};

/// Since when the schedule has had no job, in seconds.
const MISSED: u64 = 600;

/// The job queues of a store: of one that is full nothing starts, and consumers pull the jobs of the others.
pub(super) struct Jobs {
    queues: JobQueues,
    backend: Arc<RedisJobs>,
}

impl Jobs {
    /// Creates them before a worker runs, so that it meets what it cannot do.
    pub(super) async fn create(url: &str) -> Self {
        let backend = Arc::new(RedisJobs::connect(url, patient()).unwrap());
        let queues = job_queues(url, &backend);
        let pull = json!({ "kind": "pull" });
        let settings = [
            json!({
                "id": "full", "target": { "kind": "http", "url": "https://crm.acme.example/jobs" },
                "paused": true, "max_jobs": 1, "webhook": { "event_types": ["queue.state_changed"] },
                "schedules": [{ "id": "minutely", "cron": "* * * * *", "payload": "{}" }],
            }),
            json!({ "id": "blocked.fifo", "target": pull }),
            json!({ "id": "failing", "target": pull }),
            // Paused for the worker: the drill sends its orders.
            json!({ "id": "orders.fifo", "target": { "kind": "origin" }, "paused": true }),
        ];
        write(&queues, settings).await;
        let jobs = Self { queues, backend };
        let full = jobs.settings("full").await;
        jobs.backend.enqueue(&full, vec![job("one")]).await.unwrap();
        let key = schedule_key(&full.id, &full.schedules[0]);
        let last = Micros(SystemClock::new().now().0 - MISSED * 1_000_000);
        set_last_run(&**jobs.queues.records(), &key, last).await.unwrap();
        jobs
    }

    async fn settings(&self, id: &str) -> JobQueueSettings {
        self.queues.read(&id.parse().unwrap()).await.unwrap().unwrap().settings.clone()
    }

    /// A consumer fails the next job.
    async fn fail_next(&self, settings: &JobQueueSettings, outcome: impl Fn(Failure) -> Outcome) {
        let lease = self.backend.receive(settings, 1).await.unwrap().jobs[0].lease;
        let failure = Failure { reason: FailureReason::Reported, status: None, response: Vec::new() };
        self.backend.settle(settings, vec![Settlement { lease, outcome: outcome(failure) }]).await.unwrap();
    }
}

fn job_queues(url: &str, backend: &Arc<RedisJobs>) -> JobQueues {
    let connect = || Arc::new(RedisStore::connect(url, patient()).unwrap());
    JobQueues::new(connect(), connect(), Arc::<RedisJobs>::clone(backend))
}

async fn write(queues: &JobQueues, settings: impl IntoIterator<Item = Value>) {
    let changed = settings.into_iter().map(change_of).collect();
    queues.execute(&JobQueuePlan { changed, ..JobQueuePlan::default() }).await.unwrap();
}

/// The Redis of the jobs is down for a while; that of the store is not.
pub(super) async fn job_queues_are_unreadable(watch: &Watch, measured: &Measured) {
    let label = measured.metrics.address();
    let backend = Arc::new(RedisJobs::connect(&measured.jobs.url(), patient()).unwrap());
    let queues = job_queues(&measured.redis.url(), &backend);
    write(&queues, [json!({ "id": "elsewhere", "target": { "kind": "pull" } })]).await;
    measured.jobs.kill();
    watch.fires("VestibuleJobQueuesUnreadable", label).await;
    measured.jobs.restart().await;
    watch.resolves("VestibuleJobQueuesUnreadable", label).await;
}

fn change_of(mut value: Value) -> JobQueueChange {
    value["tenant"] = "acme".into();
    let settings = JobQueueSettings::from_json(&value).unwrap();
    JobQueueChange { settings, retired_secret: None, replaces: 0, changes: Vec::new() }
}

fn job(text: &'static str) -> NewJob {
    let payload = Payload { content_type: "text/plain".to_owned(), bytes: text.into() };
    NewJob::new(JobId::random(), payload)
}

/// A paused job queue is full, so that its schedule and webhook events have no room; then it is drained.
pub(super) async fn job_queue_is_full(watch: &Watch, jobs: &Jobs, store: &RedisStore) {
    watch.fires("VestibuleJobsDelayed", "full").await;
    watch.fires("VestibuleScheduleMissed", "full").await;
    // The worker compares queues every ten seconds.
    put(store, "changing", json!({})).await;
    let mut modes = ["paused", "open"].into_iter().cycle();
    let changes = async {
        loop {
            sleep(Duration::from_secs(11)).await;
            put(store, "changing", json!({ "mode": modes.next() })).await;
        }
    };
    during(changes, watch.fires("VestibuleWebhookEventsDropped", "full")).await;
    jobs.backend.store().drain(&jobs.settings("full").await).await.unwrap();
    for alert in ["VestibuleJobsDelayed", "VestibuleScheduleMissed", "VestibuleWebhookEventsDropped"] {
        watch.resolves(alert, "full").await;
    }
}

/// The first job of a group fails while another one waits for it; then it is canceled.
pub(super) async fn group_is_blocked(watch: &Watch, jobs: &Jobs) {
    let blocked = jobs.settings("blocked.fifo").await;
    let in_group = |text| NewJob { group: Some("user-17".parse().unwrap()), ..job(text) };
    let (first, second) = (in_group("one"), in_group("two"));
    let id = first.id;
    jobs.backend.enqueue(&blocked, vec![first, second]).await.unwrap();
    jobs.fail_next(&blocked, Outcome::Failed).await;
    watch.fires("VestibuleJobGroupBlocked", "blocked.fifo").await;
    jobs.backend.store().cancel(&blocked, &[id]).await.unwrap();
    watch.resolves("VestibuleJobGroupBlocked", "blocked.fifo").await;
}

/// Jobs fail for good; nobody fails any more.
pub(super) async fn jobs_fail_for_good(watch: &Watch, jobs: &Jobs) {
    let failing = jobs.settings("failing").await;
    let failures = async {
        loop {
            jobs.backend.enqueue(&failing, vec![job("one")]).await.unwrap();
            jobs.fail_next(&failing, Outcome::FailedForGood).await;
            sleep(Duration::from_secs(1)).await;
        }
    };
    during(failures, watch.fires("VestibuleDeadLetters", "failing")).await;
    watch.resolves("VestibuleDeadLetters", "failing").await;
}

/// Nobody knows what became of orders; then none is sent any more.
pub(super) async fn outcome_of_orders_is_unknown(watch: &Watch, jobs: &Jobs) {
    let orders = JobQueueSettings { paused: false, ..jobs.settings("orders.fifo").await };
    let losses = async {
        loop {
            let session = JobId::random().to_string().parse().unwrap();
            jobs.backend.enqueue(&orders, vec![NewJob { group: Some(session), ..job("one") }]).await.unwrap();
            jobs.fail_next(&orders, Outcome::Unknown).await;
            sleep(Duration::from_secs(1)).await;
        }
    };
    during(losses, watch.fires("VestibuleOrderOutcomeUnknown", "orders.fifo")).await;
    watch.resolves("VestibuleOrderOutcomeUnknown", "orders.fifo").await;
}
