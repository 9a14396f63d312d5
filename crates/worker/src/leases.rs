//! The leases that a job queue holds in this process, from receiving a job to settling it (J9).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep};
use tracing::warn;
use vestibule_core::jobs::{Extension, JOB_BATCH, JobBackend, JobQueueSettings, LEASE_SECONDS, Lease};

/// Interval at which the leases of running calls are extended.
const EXTEND_INTERVAL: Duration = Duration::from_secs(10);
/// Interval of attempts while the backend does not answer.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Duration of a lease.
pub(crate) const LEASE: Duration = Duration::from_secs(LEASE_SECONDS);

/// The leases of a job queue.
#[derive(Clone)]
pub(crate) struct Leases {
    held: Arc<Mutex<HashMap<Lease, Held>>>,
    /// Notified when a lease has ended.
    ended: Arc<Notify>,
}

struct Held {
    until: Instant,
    call: Option<AbortHandle>,
}

impl Held {
    fn is_running(&self) -> bool {
        self.call.as_ref().is_some_and(|call| !call.is_finished())
    }
}

/// A lease that is held until this is dropped, with the permit of its call.
pub(crate) struct HeldLease {
    pub(crate) lease: Lease,
    leases: Leases,
    _permit: Option<OwnedSemaphorePermit>,
}

impl HeldLease {
    /// Until when the lease lasts, as far as this process knows.
    pub(crate) fn until(&self) -> Instant {
        self.leases.held().get(&self.lease).map_or_else(Instant::now, |held| held.until)
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.leases.held().remove(&self.lease);
        self.leases.ended.notify_one();
    }
}

impl Leases {
    /// Leases whose end wakes this.
    pub(crate) fn new(ended: Arc<Notify>) -> Self {
        Self { held: Arc::default(), ended }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Lease, Held>> {
        self.held.lock()
    }

    pub(crate) fn len(&self) -> usize {
        self.held().len()
    }

    /// The number of jobs whose call was started and that are not settled.
    pub(crate) fn started(&self) -> usize {
        self.held().values().filter(|held| held.call.is_some()).count()
    }

    /// A lease that was received after this instant.
    pub(crate) fn hold(&self, lease: Lease, asked_at: Instant, permit: Option<OwnedSemaphorePermit>) -> HeldLease {
        self.held().insert(lease, Held { until: asked_at + LEASE, call: None });
        HeldLease { lease, leases: self.clone(), _permit: permit }
    }

    /// The call that runs under this lease.
    pub(crate) fn runs(&self, lease: Lease, call: AbortHandle) {
        if let Some(held) = self.held().get_mut(&lease) {
            held.call = Some(call);
        }
    }

    /// Ends the running calls, and returns their leases.
    pub(crate) fn interrupt(&self) -> Vec<Lease> {
        let running = |(lease, held): (&Lease, &Held)| held.is_running().then(|| (*lease, held.call.clone()));
        let calls: Vec<_> = self.held().iter().filter_map(running).collect();
        for call in calls.iter().filter_map(|(_, call)| call.as_ref()) {
            call.abort();
        }
        calls.into_iter().map(|(lease, _)| lease).collect()
    }

    /// Extends all leases from time to time, until this future is dropped. A call whose lease has ended is ended: another worker
    /// may run the job now.
    pub(crate) async fn keep(self, backend: Arc<dyn JobBackend>, settings: impl Fn() -> JobQueueSettings + Send) {
        let mut pause = EXTEND_INTERVAL;
        loop {
            sleep(pause).await;
            let settings = settings();
            pause = if self.extend(&*backend, &settings).await { EXTEND_INTERVAL } else { RETRY_INTERVAL };
        }
    }

    /// Extends all leases; `false` if the backend did not answer.
    async fn extend(&self, backend: &dyn JobBackend, settings: &JobQueueSettings) -> bool {
        let leases: Vec<Lease> = self.held().keys().copied().collect();
        for batch in leases.chunks(JOB_BATCH) {
            let asked_at = Instant::now();
            let extensions: Vec<_> = batch.iter().copied().map(Extension::of).collect();
            match backend.extend(settings, &extensions).await {
                Ok(current) => {
                    for (lease, is_current) in batch.iter().zip(current) {
                        if is_current {
                            self.extended(*lease, asked_at + LEASE);
                        // An order that is being sent goes on: nobody else sends it, and a late outcome counts (H8).
                        } else if !settings.sends_once() && self.lost(*lease) {
                            warn!(job_queue = %settings.id, job = %lease.job, "the lease has ended; the call is ended");
                        }
                    }
                }
                Err(error) => {
                    warn!(job_queue = %settings.id, %error, "leases could not be extended; trying again");
                    return false;
                }
            }
        }
        true
    }

    fn extended(&self, lease: Lease, until: Instant) {
        if let Some(held) = self.held().get_mut(&lease) {
            held.until = until;
        }
    }

    /// Ends the call of a lease that has ended; `false` if it does not run any more, because the lease was settled meanwhile.
    fn lost(&self, lease: Lease) -> bool {
        let call = self.held().get(&lease).filter(|held| held.is_running()).and_then(|held| held.call.clone());
        call.is_some_and(|call| {
            call.abort();
            true
        })
    }
}
