//! Which queue stands in front of a host: a copy of the settings in this process, so that no request needs a second
//! round trip to find its queue.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tracing::{info, warn};
use vestibule_core::settings::{Settings, Tenant};
use vestibule_core::{PutMode, PutOutcome, QueueId, Store, StoreError, TenantId};

use self::look::{Look, Looks};
use self::snapshot::Snapshot;

mod look;
mod snapshot;
#[cfg(test)]
mod tests;

/// Age at which the copy is compared with the store's index, beside the request that finds it old.
const REFRESH_AFTER: Duration = Duration::from_secs(10);
/// How often at most a host that is not known makes a request wait for a look into the index.
const UNKNOWN_HOST_AFTER: Duration = Duration::from_secs(1);
/// The same where the index was never read, so that no host is known: nothing can be served until it is.
const UNREAD_AFTER: Duration = Duration::from_millis(500);

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

/// Host -> queues, kept up to date from the store's index.
pub struct Directory {
    store: Arc<dyn Store>,
    snapshot: ArcSwap<Snapshot>,
    read: AtomicBool,
    looks: Looks,
}

impl Directory {
    /// A directory that holds these queues from the start (those of a settings file), and finds the others in the store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, tenants: Vec<Tenant>, queues: Vec<Settings>) -> Self {
        let directory = Self {
            store,
            snapshot: ArcSwap::default(),
            read: AtomicBool::new(!queues.is_empty()),
            looks: Looks::default(),
        };
        let tenants = tenants.into_iter().map(|tenant| (tenant.id.clone(), Arc::new(tenant))).collect();
        directory.hold(queues.into_iter().map(|settings| queue_of(settings, &tenants)).collect());
        directory
    }

    fn hold(&self, queues: Vec<Arc<Queue>>) {
        self.snapshot.store(Arc::new(Snapshot::of(queues)));
    }

    /// Whether it is known which queues there are: queues were given at the start, or the index was read with all that it
    /// lists. Before that, a host without a queue may have one that nobody has heard of yet.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.read.load(Ordering::Relaxed)
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
        let pause = match (known.is_empty(), self.is_read()) {
            (false, _) => REFRESH_AFTER,
            (true, true) => UNKNOWN_HOST_AFTER,
            (true, false) => UNREAD_AFTER,
        };
        match self.looks.begin_if_due(pause) {
            Some(look) => {
                // In a task of its own, so that it is not in vain if this visitor goes away.
                let looking = tokio::spawn(self.clone().look_and_tell(look));
                if known.is_empty() {
                    let _ = looking.await;
                }
            }
            // What another request looks for may be what this one needs.
            None if known.is_empty() => drop(self.looks.alone().await),
            None => {}
        }
        if known.is_empty() { self.snapshot.load().of_host(host) } else { known }
    }

    async fn look_and_tell(self: Arc<Self>, look: Look) {
        if let Err(error) = self.look(look).await {
            warn!(%error, "the index of queues could not be read; going on with what is known");
        }
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
        let _alone = self.looks.alone().await;
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
