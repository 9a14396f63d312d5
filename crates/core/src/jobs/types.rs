//! Leases of jobs, how they end, and what is known about a job.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::LEASE_SECONDS;
use super::content::{JobParams, Payload};
use super::id::{JobGroupId, JobId};
use super::results::{JobResponse, Progress};
use super::settings::JobQueueSettings;
use super::webhook::{WebhookEvent, WebhookEventType, WebhookSubject};
use crate::SessionId;
use crate::time::Micros;

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
    /// The backend has lost the payload, so that nothing can run the job.
    PayloadLost,
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
