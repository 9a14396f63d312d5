//! The worker: follows the settings, with a loop for each job queue.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};
use vestibule_core::jobs::{JobQueueId, JobTargetKind};
use vestibule_core::{PassSigner, Store};
use vestibule_runtime::{CachedJobQueue, Directory, JobQueues};

use crate::dispatcher::{CallObserver, Dispatcher, Stopped};
use crate::public_url::PublicUrl;
use crate::reaper;
use crate::schedules::Scheduler;
use crate::target::CallParts;
use crate::webhooks::{JobEvents, Queues, Watcher};

/// Maximum number of calls at a time by default, all job queues together.
pub const CONCURRENCY: usize = 256;
/// Interval at which new, changed and removed job queues are looked for.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);
/// How long a worker that stops waits until the last webhook events about jobs are enqueued.
pub(crate) const EVENTS_LIMIT: Duration = Duration::from_secs(2);

/// Runs the jobs of all job queues of a deployment.
pub struct Worker {
    job_queues: Arc<JobQueues>,
    slots: Arc<Semaphore>,
    parts: CallParts,
    observer: CallObserver,
    queues: Option<Queues>,
}

impl Worker {
    /// A worker with at most this many calls at a time. Beyond them, a job queue without a call may have one. `passes` signs the
    /// passes of held orders, and `public_url` is where handlers reach the gate to report progress.
    pub fn new(
        job_queues: Arc<JobQueues>,
        concurrency: usize,
        passes: PassSigner,
        public_url: Option<&PublicUrl>,
    ) -> Self {
        let public_url = public_url.map(|url| url.as_str().into());
        let parts = CallParts { passes: Arc::new(passes), public_url, is_function: false };
        let slots = Arc::new(Semaphore::new(concurrency));
        Self { job_queues, slots, parts, observer: Arc::new(|_, _| {}), queues: None }
    }

    /// Reports how long each call took.
    #[must_use]
    pub fn with_observer(self, observer: CallObserver) -> Self {
        Self { observer, ..self }
    }

    /// Watches the queues of this store for webhooks.
    #[must_use]
    pub fn with_queues(self, store: Arc<dyn Store>, directory: Arc<Directory>) -> Self {
        Self { queues: Some(Queues { store, directory }), ..self }
    }

    /// Runs jobs until `stop`. Then it starts no more, waits for running calls up to 20 seconds, and returns the jobs that it has
    /// received but not started.
    pub async fn run(&self, stop: impl Future<Output = ()>) -> Stopped {
        let mut stop = pin!(stop);
        let schedules = tokio::spawn(Scheduler::new(self.job_queues.clone()).run());
        let reaping = tokio::spawn(reaper::run(self.job_queues.clone()));
        let (events, publish) = JobEvents::new(self.job_queues.clone());
        let publishing = tokio::spawn(publish);
        let queues = self.queues.clone();
        let watching = queues.map(|queues| tokio::spawn(Watcher::new(self.job_queues.clone(), queues).run()));
        let mut followed: HashMap<JobQueueId, watch::Sender<Arc<CachedJobQueue>>> = HashMap::new();
        let mut loops = JoinSet::new();
        let mut is_reachable = true;
        loop {
            match self.job_queues.all().await {
                Ok(all) => {
                    is_reachable = true;
                    self.follow(&all, &events, &mut followed, &mut loops);
                }
                Err(error) => {
                    if std::mem::take(&mut is_reachable) {
                        warn!(%error, "job queues cannot be read; trying again");
                    }
                }
            }
            // Loops of removed job queues.
            while loops.try_join_next().is_some() {}
            tokio::select! {
                () = &mut stop => break,
                () = sleep(FOLLOW_INTERVAL) => {}
            }
        }
        schedules.abort();
        reaping.abort();
        watching.inspect(JoinHandle::abort);
        drop(followed);
        let mut stopped = Stopped::default();
        while let Some(ended) = loops.join_next().await {
            let Stopped { finished, requeued, interrupted } = ended.unwrap_or_default();
            stopped.finished += finished;
            stopped.requeued += requeued;
            stopped.interrupted += interrupted;
        }
        drop(events);
        if timeout(EVENTS_LIMIT, publishing).await.is_err() {
            warn!("webhook events about jobs could not be enqueued before the stop");
        }
        let Stopped { finished, requeued, interrupted } = stopped;
        info!(finished, requeued, interrupted, "worker stopped");
        stopped
    }

    /// Starts loops of new job queues whose jobs are called, not pulled, and tells the others what has changed. A loop whose sender
    /// is gone stops.
    fn follow(
        &self,
        all: &[Arc<CachedJobQueue>],
        events: &JobEvents,
        followed: &mut HashMap<JobQueueId, watch::Sender<Arc<CachedJobQueue>>>,
        loops: &mut JoinSet<Stopped>,
    ) {
        let called = all.iter().filter(|it| it.settings.target.kind != JobTargetKind::Pull);
        followed.retain(|id, sender| !sender.is_closed() && called.clone().any(|it| it.settings.id == *id));
        for job_queue in called {
            let id = &job_queue.settings.id;
            let Some(sender) = followed.get(id) else {
                let (sender, settings) = watch::channel(job_queue.clone());
                let dispatcher = Dispatcher {
                    backend: self.job_queues.backend().clone(),
                    settings,
                    wake: self.job_queues.wake(id),
                    slots: self.slots.clone(),
                    parts: self.parts.clone(),
                    events: events.clone(),
                    observer: self.observer.clone(),
                };
                loops.spawn(dispatcher.run());
                followed.insert(id.clone(), sender);
                continue;
            };
            sender.send_if_modified(|current| {
                let is_changed = *current != *job_queue;
                current.clone_from(job_queue);
                is_changed
            });
        }
    }
}
