//! Progress and responses of jobs (J18). Together they have as much room as payloads, so that neither takes the other's.

use super::super::id::JobId;
use super::super::results::{JobResponse, Progress, ProgressAdded, ProgressMessage};
use super::super::settings::JobQueueSettings;
use super::super::types::Lease;
use super::super::{FAILED_RESPONSES_PART, PROGRESS_KEPT, RESPONSE_KEPT};
use super::{Job, JobQueue, Phase};
use crate::time::Micros;

impl Job {
    /// Size of its progress messages, its result and the response that reported a failure.
    pub(super) fn kept_bytes(&self) -> u64 {
        let progress: u64 = self.progress.iter().map(size).sum();
        progress + self.result.as_ref().map_or(0, JobResponse::size) + self.response.len() as u64
    }
}

fn size(progress: &Progress) -> u64 {
    progress.message.as_str().len() as u64
}

impl JobQueue {
    /// Adds a progress message to a leased job.
    pub fn add_progress(
        &mut self,
        now: Micros,
        settings: &JobQueueSettings,
        lease: Lease,
        message: ProgressMessage,
    ) -> ProgressAdded {
        self.reap(now, settings);
        let current = self.current(lease).map(|(sequence, ..)| sequence);
        let Some(job) = current.and_then(|sequence| self.jobs.get_mut(&sequence)) else {
            return ProgressAdded::NotLeased;
        };
        let id = job.progress.back().map_or(0, |last| last.id) + 1;
        let progress = Progress { id, at: now, message };
        let oldest = job.progress.front().filter(|_| job.progress.len() == PROGRESS_KEPT).map(size);
        let kept_bytes = self.kept_bytes - oldest.unwrap_or(0) + size(&progress);
        if kept_bytes > settings.max_bytes {
            return ProgressAdded::Full;
        }
        if oldest.is_some() {
            job.progress.pop_front();
        }
        job.progress.push_back(progress);
        self.kept_bytes = kept_bytes;
        ProgressAdded::Added
    }

    /// Keeps the response that completed a job; without room, only what remains of it after its delivery.
    pub(super) fn keep_result(&mut self, settings: &JobQueueSettings, sequence: u64, response: Option<JobResponse>) {
        let Some(job) = self.jobs.get_mut(&sequence) else { return };
        job.result = response.map(|response| response.kept(settings)).map(|response| {
            let has_room = self.kept_bytes + response.size() <= settings.max_bytes;
            if has_room { response } else { response.reduced() }
        });
        self.kept_bytes += job.result.as_ref().map_or(0, JobResponse::size);
    }

    /// Keeps the start of the last response that reported a failure if there is room, in place of the one before. Failures have a part of
    /// the room, so that they leave the rest to results.
    pub(super) fn keep_response(&mut self, settings: &JobQueueSettings, sequence: u64, mut response: Vec<u8>) {
        self.drop_response(sequence);
        response.truncate(RESPONSE_KEPT);
        let size = response.len() as u64;
        let has_room = self.kept_bytes + size <= settings.max_bytes
            && self.failed_bytes + size <= settings.max_bytes / FAILED_RESPONSES_PART;
        if let (true, Some(job)) = (has_room, self.jobs.get_mut(&sequence)) {
            job.response = response;
            self.kept_bytes += size;
            self.failed_bytes += size;
        }
    }

    /// Removes the response that reported a failure.
    pub(super) fn drop_response(&mut self, sequence: u64) {
        let Some(job) = self.jobs.get_mut(&sequence) else { return };
        let size = std::mem::take(&mut job.response).len() as u64;
        self.kept_bytes -= size;
        self.failed_bytes -= size;
    }

    /// Records that the response to a held order was delivered.
    pub fn mark_delivered(&mut self, now: Micros, settings: &JobQueueSettings, job: JobId) {
        self.reap(now, settings);
        let Some(sequence) = self.sequences.get(&job).copied().filter(|_| settings.holds_orders()) else { return };
        let Some(job) = self.jobs.get_mut(&sequence) else { return };
        let is_complete = matches!(job.phase, Phase::Completed { .. }) && job.result.is_some();
        if is_complete && job.delivered_at.is_none() {
            job.delivered_at = Some(now);
            self.delivered.insert((now, sequence));
        }
    }

    /// Removes headers and body of a delivered response.
    pub(super) fn reduce(&mut self, sequence: u64) {
        let Some(job) = self.jobs.get_mut(&sequence) else { return };
        if let Some(at) = job.delivered_at {
            self.delivered.remove(&(at, sequence));
        }
        self.kept_bytes -= job.result.as_ref().map_or(0, JobResponse::size);
        job.result = job.result.take().map(JobResponse::reduced);
    }
}
