//! The rules of a job queue, as plain functions of (state, now, operation): no clock, no randomness, no I/O (J17).
//!
//! A job queue is a list of background jobs with one target. Its rules are numbered, from J1 on.

mod backend;
mod content;
mod id;
mod media_type;
mod new_job;
mod queue;
mod results;
mod schedule;
mod settings;
mod stats;
mod target;
mod types;
mod webhook;

pub use backend::{BackendResult, JobBackend, JobBackendError, JobStore};
pub use content::{DeduplicationKey, JobParams, Payload};
pub use id::{
    DeduplicationId, JOB_KEY_MAX, JOB_QUEUE_ID_MAX, JobGroupId, JobId, JobIdError, JobKeyError, JobQueueId,
    JobQueueIdError,
};
pub use media_type::MediaType;
pub use new_job::{Enqueued, FormerJob, NewJob};
pub use queue::JobQueue;
pub use results::{JobResponse, Progress, ProgressAdded, ProgressError, ProgressMessage};
pub use schedule::{Cron, JobSchedule, MISSED_MAX, SCHEDULES_MAX, TimeZone};
pub use settings::{CONCURRENCY_MAX, JobProducers, JobQueueSettings, JobRetry, PAYLOAD_MAX};
pub use stats::{BlockedGroup, JobCounters, JobStats};
pub use target::{HandlerUrl, JobTarget, JobTargetKind, SigningSecret};
pub use types::{
    Attempt, Canceled, DeadLetterPosition, Detail, Drained, Extension, Failure, FailureReason, JobState, JobView,
    Lease, LeasedJob, Outcome, Received, ReplayedAll, Resolution, Settled, Settlement,
};
pub use webhook::{JobWebhook, WebhookEvent, WebhookEventType, WebhookQueue, WebhookSubject};

/// Seconds of a lease, and of each extension (J9).
pub const LEASE_SECONDS: u64 = 30;
/// Maximum number of jobs that one operation takes or returns.
pub const JOB_BATCH: usize = 64;
/// Maximum number of bytes of the jobs that a receive returns, as `max_bytes` counts them, so that its reply arrives in time over a slow
/// connection. A single job may have more (J8).
pub const RECEIVE_BYTES: u64 = 512 * 1024;
/// Maximum number of expired leases, jobs, results and dead letters, each, that one operation removes.
pub const JOB_REAP_BATCH: usize = 64;
/// Maximum number of attempts of a job that are kept.
pub const ATTEMPTS_KEPT: usize = 20;
/// Maximum number of bytes that are kept of a response that reports a failure (J14).
pub const RESPONSE_KEPT: usize = 4 * 1024;
/// Responses that report failures have this part of the room for responses and progress, so that they never take that of results (J18).
pub const FAILED_RESPONSES_PART: u64 = 4;
/// The longest time for which a handler can ask to be called later, in seconds (J10).
pub const RETRY_AFTER_MAX: u64 = 3_600;
/// How many levels of arrays and objects JSON of a payload may have. A consumer gets several jobs in a response that has three levels
/// itself, and widespread parsers read no more than 64: a deeper payload would make the other jobs unreadable, too.
pub const JSON_LEVELS_MAX: usize = 60;
/// Maximum number of bytes of the parameters of a job.
pub const PARAMS_MAX: usize = 4 * 1024;
/// Seconds of the window in which `enqueues_per_minute` limits a session.
pub const ENQUEUES_WINDOW: u64 = 60;
/// Maximum number of bytes of a progress message (J18).
pub const PROGRESS_MAX: usize = 4 * 1024;
/// Number of progress messages of a job that are kept.
pub const PROGRESS_KEPT: usize = 20;
/// Maximum number of bytes that are kept of the response that completed a job (J18).
pub const RESULT_KEPT: usize = 16 * 1024;
/// The same for a held order, whose visitor gets the response.
pub const HELD_RESPONSE_MAX: usize = 256 * 1024;
/// Seconds after its removal for which a job queue accepts no jobs, unless it is created again: some processes may not know yet (J3).
pub const REMOVED_SECONDS: u64 = 3_600;
/// Seconds after its delivery for which the response to a held order is kept.
pub const DELIVERED_SECONDS: u64 = 60;
/// Number of the oldest unfinished jobs among which those are looked for that block their groups (J6).
pub const BLOCKING_SEARCH: usize = 64;
/// Maximum number of jobs that draining cancels at a time (J13).
pub const DRAIN_BATCH: usize = 200;
/// Maximum number of dead letters that replaying all of them puts back at a time (J14).
pub const REPLAY_BATCH: usize = 200;
/// The lowest status with which the origin rejects a held order, so that the visitor can submit it again (H8).
pub const ORDER_REJECTED: u16 = 400;
