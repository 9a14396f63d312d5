//! The queue cache: a copy of the settings in this process, so that a request finds its queue without a store call.

#![expect(clippy::missing_errors_doc, reason = "functions without that section return the error of the store")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tracing::{info, warn};
use vestibule_core::line::Stats;
use vestibule_core::settings::{
    Document, KeptReason, Plan, PlanOptions, Settings, StoredSettings, Tenant, TenantChange, Unlisted, affected_lobbies,
};
use vestibule_core::store::{OperationsStore, PutMode, PutOutcome, SettingsStore, StoreError};
use vestibule_core::{QueueId, TenantId};

use self::queue::queue_of;
use self::refresh_gate::{Refresh, RefreshGate};
use self::snapshot::Snapshot;
use crate::stored_settings::{readable_settings, write_queue};

mod queue;
mod refresh;
mod refresh_gate;
mod snapshot;
#[cfg(test)]
mod tests;

pub use self::queue::Queue;

/// Age at which the cache is compared with the store's index, in the background.
const REFRESH_AFTER: Duration = Duration::from_secs(10);
/// Minimum interval of refreshes that requests for an unknown host wait for.
const UNKNOWN_HOST_AFTER: Duration = Duration::from_secs(1);
/// The same while the index has not been read, so that no host is known.
const UNREAD_AFTER: Duration = Duration::from_millis(500);

/// What a plan did not write, because someone else changed it since the plan was made.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NotWritten {
    /// Tenants. If there are any, no queue is written.
    pub tenants: Vec<TenantId>,
    /// Queues.
    pub queues: Vec<QueueId>,
}

/// Finds queues by host, kept up to date from the store's index.
pub struct Directory {
    store: Arc<dyn SettingsStore>,
    snapshot: ArcSwap<Snapshot>,
    read: AtomicBool,
    /// What the last refresh returned, for callers that waited for it.
    outcome: parking_lot::Mutex<Result<(), StoreError>>,
    refresh_gate: RefreshGate,
    reloads: parking_lot::Mutex<HashMap<QueueId, Arc<Reload>>>,
}

/// The queues that match a normalized `host`, in the order of [`Directory::of_host`].
pub fn queues_of_host(queues: &[Settings], host: &str) -> Vec<Arc<Queue>> {
    let queues = queues.iter().map(|settings| queue_of(settings.clone(), &HashMap::new()));
    Snapshot::of(queues.collect()).of_host(host)
}

/// Reloads of one queue, one at a time.
#[derive(Default)]
struct Reload {
    under_way: tokio::sync::Mutex<()>,
    finished: AtomicU64,
}

impl Directory {
    /// A directory that starts with these queues, such as those of a settings file, and finds others in the store.
    pub fn new(store: Arc<dyn SettingsStore>, tenants: Vec<Tenant>, queues: Vec<Settings>) -> Self {
        let unread = StoreError::Unavailable("the index of queues could not be read".to_owned());
        let directory = Self {
            store,
            outcome: parking_lot::Mutex::new(if queues.is_empty() { Err(unread) } else { Ok(()) }),
            snapshot: ArcSwap::default(),
            read: AtomicBool::new(!queues.is_empty()),
            refresh_gate: RefreshGate::default(),
            reloads: parking_lot::Mutex::default(),
        };
        let tenants = tenants.into_iter().map(|tenant| (tenant.id.clone(), Arc::new(tenant))).collect();
        directory.replace_snapshot(queues.into_iter().map(|settings| queue_of(settings, &tenants)).collect());
        directory
    }

    fn replace_snapshot(&self, queues: Vec<Arc<Queue>>) {
        self.snapshot.store(Arc::new(Snapshot::of(queues)));
    }

    /// Whether all queues are known: the directory started with queues, or all queues of the index have been loaded. Otherwise a
    /// host without a queue may have one that could not be loaded.
    pub fn index_loaded(&self) -> bool {
        self.read.load(Ordering::Relaxed)
    }

    /// The queue of this id.
    pub fn queue(&self, id: &QueueId) -> Option<Arc<Queue>> {
        self.snapshot.load().queues.get(id).cloned()
    }

    /// All cached queues, by ID.
    pub fn queues(&self) -> Vec<Arc<Queue>> {
        let mut queues: Vec<_> = self.snapshot.load().queues.values().cloned().collect();
        queues.sort_by(|one, other| one.settings.id.cmp(&other.settings.id));
        queues
    }

    /// Whether the queue of this ID is one of those of a normalized `host`, as [`Directory::of_host`] returns them, as far as queues are cached.
    pub fn has_host(&self, id: &QueueId, host: &str) -> bool {
        self.snapshot.load().of_host(host).iter().any(|queue| queue.settings.id == *id)
    }

    /// The queues of a normalized `host`, in the order in which they are matched: exact hosts, the nearest wildcard, then
    /// queues for every host. Those of a tenant count if none of another has the host more exactly. Waits for a refresh if there is none.
    pub async fn of_host(self: &Arc<Self>, host: &str) -> Vec<Arc<Queue>> {
        let known = self.snapshot.load().of_host(host);
        let pause = match (known.is_empty(), self.index_loaded()) {
            (false, _) => REFRESH_AFTER,
            (true, true) => UNKNOWN_HOST_AFTER,
            (true, false) => UNREAD_AFTER,
        };
        match self.refresh_gate.try_begin(pause) {
            Some(refresh) => {
                // In a separate task, so that it continues if this request is canceled.
                let refreshing = tokio::spawn(self.clone().refresh_and_log(refresh));
                if known.is_empty() {
                    let _ = refreshing.await;
                }
            }
            // A refresh in progress may find the queue.
            None if known.is_empty() => drop(self.refresh_gate.lock().await),
            None => {}
        }
        if known.is_empty() { self.snapshot.load().of_host(host) } else { known }
    }

    async fn refresh_and_log(self: Arc<Self>, refresh: Refresh) {
        if let Err(error) = self.refresh_now(refresh).await {
            warn!(%error, "queue index could not be read; using the cached queues");
        }
    }

    /// Writes tenants and queues that differ from the store's; other queues stay.
    ///
    /// # Errors
    /// Returns the store's error. Call again to write the rest.
    pub async fn apply(&self, tenants: &[Tenant], queues: &[Settings]) -> Result<(), StoreError> {
        let document = Document { tenants: tenants.to_vec(), queues: queues.to_vec(), ..Document::default() };
        let options = PlanOptions { unlisted: Unlisted::RemoveOnly(&[]), ..PlanOptions::default() };
        let stored = readable_settings(&*self.store, &document, options.unlisted).await?;
        let plan = Plan::of(&stored, document, &options);
        self.execute(&stored, &plan).await.map(drop)
    }

    /// Writes the new and changed tenants and queues of a plan. The copy in this process changes first, so that it is in
    /// effect even while the store is unavailable. `stored` is what the plan was made from. Returns what was changed since; it
    /// is not written.
    ///
    /// # Errors
    /// Returns the store's error. Plan again to write the rest.
    pub async fn execute(&self, stored: &StoredSettings, plan: &Plan) -> Result<NotWritten, StoreError> {
        let tenants = plan.tenants_after.iter().map(|tenant| (tenant.id.clone(), Arc::new(tenant.clone()))).collect();
        let mut all = self.snapshot.load().queues.clone();
        for settings in &plan.queues_after {
            let mut settings = settings.clone();
            if let Some(held) = all.get(&settings.id) {
                settings.line.revision = settings.line.revision.max(held.settings.line.revision);
            }
            all.insert(settings.id.clone(), queue_of(settings, &tenants));
        }
        for id in plan.kept_because(KeptReason::RemovedElsewhere) {
            all.remove(id);
        }
        self.replace_snapshot(all.into_values().collect());
        let mut skipped = NotWritten::default();
        for TenantChange { tenant, .. } in &plan.tenants {
            if !self.store.replace_tenant(stored.tenant(&tenant.id), tenant).await? {
                skipped.tenants.push(tenant.id.clone());
            }
        }
        // Queues may need what the tenants allow.
        if !skipped.tenants.is_empty() {
            return Ok(skipped);
        }
        for change in &plan.queues {
            let id = &change.settings.id;
            match write_queue(&*self.store, change).await? {
                Some(revision) => info!(queue = %id, revision, "settings written"),
                None => skipped.queues.push(id.clone()),
            }
        }
        for settings in &plan.queues_after {
            self.reload(&settings.id).await?;
        }
        Ok(skipped)
    }

    /// Removes queues that the settings file no longer has. Queues with sessions, or with visitors in the lobby of an event, stay and
    /// are returned, so that a mistake in the file does not drop a line. `operations` is the same store.
    ///
    /// # Errors
    /// Returns the store's error. Call again to remove the rest.
    pub async fn remove_unused(
        &self,
        operations: &dyn OperationsStore,
        ids: &[QueueId],
    ) -> Result<Vec<QueueId>, StoreError> {
        let mut left = Vec::new();
        for id in ids {
            match operations.stats(id).await {
                Ok(stats) if stats.waiting + stats.active + stats.lobby_tickets > 0 => {
                    let Stats { waiting, active, lobby_tickets, .. } = stats;
                    warn!(queue = %id, waiting, active, lobby_tickets, "the settings no longer name this queue; it stays, as it has sessions");
                    left.push(id.clone());
                }
                Ok(stats) if self.has_uncounted_lobby(id, &stats).await? => {
                    warn!(queue = %id, "the settings no longer name this queue; it stays, as visitors may have lobby tickets");
                    left.push(id.clone());
                }
                Ok(_) | Err(StoreError::UnknownQueue(_)) => self.store.remove_queue(id).await?,
                Err(StoreError::Corrupt(error)) => {
                    warn!(queue = %id, error, "the settings no longer name this queue; it stays, as it cannot be read");
                    left.push(id.clone());
                }
                Err(error) => return Err(error),
            }
        }
        let _lock = self.refresh_gate.lock().await;
        let mut queues = self.snapshot.load().queues.clone();
        queues.retain(|id, _| !ids.contains(id) || left.contains(id));
        self.replace_snapshot(queues.into_values().collect());
        Ok(left)
    }

    /// Whether visitors may have lobby tickets of an event that the queue does not follow now, as in another mode. The statistics count
    /// those of the event that it follows.
    async fn has_uncounted_lobby(&self, id: &QueueId, stats: &Stats) -> Result<bool, StoreError> {
        let Some(Settings { line, .. }) = self.store.settings(id).await? else { return Ok(false) };
        let followed = line.phase(stats.now, stats.may_wait()).and_then(|phase| phase.event);
        Ok(affected_lobbies(&line, None, stats.now).iter().any(|lobby| Some(lobby.event) != followed))
    }

    /// Reloads a queue whose revision in the store differs from the cached one. Concurrent calls share one reload.
    pub async fn reload(&self, id: &QueueId) -> Result<Option<Arc<Queue>>, StoreError> {
        let reload = self.reloads.lock().entry(id.clone()).or_default().clone();
        let finished = reload.finished.load(Ordering::Relaxed);
        let _under_way = reload.under_way.lock().await;
        if reload.finished.load(Ordering::Relaxed) != finished {
            return Ok(self.queue(id));
        }
        let loaded = self.load_one(id).await;
        reload.finished.fetch_add(1, Ordering::Relaxed);
        loaded
    }

    async fn load_one(&self, id: &QueueId) -> Result<Option<Arc<Queue>>, StoreError> {
        let held = self.snapshot.load_full();
        let Some(settings) =
            newest_settings(&*self.store, id, held.queues.get(id).map(|queue| &queue.settings)).await?
        else {
            return Ok(self.queue(id));
        };
        let tenants = self.load_tenants(&held).await?;
        let queue = queue_of(settings, &tenants);
        let _lock = self.refresh_gate.lock().await;
        let mut queues = self.snapshot.load().queues.clone();
        queues.insert(id.clone(), queue.clone());
        self.replace_snapshot(queues.into_values().collect());
        Ok(Some(queue))
    }

    /// Restores a queue that the store lost, with its epoch. Returns `false` if the queue was removed.
    pub async fn restore_lost_queue(&self, queue: &Queue) -> Result<bool, StoreError> {
        let id = &queue.settings.id;
        match self.store.put_settings(&queue.settings, PutMode::Restore).await? {
            PutOutcome::Removed => {
                self.refresh().await?;
                return Ok(false);
            }
            PutOutcome::Stored(_) => {
                warn!(queue = %id, "queue missing in the store; settings restored, recovering tickets");
            }
            PutOutcome::Conflict(_) => {}
        }
        // Tenants have no revision: one that the store has may be newer.
        if let Some(tenant) = &queue.tenant {
            self.store.replace_tenant(None, tenant).await?;
        }
        Ok(true)
    }
}

/// The settings of a queue in the store. If a process with older settings restored them after a loss, the ones that are held here
/// replace them (rule 7).
async fn newest_settings(
    store: &dyn SettingsStore,
    id: &QueueId,
    held: Option<&Settings>,
) -> Result<Option<Settings>, StoreError> {
    let Some(stored) = store.settings(id).await? else { return Ok(None) };
    let version = |settings: &Settings| (settings.line.epoch, settings.line.revision);
    let Some(newer) = held.filter(|held| version(held) > version(&stored)) else { return Ok(Some(stored)) };
    match store.put_settings(newer, PutMode::Restore).await? {
        PutOutcome::Stored(revision) => {
            warn!(queue = %id, revision, "the store had older settings that were restored after a loss; replaced");
            Ok(Some(newer.clone()))
        }
        PutOutcome::Conflict(stored_revision) => {
            let held = newer.line.revision;
            warn!(queue = %id, held, stored_revision, "the store has older settings than this process had, which were not restored: unless \
                   the queue was created again, the store went back in time and later changes are lost");
            Ok(Some(stored))
        }
        PutOutcome::Removed => Ok(Some(stored)),
    }
}
