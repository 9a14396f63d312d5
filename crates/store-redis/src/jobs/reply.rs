//! Decodes the replies of the functions of job queues. Fields of records that this version does not know are ignored.

use std::collections::HashMap;

use bytes::Bytes;
use fred::types::Value;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use vestibule_core::jobs::{
    Attempt, Enqueued, FailureReason, JobCounters, JobGroupId, JobId, JobState, JobStats, JobView, Lease, LeasedJob,
    Payload, Received, Settled,
};
use vestibule_core::{MICROS_PER_SECOND, Micros, StoreError};

use crate::codes::{JOB_ACCEPTED, JOB_FULL};
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
    /// Absent once the job is completed.
    content_type: Option<String>,
    #[serde(default)]
    attempts: Vec<PackedAttempt>,
    /// Why it is a dead letter.
    reason: Option<FailureReason>,
}

#[derive(Deserialize)]
struct PackedAttempt {
    receive_count: u64,
    started_at: Micros,
    ended_at: Micros,
    reason: Option<FailureReason>,
    status: Option<u16>,
}

impl From<PackedAttempt> for Attempt {
    fn from(attempt: PackedAttempt) -> Self {
        let PackedAttempt { receive_count, started_at, ended_at, reason, status } = attempt;
        Self { receive_count, started_at, ended_at, reason, status }
    }
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

impl Reply {
    /// What became of a job to enqueue.
    pub(super) fn enqueued(&mut self) -> Result<Enqueued, StoreError> {
        match self.value()? {
            Value::Integer(JOB_ACCEPTED) => Ok(Enqueued::Accepted),
            Value::Integer(JOB_FULL) => Ok(Enqueued::Full),
            Value::Bytes(first) => job_id(&first).map(Enqueued::Duplicate),
            Value::String(first) => job_id(first.as_bytes()).map(Enqueued::Duplicate),
            other => Err(corrupt("what became of a job", other.kind())),
        }
    }

    /// The reply of `receive.lua`.
    pub(super) fn received(mut self) -> Result<Received, StoreError> {
        let next_due = self.number()?.map(Micros);
        let mut jobs = Vec::new();
        while let Some(id) = self.next_bytes()? {
            let record: Record = unpack(&self.bytes()?)?;
            let bytes = self.bytes()?.to_vec();
            jobs.push(LeasedJob {
                lease: Lease { job: job_id(&id)?, receive_count: record.receive_count },
                group: record.group,
                sequence: record.sequence,
                enqueued_at: record.enqueued_at,
                user_id: record.user_id,
                payload: Payload { content_type: record.content_type.unwrap_or_default(), bytes },
            });
        }
        Ok(Received { jobs, next_due })
    }

    /// What became of a settlement.
    pub(super) fn settled(&mut self) -> Result<Settled, StoreError> {
        match self.text()?.as_deref().unwrap_or_default() {
            "" => Ok(Settled::NotLeased),
            word => state(word).map(Settled::Now),
        }
    }

    /// The reply of `get.lua`.
    pub(super) fn job_view(mut self, id: JobId) -> Result<Option<JobView>, StoreError> {
        let Some(word) = self.next_bytes()? else { return Ok(None) };
        let state = state(std::str::from_utf8(&word).unwrap_or_default())?;
        let due_at = self.number()?.map(Micros);
        let record: Record = unpack(&self.bytes()?)?;
        let (response, payload) = (self.bytes()?.to_vec(), self.bytes()?.to_vec());
        Ok(Some(JobView {
            id,
            state,
            group: record.group,
            sequence: record.sequence,
            receive_count: record.receive_count,
            failed_attempts: record.failed_attempts,
            enqueued_at: record.enqueued_at,
            due_at,
            attempts: record.attempts.into_iter().map(Attempt::from).collect(),
            user_id: record.user_id,
            payload: record.content_type.map(|content_type| Payload { content_type, bytes: payload }),
            reason: record.reason,
            response,
        }))
    }

    /// The reply of `stats.lua`.
    pub(super) fn job_stats(mut self) -> Result<JobStats, StoreError> {
        let [waiting, running, dead, bytes] = [self.whole()?, self.whole()?, self.whole()?, self.whole()?];
        let oldest_age = self.number()?.map(|micros| micros / MICROS_PER_SECOND);
        let paused_until = self.number()?.map(Micros);
        let fields: HashMap<String, Bytes> = self.value()?.convert().map_err(|error| corrupt("a hash", error))?;
        let count = |name: &str| match fields.get(name) {
            Some(text) => {
                std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| corrupt(name, text))
            }
            None => Ok(0),
        };
        let counters = JobCounters {
            enqueued: count("enqueued")?,
            duplicate: count("duplicate")?,
            acknowledged: count("acknowledged")?,
            failed: count("failed")?,
            requeued: count("requeued")?,
            dead: count("dead")?,
            refused: count("refused")?,
        };
        Ok(JobStats { waiting, running, dead, bytes, oldest_age, paused_until, counters })
    }
}
