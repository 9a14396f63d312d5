//! The interface of a record store: documents, logs and ephemeral keys.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use vestibule_core::settings::Settings;
use vestibule_core::{Micros, QueueId, StoreError, TenantId};

/// Maximum number of documents per kind.
pub const DOCUMENTS_MAX: usize = 1000;
/// Maximum number of entries returned by one read of a log.
pub const ENTRIES_MAX: usize = 1000;
/// Maximum TTL of an ephemeral key, in seconds: 20 years.
pub const EPHEMERAL_TTL_MAX: u64 = 20 * 365 * 86_400;

vestibule_core::names! {
    /// The kinds of documents.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DocumentKind {
        /// Operators, by name.
        Operators = "operators",
        /// API tokens, by their public part.
        Tokens = "tokens",
        /// The queues of a settings file as last written to the store, by id.
        FileQueues = "file-queues",
        /// The tenants of that file, by id.
        FileTenants = "file-tenants",
        /// The job queues of that file, by id.
        FileJobQueues = "file-job-queues",
        /// The settings of job queues, by id.
        JobQueues = "job-queues",
        /// Tenants that were removed, by id.
        FormerTenants = "former-tenants",
    }
    /// The name used in keys.
    fn as_str
}

/// A stored document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Revision, from 1; each change increments it.
    pub revision: u64,
    /// The text of the document.
    pub text: String,
}

/// A change of a document, applied atomically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentChange<'a> {
    /// The new text; `None` removes the document.
    pub text: Option<&'a str>,
    /// The revision that the document must have; 0 if it must not exist.
    pub over: u64,
    /// Text that another document of the kind must contain; otherwise nothing is changed.
    pub needs_other: Option<&'a str>,
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentOutcome {
    /// Written; the document now has this revision, 0 if it was removed.
    Stored(u64),
    /// Not written: no other document contains the required text.
    NoOther,
    /// Not written: the store holds this revision, 0 for none.
    Conflict(u64),
    /// Not written: there are already [`DOCUMENTS_MAX`] documents of this kind.
    Full,
}

/// A queue whose logs are kept. A later queue of another tenant with the same ID has logs of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoggedQueue {
    /// Its tenant.
    pub tenant: TenantId,
    /// Its ID.
    pub queue: QueueId,
}

impl LoggedQueue {
    /// The queue with these settings.
    pub fn of(settings: &Settings) -> Self {
        Self { tenant: settings.tenant.clone(), queue: settings.id.clone() }
    }
}

impl fmt::Display for LoggedQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.tenant, self.queue)
    }
}

/// The name of a log. Logs drop their oldest entries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogName {
    /// Audit events of superusers, and changes made outside the API.
    Audit,
    /// Audit events of one tenant. A tenant with many events displaces only its own.
    TenantAudit(TenantId),
    /// Sign-ins, failed sign-ins and changes of an operator's own account.
    AccountAudit,
    /// Statistics of a queue, one entry per minute, for a day.
    Minutes(LoggedQueue),
    /// Statistics of a queue, one entry per five minutes, for 30 days.
    FiveMinutes(LoggedQueue),
    /// The minutes in which the statistics of all queues were recorded, for a day.
    RecordedMinutes,
    /// The same for steps of five minutes, for 30 days.
    RecordedFiveMinutes,
    /// Counters of a queue at the turning points of its events.
    EventSnapshots(LoggedQueue),
}

impl LogName {
    /// Maximum number of entries kept. Slightly more may exist for a while.
    pub const fn max_entries(&self) -> usize {
        match self {
            Self::Audit => 100_000,
            Self::TenantAudit(_) => 50_000,
            Self::AccountAudit => 20_000,
            Self::Minutes(_) | Self::RecordedMinutes => 24 * 60,
            Self::FiveMinutes(_) | Self::RecordedFiveMinutes => 30 * 24 * 12,
            Self::EventSnapshots(_) => 200,
        }
    }

    /// Seconds after its last entry until the whole log is dropped; `None` if it is kept.
    pub const fn ttl(&self) -> Option<u64> {
        match self {
            Self::Audit | Self::TenantAudit(_) | Self::AccountAudit => None,
            Self::Minutes(_) | Self::RecordedMinutes => Some(86_400),
            Self::FiveMinutes(_) | Self::RecordedFiveMinutes => Some(30 * 86_400),
            Self::EventSnapshots(_) => Some(366 * 86_400),
        }
    }
}

/// The id of a log entry; increases along the log. As text: `<milliseconds since 1970>-<number
/// within them>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    /// Time of the entry, in milliseconds since 1970 by the store's clock.
    pub at_ms: u64,
    /// Sequence number within that millisecond.
    pub number: u64,
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.at_ms, self.number)
    }
}

/// The error for a text that is not an entry id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be the id of an entry, such as \"1700000000000-0\"")]
pub struct EntryIdError;

impl FromStr for EntryId {
    type Err = EntryIdError;

    fn from_str(text: &str) -> Result<Self, EntryIdError> {
        let (at_ms, number) = text.split_once('-').ok_or(EntryIdError)?;
        let whole = |text: &str| text.parse().map_err(|_| EntryIdError);
        Ok(Self { at_ms: whole(at_ms)?, number: whole(number)? })
    }
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The id.
    pub id: EntryId,
    /// The text.
    pub text: String,
}

vestibule_core::names! {
    /// The kinds of ephemeral keys.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum EphemeralKind {
        /// An operator's session, by the hash of the browser's secret.
        SignIn = "sign-in",
        /// A sign-in in progress at an identity provider, by the hash of the browser's secret.
        SignInAttempt = "sign-in-attempt",
        /// A preview of a theme, by the hash of the secret in its file URLs.
        Preview = "preview",
        /// A network address from which an operator has signed in before.
        KnownAddress = "known-address",
        /// Number of failed sign-ins.
        Failures = "failures",
        /// Time until which sign-ins are rejected.
        Slowed = "slowed",
        /// An action that awaits confirmation.
        Confirmation = "confirmation",
        /// A minute of history claimed by the process that writes it.
        Minute = "minute",
        /// A queue that is being created.
        Creation = "creation",
        /// The stored response to a request with an idempotency key.
        Idempotency = "idempotency",
        /// Number of recent audited changes of an operator.
        Changes = "changes",
        /// Number of recent events of an action of an account, such as failed sign-ins under a name.
        AccountEvents = "account-events",
        /// The TOTP secret of an operator who has not confirmed it yet.
        TotpSetup = "totp-setup",
        /// The last occurrence of a schedule of a job queue, in seconds since 1970.
        Schedule = "schedule",
        /// A comparison of the statistics of queues, claimed by the process that makes it.
        Comparison = "comparison",
        /// What the last comparison saw of a queue.
        WatchedQueue = "watched-queue",
        /// The state of the client addresses of a queue that are not reliable, as it was logged last.
        ClientAddress = "client-address",
        /// Marks a job queue that was removed, not lost.
        RemovedJobQueue = "removed-job-queue",
    }
    /// The name used in keys.
    fn as_str
}

/// The key of an ephemeral value. The id consists of letters, digits and `-` and is never taken
/// from a request unchecked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EphemeralKey {
    /// The kind.
    pub kind: EphemeralKind,
    /// The id within the kind.
    pub id: String,
}

impl EphemeralKey {
    /// The key with this kind and id.
    pub fn new(kind: EphemeralKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }
}

/// Stores documents, logs and ephemeral keys. Every operation is atomic and uses the store's own
/// clock. Callers limit the length of texts; the TTL of an ephemeral key is at most
/// [`EPHEMERAL_TTL_MAX`] seconds.
///
/// # Errors
/// Every operation fails with [`StoreError::Unavailable`] within the store's timeout if it can't be
/// completed.
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// The current time of the store's clock.
    async fn now(&self) -> Result<Micros, StoreError>;

    /// Reads a document.
    async fn get_document(&self, kind: DocumentKind, id: &str) -> Result<Option<Document>, StoreError>;
    /// A number that each write of a document of this kind changes, and that a loss changes; 0 if none was written.
    async fn documents_revision(&self, kind: DocumentKind) -> Result<u64, StoreError>;
    /// Reads all documents of a kind, ordered by id.
    async fn list_documents(&self, kind: DocumentKind) -> Result<Vec<(String, Document)>, StoreError>;
    /// Writes a document over the revision `over`; with 0, only if none exists.
    async fn put_document(
        &self,
        kind: DocumentKind,
        id: &str,
        text: &str,
        over: u64,
    ) -> Result<DocumentOutcome, StoreError> {
        self.change_document(kind, id, DocumentChange { text: Some(text), over, needs_other: None }).await
    }
    /// Changes or removes a document.
    async fn change_document(
        &self,
        kind: DocumentKind,
        id: &str,
        change: DocumentChange<'_>,
    ) -> Result<DocumentOutcome, StoreError>;
    /// Removes a document. Returns whether it existed.
    async fn remove_document(&self, kind: DocumentKind, id: &str) -> Result<bool, StoreError>;

    /// Appends an entry to a log.
    async fn append(&self, log: &LogName, text: &str) -> Result<EntryId, StoreError>;
    /// Drops the entries made before an instant.
    async fn trim(&self, log: &LogName, before: Micros) -> Result<(), StoreError>;
    /// Up to `limit` (at most [`ENTRIES_MAX`]) entries older than `before`, newest first.
    async fn entries(&self, log: &LogName, before: Option<EntryId>, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// Sets an ephemeral key with a TTL of `seconds`. Replaces a value that is there.
    async fn set_ephemeral(&self, key: &EphemeralKey, text: &str, seconds: u64) -> Result<(), StoreError>;
    /// Sets an ephemeral key if it is absent. Returns whether it was set.
    async fn set_ephemeral_if_absent(&self, key: &EphemeralKey, text: &str, seconds: u64) -> Result<bool, StoreError>;
    /// Replaces an ephemeral key if it is present. Returns whether it was.
    async fn set_ephemeral_if_present(&self, key: &EphemeralKey, text: &str, seconds: u64) -> Result<bool, StoreError>;
    /// Increments a counter and returns it. The TTL of `seconds` starts with the first increment.
    async fn increment(&self, key: &EphemeralKey, seconds: u64) -> Result<u64, StoreError>;
    /// Decrements a counter, if it exists.
    async fn decrement(&self, key: &EphemeralKey) -> Result<(), StoreError>;
    /// Reads an ephemeral key.
    async fn get_ephemeral(&self, key: &EphemeralKey) -> Result<Option<String>, StoreError>;
    /// Removes an ephemeral key and returns its value: only one of several concurrent callers
    /// receives it.
    async fn take_ephemeral(&self, key: &EphemeralKey) -> Result<Option<String>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_id_round_trips() {
        let id = EntryId { at_ms: 1_700_000_000_000, number: 3 };
        assert_eq!(id.to_string(), "1700000000000-3");
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "1", "-", "1-", "a-1", "1-2-3", "1--2", "99999999999999999999-0"] {
            assert_eq!(bad.parse::<EntryId>(), Err(EntryIdError), "{bad}");
        }
    }
}
