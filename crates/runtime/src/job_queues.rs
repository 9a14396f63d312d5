//! The job queues of a deployment: their settings, cached in this process, and the backend that holds their jobs.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Notify};
use tracing::warn;
use vestibule_core::fields::joined;
use vestibule_core::hex;
use vestibule_core::jobs::{
    Enqueued, JobBackend, JobBackendError, JobQueueId, JobQueueSettings, JobTargetKind, NewJob, SigningSecret,
    WebhookEvent,
};
use vestibule_core::settings::{JobQueueChange, JobQueuePlan, RetiredSecret, StoredJobQueue, Tenant};
use vestibule_core::store::{SettingsStore, StoreError};
use vestibule_freeze::FreezeAwareInstant;
use vestibule_records::{DocumentChange, DocumentKind, DocumentOutcome, EphemeralKey, EphemeralKind, RecordStore};

use crate::schedule_runs::{schedule_key, set_last_run};

/// Age at which the cache is read again.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// Minimum interval between reads for unknown job queues.
const UNKNOWN_AFTER: Duration = Duration::from_secs(1);

/// Minimum interval between reads after a failure: meanwhile nobody waits for a store that does not respond.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How long it is known that a job queue was removed, in seconds: longer than SQS keeps its messages.
const REMOVAL_TTL: u64 = 30 * 86_400;

/// A cached job queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedJobQueue {
    /// The settings.
    pub settings: JobQueueSettings,
    /// Revision of the settings.
    pub revision: u64,
    /// The signing secret before the last rotation.
    pub retired_secret: Option<RetiredSecret>,
    /// The revision that these settings had before the store lost them.
    pub restored_from: Option<u64>,
    /// The tenant, whose origins say which handlers may be called; `None` if the store does not have it.
    pub tenant: Option<Arc<Tenant>>,
}

impl CachedJobQueue {
    fn to_stored(&self) -> StoredJobQueue {
        let Self { settings, revision, retired_secret, restored_from, .. } = self.clone();
        StoredJobQueue { settings, revision, retired_secret, restored_from }
    }
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

/// Why a webhook event is not enqueued.
#[derive(Debug, thiserror::Error)]
enum EventDropped {
    #[error(transparent)]
    Backend(#[from] JobBackendError),
    #[error("the job queue is full")]
    Full,
    #[error("the backend did not store it, or did not confirm it")]
    NotStored,
    #[error("its ID is too long")]
    Id,
    #[error("too many events wait")]
    TooMany,
}

#[derive(Default)]
struct Snapshot {
    read_at: Option<FreezeAwareInstant>,
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
    failed: std::sync::Mutex<Option<(FreezeAwareInstant, StoreError)>>,
    wakes: std::sync::Mutex<HashMap<JobQueueId, Arc<Notify>>>,
    dropped_events: std::sync::Mutex<HashMap<JobQueueId, u64>>,
    orders_not_held: std::sync::Mutex<BTreeMap<JobQueueId, OrdersNotHeld>>,
}

impl JobQueues {
    /// Job queues whose settings are in `records`, with their tenants in `store` and their jobs in `backend`.
    #[must_use]
    pub fn new(records: Arc<dyn RecordStore>, store: Arc<dyn SettingsStore>, backend: Arc<dyn JobBackend>) -> Self {
        Self {
            records,
            store,
            backend,
            snapshot: ArcSwap::default(),
            reading: Mutex::default(),
            failed: std::sync::Mutex::default(),
            wakes: std::sync::Mutex::default(),
            dropped_events: std::sync::Mutex::default(),
            orders_not_held: std::sync::Mutex::default(),
        }
    }

    /// The backend that holds the jobs.
    #[must_use]
    pub fn backend(&self) -> &Arc<dyn JobBackend> {
        &self.backend
    }

    /// The store of the settings.
    #[must_use]
    pub fn records(&self) -> &Arc<dyn RecordStore> {
        &self.records
    }

    /// Reads the settings of all job queues, by ID. Settings that can't be read are logged and left out.
    ///
    /// # Errors
    /// Returns the store's error.
    pub async fn stored(&self) -> Result<Vec<StoredJobQueue>, StoreError> {
        let documents = self.records.list_documents(DocumentKind::JobQueues).await?;
        Ok(documents.into_iter().filter_map(|(id, document)| parsed(&id, &document.text, document.revision)).collect())
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
    ///
    /// # Errors
    /// Returns the store's error.
    pub async fn was_removed(&self, id: &JobQueueId) -> Result<bool, StoreError> {
        Ok(self.records.get_ephemeral(&removal_of(id)).await?.is_some())
    }

    /// A job queue as it is stored now; `None` if there is none with this ID.
    ///
    /// # Errors
    /// Returns the store's error.
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
    /// Returns the backend's error. The jobs may or may not have been enqueued.
    pub async fn enqueue(
        &self,
        settings: &JobQueueSettings,
        jobs: Vec<NewJob>,
    ) -> Result<Vec<Enqueued>, JobBackendError> {
        let enqueued = self.backend.enqueue(settings, jobs).await?;
        if enqueued.contains(&Enqueued::Accepted) {
            self.wake(&settings.id).notify_one();
        }
        Ok(enqueued)
    }

    /// Enqueues a webhook event in the job queues that deliver it. An event that can't be enqueued is logged, counted, and not
    /// tried again (W1).
    pub async fn publish(&self, event: &WebhookEvent) {
        let all = match self.all().await {
            Ok(all) => all,
            Err(error) => {
                let (tenant, event_type) = (&event.tenant, event.event_type.as_str());
                warn!(%error, %tenant, event_type, "a webhook event is dropped: job queues can't be read");
                return;
            }
        };
        for settings in all.iter().map(|it| &it.settings).filter(|it| it.delivers(event)) {
            if let Err(why) = self.enqueue_event(settings, event).await {
                self.drop_event(settings, event, &why);
            }
        }
    }

    /// Drops a webhook event because too many wait.
    pub fn discard(&self, event: &WebhookEvent) {
        let snapshot = self.snapshot.load();
        for settings in snapshot.job_queues.values().map(|it| &it.settings).filter(|it| it.delivers(event)) {
            self.drop_event(settings, event, &EventDropped::TooMany);
        }
    }

    async fn enqueue_event(&self, settings: &JobQueueSettings, event: &WebhookEvent) -> Result<(), EventDropped> {
        let job = NewJob::of_webhook_event(&settings.id, event).ok_or(EventDropped::Id)?;
        match self.enqueue(settings, vec![job]).await?.first() {
            Some(Enqueued::Accepted | Enqueued::Duplicate(_)) => Ok(()),
            Some(Enqueued::Full | Enqueued::TooMany) | None => Err(EventDropped::Full),
            Some(Enqueued::NotSent | Enqueued::Unconfirmed) => Err(EventDropped::NotStored),
        }
    }

    fn drop_event(&self, settings: &JobQueueSettings, event: &WebhookEvent, why: &EventDropped) {
        warn!(job_queue = %settings.id, event_type = event.event_type.as_str(), %why, "a webhook event is dropped");
        let mut dropped = self.dropped_events.lock().unwrap_or_else(PoisonError::into_inner);
        *dropped.entry(settings.id.clone()).or_default() += 1;
    }

    /// Number of webhook events that this process has dropped, of each known job queue that delivers events.
    #[must_use]
    pub fn dropped_events(&self) -> BTreeMap<JobQueueId, u64> {
        let dropped = self.dropped_events.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = self.snapshot.load();
        let delivering = snapshot.job_queues.values().map(|it| &it.settings).filter(|it| it.webhook.is_some());
        delivering.map(|it| (it.id.clone(), dropped.get(&it.id).copied().unwrap_or_default())).collect()
    }

    /// Counts an order that could not be stored.
    pub fn count_not_held(&self, job_queue: &JobQueueId, is_forwarded: bool) {
        let mut all = self.orders_not_held.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = all.entry(job_queue.clone()).or_default();
        *(if is_forwarded { &mut counts.forwarded } else { &mut counts.refused }) += 1;
    }

    /// Orders that this process could not store, by the job queue that a rule names, and of each known job queue of orders.
    #[must_use]
    pub fn orders_not_held(&self) -> BTreeMap<JobQueueId, OrdersNotHeld> {
        let mut counts = self.orders_not_held.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let snapshot = self.snapshot.load();
        for settings in snapshot.job_queues.values().map(|it| &it.settings).filter(|it| it.holds_orders()) {
            counts.entry(settings.id.clone()).or_default();
        }
        counts
    }

    /// What wakes the worker of this process when jobs of this job queue are enqueued.
    #[must_use]
    pub fn wake(&self, id: &JobQueueId) -> Arc<Notify> {
        let mut wakes = self.wakes.lock().unwrap_or_else(PoisonError::into_inner);
        wakes.entry(id.clone()).or_default().clone()
    }

    /// Writes and removes job queues as planned. A job queue with jobs or dead letters is not removed.
    ///
    /// # Errors
    /// Returns the store's error. Plan again to write the rest.
    pub async fn execute(&self, plan: &JobQueuePlan) -> Result<JobQueuesWritten, StoreError> {
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

    /// Removes what the backend has of a removed job queue. What stays is met only by a job queue of the same name and tenant.
    async fn remove_state(&self, settings: &JobQueueSettings) {
        let job_queue = &settings.id;
        match self.backend.remove(settings).await {
            Ok(true) => {}
            Ok(false) => warn!(%job_queue, "jobs were accepted meanwhile: they wait for a job queue of this name"),
            Err(error) => warn!(%job_queue, %error, "results of a removed job queue stay in the backend"),
        }
    }

    /// Whether a job queue has jobs that are not finished, or dead letters.
    ///
    /// # Errors
    /// Returns the backend's error.
    pub async fn has_jobs(&self, settings: &JobQueueSettings) -> Result<bool, StoreError> {
        let stats = self.backend.stats(settings).await.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(stats.waiting + stats.running + stats.dead > 0)
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
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        outcome
    }

    /// The outcome of the last read if it is young enough; `None` if the job queues are to be read.
    fn recent_outcome(&self, age: Duration) -> Option<Result<(), StoreError>> {
        if self.snapshot.load().is_younger_than(age) {
            return Some(Ok(()));
        }
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = failed.as_ref().filter(|(at, _)| at.elapsed() < AFTER_FAILURE.min(age));
        recent.map(|(_, error)| Err(error.clone()))
    }

    async fn read_all(&self) -> Result<(), StoreError> {
        let read_at = Some(FreezeAwareInstant::now());
        let stored = self.with_lost(self.stored().await?).await?;
        let tenants = if stored.is_empty() { Vec::new() } else { self.store.tenants().await? };
        let tenants: HashMap<_, _> = tenants.into_iter().map(|tenant| (tenant.id.clone(), Arc::new(tenant))).collect();
        let cached = |StoredJobQueue { settings, revision, retired_secret, restored_from }: StoredJobQueue| {
            let tenant = tenants.get(&settings.tenant).cloned();
            let cached = CachedJobQueue { settings, revision, retired_secret, restored_from, tenant };
            (cached.settings.id.clone(), Arc::new(cached))
        };
        let job_queues = stored.into_iter().map(cached).collect();
        self.snapshot.store(Arc::new(Snapshot { read_at, job_queues }));
        Ok(())
    }

    /// Writes job queues back that the store has lost: this process knows them, and nobody has removed them. Without them, held orders
    /// would be sent without their pace, and twice. Of several processes, that with the latest settings wins. Returns all job queues.
    async fn with_lost(&self, stored: Vec<StoredJobQueue>) -> Result<Vec<StoredJobQueue>, StoreError> {
        let mut is_changed = false;
        for cached in self.snapshot.load_full().job_queues.values() {
            let known = cached.to_stored();
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
            if let Some(tenant) = &cached.tenant
                && self.store.tenants().await?.iter().all(|it| it.id != tenant.id)
            {
                self.store.put_tenant(tenant).await?;
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
                errors, "the stored settings of this job queue can't be read; its jobs are kept and not run"
            );
            None
        }
    }
}

fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Unavailable(format!("no randomness: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use async_trait::async_trait;
    use serde_json::json;
    use vestibule_core::fields::Object as _;
    use vestibule_core::jobs::{JobId, Payload, WebhookEventType, WebhookSubject};
    use vestibule_core::settings::Settings;
    use vestibule_core::settings::{Document, Plan, PlanOptions, StoredSettings, Unlisted};
    use vestibule_core::store::{PutMode, PutOutcome};
    use vestibule_core::{Micros, QueueId, SystemClock, TenantId};
    use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};

    use super::*;

    fn job_queue(id: &str) -> JobQueueSettings {
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
        JobQueueSettings::from_json(&json!({ "id": id, "tenant": "acme", "target": target })).unwrap()
    }

    fn delivering(id: &str, more: &Value) -> JobQueueSettings {
        let mut value = job_queue(id).to_value();
        value["webhook"] = json!({ "event_types": ["queue.reset"] });
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        JobQueueSettings::from_json(&value).unwrap()
    }

    async fn fixture() -> JobQueues {
        let store = Arc::new(MemoryStore::new(SystemClock::new()));
        store.put_tenant(&Tenant::from_value(&json!({ "id": "acme", "name": "Acme" })).unwrap()).await.unwrap();
        let records = Arc::new(MemoryRecords::new(SystemClock::new()));
        JobQueues::new(records, store, Arc::new(MemoryJobs::new(SystemClock::new())))
    }

    async fn plan(job_queues: &JobQueues, wanted: &[JobQueueSettings]) -> JobQueuePlan {
        let stored = StoredSettings { job_queues: job_queues.stored().await.unwrap(), ..StoredSettings::default() };
        let document = Document { job_queues: wanted.to_vec(), ..Document::default() };
        let options = PlanOptions { unlisted: Unlisted::Remove, ..PlanOptions::default() };
        Plan::of(&stored, document, &options).job_queues
    }

    /// A store that counts how often tenants are read, and fails on request.
    struct Tenants {
        kept: MemoryStore,
        reads: AtomicUsize,
        is_away: AtomicBool,
    }

    #[async_trait]
    impl SettingsStore for Tenants {
        async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let is_away = self.is_away.load(Ordering::Relaxed);
            if is_away { Err(StoreError::Unavailable("away".to_owned())) } else { self.kept.tenants().await }
        }

        async fn put_settings(&self, settings: &Settings, mode: PutMode) -> Result<PutOutcome, StoreError> {
            self.kept.put_settings(settings, mode).await
        }

        async fn settings(&self, queue: &QueueId) -> Result<Option<Settings>, StoreError> {
            self.kept.settings(queue).await
        }

        async fn queues(&self) -> Result<Vec<(QueueId, u64)>, StoreError> {
            self.kept.queues().await
        }

        async fn remove_queue(&self, queue: &QueueId) -> Result<(), StoreError> {
            self.kept.remove_queue(queue).await
        }

        async fn put_tenant(&self, tenant: &Tenant) -> Result<(), StoreError> {
            self.kept.put_tenant(tenant).await
        }

        async fn remove_tenant(&self, tenant: &TenantId) -> Result<(), StoreError> {
            self.kept.remove_tenant(tenant).await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn cached_settings_are_returned_at_once_while_the_store_is_away() {
        let kept = MemoryStore::new(SystemClock::new());
        let store = Arc::new(Tenants { kept, reads: AtomicUsize::default(), is_away: AtomicBool::default() });
        let records = Arc::new(MemoryRecords::new(SystemClock::new()));
        let job_queues = JobQueues::new(records, store.clone(), Arc::new(MemoryJobs::new(SystemClock::new())));
        let mails = job_queue("mails");
        job_queues.execute(&plan(&job_queues, std::slice::from_ref(&mails)).await).await.unwrap();
        store.is_away.store(true, Ordering::Relaxed);
        tokio::time::advance(FRESH_FOR).await;
        let before = store.reads.load(Ordering::Relaxed);
        for _ in 0..20 {
            assert!(job_queues.get(&mails.id).await.unwrap().is_some());
        }
        assert_eq!(store.reads.load(Ordering::Relaxed), before + 1, "the others do not try again");
        store.is_away.store(false, Ordering::Relaxed);
        tokio::time::advance(AFTER_FAILURE).await;
        job_queues.get(&mails.id).await.unwrap();
        assert_eq!(store.reads.load(Ordering::Relaxed), before + 2);
    }

    #[tokio::test]
    async fn secret_is_generated_once() {
        let job_queues = fixture().await;
        let mails = job_queue("mails");
        let written = job_queues.execute(&plan(&job_queues, std::slice::from_ref(&mails)).await).await.unwrap();
        let secret = written.written[0].target.secret.clone().unwrap();
        assert!(plan(&job_queues, std::slice::from_ref(&mails)).await.is_empty());
        let changed = JobQueueSettings { concurrency: 3, ..mails.clone() };
        job_queues.execute(&plan(&job_queues, &[changed]).await).await.unwrap();
        let cached = job_queues.get(&mails.id).await.unwrap().unwrap();
        assert_eq!((cached.settings.concurrency, cached.revision), (3, 2), "written settings are in effect at once");
        assert_eq!(cached.settings.target.secret, Some(secret));
        assert_eq!(cached.tenant.as_ref().unwrap().name, "Acme");
    }

    #[tokio::test]
    async fn lost_job_queues_are_restored_and_removed_ones_are_not() {
        let one = fixture().await;
        let other = JobQueues::new(one.records.clone(), one.store.clone(), one.backend.clone());
        let mails = job_queue("mails");
        let created = async || one.execute(&plan(&one, std::slice::from_ref(&mails)).await).await.unwrap();
        let lose = async || one.records.remove_document(DocumentKind::JobQueues, "mails").await.unwrap();
        created().await;
        let secret = other.read(&mails.id).await.unwrap().unwrap().settings.target.secret.clone();
        assert!(lose().await);
        let restored = other.read(&mails.id).await.unwrap().unwrap();
        assert_eq!((&restored.settings.target.secret, restored.revision), (&secret, 1));
        assert_eq!(one.read(&mails.id).await.unwrap().unwrap().settings, restored.settings);

        // A process that has not looked for long writes back what it knows, until one comes that knows better.
        let changed = JobQueueSettings { paused: true, ..restored.settings.clone() };
        one.execute(&plan(&one, &[changed]).await).await.unwrap();
        assert!(lose().await);
        assert!(!other.read(&mails.id).await.unwrap().unwrap().settings.paused);
        assert!(one.read(&mails.id).await.unwrap().unwrap().settings.paused);
        assert!(other.read(&mails.id).await.unwrap().unwrap().settings.paused);

        let removed = one.execute(&plan(&one, &[]).await).await.unwrap().removed;
        assert_eq!(removed, std::slice::from_ref(&mails.id));
        assert!(other.read(&mails.id).await.unwrap().is_none());
        assert!(one.stored().await.unwrap().is_empty(), "the other process did not write it back");
        created().await;
        other.read(&mails.id).await.unwrap();
        assert!(lose().await);
        assert!(other.read(&mails.id).await.unwrap().is_some(), "it exists again, so it was lost");
    }

    #[tokio::test]
    async fn job_queue_with_jobs_stays() {
        let job_queues = fixture().await;
        let mails = job_queue("mails");
        job_queues.execute(&plan(&job_queues, &[mails.clone(), job_queue("empty")]).await).await.unwrap();
        let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() };
        let id = JobId::random();
        let job = NewJob::new(id, payload);
        let wake = job_queues.wake(&mails.id);
        let is_woken = async || tokio::time::timeout(Duration::ZERO, wake.notified()).await.is_ok();
        assert_eq!(job_queues.enqueue(&mails, vec![job.clone()]).await.unwrap(), [Enqueued::Accepted]);
        assert!(is_woken().await, "the worker wakes up");
        assert_eq!(job_queues.enqueue(&mails, vec![job]).await.unwrap(), [Enqueued::Duplicate(id)]);
        assert!(!is_woken().await);
        let outcome = job_queues.execute(&plan(&job_queues, &[]).await).await.unwrap();
        assert_eq!((outcome.not_empty, outcome.removed), (vec![mails.id.clone()], vec!["empty".parse().unwrap()]));
        assert_eq!(job_queues.all().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn concurrent_change_is_not_overwritten() {
        let job_queues = fixture().await;
        let mails = job_queue("mails");
        job_queues.execute(&plan(&job_queues, std::slice::from_ref(&mails)).await).await.unwrap();
        let change = |concurrency| JobQueueSettings { concurrency, ..mails.clone() };
        let (first, second) = (plan(&job_queues, &[change(2)]).await, plan(&job_queues, &[change(3)]).await);
        assert_eq!(job_queues.execute(&first).await.unwrap().written.len(), 1);
        assert_eq!(job_queues.execute(&second).await.unwrap().skipped, std::slice::from_ref(&mails.id));
        assert_eq!(job_queues.get(&mails.id).await.unwrap().unwrap().settings.concurrency, 2);
    }

    fn event(tenant: &str, at: u64) -> WebhookEvent {
        let subject = WebhookSubject::Queue("tour".parse().unwrap());
        WebhookEvent::new(WebhookEventType::QueueReset, tenant.parse().unwrap(), subject, Micros(at))
    }

    #[tokio::test]
    async fn events_are_delivered_once_by_job_queues_of_their_tenant() {
        let job_queues = fixture().await;
        let hooks = delivering("hooks", &json!({}));
        let foreign = delivering("foreign", &json!({ "tenant": "globex" }));
        job_queues
            .execute(&plan(&job_queues, &[hooks.clone(), foreign.clone(), job_queue("mails")]).await)
            .await
            .unwrap();
        for at in [1, 1, 2] {
            job_queues.publish(&event("acme", at)).await;
        }
        job_queues.publish(&event("unknown", 1)).await;
        let enqueued = async |settings| job_queues.backend().stats(settings).await.unwrap().counters.enqueued;
        let counts = [enqueued(&hooks).await, enqueued(&foreign).await, enqueued(&job_queue("mails")).await];
        assert_eq!(counts, [2, 0, 0]);
    }

    #[tokio::test]
    async fn dropped_events_are_counted() {
        let job_queues = fixture().await;
        let full = delivering("full", &json!({ "max_jobs": 1 }));
        job_queues.execute(&plan(&job_queues, &[full, job_queue("mails")]).await).await.unwrap();
        let full: JobQueueId = "full".parse().unwrap();
        for (at, dropped) in [(1, 0), (2, 1), (3, 2)] {
            job_queues.publish(&event("acme", at)).await;
            assert_eq!(job_queues.dropped_events(), BTreeMap::from([(full.clone(), dropped)]));
        }
    }
}
