//! The job queues of a deployment: their settings, cached in this process, and the backend that holds their jobs.

#![expect(clippy::missing_errors_doc, reason = "functions without that section return the error of the store")]

mod changes;
mod dropped_events;
mod events;

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Notify};
use tracing::warn;
use vestibule_core::fields::joined;
use vestibule_core::hex;
use vestibule_core::jobs::{
    BackendResult, Detail, Enqueued, JobBackend, JobBackendError, JobId, JobQueueId, JobQueueSettings, JobState,
    JobStore, JobView, NewJob,
};
use vestibule_core::settings::{StoredJobQueue, StoredSettings, Tenant};
use vestibule_core::store::{SettingsStore, StoreError};
use vestibule_freeze::FreezeAwareInstant;
use vestibule_records::{DocumentKind, DocumentOutcome, EphemeralKey, EphemeralKind, RecordStore};

pub use self::changes::{JobQueuesWritten, StorageError};
use self::dropped_events::DroppedEvents;

/// Age at which the cache is read again.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// Minimum interval between reads for unknown job queues.
const UNKNOWN_AFTER: Duration = Duration::from_secs(1);

/// Minimum interval between reads after a failure: meanwhile nobody waits for a store that does not respond.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A cached job queue. It reads like the stored one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedJobQueue {
    /// What is stored.
    pub stored: StoredJobQueue,
    /// The tenant, whose origins say which handlers may be called; `None` if the store does not have it.
    pub tenant: Option<Arc<Tenant>>,
}

impl Deref for CachedJobQueue {
    type Target = StoredJobQueue;

    fn deref(&self) -> &StoredJobQueue {
        &self.stored
    }
}

#[derive(Default)]
struct Snapshot {
    read_at: Option<FreezeAwareInstant>,
    /// The revision of the settings; `None` if they have not been read.
    revision: Option<u64>,
    job_queues: HashMap<JobQueueId, Arc<CachedJobQueue>>,
}

impl Snapshot {
    fn is_younger_than(&self, age: Duration) -> bool {
        self.read_at.is_some_and(|at| at.elapsed() < age)
    }
}

/// Orders that could not be stored, and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrdersNotHeld {
    /// Those that were sent to the site at once.
    pub forwarded: u64,
    /// Those that were refused.
    pub refused: u64,
}

/// All job queues.
pub struct JobQueues {
    records: Arc<dyn RecordStore>,
    store: Arc<dyn SettingsStore>,
    backend: Arc<dyn JobBackend>,
    snapshot: ArcSwap<Snapshot>,
    reading: Mutex<()>,
    /// When the last read failed, and why; `None` if it succeeded.
    failed: parking_lot::Mutex<Option<(FreezeAwareInstant, StoreError)>>,
    wakes: parking_lot::Mutex<HashMap<JobQueueId, Arc<Notify>>>,
    dropped_events: parking_lot::Mutex<HashMap<JobQueueId, DroppedEvents>>,
    orders_not_held: parking_lot::Mutex<BTreeMap<JobQueueId, OrdersNotHeld>>,
}

impl JobQueues {
    /// Job queues whose settings are in `records`, with their tenants in `store` and their jobs in `backend`.
    pub fn new(records: Arc<dyn RecordStore>, store: Arc<dyn SettingsStore>, backend: Arc<dyn JobBackend>) -> Self {
        Self {
            records,
            store,
            backend,
            snapshot: ArcSwap::default(),
            reading: Mutex::default(),
            failed: parking_lot::Mutex::default(),
            wakes: parking_lot::Mutex::default(),
            dropped_events: parking_lot::Mutex::default(),
            orders_not_held: parking_lot::Mutex::default(),
        }
    }

    /// The backend that holds the jobs.
    pub fn backend(&self) -> &Arc<dyn JobBackend> {
        &self.backend
    }

    /// Where the jobs are recorded.
    pub fn job_store(&self) -> &dyn JobStore {
        self.backend.store()
    }

    /// The store of the settings.
    pub fn records(&self) -> &Arc<dyn RecordStore> {
        &self.records
    }

    /// Reads the settings of all job queues, by ID. Settings that can't be read are logged and left out.
    pub async fn stored(&self) -> Result<Vec<StoredJobQueue>, StoreError> {
        let mut stored = StoredSettings::default();
        self.read_into(&mut stored).await?;
        Ok(stored.job_queues)
    }

    /// Reads the settings of all job queues, by ID, and which of them cannot be read.
    pub async fn read_into(&self, stored: &mut StoredSettings) -> Result<(), StoreError> {
        for (id, document) in self.records.list_documents(DocumentKind::JobQueues).await? {
            match (parsed(&id, &document.text, document.revision), id.parse()) {
                (Some(found), _) => stored.job_queues.push(found),
                (None, Ok(id)) => stored.unreadable_job_queues.push((id, document.revision)),
                (None, Err(_)) => {}
            }
        }
        Ok(())
    }

    /// A job queue, at most five seconds old; `None` if there is none with this ID. If the store does not respond, the cached
    /// settings stay in effect.
    ///
    /// # Errors
    /// Returns the store's error if this job queue has not been read yet.
    pub async fn get(&self, id: &JobQueueId) -> Result<Option<Arc<CachedJobQueue>>, StoreError> {
        let known = self.snapshot.load().job_queues.get(id).cloned();
        let outcome = self.read_if_older(if known.is_some() { FRESH_FOR } else { UNKNOWN_AFTER }).await;
        match (outcome, known) {
            (Err(_), Some(known)) => Ok(Some(known)),
            (Err(error), None) => Err(error),
            (Ok(()), _) => Ok(self.snapshot.load().job_queues.get(id).cloned()),
        }
    }

    /// Whether a job queue with this ID was removed, and none was created since.
    pub async fn was_removed(&self, id: &JobQueueId) -> Result<bool, StoreError> {
        Ok(self.records.get_ephemeral(&removal_of(id)).await?.is_some())
    }

    /// A job queue as it is stored now; `None` if there is none with this ID.
    pub async fn read(&self, id: &JobQueueId) -> Result<Option<Arc<CachedJobQueue>>, StoreError> {
        self.read_if_older(Duration::ZERO).await?;
        Ok(self.snapshot.load().job_queues.get(id).cloned())
    }

    /// All job queues by ID, at most five seconds old. If the store does not respond, the cached settings stay in effect.
    ///
    /// # Errors
    /// Returns the store's error if no job queue has been read yet.
    pub async fn all(&self) -> Result<Vec<Arc<CachedJobQueue>>, StoreError> {
        let outcome = self.read_if_older(FRESH_FOR).await;
        let snapshot = self.snapshot.load_full();
        if snapshot.read_at.is_none() {
            outcome?;
        }
        let mut all: Vec<_> = snapshot.job_queues.values().cloned().collect();
        all.sort_by(|one, other| one.settings.id.cmp(&other.settings.id));
        Ok(all)
    }

    /// Enqueues jobs and wakes the worker of this process.
    ///
    /// # Errors
    /// Returns the backend's error. Unless it is [`JobBackendError::NotSent`], the jobs may or may not have been enqueued.
    pub async fn enqueue(&self, settings: &JobQueueSettings, jobs: Vec<NewJob>) -> BackendResult<Vec<Enqueued>> {
        let enqueued = self.backend.enqueue(settings, jobs).await?;
        // The backend has learned of a removal, but not of the job queue that was created since.
        if enqueued.contains(&Enqueued::Removed) && matches!(self.read(&settings.id).await, Ok(Some(_))) {
            let accepts = self.job_store().create(settings).await;
            let reason = accepts.map_or_else(|error| error.to_string(), |()| "it accepts jobs again".to_owned());
            return Err(JobBackendError::NotSent(format!("a job queue of this name was removed: {reason}")));
        }
        if enqueued.contains(&Enqueued::Accepted) {
            self.wake(&settings.id).notify_one();
        }
        Ok(enqueued)
    }

    /// The states of jobs that others equal. One whose result has expired was completed.
    ///
    /// # Errors
    /// Returns the backend's error.
    pub async fn states_of(
        &self,
        settings: &JobQueueSettings,
        jobs: &[JobId],
    ) -> BackendResult<HashMap<JobId, JobState>> {
        if jobs.is_empty() {
            return Ok(HashMap::new());
        }
        let views = self.job_store().get(settings, jobs, Detail::Status).await?;
        let state = |view: Option<JobView>| view.map_or(JobState::Completed, |view| view.state);
        Ok(jobs.iter().copied().zip(views.into_iter().map(state)).collect())
    }

    /// Counts an order that could not be stored.
    pub fn count_not_held(&self, job_queue: &JobQueueId, is_forwarded: bool) {
        let mut all = self.orders_not_held.lock();
        let counts = all.entry(job_queue.clone()).or_default();
        *(if is_forwarded { &mut counts.forwarded } else { &mut counts.refused }) += 1;
    }

    /// Orders that this process could not store, by the job queue that a rule names, and of each known job queue of orders.
    pub fn orders_not_held(&self) -> BTreeMap<JobQueueId, OrdersNotHeld> {
        let mut counts = self.orders_not_held.lock().clone();
        let snapshot = self.snapshot.load();
        for settings in snapshot.job_queues.values().map(|it| &it.settings).filter(|it| it.holds_orders()) {
            counts.entry(settings.id.clone()).or_default();
        }
        counts
    }

    /// What wakes the worker of this process when jobs of this job queue are enqueued.
    pub fn wake(&self, id: &JobQueueId) -> Arc<Notify> {
        let mut wakes = self.wakes.lock();
        wakes.entry(id.clone()).or_default().clone()
    }

    /// Reads all job queues, one call at a time, unless the cache is young enough, or a read has just failed.
    async fn read_if_older(&self, age: Duration) -> Result<(), StoreError> {
        if let Some(outcome) = self.recent_outcome(age) {
            return outcome;
        }
        let _reading = self.reading.lock().await;
        if let Some(outcome) = self.recent_outcome(age) {
            return outcome;
        }
        let outcome = self.read_all().await;
        let failed = outcome.as_ref().err().map(|error| (FreezeAwareInstant::now(), error.clone()));
        *self.failed.lock() = failed;
        outcome
    }

    /// The outcome of the last read if it is young enough; `None` if the job queues are to be read.
    fn recent_outcome(&self, age: Duration) -> Option<Result<(), StoreError>> {
        if self.snapshot.load().is_younger_than(age) {
            return Some(Ok(()));
        }
        let failed = self.failed.lock();
        let recent = failed.as_ref().filter(|(at, _)| at.elapsed() < AFTER_FAILURE.min(age));
        recent.map(|(_, error)| Err(error.clone()))
    }

    /// Reads the settings if they have changed, and the tenants.
    async fn read_all(&self) -> Result<(), StoreError> {
        let read_at = Some(FreezeAwareInstant::now());
        // Before the settings: one that is older than they are only has them read again.
        let revision = Some(self.records.documents_revision(DocumentKind::JobQueues).await?);
        let known = self.snapshot.load_full();
        let stored = if known.revision == revision {
            known.job_queues.values().map(|it| it.stored.clone()).collect()
        } else {
            self.with_lost(self.stored().await?).await?
        };
        let tenants = if stored.is_empty() { Vec::new() } else { self.store.tenants().await? };
        let tenants: HashMap<_, _> = tenants.into_iter().map(|tenant| (tenant.id.clone(), Arc::new(tenant))).collect();
        let cached = |stored: StoredJobQueue| {
            let tenant = tenants.get(&stored.settings.tenant).cloned();
            (stored.settings.id.clone(), Arc::new(CachedJobQueue { stored, tenant }))
        };
        let job_queues = stored.into_iter().map(cached).collect();
        self.snapshot.store(Arc::new(Snapshot { read_at, revision, job_queues }));
        Ok(())
    }

    /// Writes job queues back that the store has lost: this process knows them, and nobody has removed them. Without them, held orders
    /// would be sent without their pace, and twice. Of several processes, that with the latest settings wins. Returns all job queues.
    async fn with_lost(&self, stored: Vec<StoredJobQueue>) -> Result<Vec<StoredJobQueue>, StoreError> {
        let mut is_changed = false;
        for cached in self.snapshot.load_full().job_queues.values() {
            let known = &cached.stored;
            let found = stored.iter().find(|it| it.settings.id == known.settings.id);
            let is_older = |found: &StoredJobQueue| found.restored_from.is_some_and(|it| it < known.known_revision());
            if found.is_some_and(|found| !is_older(found)) || self.was_removed(&known.settings.id).await? {
                continue;
            }
            let (id, text) = (known.settings.id.as_str(), known.to_restored_document().to_string());
            let over = found.map_or(0, |found| found.revision);
            let written = self.records.put_document(DocumentKind::JobQueues, id, &text, over).await?;
            if let (DocumentOutcome::Stored(_), None) = (written, found) {
                warn!(job_queue = id, "job queue missing in the store; settings restored");
            }
            if let Some(tenant) = &cached.tenant {
                self.store.replace_tenant(None, tenant).await?;
            }
            // Or another process was faster, or its settings can't be read.
            is_changed = true;
        }
        if is_changed { self.stored().await } else { Ok(stored) }
    }
}

/// Marks a job queue as removed, so that nobody takes the removal for a loss. It outlasts what processes know, and messages of the job
/// queue.
fn removal_of(id: &JobQueueId) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::RemovedJobQueue, hex(&Sha256::digest(id.as_str())[..16]))
}

fn parsed(id: &str, text: &str, revision: u64) -> Option<StoredJobQueue> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    match StoredJobQueue::from_document(&value, revision) {
        Ok(stored) => Some(stored),
        Err(errors) => {
            let errors = joined(&errors);
            warn!(
                job_queue = id,
                errors, "the stored settings of this job queue cannot be read; its jobs are kept and not run"
            );
            None
        }
    }
}

#[cfg(test)]
mod tests;
