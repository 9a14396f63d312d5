//! One pass over the store: whether it answers, every queue at a glance, the last purge.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join;
use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;
use tracing::{debug, warn};
use vestibule_core::line::Stats;
use vestibule_core::{LastPurge, Micros, QueueId, Store, StoreError, TenantId};

/// Most questions under way at once. They share one connection, so a pass over a thousand queues takes a few round
/// trips, and no visitor's question waits behind more than these.
pub const SCRAPE_PARALLEL: usize = 256;

/// What one pass found.
pub(crate) struct Scrape {
    /// How long the store took to answer the least question; `None` if it did not answer.
    pub(crate) ping: Option<Duration>,
    /// Every queue that the store lists; `None` if the list could not be read.
    pub(crate) queues: Option<Vec<Reading>>,
    /// The last purge, if there ever was one.
    pub(crate) purge: Option<LastPurge>,
}

/// What was read of one queue.
pub(crate) struct Reading {
    pub(crate) queue: QueueId,
    /// `None` only for a queue that can't be read and never could.
    pub(crate) tenant: Option<TenantId>,
    /// `None` if the queue can't be read.
    pub(crate) stats: Option<Stats>,
}

/// A queue's tenant, as long as these two are the same: another tenant would be another revision, and a queue that was
/// removed and made anew has begun anew.
#[derive(Clone, PartialEq, Eq)]
struct Known {
    revision: u64,
    began: Micros,
    tenant: TenantId,
}

/// Reads the store, again and again.
pub(crate) struct Scraper {
    store: Arc<dyn Store>,
    /// So that a queue's settings are only read once for its tenant. Holds the queues of the last pass, no others.
    tenants: Mutex<HashMap<QueueId, Known>>,
}

impl Scraper {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, tenants: Mutex::default() }
    }

    pub(crate) async fn scrape(&self) -> Scrape {
        let Some(ping) = self.ping().await else { return Scrape { ping: None, queues: None, purge: None } };
        let (index, purge) = join(self.store.queues(), self.store.last_purge()).await;
        let purge = purge.inspect_err(|error| warn!(%error, "the last purge can't be read")).ok().flatten();
        let queues = match index {
            Ok(index) => {
                let listed = index.into_iter().filter(|(_, revision)| *revision > 0).map(|(queue, _)| queue);
                Some(self.read_all(listed.collect()).await)
            }
            Err(error) => {
                warn!(%error, "the index of queues can't be read");
                None
            }
        };
        Scrape { ping: Some(ping), queues, purge }
    }

    async fn ping(&self) -> Option<Duration> {
        let began = Instant::now();
        let answer = self.store.ping().await;
        answer.inspect_err(|error| warn!(%error, "the store gives no answer")).ok().map(|()| began.elapsed())
    }

    async fn read_all(&self, queues: Vec<QueueId>) -> Vec<Reading> {
        let held = std::mem::take(&mut *self.tenants.lock().unwrap_or_else(PoisonError::into_inner));
        let passes = queues.into_iter().map(|queue| {
            let known = held.get(&queue).cloned();
            self.read(queue, known)
        });
        let all: Vec<_> = stream::iter(passes).buffered(SCRAPE_PARALLEL).collect().await;
        let (readings, known): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let queues = readings.iter().map(|reading: &Reading| reading.queue.clone());
        let known = queues.zip(known).filter_map(|(queue, known)| Some((queue, known?))).collect();
        *self.tenants.lock().unwrap_or_else(PoisonError::into_inner) = known;
        let failed = readings.iter().filter(|reading| reading.stats.is_none()).count();
        if failed > 0 {
            warn!(failed, of = readings.len(), "there are queues that can't be read; vestibule_queue_up names them");
        }
        readings
    }

    async fn read(&self, queue: QueueId, known: Option<Known>) -> (Reading, Option<Known>) {
        match self.read_with_tenant(&queue, known.clone()).await {
            Ok((stats, known)) => {
                let tenant = Some(known.tenant.clone());
                (Reading { queue, tenant, stats: Some(stats) }, Some(known))
            }
            Err(error) => {
                debug!(%queue, %error, "this queue can't be read");
                let tenant = match &known {
                    Some(known) => Some(known.tenant.clone()),
                    None => self.tenant_of(&queue).await.ok(),
                };
                (Reading { queue, tenant, stats: None }, known)
            }
        }
    }

    async fn read_with_tenant(&self, queue: &QueueId, known: Option<Known>) -> Result<(Stats, Known), StoreError> {
        let stats = self.store.stats(queue).await?;
        let (revision, began) = (stats.rules.revision, stats.state_since);
        let known = match known.filter(|known| known.revision == revision && known.began == began) {
            Some(known) => known,
            None => Known { revision, began, tenant: self.tenant_of(queue).await? },
        };
        Ok((stats, known))
    }

    async fn tenant_of(&self, queue: &QueueId) -> Result<TenantId, StoreError> {
        let settings = self.store.settings(queue).await?;
        settings.map(|settings| settings.tenant).ok_or_else(|| StoreError::UnknownQueue(queue.clone()))
    }
}
