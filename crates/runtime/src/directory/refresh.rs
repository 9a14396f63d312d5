//! A look into the store's index: what changed is loaded, many queues at once.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::task::JoinSet;
use tracing::warn;
use vestibule_core::settings::Tenant;
use vestibule_core::{PutMode, QueueId, StoreError, TenantId};
use vestibule_freeze::FreezeAwareInstant;

use super::snapshot::Snapshot;
use super::{Directory, Queue, queue_of};

/// How many queues are loaded at once: one connection carries them all, so a few hundred queues take a few round trips.
const LOADS_AT_ONCE: usize = 64;

/// The looks that were begun, one at a time.
#[derive(Default)]
pub(super) struct RefreshGate {
    /// When the last one was begun. By both clocks: a process that was frozen must see that its copy is old.
    last: std::sync::Mutex<Option<FreezeAwareInstant>>,
    begun: AtomicU64,
    under_way: Arc<Mutex<()>>,
}

/// A look that is under way, until it is dropped.
pub(super) struct Refresh {
    _lock: OwnedMutexGuard<()>,
}

impl RefreshGate {
    /// Keeps looks from beginning, and waits for the end of the one that is under way.
    pub(super) async fn lock(&self) -> OwnedMutexGuard<()> {
        self.under_way.clone().lock_owned().await
    }

    /// Begins a look if none is under way and the last one was begun that long ago. That counts even if the store failed,
    /// so that a dead store is not asked by every request.
    pub(super) fn try_begin(&self, pause: Duration) -> Option<Refresh> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < pause) {
            return None;
        }
        let lock = self.under_way.clone().try_lock_owned().ok()?;
        Some(self.begin(lock))
    }

    /// Begins a look when no other is under way, unless one was begun meanwhile.
    async fn begin_unless_begun(&self) -> Option<Refresh> {
        let asked = self.begun.load(Ordering::Relaxed);
        let lock = self.lock().await;
        (self.begun.load(Ordering::Relaxed) == asked).then(|| self.begin(lock))
    }

    fn begin(&self, lock: OwnedMutexGuard<()>) -> Refresh {
        self.begun.fetch_add(1, Ordering::Relaxed);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(FreezeAwareInstant::now());
        Refresh { _lock: lock }
    }
}

impl Directory {
    /// Compares what is held with the store's index and loads what changed, all tenants included: the index says nothing of
    /// them, and what a tenant's origins may be reached at must not be older than a look. A queue that the index lists with revision 0
    /// was removed; one that it does not list was lost by the store, and is written back.
    ///
    /// # Errors
    /// The store's. What could be loaded is held all the same.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        match self.refresh_gate.begin_unless_begun().await {
            Some(refresh_now) => self.refresh_now(refresh_now).await,
            None if self.index_loaded() => Ok(()),
            None => Err(StoreError::Unavailable("the index of queues could not be read".to_owned())),
        }
    }

    pub(super) async fn refresh_now(&self, _under_way: Refresh) -> Result<(), StoreError> {
        let index = self.store.queues().await?;
        let held = self.snapshot.load_full();
        let mut queues = held.queues.clone();
        let listed: HashSet<QueueId> = index.iter().map(|(id, _)| id.clone()).collect();
        for queue in held.queues.values().filter(|queue| !listed.contains(&queue.settings.id)) {
            self.list_again(queue).await;
        }
        let mut changed = Vec::new();
        for (id, revision) in index {
            if revision == 0 {
                queues.remove(&id);
            } else if queues.get(&id).is_none_or(|queue| queue.settings.line.revision != revision) {
                changed.push(id);
            }
        }
        let any_gone_or_changed = held.queues.len() > queues.len() || !changed.is_empty();
        let mut unknown = changed.iter().any(|id| !queues.contains_key(id));
        let (loaded, any_renewed) = match self.load_tenants(&held).await {
            Ok(tenants) => {
                let any_renewed = renew_tenants(&mut queues, &tenants);
                (self.load(&tenants, changed, &mut queues, &mut unknown).await, any_renewed)
            }
            Err(error) => (Err(error), false),
        };
        if any_gone_or_changed || any_renewed {
            self.replace_snapshot(queues.into_values().collect());
        }
        self.read.store(!unknown, Ordering::Relaxed);
        loaded
    }

    /// The index lacks a queue that is held: it was lost, alone or with the queue. Writing the queue back lists it again.
    async fn list_again(&self, queue: &Queue) {
        let id = &queue.settings.id;
        match self.store.put_settings(&queue.settings, PutMode::Restore).await {
            Ok(outcome) => {
                warn!(queue = %id, ?outcome, "the store did not list this queue any more; it is written back");
            }
            Err(error) => warn!(queue = %id, %error, "the store does not list this queue any more"),
        }
    }

    /// Loads these queues into `queues`; one that can't be loaded costs none of the others. `unknown` becomes true if one
    /// of them is not held from before either.
    async fn load(
        &self,
        tenants: &HashMap<TenantId, Arc<Tenant>>,
        ids: Vec<QueueId>,
        queues: &mut HashMap<QueueId, Arc<Queue>>,
        unknown: &mut bool,
    ) -> Result<(), StoreError> {
        *unknown = false;
        let (mut ids, mut loads, mut outcome) = (ids.into_iter(), JoinSet::new(), Ok(()));
        loop {
            while loads.len() < LOADS_AT_ONCE
                && let Some(id) = ids.next()
            {
                let store = self.store.clone();
                loads.spawn(async move { (store.settings(&id).await, id) });
            }
            match loads.join_next().await {
                Some(Ok((Ok(Some(settings)), id))) => drop(queues.insert(id, queue_of(settings, tenants))),
                Some(Ok((Err(error), id))) => {
                    warn!(queue = %id, %error, "this queue could not be loaded");
                    *unknown |= !queues.contains_key(&id);
                    outcome = Err(prefer_unavailable(outcome, error));
                }
                Some(_) => {}
                None => return outcome,
            }
        }
    }

    pub(super) async fn load_tenants(&self, held: &Snapshot) -> Result<HashMap<TenantId, Arc<Tenant>>, StoreError> {
        let held = held.queues.values().filter_map(|queue| queue.tenant.clone());
        let mut tenants: HashMap<_, _> = held.map(|tenant| (tenant.id.clone(), tenant)).collect();
        for tenant in self.store.tenants().await? {
            tenants.insert(tenant.id.clone(), Arc::new(tenant));
        }
        Ok(tenants)
    }
}

/// Gives queues their tenants as they are now; whether any has another one.
fn renew_tenants(queues: &mut HashMap<QueueId, Arc<Queue>>, tenants: &HashMap<TenantId, Arc<Tenant>>) -> bool {
    let mut any = false;
    for queue in queues.values_mut().filter(|queue| queue.tenant.as_ref() != tenants.get(&queue.settings.tenant)) {
        *queue = queue_of(queue.settings.clone(), tenants);
        any = true;
    }
    any
}

/// That the store is away says more than that a queue of it makes no sense: it may be another time.
fn prefer_unavailable(outcome: Result<(), StoreError>, error: StoreError) -> StoreError {
    match outcome {
        Err(away @ StoreError::Unavailable(_)) => away,
        _ => error,
    }
}
