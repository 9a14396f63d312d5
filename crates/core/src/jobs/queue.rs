//! The state of one job queue, and the operations on it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::content::{DeduplicationKey, Payload};
use super::id::{JobGroupId, JobId};
use super::settings::JobQueueSettings;
use super::types::{
    Attempt, Enqueued, Failure, FailureReason, JobCounters, JobState, JobStats, JobView, Lease, LeasedJob, NewJob,
    Outcome, Received, Settled, Settlement,
};
use super::{ATTEMPTS_KEPT, JOB_BATCH, JOB_REAP_BATCH, LEASE_SECONDS, RESPONSE_KEPT, RETRY_AFTER_MAX};
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
    /// It became a dead letter then.
    Dead { at: Micros, reason: FailureReason },
}

#[derive(Debug, Clone)]
struct Job {
    id: JobId,
    group: Option<JobGroupId>,
    enqueued_at: Micros,
    receive_count: u64,
    failed_attempts: u64,
    phase: Phase,
    attempts: VecDeque<Attempt>,
    user_id: Option<String>,
    /// `None` once the job is completed.
    payload: Option<Payload>,
    response: Vec<u8>,
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
    /// Dead letters, by their end (J14).
    dead: BTreeSet<Turn>,
    /// The first job with this key, and when it was accepted (J7).
    duplicates: HashMap<DeduplicationKey, (JobId, Micros)>,
    /// The keys of `duplicates`, the oldest first.
    remembered: VecDeque<(Micros, DeduplicationKey)>,
    last_sequence: u64,
    bytes: u64,
    bucket: Bucket,
    paused_until: Option<Micros>,
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
        let key = job.deduplication_key();
        let NewJob { id, group, delay_seconds, user_id, payload, .. } = job;
        let earlier = key.as_ref().and_then(|key| self.duplicates.get(key));
        let is_recent = |at: Micros| now < at.add_seconds(settings.deduplication_interval);
        let first = earlier.filter(|(_, at)| is_recent(*at)).map(|(first, _)| *first);
        if let Some(first) = first.or_else(|| self.sequences.contains_key(&id).then_some(id)) {
            self.counters.duplicate += 1;
            return Enqueued::Duplicate(first);
        }
        let stored = self.unfinished.len() + self.dead.len();
        let size = payload.bytes.len() as u64;
        if stored as u64 >= settings.max_jobs || self.bytes + size > settings.max_bytes {
            return Enqueued::Full;
        }
        self.last_sequence += 1;
        let sequence = self.last_sequence;
        let due = now.add_seconds(delay_seconds);
        if let Some(key) = key.filter(|_| settings.deduplication_interval > 0) {
            self.duplicates.insert(key.clone(), (id, now));
            self.remembered.push_back((now, key));
        }
        self.counters.enqueued += 1;
        self.bytes += size;
        self.sequences.insert(id, sequence);
        self.unfinished.insert((now, sequence));
        let is_first = group.as_ref().is_none_or(|group| {
            let members = self.groups.entry(group.clone()).or_default();
            members.insert(sequence);
            members.len() == 1
        });
        if is_first {
            self.ready.insert((due, sequence));
        }
        let job = Job {
            id,
            group,
            enqueued_at: now,
            receive_count: 0,
            failed_attempts: 0,
            phase: Phase::Waiting { due },
            attempts: VecDeque::new(),
            user_id,
            payload: Some(payload),
            response: Vec::new(),
        };
        self.jobs.insert(sequence, job);
        Enqueued::Accepted
    }

    /// Leases up to `max` jobs that are due, at most [`JOB_BATCH`] (J8).
    pub fn receive(&mut self, now: Micros, settings: &JobQueueSettings, max: usize) -> Received {
        self.reap(now, settings);
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let mut jobs = Vec::new();
        while jobs.len() < max.min(JOB_BATCH) && self.may_start(now, settings) {
            let Some(job) = self.lease_first(now) else { break };
            jobs.push(job);
        }
        Received { jobs, next_due: self.next_due(now, settings) }
    }

    fn may_start(&mut self, now: Micros, settings: &JobQueueSettings) -> bool {
        let is_paused = settings.paused || self.paused_until.is_some();
        let has_room = (self.leased.len() as u64) < settings.concurrency;
        let is_due = self.ready.first().is_some_and(|(due, _)| *due <= now);
        if is_paused || !has_room || !is_due {
            return false;
        }
        let Some(rate) = settings.dispatches_per_minute else { return true };
        let has_credit = self.bucket.refill(now, Rate::evenly(rate)) > 0;
        if has_credit {
            self.bucket.spend(1);
        }
        has_credit
    }

    fn lease_first(&mut self, now: Micros) -> Option<LeasedJob> {
        let turn = self.ready.first().copied().filter(|(due, _)| *due <= now)?;
        let sequence = turn.1;
        let job = self.jobs.get_mut(&sequence)?;
        let until = now.add_seconds(LEASE_SECONDS);
        job.phase = Phase::Leased { since: now, until };
        job.receive_count += 1;
        let leased = LeasedJob {
            lease: Lease { job: job.id, receive_count: job.receive_count },
            group: job.group.clone(),
            sequence,
            enqueued_at: job.enqueued_at,
            user_id: job.user_id.clone(),
            payload: job.payload.clone()?,
        };
        self.ready.remove(&turn);
        self.leased.insert((until, sequence));
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

    /// Extends leases by [`LEASE_SECONDS`] from now on, and says which of them are current (J9).
    pub fn extend(&mut self, now: Micros, settings: &JobQueueSettings, leases: &[Lease]) -> Vec<bool> {
        self.reap(now, settings);
        leases.iter().map(|lease| self.extend_one(now, *lease)).collect()
    }

    fn extend_one(&mut self, now: Micros, lease: Lease) -> bool {
        let Some((sequence, since, until)) = self.current(lease) else { return false };
        let later = until.max(now.add_seconds(LEASE_SECONDS));
        self.leased.remove(&(until, sequence));
        self.leased.insert((later, sequence));
        if let Some(job) = self.jobs.get_mut(&sequence) {
            job.phase = Phase::Leased { since, until: later };
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

    /// Ends leases (J9, J10, J12).
    pub fn settle(&mut self, now: Micros, settings: &JobQueueSettings, ended: Vec<Settlement>) -> Vec<Settled> {
        self.reap(now, settings);
        ended.into_iter().map(|settlement| self.settle_one(now, settings, settlement)).collect()
    }

    fn settle_one(&mut self, now: Micros, settings: &JobQueueSettings, settlement: Settlement) -> Settled {
        let Settlement { lease, outcome } = settlement;
        match self.current(lease) {
            Some((sequence, ..)) => {
                self.end_lease(now, settings, sequence, outcome).map_or(Settled::NotLeased, Settled::Now)
            }
            None => Settled::NotLeased,
        }
    }

    /// Ends the lease of a leased job.
    fn end_lease(
        &mut self,
        now: Micros,
        settings: &JobQueueSettings,
        sequence: u64,
        outcome: Outcome,
    ) -> Option<JobState> {
        let job = self.jobs.get_mut(&sequence)?;
        let Phase::Leased { since, until } = job.phase else { return None };
        self.leased.remove(&(until, sequence));
        let mut record = |reason: Option<FailureReason>, status: Option<u16>| {
            if job.attempts.len() == ATTEMPTS_KEPT {
                job.attempts.pop_front();
            }
            let receive_count = job.receive_count;
            job.attempts.push_back(Attempt { receive_count, started_at: since, ended_at: now, reason, status });
        };
        let (failure, is_final) = match outcome {
            Outcome::Acknowledged { status } => {
                record(None, status);
                self.counters.acknowledged += 1;
                return Some(self.finish(now, sequence, None));
            }
            Outcome::Requeued => {
                self.counters.requeued += 1;
                // It was due before it was received, so it is the next one.
                return self.wait(now, settings, sequence, since);
            }
            Outcome::Later { seconds, pauses } => {
                self.counters.requeued += 1;
                let due = now.add_seconds(seconds.min(RETRY_AFTER_MAX));
                if pauses {
                    self.paused_until = self.paused_until.max(Some(due));
                }
                return self.wait(now, settings, sequence, due);
            }
            Outcome::Failed(failure) => (failure, false),
            Outcome::FailedForGood(failure) => (failure, true),
        };
        let Failure { reason, status, mut response } = failure;
        record(Some(reason), status);
        response.truncate(RESPONSE_KEPT);
        job.response = response;
        job.failed_attempts += 1;
        self.counters.failed += 1;
        if is_final || job.failed_attempts >= settings.max_attempts {
            return Some(self.finish(now, sequence, Some(reason)));
        }
        let spread = job.id.as_bytes()[job.failed_attempts as usize % JobId::SIZE];
        let due = Micros(now.0.saturating_add(settings.backoff(job.failed_attempts, spread)));
        self.wait(now, settings, sequence, due)
    }

    /// Puts a job back whose lease has ended. It is still the first of its group (J6).
    fn wait(&mut self, now: Micros, settings: &JobQueueSettings, sequence: u64, due: Micros) -> Option<JobState> {
        let job = self.jobs.get_mut(&sequence)?;
        job.phase = Phase::Waiting { due };
        if now >= job.enqueued_at.add_seconds(settings.retention) {
            return Some(self.finish(now, sequence, Some(FailureReason::Expired)));
        }
        self.ready.insert((due, sequence));
        Some(self.state_of(sequence))
    }

    /// Ends a job that is no longer leased: completed, or a dead letter for a reason. The next one of its group can start (J5).
    fn finish(&mut self, now: Micros, sequence: u64, reason: Option<FailureReason>) -> JobState {
        let Some(job) = self.jobs.get_mut(&sequence) else { return JobState::Failed };
        if let Phase::Waiting { due } = job.phase {
            self.ready.remove(&(due, sequence));
        }
        self.unfinished.remove(&(job.enqueued_at, sequence));
        let state = match reason {
            None => {
                job.phase = Phase::Completed { at: now };
                self.bytes -= job.payload.take().map_or(0, |payload| payload.bytes.len() as u64);
                job.response = Vec::new();
                self.completed.insert((now, sequence));
                JobState::Completed
            }
            Some(reason) => {
                job.phase = Phase::Dead { at: now, reason };
                self.counters.dead += 1;
                self.dead.insert((now, sequence));
                JobState::Failed
            }
        };
        if let Some(group) = job.group.clone() {
            self.leave_group(now, &group, sequence);
        }
        state
    }

    fn leave_group(&mut self, now: Micros, group: &JobGroupId, sequence: u64) {
        let Some(members) = self.groups.get_mut(group) else { return };
        let was_first = members.first() == Some(&sequence);
        members.remove(&sequence);
        match members.first().copied() {
            None => {
                self.groups.remove(group);
            }
            Some(next) if was_first => {
                // Groups take turns: the next job is due from now on, however long it has waited for its group.
                if let Some(job) = self.jobs.get_mut(&next) {
                    job.phase = Phase::Waiting { due: now };
                    self.ready.insert((now, next));
                }
            }
            Some(_) => {}
        }
    }

    /// Removes up to [`JOB_REAP_BATCH`] of everything that has expired.
    fn reap(&mut self, now: Micros, settings: &JobQueueSettings) {
        for _ in 0..JOB_REAP_BATCH {
            let Some((_, sequence)) = self.leased.first().copied().filter(|(until, _)| *until <= now) else { break };
            let failure = Failure { reason: FailureReason::LeaseExpired, status: None, response: Vec::new() };
            self.end_lease(now, settings, sequence, Outcome::Failed(failure));
        }
        // A leased job is checked when its lease ends. There are at most `concurrency` of them to skip.
        let is_waiting =
            |sequence: &u64| self.jobs.get(sequence).is_some_and(|job| matches!(job.phase, Phase::Waiting { .. }));
        let too_old = older(&self.unfinished, now, settings.retention).filter(is_waiting).take(JOB_REAP_BATCH);
        for sequence in too_old.collect::<Vec<_>>() {
            self.finish(now, sequence, Some(FailureReason::Expired));
        }
        let completed = older(&self.completed, now, settings.result_ttl).take(JOB_REAP_BATCH);
        let dead = older(&self.dead, now, settings.dead_letter_retention).take(JOB_REAP_BATCH);
        for sequence in completed.chain(dead).collect::<Vec<_>>() {
            self.forget(sequence);
        }
        let interval = settings.deduplication_interval;
        for _ in 0..JOB_REAP_BATCH {
            let Some((at, _)) = self.remembered.front().filter(|(at, _)| now >= at.add_seconds(interval)) else {
                break;
            };
            let at = *at;
            let Some((_, key)) = self.remembered.pop_front() else { break };
            if self.duplicates.get(&key).is_some_and(|(_, accepted)| *accepted == at) {
                self.duplicates.remove(&key);
            }
        }
    }

    /// Removes a finished job.
    fn forget(&mut self, sequence: u64) {
        let Some(job) = self.jobs.remove(&sequence) else { return };
        match job.phase {
            Phase::Completed { at } => self.completed.remove(&(at, sequence)),
            Phase::Dead { at, .. } => self.dead.remove(&(at, sequence)),
            Phase::Waiting { .. } | Phase::Leased { .. } => false,
        };
        self.bytes -= job.payload.map_or(0, |payload| payload.bytes.len() as u64);
        self.sequences.remove(&job.id);
    }

    fn state_of(&self, sequence: u64) -> JobState {
        match self.jobs.get(&sequence).map(|job| (job.phase, job.failed_attempts)) {
            Some((Phase::Waiting { .. }, 0)) => JobState::Queued,
            Some((Phase::Waiting { .. }, _)) => JobState::Retrying,
            Some((Phase::Leased { .. }, _)) => JobState::Running,
            Some((Phase::Completed { .. }, _)) => JobState::Completed,
            Some((Phase::Dead { .. }, _)) | None => JobState::Failed,
        }
    }

    /// What is known about a job.
    pub fn get(&mut self, now: Micros, settings: &JobQueueSettings, job: JobId) -> Option<JobView> {
        self.reap(now, settings);
        let sequence = *self.sequences.get(&job)?;
        let job = self.jobs.get(&sequence)?;
        Some(JobView {
            id: job.id,
            state: self.state_of(sequence),
            group: job.group.clone(),
            sequence,
            receive_count: job.receive_count,
            failed_attempts: job.failed_attempts,
            enqueued_at: job.enqueued_at,
            due_at: if let Phase::Waiting { due } = job.phase { Some(due) } else { None },
            attempts: job.attempts.iter().cloned().collect(),
            user_id: job.user_id.clone(),
            payload: job.payload.clone(),
            reason: if let Phase::Dead { reason, .. } = job.phase { Some(reason) } else { None },
            response: job.response.clone(),
        })
    }

    /// The number of jobs that are not finished.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.unfinished.len()
    }

    /// The statistics.
    pub fn stats(&mut self, now: Micros, settings: &JobQueueSettings) -> JobStats {
        self.reap(now, settings);
        JobStats {
            waiting: (self.unfinished.len() - self.leased.len()) as u64,
            running: self.leased.len() as u64,
            dead: self.dead.len() as u64,
            bytes: self.bytes,
            oldest_age: self.unfinished.first().map(|(at, _)| now.since(*at) / crate::MICROS_PER_SECOND),
            paused_until: self.paused_until.filter(|until| *until > now),
            counters: self.counters,
        }
    }
}

/// The jobs of a set whose instant is this many seconds ago, the oldest first.
fn older(set: &BTreeSet<Turn>, now: Micros, seconds: u64) -> impl Iterator<Item = u64> {
    set.iter().take_while(move |(at, _)| at.add_seconds(seconds) <= now).map(|(_, sequence)| *sequence)
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
