//! The loop of one job queue: receives jobs, and starts their calls.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{debug, info, warn};
use vestibule_core::jobs::{
    Extension, Failure, FailureReason, JOB_BATCH, JobBackend, JobQueueId, JobQueueSettings, Lease, LeasedJob, Outcome,
    Received,
};
use vestibule_core::{Clock as _, Micros, SystemClock};
use vestibule_runtime::CachedJobQueue;

use crate::leases::{HeldLease, LEASE, Leases};
use crate::response::without_response;
use crate::settler::{Ended, settle_all};
use crate::target::{CallParts, Target};
use crate::webhooks::JobEvents;

/// Interval at which jobs of other processes are looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The same while there have been no jobs for [`IDLE_AFTER`].
const IDLE_INTERVAL: Duration = Duration::from_secs(1);
/// How long a job queue must have no jobs to be idle.
const IDLE_AFTER: Duration = Duration::from_mins(1);
/// Minimum time between two receives that found less than was asked for, so that a high rate is taken in lists.
const PAUSE_MIN: Duration = Duration::from_millis(5);
/// Interval of attempts while the backend does not answer.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// How long a job queue that stops waits for running calls.
pub(crate) const STOP_LIMIT: Duration = Duration::from_secs(20);
/// How long it then waits for the backend.
const SETTLE_LIMIT: Duration = Duration::from_secs(5);

/// Receives the duration of each call.
pub type CallObserver = Arc<dyn Fn(&JobQueueId, Duration) + Send + Sync>;

pub(crate) type Settings = watch::Receiver<Arc<CachedJobQueue>>;

/// What became of the calls that ran, and the jobs that had been received, when the worker stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stopped {
    /// Calls that ended.
    pub finished: usize,
    /// Jobs that were returned without a call (J12).
    pub requeued: usize,
    /// Calls that took too long and were ended. They count as failed attempts.
    pub interrupted: usize,
}

/// What the loop of a job queue needs.
pub(crate) struct Dispatcher {
    pub(crate) backend: Arc<dyn JobBackend>,
    /// The job queue as it is in the settings. Without a sender, the loop stops.
    pub(crate) settings: Settings,
    /// Notified when a job was enqueued in this process.
    pub(crate) wake: Arc<Notify>,
    /// The calls of all job queues.
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) parts: CallParts,
    pub(crate) events: JobEvents,
    /// Receives the duration of each call.
    pub(crate) observer: CallObserver,
}

impl Dispatcher {
    /// Runs jobs until the job queue is gone or the worker stops. Then it waits for running calls, up to [`STOP_LIMIT`], and for
    /// held orders up to their timeout.
    pub(crate) async fn run(self) -> Stopped {
        let Self { backend, settings, wake, slots, parts, events, observer } = self;
        let leases = Leases::new(wake.clone());
        let (outcomes, ended) = mpsc::unbounded_channel();
        let current = |settings: &Settings| {
            let settings = settings.clone();
            move || settings.borrow().settings.clone()
        };
        let settling = settle_all(ended, backend.clone(), current(&settings), events);
        let settling = tokio::spawn(settling);
        let keeping = tokio::spawn(leases.clone().keep(backend.clone(), current(&settings)));
        let mut receiver = Receiver {
            backend,
            settings,
            wake,
            slots,
            own_slot: Arc::new(Semaphore::new(1)),
            leases,
            outcomes,
            observer,
            target: None,
            parts,
            last_job: Instant::now(),
            is_failing: false,
            clock: SystemClock::new(),
        };
        let requeued = receiver.receive_all().await;
        let mut stopped = receiver.finish().await;
        stopped.requeued = requeued;
        // The loop of settlements ends with the last sender.
        drop(receiver);
        if timeout(SETTLE_LIMIT, settling).await.is_err() {
            warn!("outcomes could not be settled before the stop; the jobs run again when their leases end");
        }
        keeping.abort();
        stopped
    }
}

/// Records that a held order is about to be sent, and says whether it may be: only if that is confirmed (H7).
pub(crate) async fn confirm(backend: Arc<dyn JobBackend>, settings: JobQueueSettings, lease: Lease) -> bool {
    backend.extend(&settings, &[Extension::sent(lease)]).await.is_ok_and(|current| current == [true])
}

/// Logs what became of a call.
pub(crate) fn log_call(job_queue: &JobQueueId, lease: Lease, outcome: &Outcome, took: Duration) {
    let milliseconds = took.as_millis() as u64;
    let Lease { job, receive_count } = lease;
    match outcome {
        Outcome::Failed(Failure { reason, status, .. })
        | Outcome::Unknown(Failure { reason, status, .. })
        | Outcome::FailedForGood(Failure { reason, status, .. }) => {
            info!(%job_queue, %job, receive_count, reason = json!(reason).as_str(), status, milliseconds, "call failed");
        }
        outcome => debug!(%job_queue, %job, receive_count, ?outcome, milliseconds, "call ended"),
    }
}

struct Receiver {
    backend: Arc<dyn JobBackend>,
    settings: Settings,
    wake: Arc<Notify>,
    slots: Arc<Semaphore>,
    /// A call of its own, so that slow handlers of other job queues can't stop this one.
    own_slot: Arc<Semaphore>,
    leases: Leases,
    outcomes: mpsc::UnboundedSender<Ended>,
    observer: CallObserver,
    target: Option<Target>,
    parts: CallParts,
    last_job: Instant,
    /// Whether jobs could not be received last, which was logged.
    is_failing: bool,
    clock: SystemClock,
}

impl Receiver {
    /// Receives jobs until the stop. Returns how many were returned because they had not been started.
    async fn receive_all(&mut self) -> usize {
        while self.settings.has_changed().is_ok() {
            let job_queue = self.settings.borrow_and_update().clone();
            let pause = match self.target(&job_queue) {
                Some(target) => self.receive(&job_queue.settings, &target).await,
                None => Ok(RETRY_INTERVAL),
            };
            let pause = match pause {
                Ok(pause) => pause,
                Err(requeued) => return requeued,
            };
            if pause.is_zero() {
                continue;
            }
            let wake = self.wake.clone();
            tokio::select! {
                biased;
                _ = self.settings.changed() => {}
                () = wake.notified() => {}
                () = sleep(pause) => {}
            }
        }
        0
    }

    /// Receives jobs once, and starts them. Returns the time until the next receive, or how many jobs were returned because of a
    /// stop.
    async fn receive(&mut self, settings: &JobQueueSettings, target: &Target) -> Result<Duration, usize> {
        let free = (settings.concurrency as usize).saturating_sub(self.leases.len()).min(JOB_BATCH);
        let permits = self.permits(free);
        if permits.is_empty() || settings.paused {
            return Ok(POLL_INTERVAL);
        }
        let (asked, asked_at) = (permits.len(), Instant::now());
        // A receive whose answer is slow may be an abandoned one; its leases end on their own.
        let received = match self.backend.receive(settings, asked).await {
            Ok(received) if asked_at.elapsed() < LEASE => received,
            Ok(_) => return Ok(RETRY_INTERVAL),
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    warn!(job_queue = %settings.id, %error, "jobs could not be received; trying again");
                }
                return Ok(RETRY_INTERVAL);
            }
        };
        self.is_failing = false;
        let Received { jobs, next_due, has_more } = received;
        if !jobs.is_empty() {
            self.last_job = Instant::now();
        }
        let (found, is_stopping) = (jobs.len(), self.settings.has_changed().is_err());
        for (job, permit) in jobs.into_iter().zip(permits) {
            let held = self.leases.hold(job.lease, asked_at, Some(permit));
            if is_stopping {
                let _ = self.outcomes.send((held, Outcome::Requeued));
            } else {
                self.start(settings, target.clone(), job, held);
            }
        }
        if is_stopping {
            return Err(found);
        }
        Ok(if found == asked || has_more { Duration::ZERO } else { self.pause(next_due) })
    }

    /// Permits for up to this many calls.
    fn permits(&self, calls: usize) -> Vec<OwnedSemaphorePermit> {
        let own = self.own_slot.clone().try_acquire_owned();
        let shared = std::iter::from_fn(|| self.slots.clone().try_acquire_owned().ok());
        own.into_iter().chain(shared).take(calls).collect()
    }

    /// The target with the current settings; `None` if it can't be called.
    fn target(&mut self, job_queue: &CachedJobQueue) -> Option<Target> {
        if let Some(target) = self.target.as_ref().filter(|target| target.is_of(job_queue)) {
            return Some(target.clone());
        }
        match Target::new(job_queue, &self.parts) {
            Ok(target) => self.target = Some(target),
            Err(error) => {
                warn!(job_queue = %job_queue.settings.id, %error, "the handler cannot be called");
                self.target = None;
            }
        }
        self.target.clone()
    }

    /// Starts the call of a job.
    fn start(&self, settings: &JobQueueSettings, target: Target, job: LeasedJob, held: HeldLease) {
        let confirm = confirm(self.backend.clone(), settings.clone(), job.lease);
        let (lease, job_queue, outcomes) = (job.lease, settings.id.clone(), self.outcomes.clone());
        let observer = self.observer.clone();
        let call = tokio::spawn(async move {
            let started = Instant::now();
            let outcome = target.call(job, confirm).await;
            let took = started.elapsed();
            observer(&job_queue, took);
            log_call(&job_queue, held.lease, &outcome, took);
            let _ = outcomes.send((held, outcome));
        });
        self.leases.runs(lease, call.abort_handle());
    }

    /// The time until the next receive. The backend's clock may differ from this one, so what is due in the past waits, too.
    fn pause(&self, next_due: Option<Micros>) -> Duration {
        let is_idle = self.last_job.elapsed() > IDLE_AFTER;
        let poll = if is_idle { IDLE_INTERVAL } else { POLL_INTERVAL };
        let until_due = next_due.and_then(|due| due.0.checked_sub(self.clock.now().0)).filter(|micros| *micros > 0);
        until_due.map_or(poll, |micros| Duration::from_micros(micros).clamp(PAUSE_MIN, poll))
    }

    /// Waits for running calls, and ends those that take too long.
    async fn finish(&self) -> Stopped {
        let calls = self.leases.started();
        let mut wake = pin!(async {
            while self.leases.len() > 0 {
                self.wake.notified().await;
            }
        });
        let mut stopped = Stopped::default();
        let (id, holds_orders, timeout) = {
            let settings = &self.settings.borrow().settings;
            (settings.id.clone(), settings.holds_orders(), Duration::from_secs(settings.timeout))
        };
        // H12: an order that is interrupted has an unknown outcome.
        let limit = if holds_orders { STOP_LIMIT.max(timeout) } else { STOP_LIMIT };
        if calls > 0 {
            info!(job_queue = %id, calls, "waiting for running calls, up to {} s", limit.as_secs());
        }
        if timeout_at(Instant::now() + limit, &mut wake).await.is_err() {
            for lease in self.leases.interrupt() {
                let failure = without_response(FailureReason::LeaseExpired);
                let outcome = if holds_orders { Outcome::Unknown(failure) } else { Outcome::Failed(failure) };
                let _ = self.outcomes.send((self.leases.hold(lease, Instant::now(), None), outcome));
                stopped.interrupted += 1;
            }
        }
        stopped.finished = calls.saturating_sub(stopped.interrupted);
        stopped
    }
}
