//! The arguments of the functions of job queues. Maps are packed with named fields; bytes are arguments of their own, because
//! scripts can't unpack them.

use bytes::Bytes;
use fred::types::Value;
use serde::Serialize;
use vestibule_core::hex;
use vestibule_core::jobs::{
    BackendResult, Failure, FailureReason, FormerJob, JobBackendError, JobGroupId, JobId, JobParams, JobQueueSettings,
    JobResponse, NewJob, Outcome, RESPONSE_KEPT,
};

use crate::command::nothing;

/// Bytes of a digest in the name of a key. Two jobs of one digest can only be found on purpose, among one's own jobs.
const DIGEST_BYTES: usize = 16;

/// The settings that the rules use.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "flags of scripts")]
struct Settings {
    concurrency: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatches_per_minute: Option<u64>,
    max_attempts: u64,
    min_backoff: u64,
    max_backoff: u64,
    deduplication_interval: u64,
    duplicate_seconds: u64,
    retention: u64,
    timeout: u64,
    dead_letter_retention: u64,
    result_seconds: u64,
    max_jobs: u64,
    max_bytes: u64,
    visitors_max_jobs: u64,
    visitors_max_bytes: u64,
    enqueues_per_minute: u64,
    lease_seconds: u64,
    is_fifo: bool,
    holds_orders: bool,
    sends_once: bool,
    paused: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    by_message: bool,
}

/// The fields of a job's record that the producer decides, its delay and size, and the digest of its key of
/// deduplication.
#[derive(Serialize)]
struct New<'a> {
    content_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a JobGroupId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    by_visitor: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a JobParams>,
    delay_seconds: u64,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// What an equal job from before signing in is known by: the same of it, or its ID in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    former_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    former_id: Option<String>,
    /// Digest of the content, if a message has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        location: Option<String>,
        size: u64,
    },
    Failed {
        reason: FailureReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        is_final: bool,
    },
    Unknown {
        reason: FailureReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
    },
    Later {
        seconds: u64,
        pauses: bool,
    },
    Requeued,
}

fn pack(value: &impl Serialize) -> BackendResult<Value> {
    let packed = rmp_serde::to_vec_named(value).map_err(|error| JobBackendError::Corrupt(error.to_string()))?;
    Ok(Value::Bytes(packed.into()))
}

pub(super) fn id(job: JobId) -> Value {
    Value::Bytes(Bytes::copy_from_slice(job.as_bytes()))
}

/// `by_message` says that a message queue brings the jobs.
pub(super) fn pack_settings(settings: &JobQueueSettings, by_message: bool) -> BackendResult<Value> {
    let (visitors_max_jobs, visitors_max_bytes) = settings.room(true);
    pack(&Settings {
        concurrency: settings.concurrency,
        dispatches_per_minute: settings.dispatches_per_minute,
        max_attempts: settings.max_attempts,
        min_backoff: settings.min_backoff,
        max_backoff: settings.max_backoff,
        deduplication_interval: settings.deduplication_interval,
        duplicate_seconds: settings.duplicate_seconds(),
        retention: settings.retention,
        timeout: settings.timeout,
        dead_letter_retention: settings.dead_letter_retention,
        result_seconds: settings.result_seconds(),
        max_jobs: settings.max_jobs,
        max_bytes: settings.max_bytes,
        visitors_max_jobs,
        visitors_max_bytes,
        enqueues_per_minute: settings.enqueues_per_minute,
        lease_seconds: settings.lease_seconds(),
        is_fifo: settings.id.is_fifo(),
        holds_orders: settings.holds_orders(),
        sends_once: settings.sends_once(),
        paused: settings.paused,
        by_message,
    })
}

/// The arguments of a job to enqueue.
pub(super) fn new_job(job: NewJob) -> BackendResult<[Value; 3]> {
    Ok([id(job.id), fields(&job, None)?, Value::Bytes(job.payload.bytes.into())])
}

/// The fields of a new job whose payload a message carries.
pub(super) fn fields_by_message(job: &NewJob) -> BackendResult<Value> {
    fields(job, Some(start_of(&job.payload.hash())))
}

fn fields(job: &NewJob, content: Option<String>) -> BackendResult<Value> {
    let key = job.deduplication_key().map(|key| start_of(&key.digest()));
    let (former_key, former_id) = match &job.former {
        Some(FormerJob::Key(key)) => (Some(start_of(&key.digest())), None),
        Some(FormerJob::Id(id)) => (None, Some(hex(id.as_bytes()))),
        None => (None, None),
    };
    pack(&New {
        content_type: &job.payload.content_type,
        group: job.group.as_ref(),
        user_id: job.user_id.as_deref(),
        session: job.session.map(|session| session.to_string()),
        by_visitor: job.by_visitor,
        params: job.params.as_ref(),
        delay_seconds: job.delay_seconds,
        size: job.size(),
        key,
        former_key,
        former_id,
        content,
    })
}

/// The start of a digest, as names of keys have it.
fn start_of(digest: &[u8; 32]) -> String {
    hex(&digest[..DIGEST_BYTES])
}

/// Headers and body of a response in one value: the size of the headers, the headers, and the body.
fn pack_contents(response: &JobResponse) -> Value {
    let size = (response.headers.len() as u32).to_be_bytes();
    Value::Bytes([&size, &*response.headers, &*response.body].concat().into())
}

/// Unpacks headers and body.
pub(super) fn unpack_contents(contents: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (headers, body) = contents
        .split_first_chunk()
        .and_then(|(size, rest)| rest.split_at_checked(u32::from_be_bytes(*size) as usize))
        .unwrap_or_default();
    (headers.to_vec(), body.to_vec())
}

/// The details of a settlement, and the response.
pub(super) fn pack_outcome(
    settings: &JobQueueSettings,
    receive_count: u64,
    outcome: Outcome,
) -> BackendResult<(Value, Value)> {
    // The script keeps no more; this saves sending it.
    let start = |mut response: Vec<u8>| {
        response.truncate(RESPONSE_KEPT);
        Value::Bytes(response.into())
    };
    let failed = |Failure { reason, status, response }, is_final| {
        (PackedOutcome::Failed { reason, status, is_final }, start(response))
    };
    let (outcome, response) = match outcome {
        Outcome::Acknowledged(None) => {
            (PackedOutcome::Acknowledged { status: None, location: None, size: 0 }, nothing())
        }
        Outcome::Acknowledged(Some(response)) => {
            let response = response.kept(settings);
            let (size, contents) = (response.size(), pack_contents(&response));
            let JobResponse { status, location, .. } = response;
            (PackedOutcome::Acknowledged { status: Some(status), location, size }, contents)
        }
        Outcome::Failed(failure) => failed(failure, false),
        Outcome::FailedForGood(failure) => failed(failure, true),
        Outcome::Unknown(Failure { reason, status, response }) => {
            (PackedOutcome::Unknown { reason, status }, start(response))
        }
        Outcome::Later { seconds, pauses } => (PackedOutcome::Later { seconds, pauses }, nothing()),
        Outcome::Requeued => (PackedOutcome::Requeued, nothing()),
    };
    Ok((pack(&Details { receive_count, outcome })?, response))
}

#[cfg(test)]
mod tests {
    use vestibule_core::jobs::Payload;

    use super::*;

    #[test]
    fn names_of_deduplication_are_stable() {
        let job = NewJob {
            group: Some("user-17".parse().unwrap()),
            deduplication_id: Some("change-4711".parse().unwrap()),
            ..NewJob::new(JobId::random(), Payload { content_type: String::new(), bytes: Vec::new() })
        };
        // printf 'user-17\0\1change-4711' | sha256sum
        assert_eq!(start_of(&job.deduplication_key().unwrap().digest()), "fe4670dacd783880024eeecdab0597d5");
    }

    #[test]
    fn contents_of_another_version_are_empty() {
        let response = JobResponse { headers: b"a: b".to_vec(), body: b"hello".to_vec(), ..JobResponse::default() };
        let Value::Bytes(packed) = pack_contents(&response) else { panic!("not bytes") };
        assert_eq!(unpack_contents(&packed), (response.headers, response.body));
        for other in [&b""[..], b"\0\0\0\x09abc"] {
            assert_eq!(unpack_contents(other), (Vec::new(), Vec::new()));
        }
    }
}
