//! The statistics of all queues, read once for all subscribers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tracing::warn;

use crate::access::OperatorName;
use crate::open_requests::{OpenRequest, OpenRequests};
use crate::problem::Problem;
use crate::stats::{QueueStats, StatsSources, all_stats};

/// Time between two polls.
const EVERY: Duration = Duration::from_secs(2);

/// Polls the statistics of all queues while there are subscribers.
pub(crate) struct StatsStream {
    sources: StatsSources,
    shared: Arc<Shared>,
    subscribers: OpenRequests,
}

struct Shared {
    /// `None` while the store is unavailable.
    sender: watch::Sender<Option<Vec<QueueStats>>>,
    polling: AtomicBool,
}

/// A subscription.
pub(crate) struct Subscriber {
    pub(crate) stats: watch::Receiver<Option<Vec<QueueStats>>>,
    _open: OpenRequest,
}

impl StatsStream {
    pub(crate) fn new(sources: StatsSources) -> Self {
        let shared = Shared { sender: watch::Sender::default(), polling: AtomicBool::new(false) };
        Self { sources, shared: Arc::new(shared), subscribers: OpenRequests::default() }
    }

    /// Subscribes an operator; statistics that are known already count as changed.
    pub(crate) fn subscribe(&self, operator: &OperatorName) -> Result<Subscriber, Problem> {
        let shared = &self.shared;
        let open = self.subscribers.begin(operator).ok_or(Problem::TooManyStreams)?;
        let mut stats = shared.sender.subscribe();
        if !shared.polling.swap(true, Ordering::SeqCst) {
            tokio::spawn(poll(self.sources.clone(), Arc::clone(shared)));
        } else if stats.borrow().is_some() {
            stats.mark_changed();
        }
        Ok(Subscriber { stats, _open: open })
    }
}

async fn poll(sources: StatsSources, shared: Arc<Shared>) {
    loop {
        match all_stats(&sources, |_| true).await {
            Ok(stats) => drop(shared.sender.send(Some(stats))),
            Err(error) => {
                warn!(%error, "the statistics of the queues could not be read; trying again");
                drop(shared.sender.send(None));
            }
        }
        tokio::time::sleep(EVERY).await;
        if shared.sender.receiver_count() == 0 {
            shared.polling.store(false, Ordering::SeqCst);
            // A subscriber that came in between saw it polling, and would wait for nothing.
            if shared.sender.receiver_count() == 0 || shared.polling.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}
