//! The jobs of a job queue: enqueuing them, and what became of one.

use std::collections::{BTreeMap, HashMap};

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vestibule_core::content_type::JSON;
use vestibule_core::fields;
use vestibule_core::fields::{Bounded, JsonText, List, Object as _, Omissible, Text};
use vestibule_core::jobs::{
    BackendResult, Detail, Enqueued, JOB_BATCH, JOB_KEY_MAX, JobBackendError, JobId, JobQueueSettings, JobState,
    NewJob, PAYLOAD_MAX, Payload,
};
use vestibule_runtime::{JobQueues, JobRequest, JobRequestError, USER_ID_MAX, checked_payload};

use super::cancel;
use super::service::{find_editable, find_visible};
use super::views::{EnqueuedJob, Job};
use crate::access::{Principal, Role};
use crate::audit::AuditEventBuilder;
use crate::body::{Query, Segments, UnreadBody, not_json};
use crate::codes::Code;
use crate::describe::describe;
use crate::idempotency::IDEMPOTENCY_HEADER;
use crate::job_refusal::JobRefusal;
use crate::prefix::PREFIX;
use crate::problem::Problem;
use crate::state::Admin;

/// Maximum delay of a job in seconds.
const DELAY_MAX: u64 = 900;
/// Maximum number of jobs in a request.
const JOBS_MAX: usize = 100;
/// Content type of a payload without one.
const UNKNOWN_CONTENT: &str = "application/octet-stream";
const USER_ID: HeaderName = HeaderName::from_static("vestibule-user-id");
const SESSION: HeaderName = HeaderName::from_static("vestibule-session");
/// Maximum length of a session ID in a request.
const SESSION_MAX: usize = 64;
const JOB_ID: HeaderName = HeaderName::from_static("x-job-id");
const DUPLICATE: HeaderName = HeaderName::from_static("x-job-duplicate");

pub(super) fn routes() -> OpenApiRouter<Admin> {
    OpenApiRouter::new()
        .routes(routes!(enqueue_job))
        .routes(routes!(enqueue_jobs))
        .routes(routes!(get_job, cancel::cancel_job))
}

fields! {
    /// How a job is enqueued.
    pub(crate) struct EnqueueQuery {
        /// The group; required in a FIFO job queue, which runs the jobs of a group one at a time, in order.
        group_id: Omissible<Text<JOB_KEY_MAX>>,
        /// A job with the ID of an earlier one is a duplicate and is not queued. By default the header `Idempotency-Key`, and
        /// without it, in a FIFO job queue, the content.
        deduplication_id: Omissible<Text<JOB_KEY_MAX>>,
        /// Seconds until the job is due. Standard job queues only.
        delay: Bounded<0, DELAY_MAX> = 0,
    }
}

describe!(query EnqueueQuery);

/// The body of a request, whatever it is.
pub(crate) struct PayloadBody(Payload);

impl<S: Send + Sync> FromRequest<S> for PayloadBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or(UNKNOWN_CONTENT).to_owned();
        let body = axum::body::to_bytes(request.into_body(), PAYLOAD_MAX).await;
        let bytes: Bytes = body.map_err(|_| Problem::Job(JobRequestError::PayloadTooLarge.into()))?;
        checked_payload(content_type, bytes.into()).map(Self).map_err(|error| Problem::Job(error.into()))
    }
}

fn text_of(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    // What is not text is refused as an invalid ID.
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Enqueue a job
///
/// The body is the payload, of any content type, at most 256 KiB, JSON with at most 60 levels of arrays and objects. The response
/// follows when the job is stored, before a handler is called. After 503 `enqueue_unconfirmed` the job may or may not be queued:
/// repeat the request with the same `Idempotency-Key`.
#[utoipa::path(post, path = "/job-queues/{job_queue}/jobs", tag = "job queues",
    params(EnqueueQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "The deduplication ID, if the query has none"),
        ("Vestibule-User-Id" = Option<String>, Header, description = "The user of your site for whom the job runs"),
        ("Vestibule-Session" = Option<String>, Header,
            description = "The session of the visitor who may follow the job: `sub` of the pass, or `X-Vestibule-Session`")),
    request_body(content(("application/json"), (String = "text/plain"), ("application/octet-stream")),
        description = "The payload, of any content type"),
    responses(
        (status = 202, description = "Queued, or a duplicate of an earlier job", body = EnqueuedJob,
            headers(("X-Job-Id" = String, description = "ID of the job"), ("Location" = String, description = "Path of the job"),
                ("X-Job-Duplicate" = Option<String>, description = "`true` for a duplicate"))),
        (status = 400, description = "`group_required`, `group_not_supported`, `delay_not_supported`, `invalid_id` or `invalid_json`"),
        (status = 404, description = "`unknown_job_queue`"),
        (status = 409, description = "`held_orders_only`"),
        (status = 413, description = "`payload_too_large`"),
        (status = 422, description = "`empty_payload`, or an invalid parameter"),
        (status = 503, description = "`job_queue_full`, `not_queued`, `store_unavailable`: nothing is queued. `enqueue_unconfirmed`: the job may or may not be queued"),
    ))]
pub(crate) async fn enqueue_job(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    Query(query): Query<EnqueueQuery>,
    headers: HeaderMap,
    PayloadBody(payload): PayloadBody,
) -> Result<Response, Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &id).await?;
    let EnqueueQuery { group_id, deduplication_id, delay } = query;
    let key = HeaderName::from_static(IDEMPOTENCY_HEADER);
    let deduplication_id = deduplication_id.or_else(|| text_of(&headers, &key));
    let (user_id, session) = (text_of(&headers, &USER_ID), text_of(&headers, &SESSION));
    let settings = &cached.settings;
    let request = job_request(group_id, deduplication_id, user_id, session, delay, payload);
    let job = request.and_then(|request| request.checked(settings)).map_err(|error| Problem::Job(error.into()))?;
    let results = enqueue(job_queues, settings, vec![job]).await;
    let enqueued = results.into_iter().next().unwrap_or(Err(JobRefusal::JobQueueFull)).map_err(Problem::Job)?;
    Ok(accepted(settings, &enqueued))
}

/// The response that says that a job is queued, or was before.
pub(super) fn accepted(settings: &JobQueueSettings, enqueued: &EnqueuedJob) -> Response {
    let location = format!("{PREFIX}/job-queues/{}/jobs/{}", settings.id, enqueued.job_id);
    let mut response = (StatusCode::ACCEPTED, Json(enqueued)).into_response();
    let text = |text: &str| HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""));
    response.headers_mut().insert(JOB_ID, text(&enqueued.job_id));
    response.headers_mut().insert(header::LOCATION, text(&location));
    if enqueued.duplicate {
        response.headers_mut().insert(DUPLICATE, HeaderValue::from_static("true"));
    }
    response
}

/// Enqueues a job that an operator asked for, and audits it.
pub(super) async fn enqueued_by_hand(
    admin: &Admin,
    job_queues: &JobQueues,
    settings: &JobQueueSettings,
    job: NewJob,
    event: AuditEventBuilder,
) -> Result<Response, Problem> {
    let event = event.with("job", job.id.to_string());
    let result = enqueue(job_queues, settings, vec![job]).await.into_iter().next();
    match result.unwrap_or(Err(JobRefusal::JobQueueFull)) {
        Ok(enqueued) => {
            event.log(admin).await;
            Ok(accepted(settings, &enqueued))
        }
        Err(refusal) => {
            if let JobRefusal::Unconfirmed(..) = refusal {
                event.incomplete().log(admin).await;
            }
            Err(Problem::Job(refusal))
        }
    }
}

/// A job of a client of the API. The visitor whose session it names may follow the job.
fn job_request(
    group_id: Option<String>,
    deduplication_id: Option<String>,
    user_id: Option<String>,
    session: Option<String>,
    delay_seconds: u64,
    payload: Payload,
) -> Result<JobRequest, JobRequestError> {
    let session = session.map(|id| id.parse()).transpose().map_err(|_| JobRequestError::InvalidSession)?;
    let (former, by_visitor, params) = (None, false, None);
    Ok(JobRequest { group_id, deduplication_id, user_id, session, former, by_visitor, params, delay_seconds, payload })
}

/// Enqueues jobs in the batches of the backend, each with its own result.
pub(super) async fn enqueue(
    job_queues: &JobQueues,
    settings: &JobQueueSettings,
    jobs: Vec<NewJob>,
) -> Vec<Result<EnqueuedJob, JobRefusal>> {
    let mut results = Vec::with_capacity(jobs.len());
    for batch in jobs.chunks(JOB_BATCH) {
        match job_queues.enqueue(settings, batch.to_vec()).await {
            Ok(enqueued) => {
                let first = |it: &Enqueued| if let Enqueued::Duplicate(first) = it { Some(*first) } else { None };
                let firsts: Vec<JobId> = enqueued.iter().filter_map(first).collect();
                let states = job_queues.states_of(settings, &firsts).await;
                let jobs = batch.iter().zip(enqueued);
                results.extend(jobs.map(|(job, enqueued)| result(settings, job.id, enqueued, &states)));
            }
            Err(error) => results.extend(batch.iter().map(|job| Err(JobRefusal::of_enqueue(job.id, error.clone())))),
        }
    }
    results
}

/// What became of a job; `states` are those of the jobs that others equal.
fn result(
    settings: &JobQueueSettings,
    id: JobId,
    enqueued: Enqueued,
    states: &BackendResult<HashMap<JobId, JobState>>,
) -> Result<EnqueuedJob, JobRefusal> {
    let (job, state, duplicate) = match enqueued {
        Enqueued::Accepted => (id, JobState::Queued, false),
        Enqueued::Duplicate(first) => match states {
            Ok(states) => (first, states.get(&first).copied().unwrap_or(JobState::Completed), true),
            Err(error) => return Err(JobRefusal::of_enqueue(first, error.clone())),
        },
        Enqueued::Removed => return Err(JobRefusal::UnknownJobQueue),
        // Only visitors can be too many.
        Enqueued::Full | Enqueued::TooMany => return Err(JobRefusal::JobQueueFull),
        Enqueued::NotSent => {
            let error = JobBackendError::NotSent("the job was not stored".to_owned());
            return Err(JobRefusal::of_enqueue(id, error));
        }
        Enqueued::Unconfirmed => {
            let error = JobBackendError::Unavailable("the job may or may not be stored".to_owned());
            return Err(JobRefusal::of_enqueue(id, error));
        }
    };
    Ok(EnqueuedJob { job_id: job.to_string(), job_queue: settings.id.to_string(), state, duplicate })
}

fields! {
    /// A job to enqueue.
    pub(crate) struct JobDraft {
        /// The payload, any JSON value. It reaches the handler as JSON.
        payload: JsonText,
        /// The group; required in a FIFO job queue.
        group_id: Omissible<Text<JOB_KEY_MAX>>,
        /// A job with the ID of an earlier one is a duplicate and is not queued.
        deduplication_id: Omissible<Text<JOB_KEY_MAX>>,
        /// The user of your site for whom the job runs.
        user_id: Omissible<Text<USER_ID_MAX>>,
        /// The session of the visitor who may follow the job: `sub` of the pass, or `X-Vestibule-Session`.
        session: Omissible<Text<SESSION_MAX>>,
        /// Seconds until the job is due. Standard job queues only.
        delay: Bounded<0, DELAY_MAX> = 0,
    }
}

fields! {
    /// Jobs to enqueue.
    pub(crate) struct JobsDraft {
        /// The jobs, in order.
        jobs: List<JobDraft, 1, JOBS_MAX>,
    }
}

describe!(request JobsDraft);

/// Reads jobs to enqueue, with the text of each payload in its place.
fn jobs_of(body: &[u8]) -> Result<JobsDraft, Problem> {
    let document = serde_json::from_slice::<&RawValue>(body).and_then(with_payload_texts);
    let document = document.map_err(|error| not_json(&error))?;
    if !document.is_object() {
        return Err(Problem::InvalidBody(Code::NotAnObject.into()));
    }
    JobsDraft::from_json(&document).map_err(Problem::ValidationFailed)
}

/// A document of jobs, whose payloads are replaced by their texts.
fn with_payload_texts(document: &RawValue) -> Result<Value, serde_json::Error> {
    let in_job = |name: &str, value: &RawValue| if name == "payload" { Ok(value.get().into()) } else { parsed(value) };
    with_members(document, |name, value| {
        if name == "jobs"
            && let Ok(jobs) = serde_json::from_str::<Vec<&RawValue>>(value.get())
        {
            return jobs.into_iter().map(|job| with_members(job, in_job)).collect();
        }
        parsed(value)
    })
}

/// A value, with what a function makes of each member if it is an object.
fn with_members(
    value: &RawValue,
    member: impl Fn(&str, &RawValue) -> Result<Value, serde_json::Error>,
) -> Result<Value, serde_json::Error> {
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get()) else { return parsed(value) };
    members.into_iter().map(|(name, value)| member(&name, value).map(|value| (name, value))).collect()
}

fn parsed(value: &RawValue) -> Result<Value, serde_json::Error> {
    serde_json::from_str(value.get())
}

/// What became of one job of several.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum JobResult {
    /// It is queued, or a duplicate.
    Enqueued(EnqueuedJob),
    /// It is not queued, or may not be.
    Refused {
        /// `job_queue_full`, `enqueue_unconfirmed`, or another code of a single job.
        code: &'static str,
        /// What happened, in English.
        detail: String,
    },
}

/// What became of several jobs.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobResults {
    /// One result for each job, in their order.
    jobs: Vec<JobResult>,
}

/// Enqueue several jobs
///
/// Enqueues 1 to 100 jobs with JSON payloads, in order. Each has a result of its own; the others are queued even if one is refused.
#[utoipa::path(post, path = "/job-queues/{job_queue}/jobs/batch", tag = "job queues",
    request_body = JobsDraft,
    responses((status = 202, description = "The results", body = JobResults), (status = 404, description = "`unknown_job_queue`")))]
pub(crate) async fn enqueue_jobs(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
    body: UnreadBody,
) -> Result<(StatusCode, Json<JobResults>), Problem> {
    let (job_queues, cached) = find_editable(&admin, &principal, &id).await?;
    let JobsDraft { jobs } = jobs_of(&body.bytes().await?)?;
    let checked: Vec<Result<NewJob, JobRefusal>> = jobs.into_iter().map(|job| job.checked(&cached.settings)).collect();
    let valid = checked.iter().flatten().cloned().collect();
    let mut enqueued = enqueue(job_queues, &cached.settings, valid).await.into_iter();
    let outcome = |checked: Result<NewJob, JobRefusal>| match checked {
        Ok(_) => enqueued.next().unwrap_or(Err(JobRefusal::JobQueueFull)),
        Err(refusal) => Err(refusal),
    };
    let results = checked.into_iter().map(outcome).map(|outcome| match outcome {
        Ok(enqueued) => JobResult::Enqueued(enqueued),
        Err(refusal) => {
            let (_, message) = refusal.response();
            JobResult::Refused { code: message.code(), detail: message.to_string() }
        }
    });
    Ok((StatusCode::ACCEPTED, Json(JobResults { jobs: results.collect() })))
}

impl JobDraft {
    fn checked(self, settings: &JobQueueSettings) -> Result<NewJob, JobRefusal> {
        let Self { payload: content, group_id, deduplication_id, user_id, session, delay } = self;
        let payload = checked_payload(JSON.to_owned(), content.into_bytes())?;
        Ok(job_request(group_id, deduplication_id, user_id, session, delay, payload)?.checked(settings)?)
    }
}

/// Get a job
///
/// Its state, its last attempts and progress messages, its payload and the response that completed it. A completed job is kept for
/// `result_ttl`. The code that a visitor quotes is a job ID, too.
#[utoipa::path(get, path = "/job-queues/{job_queue}/jobs/{job}", tag = "job queues",
    responses((status = 200, description = "The job", body = Job),
        (status = 404, description = "`unknown_job_queue`, or `unknown_job`: there is no such job, or its result has expired")))]
pub(crate) async fn get_job(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((job_queue, job)): Segments<(String, String)>,
) -> Result<Json<Job>, Problem> {
    let (job_queues, cached) = find_visible(&admin, &principal, &job_queue).await?;
    principal.at_least(Role::Operator)?;
    let unknown = || Problem::Job(JobRefusal::UnknownJob);
    let job = JobId::from_code(&job).map_err(|_| unknown())?;
    let found = job_queues.job_store().get(&cached.settings, &[job], Detail::Contents).await;
    let found = found?.pop().flatten();
    Ok(Json(Job::of(&cached.settings, found.ok_or_else(unknown)?)))
}
