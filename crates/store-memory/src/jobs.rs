//! The jobs of all job queues: the rules plus a lock per job queue.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use vestibule_core::jobs::{
    BackendResult, Canceled, DeadLetterPosition, Detail, Drained, Enqueued, Extension, JobBackend, JobId, JobQueue,
    JobQueueId, JobQueueSettings, JobStats, JobStore, JobView, Lease, NewJob, ProgressAdded, ProgressMessage, Received,
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
    pub fn new(clock: impl Clock + 'static) -> Self {
        Self { clock: Box::new(clock), job_queues: Mutex::default() }
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

    async fn replay(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>> {
        Ok(self.job_queue(&settings.id).lock().replay(self.clock.now(), settings, jobs))
    }

    async fn replay_all(&self, settings: &JobQueueSettings, until: Option<Micros>) -> BackendResult<ReplayedAll> {
        Ok(self.job_queue(&settings.id).lock().replay_all(self.clock.now(), settings, until))
    }

    fn store(&self) -> &dyn JobStore {
        self
    }
}

#[async_trait]
impl JobStore for MemoryJobs {
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

    async fn resolve(&self, settings: &JobQueueSettings, job: JobId, resolution: Resolution) -> BackendResult<bool> {
        Ok(self.job_queue(&settings.id).lock().resolve(self.clock.now(), settings, job, resolution))
    }

    async fn create(&self, settings: &JobQueueSettings) -> BackendResult<()> {
        self.job_queue(&settings.id).lock().create();
        Ok(())
    }

    async fn reap(&self, settings: &JobQueueSettings) -> BackendResult<bool> {
        Ok(self.job_queue(&settings.id).lock().reap_batch(self.clock.now(), settings))
    }

    async fn stats(&self, settings: &JobQueueSettings) -> BackendResult<JobStats> {
        Ok(self.job_queue(&settings.id).lock().stats(self.clock.now(), settings))
    }
}
