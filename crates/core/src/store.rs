//! The interface of a store: one set of rules, several keepers.

use async_trait::async_trait;

use crate::last_purge::LastPurge;
use crate::line::{LinePage, LocatedSession, PurgeReport, Removed, Stats, Visit, VisitAnswer};
use crate::settings::{Settings, Tenant};
use crate::ticket::Ticket;
use crate::time::Micros;
use crate::{QueueId, SessionId, TenantId};

/// Why a store gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The store holds no such queue: it is new, was removed, or the store lost it.
    #[error("the store holds no queue \"{0}\"")]
    UnknownQueue(QueueId),
    /// The store can't be reached, or did not answer in time.
    #[error("the store gave no answer: {0}")]
    Unavailable(String),
    /// The store answered with something that is no answer.
    #[error("the store's answer makes no sense: {0}")]
    Corrupt(String),
}

/// How settings are to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutMode {
    /// Whatever is there; creates the queue where it is new.
    Always,
    /// Only over this revision.
    IfRevision(u64),
    /// The queue was there before and the store lost it: written with the epoch and revision as given where the store holds no
    /// such queue, or over what another process restored if these settings are newer. The state begins in recovery. A queue
    /// that was removed stays removed.
    Restore,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// Written; the settings now have this revision.
    Stored(u64),
    /// Not written; the store holds this revision.
    Conflict(u64),
    /// Not restored: the queue was removed.
    Removed,
}

/// Keeps the lines of all queues, their settings and the tenants. Every operation is one atomic step by the rules of
/// [`crate::line`], at the store's own clock.
///
/// # Errors
/// Every operation fails with [`StoreError::Unavailable`] within the store's bounded timeout if it can't be done; those on
/// one queue fail with [`StoreError::UnknownQueue`] if the store holds none of that id.
#[async_trait]
pub trait Store: Send + Sync {
    /// A visit or a keepalive.
    async fn visit(&self, queue: &QueueId, visit: Visit) -> Result<VisitAnswer, StoreError>;
    /// The queue page was closed.
    async fn away(&self, queue: &QueueId, ticket: Ticket) -> Result<Removed, StoreError>;
    /// The bearer leaves for good.
    async fn leave(&self, queue: &QueueId, ticket: Ticket) -> Result<Removed, StoreError>;
    /// An operator ends a session.
    async fn end(&self, queue: &QueueId, session: SessionId) -> Result<Removed, StoreError>;
    /// Admits the next `count`, at most [`crate::line::RELEASE_BATCH`] in one go, whatever quota, rate or pause say.
    async fn release(&self, queue: &QueueId, count: u64) -> Result<u64, StoreError>;
    /// Admits this session, whatever quota, rate, pause or those before it say. Whether it waited.
    async fn admit(&self, queue: &QueueId, session: SessionId) -> Result<bool, StoreError>;
    /// Removes up to `limit`, at most [`crate::line::PURGE_BATCH`], lapsed sessions.
    async fn purge(&self, queue: &QueueId, limit: usize) -> Result<PurgeReport, StoreError>;
    /// The queue at a glance.
    async fn stats(&self, queue: &QueueId) -> Result<Stats, StoreError>;
    /// Where a session is.
    async fn find(&self, queue: &QueueId, session: SessionId) -> Result<Option<LocatedSession>, StoreError>;
    /// A page of the line, from an arrival on.
    async fn page(&self, queue: &QueueId, from: Micros, limit: usize) -> Result<LinePage, StoreError>;
    /// Begins a new epoch: the line is empty, older tickets are void. Returns the new epoch.
    async fn reset(&self, queue: &QueueId) -> Result<u64, StoreError>;

    /// Writes a queue's settings, in force on the next request.
    async fn put_settings(&self, settings: &Settings, mode: PutMode) -> Result<PutOutcome, StoreError>;
    /// A queue's settings; `None` if there is no such queue.
    async fn settings(&self, queue: &QueueId) -> Result<Option<Settings>, StoreError>;
    /// All queues with the revision of their settings, by id. One that was removed stays listed with revision 0, so that
    /// it can be told from one that the store lost.
    async fn queues(&self) -> Result<Vec<(QueueId, u64)>, StoreError>;
    /// Removes a queue with all that belongs to it.
    async fn remove_queue(&self, queue: &QueueId) -> Result<(), StoreError>;
    /// Writes a tenant.
    async fn put_tenant(&self, tenant: &Tenant) -> Result<(), StoreError>;
    /// Removes a tenant; its queues are not looked at.
    async fn remove_tenant(&self, tenant: &TenantId) -> Result<(), StoreError>;
    /// All tenants, by id.
    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError>;
    /// Notes what a round of the purge did, in place of what was noted before. The store's clock says when, whatever
    /// `at` of the record says.
    async fn set_last_purge(&self, record: &LastPurge) -> Result<(), StoreError>;
    /// What the last round of the purge did; `None` if there was none, or the store lost it.
    async fn last_purge(&self) -> Result<Option<LastPurge>, StoreError>;
    /// Whether the store answers.
    async fn ping(&self) -> Result<(), StoreError>;
}
