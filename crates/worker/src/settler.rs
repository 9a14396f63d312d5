//! Settles outcomes in lists.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};
use vestibule_core::jobs::{JOB_BATCH, JobBackend, JobQueueSettings, Outcome, Settled, Settlement};

use crate::leases::HeldLease;
use crate::webhooks::JobEvents;

/// Maximum number of bytes of the responses that are settled in one list, so that it arrives in time over a slow connection. A single
/// response may have more.
const SETTLE_BYTES: usize = 256 * 1024;
/// Interval of attempts while the backend does not answer.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// An outcome, with the lease that is held until it is settled.
pub(crate) type Ended = (HeldLease, Outcome);

/// Settles what arrives until all senders are gone. What arrives meanwhile is in one list, if it is not too large.
pub(crate) async fn settle_all(
    mut ended: mpsc::UnboundedReceiver<Ended>,
    backend: Arc<dyn JobBackend>,
    settings: impl Fn() -> JobQueueSettings + Send,
    events: JobEvents,
) {
    let mut waiting = Vec::with_capacity(JOB_BATCH);
    while !waiting.is_empty() || ended.recv_many(&mut waiting, JOB_BATCH).await > 0 {
        let batch = waiting.drain(..fitting(&waiting)).collect();
        settle(&*backend, &settings(), &events, batch).await;
    }
}

/// How many of these outcomes, from the first on, are settled in one list: at least one.
fn fitting(waiting: &[Ended]) -> usize {
    let mut bytes = 0;
    let fits = |(_, outcome): &&Ended| {
        bytes += response_size(outcome);
        bytes <= SETTLE_BYTES
    };
    waiting.iter().take_while(fits).count().max(1)
}

/// Size of the response that an outcome has.
fn response_size(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Acknowledged(response) => response.as_ref().map_or(0, |response| response.size() as usize),
        Outcome::Failed(failure) | Outcome::Unknown(failure) | Outcome::FailedForGood(failure) => {
            failure.response.len()
        }
        Outcome::Later { .. } | Outcome::Requeued => 0,
    }
}

/// Settles these outcomes, and tries again until the leases end. Returns what the backend answered; nothing if it did not.
pub(crate) async fn settle(
    backend: &dyn JobBackend,
    settings: &JobQueueSettings,
    events: &JobEvents,
    mut batch: Vec<Ended>,
) -> Vec<Settled> {
    while !batch.is_empty() {
        let settlement = |(held, outcome): &Ended| Settlement { lease: held.lease, outcome: outcome.clone() };
        let settlements: Vec<_> = batch.iter().map(settlement).collect();
        match backend.settle(settings, settlements.clone()).await {
            Ok(settled) => {
                for (settlement, settled) in settlements.iter().zip(&settled) {
                    if let Settled::Now(state) = settled {
                        events.settled(settings, settlement, *state);
                    }
                    log_settled(settings, settlement, *settled);
                }
                return settled;
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
        if lost > 0 {
            warn!(job_queue = %settings.id, jobs = lost, "leases ended before outcomes could be settled; the jobs run again");
        }
    }
    Vec::new()
}

fn log_settled(settings: &JobQueueSettings, settlement: &Settlement, settled: Settled) {
    let job = settlement.lease.job;
    match settled {
        Settled::Now(state) => {
            debug!(job_queue = %settings.id, %job, state = json!(state).as_str(), "job settled");
        }
        Settled::NotLeased => {
            warn!(job_queue = %settings.id, %job, "the lease has ended; the outcome is ignored");
        }
    }
}
