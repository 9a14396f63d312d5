//! Webhook events about jobs that failed for good.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;
use vestibule_core::jobs::{
    Failure, JobId, JobQueueSettings, JobState, Outcome, WebhookEvent, WebhookEventType, WebhookSubject,
};
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

    /// Tells that a job is settled. A job that delivers events causes none, so that failing webhooks don't feed themselves. Events
    /// contain neither payloads nor responses (J19).
    pub(crate) fn settled(&self, settings: &JobQueueSettings, job: JobId, outcome: &Outcome, state: JobState) {
        let event_type = match state {
            JobState::Failed => WebhookEventType::JobDeadLettered,
            JobState::Unknown => WebhookEventType::OrderOutcomeUnknown,
            JobState::Queued | JobState::Running | JobState::Retrying | JobState::Completed => return,
        };
        if settings.webhook.is_some() {
            return;
        }
        let subject = WebhookSubject::Job(settings.id.clone(), job);
        let event = WebhookEvent::new(event_type, settings.tenant.clone(), subject, self.clock.now());
        let event = match outcome {
            Outcome::Failed(Failure { reason, status, .. })
            | Outcome::Unknown(Failure { reason, status, .. })
            | Outcome::FailedForGood(Failure { reason, status, .. }) => {
                event.with("reason", json!(reason)).with("status", *status)
            }
            Outcome::Acknowledged(_) | Outcome::Later { .. } | Outcome::Requeued => event,
        };
        if let Err(refused) = self.waiting.try_send(event) {
            self.job_queues.discard(&refused.into_inner());
        }
    }
}
