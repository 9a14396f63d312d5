//! Settles outcomes in lists.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};
use vestibule_core::jobs::{JOB_BATCH, JobBackend, JobQueueSettings, Outcome, Settled, Settlement};

use crate::counters::CallCounters;
use crate::leases::HeldLease;
use crate::webhooks::JobEvents;

/// Interval of attempts while the backend does not answer.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// An outcome, with the lease that is held until it is settled.
pub(crate) type Ended = (HeldLease, Outcome);

/// Settles what arrives until all senders are gone. What arrives meanwhile is in one list.
pub(crate) async fn settle_all(
    mut ended: mpsc::UnboundedReceiver<Ended>,
    backend: Arc<dyn JobBackend>,
    settings: impl Fn() -> JobQueueSettings + Send,
    counters: Arc<CallCounters>,
    events: JobEvents,
) {
    let mut batch = Vec::with_capacity(JOB_BATCH);
    while ended.recv_many(&mut batch, JOB_BATCH).await > 0 {
        settle(&*backend, &settings(), &counters, &events, std::mem::take(&mut batch)).await;
    }
}

async fn settle(
    backend: &dyn JobBackend,
    settings: &JobQueueSettings,
    counters: &CallCounters,
    events: &JobEvents,
    mut batch: Vec<Ended>,
) {
    while !batch.is_empty() {
        let settlement = |(held, outcome): &Ended| Settlement { lease: held.lease, outcome: outcome.clone() };
        match backend.settle(settings, batch.iter().map(settlement).collect()).await {
            Ok(settled) => {
                for ((held, outcome), settled) in batch.iter().zip(settled) {
                    if let Settled::Now(state) = settled {
                        events.settled(settings, held.lease.job, outcome, state);
                    }
                    record(settings, counters, held, outcome, settled);
                }
                return;
            }
            Err(error) => {
                warn!(job_queue = %settings.id, jobs = batch.len(), %error, "outcomes could not be settled; trying again");
                sleep(RETRY_INTERVAL).await;
            }
        }
        let before = batch.len();
        // What became of an order is stored late, too: until then its outcome is unknown (H8).
        batch.retain(|(held, _)| settings.sends_once() || held.until() > Instant::now());
        let lost = before - batch.len();
        for _ in 0..lost {
            counters.count_lost();
        }
        if lost > 0 {
            warn!(job_queue = %settings.id, jobs = lost, "leases ended before outcomes could be settled; the jobs run again");
        }
    }
}

fn record(settings: &JobQueueSettings, counters: &CallCounters, held: &HeldLease, outcome: &Outcome, settled: Settled) {
    match settled {
        Settled::Now(state) => {
            counters.count(outcome);
            debug!(job_queue = %settings.id, job = %held.lease.job, ?state, "job settled");
        }
        Settled::NotLeased => {
            counters.count_lost();
            warn!(job_queue = %settings.id, job = %held.lease.job, "the lease has ended; the outcome is ignored");
        }
    }
}
