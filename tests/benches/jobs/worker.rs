//! B2 and B3: a worker that calls a handler over HTTP, both on this machine.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use http::StatusCode;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{JobBackend, JobQueueSettings};
use vestibule_core::settings::{JobQueueChange, JobQueuePlan, Tenant};
use vestibule_core::store::SettingsStore as _;
use vestibule_core::{KeyList, PassSigner, SystemClock};
use vestibule_runtime::JobQueues;
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_store_redis::RedisJobs;
use vestibule_tests::Redis;
use vestibule_worker::{CONCURRENCY, Worker};

use crate::{BATCH, ROUNDS, SAMPLE, SECRET, bullmq, connect, enqueue, median, new_jobs};

/// Jobs whose latency is measured, one after the other.
const PINGS: usize = 300;
/// Time between two of them, so that the job queue is idle but in use.
const PAUSE: Duration = Duration::from_millis(23);

/// A worker with one job queue, and its handler, which answers at once.
pub(crate) struct Working {
    job_queues: Arc<JobQueues>,
    pub(crate) settings: JobQueueSettings,
    calls: mpsc::UnboundedReceiver<Instant>,
    tasks: [JoinHandle<()>; 2],
}

impl Working {
    pub(crate) async fn start(jobs: Arc<RedisJobs>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jobs", listener.local_addr().unwrap());
        let (sender, calls) = mpsc::unbounded_channel();
        let router = Router::new().fallback(handle).with_state(sender);
        let handler = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });

        let store = Arc::new(MemoryStore::new(SystemClock::new()));
        store.put_tenant(&Tenant::from_value(&json!({ "id": "bench", "name": "Bench" })).unwrap()).await.unwrap();
        let records = Arc::new(MemoryRecords::new(SystemClock::new()));
        let job_queues = Arc::new(JobQueues::new(records, store, jobs));
        let target = json!({ "kind": "http", "url": url, "secret": SECRET });
        let settings = json!({ "id": "calls", "tenant": "bench", "concurrency": BATCH, "target": target });
        let settings = JobQueueSettings::from_json(&settings).unwrap();
        let change =
            JobQueueChange { settings: settings.clone(), retired_secret: None, replaces: 0, changes: Vec::new() };
        let plan = JobQueuePlan { changed: vec![change], ..JobQueuePlan::default() };
        job_queues.execute(&plan).await.unwrap();
        let passes = PassSigner::new(&KeyList::of_bytes("bench", [9; 32])).unwrap();
        let worker = Worker::new(job_queues.clone(), CONCURRENCY, passes, None);
        let worker = tokio::spawn(async move {
            worker.run(std::future::pending()).await;
        });
        let mut working = Self { job_queues, settings, calls, tasks: [handler, worker] };
        working.enqueue(1).await;
        working.called(1).await;
        working
    }

    /// Enqueues as a request to this process does, which wakes the worker.
    pub(crate) async fn enqueue(&self, count: u64) {
        self.job_queues.enqueue(&self.settings, new_jobs(count, None)).await.unwrap();
    }

    /// When the last of this many jobs was called.
    async fn called(&mut self, count: u64) -> Instant {
        let mut last = None;
        for _ in 0..count {
            last = self.calls.recv().await;
        }
        last.unwrap()
    }

    /// Waits until all jobs are settled.
    async fn settled(&self) {
        while self.job_queues.job_store().stats(&self.settings).await.unwrap().running > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn handle(State(calls): State<mpsc::UnboundedSender<Instant>>) -> StatusCode {
    // Whoever counts the calls may be gone.
    let _ = calls.send(Instant::now());
    StatusCode::NO_CONTENT
}

/// Jobs per second that a handler is called with over HTTP, beside `BullMQ`'s function in its own process.
pub(crate) async fn rate() {
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let redis = Redis::start().await;
        let mut working = Working::start(Arc::new(connect(&redis).await)).await;
        let started = Instant::now();
        let count = SAMPLE / BATCH * BATCH;
        for _ in 0..SAMPLE / BATCH {
            working.enqueue(BATCH).await;
        }
        working.called(count).await;
        working.settled().await;
        own.push(count as f64 / started.elapsed().as_secs_f64());
        other.extend(bullmq(&redis, BATCH).await.map(|it| it.jobs_per_second));
    }
    let own = median(own);
    println!("\n| B2: jobs per second | over HTTP, Vestibule | in its process, BullMQ | ratio |");
    println!("| --- | ---: | ---: | ---: |");
    if other.is_empty() {
        println!("| in batches of 32 | {own:.0} | not installed | |");
    } else {
        let other = median(other);
        println!("| in batches of 32 | {own:.0} | {other:.0} | {:.2} |", own / other);
    }
}

/// Time from enqueueing a job, the request to Redis included, to its call.
pub(crate) async fn latency() {
    println!("\n| B3: enqueued to called | p50 | p99 |\n| --- | ---: | ---: |");
    let redis = Redis::start().await;
    let jobs = Arc::new(connect(&redis).await);
    let mut working = Working::start(jobs.clone()).await;
    for (from, wakes) in [("the same process", true), ("another process", false)] {
        let mut times = Vec::new();
        for _ in 0..PINGS {
            sleep(PAUSE).await;
            let started = Instant::now();
            if wakes {
                working.enqueue(1).await;
            } else {
                enqueue(&*jobs as &dyn JobBackend, &working.settings, new_jobs(1, None)).await;
            }
            times.push(working.called(1).await - started);
        }
        times.sort();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0;
        println!("| {from} | {:.1} ms | {:.1} ms |", at(0.5), at(0.99));
    }
}
