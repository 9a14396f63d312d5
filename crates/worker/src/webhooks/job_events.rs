//! Webhook events about jobs that failed for good.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use vestibule_core::jobs::{JobQueueSettings, JobState, Settlement, WebhookEvent};
use vestibule_core::{Clock as _, SystemClock, TenantId};
use vestibule_runtime::JobQueues;

/// Maximum number of events of a tenant that wait until they are enqueued.
pub(crate) const WAITING_MAX: usize = 1_024;

/// Takes the events of settled jobs. Clones share them.
#[derive(Clone)]
pub(crate) struct JobEvents {
    job_queues: Arc<JobQueues>,
    waiting: Arc<Mutex<WaitingEvents>>,
    /// Gets a message for each event that waits.
    added: mpsc::UnboundedSender<()>,
    clock: Arc<SystemClock>,
}

impl JobEvents {
    /// Takes events, and what publishes them until all clones are gone: settlements never wait for webhooks.
    pub(crate) fn new(job_queues: Arc<JobQueues>) -> (Self, impl Future<Output = ()>) {
        let (added, mut events) = mpsc::unbounded_channel();
        let waiting = Arc::<Mutex<WaitingEvents>>::default();
        let (publisher, queued) = (job_queues.clone(), waiting.clone());
        let publish = async move {
            while events.recv().await.is_some() {
                let next = queued.lock().take();
                if let Some(event) = next {
                    publisher.publish(&event).await;
                }
            }
        };
        (Self { job_queues, waiting, added, clock: Arc::new(SystemClock::new()) }, publish)
    }

    /// Tells that a job is settled, and in which state it is now.
    pub(crate) fn settled(&self, settings: &JobQueueSettings, settlement: &Settlement, state: JobState) {
        let Some(event) = settlement.webhook_event(settings, state, self.clock.now()) else { return };
        let refused = self.waiting.lock().add(event);
        match refused {
            Some(event) => self.job_queues.discard(&event),
            // Nobody publishes any more after the stop.
            None => drop(self.added.send(())),
        }
    }
}

/// The events that wait, of the tenant whose turn it is first. A tenant with many of them delays and displaces only its own.
#[derive(Default)]
struct WaitingEvents {
    tenants: VecDeque<(TenantId, VecDeque<WebhookEvent>)>,
}

impl WaitingEvents {
    /// Adds an event, or returns it if too many of its tenant wait.
    fn add(&mut self, event: WebhookEvent) -> Option<WebhookEvent> {
        match self.tenants.iter_mut().find(|(tenant, _)| *tenant == event.tenant) {
            Some((_, events)) if events.len() >= WAITING_MAX => return Some(event),
            Some((_, events)) => events.push_back(event),
            None => self.tenants.push_back((event.tenant.clone(), VecDeque::from([event]))),
        }
        None
    }

    /// Takes the oldest event of the tenant whose turn it is.
    fn take(&mut self) -> Option<WebhookEvent> {
        let (tenant, mut events) = self.tenants.pop_front()?;
        let event = events.pop_front();
        if !events.is_empty() {
            self.tenants.push_back((tenant, events));
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use vestibule_core::Micros;
    use vestibule_core::jobs::{WebhookEventType, WebhookSubject};

    use super::*;

    #[test]
    fn tenants_take_turns() {
        let mut waiting = WaitingEvents::default();
        for (at, tenant) in [(1, "acme"), (2, "acme"), (3, "acme"), (4, "globex"), (5, "initech")] {
            let subject = WebhookSubject::Queue("tour".parse().unwrap());
            let event = WebhookEvent::new(WebhookEventType::QueueReset, tenant.parse().unwrap(), subject, Micros(at));
            assert!(waiting.add(event).is_none());
        }
        let order: Vec<_> = std::iter::from_fn(|| waiting.take()).map(|event| event.at.0).collect();
        assert_eq!(order, [1, 4, 5, 2, 3]);
    }
}
