//! How leases and jobs end (J9, J10, J12, J16), and what expires.

use std::collections::BTreeSet;

use super::super::id::{JobGroupId, JobId};
use super::super::settings::JobQueueSettings;
use super::super::types::{Attempt, Failure, FailureReason, JobState, Outcome, Settled, Settlement};
use super::super::{ATTEMPTS_KEPT, DELIVERED_SECONDS, ENQUEUES_WINDOW, JOB_REAP_BATCH, RESPONSE_KEPT, RETRY_AFTER_MAX};
use super::{JobQueue, Phase, Turn};
use crate::time::Micros;

impl JobQueue {
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
            Outcome::Acknowledged(response) => {
                record(None, response.as_ref().map(|it| it.status));
                self.counters.acknowledged += 1;
                let state = self.finish(now, sequence, None);
                self.keep_result(settings, sequence, response);
                return Some(state);
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
    pub(super) fn reap(&mut self, now: Micros, settings: &JobQueueSettings) {
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
        let delivered = older(&self.delivered, now, DELIVERED_SECONDS).take(JOB_REAP_BATCH);
        for sequence in delivered.collect::<Vec<_>>() {
            self.reduce(sequence);
        }
        for _ in 0..JOB_REAP_BATCH {
            let Some((until, key)) = self.remembered.first().filter(|(until, _)| *until <= now).cloned() else { break };
            self.duplicates.remove(&key);
            self.remembered.remove(&(until, key));
        }
        for _ in 0..JOB_REAP_BATCH {
            let window = self.windows.first().copied();
            let Some((since, session)) = window.filter(|(since, _)| since.add_seconds(ENQUEUES_WINDOW) <= now) else {
                break;
            };
            self.windows.remove(&(since, session));
            self.enqueues.remove(&session);
        }
    }

    /// Removes a finished job.
    fn forget(&mut self, sequence: u64) {
        let Some(job) = self.jobs.remove(&sequence) else { return };
        match job.phase {
            Phase::Completed { at } => {
                job.delivered_at.is_some_and(|at| self.delivered.remove(&(at, sequence)));
                self.completed.remove(&(at, sequence))
            }
            Phase::Dead { at, .. } => self.dead.remove(&(at, sequence)),
            Phase::Waiting { .. } | Phase::Leased { .. } => false,
        };
        self.kept_bytes -= job.kept_bytes();
        self.bytes -= job.payload.map_or(0, |payload| payload.bytes.len() as u64);
        self.sequences.remove(&job.id);
    }
}

/// The jobs of a set whose instant is this many seconds ago, the oldest first.
fn older(set: &BTreeSet<Turn>, now: Micros, seconds: u64) -> impl Iterator<Item = u64> {
    set.iter().take_while(move |(at, _)| at.add_seconds(seconds) <= now).map(|(_, sequence)| *sequence)
}
