//! Webhook events: they become jobs of the job queues that deliver them, or are dropped.

use std::collections::BTreeMap;

use tracing::warn;
use vestibule_core::jobs::{Enqueued, JobBackendError, JobQueueId, JobQueueSettings, NewJob, WebhookEvent};

use super::JobQueues;

/// Why a webhook event is not enqueued.
#[derive(Debug, thiserror::Error)]
enum EventDropped {
    #[error(transparent)]
    Backend(#[from] JobBackendError),
    #[error("the job queue is full")]
    Full,
    #[error("the backend did not store it, or did not confirm it")]
    NotStored,
    #[error("its ID is too long")]
    Id,
    #[error("too many events wait")]
    TooMany,
}

impl JobQueues {
    /// Enqueues a webhook event in the job queues that deliver it. An event that can't be enqueued is logged, counted, and not
    /// tried again (W1).
    pub async fn publish(&self, event: &WebhookEvent) {
        let all = match self.all().await {
            Ok(all) => all,
            Err(error) => {
                let (tenant, event_type) = (&event.tenant, event.event_type.as_str());
                warn!(%error, %tenant, event_type, "a webhook event is dropped: job queues cannot be read");
                return;
            }
        };
        for settings in all.iter().map(|it| &it.settings).filter(|it| it.delivers(event)) {
            if let Err(why) = self.enqueue_event(settings, event).await {
                self.drop_event(settings, event, &why);
            }
        }
    }

    /// Drops a webhook event because too many wait.
    pub fn discard(&self, event: &WebhookEvent) {
        let snapshot = self.snapshot.load();
        for settings in snapshot.job_queues.values().map(|it| &it.settings).filter(|it| it.delivers(event)) {
            self.drop_event(settings, event, &EventDropped::TooMany);
        }
    }

    async fn enqueue_event(&self, settings: &JobQueueSettings, event: &WebhookEvent) -> Result<(), EventDropped> {
        let job = NewJob::of_webhook_event(&settings.id, event).ok_or(EventDropped::Id)?;
        match self.enqueue(settings, vec![job]).await?.first() {
            Some(Enqueued::Accepted | Enqueued::Duplicate(_)) => Ok(()),
            Some(Enqueued::Full | Enqueued::TooMany) | None => Err(EventDropped::Full),
            Some(Enqueued::Removed | Enqueued::NotSent | Enqueued::Unconfirmed) => Err(EventDropped::NotStored),
        }
    }

    fn drop_event(&self, settings: &JobQueueSettings, event: &WebhookEvent, why: &EventDropped) {
        let suppressed = {
            let mut all = self.dropped_events.lock();
            let dropped = all.entry(settings.id.clone()).or_default();
            dropped.count += 1;
            dropped.warnings.allow()
        };
        if let Some(suppressed) = suppressed {
            let (job_queue, event_type) = (&settings.id, event.event_type.as_str());
            warn!(%job_queue, event_type, %why, suppressed, "a webhook event is dropped");
        }
    }

    /// Number of webhook events that this process has dropped, of each known job queue that delivers events.
    pub fn dropped_events(&self) -> BTreeMap<JobQueueId, u64> {
        let dropped = self.dropped_events.lock();
        let snapshot = self.snapshot.load();
        let delivering = snapshot.job_queues.values().map(|it| &it.settings).filter(|it| it.webhook.is_some());
        delivering.map(|it| (it.id.clone(), dropped.get(&it.id).map_or(0, |it| it.count))).collect()
    }
}
