//! Job queues: what a job costs, beside `BullMQ` on the same server in the same run.
//!
//! B1: CPU of Redis per job (enqueue, receive, settle) against `BullMQ`. B2: jobs per second that a handler gets over HTTP, against
//! `BullMQ` inside its process. B3: time until a handler is called. B4: jobs per second of the memory backend. B5: CPU of Redis per
//! job by the number of groups and of waiting jobs. F14: what visitors in line feel. Prints tables of medians and ratios; asserts
//! nothing.
//!
//! `BullMQ` is installed with `npm ci` in this folder. Without it, its rows are left out.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

mod line;
mod worker;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use vestibule_core::SystemClock;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{
    Enqueued, JobBackend, JobId, JobQueueSettings, JobResponse, NewJob, Outcome, Payload, Settlement,
};
use vestibule_store_memory::MemoryJobs;
use vestibule_store_redis::{RedisJobs, RedisOptions};
use vestibule_tests::Redis;

/// Jobs that a figure is taken from.
const SAMPLE: u64 = 10_000;
/// Figures of which the median is taken.
const ROUNDS: usize = 5;
/// Jobs per call in batches.
const BATCH: u64 = 32;
/// Size of a payload in bytes.
const PAYLOAD: usize = 250;
/// How long a call may take: longer than a busy machine needs.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Signs calls.
const SECRET: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";

fn settings(id: &str) -> JobQueueSettings {
    let document = json!({
        "id": id, "tenant": "bench", "concurrency": 1000, "max_jobs": 10_000_000, "max_bytes": 4_294_967_296_u64,
        "target": {
            "kind": "http", "url": "https://crm.acme.example/jobs", "secret": SECRET,
        },
    });
    JobQueueSettings::from_json(&document).unwrap()
}

/// New jobs, in this many groups or in none.
fn new_jobs(count: u64, groups: Option<u64>) -> Vec<NewJob> {
    let new = |number| {
        let id = JobId::random();
        NewJob {
            group: groups.map(|groups| format!("user-{}", number % groups).parse().unwrap()),
            deduplication_id: groups.map(|_| id.to_string().parse().unwrap()),
            ..NewJob::new(id, Payload { content_type: "text/plain".to_owned(), bytes: vec![b'x'; PAYLOAD] })
        }
    };
    (0..count).map(|number| new(number + u64::from(id_seed()))).collect()
}

/// Spreads the groups of one batch after another.
fn id_seed() -> u32 {
    let [a, b, c, d, ..] = *JobId::random().as_bytes();
    u32::from_be_bytes([a, b, c, d])
}

async fn enqueue(jobs: &dyn JobBackend, settings: &JobQueueSettings, new: Vec<NewJob>) {
    let answers = jobs.enqueue(settings, new).await.unwrap();
    assert!(answers.iter().all(|answer| *answer == Enqueued::Accepted), "{answers:?}");
}

/// Enqueues, receives and settles this many jobs, in batches of this size.
async fn run(jobs: &dyn JobBackend, settings: &JobQueueSettings, count: u64, batch: u64, groups: Option<u64>) {
    for _ in 0..count / batch {
        enqueue(jobs, settings, new_jobs(batch, groups)).await;
        let received = jobs.receive(settings, batch as usize).await.unwrap();
        let response = JobResponse { status: 204, ..JobResponse::default() };
        let acknowledged = Outcome::Acknowledged(Some(response));
        let settlements =
            received.jobs.into_iter().map(|job| Settlement { lease: job.lease, outcome: acknowledged.clone() });
        jobs.settle(settings, settlements.collect()).await.unwrap();
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// CPU of Redis per job, in microseconds.
async fn cpu_per_job(redis: &Redis, work: impl Future<Output = ()>) -> f64 {
    let before = redis.cpu().await;
    work.await;
    (redis.cpu().await - before) * 1e6 / SAMPLE as f64
}

/// What a run of `BullMQ` took.
struct BullMq {
    /// CPU of Redis per job, in microseconds.
    cpu: f64,
    jobs_per_second: f64,
}

/// Runs as many jobs through `BullMQ`; `None` if it is not installed.
async fn bullmq(redis: &Redis, batch: u64) -> Option<BullMq> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/jobs");
    if !folder.join("node_modules/bullmq").exists() {
        return None;
    }
    redis.command(&["FLUSHALL"]).await;
    let arguments = [redis.port().to_string(), SAMPLE.to_string(), batch.to_string()];
    let mut node = Command::new("node")
        .arg("bullmq.mjs")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut says = BufReader::new(node.stdout.take().unwrap()).lines();
    assert_eq!(says.next().unwrap().unwrap(), "ready");
    let mut asked = node.stdin.take().unwrap();
    let started = Instant::now();
    let cpu = cpu_per_job(redis, async {
        writeln!(asked, "go").unwrap();
        assert_eq!(says.next().unwrap().unwrap(), "done");
    })
    .await;
    let jobs_per_second = SAMPLE as f64 / started.elapsed().as_secs_f64();
    drop(asked);
    node.wait().unwrap();
    Some(BullMq { cpu, jobs_per_second })
}

async fn connect(redis: &Redis) -> RedisJobs {
    let options = RedisOptions { timeout: TIMEOUT, ..RedisOptions::default() };
    let jobs = RedisJobs::connect(&redis.url(), options).unwrap();
    run(&jobs, &settings("warm-up"), 1, 1, None).await;
    jobs
}

async fn against_bullmq() {
    println!("| B1: CPU of Redis per job | Vestibule, us | BullMQ, us | ratio |\n| --- | ---: | ---: | ---: |");
    for (what, batch) in [("in batches of 32", BATCH), ("one at a time", 1)] {
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let redis = Redis::start().await;
            let jobs = connect(&redis).await;
            own.push(cpu_per_job(&redis, run(&jobs, &settings("emails"), SAMPLE, batch, None)).await);
            other.extend(bullmq(&redis, batch).await.map(|it| it.cpu));
        }
        let own = median(own);
        if other.is_empty() {
            println!("| {what} | {own:.1} | not installed | |");
        } else {
            let other = median(other);
            println!("| {what} | {own:.1} | {other:.1} | {:.2} |", own / other);
        }
    }
}

async fn memory_backend() {
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let (jobs, started) = (MemoryJobs::new(SystemClock::new()), Instant::now());
        run(&jobs, &settings("emails"), 10 * SAMPLE, BATCH, None).await;
        rates.push(10.0 * SAMPLE as f64 / started.elapsed().as_secs_f64());
    }
    println!("\nB4: memory backend: {:.0} jobs per second, new payloads included", median(rates));
}

async fn by_size() {
    println!("\n| B5: CPU of Redis per job | us | ratio |\n| --- | ---: | ---: |");
    let mut few = None;
    for groups in [10, 10_000] {
        let mut figures = Vec::new();
        for _ in 0..ROUNDS {
            let redis = Redis::start().await;
            let jobs = connect(&redis).await;
            let settings = settings("updates.fifo");
            // As many jobs wait in both, so that only the number of groups differs.
            for _ in 0..10_000 / BATCH {
                enqueue(&jobs, &settings, new_jobs(BATCH, Some(groups))).await;
            }
            // With ten groups a receive leases ten jobs.
            figures.push(cpu_per_job(&redis, run(&jobs, &settings, SAMPLE, 10, Some(groups))).await);
        }
        let figure = median(figures);
        println!("| {groups} groups | {figure:.1} | {:.2} |", figure / *few.get_or_insert(figure));
    }
    let mut few = None;
    for waiting in [1_000, 1_000_000] {
        let redis = Redis::start().await;
        let (jobs, settings) = (connect(&redis).await, settings("emails"));
        let empty: f64 = redis.info("memory", "used_memory").await.unwrap().parse().unwrap();
        for _ in 0..waiting / BATCH {
            enqueue(&jobs, &settings, new_jobs(BATCH, None)).await;
        }
        let used: f64 = redis.info("memory", "used_memory").await.unwrap().parse().unwrap();
        let mut figures = Vec::new();
        for _ in 0..ROUNDS {
            figures.push(cpu_per_job(&redis, run(&jobs, &settings, SAMPLE, BATCH, None)).await);
        }
        let (figure, bytes) = (median(figures), (used - empty) / waiting as f64);
        println!(
            "| {waiting} waiting, {bytes:.0} bytes each | {figure:.1} | {:.2} |",
            figure / *few.get_or_insert(figure)
        );
    }
}

#[tokio::main]
async fn main() {
    against_bullmq().await;
    worker::rate().await;
    worker::latency().await;
    memory_backend().await;
    by_size().await;
    line::rows().await;
}
