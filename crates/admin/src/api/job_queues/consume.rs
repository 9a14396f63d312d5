//! Consumers of job queues with the target `pull`: they receive jobs, which are then leased, and settle each by itself.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tracing::warn;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::fields;
use vestibule_core::fields::{Bounded, Flag, List, Omissible, Text};
use vestibule_core::jobs::{
    BackendResult, Extension, Failure, FailureReason, JOB_BATCH, JobBackendError, JobId, JobState, JobTargetKind,
    Lease, LeasedJob, Outcome, RESPONSE_KEPT, Received, Settled, Settlement,
};
use vestibule_core::{Clock as _, Message, SystemClock};
use vestibule_runtime::{CachedJobQueue, JobQueues};

use super::service::{Found, find_editable};
use super::views::shown;
use crate::access::Principal;
use crate::body::{Segments, UnreadBody};
use crate::codes::Code;
use crate::describe::describe;
use crate::open_requests::OpenRequest;
use crate::problem::Problem;
use crate::state::Admin;

/// Maximum number of jobs of one request.
const JOBS_MAX: u64 = JOB_BATCH as u64;
/// How long a request waits for jobs at most, in seconds.
const WAIT_MAX: u64 = 20;
/// How often a waiting request looks for jobs that another process has enqueued, or that have become due.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of seconds of an extension.
const EXTENSION_MAX: u64 = 900;
/// Maximum length of a receipt handle: a job ID, a dot and a number.
const HANDLE_MAX: usize = JobId::LENGTH + 21;

pub(super) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(receive_jobs))
        .routes(routes!(acknowledge_jobs))
        .routes(routes!(extend_leases))
        .routes(routes!(fail_jobs))
}

fields! {
    /// How many jobs a consumer wants.
    pub(crate) struct ReceiveRequest {
        /// Maximum number of jobs.
        max_jobs: Bounded<1, JOBS_MAX> = 10,
        /// Seconds to wait for a job if none is due.
        wait_seconds: Bounded<0, WAIT_MAX> = 0,
    }
}

describe!(request ReceiveRequest);

/// The jobs that a consumer received.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReceivedJobs {
    /// The jobs, those that have been due longest first; at most one of each group.
    jobs: Vec<ReceivedJob>,
}

/// A job that a consumer received.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReceivedJob {
    /// ID of the job, the same each time that it is received.
    job_id: String,
    /// What acknowledges, extends or fails the job, until its lease ends after `timeout` seconds.
    receipt_handle: String,
    /// The group, in a FIFO job queue.
    group_id: Option<String>,
    /// Number of the job in the order of acceptance.
    sequence_number: u64,
    /// How many times the job was received.
    receive_count: u64,
    /// When the job was accepted, in seconds since 1970.
    enqueued_at: u64,
    /// The user for whom the job runs.
    user_id: Option<String>,
    /// The session of the visitor who may follow the job.
    session: Option<String>,
    /// Path and query of the visitor's request.
    params: Option<Value>,
    /// Media type of the payload.
    content_type: String,
    /// The payload: JSON, or text.
    #[schema(value_type = Option<Value>)]
    payload: Option<Box<RawValue>>,
    /// The payload in base64 if it is neither text nor JSON of at most 60 levels.
    payload_base64: Option<String>,
}

impl From<LeasedJob> for ReceivedJob {
    fn from(job: LeasedJob) -> Self {
        let (payload, payload_base64) = shown(&job.payload);
        Self {
            job_id: job.lease.job.to_string(),
            receipt_handle: ReceiptHandle(job.lease).to_string(),
            group_id: job.group.map(|group| group.to_string()),
            sequence_number: job.sequence,
            receive_count: job.lease.receive_count,
            enqueued_at: job.enqueued_at.seconds(),
            user_id: job.user_id,
            session: job.session.map(|session| session.to_string()),
            params: job.params.and_then(|params| serde_json::from_str(params.as_str()).ok()),
            content_type: job.payload.content_type,
            payload,
            payload_base64,
        }
    }
}

/// What identifies a lease to its consumer.
#[derive(Clone, Copy)]
struct ReceiptHandle(Lease);

impl std::fmt::Display for ReceiptHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0.job, self.0.receive_count)
    }
}

impl FromStr for ReceiptHandle {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (job, receive_count) = text.split_once('.').ok_or(())?;
        let lease = Lease { job: job.parse().map_err(drop)?, receive_count: receive_count.parse().map_err(drop)? };
        Ok(Self(lease))
    }
}

/// A job queue whose jobs this principal may receive.
async fn find_pulled<'a>(admin: &'a Admin, principal: &Principal, id: &str) -> Result<Found<'a>, Problem> {
    let found = find_editable(admin, principal, id).await?;
    if found.1.settings.target.kind != JobTargetKind::Pull || !found.0.backend().supports_pull() {
        return Err(Problem::Plain(StatusCode::CONFLICT, Code::PullNotSupported));
    }
    Ok(found)
}

/// A job queue whose leases this principal may extend and end: a consumer settles what it has received even if the target has changed
/// meanwhile. Held orders are never received.
async fn find_leased<'a>(admin: &'a Admin, principal: &Principal, id: &str) -> Result<Found<'a>, Problem> {
    let found = find_editable(admin, principal, id).await?;
    if found.1.settings.holds_orders() {
        return Err(Problem::Plain(StatusCode::CONFLICT, Code::PullNotSupported));
    }
    Ok(found)
}

/// Receive jobs
///
/// Leases jobs to the consumer for `timeout` seconds of the job queue. What is not acknowledged, extended or failed by then is
/// a failed attempt, and is received again. Without a job that is due, the request waits up to `wait_seconds`. Up to 200 requests
/// with `wait_seconds` are served at a time, and 20 of an operator.
#[utoipa::path(post, path = "/job-queues/{job_queue}/receive", tag = "job queues",
    request_body = ReceiveRequest,
    responses((status = 200, description = "The jobs; none if none was due in time", body = ReceivedJobs),
        (status = 404, description = "`unknown_job_queue`"),
        (status = 409, description = "`pull_not_supported`: the target is not `pull`"),
        (status = 429, description = "`too_many_receives`: no job was leased; repeat the request after `Retry-After`")))]
pub(crate) async fn receive_jobs(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    body: UnreadBody,
) -> Result<Json<ReceivedJobs>, Problem> {
    let (job_queues, cached) = find_pulled(&admin, &principal, &id).await?;
    let ReceiveRequest { max_jobs, wait_seconds } = body.read().await?;
    let job_queues = job_queues.clone();
    let wait = match wait_seconds {
        0 => None,
        seconds => {
            let open = admin.waiting_receives.begin(&principal.operator).ok_or(Problem::TooManyReceives)?;
            Some(Wait { seconds, _open: open })
        }
    };
    let (answer, received) = oneshot::channel();
    // A task of its own ends what it has begun if the client goes away meanwhile.
    tokio::spawn(async move { receive(&job_queues, cached, max_jobs as usize, wait, answer).await });
    let lost = || JobBackendError::Unavailable("the request was interrupted".to_owned());
    let received = received.await.unwrap_or_else(|_| Err(lost()))?;
    Ok(Json(ReceivedJobs { jobs: received.jobs.into_iter().map(ReceivedJob::from).collect() }))
}

type Answer = oneshot::Sender<BackendResult<Received>>;

/// A request that may wait.
struct Wait {
    seconds: u64,
    _open: OpenRequest,
}

/// Waits for jobs, while the job queue has them for this consumer. Those that nobody receives any more are returned without an
/// attempt.
async fn receive(
    job_queues: &JobQueues,
    mut cached: Arc<CachedJobQueue>,
    most: usize,
    wait: Option<Wait>,
    mut answer: Answer,
) {
    let seconds = wait.as_ref().map_or(0, |wait| wait.seconds);
    let (deadline, wake) = (Instant::now() + Duration::from_secs(seconds), job_queues.wake(&cached.settings.id));
    let received = loop {
        let received = job_queues.backend().receive(&cached.settings, most).await;
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() || received.as_ref().map_or(true, |received| !received.jobs.is_empty()) {
            break received;
        }
        tokio::select! {
            () = answer.closed() => return,
            _ = timeout(rest.min(LOOK_INTERVAL), wake.notified()) => {}
        }
        // It may be paused, changed or removed meanwhile.
        match job_queues.get(&cached.settings.id).await {
            Ok(Some(now)) if is_same(&now, &cached) => cached = now,
            Ok(_) => break Ok(Received::default()),
            Err(error) => warn!(job_queue = %cached.settings.id, %error, "a job queue could not be read"),
        }
    };
    drop(wait);
    let settings = &cached.settings;
    let Err(Ok(received)) = answer.send(received) else { return };
    let requeued = |job: LeasedJob| Settlement { lease: job.lease, outcome: Outcome::Requeued };
    let settlements: Vec<_> = received.jobs.into_iter().map(requeued).collect();
    if settlements.is_empty() {
        return;
    }
    if let Err(error) = job_queues.backend().settle(settings, settlements).await {
        warn!(job_queue = %settings.id, %error, "jobs whose consumer has gone stay leased until their leases expire");
    }
}

/// Whether a job queue still has jobs for consumers of the same tenant.
fn is_same(now: &CachedJobQueue, before: &CachedJobQueue) -> bool {
    now.settings.target.kind == JobTargetKind::Pull && now.settings.tenant == before.settings.tenant
}

fields! {
    /// Jobs that are done.
    pub(crate) struct AcknowledgeRequest {
        /// Their receipt handles.
        receipt_handles: List<Text<HANDLE_MAX>, 1, JOB_BATCH>,
    }
}

fields! {
    /// Jobs that take longer.
    pub(crate) struct ExtendRequest {
        /// Their receipt handles.
        receipt_handles: List<Text<HANDLE_MAX>, 1, JOB_BATCH>,
        /// For how many seconds from now on the leases last, at least.
        seconds: Bounded<1, EXTENSION_MAX>,
    }
}

fields! {
    /// A job that failed.
    pub(crate) struct FailedJob {
        /// Its receipt handle.
        receipt_handle: Text<HANDLE_MAX>,
        /// Why, for operators.
        reason: Omissible<Text<RESPONSE_KEPT>>,
        /// Whether no other attempt can succeed. The job becomes a dead letter at once.
        permanent: Flag = false,
        /// Whether the job was not started. It is received again at once, and this is not a failed attempt.
        requeue: Flag = false,
    }
}

fields! {
    /// Jobs that failed.
    pub(crate) struct FailRequest {
        /// The jobs.
        jobs: List<FailedJob, 1, JOB_BATCH>,
    }
}

describe!(request AcknowledgeRequest);
describe!(request ExtendRequest);
describe!(request FailRequest);

/// What became of one job.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum LeaseResult {
    /// The request was carried out.
    Done {
        /// The receipt handle.
        receipt_handle: String,
        /// State of the job: `running` after an extension, `completed`, `retrying`, `queued`, or `failed` for a dead letter.
        #[schema(value_type = String)]
        state: JobState,
    },
    /// Nothing changed.
    Refused {
        /// The receipt handle.
        receipt_handle: String,
        /// Always `lease_ended`.
        code: &'static str,
        /// What happened, in English.
        detail: String,
    },
}

/// What became of jobs.
#[derive(Serialize, ToSchema)]
pub(crate) struct LeaseResults {
    /// One result for each receipt handle, in their order.
    results: Vec<LeaseResult>,
}

/// Acknowledge jobs
///
/// Completes jobs that the consumer has received. A result `lease_ended` means that the lease had ended before: the job may be
/// received again. A repeated request has the same results.
#[utoipa::path(post, path = "/job-queues/{job_queue}/acknowledge", tag = "job queues",
    request_body = AcknowledgeRequest,
    responses((status = 200, description = "The results", body = LeaseResults),
        (status = 404, description = "`unknown_job_queue`"),
        (status = 409, description = "`pull_not_supported`: the jobs are held orders"),
        (status = 504, description = "`outcome_unknown`: repeat the request")))]
pub(crate) async fn acknowledge_jobs(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    body: UnreadBody,
) -> Result<Json<LeaseResults>, Problem> {
    let found = find_leased(&admin, &principal, &id).await?;
    let AcknowledgeRequest { receipt_handles } = body.read().await?;
    let outcomes = receipt_handles.into_iter().map(|handle| (handle, Outcome::Acknowledged(None))).collect();
    settle(&admin, found, outcomes).await
}

/// Report failed jobs
///
/// Ends leases without success. A failed job is received again after its backoff, up to `max_attempts` attempts; then it is a
/// dead letter. A repeated request has the same results.
#[utoipa::path(post, path = "/job-queues/{job_queue}/fail", tag = "job queues",
    request_body = FailRequest,
    responses((status = 200, description = "The results", body = LeaseResults),
        (status = 404, description = "`unknown_job_queue`"),
        (status = 409, description = "`pull_not_supported`: the jobs are held orders"),
        (status = 504, description = "`outcome_unknown`: repeat the request")))]
pub(crate) async fn fail_jobs(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    body: UnreadBody,
) -> Result<Json<LeaseResults>, Problem> {
    let found = find_leased(&admin, &principal, &id).await?;
    let FailRequest { jobs } = body.read().await?;
    let outcomes = jobs.into_iter().map(|job| (job.receipt_handle.clone(), job.outcome())).collect();
    settle(&admin, found, outcomes).await
}

impl FailedJob {
    fn outcome(self) -> Outcome {
        let failure = |reason| Failure { reason, status: None, response: self.reason.unwrap_or_default().into_bytes() };
        match (self.requeue, self.permanent) {
            (true, _) => Outcome::Requeued,
            (false, true) => Outcome::FailedForGood(failure(FailureReason::Permanent)),
            (false, false) => Outcome::Failed(failure(FailureReason::Reported)),
        }
    }
}

/// Ends leases, each with a result of its own.
async fn settle(
    admin: &Admin,
    (job_queues, cached): Found<'_>,
    outcomes: Vec<(String, Outcome)>,
) -> Result<Json<LeaseResults>, Problem> {
    let settlement = |(handle, outcome): &(String, Outcome)| {
        Some(Settlement { lease: handle.parse::<ReceiptHandle>().ok()?.0, outcome: outcome.clone() })
    };
    let settings = &cached.settings;
    let settlements: Vec<_> = outcomes.iter().filter_map(settlement).collect();
    let settled = job_queues.backend().settle(settings, settlements.clone()).await;
    let settled = settled.map_err(Problem::of_write)?;
    // The next jobs of their groups can start.
    job_queues.wake(&settings.id).notify_one();
    let now = admin.now().await.unwrap_or_else(|_| SystemClock::new().now());
    for (settlement, settled) in settlements.iter().zip(&settled) {
        if let Settled::Now(state) = settled
            && let Some(event) = settlement.webhook_event(settings, *state, now)
        {
            job_queues.publish(&event).await;
        }
    }
    let states = settled.into_iter().map(|settled| match settled {
        Settled::Now(state) => Some(state),
        Settled::NotLeased => None,
    });
    Ok(results(outcomes.into_iter().map(|(handle, _)| handle), states))
}

/// Extend leases
///
/// For jobs that take longer than `timeout`. A lease is never shortened.
#[utoipa::path(post, path = "/job-queues/{job_queue}/extend", tag = "job queues",
    request_body = ExtendRequest,
    responses((status = 200, description = "The results", body = LeaseResults),
        (status = 404, description = "`unknown_job_queue`"),
        (status = 409, description = "`pull_not_supported`: the jobs are held orders"),
        (status = 504, description = "`outcome_unknown`: repeat the request")))]
pub(crate) async fn extend_leases(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    body: UnreadBody,
) -> Result<Json<LeaseResults>, Problem> {
    let (job_queues, cached) = find_leased(&admin, &principal, &id).await?;
    let ExtendRequest { receipt_handles, seconds } = body.read().await?;
    let leases = receipt_handles.iter().filter_map(|handle| handle.parse::<ReceiptHandle>().ok());
    let extensions: Vec<_> = leases.map(|handle| Extension { seconds, ..Extension::of(handle.0) }).collect();
    let extended = job_queues.backend().extend(&cached.settings, &extensions).await;
    let extended = extended.map_err(Problem::of_write)?;
    Ok(results(
        receipt_handles.into_iter(),
        extended.into_iter().map(|is_current| is_current.then_some(JobState::Running)),
    ))
}

/// The results of these receipt handles. `states` has one entry for each that is valid; `None` for a lease that has ended.
fn results(
    handles: impl Iterator<Item = String>,
    mut states: impl Iterator<Item = Option<JobState>>,
) -> Json<LeaseResults> {
    let result = |handle: String| {
        let state = handle.parse::<ReceiptHandle>().ok().and_then(|_| states.next().flatten());
        if let Some(state) = state {
            return LeaseResult::Done { receipt_handle: handle, state };
        }
        let message = Message::from(Code::LeaseEnded);
        LeaseResult::Refused { receipt_handle: handle, code: message.code(), detail: message.to_string() }
    };
    Json(LeaseResults { results: handles.map(result).collect() })
}
