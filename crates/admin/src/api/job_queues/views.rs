//! Job queues and jobs in responses.

use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tracing::warn;
use utoipa::ToSchema;
use vestibule_core::Micros;
use vestibule_core::jobs::{
    Attempt, BlockedGroup, FailureReason, JobQueueSettings, JobState, JobStats, JobView, Payload, Resolution,
};
use vestibule_core::settings::StoredJobQueue;
use vestibule_runtime::{CachedJobQueue, JobQueues};

use crate::access::{Principal, Role};
use crate::describe::describe;
use crate::queue_settings::etag;

/// The settings of a job queue, without its signing secret.
pub(crate) struct JobQueueSettingsView;

describe!(JobQueueSettingsView = JobQueueSettings, Response);

/// The settings without the signing secret, for responses and exports. Viewers don't see payloads either.
pub(crate) fn settings_for(principal: &Principal, settings: &JobQueueSettings) -> Value {
    let mut value = settings.to_value();
    if let Some(target) = value["target"].as_object_mut() {
        target.remove("secret");
    }
    if principal.at_least(Role::Operator).is_err() {
        for schedule in value["schedules"].as_array_mut().into_iter().flatten() {
            if let Some(schedule) = schedule.as_object_mut() {
                schedule.remove("payload");
            }
        }
    }
    value
}

/// A job queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobQueueView {
    /// The settings, without the signing secret.
    #[schema(value_type = JobQueueSettingsView)]
    settings: Value,
    /// Revision of the settings.
    revision: u64,
    /// The statistics; `null` if they cannot be read now.
    stats: Option<JobQueueStats>,
}

impl IntoResponse for JobQueueView {
    fn into_response(self) -> Response {
        ([(header::ETAG, etag(self.revision))], Json(self)).into_response()
    }
}

impl JobQueueView {
    pub(super) async fn of(principal: &Principal, job_queues: &JobQueues, cached: &CachedJobQueue) -> Self {
        let StoredJobQueue { settings, revision, .. } = &cached.stored;
        let stats = job_queues.job_store().stats(settings).await;
        let stats =
            stats.inspect_err(|error| warn!(%error, job_queue = %settings.id, "cannot read the statistics")).ok();
        Self {
            settings: settings_for(principal, settings),
            revision: *revision,
            stats: stats.as_ref().map(JobQueueStats::of),
        }
    }
}

/// The statistics of a job queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobQueueStats {
    /// Jobs that wait, for their turn or for a retry.
    waiting: u64,
    /// Of the waiting jobs, those that can start now. The others wait for a time, for a retry, or for the first job of their group.
    ready: u64,
    /// Jobs that run.
    running: u64,
    /// Dead letters.
    dead: u64,
    /// Size of all payloads together in bytes, with their content types and parameters.
    bytes: u64,
    /// Seconds since the oldest job that is not finished was accepted; `null` if there is none.
    oldest_age: Option<u64>,
    /// The group that has been blocked longest; `null` if none is known.
    blocked_group: Option<BlockedGroupView>,
    /// Until when a handler's `Retry-After` pauses the job queue, in seconds since 1970; `null` if it does not.
    paused_until: Option<u64>,
    /// Jobs accepted since the job queue was created.
    enqueued: u64,
    /// Jobs that equaled an earlier one.
    duplicate: u64,
    /// Completed jobs.
    acknowledged: u64,
    /// Failed attempts.
    failed: u64,
    /// Jobs that were returned without an attempt.
    requeued: u64,
    /// Jobs that became dead letters. Held orders whose outcome became unknown are not among them.
    dead_lettered: u64,
    /// Held orders whose outcome became unknown.
    unknown: u64,
    /// Held orders whose outcome is unknown now, and of which no operator has recorded it.
    unresolved: u64,
    /// Waiting jobs that were deleted.
    canceled: u64,
    /// Dead letters that were put back.
    replayed: u64,
    /// Refused settlements and extensions of old leases.
    refused: u64,
    /// Jobs and dead letters that the job backend has lost.
    lost: u64,
}

impl JobQueueStats {
    pub(super) fn of(stats: &JobStats) -> Self {
        let JobStats { waiting, ready, running, dead, bytes, oldest_age, blocked_group, paused_until, counters } =
            *stats;
        Self {
            waiting,
            ready,
            running,
            dead,
            bytes,
            oldest_age,
            blocked_group: blocked_group
                .map(|BlockedGroup { job, age }| BlockedGroupView { job_id: job.to_string(), age }),
            paused_until: paused_until.map(Micros::seconds),
            enqueued: counters.enqueued,
            duplicate: counters.duplicate,
            acknowledged: counters.acknowledged,
            failed: counters.failed,
            requeued: counters.requeued,
            dead_lettered: counters.dead,
            unknown: counters.unknown,
            unresolved: stats.unresolved(),
            canceled: counters.canceled,
            replayed: counters.replayed,
            refused: counters.refused,
            lost: counters.lost,
        }
    }
}

/// A group whose later jobs wait because its first one fails.
#[derive(Serialize, ToSchema)]
pub(crate) struct BlockedGroupView {
    /// ID of the first job of the group.
    job_id: String,
    /// Seconds since an attempt of that job ended without success for the first time.
    age: u64,
}

/// A job that was enqueued.
#[derive(Serialize, ToSchema)]
pub(crate) struct EnqueuedJob {
    /// ID of the job; of the earlier one if this is a duplicate.
    pub(super) job_id: String,
    /// ID of the job queue.
    pub(super) job_queue: String,
    /// `queued`; for a duplicate the state of the earlier job, as `GET /job-queues/{job_queue}/jobs/{job}` returns it, or `completed` if
    /// its result has expired.
    #[schema(value_type = String)]
    pub(super) state: JobState,
    /// Whether the job equals an earlier one and was not queued.
    pub(super) duplicate: bool,
}

/// A job.
#[derive(Serialize, ToSchema)]
#[expect(clippy::struct_field_names, reason = "fields are named as clients read them")]
pub(crate) struct Job {
    /// ID of the job.
    job_id: String,
    /// ID of the job queue.
    job_queue: String,
    /// `queued`, `running`, `retrying`, `completed`, `failed` for a dead letter, or `unknown` for a held order that the origin
    /// may have processed.
    #[schema(value_type = String)]
    state: JobState,
    /// The group, in a FIFO job queue.
    group_id: Option<String>,
    /// Number of the job in the order of acceptance.
    sequence_number: u64,
    /// How many times the job was received.
    receive_count: u64,
    /// How many attempts failed.
    failed_attempts: u64,
    /// When the job was accepted, in seconds since 1970.
    enqueued_at: u64,
    /// When the job was completed or became a dead letter, in seconds since 1970.
    ended_at: Option<u64>,
    /// When the next attempt is due, in seconds since 1970; `null` unless the job waits.
    due_at: Option<u64>,
    /// How many jobs start before it, if nothing changes. 0 unless the job waits; `null` if they cannot be counted.
    ahead: Option<u64>,
    /// The user for whom the job runs.
    user_id: Option<String>,
    /// The session of the visitor who may follow the job.
    session: Option<String>,
    /// Path and query of the visitor's request; `null` once the job is completed.
    params: Option<Value>,
    /// The last attempts, the oldest first.
    attempts: Vec<JobAttempt>,
    /// The last progress messages of the handler, the oldest first. Lists of jobs leave them out.
    progress: Vec<JobProgressMessage>,
    /// The response that completed the job; `null` before.
    result: Option<CompletingResponse>,
    /// What became of a held order whose outcome was unknown: `placed` or `not_placed`, as an operator has recorded it.
    #[schema(value_type = Option<String>)]
    resolution: Option<Resolution>,
    /// Why the job is a dead letter.
    #[schema(value_type = Option<String>)]
    reason: Option<FailureReason>,
    /// The start of the last response that reported a failure.
    response: Option<String>,
    /// Media type of the payload; `null` once the job is completed.
    content_type: Option<String>,
    /// The payload: JSON, or text.
    #[schema(value_type = Option<Value>)]
    payload: Option<Box<RawValue>>,
    /// The payload in base64 if it is neither text nor JSON of at most 60 levels.
    payload_base64: Option<String>,
}

/// A progress message of the handler.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobProgressMessage {
    /// Number of the message, from 1.
    id: u64,
    /// When it arrived, in seconds since 1970.
    at: u64,
    /// The message, any JSON value.
    #[schema(value_type = Value)]
    message: Option<Box<RawValue>>,
}

/// The response that completed a job.
#[derive(Serialize, ToSchema)]
pub(crate) struct CompletingResponse {
    /// Its status.
    status: u16,
    /// Where it redirects to; held orders only.
    location: Option<String>,
    /// The start of the body, if it is text. `null` for held orders, whose responses are for their visitors.
    body: Option<String>,
}

/// An attempt that ended.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobAttempt {
    /// Number of the receive.
    receive_count: u64,
    /// When it began, in seconds since 1970.
    started_at: u64,
    /// When it ended, in seconds since 1970.
    ended_at: u64,
    /// Why it failed: `status`, `permanent`, `timeout`, `connection`, `address_refused`, `lease_expired`, `reported` by
    /// a consumer, `expired`, `canceled` or `payload_lost`; `null` if it succeeded.
    #[schema(value_type = Option<String>)]
    reason: Option<FailureReason>,
    /// Status of the response.
    status: Option<u16>,
}

impl Job {
    pub(super) fn of(settings: &JobQueueSettings, view: JobView) -> Self {
        let (payload, payload_base64) = view.payload.as_ref().map_or((None, None), shown);
        let attempt = |it: Attempt| JobAttempt {
            receive_count: it.receive_count,
            started_at: it.started_at.seconds(),
            ended_at: it.ended_at.seconds(),
            reason: it.reason,
            status: it.status,
        };
        let progress = view.progress.into_iter().map(|it| JobProgressMessage {
            id: it.id,
            at: it.at.seconds(),
            // As it was written: as values of Rust, some numbers would change.
            message: serde_json::from_str(it.message.as_str()).ok(),
        });
        let result = view.result.map(|result| CompletingResponse {
            body: result.text().filter(|_| !settings.holds_orders()).map(str::to_owned),
            status: result.status,
            location: result.location,
        });
        Self {
            job_id: view.id.to_string(),
            job_queue: settings.id.to_string(),
            state: view.state,
            group_id: view.group.map(|group| group.to_string()),
            sequence_number: view.sequence,
            receive_count: view.receive_count,
            failed_attempts: view.failed_attempts,
            enqueued_at: view.enqueued_at.seconds(),
            ended_at: view.ended_at.map(Micros::seconds),
            due_at: view.due_at.map(Micros::seconds),
            ahead: view.ahead,
            user_id: view.user_id,
            session: view.session.map(|session| session.to_string()),
            params: view.params.and_then(|params| serde_json::from_str(params.as_str()).ok()),
            attempts: view.attempts.into_iter().map(attempt).collect(),
            progress: progress.collect(),
            result,
            resolution: view.resolution,
            reason: view.reason,
            response: (!view.response.is_empty()).then(|| String::from_utf8_lossy(&view.response).into_owned()),
            content_type: view.payload.map(|payload| payload.content_type),
            payload,
            payload_base64,
        }
    }
}

/// A payload as JSON or text, otherwise in base64. JSON stays as it was written: as values of Rust, some numbers would change.
/// JSON that is nested too deeply, such as that of a schedule, is in base64, so that clients can read the response.
pub(super) fn shown(payload: &Payload) -> (Option<Box<RawValue>>, Option<String>) {
    let shown = if payload.is_json() {
        Some(payload).filter(|it| !it.is_nested_too_deeply()).and_then(|it| serde_json::from_slice(&it.bytes).ok())
    } else {
        std::str::from_utf8(&payload.bytes).ok().and_then(|text| to_raw_value(text).ok())
    };
    let in_base64 = shown.is_none().then(|| BASE64_STANDARD.encode(&payload.bytes));
    (shown, in_base64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_that_clients_cannot_read_is_in_base64() {
        let shown_as = |content_type: &str, text: &str| {
            let (json, base64) =
                shown(&Payload { content_type: content_type.to_owned(), bytes: text.as_bytes().to_vec() });
            (json.map(|json| json.get().to_owned()), base64)
        };
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(shown_as("application/json", "[ 1.10 ]"), (Some("[ 1.10 ]".to_owned()), None));
        assert_eq!(shown_as("application/json", &deep), (None, Some(BASE64_STANDARD.encode(&deep))));
        assert_eq!(shown_as("text/plain", &deep), (Some(format!("\"{deep}\"")), None));
    }
}
