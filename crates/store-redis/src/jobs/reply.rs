//! Decodes the replies of the functions of job queues. Fields of records that this version does not know are ignored.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use fred::types::Value;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use vestibule_core::jobs::{
    Attempt, BlockedGroup, Canceled, Detail, Drained, Enqueued, FailureReason, JobCounters, JobGroupId, JobId,
    JobParams, JobResponse, JobState, JobStats, JobView, Lease, LeasedJob, Payload, Progress, ProgressAdded,
    ProgressMessage, Received, ReplayedAll, Resolution, Settled,
};
use vestibule_core::{MICROS_PER_SECOND, Micros, SessionId, StoreError};

use super::messages::{MessageId, Registered, Start};
use super::packing::unpack_contents;
use crate::codes::{
    JOB_ACCEPTED, JOB_CANCELED, JOB_FINISHED, JOB_FULL, JOB_LEASED, JOB_LOST, JOB_NEEDS_PAYLOAD, JOB_NOT_LEASED,
    JOB_REMOVED, JOB_STARTED, JOB_TOO_MANY, JOB_UNKNOWN, JOB_WAITS,
};
use crate::reply::{Reply, corrupt};

/// What `queue.lua` stores of a job.
#[derive(Deserialize)]
struct Record {
    sequence: u64,
    enqueued_at: Micros,
    #[serde(default)]
    receive_count: u64,
    #[serde(default)]
    failed_attempts: u64,
    group: Option<JobGroupId>,
    user_id: Option<String>,
    session: Option<String>,
    params: Option<JobParams>,
    /// Absent once the job is completed.
    content_type: Option<String>,
    #[serde(default)]
    attempts: Vec<Attempt>,
    /// Number of the last progress message.
    #[serde(default)]
    progress: u64,
    result: Option<PackedResult>,
    /// Why it is a dead letter.
    reason: Option<FailureReason>,
    /// When it was completed or became a dead letter.
    ended_at: Option<Micros>,
    /// When the result was delivered for the first time.
    delivered_at: Option<Micros>,
    resolution: Option<Resolution>,
}

impl Record {
    fn session(&self) -> Option<SessionId> {
        self.session.as_ref().and_then(|session| session.parse().ok())
    }

    /// The job with this ID and payload, which was received.
    fn leased(self, job: JobId, bytes: Vec<u8>) -> LeasedJob {
        LeasedJob {
            lease: Lease { job, receive_count: self.receive_count },
            session: self.session(),
            params: self.params,
            group: self.group,
            sequence: self.sequence,
            enqueued_at: self.enqueued_at,
            user_id: self.user_id,
            payload: Payload { content_type: self.content_type.unwrap_or_default(), bytes },
        }
    }
}

/// The response that completed a job, without headers and body.
#[derive(Deserialize)]
struct PackedResult {
    status: u16,
    location: Option<String>,
    /// Size of headers and body; absent once they are removed.
    #[serde(default)]
    size: u64,
}

fn job_id(bytes: &[u8]) -> Result<JobId, StoreError> {
    bytes.try_into().map(JobId::from_bytes).map_err(|_| corrupt("the bytes of a job ID", bytes.len()))
}

fn unpack<T: DeserializeOwned>(packed: &[u8]) -> Result<T, StoreError> {
    rmp_serde::from_slice(packed).map_err(|error| StoreError::Corrupt(format!("the record of a job: {error}")))
}

fn state(word: &str) -> Result<JobState, StoreError> {
    serde_json::from_value(word.into()).map_err(|_| corrupt("the state of a job", word))
}

/// Progress messages, the last of which has this number. Each is its time, a space, and the message.
fn progress(messages: Value, last: u64) -> Result<Vec<Progress>, StoreError> {
    let invalid = || corrupt("progress of a job", "another value");
    let messages: Vec<String> = messages.convert().map_err(|error| corrupt("progress of a job", error))?;
    let first = (last + 1).saturating_sub(messages.len() as u64);
    (first..)
        .zip(messages)
        .map(|(id, text)| {
            let (at, message) = text.split_once(' ').ok_or_else(invalid)?;
            let at = Micros(at.parse().map_err(|_| invalid())?);
            Ok(Progress { id, at, message: ProgressMessage::of_stored(message.to_owned()) })
        })
        .collect()
}

impl Reply {
    /// What became of a job to enqueue.
    pub(super) fn enqueued(&mut self) -> Result<Enqueued, StoreError> {
        match self.value()? {
            Value::Integer(JOB_ACCEPTED) => Ok(Enqueued::Accepted),
            Value::Integer(JOB_FULL) => Ok(Enqueued::Full),
            Value::Integer(JOB_TOO_MANY) => Ok(Enqueued::TooMany),
            Value::Integer(JOB_REMOVED) => Ok(Enqueued::Removed),
            Value::Bytes(first) => job_id(&first).map(Enqueued::Duplicate),
            Value::String(first) => job_id(first.as_bytes()).map(Enqueued::Duplicate),
            other => Err(corrupt("what became of a job", other.kind())),
        }
    }

    /// The reply of `receive.lua`.
    pub(super) fn received(mut self) -> Result<Received, StoreError> {
        let (next_due, has_more) = (self.number()?.map(Micros), self.flag()?);
        let mut jobs = Vec::new();
        while let Some(id) = self.next_bytes()? {
            let record: Record = unpack(&self.bytes()?)?;
            jobs.push(record.leased(job_id(&id)?, self.bytes()?.to_vec()));
        }
        Ok(Received { jobs, next_due, has_more })
    }

    /// The part of the reply of `register.lua` about this job.
    pub(super) fn registered(&mut self, job: JobId) -> Result<Registered, StoreError> {
        let answer = self.enqueued()?;
        let of = if let Enqueued::Duplicate(first) = answer { first } else { job };
        Ok(Registered { answer, message: self.message_to_send(of)? })
    }

    /// The part of the reply of `messages_to_send.lua` about this job.
    pub(super) fn message_to_send(&mut self, job: JobId) -> Result<Option<MessageId>, StoreError> {
        let (number, generation) = (self.number()?, self.whole()?);
        Ok(number.map(|number| MessageId { job, generation, number }))
    }

    /// The part of the reply of `start.lua` about the message of this job.
    pub(super) fn started(&mut self, job: JobId) -> Result<Start, StoreError> {
        match self.code()? {
            JOB_STARTED => Ok(Start::Started(unpack::<Record>(&self.bytes()?)?.leased(job, Vec::new()))),
            JOB_WAITS => Ok(Start::Waits(Duration::from_micros(self.whole()?))),
            JOB_LOST => Ok(Start::Lost),
            JOB_FINISHED => Ok(Start::Finished),
            JOB_NEEDS_PAYLOAD => Ok(Start::NeedsPayload),
            other => Err(corrupt("whether a job can start", other)),
        }
    }

    /// What became of a settlement.
    pub(super) fn settled(&mut self) -> Result<Settled, StoreError> {
        match self.text()?.as_deref().unwrap_or_default() {
            "" => Ok(Settled::NotLeased),
            word => state(word).map(Settled::Now),
        }
    }

    /// What became of a progress message.
    pub(super) fn progress_added(&mut self) -> Result<ProgressAdded, StoreError> {
        match self.value()? {
            Value::Integer(JOB_ACCEPTED) => Ok(ProgressAdded::Added),
            Value::Integer(JOB_FULL) => Ok(ProgressAdded::Full),
            Value::Integer(JOB_NOT_LEASED) => Ok(ProgressAdded::NotLeased),
            other => Err(corrupt("what became of a progress message", other.kind())),
        }
    }

    /// The part of the reply of `get.lua` about one job.
    pub(super) fn job_view(&mut self, id: JobId, detail: Detail) -> Result<Option<JobView>, StoreError> {
        let word = self.text()?.unwrap_or_default();
        if word.is_empty() {
            return Ok(None);
        }
        let (state, due_at, ahead) = (state(&word)?, self.number()?.map(Micros), self.number()?);
        let record: Record = unpack(&self.bytes()?)?;
        let (response, contents) = (self.bytes()?.to_vec(), self.stored_bytes()?);
        let progress = progress(self.value()?, record.progress)?;
        let result = record.result.as_ref().map(|result| {
            let (headers, body) = if result.size > 0 {
                contents.as_deref().map(unpack_contents).unwrap_or_default()
            } else {
                Default::default()
            };
            JobResponse { status: result.status, location: result.location.clone(), headers, body }
        });
        Ok(Some(JobView {
            id,
            state,
            sequence: record.sequence,
            receive_count: record.receive_count,
            failed_attempts: record.failed_attempts,
            enqueued_at: record.enqueued_at,
            ended_at: record.ended_at,
            due_at,
            ahead,
            progress,
            session: record.session(),
            group: record.group,
            attempts: record.attempts,
            user_id: record.user_id,
            params: record.params,
            payload: record
                .content_type
                .zip(contents)
                .filter(|_| detail == Detail::Contents)
                .map(|(content_type, bytes)| Payload { content_type, bytes: bytes.to_vec() }),
            result,
            is_delivered: record.delivered_at.is_some(),
            reason: record.reason,
            response,
            resolution: record.resolution,
        }))
    }

    /// The reply of `dead_letters.lua`.
    pub(super) fn dead_letters(mut self) -> Result<Vec<JobView>, StoreError> {
        let mut views = Vec::new();
        while let Some(id) = self.next_bytes()? {
            views.extend(self.job_view(job_id(&id)?, Detail::Status)?);
        }
        Ok(views)
    }

    /// What became of a job to cancel.
    pub(super) fn canceled(&mut self) -> Result<Canceled, StoreError> {
        match self.code()? {
            JOB_UNKNOWN => Ok(Canceled::Unknown),
            JOB_CANCELED => Ok(Canceled::Canceled),
            JOB_LEASED => Ok(Canceled::Leased),
            JOB_FINISHED => Ok(Canceled::Finished),
            other => Err(corrupt("what became of a job to cancel", other)),
        }
    }

    /// The reply of `drain.lua`.
    pub(super) fn drained(mut self) -> Result<Drained, StoreError> {
        Ok(Drained { canceled: self.whole()?, has_more: self.flag()? })
    }

    /// The reply of `replay_all.lua`, with the jobs that were put back.
    pub(super) fn replayed_all(mut self) -> Result<(ReplayedAll, Vec<JobId>), StoreError> {
        let replayed = ReplayedAll { replayed: self.whole()?, until: Micros(self.whole()?), has_more: self.flag()? };
        let mut ids = Self::of(self.value()?)?;
        let mut jobs = Vec::new();
        while let Some(id) = ids.next_bytes()? {
            jobs.push(job_id(&id)?);
        }
        Ok((replayed, jobs))
    }

    /// The reply of `stats.lua`.
    pub(super) fn job_stats(mut self) -> Result<JobStats, StoreError> {
        let [waiting, ready] = [self.whole()?, self.whole()?];
        let [running, dead, bytes] = [self.whole()?, self.whole()?, self.whole()?];
        let oldest_age = self.number()?.map(|micros| micros / MICROS_PER_SECOND);
        let blocking = self.next_bytes()?.filter(|id| !id.is_empty());
        let blocked_for = self.number()?;
        let blocked_group = match blocking.zip(blocked_for) {
            Some((id, micros)) => Some(BlockedGroup { job: job_id(&id)?, age: micros / MICROS_PER_SECOND }),
            None => None,
        };
        let paused_until = self.number()?.map(Micros);
        let fields: HashMap<String, Bytes> = self.value()?.convert().map_err(|error| corrupt("a hash", error))?;
        let count = |name: &str| match fields.get(name) {
            Some(text) => {
                std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| corrupt(name, text))
            }
            None => Ok(0),
        };
        let mut counts = [0; JobCounters::COUNT];
        for (value, (name, _)) in counts.iter_mut().zip(JobCounters::default().named()) {
            *value = count(name)?;
        }
        let counters = JobCounters::from_values(counts);
        Ok(JobStats { waiting, ready, running, dead, bytes, oldest_age, blocked_group, paused_until, counters })
    }
}
