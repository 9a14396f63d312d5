//! Webhook events about jobs that failed for good.

use std::sync::Arc;

use tokio::sync::mpsc;
use vestibule_core::jobs::{JobQueueSettings, JobState, Settlement, WebhookEvent};
use vestibule_core::{Clock as _, SystemClock};
use vestibule_runtime::JobQueues;

/// Maximum number of events that wait until they are enqueued.
const WAITING_MAX: usize = 1_024;

/// Takes the events of settled jobs. Clones share them.
#[derive(Clone)]
pub(crate) struct JobEvents {
    job_queues: Arc<JobQueues>,
    waiting: mpsc::Sender<WebhookEvent>,
    clock: Arc<SystemClock>,
}

impl JobEvents {
    /// Takes events, and what publishes them until all clones are gone: settlements never wait for webhooks.
    pub(crate) fn new(job_queues: Arc<JobQueues>) -> (Self, impl Future<Output = ()>) {
        let (waiting, mut events) = mpsc::channel::<WebhookEvent>(WAITING_MAX);
        let publisher = job_queues.clone();
        let publish = async move {
            while let Some(event) = events.recv().await {
                publisher.publish(&event).await;
            }
        };
        (Self { job_queues, waiting, clock: Arc::new(SystemClock::new()) }, publish)
    }

    /// Tells that a job is settled, and in which state it is now.
    pub(crate) fn settled(&self, settings: &JobQueueSettings, settlement: &Settlement, state: JobState) {
        let Some(event) = settlement.webhook_event(settings, state, self.clock.now()) else { return };
        if let Err(refused) = self.waiting.try_send(event) {
            self.job_queues.discard(&refused.into_inner());
        }
    }
}
