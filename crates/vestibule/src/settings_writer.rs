//! Writes the settings file of `vestibule serve` to the store, at startup and again on SIGHUP.

use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::sync::Mutex;
use tokio::time::sleep;
use tracing::{error, info, warn};
use vestibule_core::fields::joined;
use vestibule_core::jobs::JobQueueId;
use vestibule_core::settings::{Document, Plan, PlanOptions, Settings, StoredSettings, Unlisted, UnreadableQueue};
use vestibule_core::{Micros, QueueId, SaleKeys, Store, StoreError, TenantId};
use vestibule_runtime::{Directory, JobQueues, NotWritten, StorageError, stored_settings};

use crate::last_applied_settings::{LastAppliedSettings, log_locked, log_plan};
use crate::serve_options::ServeOptions;
use crate::settings_file::read_settings;
use crate::state_file::KnownQueues;

/// Writes the settings to the store, with retries unless that is done, and again on SIGHUP.
pub(crate) async fn watch_settings(
    options: ServeOptions,
    writer: SettingsWriter,
    mut document: Document,
    mut hangup: Signal,
    is_written: bool,
) {
    let (mut is_ended, mut unlisted) = (is_written, UnlistedQueues::at_start(&options));
    loop {
        if is_ended {
            hangup.recv().await;
        } else {
            match writer.write_with_retries(&document, unlisted, &mut hangup).await {
                Written::Hangup => {}
                ended => {
                    is_ended = true;
                    if ended == Written::All && unlisted == UnlistedQueues::Remove {
                        info!(queues = document.queues.len(), "settings reloaded");
                    }
                    continue;
                }
            }
        }
        let Some(path) = &options.settings else {
            info!("SIGHUP has no effect: there is no settings file to read again");
            continue;
        };
        match read_settings(path, options.origin.as_ref()) {
            // Editors leave an empty file for a moment while they save.
            Ok(next) if next.queues.is_empty() && !document.queues.is_empty() => {
                error!("the settings file has no queues; the current settings stay in effect: {}", path.display());
            }
            // It also replaces a document that is not written yet.
            Ok(next) => (document, unlisted, is_ended) = (next, UnlistedQueues::Remove, false),
            Err(invalid) => error!("the settings file is invalid; the current settings stay in effect:\n{invalid}"),
        }
    }
}

/// How the attempts to write a document ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    /// The settings are in the store, except those that stay because they cannot be read.
    All,
    /// They are rejected.
    Rejected,
    /// They are not in the store yet, and SIGHUP came: the file may be another one.
    Hangup,
}

/// What happens to queues that the settings file named when it was last applied, and does not name any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnlistedQueues {
    /// They stay: there is no settings file.
    Keep,
    /// They stay, and the log says so: at a start the file may be another one.
    Report,
    /// They are removed, except those with sessions.
    Remove,
}

impl UnlistedQueues {
    pub(crate) const fn at_start(options: &ServeOptions) -> Self {
        if options.settings.is_some() { Self::Report } else { Self::Keep }
    }
}

/// Why the settings file is not in the store yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    JobQueues(#[from] StorageError),
    #[error("nothing was written: {0}")]
    Rejected(String),
    #[error("tenant {0} was changed by someone else at the same time")]
    TenantConflict(TenantId),
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
    /// Writes the settings that have changed in the file since it was last applied.
    pub(crate) async fn write(&self, file: &Document, unlisted_queues: UnlistedQueues) -> Result<(), WriteError> {
        if let Some(known) = &self.known {
            known.restore(&*self.store, &file.queues).await?;
        }
        let last = self.last_applied.read().await?;
        let is_listed = |id: &QueueId| file.queues.iter().any(|queue| queue.id == *id);
        let unlisted_ids = || last.queues.iter().map(|queue| &queue.id).filter(|id| !is_listed(id)).cloned();
        let (removed, removed_job_queues): (Vec<QueueId>, Vec<JobQueueId>) = match unlisted_queues {
            UnlistedQueues::Keep | UnlistedQueues::Report => (Vec::new(), Vec::new()),
            UnlistedQueues::Remove => {
                (unlisted_ids().collect(), last.job_queues.iter().map(|it| it.id.clone()).collect())
            }
        };
        let unlisted = Unlisted::RemoveOnly(&removed);
        let mut stored = stored_settings(&*self.store, file, unlisted).await?;
        self.jobs.read_into(&mut stored).await?;
        let all = file;
        let file = &without_unreadable(file, &stored);
        let now = self.last_applied.now().await?;
        let options = PlanOptions {
            unlisted,
            now: Some(now),
            last_applied: Some(&last),
            removed_job_queues: &removed_job_queues,
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
        let before = previous.take().unwrap_or_else(|| stored.clone());
        let left = match self.execute(&stored, &plan).await {
            Ok(left) => left,
            Err(error) => {
                *previous = Some(before);
                return Err(error);
            }
        };
        if let Some(known) = &self.known {
            known.save(&all.queues);
        }
        self.last_applied.audit(&*self.store, &before, &plan, &left).await;
        self.last_applied.save(file, &plan).await?;
        for id in removed.iter().filter(|id| !left.contains(id)) {
            self.last_applied.forget(id).await?;
            if plan.removed.contains(id) {
                info!(queue = %id, "removed, as the settings no longer name it");
            }
        }
        if unlisted_queues == UnlistedQueues::Report {
            self.report(unlisted_ids()).await?;
        }
        self.write_job_queues(&mut plan).await?;
        self.report_job_queues(&last, all, &stored, unlisted_queues).await?;
        self.load_other_queues(now).await;
        Ok(())
    }

    /// Loads the queues that the file does not name: they are served, too, and the summary of a start names them.
    async fn load_other_queues(&self, now: Micros) {
        if let Err(error) = self.directory.refresh_readable().await {
            warn!(%error, "queue index could not be read; other queues of the store are loaded later");
        }
        self.log_missing_sale_keys(now);
    }

    /// Logs draws and invitations whose stored sale key this process does not have any more: no code of such a batch is valid, and
    /// such a draw cannot take place here.
    fn log_missing_sale_keys(&self, now: Micros) {
        let is_missing = |key: &str| self.sale_keys.ids().all(|id| id != key);
        for queue in self.directory.queues() {
            for (what, key) in queue.settings.needed_sale_keys(now).filter(|(_, key)| is_missing(key)) {
                warn!(queue = %queue.settings.id, what, key, "--sale-keys lacks a sale key that is in use");
            }
        }
    }

    async fn report(&self, unlisted: impl Iterator<Item = QueueId>) -> Result<(), WriteError> {
        for id in unlisted {
            match self.store.settings(&id).await {
                Ok(Some(Settings { hosts, .. })) => warn!(
                    queue = %id,
                    hosts = %hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                    "the settings no longer name this queue; it stays, with its hosts, until SIGHUP or the backoffice removes it"
                ),
                // It was removed in the backoffice.
                Ok(None) => self.last_applied.forget(&id).await?,
                Err(error) => {
                    warn!(queue = %id, %error, "the settings no longer name this queue, and the stored ones cannot be read");
                }
            }
        }
        Ok(())
    }

    /// Reports job queues that the file had when it was last applied and does not name any more, and forgets those that are not stored:
    /// they were removed in the backoffice.
    async fn report_job_queues(
        &self,
        last: &Document,
        file: &Document,
        stored: &StoredSettings,
        unlisted: UnlistedQueues,
    ) -> Result<(), WriteError> {
        let is_listed = |id: &JobQueueId| file.job_queues.iter().any(|it| it.id == *id);
        for id in last.job_queues.iter().map(|it| &it.id).filter(|id| !is_listed(id)) {
            let is_unreadable = stored.unreadable_job_queues.iter().any(|(unreadable, _)| unreadable == id);
            if !is_unreadable && stored.job_queues.iter().all(|it| it.settings.id != *id) {
                self.last_applied.forget_job_queues(std::slice::from_ref(id)).await?;
            } else if unlisted == UnlistedQueues::Report {
                warn!(
                    job_queue = %id,
                    "the settings no longer name this job queue; it stays until SIGHUP or the backoffice removes it"
                );
            }
        }
        Ok(())
    }

    /// Keeps job queues in which rules of any stored queue hold orders: also rules of queues that the backoffice has created, and of
    /// queues that were to be removed or changed and were not.
    async fn keep_job_queues_in_use(&self, plan: &mut Plan) -> Result<(), WriteError> {
        if plan.job_queues.removed.is_empty() {
            return Ok(());
        }
        let stored = stored_settings(&*self.store, &Document::default(), Unlisted::Keep).await?;
        for warning in plan.keep_job_queues_in_use(&stored) {
            warn!(%warning, "a job queue is not removed");
        }
        Ok(())
    }

    async fn write_job_queues(&self, plan: &mut Plan) -> Result<(), WriteError> {
        self.keep_job_queues_in_use(plan).await?;
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

    async fn execute(&self, stored: &StoredSettings, plan: &Plan) -> Result<Vec<QueueId>, WriteError> {
        let NotWritten { tenants, queues } = self.directory.execute(stored, plan).await?;
        if let Some(tenant) = tenants.into_iter().next() {
            return Err(WriteError::TenantConflict(tenant));
        }
        if let Some(queue) = queues.into_iter().next() {
            return Err(WriteError::Conflict(queue));
        }
        let mut left = self.with_orders(stored, &plan.removed).await?;
        let removed: Vec<QueueId> = plan.removed.iter().filter(|id| !left.contains(id)).cloned().collect();
        left.extend(self.directory.remove_unused(&*self.store, &removed).await?);
        Ok(left)
    }

    /// Those of the queues that have held orders which are not finished. They stay: their visitors could not follow the orders.
    async fn with_orders(&self, stored: &StoredSettings, removed: &[QueueId]) -> Result<Vec<QueueId>, WriteError> {
        let mut found = Vec::new();
        for queue in removed.iter().filter_map(|id| stored.queue(id)) {
            let orders = self.jobs.unfinished_orders(queue).await?;
            if orders > 0 {
                warn!(queue = %queue.id, orders, "the settings no longer name this queue; it stays, as its held orders are not finished");
                found.push(queue.id.clone());
            }
        }
        Ok(found)
    }

    /// Writes the settings until that succeeds, the settings are rejected or SIGHUP comes.
    async fn write_with_retries(&self, file: &Document, unlisted: UnlistedQueues, hangup: &mut Signal) -> Written {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.write(file, unlisted).await {
                Ok(()) => return Written::All,
                Err(error @ WriteError::Rejected(_)) => {
                    error!(%error, "the settings file is not applied");
                    return Written::Rejected;
                }
                Err(error) => warn!(%error, "cannot write the settings to the store; retrying"),
            }
            // Between attempts only: an interrupted attempt could leave changes that are not audited.
            tokio::select! {
                () = sleep(pause) => {}
                _ = hangup.recv() => return Written::Hangup,
            }
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

/// The file without queues and job queues whose stored settings cannot be read: a newer version may have written them. They are
/// logged and stay, and the others are written.
fn without_unreadable(file: &Document, stored: &StoredSettings) -> Document {
    let mut file = file.clone();
    let stays = "it keeps its stored settings, which cannot be read; `vestibule apply` replaces them";
    for UnreadableQueue { id, reason, .. } in &stored.unreadable {
        if file.queues.iter().any(|queue| queue.id == *id) {
            error!(queue = %id, reason, "{stays}");
        }
    }
    file.queues.retain(|queue| stored.unreadable.iter().all(|it| it.id != queue.id));
    file.job_queues.retain(|job_queue| {
        let is_readable = stored.unreadable_job_queues.iter().all(|(id, _)| *id != job_queue.id);
        if !is_readable {
            error!(job_queue = %job_queue.id, "{stays}");
        }
        is_readable
    });
    file
}
