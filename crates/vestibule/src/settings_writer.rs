//! Writes the settings file of `vestibule serve` to the store, at startup and again on SIGHUP.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::sync::Mutex;
use tokio::time::sleep;
use tracing::{error, info, warn};
use vestibule_core::fields::joined;
use vestibule_core::jobs::JobQueueId;
use vestibule_core::settings::{Document, Plan, PlanOptions, StoredSettings, Unlisted};
use vestibule_core::{QueueId, SaleKeys, Store, StoreError};
use vestibule_runtime::{Directory, JobQueues, readable_settings};

use crate::last_applied_settings::{LastAppliedSettings, log_locked, log_plan};
use crate::serve_options::ServeOptions;
use crate::settings_file::read_settings;
use crate::state_file::KnownQueues;

/// Writes the settings to the store, with retries, and again on SIGHUP.
pub(crate) async fn watch_settings(
    options: ServeOptions,
    writer: SettingsWriter,
    mut document: Document,
    mut hangup: Signal,
) {
    // Queues that are no longer in the file. Those with sessions stay until a later reload.
    let mut removed = Vec::new();
    loop {
        removed = writer.write_with_retries(&document, &removed).await;
        hangup.recv().await;
        let Some(path) = &options.settings else { continue };
        match read_settings(path, options.origin.as_ref()) {
            // Editors leave an empty file for a moment while they save.
            Ok(next) if next.queues.is_empty() && !document.queues.is_empty() => {
                error!("the settings file has no queues; the current settings stay in effect: {}", path.display());
            }
            Ok(next) => {
                let has = |id: &QueueId| next.queues.iter().any(|queue| queue.id == *id);
                removed.extend(document.queues.iter().map(|queue| queue.id.clone()));
                removed.retain(|id| !has(id));
                document = next;
                info!(queues = document.queues.len(), "settings reloaded");
            }
            Err(invalid) => error!("the settings file is invalid; the current settings stay in effect:\n{invalid}"),
        }
    }
}

/// Why the settings file is not in the store yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("nothing was written: {0}")]
    Rejected(String),
    #[error("queue {0} was changed by someone else at the same time")]
    Conflict(QueueId),
    #[error("job queue {0} was changed by someone else at the same time")]
    JobQueueConflict(JobQueueId),
}

/// Writes the settings file to the store.
pub(crate) struct SettingsWriter {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) jobs: Arc<JobQueues>,
    pub(crate) last_applied: LastAppliedSettings,
    pub(crate) known: Option<KnownQueues>,
    pub(crate) sale_keys: SaleKeys,
    /// What the store had before a write that failed, for the audit log.
    pub(crate) previous: Mutex<Option<StoredSettings>>,
}

impl SettingsWriter {
    /// Returns those of the `removed` queues that stay because they have sessions.
    pub(crate) async fn write(&self, file: &Document, removed: &[QueueId]) -> Result<Vec<QueueId>, WriteError> {
        if let Some(known) = &self.known {
            known.restore(&*self.store, &file.queues).await?;
        }
        let unlisted = Unlisted::RemoveOnly(removed);
        let mut stored = readable_settings(&*self.store, file, unlisted).await?;
        stored.job_queues = self.jobs.stored().await?;
        let last = self.last_applied.read().await?;
        let now = self.last_applied.now().await?;
        let options = PlanOptions {
            unlisted,
            now: Some(now),
            last_applied: Some(&last),
            sale_keys: Some(&self.sale_keys),
            ..PlanOptions::default()
        };
        let mut plan = Plan::of(&stored, file.clone(), &options);
        if !plan.invalid.is_empty() {
            return Err(WriteError::Rejected(joined(&plan.invalid)));
        }
        let locked = plan.keep_locked(&stored, now);
        plan.settle_removed_beacons(&stored, now);
        log_plan(&plan);
        log_locked(&plan, &locked);
        // After a failed write, the audit events compare with what was there before the first attempt.
        let mut previous = self.previous.lock().await;
        let before = previous.take().unwrap_or(stored);
        let left = match self.execute(&plan).await {
            Ok(left) => left,
            Err(error) => {
                *previous = Some(before);
                return Err(error);
            }
        };
        if let Some(known) = &self.known {
            known.save(&file.queues);
        }
        self.last_applied.audit(&*self.store, &before, &plan, &left).await;
        self.last_applied.save(file, &plan).await?;
        for id in removed.iter().filter(|id| !left.contains(id)) {
            self.last_applied.forget(id).await?;
        }
        self.write_job_queues(&plan).await?;
        Ok(left)
    }

    async fn write_job_queues(&self, plan: &Plan) -> Result<(), WriteError> {
        let written = self.jobs.execute(&plan.job_queues).await?;
        for settings in &written.written {
            info!(job_queue = %settings.id, "settings written");
        }
        for id in &written.not_empty {
            warn!(job_queue = %id, "the settings no longer name this job queue; it stays, as it has jobs or dead letters");
        }
        self.last_applied.audit_job_queues(plan, &written).await;
        self.last_applied.forget_job_queues(&written.removed).await?;
        match written.skipped.into_iter().next() {
            Some(job_queue) => Err(WriteError::JobQueueConflict(job_queue)),
            None => Ok(()),
        }
    }

    async fn execute(&self, plan: &Plan) -> Result<Vec<QueueId>, WriteError> {
        if let Some(queue) = self.directory.execute(plan).await?.into_iter().next() {
            return Err(WriteError::Conflict(queue));
        }
        Ok(self.directory.remove_unused(&*self.store, &plan.removed).await?)
    }

    async fn write_with_retries(&self, file: &Document, removed: &[QueueId]) -> Vec<QueueId> {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.write(file, removed).await {
                Ok(left) => return left,
                Err(error @ WriteError::Rejected(_)) => {
                    error!(%error, "the settings file is not applied");
                    return removed.to_vec();
                }
                Err(error) => warn!(%error, "cannot write the settings to the store; retrying"),
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}
