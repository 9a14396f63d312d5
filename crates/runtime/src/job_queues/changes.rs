//! Writes and removes job queues as a plan says.

use std::time::Duration;

use tracing::warn;
use vestibule_core::jobs::{
    BackendResult, JobBackendError, JobQueueId, JobQueueSettings, JobTargetKind, SigningSecret,
};
use vestibule_core::settings::{JobQueueChange, JobQueuePlan, Settings, StoredJobQueue};
use vestibule_core::store::StoreError;
use vestibule_records::{DocumentChange, DocumentKind, DocumentOutcome};

use super::{JobQueues, parsed, removal_of};
use crate::schedule_runs::{schedule_key, set_last_run};

/// How long it is known that a job queue was removed, in seconds: longer than SQS keeps its messages.
const REMOVAL_TTL: u64 = 30 * 86_400;

/// An error of the store, or of the backend of the jobs.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StorageError {
    /// The store of the settings and records.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The backend that holds the jobs.
    #[error(transparent)]
    JobBackend(#[from] JobBackendError),
}

/// What became of a plan.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JobQueuesWritten {
    /// Job queues that were created or changed.
    pub written: Vec<JobQueueSettings>,
    /// Job queues that were removed.
    pub removed: Vec<JobQueueId>,
    /// Job queues that someone else changed since the plan was made. They are not written.
    pub skipped: Vec<JobQueueId>,
    /// Job queues that stay because they have jobs or dead letters.
    pub not_empty: Vec<JobQueueId>,
}

impl JobQueues {
    /// Writes and removes job queues as planned. A job queue with jobs or dead letters is not removed.
    ///
    /// # Errors
    /// Returns the error of the store, or of the backend if it can't be asked whether a job queue has jobs. Plan again to write the
    /// rest.
    pub async fn execute(&self, plan: &JobQueuePlan) -> Result<JobQueuesWritten, StorageError> {
        let mut outcome = JobQueuesWritten::default();
        for change in &plan.changed {
            let mut change = change.clone();
            let target = &mut change.settings.target;
            if target.kind == JobTargetKind::Http && target.secret.is_none() {
                target.secret = Some(SigningSecret::generated(random()?));
            }
            self.begin_schedules(&change.settings).await?;
            let text = change.to_document().to_string();
            let JobQueueChange { settings, replaces, .. } = change;
            if replaces == 0 && self.was_removed(&settings.id).await? {
                self.accept_jobs(&settings).await;
            }
            match self.records.put_document(DocumentKind::JobQueues, settings.id.as_str(), &text, replaces).await? {
                DocumentOutcome::Stored(_) => {
                    if replaces == 0 {
                        self.records.take_ephemeral(&removal_of(&settings.id)).await?;
                    }
                    outcome.written.push(settings);
                }
                DocumentOutcome::Conflict(_) | DocumentOutcome::NoOther | DocumentOutcome::Full => {
                    outcome.skipped.push(settings.id);
                }
            }
        }
        for StoredJobQueue { settings, revision, .. } in &plan.removed {
            if self.has_jobs(settings).await? {
                outcome.not_empty.push(settings.id.clone());
                continue;
            }
            // First the marker: nobody may take the removal for a loss.
            self.records.set_ephemeral(&removal_of(&settings.id), "", REMOVAL_TTL).await?;
            let change = DocumentChange { text: None, over: *revision, needs_other: None };
            match self.records.change_document(DocumentKind::JobQueues, settings.id.as_str(), change).await? {
                DocumentOutcome::Stored(_) => {
                    self.remove_state(settings).await;
                    outcome.removed.push(settings.id.clone());
                }
                DocumentOutcome::Conflict(_) | DocumentOutcome::NoOther | DocumentOutcome::Full => {
                    self.records.take_ephemeral(&removal_of(&settings.id)).await?;
                    outcome.skipped.push(settings.id.clone());
                }
            }
        }
        if !plan.is_empty()
            && let Err(error) = self.read_if_older(Duration::ZERO).await
        {
            warn!(%error, "job queues were written, but could not be read again yet");
        }
        Ok(outcome)
    }

    /// Schedules that the stored settings do not have begin now, whenever they ran before.
    async fn begin_schedules(&self, settings: &JobQueueSettings) -> Result<(), StoreError> {
        if settings.schedules.is_empty() {
            return Ok(());
        }
        let id = &settings.id;
        let stored = self.records.get_document(DocumentKind::JobQueues, id.as_str()).await?;
        let stored = stored.and_then(|document| parsed(id.as_str(), &document.text, document.revision));
        let before = stored.map(|stored| stored.settings.schedules).unwrap_or_default();
        let known: Vec<_> = before.iter().map(|schedule| schedule_key(id, schedule)).collect();
        let now = self.records.now().await?;
        for key in settings.schedules.iter().map(|schedule| schedule_key(id, schedule)) {
            if !known.contains(&key) {
                set_last_run(&*self.records, &key, now).await?;
            }
        }
        Ok(())
    }

    /// Lets the backend accept jobs of a job queue that was removed before. If that fails, [`JobQueues::enqueue`] does it.
    async fn accept_jobs(&self, settings: &JobQueueSettings) {
        if let Err(error) = self.job_store().create(settings).await {
            warn!(job_queue = %settings.id, %error, "a removed job queue is created again; the first request to enqueue jobs will fail");
        }
    }

    /// Removes what the backend has of a removed job queue. What stays is met only by a job queue of the same name and tenant.
    async fn remove_state(&self, settings: &JobQueueSettings) {
        let job_queue = &settings.id;
        match self.job_store().remove(settings).await {
            Ok(true) => {}
            Ok(false) => warn!(%job_queue, "jobs were accepted meanwhile: they wait for a job queue of this name"),
            Err(error) => warn!(%job_queue, %error, "results of a removed job queue stay in the backend"),
        }
    }

    /// Whether a job queue has jobs that are not finished, or dead letters.
    ///
    /// # Errors
    /// Returns the backend's error.
    pub async fn has_jobs(&self, settings: &JobQueueSettings) -> BackendResult<bool> {
        let stats = self.job_store().stats(settings).await?;
        Ok(stats.waiting + stats.running + stats.dead > 0)
    }

    /// The held orders that wait or are sent, in the job queues that the rules of a queue name: their visitors follow them in this
    /// queue.
    ///
    /// # Errors
    /// Returns the error of the store or the backend.
    pub async fn unfinished_orders(&self, queue: &Settings) -> Result<u64, StorageError> {
        let mut orders = 0;
        for job_queue in self.all().await?.iter().filter(|it| queue.holds_orders_in(&it.settings)) {
            let stats = self.job_store().stats(&job_queue.settings).await?;
            orders += stats.waiting + stats.running;
        }
        Ok(orders)
    }
}

fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Unavailable(format!("no randomness: {error}")))?;
    Ok(bytes)
}
