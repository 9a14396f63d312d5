//! Refreshes the queue cache from the store's index. Changed queues are loaded concurrently.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::JoinSet;
use tracing::warn;
use vestibule_core::settings::Tenant;
use vestibule_core::{PutMode, QueueId, StoreError, TenantId};

use super::queue::{Queue, queue_of};
use super::refresh_gate::Refresh;
use super::snapshot::Snapshot;
use super::{Directory, newest_settings};

/// Number of queues loaded concurrently, over one connection.
const LOADS_AT_ONCE: usize = 64;

impl Directory {
    /// Compares the cache with the store's index and loads changed queues. Loads all tenants: the index has no revisions of
    /// tenants, and their allowed origins must be current. A queue with revision 0 in the index was removed; a queue that
    /// is not in the index was lost by the store, and is restored.
    ///
    /// # Errors
    /// Returns the store's error. Queues that could be loaded are cached.
    pub async fn refresh(&self) -> Result<(), StoreError> {
        match self.refresh_gate.begin_unless_begun().await {
            Some(refresh_now) => self.refresh_now(refresh_now).await,
            None => self.outcome.lock().clone(),
        }
    }

    /// The same for callers that can do without queues that can't be read: they are as they were cached, or missing.
    ///
    /// # Errors
    /// Returns [`StoreError::Unavailable`] if the store did not answer, and [`StoreError::Refused`] if it refused to.
    pub async fn refresh_readable(&self) -> Result<(), StoreError> {
        match self.refresh().await {
            Err(error @ StoreError::Corrupt(_)) => {
                warn!(%error, "not everything could be read; using what is cached");
                Ok(())
            }
            outcome => outcome,
        }
    }

    pub(super) async fn refresh_now(&self, _under_way: Refresh) -> Result<(), StoreError> {
        let outcome = self.compare_with_index().await;
        self.outcome.lock().clone_from(&outcome);
        outcome
    }

    async fn compare_with_index(&self) -> Result<(), StoreError> {
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

    /// Restores a cached queue that the index does not list.
    async fn list_again(&self, queue: &Queue) {
        let id = &queue.settings.id;
        match self.store.put_settings(&queue.settings, PutMode::Restore).await {
            Ok(outcome) => {
                warn!(queue = %id, ?outcome, "queue missing in the index; restored");
            }
            Err(error) => warn!(queue = %id, %error, "queue missing in the index; cannot restore it"),
        }
    }

    /// Loads these queues into `queues`. A queue that cannot be loaded does not affect the others. Sets `unknown` if it is not
    /// cached either.
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
                let (store, held) = (self.store.clone(), queues.get(&id).cloned());
                loads.spawn(async move {
                    let held = held.as_ref().map(|queue| &queue.settings);
                    (newest_settings(&*store, &id, held).await, id)
                });
            }
            match loads.join_next().await {
                Some(Ok((Ok(Some(settings)), id))) => drop(queues.insert(id, queue_of(settings, tenants))),
                Some(Ok((Err(error), id))) => {
                    warn!(queue = %id, %error, "cannot load this queue");
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

/// Updates the tenants of queues. Returns whether any changed.
fn renew_tenants(queues: &mut HashMap<QueueId, Arc<Queue>>, tenants: &HashMap<TenantId, Arc<Tenant>>) -> bool {
    let mut any = false;
    for queue in queues.values_mut().filter(|queue| queue.tenant.as_ref() != tenants.get(&queue.settings.tenant)) {
        *queue = queue_of(queue.settings.clone(), tenants);
        any = true;
    }
    any
}

/// An unavailable store is the more important error: a retry may succeed.
fn prefer_unavailable(outcome: Result<(), StoreError>, error: StoreError) -> StoreError {
    match outcome {
        Err(away @ (StoreError::Unavailable(_) | StoreError::Refused(_))) => away,
        _ => error,
    }
}
