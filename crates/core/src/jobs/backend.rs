//! The interface of the backends of job queues.

use async_trait::async_trait;

use super::id::JobId;
use super::new_job::{Enqueued, NewJob};
use super::results::{ProgressAdded, ProgressMessage};
use super::settings::JobQueueSettings;
use super::stats::JobStats;
use super::types::{
    Canceled, DeadLetterPosition, Detail, Drained, Extension, JobView, Lease, Received, ReplayedAll, Resolution,
    Settled, Settlement,
};
use crate::time::Micros;

/// Errors of a backend.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JobBackendError {
    /// The backend can't be reached, or refuses all writes. What was asked has certainly not been done.
    #[error("job backend unavailable: {0}")]
    NotSent(String),
    /// The backend did not answer in time. What was asked may or may not have been done.
    #[error("job backend unavailable: {0}")]
    Unavailable(String),
    /// The backend returned an invalid answer.
    #[error("invalid response from the job backend: {0}")]
    Corrupt(String),
}

/// The outcome of an operation of a backend.
pub type BackendResult<T> = Result<T, JobBackendError>;

/// Brings the jobs of job queues to those that run them. Every operation is atomic, concerns one job queue, follows the rules of
/// [`crate::jobs`] and uses the backend's own clock. Lists have at most [`crate::jobs::JOB_BATCH`] entries; the answers are in their
/// order.
///
/// # Errors
/// Every operation fails with [`JobBackendError::NotSent`] or [`JobBackendError::Unavailable`] if it can't be completed in time.
#[async_trait]
pub trait JobBackend: Send + Sync {
    /// Enqueues jobs. A backend that stores them one by one has an answer of its own for each that fails.
    async fn enqueue(&self, settings: &JobQueueSettings, jobs: Vec<NewJob>) -> BackendResult<Vec<Enqueued>>;
    /// Leases up to `max` jobs that are due. It leases fewer, but at least one, if the jobs have more than
    /// [`crate::jobs::RECEIVE_BYTES`]; then [`Received::has_more`] says that it is worth asking again at once.
    async fn receive(&self, settings: &JobQueueSettings, max: usize) -> BackendResult<Received>;
    /// Extends leases. The answer says which of them are current. A consumer that sends a held order has it recorded here
    /// before (H7).
    async fn extend(&self, settings: &JobQueueSettings, leases: &[Extension]) -> BackendResult<Vec<bool>>;
    /// Ends leases. It can be repeated if its answer is lost (J9).
    async fn settle(&self, settings: &JobQueueSettings, settlements: Vec<Settlement>) -> BackendResult<Vec<Settled>>;
    /// Puts dead letters back, in this order (J14). The answer says which of the jobs were put back; held orders never are.
    async fn replay(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>>;
    /// Puts all dead letters back that ended until an instant, or until now, the oldest first, up to
    /// [`crate::jobs::REPLAY_BATCH`] (J14). Jobs that fail again meanwhile are not among them if the next call gets the instant
    /// of the answer.
    async fn replay_all(&self, settings: &JobQueueSettings, until: Option<Micros>) -> BackendResult<ReplayedAll>;
    /// Where the jobs of this backend are recorded.
    fn store(&self) -> &dyn JobStore;
    /// Whether consumers can receive the jobs of a job queue with the target `pull`.
    fn supports_pull(&self) -> bool {
        true
    }
}

/// Records jobs: what is known about them, and what operators change without running them. It is the same whatever brings the
/// jobs. As for [`JobBackend`], every operation is atomic, and lists have at most [`crate::jobs::JOB_BATCH`] entries.
///
/// # Errors
/// Those of [`JobBackend`].
#[async_trait]
pub trait JobStore: Send + Sync {
    /// What is known about jobs; `None` for a job that is not stored, or whose result has expired.
    async fn get(
        &self,
        settings: &JobQueueSettings,
        jobs: &[JobId],
        detail: Detail,
    ) -> BackendResult<Vec<Option<JobView>>>;
    /// Adds a progress message to a leased job (J18).
    async fn add_progress(
        &self,
        settings: &JobQueueSettings,
        lease: Lease,
        message: ProgressMessage,
    ) -> BackendResult<ProgressAdded>;
    /// Records that a visitor got the response to a held order. [`crate::jobs::DELIVERED_SECONDS`] later its headers and body
    /// are removed (J18). Nothing happens if there is no response, or it was delivered before.
    async fn mark_delivered(&self, settings: &JobQueueSettings, job: JobId) -> BackendResult<()>;
    /// Cancels jobs that are not leased. They are deleted; held orders become dead letters (J13).
    async fn cancel(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<Canceled>>;
    /// Cancels jobs that are not leased, the oldest first, up to [`crate::jobs::DRAIN_BATCH`] (J13).
    async fn drain(&self, settings: &JobQueueSettings) -> BackendResult<Drained>;
    /// Up to `limit` dead letters before this position, the newest first, without contents (J14).
    async fn dead_letters(
        &self,
        settings: &JobQueueSettings,
        before: Option<DeadLetterPosition>,
        limit: usize,
    ) -> BackendResult<Vec<JobView>>;
    /// Deletes dead letters. The answer says which of the jobs were dead letters.
    async fn delete_dead(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>>;
    /// Records what became of a held order whose outcome is unknown (H9). `false` if the job is none.
    async fn resolve(&self, settings: &JobQueueSettings, job: JobId, resolution: Resolution) -> BackendResult<bool>;
    /// Removes everything about a job queue: results, counters, duplicates. It accepts no jobs then. `false` if it has jobs that are not
    /// finished, or dead letters; then nothing is removed.
    async fn remove(&self, settings: &JobQueueSettings) -> BackendResult<bool>;
    /// Lets a job queue accept jobs that was removed before. Otherwise [`super::REMOVED_SECONDS`] have to pass (J3).
    async fn create(&self, settings: &JobQueueSettings) -> BackendResult<()>;
    /// Removes up to [`super::JOB_REAP_BATCH`] of everything that has expired, as every operation does: results, dead letters, jobs that
    /// are too old. `true` if there is more.
    async fn reap(&self, settings: &JobQueueSettings) -> BackendResult<bool>;
    /// The statistics of a job queue.
    async fn stats(&self, settings: &JobQueueSettings) -> BackendResult<JobStats>;
}
