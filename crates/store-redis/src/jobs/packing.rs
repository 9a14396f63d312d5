//! The arguments of the functions of job queues. Maps are packed with named fields; bytes are arguments of their own, because
//! scripts can't unpack them.

use bytes::Bytes;
use fred::types::Value;
use serde::Serialize;
use vestibule_core::jobs::{
    Failure, FailureReason, JobBackendError, JobGroupId, JobId, JobQueueSettings, NewJob, Outcome, RESPONSE_KEPT,
};

use crate::command::nothing;

/// The settings that the rules use.
#[derive(Serialize)]
struct Settings {
    concurrency: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatches_per_minute: Option<u64>,
    max_attempts: u64,
    min_backoff: u64,
    max_backoff: u64,
    deduplication_interval: u64,
    retention: u64,
    dead_letter_retention: u64,
    result_ttl: u64,
    max_jobs: u64,
    max_bytes: u64,
    paused: bool,
}

/// The fields of a job's record that the producer decides, its delay, and the number of its key of deduplication.
#[derive(Serialize)]
struct New<'a> {
    content_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a JobGroupId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    delay_seconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<usize>,
}

/// A settlement without its job ID and the response.
#[derive(Serialize)]
struct Details {
    receive_count: u64,
    #[serde(flatten)]
    outcome: PackedOutcome,
}

#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum PackedOutcome {
    Acknowledged {
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    },
    Failed {
        reason: FailureReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        is_final: bool,
    },
    Later {
        seconds: u64,
        pauses: bool,
    },
    Requeued,
}

fn pack(value: &impl Serialize) -> Result<Value, JobBackendError> {
    let packed = rmp_serde::to_vec_named(value).map_err(|error| JobBackendError::Corrupt(error.to_string()))?;
    Ok(Value::Bytes(packed.into()))
}

pub(super) fn id(job: JobId) -> Value {
    Value::Bytes(Bytes::copy_from_slice(job.as_bytes()))
}

pub(super) fn pack_settings(settings: &JobQueueSettings) -> Result<Value, JobBackendError> {
    pack(&Settings {
        concurrency: settings.concurrency,
        dispatches_per_minute: settings.dispatches_per_minute,
        max_attempts: settings.max_attempts,
        min_backoff: settings.min_backoff,
        max_backoff: settings.max_backoff,
        deduplication_interval: settings.deduplication_interval,
        retention: settings.retention,
        dead_letter_retention: settings.dead_letter_retention,
        result_ttl: settings.result_ttl,
        max_jobs: settings.max_jobs,
        max_bytes: settings.max_bytes,
        paused: settings.paused,
    })
}

/// The arguments of a job to enqueue.
pub(super) fn new_job(job: NewJob, key: Option<usize>) -> Result<[Value; 3], JobBackendError> {
    let fields = pack(&New {
        content_type: &job.payload.content_type,
        group: job.group.as_ref(),
        user_id: job.user_id.as_deref(),
        delay_seconds: job.delay_seconds,
        key,
    })?;
    Ok([id(job.id), fields, Value::Bytes(job.payload.bytes.into())])
}

/// The details of a settlement, and the response.
pub(super) fn pack_outcome(receive_count: u64, outcome: Outcome) -> Result<(Value, Value), JobBackendError> {
    let failed = |failure: Failure, is_final| {
        let Failure { reason, status, mut response } = failure;
        // The script keeps no more; this saves sending it.
        response.truncate(RESPONSE_KEPT);
        (PackedOutcome::Failed { reason, status, is_final }, Value::Bytes(response.into()))
    };
    let (outcome, response) = match outcome {
        Outcome::Acknowledged { status } => (PackedOutcome::Acknowledged { status }, nothing()),
        Outcome::Failed(failure) => failed(failure, false),
        Outcome::FailedForGood(failure) => failed(failure, true),
        Outcome::Later { seconds, pauses } => (PackedOutcome::Later { seconds, pauses }, nothing()),
        Outcome::Requeued => (PackedOutcome::Requeued, nothing()),
    };
    Ok((pack(&Details { receive_count, outcome })?, response))
}
