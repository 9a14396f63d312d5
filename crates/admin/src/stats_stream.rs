//! The stats of all queues, asked for once for all who follow them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tracing::warn;

use crate::problem::Problem;
use crate::state::Admin;
use crate::stats::{QueueStats, all_stats};

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(2);
/// Most who follow at once.
const SUBSCRIBERS_MAX: usize = 200;

/// Looks while somebody follows.
pub(crate) struct StatsStream {
    /// `None` while the store gives no answer.
    sender: watch::Sender<Option<Vec<QueueStats>>>,
    polling: AtomicBool,
    free: Arc<Semaphore>,
}

impl Default for StatsStream {
    fn default() -> Self {
        let free = Arc::new(Semaphore::new(SUBSCRIBERS_MAX));
        Self { sender: watch::Sender::default(), polling: AtomicBool::new(false), free }
    }
}

/// Somebody who follows.
pub(crate) struct Subscriber {
    pub(crate) stats: watch::Receiver<Option<Vec<QueueStats>>>,
    _permit: OwnedSemaphorePermit,
}

impl StatsStream {
    /// Begins to follow; what is known already counts as changed.
    pub(crate) fn subscribe(&self, admin: &Admin) -> Result<Subscriber, Problem> {
        let permit = Arc::clone(&self.free).try_acquire_owned().map_err(|_| Problem::TooManyStreams)?;
        let mut stats = self.sender.subscribe();
        if !self.polling.swap(true, Ordering::SeqCst) {
            tokio::spawn(poll(admin.clone()));
        } else if stats.borrow().is_some() {
            stats.mark_changed();
        }
        Ok(Subscriber { stats, _permit: permit })
    }
}

async fn poll(admin: Admin) {
    let stream = &admin.stats_stream;
    loop {
        match all_stats(&admin, |_| true).await {
            Ok(stats) => drop(stream.sender.send(Some(stats))),
            Err(error) => {
                warn!(%error, "the stats of the queues could not be read; trying again");
                drop(stream.sender.send(None));
            }
        }
        tokio::time::sleep(EVERY).await;
        if stream.sender.receiver_count() == 0 {
            stream.polling.store(false, Ordering::SeqCst);
            // Somebody who came in between found it polling, and must not wait in vain.
            if stream.sender.receiver_count() == 0 || stream.polling.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}
