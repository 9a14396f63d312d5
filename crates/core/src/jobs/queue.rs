//! The state of one job queue, and the operations on it.

mod ending;
mod operating;
mod results;
mod views;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::content::{DeduplicationKey, JobParams, Payload};
use super::id::{JobGroupId, JobId};
use super::new_job::{Enqueued, FormerJob, NewJob};
use super::results::{JobResponse, Progress};
use super::settings::JobQueueSettings;
use super::stats::JobCounters;
use super::types::{Attempt, Extension, FailureReason, Lease, LeasedJob, Received, Resolution};
use super::{ENQUEUES_WINDOW, JOB_BATCH, RECEIVE_BYTES};
use crate::SessionId;
use crate::line::{ADMISSION_COST, Bucket, Rate};
use crate::time::Micros;

/// An instant, and the number that orders what has the same instant.
type Turn = (Micros, u64);

/// Where a job is, with the instant that matters there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It waits and is due from then on. In a FIFO job queue it also waits for the jobs of its group before it.
    Waiting { due: Micros },
    /// It is leased until then, and was received at `since`.
    Leased { since: Micros, until: Micros },
    /// It was acknowledged then.
    Completed { at: Micros },
    /// It became a dead letter then; if the outcome is unknown, the origin may have processed the held order.
    Dead { at: Micros, reason: FailureReason, is_unknown: bool },
}

#[derive(Debug, Clone)]
struct Job {
    id: JobId,
    group: Option<JobGroupId>,
    key: Option<DeduplicationKey>,
    enqueued_at: Micros,
    receive_count: u64,
    failed_attempts: u64,
    phase: Phase,
    /// When a lease of it ended without finishing it for the first time, so that it blocks its group.
    put_back_at: Option<Micros>,
    /// Whether its current consumer has recorded that it sends the held order.
    is_sent: bool,
    /// Whether an attempt that was repeated may have placed the held order.
    may_be_placed: bool,
    /// What became of a held order whose outcome is unknown.
    resolution: Option<Resolution>,
    attempts: VecDeque<Attempt>,
    progress: VecDeque<Progress>,
    user_id: Option<String>,
    session: Option<SessionId>,
    /// `None` once the job is completed, as is the payload.
    params: Option<JobParams>,
    payload: Option<Payload>,
    /// Size of payload and parameters.
    size: u64,
    /// The start of the last response that reported a failure.
    response: Vec<u8>,
    /// The response that completed it.
    result: Option<JobResponse>,
    /// When the result was delivered for the first time.
    delivered_at: Option<Micros>,
}

/// The jobs of one job queue, by their sequence numbers (J4). What the sets contain follows from the jobs, so that they never
/// disagree; a test derives them again after every step.
#[derive(Debug, Clone, Default)]
pub struct JobQueue {
    jobs: HashMap<u64, Job>,
    sequences: HashMap<JobId, u64>,
    /// The unfinished jobs of each group, in order (J5).
    groups: BTreeMap<JobGroupId, BTreeSet<u64>>,
    /// The waiting jobs that can start when they are due: in a FIFO job queue, the first job of each group.
    ready: BTreeSet<Turn>,
    /// Leased jobs, by the expiry of their lease.
    leased: BTreeSet<Turn>,
    /// Jobs that are not finished, by their acceptance (J16).
    unfinished: BTreeSet<Turn>,
    /// Completed jobs, by their end.
    completed: BTreeSet<Turn>,
    /// Completed jobs whose result was delivered and is not reduced yet, by that time.
    delivered: BTreeSet<Turn>,
    /// Dead letters, by their end (J14).
    dead: BTreeSet<Turn>,
    /// The first job with this key, and until when another one is a duplicate (J7).
    duplicates: HashMap<DeduplicationKey, (JobId, Micros)>,
    /// The keys of `duplicates` by that time.
    remembered: BTreeSet<(Micros, DeduplicationKey)>,
    /// The window of each session that enqueued jobs itself: when it began, and the jobs accepted since.
    enqueues: HashMap<SessionId, (Micros, u64)>,
    /// The sessions of `enqueues` by the start of their window.
    windows: BTreeSet<(Micros, SessionId)>,
    last_sequence: u64,
    /// Size of all payloads with their parameters.
    bytes: u64,
    /// Size of all progress messages, results and responses that report failures.
    kept_bytes: u64,
    /// Size of those that report failures.
    failed_bytes: u64,
    bucket: Bucket,
    paused_until: Option<Micros>,
    /// Until when no jobs are accepted, because the job queue was removed.
    removed_until: Option<Micros>,
    counters: JobCounters,
}

impl JobQueue {
    /// Enqueues jobs, at most [`JOB_BATCH`]; those beyond are refused as if the job queue were full.
    pub fn enqueue(&mut self, now: Micros, settings: &JobQueueSettings, jobs: Vec<NewJob>) -> Vec<Enqueued> {
        self.reap(now, settings);
        let mut left = JOB_BATCH;
        jobs.into_iter()
            .map(|job| {
                let Some(rest) = left.checked_sub(1) else { return Enqueued::Full };
                left = rest;
                self.enqueue_one(now, settings, job)
            })
            .collect()
    }

    fn enqueue_one(&mut self, now: Micros, settings: &JobQueueSettings, job: NewJob) -> Enqueued {
        if self.removed_until.is_some_and(|until| now < until) {
            return Enqueued::Removed;
        }
        let key = job.deduplication_key();
        let first = key.as_ref().and_then(|key| self.first_with(now, key));
        let first = first.or_else(|| self.known(job.id));
        if let Some(first) = first.or_else(|| self.first_before_signing_in(now, job.former.as_ref()?)) {
            self.counters.duplicate += 1;
            return Enqueued::Duplicate(first);
        }
        let visitor = job.session.filter(|_| job.by_visitor);
        if visitor.is_some_and(|session| self.enqueued_by(now, session) >= settings.enqueues_per_minute) {
            return Enqueued::TooMany;
        }
        let stored = self.unfinished.len() + self.dead.len();
        let size = job.size();
        let (max_jobs, max_bytes) = settings.room(job.by_visitor);
        if stored as u64 >= max_jobs || self.bytes + size > max_bytes {
            return Enqueued::Full;
        }
        if let Some(key) = key.clone().filter(|_| settings.deduplication_interval > 0) {
            self.remember(key, job.id, now.add_seconds(settings.duplicate_seconds()));
        }
        if let Some(session) = visitor {
            self.count_enqueue(now, session);
        }
        self.counters.enqueued += 1;
        self.bytes += size;
        let NewJob { id, group, delay_seconds, user_id, session, params, payload, .. } = job;
        self.append(Job {
            id,
            group,
            key,
            enqueued_at: now,
            receive_count: 0,
            failed_attempts: 0,
            phase: Phase::Waiting { due: now.add_seconds(delay_seconds) },
            put_back_at: None,
            is_sent: false,
            may_be_placed: false,
            resolution: None,
            attempts: VecDeque::new(),
            progress: VecDeque::new(),
            user_id,
            session,
            params,
            payload: Some(payload),
            size,
            response: Vec::new(),
            result: None,
            delivered_at: None,
        });
        Enqueued::Accepted
    }

    /// J7: the first job with this key, if another one is a duplicate now.
    fn first_with(&self, now: Micros, key: &DeduplicationKey) -> Option<JobId> {
        self.duplicates.get(key).filter(|(_, until)| now < *until).map(|(first, _)| *first)
    }

    /// J7: the job that a visitor enqueued before signing in, if an equal one is a duplicate now.
    fn first_before_signing_in(&self, now: Micros, former: &FormerJob) -> Option<JobId> {
        match former {
            FormerJob::Key(key) => self.first_with(now, key),
            FormerJob::Id(id) => self.known(*id),
        }
    }

    /// J2: the job with this ID, if it is known.
    fn known(&self, id: JobId) -> Option<JobId> {
        self.sequences.contains_key(&id).then_some(id)
    }

    /// J7: until this time, another job with this key is a duplicate.
    fn remember(&mut self, key: DeduplicationKey, job: JobId, until: Micros) {
        if let Some((_, before)) = self.duplicates.insert(key.clone(), (job, until)) {
            self.remembered.remove(&(before, key.clone()));
        }
        self.remembered.insert((until, key));
    }

    /// How many jobs this session has enqueued within its window.
    fn enqueued_by(&self, now: Micros, session: SessionId) -> u64 {
        let window = self.enqueues.get(&session).filter(|(since, _)| now < since.add_seconds(ENQUEUES_WINDOW));
        window.map_or(0, |(_, count)| *count)
    }

    fn count_enqueue(&mut self, now: Micros, session: SessionId) {
        let count = self.enqueued_by(now, session);
        let before = self.enqueues.get(&session).map(|(since, _)| *since);
        let since = before.filter(|_| count > 0).unwrap_or(now);
        if let Some(before) = before {
            self.windows.remove(&(before, session));
        }
        self.windows.insert((since, session));
        self.enqueues.insert(session, (since, count + 1));
    }

    /// Appends a waiting job, with a new sequence number.
    fn append(&mut self, job: Job) {
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        self.sequences.insert(job.id, sequence);
        self.unfinished.insert((job.enqueued_at, sequence));
        let is_first = job.group.as_ref().is_none_or(|group| {
            let members = self.groups.entry(group.clone()).or_default();
            members.insert(sequence);
            members.len() == 1
        });
        if let (true, Phase::Waiting { due }) = (is_first, job.phase) {
            self.ready.insert((due, sequence));
        }
        self.jobs.insert(sequence, job);
    }

    /// Leases up to `max` jobs that are due, at most [`JOB_BATCH`], and at most [`RECEIVE_BYTES`] unless it is one job (J8).
    pub fn receive(&mut self, now: Micros, settings: &JobQueueSettings, max: usize) -> Received {
        self.reap(now, settings);
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let most = self.startable(now, settings, max.min(JOB_BATCH));
        let due: Vec<Turn> = self.ready.range(..=(now, u64::MAX)).take(most).copied().collect();
        let (mut jobs, mut bytes, mut has_more) = (Vec::new(), 0, false);
        for turn in due {
            // J16: `reap` removes those that are too old.
            let Some(job) = self.jobs.get(&turn.1).filter(|job| !job.is_expired(now, settings)) else { continue };
            bytes += job.size;
            has_more = bytes > RECEIVE_BYTES && !jobs.is_empty();
            if has_more {
                break;
            }
            jobs.extend(self.lease(now, settings, turn));
        }
        Received { jobs, next_due: self.next_due(now, settings), has_more }
    }

    /// How many jobs can start now, if `max` are due.
    fn startable(&mut self, now: Micros, settings: &JobQueueSettings, max: usize) -> usize {
        if settings.paused || self.paused_until.is_some() {
            return 0;
        }
        let most = max.min((settings.concurrency as usize).saturating_sub(self.leased.len()));
        match settings.dispatches_per_minute {
            Some(rate) if most > 0 && self.ready.first().is_some_and(|(due, _)| *due <= now) => {
                most.min(self.bucket.refill(now, Rate::evenly(rate)) as usize)
            }
            _ => most,
        }
    }

    fn lease(&mut self, now: Micros, settings: &JobQueueSettings, turn: Turn) -> Option<LeasedJob> {
        let sequence = turn.1;
        let job = self.jobs.get_mut(&sequence)?;
        let until = now.add_seconds(settings.lease_seconds());
        job.phase = Phase::Leased { since: now, until };
        job.receive_count += 1;
        let leased = LeasedJob {
            lease: Lease { job: job.id, receive_count: job.receive_count },
            group: job.group.clone(),
            sequence,
            enqueued_at: job.enqueued_at,
            user_id: job.user_id.clone(),
            session: job.session,
            params: job.params.clone(),
            payload: job.payload.clone()?,
        };
        self.ready.remove(&turn);
        self.leased.insert((until, sequence));
        if settings.dispatches_per_minute.is_some() {
            self.bucket.spend(1);
        }
        Some(leased)
    }

    /// The earliest instant at which a job can start if nothing else happens.
    fn next_due(&self, now: Micros, settings: &JobQueueSettings) -> Option<Micros> {
        let first_lease = self.leased.first().map(|(until, _)| *until);
        if settings.paused {
            return None;
        }
        let is_full = self.leased.len() as u64 >= settings.concurrency;
        let first_ready = self.ready.first().map(|(due, _)| *due).filter(|_| !is_full);
        let first_ready = first_ready.map(|due| {
            let earned = settings.dispatches_per_minute.map_or(now, |rate| {
                Micros(self.bucket.at.min(now).0 + ADMISSION_COST.saturating_sub(self.bucket.credit).div_ceil(rate))
            });
            due.max(earned).max(self.paused_until.unwrap_or_default())
        });
        first_ready.into_iter().chain(first_lease).min()
    }

    /// Extends leases, and says which of them are current (J9). Records that held orders are sent (H7).
    pub fn extend(&mut self, now: Micros, settings: &JobQueueSettings, leases: &[Extension]) -> Vec<bool> {
        self.reap(now, settings);
        leases.iter().map(|extension| self.extend_one(now, *extension)).collect()
    }

    fn extend_one(&mut self, now: Micros, extension: Extension) -> bool {
        let Some((sequence, since, until)) = self.current(extension.lease) else { return false };
        let later = until.max(now.add_seconds(extension.seconds));
        self.leased.remove(&(until, sequence));
        self.leased.insert((later, sequence));
        if let Some(job) = self.jobs.get_mut(&sequence) {
            job.phase = Phase::Leased { since, until: later };
            job.is_sent |= extension.is_sent;
        }
        true
    }

    /// The sequence number, start and expiry of a current lease. Others are counted.
    fn current(&mut self, lease: Lease) -> Option<(u64, Micros, Micros)> {
        let sequence = self.sequences.get(&lease.job).copied();
        let found = sequence.and_then(|sequence| {
            let job = self.jobs.get(&sequence).filter(|job| job.receive_count == lease.receive_count)?;
            match job.phase {
                Phase::Leased { since, until } => Some((sequence, since, until)),
                _ => None,
            }
        });
        self.counters.refused += u64::from(found.is_none());
        found
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
