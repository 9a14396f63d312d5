//! What became of the calls of each job queue.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use vestibule_core::jobs::{JobQueueId, Outcome};

/// Calls of a job queue since this process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallCounts {
    /// Calls that acknowledged their job.
    pub acknowledged: u64,
    /// Calls that failed and may be repeated.
    pub failed: u64,
    /// Calls that failed for good.
    pub failed_for_good: u64,
    /// Calls whose handler asked to be called later.
    pub later: u64,
    /// Jobs that were returned without a call.
    pub requeued: u64,
    /// Leases that ended during a call, or before its outcome could be settled.
    pub leases_lost: u64,
}

#[derive(Debug, Default)]
pub(crate) struct CallCounters {
    acknowledged: AtomicU64,
    failed: AtomicU64,
    failed_for_good: AtomicU64,
    later: AtomicU64,
    requeued: AtomicU64,
    leases_lost: AtomicU64,
}

impl CallCounters {
    pub(crate) fn count(&self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Acknowledged(_) => &self.acknowledged,
            Outcome::Failed(_) | Outcome::Unknown(_) => &self.failed,
            Outcome::FailedForGood(_) => &self.failed_for_good,
            Outcome::Later { .. } => &self.later,
            Outcome::Requeued => &self.requeued,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_lost(&self) {
        self.leases_lost.fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> CallCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CallCounts {
            acknowledged: read(&self.acknowledged),
            failed: read(&self.failed),
            failed_for_good: read(&self.failed_for_good),
            later: read(&self.later),
            requeued: read(&self.requeued),
            leases_lost: read(&self.leases_lost),
        }
    }
}

/// The counters of all job queues.
#[derive(Debug, Default)]
pub(crate) struct Counters(Mutex<HashMap<JobQueueId, Arc<CallCounters>>>);

impl Counters {
    pub(crate) fn of(&self, job_queue: &JobQueueId) -> Arc<CallCounters> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(job_queue.clone()).or_default().clone()
    }

    pub(crate) fn counts(&self) -> BTreeMap<JobQueueId, CallCounts> {
        let counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counters.iter().map(|(job_queue, counters)| (job_queue.clone(), counters.counts())).collect()
    }
}
