//! The jobs of all job queues: the rules plus a lock per job queue.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use vestibule_core::jobs::{
    BackendResult, Canceled, DeadLetterPosition, Detail, Drained, Enqueued, Extension, JobBackend, JobId, JobQueue,
    JobQueueId, JobQueueSettings, JobStats, JobView, Lease, NewJob, ProgressAdded, ProgressMessage, Received,
    ReplayedAll, Resolution, Settled, Settlement,
};
use vestibule_core::{Clock, Micros};

/// A backend that keeps all jobs in this process. They are lost when it ends.
pub struct MemoryJobs {
    clock: Box<dyn Clock>,
    job_queues: Mutex<HashMap<JobQueueId, Arc<Mutex<JobQueue>>>>,
}

impl MemoryJobs {
    /// An empty backend that uses this clock.
    #[must_use]
    pub fn new(clock: impl Clock + 'static) -> Self {
        Self { clock: Box::new(clock), job_queues: Mutex::default() }
    }

    /// The number of jobs that are not finished, and would be lost if the process ended now.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        let job_queues: Vec<_> = self.job_queues.lock().values().cloned().collect();
        job_queues.iter().map(|jobs| jobs.lock().unfinished()).sum()
    }

    fn job_queue(&self, id: &JobQueueId) -> Arc<Mutex<JobQueue>> {
        let mut job_queues = self.job_queues.lock();
        if let Some(jobs) = job_queues.get(id) {
            return Arc::clone(jobs);
        }
        Arc::clone(job_queues.entry(id.clone()).or_default())
    }
}

#[async_trait]
impl JobBackend for MemoryJobs {
    async fn enqueue(&self, settings: &JobQueueSettings, jobs: Vec<NewJob>) -> BackendResult<Vec<Enqueued>> {
        Ok(self.job_queue(&settings.id).lock().enqueue(self.clock.now(), settings, jobs))
    }

    async fn receive(&self, settings: &JobQueueSettings, max: usize) -> BackendResult<Received> {
        Ok(self.job_queue(&settings.id).lock().receive(self.clock.now(), settings, max))
    }

    async fn extend(&self, settings: &JobQueueSettings, leases: &[Extension]) -> BackendResult<Vec<bool>> {
        Ok(self.job_queue(&settings.id).lock().extend(self.clock.now(), settings, leases))
    }

    async fn settle(&self, settings: &JobQueueSettings, settlements: Vec<Settlement>) -> BackendResult<Vec<Settled>> {
        Ok(self.job_queue(&settings.id).lock().settle(self.clock.now(), settings, settlements))
    }

    async fn get(
        &self,
        settings: &JobQueueSettings,
        jobs: &[JobId],
        detail: Detail,
    ) -> BackendResult<Vec<Option<JobView>>> {
        Ok(self.job_queue(&settings.id).lock().get(self.clock.now(), settings, jobs, detail))
    }

    async fn add_progress(
        &self,
        settings: &JobQueueSettings,
        lease: Lease,
        message: ProgressMessage,
    ) -> BackendResult<ProgressAdded> {
        Ok(self.job_queue(&settings.id).lock().add_progress(self.clock.now(), settings, lease, message))
    }

    async fn mark_delivered(&self, settings: &JobQueueSettings, job: JobId) -> BackendResult<()> {
        self.job_queue(&settings.id).lock().mark_delivered(self.clock.now(), settings, job);
        Ok(())
    }

    async fn cancel(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<Canceled>> {
        Ok(self.job_queue(&settings.id).lock().cancel(self.clock.now(), settings, jobs))
    }

    async fn remove(&self, settings: &JobQueueSettings) -> BackendResult<bool> {
        Ok(self.job_queue(&settings.id).lock().remove(self.clock.now(), settings))
    }

    async fn drain(&self, settings: &JobQueueSettings) -> BackendResult<Drained> {
        Ok(self.job_queue(&settings.id).lock().drain(self.clock.now(), settings))
    }

    async fn dead_letters(
        &self,
        settings: &JobQueueSettings,
        before: Option<DeadLetterPosition>,
        limit: usize,
    ) -> BackendResult<Vec<JobView>> {
        Ok(self.job_queue(&settings.id).lock().dead_letters(self.clock.now(), settings, before, limit))
    }

    async fn delete_dead(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>> {
        Ok(self.job_queue(&settings.id).lock().delete_dead(self.clock.now(), settings, jobs))
    }

    async fn replay(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>> {
        Ok(self.job_queue(&settings.id).lock().replay(self.clock.now(), settings, jobs))
    }

    async fn replay_all(&self, settings: &JobQueueSettings, until: Option<Micros>) -> BackendResult<ReplayedAll> {
        Ok(self.job_queue(&settings.id).lock().replay_all(self.clock.now(), settings, until))
    }

    async fn resolve(&self, settings: &JobQueueSettings, job: JobId, resolution: Resolution) -> BackendResult<bool> {
        Ok(self.job_queue(&settings.id).lock().resolve(self.clock.now(), settings, job, resolution))
    }

    async fn stats(&self, settings: &JobQueueSettings) -> BackendResult<JobStats> {
        Ok(self.job_queue(&settings.id).lock().stats(self.clock.now(), settings))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vestibule_core::ManualClock;
    use vestibule_core::fields::Object as _;
    use vestibule_core::jobs::{JobState, Outcome, Payload};

    use super::*;

    fn settings(id: &str) -> JobQueueSettings {
        let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs", "secret": secret });
        JobQueueSettings::from_json(&json!({ "id": id, "tenant": "acme", "target": target })).unwrap()
    }

    fn job() -> NewJob {
        let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() };
        NewJob::new(JobId::random(), payload)
    }

    #[tokio::test]
    async fn job_queues_are_separate_and_share_the_clock() {
        let clock = Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)));
        let backend = MemoryJobs::new(Arc::clone(&clock));
        let (emails, imports) = (settings("emails"), settings("imports"));
        let (first, second) = (job(), job());
        let id = first.id;
        backend.enqueue(&emails, vec![first]).await.unwrap();
        backend.enqueue(&imports, vec![second]).await.unwrap();
        assert_eq!(backend.unfinished(), 2);
        let received = backend.receive(&emails, 10).await.unwrap();
        assert_eq!(received.jobs.len(), 1);
        let lease = received.jobs[0].lease;
        clock.advance(29_000_000);
        assert_eq!(backend.extend(&emails, &[Extension::of(lease)]).await.unwrap(), [true]);
        clock.advance(29_000_000);
        let settlement = Settlement { lease, outcome: Outcome::Acknowledged(None) };
        let state_in = async |settings| {
            let views = backend.get(settings, &[id], Detail::Status).await.unwrap();
            views[0].as_ref().map(|view| view.state)
        };
        let settled = backend.settle(&emails, vec![settlement]).await.unwrap();
        assert_eq!(settled, [Settled::Now(JobState::Completed)]);
        assert_eq!(state_in(&emails).await, Some(JobState::Completed));
        assert_eq!(state_in(&imports).await, None);
        assert_eq!(backend.stats(&imports).await.unwrap().waiting, 1);
        assert_eq!(backend.unfinished(), 1);
    }
}
