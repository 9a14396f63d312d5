//! What goes into the rules of a job queue and what comes out.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::LEASE_SECONDS;
use super::content::{DeduplicationKey, JobParams, Payload};
use super::id::{DeduplicationId, JobGroupId, JobId, JobQueueId};
use super::results::{JobResponse, Progress};
use super::schedule::JobSchedule;
use super::settings::JobQueueSettings;
use super::webhook::{WebhookEvent, WebhookEventType, WebhookSubject};
use crate::SessionId;
use crate::counters::counters;
use crate::time::Micros;

/// A job to enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Its ID, chosen by the process that enqueues (J2).
    pub id: JobId,
    /// Its group; a job of a FIFO job queue has one, a standard job has none.
    pub group: Option<JobGroupId>,
    /// What identifies duplicates in a FIFO job queue, in place of the content (J7).
    pub deduplication_id: Option<DeduplicationId>,
    /// Seconds until it is due; 0 in a FIFO job queue.
    pub delay_seconds: u64,
    /// The user of the producer's site for whom the job runs.
    pub user_id: Option<String>,
    /// The session that may follow the job.
    pub session: Option<SessionId>,
    /// Whether the session enqueues it itself, which `enqueues_per_minute` limits.
    pub by_visitor: bool,
    /// What the request that enqueued it has beside its body.
    pub params: Option<JobParams>,
    /// What an equal job is known by that its visitor enqueued before signing in. It is a duplicate of that one, too (J7).
    pub former: Option<FormerJob>,
    /// Its content.
    pub payload: Payload,
}

/// What an earlier job is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormerJob {
    /// Its key of deduplication, in a FIFO job queue.
    Key(DeduplicationKey),
    /// Its ID, in a standard job queue.
    Id(JobId),
}

impl NewJob {
    /// A standard job that is due at once and belongs to nobody.
    pub const fn new(id: JobId, payload: Payload) -> Self {
        Self {
            id,
            group: None,
            deduplication_id: None,
            delay_seconds: 0,
            user_id: None,
            session: None,
            by_visitor: false,
            params: None,
            former: None,
            payload,
        }
    }

    /// The job of a run of a schedule. The same run always has the same job, so any number of processes enqueue one (S1). `None`
    /// if the text of the run is too long.
    pub fn of_schedule(job_queue: &JobQueueId, schedule: &JobSchedule, run: impl fmt::Display) -> Option<Self> {
        let deduplication_id = schedule.deduplication_id(run)?;
        let id = JobId::of_deduplication(job_queue, None, &deduplication_id);
        let group = schedule.group_id.clone();
        let deduplication_id = group.is_some().then_some(deduplication_id);
        Some(Self { group, deduplication_id, ..Self::new(id, schedule.payload()) })
    }

    /// The job that delivers a webhook event. The same event always has the same job, so any number of processes enqueue one (W2).
    /// `None` if the texts that identify it are too long.
    pub fn of_webhook_event(job_queue: &JobQueueId, event: &WebhookEvent) -> Option<Self> {
        let deduplication_id = event.deduplication_id()?;
        let id = JobId::of_deduplication(job_queue, None, &deduplication_id);
        let group = if job_queue.is_fifo() { Some(event.group()?) } else { None };
        let deduplication_id = group.is_some().then_some(deduplication_id);
        Some(Self { group, deduplication_id, ..Self::new(id, event.payload()) })
    }

    /// Size of what it carries in bytes, which `max_bytes` limits: payload, content type and parameters (J15).
    pub fn size(&self) -> u64 {
        let params = self.params.as_ref().map_or(0, |params| params.as_str().len());
        (self.payload.bytes.len() + self.payload.content_type.len() + params) as u64
    }

    /// What identifies equal jobs; `None` for a standard job, of which only the ID counts (J7).
    pub fn deduplication_key(&self) -> Option<DeduplicationKey> {
        let group = self.group.clone()?;
        let visitor = self.session.filter(|_| self.by_visitor);
        Some(DeduplicationKey::of(group, visitor, self.deduplication_id.clone(), &self.payload))
    }

    /// What identifies equal jobs in this group that the visitor with this session enqueues.
    pub fn key_in(&self, group: JobGroupId, session: SessionId) -> DeduplicationKey {
        DeduplicationKey::of(group, Some(session), self.deduplication_id.clone(), &self.payload)
    }
}

/// What became of a job to enqueue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It is stored (J3).
    Accepted,
    /// It equals this earlier job and was not queued (J2, J7).
    Duplicate(JobId),
    /// The job queue is full and it was not queued (J15).
    Full,
    /// Its session has enqueued `enqueues_per_minute` jobs within [`super::ENQUEUES_WINDOW`], and it was not queued (J15).
    TooMany,
    /// The job queue was removed, and it was not queued (J3).
    Removed,
    /// The backend could not store it, and it was not queued. The backend logs the cause.
    NotSent,
    /// The backend was not told whether it is stored: it may or may not be queued. The backend logs the cause.
    Unconfirmed,
}

/// The time for which a received job belongs to one consumer (J9). An old lease never equals a new one, because the receive count only
/// grows, unless the backend loses that it was received: a replica that takes over gives the lease again. Of a held order, replicas have
/// the lease before its consumer does, if they confirm anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// How many times it has been received, this time included.
    pub receive_count: u64,
}

/// A lease to extend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// The lease.
    pub lease: Lease,
    /// For how many seconds from now on, at least.
    pub seconds: u64,
    /// Whether the consumer sends the held order as soon as this is confirmed (H7). If the lease expires then, the outcome is
    /// unknown.
    pub is_sent: bool,
}

impl Extension {
    /// The extension of a worker, which lasts as long as a new lease.
    pub const fn of(lease: Lease) -> Self {
        Self { lease, seconds: LEASE_SECONDS, is_sent: false }
    }

    /// The extension of a worker that sends a held order as soon as this is confirmed.
    pub const fn sent(lease: Lease) -> Self {
        Self { is_sent: true, ..Self::of(lease) }
    }
}

/// A job that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedJob {
    /// What settles it.
    pub lease: Lease,
    /// Its group.
    pub group: Option<JobGroupId>,
    /// Its number in the order of acceptance (J4).
    pub sequence: u64,
    /// When it was accepted.
    pub enqueued_at: Micros,
    /// The user for whom it runs.
    pub user_id: Option<String>,
    /// The session that may follow it.
    pub session: Option<SessionId>,
    /// What the request that enqueued it has beside its body.
    pub params: Option<JobParams>,
    /// Its content.
    pub payload: Payload,
}

/// The answer to a receive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Received {
    /// The jobs, those that have been due longest first.
    pub jobs: Vec<LeasedJob>,
    /// The earliest instant at which a job can start, unless something changes before; `None` if nothing waits or runs.
    pub next_due: Option<Micros>,
    /// Whether another job would be among them without [`super::RECEIVE_BYTES`] (J8).
    pub has_more: bool,
}

/// Why an attempt did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureReason {
    /// The handler answered with a status that is not a success.
    Status,
    /// The handler reported a permanent failure.
    Permanent,
    /// The handler did not answer within `timeout`.
    Timeout,
    /// No connection, or it broke.
    Connection,
    /// The address of the handler is not allowed.
    AddressRefused,
    /// The consumer reported a failure.
    Reported,
    /// The lease expired: the worker was stopped, or lost its connection to the store.
    LeaseExpired,
    /// The job was not finished within `retention`.
    Expired,
    /// An operator canceled the held order before it was sent.
    Canceled,
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub reason: FailureReason,
    /// The status of the response, if there was one.
    pub status: Option<u16>,
    /// The start of the response.
    pub response: Vec<u8>,
}

/// How a lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The job is done. The response, if there was one, is kept (J18).
    Acknowledged(Option<JobResponse>),
    /// The attempt failed.
    Failed(Failure),
    /// The attempt failed after the origin may have received the held order (H8). With `retry = "safe"` it is not sent again.
    Unknown(Failure),
    /// The attempt failed, and no other one can succeed.
    FailedForGood(Failure),
    /// The handler asks to be called later. It is not an attempt.
    Later {
        /// After this many seconds.
        seconds: u64,
        /// Whether the whole job queue pauses for this time.
        pauses: bool,
    },
    /// The job was not started (J12).
    Requeued,
}

/// How one lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The lease.
    pub lease: Lease,
    /// How it ends.
    pub outcome: Outcome,
}

impl Settlement {
    /// The event that this settlement causes, if the job is in this state then: it failed for good, or the outcome of the held order
    /// became unknown. A repeated settlement causes the same event. A job that delivers events causes none, so that failing
    /// webhooks don't feed themselves. The event contains neither payload nor response (J19).
    pub fn webhook_event(&self, settings: &JobQueueSettings, state: JobState, at: Micros) -> Option<WebhookEvent> {
        let event_type = match state {
            JobState::Failed => WebhookEventType::JobDeadLettered,
            JobState::Unknown => WebhookEventType::OrderOutcomeUnknown,
            JobState::Queued | JobState::Running | JobState::Retrying | JobState::Completed => return None,
        };
        if settings.webhook.is_some() {
            return None;
        }
        let Lease { job, receive_count } = self.lease;
        let subject = WebhookSubject::Job(settings.id.clone(), job);
        let event = WebhookEvent::new(event_type, settings.tenant.clone(), subject, at);
        let event = WebhookEvent { occasion: receive_count, ..event };
        Some(match &self.outcome {
            Outcome::Failed(Failure { reason, status, .. })
            | Outcome::Unknown(Failure { reason, status, .. })
            | Outcome::FailedForGood(Failure { reason, status, .. }) => {
                event.with("reason", json!(reason)).with("status", *status)
            }
            Outcome::Acknowledged(_) | Outcome::Later { .. } | Outcome::Requeued => event,
        })
    }
}

/// What became of a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The job is now in this state. A repeated settlement is answered in the same way, until the job is received again or
    /// removed.
    Now(JobState),
    /// The lease is not the current one; nothing changed (J9).
    NotLeased,
}

crate::names! {
    /// Where a job is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum JobState {
        /// It waits for its first attempt.
        Queued = "queued",
        /// It is leased.
        Running = "running",
        /// It waits for its next attempt.
        Retrying = "retrying",
        /// It was acknowledged.
        Completed = "completed",
        /// It is a dead letter.
        Failed = "failed",
        /// It is a held order that the origin may have processed (H9), among the dead letters.
        Unknown = "unknown",
    }
    /// The word for it.
    fn as_str
}

/// One attempt that ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Attempt {
    /// The receive count of its lease.
    pub receive_count: u64,
    /// When it began.
    pub started_at: Micros,
    /// When it ended.
    pub ended_at: Micros,
    /// Why it failed; `None` if it succeeded.
    pub reason: Option<FailureReason>,
    /// The status of the response.
    pub status: Option<u16>,
}

crate::names! {
    /// How much a view of a job has.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Detail {
        /// Everything but contents: no payload, and of the response that completed the job neither headers nor body.
        Status = "status",
        /// Everything but the payload.
        Result = "result",
        /// Everything.
        Contents = "contents",
    }
    /// The word for it.
    fn as_str
}

impl Detail {
    /// Whether a view has headers and body of the response that completed the job.
    pub const fn has_result(self) -> bool {
        matches!(self, Self::Result | Self::Contents)
    }
}

/// What is known about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobView {
    /// Its ID.
    pub id: JobId,
    /// Where it is.
    pub state: JobState,
    /// Its group.
    pub group: Option<JobGroupId>,
    /// Its number in the order of acceptance.
    pub sequence: u64,
    /// How many times it was received.
    pub receive_count: u64,
    /// How many attempts failed.
    pub failed_attempts: u64,
    /// When it was accepted.
    pub enqueued_at: Micros,
    /// When it was completed or became a dead letter.
    pub ended_at: Option<Micros>,
    /// When the next attempt is due; `None` unless it waits.
    pub due_at: Option<Micros>,
    /// How many jobs start before it, if nothing changes: those that are due earlier, and the earlier ones of its group. 0
    /// unless it waits; `None` if the backend can't count them.
    pub ahead: Option<u64>,
    /// The last attempts, the oldest first.
    pub attempts: Vec<Attempt>,
    /// The last progress messages, the oldest first (J18).
    pub progress: Vec<Progress>,
    /// The user for whom it runs.
    pub user_id: Option<String>,
    /// The session that may follow it.
    pub session: Option<SessionId>,
    /// What the request that enqueued it has beside its body; `None` once it is completed.
    pub params: Option<JobParams>,
    /// Its content; `None` once it is completed.
    pub payload: Option<Payload>,
    /// The response that completed it.
    pub result: Option<JobResponse>,
    /// Whether its visitor got that response. Held orders only.
    pub is_delivered: bool,
    /// Why it is a dead letter.
    pub reason: Option<FailureReason>,
    /// The start of the last response that reported a failure.
    pub response: Vec<u8>,
    /// What became of a held order whose outcome is unknown, as far as an operator has recorded it.
    pub resolution: Option<Resolution>,
}

impl JobView {
    /// Its position among the jobs that wait, from 1; `None` unless it waits for its first start and the backend can count.
    pub fn position(&self) -> Option<u64> {
        let waits = self.state == JobState::Queued && self.receive_count == 0;
        self.ahead.filter(|_| waits).map(|ahead| ahead + 1)
    }
}

/// What became of a held order whose outcome is unknown (H9). An operator finds it out at the origin, and records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The origin has processed the order.
    Placed,
    /// The origin has not processed the order. The visitor can submit it again.
    NotPlaced,
}

crate::word_field!(Resolution { Placed = "placed", NotPlaced = "not_placed" });

/// What became of a job to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Canceled {
    /// It does not run any more.
    Canceled,
    /// It is leased; nothing changed.
    Leased,
    /// It is completed or a dead letter; nothing changed.
    Finished,
    /// There is no such job, or its result has expired.
    Unknown,
}

/// What draining a job queue has done (J13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Jobs that were canceled.
    pub canceled: u64,
    /// Whether jobs still wait.
    pub has_more: bool,
}

/// A position among the dead letters of a job queue, which are in the order of their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadLetterPosition {
    /// When the job became a dead letter.
    pub ended_at: Micros,
    /// Its sequence number.
    pub sequence: u64,
}

/// What replaying all dead letters has done (J14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayedAll {
    /// Jobs that were put back.
    pub replayed: u64,
    /// The instant until which the replayed jobs had become dead letters.
    pub until: Micros,
    /// Whether there are more until that instant.
    pub has_more: bool,
}

counters! {
    /// Counts of a job queue since it was created.
    pub struct JobCounters {
        /// Accepted jobs.
        enqueued = "enqueued",
        /// Jobs that equal an earlier one.
        duplicate = "duplicate",
        /// Acknowledged jobs.
        acknowledged = "acknowledged",
        /// Failed attempts.
        failed = "failed",
        /// Leases that were returned without an attempt.
        requeued = "requeued",
        /// Jobs that became dead letters.
        dead = "dead",
        /// Held orders whose outcome became unknown.
        unknown = "unknown",
        /// Unknown outcomes that are settled: an operator recorded it, a late result came, or the dead letter is gone.
        resolved = "resolved",
        /// Waiting jobs that were deleted.
        canceled = "canceled",
        /// Dead letters that were put back.
        replayed = "replayed",
        /// Refused settlements and extensions of old leases.
        refused = "refused",
    }
}

/// A group whose first job was put back without being finished, so that the later ones wait (J6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockedGroup {
    /// Its first job.
    pub job: JobId,
    /// Seconds since the job was put back for the first time.
    pub age: u64,
}

/// The statistics of a job queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobStats {
    /// Jobs that wait, for their turn or for a retry.
    pub waiting: u64,
    /// Of those, the ones that can start now. The others wait for a time, for a retry, for the first job of their group, or for
    /// their message.
    pub ready: u64,
    /// Leased jobs.
    pub running: u64,
    /// Dead letters.
    pub dead: u64,
    /// Size of all payloads together.
    pub bytes: u64,
    /// Seconds since the oldest job that is not finished was accepted; `None` if there is none.
    pub oldest_age: Option<u64>,
    /// The group that has been blocked longest; only groups of the [`super::BLOCKING_SEARCH`] oldest jobs are considered.
    pub blocked_group: Option<BlockedGroup>,
    /// Until when a handler's `Retry-After` pauses the job queue.
    pub paused_until: Option<Micros>,
    /// Counts since the job queue was created.
    pub counters: JobCounters,
}

impl JobStats {
    /// Held orders whose outcome is unknown, and of which nobody has recorded what became of them.
    pub const fn unresolved(&self) -> u64 {
        self.counters.unknown.saturating_sub(self.counters.resolved)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fields::Object as _;

    #[test]
    fn each_run_of_a_schedule_has_one_job() {
        let (emails, stock): (JobQueueId, JobQueueId) = ("emails".parse().unwrap(), "stock.fifo".parse().unwrap());
        let import = JobSchedule::from_json(&json!({ "id": "import", "cron": "@daily", "payload": "{}" })).unwrap();
        let job = NewJob::of_schedule(&emails, &import, 60).unwrap();
        assert_eq!((job.payload.content_type.as_str(), &job.payload.bytes[..]), ("application/json", &b"{}"[..]));
        assert_eq!(NewJob::of_schedule(&emails, &import, 60).unwrap(), job);
        assert_ne!(NewJob::of_schedule(&emails, &import, 120).unwrap().id, job.id);
        assert_ne!(NewJob::of_schedule(&stock, &import, 60).unwrap().id, job.id);
        let grouped = JobSchedule { group_id: Some("stock".parse().unwrap()), ..import };
        let job = NewJob::of_schedule(&stock, &grouped, 60).unwrap();
        assert_eq!(job.deduplication_id.unwrap().as_str(), "import@60");
    }
}
