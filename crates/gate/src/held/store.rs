//! Stores an order as a job (H3, H4, H10).

use std::sync::Arc;

use axum::body::Bytes;
use http::{HeaderMap, header};
use tracing::warn;
use vestibule_core::SessionId;
use vestibule_core::jobs::{Enqueued, FormerJob, JobBackendError, JobGroupId, JobId, JobQueueId, NewJob};
use vestibule_core::settings::Settings;
use vestibule_proxy::{Forwarded, prepare_later_request};
use vestibule_runtime::{CachedJobQueue, HeldRequest, JobQueues};

use super::content::deduplication_id;
use super::order_url::without_job;
use crate::own_headers;
use crate::pass::Slot;
use crate::request::RequestInfo;
use crate::state::Gate;
use crate::visit_result::VisitResult;

/// How many times an order is enqueued while the backend does not confirm it. It is one order, since it has one ID.
const ENQUEUE_ATTEMPTS: usize = 3;

/// An order that is stored, or may be.
pub(super) struct Order {
    pub(super) job_queues: Arc<JobQueues>,
    pub(super) job_queue: Arc<CachedJobQueue>,
    pub(super) id: JobId,
    /// Whether it equals an earlier one, whose ID it has.
    pub(super) is_duplicate: bool,
}

/// Whether an order is stored.
pub(super) enum Stored {
    /// It is, or may be.
    As(Order),
    /// It is not, since the session has placed too many.
    TooMany,
    /// It certainly is not.
    No,
}

/// Stores the order of the session that has this slot.
pub(super) async fn store_order(
    gate: &Gate,
    info: &RequestInfo,
    visit: &VisitResult,
    slot: Slot,
    job_queue: &JobQueueId,
    body: &Bytes,
) -> Stored {
    let Some((job_queues, job_queue)) = find_job_queue(gate, visit, job_queue).await else { return Stored::No };
    let Some(job) = job_of(gate, info, &visit.queue.settings, slot, body) else { return Stored::No };
    let id = job.id;
    let order = |id, is_duplicate| {
        Stored::As(Order { job_queues: job_queues.clone(), job_queue: job_queue.clone(), id, is_duplicate })
    };
    for attempt in 0..ENQUEUE_ATTEMPTS {
        match job_queues.enqueue(&job_queue.settings, vec![job.clone()]).await.map(|results| results.first().copied()) {
            Ok(Some(Enqueued::Accepted)) => return order(id, false),
            Ok(Some(Enqueued::Duplicate(first))) => return order(first, first != id),
            // After an attempt without an answer nothing is certain.
            Ok(Some(Enqueued::TooMany)) if attempt == 0 => return Stored::TooMany,
            Ok(Some(Enqueued::Full)) if attempt == 0 => {
                warn_not_stored(gate, visit, &job_queue.settings.id, "the job queue is full");
                return Stored::No;
            }
            Ok(Some(Enqueued::NotSent | Enqueued::Removed)) if attempt == 0 => {
                warn_not_stored(gate, visit, &job_queue.settings.id, "the backend could not store it");
                return Stored::No;
            }
            Ok(Some(Enqueued::NotSent | Enqueued::Unconfirmed)) => {}
            Ok(_) => break,
            Err(JobBackendError::NotSent(reason)) if attempt == 0 => {
                warn_not_stored(gate, visit, &job_queue.settings.id, &reason);
                return Stored::No;
            }
            Err(error) => {
                warn!(job_queue = %job_queue.settings.id, job = %id, %error, "an order may or may not be stored; trying again");
            }
        }
    }
    order(id, false)
}

/// The job queue of orders, if this process has it, with the right tenant and target.
async fn find_job_queue(
    gate: &Gate,
    visit: &VisitResult,
    id: &JobQueueId,
) -> Option<(Arc<JobQueues>, Arc<CachedJobQueue>)> {
    let Some(job_queues) = &gate.job_queues else {
        warn_not_stored(gate, visit, id, "this process has no job queues");
        return None;
    };
    match job_queues.get(id).await {
        Ok(Some(found)) if is_for_orders(&found, &visit.queue.settings) => return Some((job_queues.clone(), found)),
        Ok(_) => warn_not_stored(gate, visit, id, "the tenant has no such job queue with the target \"origin\""),
        Err(error) => warn_not_stored(gate, visit, id, &error.to_string()),
    }
    None
}

/// H1: only job queues of the same tenant, with the target `origin`.
pub(super) fn is_for_orders(job_queue: &CachedJobQueue, queue: &Settings) -> bool {
    job_queue.settings.holds_orders_of(&queue.tenant)
}

fn warn_not_stored(gate: &Gate, visit: &VisitResult, job_queue: &JobQueueId, reason: &str) {
    if let Some(suppressed) = gate.orders_not_stored.allow() {
        let queue = &visit.queue.settings.id;
        warn!(%queue, %job_queue, reason, suppressed, "an order could not be stored; applying on_failure");
    }
}

/// The order as a job: its group is the session. `None` if it cannot be forwarded.
fn job_of(gate: &Gate, info: &RequestInfo, queue: &Settings, slot: Slot, body: &Bytes) -> Option<NewJob> {
    let target = without_job(&info.path, info.query.as_deref());
    let request = HeldRequest {
        queue: queue.id.clone(),
        account: slot.account,
        origin: queue.handover.origin.clone()?,
        method: info.method.clone(),
        headers: headers_for_later(gate, info)?,
        target: target.clone(),
        body: body.to_vec(),
    };
    let job = NewJob {
        group: Some(group_of(slot.session)?),
        deduplication_id: deduplication_id(info, &target, body),
        session: Some(slot.session),
        // One session can't fill the job queue, so that the orders of others would lose their pace.
        by_visitor: true,
        ..NewJob::new(JobId::random(), request.to_payload())
    };
    let former = slot.former.and_then(|former| Some(FormerJob::Key(job.key_in(group_of(former)?, former))));
    Some(NewJob { former, ..job })
}

fn group_of(session: SessionId) -> Option<JobGroupId> {
    session.to_string().parse().ok()
}

/// The headers that the origin receives, without the pass, which is signed when the order is sent.
fn headers_for_later(gate: &Gate, info: &RequestInfo) -> Option<HeaderMap> {
    let mut headers = info.headers.clone();
    own_headers::remove_own(&mut headers);
    let context = Forwarded {
        peer: info.peer,
        proto: info.scheme(),
        host: &info.authority,
        trusted: gate.trusted_proxies > 0,
        headers: HeaderMap::new(),
        tunnel_end: None,
    };
    prepare_later_request(&mut headers, context).ok()?;
    headers.remove(header::CONTENT_LENGTH);
    Some(headers)
}
