//! What speaks against a plan.

use super::super::{Settings, Tenant, locked_event_changes, routing_conflicts, rules_without_job_queue};
use super::{JobQueuePlan, KeptReason, Plan, QueueChange, StoredSettings};
use crate::QueueId;
use crate::fields::FieldError;
use crate::time::Micros;

/// An error in a field of a queue.
pub type QueueError = (QueueId, FieldError);

impl Plan {
    /// Routing conflicts of the new and changed queues with the queues as they are afterwards, as `queue.field`.
    #[must_use]
    pub fn conflicts(&self) -> Vec<FieldError> {
        self.conflicts_by_queue().map(named).collect()
    }

    fn conflicts_by_queue(&self) -> impl Iterator<Item = QueueError> {
        let of = |QueueChange { settings, .. }: &QueueChange| {
            of_queue(&settings.id, routing_conflicts(settings, self.all_queues_after(), true, |_| true))
        };
        self.queues.iter().flat_map(of)
    }

    /// Changes of events that the rules no longer allow at `now`, as `queue.field`.
    #[must_use]
    pub fn locked_events(&self, stored: &StoredSettings, now: Micros) -> Vec<FieldError> {
        self.locked_by_queue(stored, now).map(named).collect()
    }

    fn locked_by_queue(&self, stored: &StoredSettings, now: Micros) -> impl Iterator<Item = QueueError> {
        let of = move |change: &QueueChange| {
            let before = stored.queue(&change.settings.id)?;
            Some(of_queue(&before.id, locked_event_changes(&before.line, &change.settings.line, now)))
        };
        self.queues.iter().filter_map(of).flatten()
    }

    /// Leaves queues out of the plan whose events have locked changes at `now`: they keep their stored settings. Returns these
    /// changes.
    pub fn keep_locked(&mut self, stored: &StoredSettings, now: Micros) -> Vec<QueueError> {
        let locked: Vec<_> = self.locked_by_queue(stored, now).collect();
        let is_locked = |id: &QueueId| locked.iter().any(|(queue, _)| queue == id);
        for change in self.queues.extract_if(.., |change| is_locked(&change.settings.id)) {
            self.kept.push((change.settings.id, KeptReason::EventLocked));
        }
        for queue in &mut self.queues_after {
            if let Some(before) = stored.queue(&queue.id).filter(|before| is_locked(&before.id)) {
                queue.clone_from(before);
            }
        }
        locked
    }

    /// What operators should know before the plan is executed, as `queue.field`: routing conflicts, values of queues that their
    /// tenants do not allow, orders that cannot be held, epochs that empty no line, and job queues that stay.
    #[must_use]
    pub fn warnings(&self) -> Vec<FieldError> {
        let of_queues = self.warnings_by_queue().map(named);
        of_queues.chain(self.job_queues_outside()).chain(self.job_queues.in_use.iter().cloned()).collect()
    }

    fn warnings_by_queue(&self) -> impl Iterator<Item = QueueError> {
        let without_job_queue = self.queues.iter().flat_map(|change| self.without_job_queue_by_queue(change));
        let outdated_epochs = self.outdated_epochs.iter().cloned();
        self.conflicts_by_queue().chain(self.outside_by_queue()).chain(without_job_queue).chain(outdated_epochs)
    }

    /// Rules of a new or changed queue whose orders cannot be held afterwards, as `queue.field`.
    #[must_use]
    pub fn without_job_queue(&self, change: &QueueChange) -> Vec<FieldError> {
        self.without_job_queue_by_queue(change).map(named).collect()
    }

    fn without_job_queue_by_queue(&self, change: &QueueChange) -> impl Iterator<Item = QueueError> {
        let Settings { id, tenant, rules, .. } = &change.settings;
        let JobQueuePlan { after, kept_unreadable, .. } = &self.job_queues;
        of_queue(id, rules_without_job_queue(rules, tenant, after, kept_unreadable))
    }

    /// The warnings about one queue, by field.
    #[must_use]
    pub fn warnings_about(&self, queue: &QueueId) -> Vec<FieldError> {
        self.warnings_by_queue().filter(|(id, _)| id == queue).map(|(_, warning)| warning).collect()
    }

    /// Why the plan cannot be executed at `now`, as `queue.field`: draws that cannot take place, and changes of events that are
    /// locked.
    #[must_use]
    pub fn rejections(&self, stored: &StoredSettings, now: Micros) -> Vec<FieldError> {
        [self.invalid.clone(), self.locked_events(stored, now)].concat()
    }

    /// Values of queues and job queues that the new and changed tenants do not allow, as `queue.field`.
    #[must_use]
    pub fn outside(&self) -> Vec<FieldError> {
        self.outside_by_queue().map(named).chain(self.job_queues_outside()).collect()
    }

    fn outside_by_queue(&self) -> impl Iterator<Item = QueueError> {
        self.tenants.iter().flat_map(|change| outside_by_queue(&change.tenant, self.all_queues_after()))
    }

    fn job_queues_outside(&self) -> impl Iterator<Item = FieldError> {
        self.tenants.iter().flat_map(|change| self.job_queues.outside(&change.tenant))
    }
}

/// Values of a tenant's queues that its lists do not allow, as `queue.field`.
pub fn values_outside<'a>(tenant: &Tenant, queues: impl IntoIterator<Item = &'a Settings>) -> Vec<FieldError> {
    outside_by_queue(tenant, queues).map(named).collect()
}

fn outside_by_queue<'a>(
    tenant: &Tenant,
    queues: impl IntoIterator<Item = &'a Settings>,
) -> impl Iterator<Item = QueueError> {
    let own = queues.into_iter().filter(|queue| queue.tenant == tenant.id);
    own.flat_map(|queue| of_queue(&queue.id, tenant.refusals(queue, None, true)))
}

fn of_queue(id: &QueueId, errors: Vec<FieldError>) -> impl Iterator<Item = QueueError> + use<> {
    let id = id.clone();
    errors.into_iter().map(move |error| (id.clone(), error))
}

/// The error as `queue.field`.
fn named((id, error): QueueError) -> FieldError {
    error.within(id)
}
