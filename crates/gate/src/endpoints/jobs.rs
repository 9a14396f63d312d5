//! `POST /_vestibule/jobs/{job_queue}[/{group}[/{dedupe}]]`: a visitor enqueues a job.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header;
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::warn;
use vestibule_core::Ticket;
use vestibule_core::content_type::JSON;
use vestibule_core::jobs::{
    Enqueued, JobBackendError, JobId, JobParams, JobProducers, JobQueueId, JobState, NewJob, PAYLOAD_MAX, Payload,
};
use vestibule_core::line::SessionLocation;
use vestibule_runtime::{
    CachedJobQueue, Decision, JobQueues, JobRequest, JobRequestError, Outcome, Queue, checked_payload,
};
use vestibule_themes::{JobDetails, JobNews};

use crate::answer::{Answer, JobReport, QueuedJob, Reply};
use crate::cors::{CorsOrigin, cors_origin, endpoint_preflight};
use crate::end_reason::is_recent;
use crate::error::GateError;
use crate::forms::{form_as_json, has_parts, is_form, parts_as_json};
use crate::request::{Credential, RequestInfo};
use crate::respond::{finish, refuse, respond};
use crate::state::Gate;
use crate::store_visit::StoreDeadline;
use crate::visit::renew;
use crate::visit_result::VisitResult;

/// `POST /_vestibule/jobs/{job_queue}`
pub(crate) async fn enqueue(
    State(gate): State<Gate>,
    Path(job_queue): Path<String>,
    info: RequestInfo,
    body: Body,
) -> Response {
    enqueue_job(&gate, info, &job_queue, JobPath { group: None, dedupe: None }, body).await
}

/// `POST /_vestibule/jobs/{job_queue}/{group}`
pub(crate) async fn enqueue_in_group(
    State(gate): State<Gate>,
    Path((job_queue, group)): Path<(String, String)>,
    info: RequestInfo,
    body: Body,
) -> Response {
    enqueue_job(&gate, info, &job_queue, JobPath { group: Some(group), dedupe: None }, body).await
}

/// `POST /_vestibule/jobs/{job_queue}/{group}/{dedupe}`
pub(crate) async fn enqueue_once(
    State(gate): State<Gate>,
    Path((job_queue, group, dedupe)): Path<(String, String, String)>,
    info: RequestInfo,
    body: Body,
) -> Response {
    enqueue_job(&gate, info, &job_queue, JobPath { group: Some(group), dedupe: Some(dedupe) }, body).await
}

/// The rest of the path after the job queue.
#[derive(Serialize)]
struct JobPath {
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(rename = "deduplication_id", skip_serializing_if = "Option::is_none")]
    dedupe: Option<String>,
}

async fn enqueue_job(gate: &Gate, info: RequestInfo, job_queue: &str, path: JobPath, body: Body) -> Response {
    match enqueue_as_visitor(gate, &info, job_queue, path, body).await {
        Ok(answer) => respond(gate, &info, answer).await,
        Err(error) => refuse(&info, error),
    }
}

async fn enqueue_as_visitor(
    gate: &Gate,
    info: &RequestInfo,
    job_queue: &str,
    path: JobPath,
    body: Body,
) -> Result<Answer, GateError> {
    let (job_queues, job_queue) = find_job_queue(gate, job_queue).await?;
    let producers = job_queue.settings.producers;
    if producers == JobProducers::Api {
        return Err(GateError::UnknownJobQueue);
    }
    let tickets = tickets_of_tenant(gate, info, &job_queue).await?;
    let (visit, cors_origin, ticket) =
        visit_as_producer(gate, info, tickets, producers).await.unwrap_or(Err(GateError::TicketRequired))?;
    let outcome = if producers == JobProducers::Active && visit.admitted.is_none() {
        Err(GateError::NotActive)
    } else {
        enqueue_checked(info, &job_queues, &job_queue, &ticket, path, body).await
    };
    let reply = match outcome {
        Ok(job) if info.wants_page() => Reply::SeeOther(job.location),
        Ok(job) => Reply::Queued(job),
        // The visitor quotes the code of a job that may be queued.
        Err(error @ GateError::EnqueueUnconfirmed(job)) if info.wants_page() => {
            let retry_after = error.retry_after();
            let details = JobDetails::default();
            let (news, job) = (JobNews::JobUnknown, Some(job));
            let report = JobReport { news, job, job_queue: None, url: None, details, retry_after };
            Reply::JobPage(error.status(), report)
        }
        Err(error) => Reply::Error(error),
    };
    Ok(Answer::new(visit, reply).with_cors(cors_origin))
}

/// The job queue with this ID.
pub(super) async fn find_job_queue(gate: &Gate, id: &str) -> Result<(Arc<JobQueues>, Arc<CachedJobQueue>), GateError> {
    let job_queues = gate.job_queues.as_ref().ok_or(GateError::UnknownJobQueue)?;
    let id: JobQueueId = id.parse().map_err(|_| GateError::UnknownJobQueue)?;
    match job_queues.get(&id).await {
        Ok(found) => Ok((job_queues.clone(), found.ok_or(GateError::UnknownJobQueue)?)),
        Err(error) => {
            warn!(job_queue = %id, %error, "a job queue could not be read");
            Err(GateError::StoreUnavailable)
        }
    }
}

/// Visits with these tickets until one may enqueue: the first valid one, or the first of an active session if only those may.
/// Otherwise the last visit. `None` if there is no valid ticket: that of a session that has ended, or of an earlier epoch, is void.
async fn visit_as_producer(
    gate: &Gate,
    info: &RequestInfo,
    tickets: Vec<(Arc<Queue>, Ticket)>,
    producers: JobProducers,
) -> Option<Result<(VisitResult, CorsOrigin, Ticket), GateError>> {
    let mut last = None;
    for (queue, ticket) in tickets {
        let cors_origin = match cors_origin(&gate.directory, info, &queue.settings) {
            Ok(allowed) => allowed,
            Err(error) => return Some(Err(error)),
        };
        let credential = Credential::Ticket(ticket.clone());
        // It joins nobody.
        let visit = renew(gate, queue, credential).await;
        if !may_have_session(gate, &visit, &ticket).await {
            continue;
        }
        let may_enqueue = producers != JobProducers::Active || visit.admitted.is_some();
        last = Some(Ok((visit, cors_origin, ticket)));
        if may_enqueue {
            break;
        }
    }
    last
}

/// Whether the session of the ticket exists as far as is known. In bypass mode, and while the store is unavailable, the visit does not
/// tell: a recent ticket counts unless its session was ended.
async fn may_have_session(gate: &Gate, visit: &VisitResult, ticket: &Ticket) -> bool {
    if !visit.by_mode && visit.outcome != Outcome::Unavailable {
        return visit.visitor_status.session == Some(ticket.session());
    }
    let (id, line) = (&visit.queue.settings.id, &visit.queue.settings.line);
    if ticket.epoch() != line.epoch || !is_recent(line, ticket, visit.now) {
        return false;
    }
    let found = StoreDeadline::of(gate).limit(gate.store.find(id, ticket.session())).await;
    !matches!(found, Ok(Some(found)) if found.state == SessionLocation::Ended)
}

/// The queues of this host that belong to the tenant of the job queue.
async fn queues_of_tenant(
    gate: &Gate,
    info: &RequestInfo,
    job_queue: &CachedJobQueue,
) -> Result<Vec<Arc<Queue>>, GateError> {
    let host = info.host.as_deref().ok_or(GateError::InvalidHost)?;
    let mut queues = gate.directory.of_host(host).await;
    queues.retain(|queue| queue.settings.tenant == job_queue.settings.tenant);
    if queues.is_empty() { Err(GateError::UnknownJobQueue) } else { Ok(queues) }
}

/// Answers a preflight for these endpoints, for the pages of all queues of the tenant.
pub(crate) async fn preflight(
    State(gate): State<Gate>,
    Path(path): Path<HashMap<String, String>>,
    info: RequestInfo,
) -> Response {
    let job_queue = path.get("job_queue").map(String::as_str).unwrap_or_default();
    match page_origin(&gate, &info, job_queue).await {
        Ok(origin) => finish(endpoint_preflight(), Some(origin), Decision::without_queue(Outcome::Endpoint)),
        Err(error) => error.into_response(),
    }
}

async fn page_origin(gate: &Gate, info: &RequestInfo, job_queue: &str) -> Result<CorsOrigin, GateError> {
    let (_, job_queue) = find_job_queue(gate, job_queue).await?;
    let queues = queues_of_tenant(gate, info, &job_queue).await?;
    let mut origins = queues.iter().map(|queue| cors_origin(&gate.directory, info, &queue.settings));
    origins.find(Result::is_ok).unwrap_or(Err(GateError::OriginNotAllowed))
}

/// The queues of this host that belong to the tenant of the job queue and of which the visitor has a ticket.
pub(super) async fn tickets_of_tenant(
    gate: &Gate,
    info: &RequestInfo,
    job_queue: &CachedJobQueue,
) -> Result<Vec<(Arc<Queue>, Ticket)>, GateError> {
    let queues = queues_of_tenant(gate, info, job_queue).await?;
    Ok(queues.into_iter().filter_map(|queue| Some((queue.clone(), info.ticket(&queue, &gate.tickets)?))).collect())
}

async fn enqueue_checked(
    info: &RequestInfo,
    job_queues: &JobQueues,
    job_queue: &CachedJobQueue,
    ticket: &Ticket,
    path: JobPath,
    body: Body,
) -> Result<QueuedJob, GateError> {
    let settings = &job_queue.settings;
    let params = params(info, &path)?;
    let payload = payload(info, job_queue, body).await?;
    let from_header = || info.header("idempotency-key").map(str::to_owned);
    let request = JobRequest {
        group_id: path.group,
        deduplication_id: path.dedupe.or_else(from_header),
        user_id: ticket.account().map(|account| account.code.to_string()),
        session: Some(ticket.session()),
        former: ticket.former(),
        by_visitor: true,
        params: Some(params),
        delay_seconds: 0,
        payload,
    };
    let job = request.checked(settings).map_err(GateError::InvalidJob)?;
    let (id, duplicate) = enqueue_new(job_queues, job_queue, job).await?;
    let state = if duplicate { state_of_first(job_queues, job_queue, id).await? } else { JobState::Queued };
    let location = format!("/_vestibule/jobs/{}/{id}", settings.id);
    Ok(QueuedJob { job_id: id, job_queue: settings.id.clone(), state: state.as_str(), duplicate, location })
}

/// The state of the job that a new one equals.
async fn state_of_first(
    job_queues: &JobQueues,
    job_queue: &CachedJobQueue,
    first: JobId,
) -> Result<JobState, GateError> {
    let states = job_queues.states_of(&job_queue.settings, &[first]).await.map_err(|error| {
        warn!(job_queue = %job_queue.settings.id, job = %first, %error, "the state of a job could not be read");
        GateError::EnqueueUnconfirmed(first)
    })?;
    Ok(states.get(&first).copied().unwrap_or(JobState::Completed))
}

async fn enqueue_new(
    job_queues: &JobQueues,
    job_queue: &CachedJobQueue,
    job: NewJob,
) -> Result<(JobId, bool), GateError> {
    let id = job.id;
    match job_queues.enqueue(&job_queue.settings, vec![job]).await.map(|results| results.first().copied()) {
        Ok(Some(Enqueued::Accepted)) => Ok((id, false)),
        Ok(Some(Enqueued::Duplicate(first))) => Ok((first, true)),
        Ok(Some(Enqueued::TooMany)) => Err(GateError::TooManyJobs),
        Ok(Some(Enqueued::Full)) => Err(GateError::JobQueueFull),
        Ok(Some(Enqueued::Removed)) => Err(GateError::UnknownJobQueue),
        Ok(Some(Enqueued::NotSent)) => Err(GateError::NotQueued),
        Ok(Some(Enqueued::Unconfirmed) | None) => Err(GateError::EnqueueUnconfirmed(id)),
        Err(error @ JobBackendError::NotSent(_)) => {
            warn!(job_queue = %job_queue.settings.id, job = %id, %error, "a job was not enqueued");
            Err(GateError::NotQueued)
        }
        Err(error) => {
            warn!(job_queue = %job_queue.settings.id, job = %id, %error, "a job may or may not be enqueued");
            Err(GateError::EnqueueUnconfirmed(id))
        }
    }
}

/// Path and query of the request, for the handler.
fn params(info: &RequestInfo, path: &JobPath) -> Result<JobParams, GateError> {
    let query = info.query.as_deref().unwrap_or_default();
    let mut params = Map::new();
    params.insert("path".to_owned(), serde_json::to_value(path).unwrap_or_default());
    params.insert("query".to_owned(), Value::Object(form_as_json(query.as_bytes())));
    JobParams::of(&params).ok_or_else(|| GateError::InvalidQuery("query".to_owned()))
}

/// The body as a payload. A form becomes JSON.
async fn payload(info: &RequestInfo, job_queue: &CachedJobQueue, body: Body) -> Result<Payload, GateError> {
    let content_type = info.header(header::CONTENT_TYPE).unwrap_or_default();
    if !job_queue.settings.accepts(content_type) {
        return Err(GateError::UnsupportedContentType);
    }
    let too_large = || GateError::InvalidJob(JobRequestError::PayloadTooLarge);
    let bytes = to_bytes(body, PAYLOAD_MAX).await.map_err(|_| too_large())?;
    let form = if has_parts(content_type) {
        Some(parts_as_json(content_type, bytes.clone()).await.ok_or(GateError::InvalidForm)?)
    } else {
        (is_form(content_type) && !bytes.is_empty()).then(|| form_as_json(&bytes))
    };
    let payload = match form {
        Some(fields) => checked_payload(JSON.to_owned(), Value::Object(fields).to_string().into_bytes()),
        None => checked_payload(content_type.to_owned(), bytes.into()),
    };
    payload.map_err(GateError::InvalidJob)
}
