//! Scrapes the store: its round-trip time, the stats of every queue and the last purge.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join;
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;
use tracing::{debug, warn};
use vestibule_core::line::Stats;
use vestibule_core::{LastPurge, Micros, QueueId, Store, StoreError, TenantId};

/// Maximum number of concurrent store calls. They share one connection, so a scrape of a thousand queues takes a few
/// round trips, and no visitor's call waits behind more than these.
pub const SCRAPE_PARALLEL: usize = 256;

/// The result of one scrape.
pub(crate) struct Scrape {
    /// Round-trip time of a minimal store command; `None` if the store is unavailable.
    pub(crate) round_trip: Option<Duration>,
    /// Every queue in the index; `None` if the index could not be read.
    pub(crate) queues: Option<Vec<ScrapedQueue>>,
    /// The last purge, if there was one.
    pub(crate) purge: Option<LastPurge>,
}

/// One queue of a scrape.
pub(crate) struct ScrapedQueue {
    pub(crate) id: QueueId,
    /// `None` for a queue that could never be read.
    pub(crate) tenant: Option<TenantId>,
    /// `None` if the queue cannot be read.
    pub(crate) stats: Option<Stats>,
}

/// The tenant of a queue. Valid while `revision` and `state_since` are unchanged: a new tenant is a new revision, and a
/// queue that was removed and created again has a new state.
#[derive(Clone, PartialEq, Eq)]
struct LastKnownQueue {
    revision: u64,
    state_since: Micros,
    tenant: TenantId,
}

/// Scrapes the store.
pub(crate) struct Scraper {
    store: Arc<dyn Store>,
    /// Tenants by queue, so that a queue's settings are read once. Holds the queues of the last scrape only.
    tenants: Mutex<HashMap<QueueId, LastKnownQueue>>,
}

impl Scraper {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, tenants: Mutex::default() }
    }

    pub(crate) async fn scrape(&self) -> Scrape {
        let Some(round_trip) = self.round_trip().await else {
            return Scrape { round_trip: None, queues: None, purge: None };
        };
        let (index, purge) = join(self.store.queues(), self.store.last_purge()).await;
        let purge = purge.inspect_err(|error| warn!(%error, "the last purge cannot be read")).ok().flatten();
        let queues = match index {
            Ok(index) => {
                let listed = index.into_iter().filter(|(_, revision)| *revision > 0).map(|(queue, _)| queue);
                Some(self.read_all(listed.collect()).await)
            }
            Err(error) => {
                warn!(%error, "the queue index cannot be read");
                None
            }
        };
        Scrape { round_trip: Some(round_trip), queues, purge }
    }

    async fn round_trip(&self) -> Option<Duration> {
        let started = Instant::now();
        let answer = self.store.ping().await;
        answer.inspect_err(|error| warn!(%error, "the store is unavailable")).ok().map(|()| started.elapsed())
    }

    async fn read_all(&self, queues: Vec<QueueId>) -> Vec<ScrapedQueue> {
        let held = std::mem::take(&mut *self.tenants.lock().unwrap_or_else(PoisonError::into_inner));
        let reads = queues.into_iter().map(|queue| {
            let known = held.get(&queue).cloned();
            self.read(queue, known)
        });
        let all: Vec<_> = stream::iter(reads).buffered(SCRAPE_PARALLEL).collect().await;
        let (scraped, known): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let queues = scraped.iter().map(|queue: &ScrapedQueue| queue.id.clone());
        let known = queues.zip(known).filter_map(|(queue, known)| Some((queue, known?))).collect();
        *self.tenants.lock().unwrap_or_else(PoisonError::into_inner) = known;
        let failed = scraped.iter().filter(|queue| queue.stats.is_none()).count();
        if failed > 0 {
            warn!(failed, of = scraped.len(), "some queues cannot be read; see vestibule_queue_up");
        }
        scraped
    }

    async fn read(&self, queue: QueueId, known: Option<LastKnownQueue>) -> (ScrapedQueue, Option<LastKnownQueue>) {
        match self.read_with_tenant(&queue, known.clone()).await {
            Ok((stats, known)) => {
                let tenant = Some(known.tenant.clone());
                (ScrapedQueue { id: queue, tenant, stats: Some(stats) }, Some(known))
            }
            Err(error) => {
                debug!(%queue, %error, "queue cannot be read");
                let tenant = match &known {
                    Some(known) => Some(known.tenant.clone()),
                    None => self.tenant_of(&queue).await.ok(),
                };
                (ScrapedQueue { id: queue, tenant, stats: None }, known)
            }
        }
    }

    async fn read_with_tenant(
        &self,
        queue: &QueueId,
        known: Option<LastKnownQueue>,
    ) -> Result<(Stats, LastKnownQueue), StoreError> {
        let stats = self.store.stats(queue).await?;
        let (revision, state_since) = (stats.rules.revision, stats.state_since);
        let known = match known.filter(|known| known.revision == revision && known.state_since == state_since) {
            Some(known) => known,
            None => LastKnownQueue { revision, state_since, tenant: self.tenant_of(queue).await? },
        };
        Ok((stats, known))
    }

    async fn tenant_of(&self, queue: &QueueId) -> Result<TenantId, StoreError> {
        let settings = self.store.settings(queue).await?;
        settings.map(|settings| settings.tenant).ok_or_else(|| StoreError::UnknownQueue(queue.clone()))
    }
}
