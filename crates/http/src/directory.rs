//! Which queue stands in front of a host: a copy of the settings in this process, so that no request needs a second
//! round trip to find its queue.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};
use vestibule_core::settings::{HostPattern, Settings, Tenant};
use vestibule_core::{PutMode, PutOutcome, QueueId, Store, StoreError, TenantId};

/// Age at which the copy is compared with the store's index, beside the request that finds it old.
const REFRESH_AFTER: Duration = Duration::from_secs(10);
/// How often at most a host that is not known makes a request wait for a look into the index.
const UNKNOWN_HOST_AFTER: Duration = Duration::from_secs(1);

/// A queue as the gate holds it.
#[derive(Debug)]
pub struct Queue {
    /// Its settings.
    pub settings: Settings,
    /// The brand.
    pub tenant: Option<Arc<Tenant>>,
    /// Name of the ticket cookie.
    pub cookie_name: String,
}

#[derive(Default)]
struct Snapshot {
    queues: HashMap<QueueId, Arc<Queue>>,
    exact: HashMap<String, Vec<Arc<Queue>>>,
    below: HashMap<String, Vec<Arc<Queue>>>,
    any: Vec<Arc<Queue>>,
}

impl Snapshot {
    /// Queues of one host are asked in the order of their ids.
    fn of(mut queues: Vec<Arc<Queue>>) -> Self {
        queues.sort_by(|a, b| a.settings.id.cmp(&b.settings.id));
        let mut snapshot = Self::default();
        for queue in queues {
            for host in &queue.settings.hosts {
                match host {
                    HostPattern::Exact(name) => snapshot.exact.entry(name.clone()).or_default().push(queue.clone()),
                    HostPattern::Below(name) => snapshot.below.entry(name.clone()).or_default().push(queue.clone()),
                    HostPattern::Any => snapshot.any.push(queue.clone()),
                }
            }
            snapshot.queues.insert(queue.settings.id.clone(), queue);
        }
        snapshot
    }

    fn of_host(&self, host: &str) -> Vec<Arc<Queue>> {
        let mut found = self.exact.get(host).cloned().unwrap_or_default();
        let mut rest = host;
        while let Some((_, domain)) = rest.split_once('.') {
            found.extend(self.below.get(domain).into_iter().flatten().cloned());
            rest = domain;
        }
        found.extend(self.any.iter().cloned());
        found
    }
}

/// Host -> queues, kept up to date from the store's index.
pub struct Directory {
    store: Arc<dyn Store>,
    snapshot: ArcSwap<Snapshot>,
    started: Instant,
    refreshed_ms: AtomicU64,
    refreshing: Mutex<()>,
}

impl Directory {
    /// A directory that holds these queues from the start (those of a settings file), and finds the others in the store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, tenants: Vec<Tenant>, queues: Vec<Settings>) -> Self {
        let directory = Self {
            store,
            snapshot: ArcSwap::default(),
            started: Instant::now(),
            refreshed_ms: AtomicU64::new(0),
            refreshing: Mutex::new(()),
        };
        let tenants = tenants.into_iter().map(|tenant| (tenant.id.clone(), Arc::new(tenant))).collect();
        directory.hold(queues.into_iter().map(|settings| queue_of(settings, &tenants)).collect());
        directory
    }

    fn hold(&self, queues: Vec<Arc<Queue>>) {
        self.snapshot.store(Arc::new(Snapshot::of(queues)));
    }

    /// The queue of this id.
    #[must_use]
    pub fn queue(&self, id: &QueueId) -> Option<Arc<Queue>> {
        self.snapshot.load().queues.get(id).cloned()
    }

    /// All queues held.
    #[must_use]
    pub fn queues(&self) -> Vec<Arc<Queue>> {
        self.snapshot.load().queues.values().cloned().collect()
    }

    /// The queues in front of `host` (as `normalise_host` gives it), in the order in which they are asked: exact hosts,
    /// then the nearest wildcard, then those of every host. Waits for a look into the store's index where none is known.
    pub async fn of_host(self: &Arc<Self>, host: &str) -> Vec<Arc<Queue>> {
        let known = self.snapshot.load().of_host(host);
        let age = self.age();
        if known.is_empty() && age.is_none_or(|age| age >= UNKNOWN_HOST_AFTER) {
            self.refresh_logged().await;
            return self.snapshot.load().of_host(host);
        }
        if age.is_none_or(|age| age >= REFRESH_AFTER) && self.refreshing.try_lock().is_ok() {
            let directory = self.clone();
            tokio::spawn(async move { directory.refresh_logged().await });
        }
        known
    }

    fn age(&self) -> Option<Duration> {
        let refreshed = self.refreshed_ms.load(Ordering::Relaxed);
        let now = self.now_ms();
        (refreshed > 0).then(|| Duration::from_millis(now.saturating_sub(refreshed)))
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64 + 1
    }

    async fn refresh_logged(&self) {
        if let Err(error) = self.refresh().await {
            warn!(%error, "the index of queues could not be read; going on with those known");
        }
    }

    /// Compares what is held with the store's index and loads what changed. A queue that the index lists with revision
    /// 0 was removed; one that it does not list was lost by the store and stays held, to be written back.
    ///
    /// # Errors
    /// The store's.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        let asked_ms = self.now_ms();
        let _alone = self.refreshing.lock().await;
        if self.refreshed_ms.load(Ordering::Relaxed) > asked_ms {
            return Ok(());
        }
        // Counted from the start even if the store fails, so that a dead store is not asked by every request.
        self.refreshed_ms.store(self.now_ms(), Ordering::Relaxed);
        let index = self.store.queues().await?;
        let held = self.snapshot.load_full();
        let mut queues = held.queues.clone();
        let mut changed = false;
        let mut tenants = None;
        for (id, revision) in index {
            if revision == 0 {
                changed |= queues.remove(&id).is_some();
                continue;
            }
            if queues.get(&id).is_some_and(|queue| queue.settings.line.revision == revision) {
                continue;
            }
            let Some(settings) = self.store.settings(&id).await? else { continue };
            if tenants.is_none() {
                tenants = Some(self.load_tenants(&held).await?);
            }
            let known = tenants.get_or_insert_default();
            queues.insert(id, queue_of(settings, known));
            changed = true;
        }
        if changed {
            self.hold(queues.into_values().collect());
        }
        Ok(())
    }

    async fn load_tenants(&self, held: &Snapshot) -> Result<HashMap<TenantId, Arc<Tenant>>, StoreError> {
        let held = held.queues.values().filter_map(|queue| queue.tenant.clone());
        let mut tenants: HashMap<_, _> = held.map(|tenant| (tenant.id.clone(), tenant)).collect();
        for tenant in self.store.tenants().await? {
            tenants.insert(tenant.id.clone(), Arc::new(tenant));
        }
        Ok(tenants)
    }

    /// Takes over what a settings file says now: writes every queue that differs from the store's, and removes those
    /// `gone`. The copy in this process changes first, so that it holds even while the store is away.
    ///
    /// # Errors
    /// The store's; what could not be written is written by the next call.
    pub async fn apply(&self, tenants: &[Tenant], queues: &[Settings], gone: &[QueueId]) -> Result<(), StoreError> {
        let by_id: HashMap<_, _> = tenants.iter().map(|tenant| (tenant.id.clone(), Arc::new(tenant.clone()))).collect();
        let mut all = self.snapshot.load().queues.clone();
        all.retain(|id, _| !gone.contains(id));
        for settings in queues {
            let mut settings = settings.clone();
            if let Some(held) = all.get(&settings.id) {
                settings.line.revision = settings.line.revision.max(held.settings.line.revision);
            }
            all.insert(settings.id.clone(), queue_of(settings, &by_id));
        }
        self.hold(all.into_values().collect());
        for tenant in tenants {
            self.store.put_tenant(tenant).await?;
        }
        for settings in queues {
            self.write(settings).await?;
        }
        for id in gone {
            self.store.remove_queue(id).await?;
            info!(queue = %id, "removed, as the settings no longer name it");
        }
        for settings in queues {
            self.reload(&settings.id).await?;
        }
        Ok(())
    }

    async fn write(&self, settings: &Settings) -> Result<(), StoreError> {
        let mut settings = settings.clone();
        if let Some(stored) = self.store.settings(&settings.id).await? {
            if stored.same_but_for_revision(&settings) && stored.line.epoch >= settings.line.epoch {
                return Ok(());
            }
            // A reset since the file was written has begun a later epoch, which a change of the file must not undo.
            settings.line.epoch = settings.line.epoch.max(stored.line.epoch);
        }
        if let PutOutcome::Stored(revision) = self.store.put_settings(&settings, PutMode::Always).await? {
            info!(queue = %settings.id, revision, "settings written");
        }
        Ok(())
    }

    /// Loads one queue anew: an answer carried a revision that is not the one held.
    ///
    /// # Errors
    /// The store's.
    pub async fn reload(&self, id: &QueueId) -> Result<Option<Arc<Queue>>, StoreError> {
        let Some(settings) = self.store.settings(id).await? else { return Ok(self.queue(id)) };
        let held = self.snapshot.load_full();
        let tenants = self.load_tenants(&held).await?;
        let queue = queue_of(settings, &tenants);
        let _alone = self.refreshing.lock().await;
        let mut queues = self.snapshot.load().queues.clone();
        queues.insert(id.clone(), queue.clone());
        self.hold(queues.into_values().collect());
        Ok(Some(queue))
    }

    /// Writes back a queue that the store lost, epoch included. `false` if the store says that it was removed.
    ///
    /// # Errors
    /// The store's.
    pub async fn restore(&self, queue: &Queue) -> Result<bool, StoreError> {
        let id = &queue.settings.id;
        let removed = self.store.queues().await?.iter().any(|(listed, revision)| listed == id && *revision == 0);
        if removed {
            self.refresh().await?;
            return Ok(false);
        }
        if let Some(tenant) = &queue.tenant {
            self.store.put_tenant(tenant).await?;
        }
        if let PutOutcome::Stored(_) = self.store.put_settings(&queue.settings, PutMode::Restore).await? {
            warn!(queue = %id, "the store had lost this queue; its settings are written back and its tickets taken back");
        }
        Ok(true)
    }
}

fn queue_of(settings: Settings, tenants: &HashMap<TenantId, Arc<Tenant>>) -> Arc<Queue> {
    let tenant = tenants.get(&settings.tenant).cloned();
    let cookie_name = format!("vestibule_{}", settings.id);
    Arc::new(Queue { settings, tenant, cookie_name })
}
