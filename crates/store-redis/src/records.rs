//! Documents, logs and ephemeral keys in Redis: each operation is one command or function call on
//! one key.

mod keys;

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use fred::types::{Key, Value};
use vestibule_core::{MICROS_PER_SECOND, Micros, StoreError};
use vestibule_records::{
    DOCUMENTS_MAX, Document, DocumentChange, DocumentKind, DocumentOutcome, ENTRIES_MAX, EPHEMERAL_TTL_MAX, Entry,
    EntryId, EphemeralKey, LogName, RecordStore,
};

use crate::codes::{CONFLICT, FULL, NO_OTHER, STORED};
use crate::command::{Retry, nothing, text};
use crate::library::{Function, functions};
use crate::store::RedisStore;

fn corrupt(key: &str, reason: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("{key}: {reason}"))
}

impl RedisStore {
    async fn on<const N: usize>(
        &self,
        key: String,
        function: &Function,
        arguments: [Value; N],
        retry: Retry,
    ) -> Result<Value, StoreError> {
        let arguments = std::iter::once(self.now()).chain(arguments);
        self.call(function, [Key::from(key)], arguments, retry).await
    }

    async fn number<const N: usize>(
        &self,
        key: &EphemeralKey,
        function: &Function,
        arguments: [Value; N],
    ) -> Result<u64, StoreError> {
        let reply = self.on(keys::ephemeral(key), function, arguments, Retry::Never).await?;
        reply.as_u64().ok_or_else(|| corrupt("an ephemeral key", "a number was expected"))
    }

    async fn read(&self, key: &EphemeralKey, function: &Function, retry: Retry) -> Result<Option<String>, StoreError> {
        let value = self.on(keys::ephemeral(key), function, [], retry).await?;
        value.convert().map_err(|error| corrupt("an ephemeral key", error))
    }
}

fn ttl(seconds: u64) -> Value {
    text(seconds.min(EPHEMERAL_TTL_MAX))
}

fn log_ttl(log: &LogName) -> Value {
    log.ttl().map_or_else(nothing, text)
}

/// Parses a stored document: revision, a space, the text.
fn parse_document(key: &str, stored: &Bytes) -> Result<Document, StoreError> {
    let stored = std::str::from_utf8(stored).map_err(|error| corrupt(key, error))?;
    let parts = stored.split_once(' ').and_then(|(revision, text)| Some((revision.parse().ok()?, text)));
    let (revision, text) = parts.ok_or_else(|| corrupt(key, "a document has no revision"))?;
    Ok(Document { revision, text: text.to_owned() })
}

#[async_trait]
impl RecordStore for RedisStore {
    async fn now(&self) -> Result<Micros, StoreError> {
        if let Some(clock) = &self.clock {
            return Ok(clock.now());
        }
        let time = self.command("TIME", vec![]).await?;
        let (seconds, micros): (u64, u64) = time.convert().map_err(|error| corrupt("the time", error))?;
        Ok(Micros(seconds * MICROS_PER_SECOND + micros))
    }

    async fn get_document(&self, kind: DocumentKind, id: &str) -> Result<Option<Document>, StoreError> {
        let key = keys::documents(kind);
        let found = self.command("HGET", vec![text(&key), text(id)]).await?;
        let stored: Option<Bytes> = found.convert().map_err(|error| corrupt(&key, error))?;
        stored.map(|stored| parse_document(&key, &stored)).transpose()
    }

    async fn documents_revision(&self, kind: DocumentKind) -> Result<u64, StoreError> {
        let key = keys::documents(kind);
        let found = self.command("HGET", vec![text(&key), text(keys::OF_KIND)]).await?;
        let revision: Option<u64> = found.convert().map_err(|error| corrupt(&key, error))?;
        Ok(revision.unwrap_or_default())
    }

    async fn list_documents(&self, kind: DocumentKind) -> Result<Vec<(String, Document)>, StoreError> {
        let key = keys::documents(kind);
        let found = self.command("HGETALL", vec![text(&key)]).await?;
        let all: BTreeMap<String, Bytes> = found.convert().map_err(|error| corrupt(&key, error))?;
        let documents = all.into_iter().filter(|(id, _)| id != keys::OF_KIND);
        documents.map(|(id, stored)| Ok((id, parse_document(&key, &stored)?))).collect()
    }

    async fn change_document(
        &self,
        kind: DocumentKind,
        id: &str,
        change: DocumentChange<'_>,
    ) -> Result<DocumentOutcome, StoreError> {
        let key = keys::documents(kind);
        let document = change.text.map_or_else(nothing, |document| text(format_args!("1{document}")));
        let needed = change.needs_other.map_or_else(nothing, text);
        let arguments = [text(id), text(change.over), document, text(DOCUMENTS_MAX), needed];
        let reply = self.on(key.clone(), &functions().put_document, arguments, Retry::Never).await?;
        match reply.convert::<(i64, u64)>().map_err(|error| corrupt(&key, error))? {
            (STORED, revision) => Ok(DocumentOutcome::Stored(revision)),
            (CONFLICT, revision) => Ok(DocumentOutcome::Conflict(revision)),
            (FULL, _) => Ok(DocumentOutcome::Full),
            (NO_OTHER, _) => Ok(DocumentOutcome::NoOther),
            (other, _) => Err(corrupt(&key, format_args!("unknown outcome of a write: {other}"))),
        }
    }

    async fn remove_document(&self, kind: DocumentKind, id: &str) -> Result<bool, StoreError> {
        let key = keys::documents(kind);
        let arguments = [text(id), nothing(), nothing(), text(DOCUMENTS_MAX), nothing()];
        let reply = self.on(key.clone(), &functions().put_document, arguments, Retry::Never).await?;
        let (outcome, _) = reply.convert::<(i64, u64)>().map_err(|error| corrupt(&key, error))?;
        Ok(outcome == STORED)
    }

    async fn append(&self, log: &LogName, entry: &str) -> Result<EntryId, StoreError> {
        let key = keys::log(log);
        let arguments = [text(entry), text(log.max_entries()), log_ttl(log)];
        let id = self.on(key.clone(), &functions().append, arguments, Retry::Never).await?;
        let id: String = id.convert().map_err(|error| corrupt(&key, error))?;
        id.parse().map_err(|error| corrupt(&key, error))
    }

    async fn trim(&self, log: &LogName, before: Micros) -> Result<(), StoreError> {
        self.on(keys::log(log), &functions().trim, [text(before.0 / 1000)], Retry::Safe).await.map(drop)
    }

    async fn entries(&self, log: &LogName, before: Option<EntryId>, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let key = keys::log(log);
        let arguments = [before.map_or_else(nothing, text), text(limit.min(ENTRIES_MAX)), log_ttl(log)];
        let found = self.on(key.clone(), &functions().entries, arguments, Retry::Safe).await?;
        let found: Vec<String> = found.convert().map_err(|error| corrupt(&key, error))?;
        let entry = |pair: &[String]| {
            let [id, text] = pair else { return Err(corrupt(&key, "an id and a text were expected")) };
            Ok(Entry { id: id.parse().map_err(|error| corrupt(&key, error))?, text: text.clone() })
        };
        found.chunks(2).map(entry).collect()
    }

    async fn set_ephemeral(&self, key: &EphemeralKey, value: &str, seconds: u64) -> Result<(), StoreError> {
        let arguments = [ttl(seconds), text(value)];
        self.on(keys::ephemeral(key), &functions().set_ephemeral, arguments, Retry::Safe).await.map(drop)
    }

    async fn set_ephemeral_if_absent(&self, key: &EphemeralKey, value: &str, seconds: u64) -> Result<bool, StoreError> {
        Ok(self.number(key, &functions().set_ephemeral_if_absent, [ttl(seconds), text(value)]).await? == 1)
    }

    async fn set_ephemeral_if_present(
        &self,
        key: &EphemeralKey,
        value: &str,
        seconds: u64,
    ) -> Result<bool, StoreError> {
        Ok(self.number(key, &functions().set_ephemeral_if_present, [ttl(seconds), text(value)]).await? == 1)
    }

    async fn increment(&self, key: &EphemeralKey, seconds: u64) -> Result<u64, StoreError> {
        self.number(key, &functions().increment, [ttl(seconds)]).await
    }

    async fn decrement(&self, key: &EphemeralKey) -> Result<(), StoreError> {
        self.number(key, &functions().decrement, []).await.map(drop)
    }

    async fn get_ephemeral(&self, key: &EphemeralKey) -> Result<Option<String>, StoreError> {
        self.read(key, &functions().get_ephemeral, Retry::Safe).await
    }

    async fn take_ephemeral(&self, key: &EphemeralKey) -> Result<Option<String>, StoreError> {
        self.read(key, &functions().take_ephemeral, Retry::Never).await
    }
}
