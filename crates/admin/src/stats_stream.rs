//! The statistics of all queues, read once for all subscribers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tracing::warn;

use crate::access::OperatorName;
use crate::problem::Problem;
use crate::stats::{QueueStats, StatsSources, all_stats};

/// Time between two polls.
const EVERY: Duration = Duration::from_secs(2);
/// Maximum number of subscribers.
const SUBSCRIBERS_MAX: usize = 200;

/// Maximum number of subscribers of one operator: some tabs in some browsers.
const PER_OPERATOR_MAX: usize = 20;

/// Polls the statistics of all queues while there are subscribers.
pub(crate) struct StatsStream {
    sources: StatsSources,
    shared: Arc<Shared>,
}

struct Shared {
    /// `None` while the store is unavailable.
    sender: watch::Sender<Option<Vec<QueueStats>>>,
    polling: AtomicBool,
    free: Arc<Semaphore>,
    /// How many subscribers each operator has.
    of_operators: Mutex<HashMap<OperatorName, usize>>,
}

impl Shared {
    /// Counts a subscriber of an operator, unless there are too many.
    fn count(self: &Arc<Self>, operator: &OperatorName) -> Option<Counted> {
        let mut counts = self.of_operators.lock();
        let count = counts.entry(operator.clone()).or_default();
        if *count >= PER_OPERATOR_MAX {
            return None;
        }
        *count += 1;
        Some(Counted { shared: Arc::clone(self), operator: operator.clone() })
    }
}

/// A subscriber that counts for its operator as long as this exists.
struct Counted {
    shared: Arc<Shared>,
    operator: OperatorName,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.shared.of_operators.lock();
        if let Some(count) = counts.get_mut(&self.operator) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.operator);
            }
        }
    }
}

/// A subscription.
pub(crate) struct Subscriber {
    pub(crate) stats: watch::Receiver<Option<Vec<QueueStats>>>,
    _permit: OwnedSemaphorePermit,
    _counted: Counted,
}

impl StatsStream {
    pub(crate) fn new(sources: StatsSources) -> Self {
        let free = Arc::new(Semaphore::new(SUBSCRIBERS_MAX));
        let (sender, polling, of_operators) = (watch::Sender::default(), AtomicBool::new(false), Mutex::default());
        let shared = Shared { sender, polling, free, of_operators };
        Self { sources, shared: Arc::new(shared) }
    }

    /// Subscribes an operator; statistics that are known already count as changed.
    pub(crate) fn subscribe(&self, operator: &OperatorName) -> Result<Subscriber, Problem> {
        let shared = &self.shared;
        let counted = shared.count(operator).ok_or(Problem::TooManyStreams)?;
        let permit = Arc::clone(&shared.free).try_acquire_owned().map_err(|_| Problem::TooManyStreams)?;
        let mut stats = shared.sender.subscribe();
        if !shared.polling.swap(true, Ordering::SeqCst) {
            tokio::spawn(poll(self.sources.clone(), Arc::clone(shared)));
        } else if stats.borrow().is_some() {
            stats.mark_changed();
        }
        Ok(Subscriber { stats, _permit: permit, _counted: counted })
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
