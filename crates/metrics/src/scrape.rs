//! Scrapes the store: its round-trip time, the stats of every queue and the last purge.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use prometheus::proto::MetricFamily;
use tokio::time::Instant;
use tracing::{debug, warn};
use vestibule_core::line::{ProtectionReport, Stats};
use vestibule_core::settings::{Event, EventOrder, Settings};
use vestibule_core::{LastPurge, MICROS_PER_SECOND, Micros, QueueId, Store, StoreError, TenantId};
use vestibule_records::{RecordStore, client_address_state};
use vestibule_runtime::JobQueues;

use crate::job_queues::{ScrapedJobQueues, not_enqueued};

/// Maximum number of concurrent store calls. They share one connection, so a scrape of a thousand queues takes a few
/// round trips, and no visitor's call waits behind more than these.
const SCRAPE_PARALLEL: usize = 256;

/// The result of one scrape.
pub(crate) struct Scrape {
    /// Round-trip time of a minimal store command; `None` if the store is unavailable.
    pub(crate) round_trip: Option<Duration>,
    /// Every queue in the index; `None` if the index could not be read.
    pub(crate) queues: Option<Vec<ScrapedQueue>>,
    /// The last purge, if there was one.
    pub(crate) purge: Option<LastPurge>,
    /// The job queues; `None` if there are none in this deployment, or the store is unavailable.
    pub(crate) job_queues: Option<ScrapedJobQueues>,
    /// What this process could not enqueue.
    pub(crate) not_enqueued: Vec<MetricFamily>,
}

/// One queue of a scrape.
pub(crate) struct ScrapedQueue {
    pub(crate) id: QueueId,
    /// `None` for a queue that could never be read.
    pub(crate) tenant: Option<TenantId>,
    /// `None` if the queue cannot be read.
    pub(crate) stats: Option<Stats>,
    /// Seconds until the event of a scheduled queue starts; `None` without an event.
    pub(crate) event_starts_in: Option<f64>,
    /// Lobby tickets of that event; `None` unless its order is drawn.
    pub(crate) lobby_tickets: Option<u64>,
    /// Whether the gates do not know a sale key that draws or invitations need; `None` if none needs one, and in a process that
    /// does not know which keys they have.
    pub(crate) sale_key_missing: Option<bool>,
    /// Seconds since the round was published that the draw waits for; `None` unless a value is missing.
    pub(crate) beacon_missing_for: Option<f64>,
    /// Joins in the current window and the one before; `None` if the queue cannot be read.
    pub(crate) window_joins: Option<u64>,
    /// Those of the largest network; `None` if networks are not shown.
    pub(crate) largest_network_joins: Option<u64>,
}

/// The settings of a queue. Valid while `revision` and `state_since` are unchanged: a new tenant is a new revision, and a queue that was
/// removed and created again has a new state.
#[derive(Clone)]
struct LastKnownQueue {
    revision: u64,
    state_since: Micros,
    settings: Arc<Settings>,
}

/// Seconds since the round was published that the draw of an event waits for.
fn missing_for(event: &Event, now: Micros) -> Option<f64> {
    let published_at = event.beacon_round().filter(|_| event.awaits_beacon(now))?.published_at.micros();
    (published_at <= now).then(|| now.since(published_at) as f64 / MICROS_PER_SECOND as f64)
}

/// Whether a sale key that draws or invitations need is not among these; `None` if none needs one.
fn is_any_missing(settings: &Settings, ids: &BTreeSet<String>, now: Micros) -> Option<bool> {
    settings.needed_sale_keys(now).map(|(_, key)| !ids.contains(key)).reduce(|one, other| one || other)
}

/// Scrapes the store.
pub(crate) struct Scraper {
    store: Arc<dyn Store>,
    records: Arc<dyn RecordStore>,
    /// The IDs of the sale keys of the gates; `None` if they are not known here.
    pub(crate) sale_key_ids: Option<BTreeSet<String>>,
    /// The job queues; `None` if there are none in this deployment.
    pub(crate) job_queues: Option<Arc<JobQueues>>,
    /// What is known of each queue, so that its settings are read once. Holds the queues of the last scrape only.
    known: Mutex<HashMap<QueueId, LastKnownQueue>>,
}

impl Scraper {
    pub(crate) fn new(store: Arc<dyn Store>, records: Arc<dyn RecordStore>) -> Self {
        Self { store, records, sale_key_ids: None, job_queues: None, known: Mutex::default() }
    }

    pub(crate) async fn scrape(&self) -> Scrape {
        let not_enqueued = self.job_queues.as_deref().map(not_enqueued).unwrap_or_default();
        let Some(round_trip) = self.round_trip().await else {
            return Scrape { round_trip: None, queues: None, purge: None, job_queues: None, not_enqueued };
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
        let job_queues = match &self.job_queues {
            Some(job_queues) => Some(ScrapedJobQueues::scrape(job_queues, SCRAPE_PARALLEL).await),
            None => None,
        };
        Scrape { round_trip: Some(round_trip), queues, purge, job_queues, not_enqueued }
    }

    async fn round_trip(&self) -> Option<Duration> {
        let started = Instant::now();
        let answer = self.store.ping().await;
        answer.inspect_err(|error| warn!(%error, "the store is unavailable")).ok().map(|()| started.elapsed())
    }

    async fn read_all(&self, queues: Vec<QueueId>) -> Vec<ScrapedQueue> {
        let held = std::mem::take(&mut *self.known.lock());
        let reads = queues.into_iter().map(|queue| {
            let known = held.get(&queue).cloned();
            self.read(queue, known)
        });
        let all: Vec<_> = stream::iter(reads).buffered(SCRAPE_PARALLEL).collect().await;
        let (scraped, known): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        let queues = scraped.iter().map(|queue: &ScrapedQueue| queue.id.clone());
        let known = queues.zip(known).filter_map(|(queue, known)| Some((queue, known?))).collect();
        *self.known.lock() = known;
        let failed: Vec<_> =
            scraped.iter().filter(|queue| queue.stats.is_none()).map(|queue| queue.id.as_str()).collect();
        if let Some(queue) = failed.first() {
            warn!(queue, failed = failed.len(), of = scraped.len(), "queues cannot be read; see vestibule_queue_up");
        }
        scraped
    }

    async fn read(&self, queue: QueueId, known: Option<LastKnownQueue>) -> (ScrapedQueue, Option<LastKnownQueue>) {
        match self.read_with_settings(&queue, known.clone()).await {
            Ok((report, known)) => {
                let largest = Some(report.networks.first().map_or(0, |largest| largest.joins));
                let stats = report.stats;
                let settings = &known.settings;
                let tenant = Some(settings.tenant.clone());
                let current = settings.line.phase(stats.now, stats.may_wait()).and_then(|current| current.event);
                let drawn = current.filter(|event| event.order == EventOrder::Draw);
                let scraped = ScrapedQueue {
                    event_starts_in: current.map(|event| event.starts_in(stats.now)),
                    lobby_tickets: drawn.map(|_| stats.lobby_tickets),
                    sale_key_missing: self
                        .sale_key_ids
                        .as_ref()
                        .and_then(|ids| is_any_missing(settings, ids, stats.now)),
                    beacon_missing_for: drawn.and_then(|event| missing_for(event, stats.now)),
                    id: queue,
                    tenant,
                    window_joins: Some(report.totals.joins),
                    largest_network_joins: largest.filter(|_| stats.rules.protection.show_networks),
                    stats: Some(stats),
                };
                (scraped, Some(known))
            }
            Err(error) => {
                debug!(%queue, %error, "queue cannot be read");
                let tenant = match &known {
                    Some(known) => Some(known.settings.tenant.clone()),
                    None => self.settings_of(&queue).await.ok().map(|settings| settings.tenant),
                };
                let scraped = ScrapedQueue {
                    id: queue,
                    tenant,
                    stats: None,
                    event_starts_in: None,
                    lobby_tickets: None,
                    sale_key_missing: None,
                    beacon_missing_for: None,
                    window_joins: None,
                    largest_network_joins: None,
                };
                (scraped, known)
            }
        }
    }

    async fn read_with_settings(
        &self,
        queue: &QueueId,
        known: Option<LastKnownQueue>,
    ) -> Result<(ProtectionReport, LastKnownQueue), StoreError> {
        let mut report = self.store.protection(queue).await?;
        let (revision, state_since) = (report.stats.rules.revision, report.stats.state_since);
        let client_address = client_address_state(&*self.records, queue, &report.stats).await?;
        report.stats.limits.client_address = Some(client_address);
        let known = known.filter(|known| known.state_since == state_since && known.revision == revision);
        let settings = match known {
            Some(known) => known.settings,
            None => Arc::new(self.settings_of(queue).await?),
        };
        Ok((report, LastKnownQueue { revision, state_since, settings }))
    }

    async fn settings_of(&self, queue: &QueueId) -> Result<Settings, StoreError> {
        self.store.settings(queue).await?.ok_or_else(|| StoreError::UnknownQueue(queue.clone()))
    }
}
