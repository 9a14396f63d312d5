//! What operators do with jobs: cancel and drain (J13), dead letters (J14), and unknown outcomes of held orders (H9).

use std::ops::Bound;

use super::super::content::DeduplicationKey;
use super::super::id::JobId;
use super::super::settings::JobQueueSettings;
use super::super::types::{
    Canceled, DeadLetterPosition, Detail, Drained, FailureReason, JobView, ReplayedAll, Resolution,
};
use super::super::{DRAIN_BATCH, JOB_BATCH, REMOVED_SECONDS, REPLAY_BATCH};
use super::{JobQueue, Phase};
use crate::time::Micros;

impl JobQueue {
    /// Cancels jobs that are not leased.
    pub fn cancel(&mut self, now: Micros, settings: &JobQueueSettings, jobs: &[JobId]) -> Vec<Canceled> {
        self.reap(now, settings);
        jobs.iter().map(|job| self.cancel_one(now, settings, *job)).collect()
    }

    fn cancel_one(&mut self, now: Micros, settings: &JobQueueSettings, job: JobId) -> Canceled {
        let Some(sequence) = self.sequences.get(&job).copied() else { return Canceled::Unknown };
        match self.jobs.get(&sequence).map(|job| job.phase) {
            Some(Phase::Waiting { .. }) => {
                self.cancel_waiting(now, settings, sequence);
                Canceled::Canceled
            }
            Some(Phase::Leased { .. }) => Canceled::Leased,
            Some(Phase::Completed { .. } | Phase::Dead { .. }) => Canceled::Finished,
            None => Canceled::Unknown,
        }
    }

    /// Deletes a waiting job, so that an equal one is no duplicate of a job that never runs. A held order becomes a dead letter,
    /// because its visitor follows it.
    fn cancel_waiting(&mut self, now: Micros, settings: &JobQueueSettings, sequence: u64) {
        self.leave(now, sequence);
        if settings.holds_orders() {
            self.dead_letter(now, settings, sequence, FailureReason::Canceled, false);
            return;
        }
        self.counters.canceled += 1;
        self.release_key(sequence);
        self.forget(sequence);
    }

    /// Cancels up to [`DRAIN_BATCH`] jobs that are not leased, the oldest first.
    pub fn drain(&mut self, now: Micros, settings: &JobQueueSettings) -> Drained {
        self.reap(now, settings);
        let waiting = self.unfinished.iter().map(|(_, sequence)| *sequence);
        let waiting: Vec<_> = waiting.filter(|sequence| self.is_waiting(*sequence)).take(DRAIN_BATCH).collect();
        for sequence in &waiting {
            self.cancel_waiting(now, settings, *sequence);
        }
        Drained { canceled: waiting.len() as u64, has_more: self.unfinished.len() > self.leased.len() }
    }

    /// Up to `limit` dead letters before a position, the newest first, without contents.
    pub fn dead_letters(
        &mut self,
        now: Micros,
        settings: &JobQueueSettings,
        before: Option<DeadLetterPosition>,
        limit: usize,
    ) -> Vec<JobView> {
        self.reap(now, settings);
        let end = before.map_or(Bound::Unbounded, |before| Bound::Excluded((before.ended_at, before.sequence)));
        let turns = self.dead.range((Bound::Unbounded, end)).rev().take(limit.min(JOB_BATCH));
        turns.filter_map(|(_, sequence)| self.view(*sequence, Detail::Status)).collect()
    }

    /// Deletes dead letters, and says which of the jobs were some. An equal job is no duplicate any more, unless the outcome is
    /// unknown.
    pub fn delete_dead(&mut self, now: Micros, settings: &JobQueueSettings, jobs: &[JobId]) -> Vec<bool> {
        self.reap(now, settings);
        let delete = |job: &JobId| {
            let Some((sequence, is_unknown)) = self.dead_job(*job) else { return false };
            if !is_unknown {
                self.release_key(sequence);
            }
            self.forget(sequence);
            true
        };
        jobs.iter().map(delete).collect()
    }

    /// The sequence number of a dead letter, and whether the outcome is unknown.
    fn dead_job(&self, job: JobId) -> Option<(u64, bool)> {
        let sequence = *self.sequences.get(&job)?;
        match self.jobs.get(&sequence)?.phase {
            Phase::Dead { is_unknown, .. } => Some((sequence, is_unknown)),
            _ => None,
        }
    }

    /// Puts dead letters back, and says which of the jobs were put back (J14). Held orders never are (H13).
    pub fn replay(&mut self, now: Micros, settings: &JobQueueSettings, jobs: &[JobId]) -> Vec<bool> {
        self.reap(now, settings);
        let replay = |job: &JobId| self.dead_job(*job).is_some_and(|(old, _)| self.replay_one(now, settings, old));
        jobs.iter().map(replay).collect()
    }

    /// Puts up to [`REPLAY_BATCH`] dead letters back that ended until then, the oldest first.
    pub fn replay_all(&mut self, now: Micros, settings: &JobQueueSettings, until: Option<Micros>) -> ReplayedAll {
        self.reap(now, settings);
        let until = until.unwrap_or(now);
        let ended = self.dead.iter().take_while(|(at, _)| *at <= until).map(|(_, sequence)| *sequence);
        let ended: Vec<_> = ended.take(REPLAY_BATCH + 1).collect();
        let replayed = ended.iter().take(REPLAY_BATCH).filter(|old| self.replay_one(now, settings, **old)).count();
        ReplayedAll { replayed: replayed as u64, until, has_more: ended.len() > REPLAY_BATCH && replayed > 0 }
    }

    fn replay_one(&mut self, now: Micros, settings: &JobQueueSettings, old: u64) -> bool {
        let is_replayable = !settings.holds_orders() && self.jobs.get(&old).is_some_and(|job| job.payload.is_some());
        if !is_replayable {
            return false;
        }
        self.count_resolved(old);
        self.drop_response(old);
        let Some(mut job) = self.jobs.remove(&old) else { return false };
        if let Phase::Dead { at, .. } = job.phase {
            self.dead.remove(&(at, old));
        }
        self.counters.replayed += 1;
        job.failed_attempts = 0;
        job.put_back_at = None;
        job.enqueued_at = now;
        job.phase = Phase::Waiting { due: now };
        self.append(job);
        true
    }

    /// Records what became of a held order whose outcome is unknown (H9). `false` if the job is none.
    pub fn resolve(&mut self, now: Micros, settings: &JobQueueSettings, job: JobId, resolution: Resolution) -> bool {
        self.reap(now, settings);
        let Some((sequence, true)) = self.dead_job(job) else { return false };
        match resolution {
            Resolution::NotPlaced => self.release_key(sequence),
            // It may have been released before by mistake.
            Resolution::Placed => self.keep_key(now, settings, sequence),
        }
        self.count_resolved(sequence);
        if let Some(job) = self.jobs.get_mut(&sequence) {
            job.resolution = Some(resolution);
        }
        true
    }

    /// From now on, an equal job is no duplicate of this one.
    pub(super) fn release_key(&mut self, sequence: u64) {
        let Some((id, key)) = self.key_of(sequence) else { return };
        if let Some((first, until)) = self.duplicates.get(&key).copied()
            && first == id
        {
            self.duplicates.remove(&key);
            self.remembered.remove(&(until, key));
        }
    }

    /// H8: an order that may have been placed has duplicates for as long as a result is kept, or it could have waited.
    pub(super) fn keep_key(&mut self, now: Micros, settings: &JobQueueSettings, sequence: u64) {
        let Some((id, key)) = self.key_of(sequence) else { return };
        let is_first = self.first_with(now, &key).map_or(settings.deduplication_interval > 0, |first| first == id);
        if is_first {
            let accepted_at = self.jobs.get(&sequence).map_or(now, |job| job.enqueued_at);
            let waits_until = accepted_at.add_seconds(settings.retention + settings.timeout);
            self.remember(key, id, now.add_seconds(settings.result_seconds()).max(waits_until));
        }
    }

    /// H8: an order that is completed has no duplicates after `deduplication_interval`.
    pub(super) fn shorten_key(&mut self, now: Micros, settings: &JobQueueSettings, sequence: u64) {
        let Some((id, key)) = self.key_of(sequence) else { return };
        let accepted_at = self.jobs.get(&sequence).map_or(now, |job| job.enqueued_at);
        let until = accepted_at.add_seconds(settings.deduplication_interval);
        if until <= now {
            self.release_key(sequence);
        } else if self.duplicates.get(&key).is_some_and(|(first, before)| *first == id && until < *before) {
            self.remember(key, id, until);
        }
    }

    /// Forgets everything, and accepts no jobs for [`REMOVED_SECONDS`]. `false` if there are jobs that are not finished, or dead letters; then nothing is forgotten.
    pub fn remove(&mut self, now: Micros, settings: &JobQueueSettings) -> bool {
        self.reap(now, settings);
        let is_empty = self.unfinished.is_empty() && self.dead.is_empty();
        if is_empty {
            *self = Self { removed_until: Some(now.add_seconds(REMOVED_SECONDS)), ..Self::default() };
        }
        is_empty
    }

    /// Accepts jobs, also if the job queue was removed before.
    pub fn create(&mut self) {
        self.removed_until = None;
    }

    fn key_of(&self, sequence: u64) -> Option<(JobId, DeduplicationKey)> {
        let job = self.jobs.get(&sequence)?;
        Some((job.id, job.key.clone()?))
    }
}
