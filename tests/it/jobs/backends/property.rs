//! Random operations: Redis answers as memory does, after every step.
//!
//! `VESTIBULE_PROPERTY_RUNS` and `VESTIBULE_PROPERTY_OPS` make it longer, `VESTIBULE_PROPERTY_SEED` repeats one run.

use std::collections::{BTreeMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Map, json};
use vestibule_core::jobs::{
    Canceled, DeadLetterPosition, Detail, Enqueued, Extension, Failure, FailureReason, FormerJob, JobBackend, JobId,
    JobParams, JobQueueSettings, JobResponse, JobState, JobStats, Lease, LeasedJob, NewJob, Outcome, PROGRESS_KEPT,
    Payload, ProgressAdded, Resolution, Settled, Settlement,
};
use vestibule_core::{Clock as _, ManualClock, Micros, SessionId};
use vestibule_store_memory::MemoryJobs;

use super::fixture::{JobsFixture, job, random_id, settings_of};

/// Number of runs.
const RUNS: u64 = 256;
/// Number of operations per run.
const OPERATIONS: usize = 200;
/// Number of concurrent runs, which hides the latency of Redis.
const SIDE_BY_SIDE: usize = 32;
/// Groups of a FIFO job queue: few, so that jobs meet each other.
const GROUPS: [&str; 4] = ["a", "a!", "b", "user-17"];

pub(super) fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} takes a whole number: {text:?}")))
}

struct Run {
    memory: MemoryJobs,
    redis: Arc<dyn JobBackend>,
    clock: Arc<ManualClock>,
    rng: SmallRng,
    settings: JobQueueSettings,
    is_fifo: bool,
    /// Whether the jobs are held orders. It stays, as the target of a job queue with jobs does.
    holds_orders: bool,
    /// It stays: which keys are still known after a change depends on when they are removed.
    deduplication_interval: u64,
    /// The number of the next job.
    next: u64,
    leases: Vec<Lease>,
    given: HashSet<Lease>,
    last_sequence: u64,
    stats: JobStats,
    /// The last dead letter of a page.
    last_dead: Option<DeadLetterPosition>,
    happened: BTreeMap<&'static str, u64>,
}

/// Applies an operation to both backends; the answers must be equal.
macro_rules! both {
    ($run:expr, $($operation:tt)*) => {{
        let memory = $run.memory.$($operation)*.await.unwrap();
        let redis = $run.redis.$($operation)*.await.unwrap();
        assert_eq!(memory, redis, "memory on the left, Redis on the right");
        memory
    }};
}

impl Run {
    async fn new(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let JobsFixture { backend: redis, clock, .. } = JobsFixture::redis().await;
        let is_fifo = rng.random_bool(0.6);
        let id = if is_fifo { format!("{}.fifo", random_id()) } else { random_id() };
        // Redis forgets keys by its own clock, so shorter ones would end early where the machine is slow.
        let deduplication_interval = *[0, 60, 300].choose(&mut rng).unwrap();
        let mut run = Self {
            memory: MemoryJobs::new(clock.clone()),
            redis,
            clock,
            settings: settings_of(&id, &json!({})),
            holds_orders: is_fifo && rng.random_bool(0.7),
            rng,
            is_fifo,
            deduplication_interval,
            next: 0,
            leases: Vec::new(),
            given: HashSet::new(),
            last_sequence: 0,
            stats: JobStats::default(),
            last_dead: None,
            happened: BTreeMap::new(),
        };
        run.change_settings();
        run
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        *from.choose(&mut self.rng).unwrap()
    }

    fn note(&mut self, what: &'static str) {
        *self.happened.entry(what).or_default() += 1;
    }

    fn change_settings(&mut self) {
        let min_backoff = self.pick(&[1, 5, 20]);
        let mut changes = json!({
            "concurrency": self.pick(&[1, 2, 5, 100]), "max_attempts": self.pick(&[1, 2, 3, 30]),
            "min_backoff": min_backoff, "max_backoff": self.pick(&[20, 40, 3600]),
            "retention": self.pick(&[60, 90, 86_400]), "dead_letter_retention": 86_400,
            "deduplication_interval": self.deduplication_interval, "result_ttl": self.pick(&[60, 120]),
            "max_jobs": self.pick(&[15, 1000, 1000]), "max_bytes": self.pick(&[180, 10_000, 10_000]),
            "retry": if self.holds_orders && self.rng.random_bool(0.2) { "always" } else { "safe" },
            "enqueues_per_minute": self.pick(&[1, 3, 100]), "paused": self.rng.random_bool(0.1),
        });
        if self.holds_orders {
            changes["target"] = json!({ "kind": "origin" });
        }
        if self.rng.random_bool(0.3) {
            changes["dispatches_per_minute"] = self.pick(&[1, 7, 60, 121, 600_000]).into();
        }
        self.settings = settings_of(self.settings.id.as_str(), &changes);
    }

    fn some_job(&mut self) -> NewJob {
        let number = if self.next > 0 && self.rng.random_bool(0.1) {
            self.rng.random_range(0..self.next)
        } else {
            self.next += 1;
            self.next - 1
        };
        let group = self.is_fifo.then(|| self.pick(&GROUPS));
        let size = self.pick(&[0, 1, 3, 3, 3, 10]);
        let bytes = vec![self.rng.random_range(0..8) * 30; size];
        let content_type = self.pick(&["text/plain", "application/json", ""]).to_owned();
        let deduplication_id = self.rng.random_bool(0.2).then(|| self.pick(&["x", "y"]).parse().unwrap());
        let new = NewJob {
            delay_seconds: if self.is_fifo { 0 } else { self.pick(&[0, 0, 0, 1, 10, 900]) },
            user_id: self.rng.random_bool(0.3).then(|| format!("user {number}")),
            payload: Payload { content_type, bytes },
            deduplication_id,
            session: self.rng.random_bool(0.5).then(|| SessionId::from_bytes([self.rng.random_range(0..3); 14])),
            // Redis expires windows by its own clock, which does not step back here.
            by_visitor: self.is_fifo && self.deduplication_interval > 0 && self.rng.random_bool(0.5),
            params: self.rng.random_bool(0.1).then(|| JobParams::of(&Map::new()).unwrap()),
            ..job(number, group)
        };
        NewJob { former: self.some_former(self.rng.clone(), &new), ..new }
    }

    /// What one of three jobs of visitors can be known by from before. The choice is drawn from a copy, so that the kept seeds stand
    /// for the same runs.
    fn some_former(&self, mut rng: SmallRng, new: &NewJob) -> Option<FormerJob> {
        let session = SessionId::from_bytes([rng.random_range(0..3); 14]);
        let number = rng.random_range(0..self.next);
        let former = new.group.clone().map(|group| FormerJob::Key(new.key_in(group, session)));
        Some(former.unwrap_or_else(|| FormerJob::Id(job(number, None).id))).filter(|_| rng.random_bool(0.33))
    }

    async fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..27 => self.enqueue().await,
            27..50 => self.receive().await,
            50..75 => self.settle().await,
            75..80 => self.extend().await,
            80..83 => self.add_progress().await,
            83..89 => self.operate().await,
            89 if self.next > 0 => {
                let number = self.rng.random_range(0..self.next);
                both!(self, store().mark_delivered(&self.settings, job(number, None).id));
            }
            89..98 => self.pass_time(),
            98 => self.change_settings(),
            // Redis expires keys of deduplication by its own clock, which does not step back here.
            _ if self.is_fifo && self.deduplication_interval > 0 => self.pass_time(),
            _ => {
                let most = self.pick(&[1, 1_000_000, 40_000_000]);
                self.clock.step_back(self.rng.random_range(0..=most));
            }
        }
    }

    async fn enqueue(&mut self) {
        let count = if self.rng.random_bool(0.01) { 70 } else { self.rng.random_range(1..4) };
        let jobs: Vec<_> = (0..count).map(|_| self.some_job()).collect();
        let answers = both!(self, enqueue(&self.settings, jobs.clone()));
        assert_eq!(answers.len(), count);
        for (job, answer) in jobs.into_iter().zip(answers) {
            match answer {
                Enqueued::Accepted => {
                    self.note("accepted");
                    // An ID can be used again once its result has expired.
                    self.given.retain(|lease| lease.job != job.id);
                    let views = self.memory.store().get(&self.settings, &[job.id], Detail::Status).await.unwrap();
                    let view = views[0].as_ref().unwrap();
                    assert!(view.sequence > self.last_sequence, "J4");
                    self.last_sequence = view.sequence;
                }
                Enqueued::Duplicate(first) => self.note(if first == job.id { "known" } else { "duplicate" }),
                Enqueued::Full => self.note("full"),
                Enqueued::TooMany => self.note("too many"),
                Enqueued::Removed | Enqueued::NotSent | Enqueued::Unconfirmed => panic!("{answer:?}"),
            }
        }
    }

    async fn receive(&mut self) {
        let max = self.pick(&[0, 1, 2, 3, 6, 1000]);
        let received = both!(self, receive(&self.settings, max));
        assert!(received.jobs.len() <= max);
        let groups: Vec<_> = received.jobs.iter().filter_map(|job| job.group.clone()).collect();
        assert_eq!(groups.iter().collect::<HashSet<_>>().len(), groups.len(), "J5");
        let retention = self.settings.retention;
        for LeasedJob { lease, enqueued_at, .. } in received.jobs {
            assert!(self.clock.now() < enqueued_at.add_seconds(retention), "J16: nothing starts that is too old");
            assert!(self.given.insert(lease), "J9: a lease is never given twice");
            self.leases.push(lease);
            self.note("received");
        }
    }

    fn some_lease(&mut self) -> Option<Lease> {
        // Mostly a late one, so that most are current.
        let late = self.leases.len().saturating_sub(6);
        let from = if self.rng.random_bool(0.9) { late } else { 0 };
        self.leases[from..].choose(&mut self.rng).copied()
    }

    fn some_response(&mut self) -> Option<JobResponse> {
        let status = self.pick(&[0, 0, 200, 303, 404]);
        let response = JobResponse {
            status,
            location: self.rng.random_bool(0.3).then(|| "/done".to_owned()),
            headers: vec![7; self.pick(&[0, 20])],
            body: vec![self.rng.random(); self.pick(&[0, 9, 200, 20_000])],
        };
        (status > 0).then_some(response)
    }

    fn some_outcome(&mut self) -> Outcome {
        let reason = self.pick(&[FailureReason::Status, FailureReason::Timeout, FailureReason::AddressRefused]);
        let status = self.pick(&[None, Some(500), Some(404)]);
        let response = vec![self.rng.random(); self.pick(&[0, 7, 4_096, 5_000])];
        let failure = Failure { reason, status, response };
        match self.rng.random_range(0..10) {
            0..3 => Outcome::Acknowledged(self.some_response()),
            3..6 => Outcome::Failed(failure),
            6 => Outcome::FailedForGood(failure),
            7 => Outcome::Unknown(failure),
            8 => Outcome::Later { seconds: self.pick(&[0, 1, 20, 9_999]), pauses: self.rng.random_bool(0.2) },
            _ => Outcome::Requeued,
        }
    }

    async fn settle(&mut self) {
        let mut settlements = Vec::new();
        for _ in 0..self.rng.random_range(1..4) {
            if let Some(lease) = self.some_lease() {
                settlements.push(Settlement { lease, outcome: self.some_outcome() });
                if self.rng.random_bool(0.8) {
                    self.leases.retain(|other| *other != lease);
                }
            }
        }
        for settled in both!(self, settle(&self.settings, settlements.clone())) {
            self.note(match settled {
                Settled::Now(_) => "settled",
                Settled::NotLeased => "refused",
            });
        }
    }

    async fn extend(&mut self) {
        let mut extensions = Vec::new();
        for _ in 0..2 {
            if let Some(lease) = self.some_lease() {
                let (seconds, is_sent) = (self.pick(&[1, 30, 30, 60]), self.rng.random_bool(0.5));
                extensions.push(Extension { lease, seconds, is_sent });
            }
        }
        for extended in both!(self, extend(&self.settings, &extensions)) {
            self.note(if extended { "extended" } else { "refused" });
        }
    }

    async fn add_progress(&mut self) {
        let Some(lease) = self.some_lease() else { return };
        let times = if self.rng.random_bool(0.1) { PROGRESS_KEPT + 3 } else { 1 };
        for _ in 0..times {
            let message = format!("\"{}\"", "x".repeat(self.pick(&[0, 5, 700])));
            let added = both!(self, store().add_progress(&self.settings, lease, message.parse().unwrap()));
            self.note(match added {
                ProgressAdded::Added => "progressed",
                ProgressAdded::NotLeased => "refused",
                ProgressAdded::Full => "full",
            });
        }
    }

    /// Some jobs, mostly in this state.
    async fn some_jobs(&mut self, state: JobState) -> Vec<JobId> {
        let all: Vec<_> = (0..=self.next).map(|number| job(number, None).id).collect();
        let views = self.memory.store().get(&self.settings, &all, Detail::Status).await.unwrap();
        let in_state = views.iter().flatten().filter(|view| view.state == state).map(|view| view.id);
        let in_state: Vec<_> = in_state.collect();
        let choose = |rng: &mut SmallRng| {
            let from = if rng.random_bool(0.8) && !in_state.is_empty() { &in_state } else { &all };
            *from.choose(rng).unwrap()
        };
        (0..2).map(|_| choose(&mut self.rng)).collect()
    }

    /// What operators do.
    async fn operate(&mut self) {
        let until = self.rng.random_bool(0.5).then(|| self.clock.now());
        let operation = self.rng.random_range(0..12);
        let state = match operation {
            0..2 => JobState::Queued,
            9.. => JobState::Unknown,
            _ => JobState::Failed,
        };
        let ids = self.some_jobs(state).await;
        match operation {
            0..2 => {
                let canceled = both!(self, store().cancel(&self.settings, &ids));
                self.note(if canceled.contains(&Canceled::Canceled) { "canceled" } else { "refused" });
            }
            2 => {
                let drained = both!(self, store().drain(&self.settings));
                assert!(!drained.has_more);
                self.note("drained");
            }
            3..5 => {
                let deleted = both!(self, store().delete_dead(&self.settings, &ids));
                self.note(if deleted.contains(&true) { "deleted" } else { "refused" });
            }
            5..8 => {
                let replayed = both!(self, replay(&self.settings, &ids));
                self.note(if replayed.contains(&true) { "replayed" } else { "refused" });
                self.follow_sequence(&ids).await;
            }
            8 => {
                both!(self, replay_all(&self.settings, until));
                let all: Vec<_> = (0..self.next).map(|number| job(number, None).id).collect();
                self.follow_sequence(&all).await;
            }
            _ => {
                let resolution = self.pick(&[Resolution::Placed, Resolution::NotPlaced]);
                for id in ids {
                    let resolved = both!(self, store().resolve(&self.settings, id, resolution));
                    self.note(if resolved { "resolved" } else { "refused" });
                }
            }
        }
    }

    /// Jobs that were replayed have new sequence numbers.
    async fn follow_sequence(&mut self, jobs: &[JobId]) {
        let views = self.memory.store().get(&self.settings, jobs, Detail::Status).await.unwrap();
        let last = views.iter().flatten().map(|view| view.sequence).max();
        self.last_sequence = self.last_sequence.max(last.unwrap_or(0));
    }

    fn pass_time(&mut self) {
        let most = self.pick(&[10_000, 1_000_000, 8_000_000]);
        let micros = match self.rng.random_range(0..10) {
            0..7 => self.rng.random_range(0..=most),
            // To the very end of a time.
            7 | 8 => self.pick(&[1, 5, 10, 30, 60]) * 1_000_000,
            _ => self.pick(&[20, 61, 600, 90_000]) * 1_000_000,
        };
        self.clock.advance(micros);
    }

    /// Compares the statistics and one job, or all jobs.
    async fn compare(&mut self, thoroughly: bool) {
        let stats = both!(self, store().stats(&self.settings));
        both!(self, store().reap(&self.settings));
        let counters = stats.counters;
        let ended = counters.acknowledged + counters.canceled;
        assert!(
            stats.waiting + stats.running + ended <= counters.enqueued + counters.replayed,
            "a job ends once: {stats:?}"
        );
        self.stats = stats;
        let detail = self.pick(&[Detail::Status, Detail::Result, Detail::Contents]);
        let one = self.rng.random_range(0..=self.next);
        if thoroughly || self.rng.random_bool(0.2) {
            self.compare_dead_letters().await;
        }
        if thoroughly {
            let all: Vec<_> = (0..self.next).map(|number| job(number, None).id).collect();
            let views = self.memory.store().get(&self.settings, &all, Detail::Status).await.unwrap();
            let unknown = views.iter().flatten().filter(|view| view.state == JobState::Unknown);
            let unresolved = unknown.filter(|view| view.resolution.is_none()).count() as u64;
            assert_eq!(stats.unresolved(), unresolved);
        }
        for number in if thoroughly { 0..self.next } else { one..one + 1 } {
            let views = both!(self, store().get(&self.settings, &[job(number, None).id, job(0, None).id], detail));
            for view in views.iter().flatten().filter(|view| view.due_at.is_some()) {
                assert!(view.ahead < Some(self.stats.waiting), "only other jobs that wait are ahead: {view:?}");
            }
        }
    }

    /// Compares a page of dead letters.
    async fn compare_dead_letters(&mut self) {
        let before = self.rng.random_bool(0.7).then(|| DeadLetterPosition {
            ended_at: Micros(self.clock.now().0.saturating_sub(self.pick(&[0, 1_000_000, 30_000_000]))),
            sequence: self.rng.random_range(0..=self.last_sequence + 1),
        });
        let (position, limit) = (before.or(self.last_dead), self.pick(&[0, 1, 5, 100]));
        let listed = both!(self, store().dead_letters(&self.settings, position, limit));
        self.last_dead =
            listed.last().map(|view| DeadLetterPosition { ended_at: view.ended_at.unwrap(), sequence: view.sequence });
    }

    async fn go(mut self, operations: usize) -> BTreeMap<&'static str, u64> {
        for _ in 0..operations {
            self.step().await;
            self.compare(false).await;
        }
        self.compare(true).await;
        let JobStats { counters, .. } = self.stats;
        for (name, count) in [
            ("dead", counters.dead),
            ("unknown", counters.unknown),
            ("failed", counters.failed),
            ("requeued", counters.requeued),
        ] {
            self.happened.insert(name, count);
        }
        self.happened
    }
}

#[tokio::test]
async fn redis_matches_memory() {
    let seeds = match number("VESTIBULE_PROPERTY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("VESTIBULE_PROPERTY_RUNS").unwrap_or(RUNS),
    };
    let operations = number("VESTIBULE_PROPERTY_OPS").map_or(OPERATIONS, |count| count as usize);
    let count = seeds.end - seeds.start;
    let runs = stream::iter(seeds).map(async |seed| {
        let run = async { Run::new(seed).await.go(operations).await };
        let outcome = AssertUnwindSafe(run).catch_unwind().await;
        outcome
            .unwrap_or_else(|_| panic!("again with VESTIBULE_PROPERTY_SEED={seed} VESTIBULE_PROPERTY_OPS={operations}"))
    });
    let mut runs = std::pin::pin!(runs.buffer_unordered(SIDE_BY_SIDE));
    let mut happened = BTreeMap::<_, u64>::new();
    while let Some(outcome) = runs.next().await {
        for (name, count) in outcome {
            *happened.entry(name).or_default() += count;
        }
    }
    println!("{count} runs of {operations} operations: {happened:?}");
    let rare = happened.iter().find(|(_, times)| **times < count / 4);
    assert!(count < RUNS || rare.is_none(), "hardly ever: {rare:?}");
}
