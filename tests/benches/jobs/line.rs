//! F14: what a visitor in line feels while jobs run, and while a job queue is full, all in one Redis.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{Enqueued, JobBackend as _, JobQueueSettings};
use vestibule_core::line::Visit;
use vestibule_core::settings::Settings;
use vestibule_core::store::{SettingsStore as _, VisitStore as _};
use vestibule_core::{KeyList, PutMode, QueueId, SessionId, ShownStatus, Ticket, TicketOrigin, TicketSigner};
use vestibule_store_redis::{RedisJobs, RedisOptions, RedisStore};
use vestibule_tests::Redis;

use crate::worker::Working;
use crate::{SECRET, TIMEOUT, connect, median, new_jobs};

/// Visitors in line.
const WAITING: usize = 10_000;
/// Jobs per second.
const JOBS_PER_SECOND: u64 = 500;
/// For how long visitors poll in each turn.
const TURN: Duration = Duration::from_secs(4);
/// Turns of each kind. The table has the medians.
const TURNS: usize = 9;
/// Time between two polls.
const BETWEEN_POLLS: Duration = Duration::from_millis(1);

/// A visitor in the middle of a line.
struct Visitor {
    store: RedisStore,
    queue: QueueId,
    ticket: Ticket,
}

impl Visitor {
    async fn wait(redis: &Redis) -> Self {
        let options = RedisOptions { timeout: TIMEOUT, ..RedisOptions::default() };
        let store = RedisStore::connect(&redis.url(), options).unwrap();
        let document = json!({
            "id": "waiting", "tenant": "bench", "hosts": ["*"], "quota": 0, "waiting_ttl": 3600, "claim_ttl": 1200,
            "hold_ttl": 3600, "handover": { "kind": "check" }, "protection": { "pre_ticket_from": "none" },
        });
        let settings = Settings::from_value(&document).unwrap();
        store.put_settings(&settings, PutMode::Always).await.unwrap();
        let visits = stream::iter(0..WAITING)
            .map(|_| async { store.visit(&settings.id, Visit::joining(SessionId::random())).await.unwrap() });
        let answers: Vec<_> = visits.buffered(64).collect().await;
        let (signer, answer) = (TicketSigner::new(&KeyList::of_bytes("bench", [7; 32])).unwrap(), answers[WAITING / 2]);
        let token = signer.sign(&settings.id, &answer, ShownStatus::default(), TicketOrigin::default()).unwrap();
        let ticket = signer.verify(&settings.id, token.as_bytes()).unwrap();
        Self { store, queue: settings.id, ticket }
    }

    /// How long polls take in one turn, in milliseconds: p50 and p99.
    async fn poll(&self) -> [f64; 2] {
        let (mut times, began) = (Vec::new(), Instant::now());
        while began.elapsed() < TURN {
            sleep(BETWEEN_POLLS).await;
            let began = Instant::now();
            self.store.visit(&self.queue, Visit::keeping(self.ticket.clone())).await.unwrap();
            times.push(began.elapsed());
        }
        times.sort();
        [0.5, 0.99].map(|share| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1000.0)
    }
}

/// Does something at a steady rate until it is dropped.
async fn steadily(mut work: impl AsyncFnMut()) {
    let mut ticks = interval(Duration::from_secs(1) / JOBS_PER_SECOND as u32);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    loop {
        ticks.tick().await;
        work().await;
    }
}

/// A job queue that holds as much as it may.
async fn filled(jobs: &RedisJobs) -> JobQueueSettings {
    let document = json!({
        "id": "full", "tenant": "bench", "max_bytes": 64 << 20,
        "target": { "kind": "http", "url": "https://crm.acme.example/jobs", "secret": SECRET },
    });
    let settings = JobQueueSettings::from_json(&document).unwrap();
    while jobs.enqueue(&settings, new_jobs(64, None)).await.unwrap().iter().all(|it| *it == Enqueued::Accepted) {}
    settings
}

pub(crate) async fn rows() {
    println!("\n| F14: a poll, 10,000 waiting, beside | p50 | p99 | ratio of p99 |\n| --- | ---: | ---: | ---: |");
    let redis = Redis::start().await;
    let visitor = Visitor::wait(&redis).await;
    let jobs = Arc::new(connect(&redis).await);
    let working = Working::start(jobs.clone()).await;
    let full = filled(&jobs).await;
    let mut figures: [[Vec<f64>; 2]; 3] = Default::default();
    for _ in 0..TURNS {
        for (kind, figures) in figures.iter_mut().enumerate() {
            let turn = tokio::select! {
                turn = visitor.poll() => turn,
                () = steadily(async || working.enqueue(1).await), if kind == 1 => unreachable!("it never ends"),
                () = steadily(async || { jobs.enqueue(&full, new_jobs(1, None)).await.unwrap(); }), if kind == 2 => {
                    unreachable!("it never ends")
                }
            };
            for (figures, figure) in figures.iter_mut().zip(turn) {
                figures.push(figure);
            }
        }
    }
    let mut alone = None;
    for (beside, [p50, p99]) in
        ["nothing", "500 jobs per second, called over HTTP", "500 jobs per second that a full job queue rejects"]
            .into_iter()
            .zip(figures)
    {
        let p99 = median(p99);
        let ratio = p99 / *alone.get_or_insert(p99);
        println!("| {beside} | {:.2} ms | {p99:.2} ms | {ratio:.2} |", median(p50));
    }
}
