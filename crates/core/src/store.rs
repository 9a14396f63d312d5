//! The store interface, in one trait for each kind of user: [`VisitStore`] for the gate,
//! [`SettingsStore`] for code that reads or changes queues, [`OperationsStore`] for operators,
//! monitoring and scheduled cleanup. [`Store`] is all three.

use async_trait::async_trait;

use crate::jobs::JobBackendError;
use crate::last_purge::LastPurge;
use crate::line::Ticket;
use crate::line::{
    AttackModeChange, LineView, LocatedSession, PageStart, ProtectionReport, PurgeReport, Removed, SessionList,
    SessionPage, Stats, Visit, VisitAnswer,
};
use crate::settings::{QueueChange, Settings, Tenant};
use crate::{QueueId, SessionId, TenantId};

/// Errors of a store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The store holds no such queue: it was never created, was removed, or the store lost it.
    #[error("unknown queue \"{0}\"")]
    UnknownQueue(QueueId),
    /// The store can't be reached or did not answer in time.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// The store certainly did not execute the operation, because of its own state: it is out of memory or read-only, for
    /// example.
    #[error("the store refused the operation: {0}")]
    Refused(String),
    /// The store returned an invalid answer.
    #[error("invalid response from the store: {0}")]
    Corrupt(String),
}

impl From<StoreError> for JobBackendError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(reason) => Self::Unavailable(reason),
            StoreError::Refused(reason) => Self::NotSent(reason),
            error @ (StoreError::UnknownQueue(_) | StoreError::Corrupt(_)) => Self::Corrupt(error.to_string()),
        }
    }
}

/// Conditions for writing settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutMode {
    /// Unconditional; creates the queue if it does not exist.
    Always,
    /// Only over this revision.
    IfRevision(u64),
    /// The queue existed and the store lost it. The settings are written with their epoch and
    /// revision if the store holds no such queue, or if they are newer than what another process
    /// restored. The state starts in recovery. A removed queue stays removed.
    Restore,
    /// Over settings that cannot be read. The state starts in recovery, and tickets bring its epoch back, as after
    /// [`PutMode::Restore`], but settings that a process holds do not replace these.
    Unreadable,
}

impl PutMode {
    /// Over what a plan compared with: a revision, settings that cannot be read, or nothing if the queue is new.
    pub const fn of(change: &QueueChange) -> Self {
        match change.replaces {
            _ if change.replaces_unreadable => Self::Unreadable,
            Some(revision) => Self::IfRevision(revision),
            None => Self::Always,
        }
    }
}

/// The outcome of a write of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// Written; the settings now have this revision.
    Stored(u64),
    /// Not written: the store holds this revision.
    Conflict(u64),
    /// Not restored: the queue was removed.
    Removed,
}

/// The operations that visitors cause.
///
/// As in all traits of this module, every operation is atomic, follows the rules of
/// [`crate::line`] and uses the store's own clock.
///
/// # Errors
/// Every operation fails with [`StoreError::Unavailable`] or [`StoreError::Refused`] within the store's timeout if it can't be
/// completed. Operations on one queue fail with [`StoreError::UnknownQueue`] if the store holds no
/// queue of that id.
#[async_trait]
pub trait VisitStore: Send + Sync {
    /// A visit or a keepalive.
    async fn visit(&self, queue: &QueueId, visit: Visit) -> Result<VisitAnswer, StoreError>;
    /// Marks the visitor as away: the queue page was closed.
    async fn away(&self, queue: &QueueId, ticket: Ticket) -> Result<Removed, StoreError>;
    /// Ends the visitor's own session.
    async fn leave(&self, queue: &QueueId, ticket: Ticket) -> Result<Removed, StoreError>;
}

/// Stores the settings of queues and tenants.
///
/// # Errors
/// As in [`VisitStore`].
#[async_trait]
pub trait SettingsStore: Send + Sync {
    /// Writes the settings of a queue; they apply from the next request on.
    async fn put_settings(&self, settings: &Settings, mode: PutMode) -> Result<PutOutcome, StoreError>;
    /// The settings of a queue; `None` if it does not exist.
    async fn settings(&self, queue: &QueueId) -> Result<Option<Settings>, StoreError>;
    /// All queues with the revision of their settings, ordered by id. A removed queue stays listed
    /// with revision 0, which distinguishes it from one that the store lost.
    async fn queues(&self) -> Result<Vec<(QueueId, u64)>, StoreError>;
    /// Removes a queue and all its data.
    async fn remove_queue(&self, queue: &QueueId) -> Result<(), StoreError>;
    /// Drops a removed queue from the list if it was removed so long ago that no process can still have its settings.
    async fn forget_removed_queue(&self, _queue: &QueueId) -> Result<(), StoreError> {
        Ok(())
    }
    /// Writes a tenant, whatever the store holds.
    async fn put_tenant(&self, tenant: &Tenant) -> Result<(), StoreError>;
    /// Writes a tenant over `before`, or creates it if that is `None`. Returns whether the store holds it now: not if someone
    /// else has changed, removed or created it.
    async fn replace_tenant(&self, before: Option<&Tenant>, tenant: &Tenant) -> Result<bool, StoreError>;
    /// Removes a tenant; its queues are not checked.
    async fn remove_tenant(&self, tenant: &TenantId) -> Result<(), StoreError>;
    /// All tenants, ordered by id.
    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError>;
}

/// Operations on a line by operators, monitoring and scheduled cleanup.
///
/// # Errors
/// As in [`VisitStore`].
#[async_trait]
pub trait OperationsStore: Send + Sync {
    /// Ends a session on behalf of an operator.
    async fn end(&self, queue: &QueueId, session: SessionId) -> Result<Removed, StoreError>;
    /// Admits the next `count` sessions, at most [`crate::line::RELEASE_BATCH`] per call,
    /// regardless of quota, rate and pause.
    async fn release(&self, queue: &QueueId, count: u64) -> Result<u64, StoreError>;
    /// Admits this session regardless of quota, rate, pause and position. Returns whether it was
    /// waiting.
    async fn admit(&self, queue: &QueueId, session: SessionId) -> Result<bool, StoreError>;
    /// Removes up to `limit` expired sessions, at most [`crate::line::PURGE_BATCH`].
    async fn purge(&self, queue: &QueueId, limit: usize) -> Result<PurgeReport, StoreError>;
    /// Switches attack mode on for this number of seconds, at most [`crate::line::ATTACK_MODE_MAX`]; 0 ends it.
    async fn set_attack_mode(&self, queue: &QueueId, seconds: u64) -> Result<AttackModeChange, StoreError>;
    /// The statistics of a queue.
    async fn stats(&self, queue: &QueueId) -> Result<Stats, StoreError>;
    /// What is known about joins and pre-tickets. Does not change the state.
    async fn protection(&self, queue: &QueueId) -> Result<ProtectionReport, StoreError>;
    /// The line as everyone may see it. Does not change the state.
    async fn line(&self, queue: &QueueId) -> Result<LineView, StoreError>;
    /// Looks up a session.
    async fn find(&self, queue: &QueueId, session: SessionId) -> Result<Option<LocatedSession>, StoreError>;
    /// A page of a list of sessions, at most [`crate::line::PAGE_MAX`] of them.
    async fn page(
        &self,
        queue: &QueueId,
        list: SessionList,
        start: PageStart,
        limit: usize,
    ) -> Result<SessionPage, StoreError>;
    /// Starts a new epoch: the line is emptied and older tickets become void. Returns the new
    /// epoch.
    async fn reset(&self, queue: &QueueId) -> Result<u64, StoreError>;
    /// Records the result of a purge run and replaces the previous one. The store's clock sets
    /// `at`, whatever the record says.
    async fn set_last_purge(&self, record: &LastPurge) -> Result<(), StoreError>;
    /// The result of the last purge run; `None` if there was none or the store lost it.
    async fn last_purge(&self) -> Result<Option<LastPurge>, StoreError>;
    /// Checks that the store answers, and that it executes writes.
    async fn ping(&self) -> Result<(), StoreError>;
}

/// A whole store: visits, settings and operations. Programs open one and hand its parts to those
/// that use them.
pub trait Store: VisitStore + SettingsStore + OperationsStore {}

impl<S: VisitStore + SettingsStore + OperationsStore> Store for S {}
