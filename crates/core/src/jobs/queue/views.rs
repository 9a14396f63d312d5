//! What is known about jobs and about the job queue.

use super::super::BLOCKING_SEARCH;
use super::super::id::JobId;
use super::super::results::JobResponse;
use super::super::settings::JobQueueSettings;
use super::super::stats::{BlockedGroup, JobStats};
use super::super::types::{Detail, JobState, JobView};
use super::{Job, JobQueue, Phase};
use crate::MICROS_PER_SECOND;
use crate::time::Micros;

impl JobQueue {
    pub(super) fn state_of(&self, sequence: u64) -> JobState {
        match self.jobs.get(&sequence).map(|job| (job.phase, job.failed_attempts)) {
            Some((Phase::Waiting { .. }, 0)) => JobState::Queued,
            Some((Phase::Waiting { .. }, _)) => JobState::Retrying,
            Some((Phase::Leased { .. }, _)) => JobState::Running,
            Some((Phase::Completed { .. }, _)) => JobState::Completed,
            Some((Phase::Dead { is_unknown: true, .. }, _)) => JobState::Unknown,
            Some((Phase::Dead { .. }, _)) | None => JobState::Failed,
        }
    }

    /// What is known about jobs.
    pub fn get(
        &mut self,
        now: Micros,
        settings: &JobQueueSettings,
        jobs: &[JobId],
        detail: Detail,
    ) -> Vec<Option<JobView>> {
        self.reap(now, settings);
        jobs.iter().map(|job| self.view(*self.sequences.get(job)?, detail)).collect()
    }

    pub(super) fn view(&self, sequence: u64, detail: Detail) -> Option<JobView> {
        let job = self.jobs.get(&sequence)?;
        let result = job.result.clone();
        Some(JobView {
            id: job.id,
            state: self.state_of(sequence),
            group: job.group.clone(),
            sequence,
            receive_count: job.receive_count,
            failed_attempts: job.failed_attempts,
            enqueued_at: job.enqueued_at,
            ended_at: match job.phase {
                Phase::Completed { at } | Phase::Dead { at, .. } => Some(at),
                Phase::Waiting { .. } | Phase::Leased { .. } => None,
            },
            due_at: if let Phase::Waiting { due } = job.phase { Some(due) } else { None },
            ahead: Some(self.ahead(sequence, job)),
            attempts: job.attempts.iter().cloned().collect(),
            progress: job.progress.iter().cloned().collect(),
            user_id: job.user_id.clone(),
            session: job.session,
            params: job.params.clone(),
            payload: job.payload.clone().filter(|_| detail == Detail::Contents),
            result: if detail.has_result() { result } else { result.map(JobResponse::reduced) },
            is_delivered: job.delivered_at.is_some(),
            reason: if let Phase::Dead { reason, .. } = job.phase { Some(reason) } else { None },
            response: job.response.clone(),
            resolution: job.resolution,
        })
    }

    /// The number of jobs that start before this one if nothing changes.
    fn ahead(&self, sequence: u64, job: &Job) -> u64 {
        let Phase::Waiting { due } = job.phase else { return 0 };
        let turn = (due, sequence);
        let earlier = if self.ready.contains(&turn) {
            self.ready.range(..turn).count()
        } else {
            // It waits for its group: it is due after the jobs that are ready now. The first one of its group is among them, or runs.
            let members = job.group.as_ref().and_then(|group| self.groups.get(group));
            let before = members.map_or(0, |members| members.range(..sequence).count());
            self.ready.len() + before.saturating_sub(1)
        };
        earlier as u64
    }

    /// J6: of the groups of the oldest unfinished jobs, the one that has been blocked longest.
    fn blocked_group(&self, now: Micros) -> Option<BlockedGroup> {
        let oldest = self.unfinished.iter().take(BLOCKING_SEARCH);
        let blocking = oldest.filter_map(|(_, sequence)| {
            let job = self.jobs.get(sequence)?;
            let has_followers = self.groups.get(job.group.as_ref()?)?.len() > 1;
            job.put_back_at.filter(|_| has_followers).map(|since| (since, job.id))
        });
        let (since, job) = blocking.min_by_key(|(since, _)| *since)?;
        Some(BlockedGroup { job, age: now.since(since) / MICROS_PER_SECOND })
    }

    /// The statistics.
    pub fn stats(&mut self, now: Micros, settings: &JobQueueSettings) -> JobStats {
        self.reap(now, settings);
        JobStats {
            waiting: (self.unfinished.len() - self.leased.len()) as u64,
            ready: self.ready.range(..=(now, u64::MAX)).count() as u64,
            running: self.leased.len() as u64,
            dead: self.dead.len() as u64,
            bytes: self.bytes,
            oldest_age: self.unfinished.first().map(|(at, _)| now.since(*at) / MICROS_PER_SECOND),
            blocked_group: self.blocked_group(now),
            paused_until: self.paused_until.filter(|until| *until > now),
            counters: self.counters,
        }
    }
}
