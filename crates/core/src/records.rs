//! The interface behind the backoffice: what operators made and did, kept beside the lines.
//!
//! Three shapes are enough for all of it. A *record* is a document that stays until it is removed, guarded by a revision.
//! A *stream* takes entries at its end and drops the oldest, so that it never grows past its bound. A *note* is a short
//! text that lapses by itself.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;

use crate::time::Micros;
use crate::{QueueId, StoreError, TenantId};

/// Most records of one kind.
pub const DOCUMENTS_MAX: usize = 1000;
/// Most entries that one reading of a stream returns.
pub const ENTRIES_MAX: usize = 1000;
/// Longest life of a note, in seconds: 90 days.
pub const EPHEMERAL_TTL_MAX: u64 = 90 * 86_400;

/// What records there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentKind {
    /// The people who may sign in, by name.
    Operators,
    /// The API tokens, by their public half.
    Tokens,
    /// The queues of a settings file as it was last written to the store, by their ids.
    FileQueues,
    /// The tenants of that file, by their ids.
    FileTenants,
}

impl DocumentKind {
    /// The name in keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operators => "operators",
            Self::Tokens => "tokens",
            Self::FileQueues => "file-queues",
            Self::FileTenants => "file-tenants",
        }
    }
}

/// A record as the store holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Grows by one with every change, from 1.
    pub revision: u64,
    /// The document.
    pub text: String,
}

/// A change of a record, made as one atomic step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentChange<'a> {
    /// The new text; `None` removes the record.
    pub text: Option<&'a str>,
    /// The revision that the record must have, 0 for none.
    pub over: u64,
    /// Text that another record of the kind must contain, or else nothing is changed.
    pub needs_other: Option<&'a str>,
}

/// What became of a record's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentOutcome {
    /// Written; the record now has this revision, 0 if it was removed.
    Stored(u64),
    /// Not written: no other record contains the text that one must contain.
    NoOther,
    /// Not written; the store holds this revision, 0 for none.
    Conflict(u64),
    /// Not written: there are [`DOCUMENTS_MAX`] of this kind.
    Full,
}

/// A stream of entries, the oldest of which are dropped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogName {
    /// What superusers did, and what was changed beside the API.
    Audit,
    /// What operators did with what is a tenant's. Whoever fills it with changes displaces events of that tenant only.
    TenantAudit(TenantId),
    /// Who signed in or tried to, and what they did with their own account.
    AccountAudit,
    /// A queue's numbers of every minute, for a day.
    Minutes(QueueId),
    /// A queue's numbers of every fifth minute, for 30 days.
    FiveMinutes(QueueId),
}

impl LogName {
    /// Most entries that are kept. A little more may be there for a while.
    #[must_use]
    pub const fn keeps(&self) -> usize {
        match self {
            Self::Audit => 100_000,
            Self::TenantAudit(_) => 50_000,
            Self::AccountAudit => 20_000,
            Self::Minutes(_) => 24 * 60,
            Self::FiveMinutes(_) => 30 * 24 * 12,
        }
    }

    /// Seconds after its last entry when the whole stream is dropped; `None` if it stays.
    #[must_use]
    pub const fn lasts(&self) -> Option<u64> {
        match self {
            Self::Audit | Self::TenantAudit(_) | Self::AccountAudit => None,
            Self::Minutes(_) => Some(86_400),
            Self::FiveMinutes(_) => Some(30 * 86_400),
        }
    }
}

/// Names an entry of a stream; grows along the stream. As text: `<milliseconds since 1970>-<number within them>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    /// When the entry was made, in milliseconds since 1970 by the store's clock.
    pub at_ms: u64,
    /// Its number among those of that millisecond.
    pub number: u64,
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.at_ms, self.number)
    }
}

/// A text that names no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("takes the id of an entry, such as \"1700000000000-0\"")]
pub struct EntryIdError;

impl FromStr for EntryId {
    type Err = EntryIdError;

    fn from_str(text: &str) -> Result<Self, EntryIdError> {
        let (at_ms, number) = text.split_once('-').ok_or(EntryIdError)?;
        let whole = |text: &str| text.parse().map_err(|_| EntryIdError);
        Ok(Self { at_ms: whole(at_ms)?, number: whole(number)? })
    }
}

/// An entry of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// Its text.
    pub text: String,
}

/// What notes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EphemeralKind {
    /// An operator who signed in, by the hash of what their browser was given.
    SignIn,
    /// A sign-in under way at an identity provider, by the hash of what the browser was given.
    SignInAttempt,
    /// A preview of a theme, by the hash of what its files are asked for with.
    Preview,
    /// An address from which a name has signed in before.
    KnownAddress,
    /// How often a sign-in failed.
    Failures,
    /// Until when no sign-in is tried.
    Slowed,
    /// An action that waits for its confirmation.
    Confirmation,
    /// A minute whose numbers somebody writes.
    Minute,
    /// A queue that somebody creates at this moment.
    Creation,
    /// What a request with an idempotency key was answered.
    Idempotency,
    /// How many changes of an operator were audited of late.
    Changes,
    /// How many sign-ins under a name failed of late.
    FailedSignIns,
    /// The TOTP secret of an operator who has not confirmed it yet.
    TotpSetup,
}

impl EphemeralKind {
    /// The name in keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign-in",
            Self::SignInAttempt => "sign-in-attempt",
            Self::Preview => "preview",
            Self::KnownAddress => "known-address",
            Self::Failures => "failures",
            Self::Slowed => "slowed",
            Self::Confirmation => "confirmation",
            Self::Minute => "minute",
            Self::Creation => "creation",
            Self::Idempotency => "idempotency",
            Self::Changes => "changes",
            Self::FailedSignIns => "failed-sign-ins",
            Self::TotpSetup => "totp-setup",
        }
    }
}

/// Names a note. The id is made of letters, digits and `-` by whoever keeps it, never taken from a request as it came.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EphemeralKey {
    /// What it is about.
    pub kind: EphemeralKind,
    /// Which one.
    pub id: String,
}

impl EphemeralKey {
    /// The note of this id.
    #[must_use]
    pub fn new(kind: EphemeralKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }
}

/// Keeps records, streams and notes. Every operation is one atomic step at the store's own clock. How long a text may be
/// is the caller's to say; a note lasts at most [`EPHEMERAL_TTL_MAX`] seconds.
///
/// # Errors
/// Every operation fails with [`StoreError::Unavailable`] within the store's bounded timeout if it can't be done.
#[async_trait]
pub trait RecordStore: Send + Sync {
    /// The store's clock.
    async fn now(&self) -> Result<Micros, StoreError>;

    /// A record.
    async fn record(&self, kind: DocumentKind, id: &str) -> Result<Option<Document>, StoreError>;
    /// All records of a kind, by id.
    async fn records(&self, kind: DocumentKind) -> Result<Vec<(String, Document)>, StoreError>;
    /// Writes a record over the revision `over`; with 0 only where there is none.
    async fn put_document(
        &self,
        kind: DocumentKind,
        id: &str,
        text: &str,
        over: u64,
    ) -> Result<DocumentOutcome, StoreError> {
        self.change_document(kind, id, DocumentChange { text: Some(text), over, needs_other: None }).await
    }
    /// Changes or removes a record.
    async fn change_document(
        &self,
        kind: DocumentKind,
        id: &str,
        change: DocumentChange<'_>,
    ) -> Result<DocumentOutcome, StoreError>;
    /// Removes a record. Whether there was one.
    async fn remove_document(&self, kind: DocumentKind, id: &str) -> Result<bool, StoreError>;

    /// Adds an entry to the end of a stream.
    async fn append(&self, stream: &LogName, text: &str) -> Result<EntryId, StoreError>;
    /// Drops the entries of a stream that were made before an instant. Some of them may stay for a while.
    async fn trim(&self, stream: &LogName, before: Micros) -> Result<(), StoreError>;
    /// Up to `limit` (at most [`ENTRIES_MAX`]) entries, the newest first, from the one before `before` on.
    async fn entries(&self, stream: &LogName, before: Option<EntryId>, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// Writes a note that lapses after `seconds`.
    async fn set_ephemeral(&self, note: &EphemeralKey, text: &str, seconds: u64) -> Result<(), StoreError>;
    /// Writes a note unless there is one. Whether it was written.
    async fn claim(&self, note: &EphemeralKey, text: &str, seconds: u64) -> Result<bool, StoreError>;
    /// Adds one to the number that a note holds, `seconds` after which at the first it lapses. Returns the number.
    async fn count(&self, note: &EphemeralKey, seconds: u64) -> Result<u64, StoreError>;
    /// Takes one back from the number that a note holds, if there is one.
    async fn uncount(&self, note: &EphemeralKey) -> Result<(), StoreError>;
    /// What a note says.
    async fn note(&self, note: &EphemeralKey) -> Result<Option<String>, StoreError>;
    /// Removes a note and returns what it said: only one of many who ask at once gets it.
    async fn take_ephemeral(&self, note: &EphemeralKey) -> Result<Option<String>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_entry_is_read_as_it_is_written() {
        let id = EntryId { at_ms: 1_700_000_000_000, number: 3 };
        assert_eq!(id.to_string(), "1700000000000-3");
        assert_eq!(id.to_string().parse(), Ok(id));
        for bad in ["", "1", "-", "1-", "a-1", "1-2-3", "1--2", "99999999999999999999-0"] {
            assert_eq!(bad.parse::<EntryId>(), Err(EntryIdError), "{bad}");
        }
    }
}
