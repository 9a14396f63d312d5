//! What became of an order.

use std::sync::Arc;

use tokio::time::{Duration, timeout};
use tracing::warn;
use vestibule_core::Ticket;
use vestibule_core::jobs::{Detail, JobId, JobResponse, JobState, JobView, Resolution};
use vestibule_runtime::{CachedJobQueue, JobQueues, Queue};
use vestibule_themes::JobNews;

use super::store::{Order, is_for_orders};
use crate::followers::{Seen, is_final};
use crate::request::RequestInfo;
use crate::state::Gate;

/// What became of an order, for its visitor.
pub(crate) enum OrderOutcome {
    /// It waits for its turn, at this position if that is known, or is being sent.
    Pending { position: Option<u64> },
    /// The origin could not take it yet; it is sent again.
    Retrying,
    /// The origin's response.
    Response(JobResponse),
    /// The same, of which only status and location remain, because the visitor got it.
    Delivered(JobResponse),
    /// The same, of which only status and location were kept, because there was no room for more.
    NotKept(JobResponse),
    /// It was not placed.
    Failed,
    /// The shop told an operator that it was placed.
    Placed,
    /// Nobody knows.
    Unknown,
}

impl OrderOutcome {
    /// Nothing has ended as far as anyone knows.
    const PENDING: Self = Self::Pending { position: None };

    pub(crate) fn of(view: Option<JobView>) -> Self {
        // H9: a job that the backend does not know is unknown, too.
        let Some(view) = view else { return Self::Unknown };
        let position = view.position();
        match (view.state, view.result) {
            // The origin asked for it to be sent later, or the worker returned it before it was sent.
            (JobState::Queued, _) if view.receive_count > 0 => Self::Retrying,
            (JobState::Queued | JobState::Running, _) => Self::Pending { position },
            (JobState::Retrying, _) => Self::Retrying,
            (JobState::Failed, _) => Self::Failed,
            (JobState::Unknown, _) => match view.resolution {
                None => Self::Unknown,
                Some(Resolution::Placed) => Self::Placed,
                Some(Resolution::NotPlaced) => Self::Failed,
            },
            (JobState::Completed, Some(result)) => Self::of_response(result, view.is_delivered),
            (JobState::Completed, None) => Self::Unknown,
        }
    }

    fn of_response(response: JobResponse, is_delivered: bool) -> Self {
        match response {
            response if response.size() > 0 => Self::Response(response),
            // Its contents are not kept, or it had none.
            response if is_rejection(&response) => Self::Failed,
            response if is_failure(&response) => Self::Unknown,
            response if is_delivered => Self::Delivered(response),
            response => Self::NotKept(response),
        }
    }

    /// What its page says.
    pub(crate) const fn news(&self) -> JobNews {
        match self {
            Self::Pending { .. } => JobNews::OrderQueued,
            Self::Retrying => JobNews::OrderRetrying,
            Self::Response(response) if is_rejection(response) => JobNews::OrderFailed,
            Self::Response(response) if is_failure(response) => JobNews::OrderUnknown,
            Self::Response(_) | Self::NotKept(_) => JobNews::OrderReceived,
            Self::Delivered(_) => JobNews::OrderSubmitted,
            Self::Failed => JobNews::OrderFailed,
            Self::Placed => JobNews::OrderPlaced,
            Self::Unknown => JobNews::OrderUnknown,
        }
    }
}

/// Whether the origin rejected the order.
const fn is_rejection(response: &JobResponse) -> bool {
    matches!(response.status, 400..500)
}

/// Whether the origin failed. Only its response may say whether the order was placed.
const fn is_failure(response: &JobResponse) -> bool {
    response.status >= 500
}

fn has_ended(seen: &Seen) -> bool {
    match seen {
        Seen::NotYet => false,
        Seen::Unknown => true,
        Seen::Job(view) => is_final(view.state),
    }
}

/// Waits until the order has ended, up to a limit, and says what became of it so far.
pub(super) async fn wait_for_outcome(gate: &Gate, order: &Order, limit: Duration) -> OrderOutcome {
    let id = &order.job_queue.settings.id;
    if !limit.is_zero()
        && let Some(mut follower) = gate.followers.follow(&order.job_queues, id, order.id)
        && timeout(limit, follower.wait_for(has_ended)).await.is_err()
    {
        let is_retrying = matches!(&*follower.borrow(), Seen::Job(view) if view.state == JobState::Retrying);
        return if is_retrying { OrderOutcome::Retrying } else { OrderOutcome::PENDING };
    }
    // Without an answer of the backend, nothing has ended as far as anyone knows.
    read(&order.job_queues, &order.job_queue, order.id).await.map_or(OrderOutcome::PENDING, OrderOutcome::of)
}

/// The order with its result; `None` if the backend does not answer.
async fn read(job_queues: &JobQueues, job_queue: &CachedJobQueue, id: JobId) -> Option<Option<JobView>> {
    match job_queues.job_store().get(&job_queue.settings, &[id], Detail::Result).await {
        Ok(views) => Some(views.into_iter().next().flatten()),
        Err(error) => {
            warn!(job_queue = %job_queue.settings.id, job = %id, %error, "an order could not be read");
            None
        }
    }
}

/// An order that a visitor asks for.
pub(super) struct FoundOrder {
    pub(super) queue: Arc<Queue>,
    pub(super) order: Order,
    pub(super) outcome: OrderOutcome,
}

/// Finds an order by its ID, with the ticket of its session: in all job queues of orders of the tenant, because the rules may have
/// changed while it waited. `None` if it is of another session, or if the visitor has no ticket.
pub(super) async fn find_order(gate: &Gate, info: &RequestInfo, id: JobId) -> Option<(Ticket, FoundOrder)> {
    let job_queues = gate.job_queues.as_ref()?;
    let all = job_queues.all().await.ok()?;
    let (mut unknown, mut is_of_other) = (None, false);
    for queue in gate.directory.of_host(info.host.as_deref()?).await {
        let Some(ticket) = info.ticket(&queue, &gate.tickets) else { continue };
        for job_queue in all.iter().filter(|it| is_for_orders(it, &queue.settings)) {
            let view = read(job_queues, job_queue, id).await;
            // The visitor can have another session in another queue of this host.
            if matches!(&view, Some(Some(view)) if !view.session.is_some_and(|session| ticket.is_of_bearer(session))) {
                is_of_other = true;
                continue;
            }
            let is_known = matches!(&view, Some(Some(_)));
            let order = Order { job_queues: job_queues.clone(), job_queue: job_queue.clone(), id, is_duplicate: false };
            let outcome = view.map_or(OrderOutcome::PENDING, OrderOutcome::of);
            let found = (ticket.clone(), FoundOrder { queue: queue.clone(), order, outcome });
            if is_known {
                return Some(found);
            }
            unknown = unknown.or(Some(found));
        }
    }
    unknown.filter(|_| !is_of_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(status: u16, headers: &str, body: &str) -> OrderOutcome {
        let response = JobResponse { status, location: None, headers: headers.into(), body: body.into() };
        OrderOutcome::of_response(response, false)
    }

    #[test]
    fn responses_without_headers_reach_the_visitor() {
        for (status, headers, body) in [(200, "", "PAID"), (409, "", "sold out"), (303, "location: /done\n", "")] {
            let OrderOutcome::Response(response) = completed(status, headers, body) else {
                panic!("{status}: the response is lost")
            };
            assert_eq!((response.status, response.body), (status, body.into()));
        }
        assert!(matches!(completed(200, "", ""), OrderOutcome::NotKept(_)));
        assert!(matches!(completed(409, "", ""), OrderOutcome::Failed));
        assert!(matches!(completed(500, "", ""), OrderOutcome::Unknown));
    }
}
