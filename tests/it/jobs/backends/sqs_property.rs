//! Random operations: SQS answers as memory does. The order in which jobs start, and when, may differ (see [`super::differences`]),
//! so there is no limit on how many start, and what starts is compared once all messages have come.
//!
//! `VESTIBULE_PROPERTY_SEED` repeats one run.

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use vestibule_core::jobs::{
    Detail, Enqueued, Extension, JOB_BATCH, JobBackend, JobId, JobQueueSettings, JobStats, JobView, Lease, LeasedJob,
    NewJob, Outcome, Payload, Settlement,
};
use vestibule_store_memory::MemoryJobs;

use super::fixture::{JobsFixture, failure, job, random_id, settings_of};
use super::property::number;

/// Number of runs: few, because the server of SQS is slow.
const RUNS: u64 = 16;
/// Number of operations per run.
const OPERATIONS: usize = 60;
/// How often messages are received until all that are visible have come.
const RECEIVES: usize = 10;
const GROUPS: [&str; 3] = ["a", "b", "user-17"];

struct Run {
    memory: MemoryJobs,
    sqs: JobsFixture,
    rng: SmallRng,
    settings: JobQueueSettings,
    /// The number of the next job.
    next: u64,
    leases: Vec<Lease>,
    happened: BTreeMap<&'static str, u64>,
}

/// Applies an operation to both backends; the answers must be equal.
macro_rules! both {
    ($run:expr, $($operation:tt)*) => {{
        let memory = $run.memory.$($operation)*.await.unwrap();
        let sqs = $run.sqs.backend.$($operation)*.await.unwrap();
        assert_eq!(memory, sqs, "memory on the left, SQS on the right");
        memory
    }};
}

/// What both know of a job.
fn comparable(view: JobView) -> JobView {
    JobView { due_at: None, ahead: None, payload: None, ..view }
}

impl Run {
    async fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let sqs = JobsFixture::sqs().await;
        let is_fifo = rng.random_bool(0.7);
        let id = if is_fifo { format!("{}.fifo", random_id()) } else { random_id() };
        let mut settings = json!({
            "concurrency": 1000, "max_attempts": ([1, 3].choose(&mut rng).unwrap()), "min_backoff": 5, "retention": 600,
            "result_ttl": 60, "max_jobs": 40,
        });
        if is_fifo && rng.random_bool(0.4) {
            settings["target"] = json!({ "kind": "origin" });
        }
        Self {
            memory: MemoryJobs::new(sqs.clock.clone()),
            sqs,
            rng,
            settings: settings_of(&id, &settings),
            next: 0,
            leases: Vec::new(),
            happened: BTreeMap::new(),
        }
    }

    fn note(&mut self, what: &'static str, times: usize) {
        *self.happened.entry(what).or_default() += times as u64;
    }

    async fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..30 => self.enqueue().await,
            30..50 => self.receive().await,
            50..75 => self.settle().await,
            75..80 => self.extend().await,
            80..90 => self.operate().await,
            90..94 => self.settings.paused = self.rng.random_bool(0.3),
            _ => {
                let seconds = *[1, 5, 30, 61, 601].choose(&mut self.rng).unwrap();
                self.sqs.clock.advance(seconds * 1_000_000);
            }
        }
    }

    async fn enqueue(&mut self) {
        let count = self.rng.random_range(1..5);
        let jobs: Vec<_> = (0..count).map(|_| self.some_job()).collect();
        let answers = both!(self, enqueue(&self.settings, jobs.clone()));
        let accepted = answers.iter().filter(|answer| **answer == Enqueued::Accepted).count();
        self.note("accepted", accepted);
        self.note("duplicate or full", count - accepted);
    }

    fn some_job(&mut self) -> NewJob {
        let number = if self.next > 0 && self.rng.random_bool(0.15) {
            self.rng.random_range(0..self.next)
        } else {
            self.next += 1;
            self.next - 1
        };
        let group = self.settings.id.is_fifo().then(|| *GROUPS.choose(&mut self.rng).unwrap());
        let bytes = vec![self.rng.random_range(0..20); 3];
        NewJob { payload: Payload { content_type: "text/plain".to_owned(), bytes }, ..job(number, group) }
    }

    async fn receive(&mut self) {
        let mut expected = self.memory.receive(&self.settings, JOB_BATCH).await.unwrap().jobs;
        let mut received: Vec<LeasedJob> = Vec::new();
        for _ in 0..RECEIVES {
            received.extend(self.sqs.backend.receive(&self.settings, JOB_BATCH).await.unwrap().jobs);
            if received.len() >= expected.len() {
                break;
            }
        }
        expected.sort_by_key(|job| job.lease);
        received.sort_by_key(|job| job.lease);
        assert_eq!(expected, received, "memory on the left, SQS on the right");
        self.note("received", received.len());
        self.leases.extend(received.iter().map(|job| job.lease));
    }

    fn some_lease(&mut self) -> Option<Lease> {
        let late = self.leases.len().saturating_sub(6);
        self.leases[late..].choose(&mut self.rng).copied()
    }

    async fn settle(&mut self) {
        let mut settlements = Vec::new();
        for _ in 0..self.rng.random_range(1..4) {
            let Some(lease) = self.some_lease() else { continue };
            let outcome = match self.rng.random_range(0..10) {
                0..4 => Outcome::Acknowledged(None),
                4..6 => Outcome::Failed(failure()),
                6 => Outcome::FailedForGood(failure()),
                7 => Outcome::Unknown(failure()),
                8 => Outcome::Later { seconds: 20, pauses: self.rng.random_bool(0.3) },
                _ => Outcome::Requeued,
            };
            settlements.push(Settlement { lease, outcome });
            self.leases.retain(|other| *other != lease);
        }
        let count = settlements.len();
        both!(self, settle(&self.settings, settlements.clone()));
        self.note("settled", count);
    }

    async fn extend(&mut self) {
        let Some(lease) = self.some_lease() else { return };
        let extension = Extension { is_sent: self.rng.random_bool(0.5), ..Extension::of(lease) };
        both!(self, extend(&self.settings, &[extension]));
    }

    /// What operators do.
    async fn operate(&mut self) {
        let all: Vec<_> = (0..=self.next).map(|number| job(number, None).id).collect();
        let ids: Vec<JobId> = (0..3).map(|_| *all.choose(&mut self.rng).unwrap()).collect();
        match self.rng.random_range(0..8) {
            0..2 => drop(both!(self, store().cancel(&self.settings, &ids))),
            2 => drop(both!(self, store().drain(&self.settings))),
            3 => drop(both!(self, store().delete_dead(&self.settings, &ids))),
            4..6 => {
                // The payload of a job that has expired comes with its message.
                self.receive().await;
                let dead = self.memory.store().dead_letters(&self.settings, None, 3).await.unwrap();
                let dead: Vec<_> = dead.iter().map(|view| view.id).collect();
                let replayed = both!(self, replay(&self.settings, &dead));
                self.note("replayed", replayed.iter().filter(|it| **it).count());
            }
            _ => {
                self.receive().await;
                let replayed = both!(self, replay_all(&self.settings, None));
                self.note("replayed", replayed.replayed as usize);
            }
        }
    }

    async fn compare(&mut self) {
        let memory = self.memory.store().stats(&self.settings).await.unwrap();
        let sqs = self.sqs.backend.store().stats(&self.settings).await.unwrap();
        // A job whose message has not arrived can't start, and waits for no other one.
        let expected = JobStats { ready: sqs.ready, blocked_group: sqs.blocked_group, ..memory };
        assert_eq!(expected, sqs, "memory on the left, SQS on the right");
        let all: Vec<_> = (0..self.next).map(|number| job(number, None).id).collect();
        for ids in all.chunks(JOB_BATCH) {
            let memory = self.memory.store().get(&self.settings, ids, Detail::Status).await.unwrap();
            let sqs = self.sqs.backend.store().get(&self.settings, ids, Detail::Status).await.unwrap();
            let [memory, sqs] = [memory, sqs].map(|views| views.into_iter().map(|it| it.map(comparable)));
            assert_eq!(memory.collect::<Vec<_>>(), sqs.collect::<Vec<_>>(), "memory on the left, SQS on the right");
        }
    }

    /// Runs what is left, so that nothing waits for a message that does not come.
    async fn finish(&mut self) {
        self.settings.paused = false;
        while self.memory.store().stats(&self.settings).await.unwrap().waiting > 0 {
            self.sqs.clock.advance(30_000_000);
            self.receive().await;
            let settlements: Vec<_> = std::mem::take(&mut self.leases)
                .into_iter()
                .map(|lease| Settlement { lease, outcome: Outcome::Acknowledged(None) })
                .collect();
            for settlements in settlements.chunks(JOB_BATCH) {
                both!(self, settle(&self.settings, settlements.to_vec()));
            }
            self.compare().await;
        }
    }
}

#[tokio::test]
async fn sqs_matches_memory() {
    let seeds = number("VESTIBULE_PROPERTY_SEED").map_or(0..RUNS, |seed| seed..seed + 1);
    let mut happened = BTreeMap::<_, u64>::new();
    for seed in seeds {
        println!("VESTIBULE_PROPERTY_SEED={seed}");
        let mut run = Run::new(seed).await;
        for _ in 0..OPERATIONS {
            run.step().await;
            run.compare().await;
        }
        run.finish().await;
        for (name, count) in run.happened {
            *happened.entry(name).or_default() += count;
        }
    }
    println!("{happened:?}");
    let rare = happened.iter().find(|(_, times)| **times < RUNS / 4);
    assert!(rare.is_none() || number("VESTIBULE_PROPERTY_SEED").is_some(), "hardly ever: {rare:?}");
}
