//! How leases and jobs end (J9, J10, J12, J16, H8), and what expires.

use std::collections::BTreeSet;

use super::super::id::{JobGroupId, JobId};
use super::super::results::JobResponse;
use super::super::settings::JobQueueSettings;
use super::super::types::{Attempt, Failure, FailureReason, JobState, Lease, Outcome, Settled, Settlement};
use super::super::{
    ATTEMPTS_KEPT, DELIVERED_SECONDS, ENQUEUES_WINDOW, JOB_REAP_BATCH, ORDER_REJECTED, RETRY_AFTER_MAX,
};
use super::{Job, JobQueue, Phase, Turn};
use crate::time::Micros;

impl Job {
    /// Whether it is too old to run (J16).
    pub(super) fn is_expired(&self, now: Micros, settings: &JobQueueSettings) -> bool {
        now >= self.enqueued_at.add_seconds(settings.retention)
    }

    /// Drops payload and parameters of a job that does not run any more. Returns their size.
    fn drop_payload(&mut self) -> u64 {
        (self.payload, self.params) = (None, None);
        std::mem::take(&mut self.size)
    }
}

impl JobQueue {
    /// Ends leases (J9, J10, J12).
    pub fn settle(&mut self, now: Micros, settings: &JobQueueSettings, ended: Vec<Settlement>) -> Vec<Settled> {
        self.reap(now, settings);
        ended.into_iter().map(|settlement| self.settle_one(now, settings, settlement)).collect()
    }

    fn settle_one(&mut self, now: Micros, settings: &JobQueueSettings, settlement: Settlement) -> Settled {
        let Settlement { lease, outcome } = settlement;
        if let Some(state) = self.repeated(lease, &outcome) {
            return Settled::Now(state);
        }
        let state = match self.late(lease) {
            Some(sequence) => self.settle_late(now, settings, sequence, outcome),
            None => self.current(lease).and_then(|(sequence, ..)| self.end_lease(now, settings, sequence, outcome)),
        };
        state.map_or(Settled::NotLeased, Settled::Now)
    }

    /// The last job with this lease.
    fn last_leased(&self, lease: Lease) -> Option<u64> {
        let sequence = *self.sequences.get(&lease.job)?;
        let job = self.jobs.get(&sequence)?;
        (job.receive_count == lease.receive_count && job.receive_count > 0).then_some(sequence)
    }

    /// J9: the state of a job whose last lease was ended by an equal settlement, whose answer may have been lost.
    fn repeated(&self, lease: Lease, outcome: &Outcome) -> Option<JobState> {
        let sequence = self.last_leased(lease)?;
        let job = self.jobs.get(&sequence)?;
        let attempt = job.attempts.back().filter(|attempt| attempt.receive_count == lease.receive_count);
        let recorded = attempt.map(|attempt| (attempt.reason, attempt.status));
        let is_leased = matches!(job.phase, Phase::Leased { .. });
        let is_unknown = matches!(job.phase, Phase::Dead { is_unknown: true, .. });
        let is_equal = match outcome {
            Outcome::Acknowledged(response) => recorded == Some((None, response.as_ref().map(|it| it.status))),
            Outcome::Unknown(failure) => recorded == Some((Some(failure.reason), failure.status)),
            // It replaces an unknown outcome (H8).
            Outcome::Failed(failure) | Outcome::FailedForGood(failure) => {
                !is_unknown && recorded == Some((Some(failure.reason), failure.status))
            }
            Outcome::Later { .. } | Outcome::Requeued => recorded.is_none(),
        };
        (is_equal && !is_leased).then(|| self.state_of(sequence))
    }

    /// H8: the job of an attempt whose outcome is unknown.
    fn late(&self, lease: Lease) -> Option<u64> {
        let sequence = self.last_leased(lease)?;
        let job = self.jobs.get(&sequence)?;
        matches!(job.phase, Phase::Dead { is_unknown: true, .. }).then_some(sequence)
    }

    /// H8: a late result replaces an unknown outcome. If the origin did not process the order, the visitor can submit it again.
    fn settle_late(
        &mut self,
        now: Micros,
        settings: &JobQueueSettings,
        sequence: u64,
        outcome: Outcome,
    ) -> Option<JobState> {
        let (reason, status, response) = match outcome {
            Outcome::Acknowledged(response) => (None, response.as_ref().map(|it| it.status), response),
            Outcome::Failed(Failure { reason, status, .. })
            | Outcome::FailedForGood(Failure { reason, status, .. }) => (Some(reason), status, None),
            Outcome::Later { .. } => (Some(FailureReason::Status), None, None),
            Outcome::Unknown(_) | Outcome::Requeued => {
                self.counters.refused += 1;
                return None;
            }
        };
        self.count_resolved(sequence);
        let job = self.jobs.get_mut(&sequence)?;
        let Phase::Dead { at, .. } = job.phase else { return None };
        if let Some(attempt) = job.attempts.back_mut() {
            *attempt = Attempt { ended_at: now, reason, status, ..attempt.clone() };
        }
        job.resolution = None;
        self.dead.remove(&(at, sequence));
        Some(match reason {
            None => self.complete(now, settings, sequence, response),
            Some(reason) => self.dead_letter(now, settings, sequence, reason, false),
        })
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
        job.is_sent = false;
        let mut record = |reason: Option<FailureReason>, status: Option<u16>| {
            if job.attempts.len() == ATTEMPTS_KEPT {
                job.attempts.pop_front();
            }
            let receive_count = job.receive_count;
            job.attempts.push_back(Attempt { receive_count, started_at: since, ended_at: now, reason, status });
        };
        let (failure, is_final, is_unknown) = match outcome {
            Outcome::Acknowledged(response) => {
                record(None, response.as_ref().map(|it| it.status));
                self.leave(now, sequence);
                return Some(self.complete(now, settings, sequence, response));
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
            Outcome::Failed(failure) => (failure, false, false),
            Outcome::FailedForGood(failure) => (failure, true, false),
            Outcome::Unknown(failure) => {
                job.may_be_placed |= settings.holds_orders() && !settings.sends_once();
                (failure, false, settings.sends_once())
            }
        };
        let Failure { reason, status, response } = failure;
        record(Some(reason), status);
        job.failed_attempts += 1;
        let (id, failed_attempts) = (job.id, job.failed_attempts);
        self.keep_response(settings, sequence, response);
        self.counters.failed += 1;
        if is_final || is_unknown || failed_attempts >= settings.max_attempts {
            self.leave(now, sequence);
            return Some(self.dead_letter(now, settings, sequence, reason, is_unknown));
        }
        let spread = id.as_bytes()[failed_attempts as usize % JobId::SIZE];
        let due = Micros(now.0.saturating_add(settings.backoff(failed_attempts, spread)));
        self.wait(now, settings, sequence, due)
    }

    /// Puts a job back whose lease has ended. It is still the first of its group (J6).
    fn wait(&mut self, now: Micros, settings: &JobQueueSettings, sequence: u64, due: Micros) -> Option<JobState> {
        let job = self.jobs.get_mut(&sequence)?;
        job.phase = Phase::Waiting { due };
        if job.is_expired(now, settings) {
            self.leave(now, sequence);
            return Some(self.dead_letter(now, settings, sequence, FailureReason::Expired, false));
        }
        job.put_back_at.get_or_insert(now);
        self.ready.insert((due, sequence));
        Some(self.state_of(sequence))
    }

    /// Removes a job that ends from the unfinished ones. The next one of its group can start (J5).
    pub(super) fn leave(&mut self, now: Micros, sequence: u64) {
        let Some(job) = self.jobs.get(&sequence) else { return };
        if let Phase::Waiting { due } = job.phase {
            self.ready.remove(&(due, sequence));
        }
        self.unfinished.remove(&(job.enqueued_at, sequence));
        if let Some(group) = job.group.clone() {
            self.leave_group(now, &group, sequence);
        }
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

    /// Completes a job that is not among the unfinished ones any more. A held order that the origin rejects can be submitted
    /// again (H8).
    fn complete(
        &mut self,
        now: Micros,
        settings: &JobQueueSettings,
        sequence: u64,
        response: Option<JobResponse>,
    ) -> JobState {
        self.counters.acknowledged += 1;
        let is_rejected = response.as_ref().is_some_and(|response| response.status >= ORDER_REJECTED);
        if settings.holds_orders() {
            if is_rejected {
                self.release_key(sequence);
            } else {
                self.shorten_key(now, settings, sequence);
            }
        }
        if let Some(job) = self.jobs.get_mut(&sequence) {
            job.phase = Phase::Completed { at: now };
            self.bytes -= job.drop_payload();
            self.completed.insert((now, sequence));
        }
        self.drop_response(sequence);
        self.keep_result(settings, sequence, response);
        JobState::Completed
    }

    /// Makes a dead letter of a job that is not among the unfinished ones any more. That of a held order keeps no payload (H13);
    /// unless its outcome is unknown, it can be submitted again (H8).
    pub(super) fn dead_letter(
        &mut self,
        now: Micros,
        settings: &JobQueueSettings,
        sequence: u64,
        reason: FailureReason,
        is_unknown: bool,
    ) -> JobState {
        let is_unknown = is_unknown || self.jobs.get(&sequence).is_some_and(|job| job.may_be_placed);
        let counter = if is_unknown { &mut self.counters.unknown } else { &mut self.counters.dead };
        *counter += 1;
        if let Some(job) = self.jobs.get_mut(&sequence) {
            job.phase = Phase::Dead { at: now, reason, is_unknown };
            if settings.holds_orders() {
                self.bytes -= job.drop_payload();
            }
            self.dead.insert((now, sequence));
        }
        match (settings.holds_orders(), is_unknown) {
            (true, true) => self.keep_key(now, settings, sequence),
            (true, false) => self.release_key(sequence),
            (false, _) => {}
        }
        self.state_of(sequence)
    }

    /// Removes up to [`JOB_REAP_BATCH`] of everything that has expired, and says whether there is more.
    pub fn reap_batch(&mut self, now: Micros, settings: &JobQueueSettings) -> bool {
        self.reap(now, settings);
        self.leased.first().is_some_and(|(until, _)| *until <= now)
            || older(&self.unfinished, now, settings.retention).any(|sequence| self.is_waiting(sequence))
            || older(&self.completed, now, settings.result_seconds()).next().is_some()
            || older(&self.dead, now, settings.dead_letter_retention).next().is_some()
            || older(&self.delivered, now, DELIVERED_SECONDS).next().is_some()
    }

    /// Removes up to [`JOB_REAP_BATCH`] of everything that has expired.
    pub(super) fn reap(&mut self, now: Micros, settings: &JobQueueSettings) {
        // J13: the pause of an operator takes the place of one that a handler asked for.
        if settings.paused {
            self.paused_until = None;
        }
        for _ in 0..JOB_REAP_BATCH {
            let Some((_, sequence)) = self.leased.first().copied().filter(|(until, _)| *until <= now) else { break };
            let failure = Failure { reason: FailureReason::LeaseExpired, status: None, response: Vec::new() };
            let is_sent = self.jobs.get(&sequence).is_some_and(|job| job.is_sent);
            let outcome = if is_sent { Outcome::Unknown(failure) } else { Outcome::Failed(failure) };
            self.end_lease(now, settings, sequence, outcome);
        }
        // A leased job is checked when its lease ends. There are at most `concurrency` of them to skip.
        let too_old = older(&self.unfinished, now, settings.retention).filter(|sequence| self.is_waiting(*sequence));
        for sequence in too_old.take(JOB_REAP_BATCH).collect::<Vec<_>>() {
            self.leave(now, sequence);
            self.dead_letter(now, settings, sequence, FailureReason::Expired, false);
        }
        let completed = older(&self.completed, now, settings.result_seconds()).take(JOB_REAP_BATCH);
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

    pub(super) fn is_waiting(&self, sequence: u64) -> bool {
        self.jobs.get(&sequence).is_some_and(|job| matches!(job.phase, Phase::Waiting { .. }))
    }

    /// Counts that the unknown outcome of a job is settled, unless that was recorded before. Its state changes right after.
    pub(super) fn count_resolved(&mut self, sequence: u64) {
        let is_unresolved =
            |job: &Job| matches!(job.phase, Phase::Dead { is_unknown: true, .. }) && job.resolution.is_none();
        self.counters.resolved += u64::from(self.jobs.get(&sequence).is_some_and(is_unresolved));
    }

    /// Removes a job that is not among the unfinished ones any more.
    pub(super) fn forget(&mut self, sequence: u64) {
        self.count_resolved(sequence);
        self.drop_response(sequence);
        let Some(job) = self.jobs.remove(&sequence) else { return };
        match job.phase {
            Phase::Completed { at } => {
                if let Some(at) = job.delivered_at {
                    self.delivered.remove(&(at, sequence));
                }
                self.completed.remove(&(at, sequence))
            }
            Phase::Dead { at, .. } => self.dead.remove(&(at, sequence)),
            Phase::Waiting { .. } | Phase::Leased { .. } => false,
        };
        self.kept_bytes -= job.kept_bytes();
        self.bytes -= job.size;
        self.sequences.remove(&job.id);
    }
}

/// The jobs of a set whose instant is this many seconds ago, the oldest first.
fn older(set: &BTreeSet<Turn>, now: Micros, seconds: u64) -> impl Iterator<Item = u64> {
    set.iter().take_while(move |(at, _)| at.add_seconds(seconds) <= now).map(|(_, sequence)| *sequence)
}
