//! The rules of a job queue, one by one, and seeded random operations with invariants after every step.

use std::collections::HashSet;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::super::types::{Detail, Failure, JobState, JobStats, JobView, Outcome, Settled, Settlement};
use super::super::{ATTEMPTS_KEPT, RETRY_AFTER_MAX};
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

    fn fail(&mut self, lease: Lease) -> Settled {
        self.settle(lease, Outcome::Failed(failure()))
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

#[test]
fn same_job_id_is_queued_once() {
    let mut bench = Bench::new(standard(&json!({})));
    assert_eq!(bench.enqueue(job(1, None)), Enqueued::Accepted);
    assert_eq!(bench.enqueue(job(1, None)), Enqueued::Duplicate(job(1, None).id));
    let lease = bench.start().1[0];
    bench.acknowledge(lease);
    assert_eq!(bench.enqueue(job(1, None)), Enqueued::Duplicate(job(1, None).id), "its result is stored");
    bench.now = bench.now.add_seconds(3_600);
    assert_eq!(bench.enqueue(job(1, None)), Enqueued::Accepted, "its result has expired");
}

#[test]
fn next_job_of_a_group_waits_for_acknowledgement() {
    let mut bench = Bench::new(fifo(&json!({})));
    for number in 1..=3 {
        bench.enqueue(job(number, Some("a")));
    }
    bench.enqueue(job(4, Some("b")));
    let (started, leases) = bench.start();
    assert_eq!(started, ["job 1", "job 4"], "groups run in parallel");
    assert!(bench.start().0.is_empty());
    assert_eq!(bench.acknowledge(leases[0]), Settled::Now(JobState::Completed));
    assert_eq!(bench.start().0, ["job 2"]);
}

#[test]
fn failing_group_blocks_itself_only() {
    let mut bench = Bench::new(fifo(&json!({ "max_attempts": 2 })));
    bench.enqueue(job(1, Some("a")));
    bench.enqueue(job(2, Some("a")));
    let lease = bench.start().1[0];
    assert_eq!(bench.fail(lease), Settled::Now(JobState::Retrying));
    bench.enqueue(job(3, Some("b")));
    assert_eq!(bench.start().0, ["job 3"]);
    bench.now = bench.now.add_seconds(7);
    let (started, leases) = bench.start();
    assert_eq!(started, ["job 1"], "the failed job comes again before the next one");
    assert_eq!(bench.fail(leases[0]), Settled::Now(JobState::Failed));
    assert_eq!(bench.start().0, ["job 2"], "a dead letter frees its group");
}

#[test]
fn duplicate_is_not_queued_within_the_interval() {
    let mut bench = Bench::new(fifo(&json!({ "deduplication_interval": 60 })));
    let same = |number: u64, group: &str| NewJob { payload: job(1, None).payload, ..job(number, Some(group)) };
    let first = Enqueued::Duplicate(job(1, None).id);
    assert_eq!(bench.enqueue(same(1, "a")), Enqueued::Accepted);
    assert_eq!(bench.enqueue(same(2, "a")), first);
    assert_eq!(bench.enqueue(same(3, "b")), Enqueued::Accepted, "another group");
    let lease = bench.start().1[0];
    bench.acknowledge(lease);
    bench.now = Micros(START.add_seconds(60).0 - 1);
    assert_eq!(bench.enqueue(same(4, "a")), first, "completion does not end the interval");
    bench.now = START.add_seconds(60);
    assert_eq!(bench.enqueue(same(5, "a")), Enqueued::Accepted);
    assert_eq!(bench.enqueue(same(6, "a")), Enqueued::Duplicate(job(5, None).id));
}

#[test]
fn deduplication_id_replaces_the_hash() {
    let mut bench = Bench::new(fifo(&json!({})));
    let with = |number: u64, id: &str| NewJob { deduplication_id: Some(id.parse().unwrap()), ..job(number, Some("a")) };
    assert_eq!(bench.enqueue(with(1, "order-1")), Enqueued::Accepted);
    assert_eq!(bench.enqueue(with(2, "order-1")), Enqueued::Duplicate(job(1, None).id), "other content");
    assert_eq!(bench.enqueue(with(3, "order-2")), Enqueued::Accepted);
    assert_eq!(bench.stats().counters, JobCounters { enqueued: 2, duplicate: 1, ..JobCounters::default() });
}

#[test]
fn standard_jobs_start_up_to_the_concurrency() {
    let mut bench = Bench::new(standard(&json!({ "concurrency": 3 })));
    for number in 1..=5 {
        bench.enqueue(job(number, None));
    }
    let (started, leases) = bench.start();
    assert_eq!(started, ["job 1", "job 2", "job 3"]);
    assert!(bench.start().0.is_empty());
    bench.acknowledge(leases[1]);
    assert_eq!(bench.start().0, ["job 4"]);
}

#[test]
fn dispatches_per_minute_limit_starts() {
    let mut bench = Bench::new(standard(&json!({ "dispatches_per_minute": 120, "concurrency": 100 })));
    for number in 0..50 {
        bench.enqueue(job(number, None));
    }
    let mut started = 0;
    for _ in 0..100 {
        started += bench.start().0.len();
        bench.now = Micros(bench.now.0 + 100_000);
    }
    assert_eq!(started, 21, "two at once, and two more per second for 9.9 seconds");
    let next = bench.queue.receive(bench.now, &bench.settings, 0).next_due.unwrap();
    assert_eq!(next.0 - bench.now.0, 0, "the next one has been earned");
    bench.start();
    let next = bench.queue.receive(bench.now, &bench.settings, 0).next_due.unwrap();
    assert_eq!(next.since(bench.now), 500_000);
}

#[test]
fn delayed_job_is_due_later() {
    let mut bench = Bench::new(standard(&json!({})));
    bench.enqueue(NewJob { delay_seconds: 10, ..job(1, None) });
    bench.enqueue(job(2, None));
    assert_eq!(bench.start().0, ["job 2"]);
    bench.now = START.add_seconds(10);
    assert_eq!(bench.start().0, ["job 1"]);
}

#[test]
fn expired_lease_is_a_failed_attempt() {
    let mut bench = Bench::new(standard(&json!({})));
    bench.enqueue(job(1, None));
    let old = bench.start().1[0];
    bench.now = START.add_seconds(20);
    assert_eq!(bench.extend(&[old]), [true]);
    bench.now = Micros(START.add_seconds(50).0 - 1);
    assert_eq!(bench.view(1).unwrap().state, JobState::Running, "extended by 30 seconds from then on");
    bench.now = START.add_seconds(50);
    let view = bench.view(1).unwrap();
    assert_eq!((view.state, view.failed_attempts), (JobState::Retrying, 1));
    assert_eq!(view.attempts[0].reason, Some(FailureReason::LeaseExpired));
    assert_eq!(bench.acknowledge(old), Settled::NotLeased);
    bench.now = bench.now.add_seconds(10);
    let new = bench.start().1[0];
    assert_eq!((old.receive_count, new.receive_count), (1, 2));
    assert_eq!(bench.extend(&[old, new]), [false, true]);
    assert_eq!(bench.acknowledge(old), Settled::NotLeased, "an old lease settles nothing");
    assert_eq!(bench.acknowledge(new), Settled::Now(JobState::Completed));
    assert_eq!(bench.stats().counters.refused, 3);
}

#[test]
fn backoff_doubles_up_to_its_maximum() {
    let settings = standard(&json!({ "min_backoff": 5, "max_backoff": 60 }));
    let seconds = |attempt| [0, 255].map(|spread| settings.backoff(attempt, spread) / 1_000);
    assert_eq!(seconds(1), [4_000, 6_000]);
    assert_eq!(seconds(2), [8_000, 12_000]);
    assert_eq!(seconds(4), [32_000, 48_000]);
    for attempt in [5, 6, 64, 65, 100, u64::MAX] {
        assert_eq!(seconds(attempt), [48_000, 72_000], "{attempt}");
    }
}

#[test]
fn permanent_failure_is_a_dead_letter_at_once() {
    let mut bench = Bench::new(standard(&json!({})));
    bench.enqueue(job(1, None));
    let lease = bench.start().1[0];
    let reported = Failure { response: vec![b'x'; 5_000], ..failure() };
    assert_eq!(bench.settle(lease, Outcome::FailedForGood(reported)), Settled::Now(JobState::Failed));
    let view = bench.view(1).unwrap();
    assert_eq!((view.reason, view.response.len()), (Some(FailureReason::Status), 4_096));
    assert_eq!(view.payload, Some(job(1, None).payload), "a dead letter keeps its payload");
    assert_eq!((bench.stats().dead, bench.stats().waiting), (1, 0));
    bench.now = START.add_seconds(14 * 86_400);
    assert_eq!((bench.view(1), bench.stats().bytes), (None, 0));
}

#[test]
fn later_and_requeue_are_no_attempts() {
    let mut bench = Bench::new(standard(&json!({ "max_attempts": 1 })));
    bench.enqueue(job(1, None));
    bench.enqueue(job(2, None));
    let lease = bench.receive(1)[0].lease;
    assert_eq!(bench.settle(lease, Outcome::Requeued), Settled::Now(JobState::Queued));
    let lease = bench.receive(1)[0].lease;
    let later = |pauses| Outcome::Later { seconds: 9_999, pauses };
    assert_eq!(bench.settle(lease, later(false)), Settled::Now(JobState::Queued));
    let lease = bench.receive(1)[0].lease;
    assert_eq!(lease.job, job(2, None).id, "only one job waits");
    bench.settle(lease, later(true));
    bench.enqueue(job(3, None));
    assert!(bench.start().0.is_empty(), "the whole job queue is paused");
    bench.now = START.add_seconds(RETRY_AFTER_MAX);
    assert_eq!(bench.start().0, ["job 3", "job 1", "job 2"]);
    assert_eq!(bench.view(1).unwrap().failed_attempts, 0);
    assert_eq!(bench.view(1).unwrap().receive_count, 3);
}

#[test]
fn paused_job_queue_accepts_and_starts_nothing() {
    let mut bench = Bench::new(standard(&json!({ "paused": true })));
    assert_eq!(bench.enqueue(job(1, None)), Enqueued::Accepted);
    assert_eq!(bench.queue.receive(bench.now, &bench.settings, 9), Received::default());
    bench.settings.paused = false;
    assert_eq!(bench.start().0, ["job 1"]);
}

#[test]
fn full_job_queue_refuses() {
    let mut bench = Bench::new(fifo(&json!({ "max_jobs": 2 })));
    bench.enqueue(job(1, Some("a")));
    bench.enqueue(job(2, Some("a")));
    assert_eq!(bench.enqueue(job(3, Some("a"))), Enqueued::Full);
    let lease = bench.start().1[0];
    bench.acknowledge(lease);
    assert_eq!(bench.enqueue(job(3, Some("a"))), Enqueued::Accepted, "a refused job leaves no key behind");
    let mut bench = Bench::new(standard(&json!({ "max_bytes": 30 })));
    assert_eq!(bench.enqueue(job(1, None)), Enqueued::Accepted);
    assert_eq!(bench.enqueue(job(2, None)), Enqueued::Accepted);
    assert_eq!(bench.enqueue(job(3, None)), Enqueued::Full);
    let too_many = (0..=JOB_BATCH as u64).map(|number| job(number, None)).collect();
    let mut bench = Bench::new(standard(&json!({})));
    let answers = bench.queue.enqueue(bench.now, &bench.settings, too_many);
    assert_eq!(answers.iter().filter(|answer| **answer == Enqueued::Full).count(), 1);
}

#[test]
fn unfinished_job_expires() {
    let mut bench = Bench::new(fifo(&json!({ "retention": 60 })));
    bench.enqueue(job(1, Some("a")));
    bench.enqueue(job(2, Some("a")));
    bench.now = START.add_seconds(59);
    let lease = bench.start().1[0];
    bench.enqueue(job(3, Some("a")));
    bench.now = START.add_seconds(61);
    assert_eq!(bench.view(1).unwrap().state, JobState::Running, "it may still complete");
    assert_eq!(bench.view(2).unwrap().reason, Some(FailureReason::Expired));
    assert_eq!(bench.fail(lease), Settled::Now(JobState::Failed));
    assert_eq!(bench.view(1).unwrap().reason, Some(FailureReason::Expired));
    assert_eq!(bench.start().0, ["job 3"]);
}

#[test]
fn groups_take_turns() {
    let mut bench = Bench::new(fifo(&json!({ "concurrency": 1 })));
    for number in 0..6 {
        bench.enqueue(job(number, Some(if number < 4 { "a" } else { "b" })));
        bench.now = bench.now.add_seconds(1);
    }
    let mut order = Vec::new();
    while let (started, leases) = bench.start()
        && !leases.is_empty()
    {
        order.extend(started);
        bench.now = bench.now.add_seconds(1);
        bench.acknowledge(leases[0]);
    }
    assert_eq!(order, ["job 0", "job 4", "job 1", "job 5", "job 2", "job 3"]);
}

#[test]
fn clock_stepping_back_stops_nothing() {
    let mut bench = Bench::new(standard(&json!({ "dispatches_per_minute": 60 })));
    bench.enqueue(job(1, None));
    bench.enqueue(job(2, None));
    let lease = bench.start().1[0];
    bench.now = START.ahead(3_600_000_000);
    bench.acknowledge(lease);
    bench.enqueue(job(3, None));
    assert!(bench.start().0.is_empty(), "the rate is earned again from now on");
    bench.now = bench.now.add_seconds(1);
    assert_eq!(bench.start().0, ["job 3"], "job 2 is due when the clock is back");
    bench.now = START;
    assert_eq!(bench.start().0, ["job 2"]);
}

/// Checks J4 to J9 and that every set follows from the jobs.
fn check(queue: &JobQueue, settings: &JobQueueSettings) {
    let mut expected = JobQueue::default();
    for (sequence, job) in &queue.jobs {
        assert_eq!(queue.sequences[&job.id], *sequence);
        assert!(*sequence <= queue.last_sequence);
        assert!(job.failed_attempts <= job.receive_count && job.attempts.len() <= ATTEMPTS_KEPT);
        expected.kept_bytes += job.kept_bytes();
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
    assert_eq!(queue.kept_bytes, expected.kept_bytes);
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
                    answer @ (Enqueued::NotSent | Enqueued::Unconfirmed) => panic!("{answer:?}: {context}"),
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
