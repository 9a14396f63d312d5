//! Watches the queues of webhooks (W2).

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::{from_str, json};
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;
use vestibule_core::settings::Settings;
use vestibule_core::{Store, StoreError};
use vestibule_records::{EphemeralKey, EphemeralKind};
use vestibule_runtime::{CachedJobQueue, Directory, JobQueues};

use super::comparison::SeenQueue;

/// Seconds between two comparisons.
const INTERVAL: u64 = 10;
/// Seconds for which a comparison belongs to the process that makes it.
const CLAIM_TTL: u64 = 30;
/// Seconds for which the statistics of a queue are kept. A queue that was not compared for longer is a new one.
const SEEN_TTL: u64 = 3_600;
/// How many queues are compared at once: they share one connection.
const AT_ONCE: usize = 16;

/// Compares the statistics of the queues that webhooks watch. Any number of processes may do so: one of them makes each
/// comparison, and the store has the statistics of the last one.
pub(crate) struct Watcher {
    job_queues: Arc<JobQueues>,
    queues: Queues,
}

/// The queues of a deployment.
#[derive(Clone)]
pub(crate) struct Queues {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) directory: Arc<Directory>,
}

impl Watcher {
    pub(crate) const fn new(job_queues: Arc<JobQueues>, queues: Queues) -> Self {
        Self { job_queues, queues }
    }

    /// Compares until the future is dropped.
    pub(crate) async fn run(self) {
        let mut ticks = interval(Duration::from_secs(INTERVAL));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_reachable = true;
        loop {
            ticks.tick().await;
            match self.compare().await {
                Ok(()) => is_reachable = true,
                Err(error) => {
                    if std::mem::take(&mut is_reachable) {
                        warn!(%error, "queues cannot be watched for webhooks; trying again");
                    }
                }
            }
        }
    }

    /// Compares the statistics of all watched queues, unless another process does. A queue that fails does not stop the others.
    pub(crate) async fn compare(&self) -> Result<(), StoreError> {
        let job_queues = self.job_queues.all().await?;
        if !job_queues.iter().any(|it| it.settings.webhook.is_some()) {
            return Ok(());
        }
        let records = self.job_queues.records();
        let number = records.now().await?.seconds() / INTERVAL;
        let claim = EphemeralKey::new(EphemeralKind::Comparison, number.to_string());
        if !records.set_ephemeral_if_absent(&claim, "", CLAIM_TTL).await? {
            return Ok(());
        }
        self.queues.directory.refresh_readable().await?;
        let mut queues = self.queues.directory.queues();
        queues.retain(|queue| is_watched(&job_queues, &queue.settings));
        let compared = queues.into_iter().map(|queue| async move { self.compare_queue(&queue.settings).await });
        let outcomes: Vec<_> = stream::iter(compared).buffer_unordered(AT_ONCE).collect().await;
        // A queue that was removed meanwhile is not missed.
        outcomes.into_iter().find(|it| !matches!(it, Ok(()) | Err(StoreError::UnknownQueue(_)))).unwrap_or(Ok(()))
    }

    async fn compare_queue(&self, queue: &Settings) -> Result<(), StoreError> {
        let stats = self.queues.store.stats(&queue.id).await?;
        let key = EphemeralKey::new(EphemeralKind::WatchedQueue, queue.id.as_str());
        let records = self.job_queues.records();
        let before = records.get_ephemeral(&key).await?.and_then(|text| from_str::<SeenQueue>(&text).ok());
        let (now, events) = before.unwrap_or_else(|| SeenQueue::before_first(&stats)).next(queue, &stats);
        // If this fails, the next comparison finds what has changed. A repeated event would hide the changes after it.
        records.set_ephemeral(&key, &json!(now).to_string(), SEEN_TTL).await?;
        for event in &events {
            self.job_queues.publish(event).await;
        }
        Ok(())
    }
}

fn is_watched(job_queues: &[Arc<CachedJobQueue>], queue: &Settings) -> bool {
    let webhooks = job_queues.iter().filter(|it| it.settings.tenant == queue.tenant);
    webhooks.filter_map(|it| it.settings.webhook.as_ref()).any(|webhook| webhook.watches(&queue.id))
}
