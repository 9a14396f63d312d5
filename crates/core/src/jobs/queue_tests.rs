//! Seeded random operations on a job queue, with invariants after every step. The backend suite in `tests/it/jobs/backends` shows the
//! rules one by one.

use std::collections::HashSet;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::super::ATTEMPTS_KEPT;
use super::super::stats::JobStats;
use super::super::types::{Detail, Failure, JobView, Outcome, Settled, Settlement};
use super::*;
use crate::fields::Object as _;

const START: Micros = Micros(1_700_000_000_000_000);

fn settings(id: &str, more: &Value) -> JobQueueSettings {
    let mut value = json!({
        "id": id, "tenant": "acme",
        "target": {
            "kind": "http", "url": "https://crm.acme.example/jobs",
            "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        },
    });
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    JobQueueSettings::from_json(&value).unwrap()
}

fn standard(more: &Value) -> JobQueueSettings {
    settings("emails", more)
}

fn fifo(more: &Value) -> JobQueueSettings {
    settings("updates.fifo", more)
}

fn job(number: u64, group: Option<&str>) -> NewJob {
    let mut id = [7; JobId::SIZE];
    id[..8].copy_from_slice(&number.to_be_bytes());
    let payload = Payload { content_type: "text/plain".to_owned(), bytes: format!("job {number}").into_bytes() };
    NewJob { group: group.map(|group| group.parse().unwrap()), ..NewJob::new(JobId::from_bytes(id), payload) }
}

/// A job queue with the clock of a test.
struct Bench {
    queue: JobQueue,
    settings: JobQueueSettings,
    now: Micros,
}

impl Bench {
    fn new(settings: JobQueueSettings) -> Self {
        Self { queue: JobQueue::default(), settings, now: START }
    }

    fn enqueue(&mut self, job: NewJob) -> Enqueued {
        self.queue.enqueue(self.now, &self.settings, vec![job])[0]
    }

    fn receive(&mut self, max: usize) -> Vec<LeasedJob> {
        self.queue.receive(self.now, &self.settings, max).jobs
    }

    /// The payloads of the jobs that can start now.
    fn start(&mut self) -> (Vec<String>, Vec<Lease>) {
        let jobs = self.receive(JOB_BATCH);
        jobs.into_iter().map(|job| (String::from_utf8(job.payload.bytes).unwrap(), job.lease)).unzip()
    }

    fn extend(&mut self, leases: &[Lease]) -> Vec<bool> {
        let extensions: Vec<_> = leases.iter().copied().map(Extension::of).collect();
        self.queue.extend(self.now, &self.settings, &extensions)
    }

    fn settle(&mut self, lease: Lease, outcome: Outcome) -> Settled {
        self.queue.settle(self.now, &self.settings, vec![Settlement { lease, outcome }])[0]
    }

    fn acknowledge(&mut self, lease: Lease) -> Settled {
        self.settle(lease, Outcome::Acknowledged(Some(response(204))))
    }

    fn view(&mut self, number: u64) -> Option<JobView> {
        self.queue.get(self.now, &self.settings, &[job(number, None).id], Detail::Contents).remove(0)
    }

    fn stats(&mut self) -> JobStats {
        self.queue.stats(self.now, &self.settings)
    }
}

fn response(status: u16) -> JobResponse {
    JobResponse { status, ..JobResponse::default() }
}

fn failure() -> Failure {
    Failure { reason: FailureReason::Status, status: Some(500), response: b"broken".to_vec() }
}

/// Checks J4 to J9 and that every set follows from the jobs.
fn check(queue: &JobQueue, settings: &JobQueueSettings) {
    let mut expected = JobQueue::default();
    for (sequence, job) in &queue.jobs {
        assert_eq!(queue.sequences[&job.id], *sequence);
        assert!(*sequence <= queue.last_sequence);
        assert!(job.failed_attempts <= job.receive_count && job.attempts.len() <= ATTEMPTS_KEPT);
        expected.kept_bytes += job.kept_bytes();
        expected.failed_bytes += job.response.len() as u64;
        expected.bytes += job.payload.as_ref().map_or(0, |it| (it.bytes.len() + it.content_type.len()) as u64);
        let (set, at) = match job.phase {
            Phase::Waiting { due } => (None, due),
            Phase::Leased { until, .. } => (Some(&mut expected.leased), until),
            Phase::Completed { at } => (Some(&mut expected.completed), at),
            Phase::Dead { at, .. } => (Some(&mut expected.dead), at),
        };
        if let Some(set) = set {
            set.insert((at, *sequence));
        }
        if matches!(job.phase, Phase::Waiting { .. } | Phase::Leased { .. }) {
            expected.unfinished.insert((job.enqueued_at, *sequence));
            if let Some(group) = &job.group {
                expected.groups.entry(group.clone()).or_default().insert(*sequence);
            }
            assert!(job.failed_attempts < settings.max_attempts, "J10");
        }
        let keeps_payload = matches!(job.phase, Phase::Waiting { .. } | Phase::Leased { .. })
            || (matches!(job.phase, Phase::Dead { .. }) && !settings.holds_orders());
        assert_eq!(job.payload.is_some(), keeps_payload, "J14, H13");
        assert!(!job.is_sent || matches!(job.phase, Phase::Leased { .. }), "H7");
    }
    for (sequence, job) in &queue.jobs {
        if let Phase::Waiting { due } = job.phase {
            let first = job.group.as_ref().map(|group| expected.groups[group].first().unwrap());
            if first.is_none_or(|first| first == sequence) {
                expected.ready.insert((due, *sequence));
            }
        }
        if let (Phase::Leased { .. }, Some(group)) = (job.phase, &job.group) {
            assert_eq!(expected.groups[group].first(), Some(sequence), "J5: a leased job is the first of its group");
        }
    }
    assert_eq!(queue.sequences.len(), queue.jobs.len());
    assert_eq!((&queue.ready, &queue.leased), (&expected.ready, &expected.leased));
    assert_eq!((&queue.unfinished, &queue.groups), (&expected.unfinished, &expected.groups));
    assert_eq!((&queue.completed, &queue.dead, queue.bytes), (&expected.completed, &expected.dead, expected.bytes));
    assert!(queue.leased.len() as u64 <= settings.concurrency, "J8");
    assert_eq!((queue.kept_bytes, queue.failed_bytes), (expected.kept_bytes, expected.failed_bytes));
    assert_eq!(queue.duplicates.len(), queue.remembered.len());
    assert_eq!(queue.enqueues.len(), queue.windows.len());
}

/// Runs of random operations, and operations per run.
const RUNS: u64 = 256;
const STEPS: usize = 200;

#[test]
fn random_operations_keep_the_rules() {
    for seed in 0..RUNS {
        run(seed);
    }
}

fn run(seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let more = json!({
        "concurrency": rng.random_range(1..6), "max_attempts": rng.random_range(1..4), "retention": 60,
        "deduplication_interval": rng.random_range(0..60), "result_ttl": 60, "max_jobs": 12,
        "max_backoff": rng.random_range(5..40),
    });
    let is_fifo = rng.random_bool(0.6);
    let mut bench = Bench::new(if is_fifo { fifo(&more) } else { standard(&more) });
    if rng.random_bool(0.3) {
        bench.settings.dispatches_per_minute = Some(rng.random_range(1..120));
    }
    let (mut leases, mut last, mut number) = (Vec::<Lease>::new(), 0, 0);
    let (mut accepted, mut receives): (u64, HashSet<Lease>) = (0, HashSet::new());
    for step in 0..STEPS {
        let context = format!("seed {seed}, step {step}");
        match rng.random_range(0..10) {
            0..=2 => {
                number += 1;
                let group = format!("g{}", rng.random_range(0..4));
                let mut new = job(number, is_fifo.then_some(group.as_str()));
                new.payload.bytes = vec![rng.random_range(0..20); 3];
                let id = new.id;
                match bench.enqueue(new) {
                    Enqueued::Accepted => {
                        accepted += 1;
                        let sequence = bench.view(number).unwrap().sequence;
                        assert!(sequence > last, "J4: {context}");
                        last = sequence;
                    }
                    Enqueued::Duplicate(first) => assert!(is_fifo && first != id, "J7: {context}"),
                    Enqueued::TooMany => panic!("no visitor: {context}"),
                    answer @ (Enqueued::Removed | Enqueued::NotSent | Enqueued::Unconfirmed) => {
                        panic!("{answer:?}: {context}")
                    }
                    Enqueued::Full => assert!(
                        bench.stats().waiting + bench.stats().running + bench.stats().dead >= 12,
                        "J15: {context}"
                    ),
                }
            }
            3..=4 => {
                let max = rng.random_range(1..5);
                let jobs = bench.receive(max);
                assert!(jobs.len() <= max, "{context}");
                for job in jobs {
                    assert!(bench.now < job.enqueued_at.add_seconds(60), "J16: {context}");
                    assert!(receives.insert(job.lease), "J9: a lease is never given twice: {context}");
                    leases.push(job.lease);
                }
            }
            5..=7 if !leases.is_empty() => {
                let lease = leases.swap_remove(rng.random_range(0..leases.len()));
                let outcome = match rng.random_range(0..8) {
                    0..=2 => Outcome::Acknowledged(Some(response(200))),
                    3..=4 => Outcome::Failed(failure()),
                    5 => Outcome::FailedForGood(failure()),
                    6 => Outcome::Later { seconds: rng.random_range(0..20), pauses: rng.random_bool(0.2) },
                    _ => Outcome::Requeued,
                };
                let settled = bench.settle(lease, outcome.clone());
                assert_eq!(bench.settle(lease, outcome), settled, "J9: {context}");
            }
            8 if !leases.is_empty() => {
                let lease = leases[rng.random_range(0..leases.len())];
                bench.extend(&[lease]);
            }
            _ => bench.now = Micros(bench.now.0 + rng.random_range(0..12_000_000)),
        }
        check(&bench.queue, &bench.settings);
    }
    drain(bench, accepted, &format!("seed {seed}"));
}

/// Nothing is lost: every accepted job ends as acknowledged or as a dead letter.
fn drain(mut bench: Bench, accepted: u64, context: &str) {
    for _ in 0..1_000 {
        for lease in bench.start().1 {
            bench.acknowledge(lease);
        }
        check(&bench.queue, &bench.settings);
        bench.now = bench.now.add_seconds(5);
    }
    let stats = bench.stats();
    assert_eq!((stats.waiting, stats.running), (0, 0), "{context}");
    assert_eq!(stats.counters.acknowledged + stats.counters.dead, accepted, "{context}");
    assert_eq!(stats.counters.enqueued, accepted, "{context}");
}
