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
use crate::connection::Repeat;
use crate::library::{Function, functions};
use crate::store::{RedisStore, nothing, text};

fn corrupt(key: &str, reason: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("{key}: {reason}"))
}

impl RedisStore {
    async fn on<const N: usize>(
        &self,
        key: String,
        function: &Function,
        arguments: [Value; N],
        repeat: Repeat,
    ) -> Result<Value, StoreError> {
        let arguments = std::iter::once(self.now()).chain(arguments);
        self.connection.run(function, [Key::from(key)], arguments, repeat).await
    }

    async fn number<const N: usize>(
        &self,
        note: &EphemeralKey,
        function: &Function,
        arguments: [Value; N],
    ) -> Result<u64, StoreError> {
        let reply = self.on(keys::note(note), function, arguments, Repeat::Never).await?;
        reply.as_u64().ok_or_else(|| corrupt("a note", "a number was expected"))
    }

    async fn said(
        &self,
        note: &EphemeralKey,
        function: &Function,
        repeat: Repeat,
    ) -> Result<Option<String>, StoreError> {
        let said = self.on(keys::note(note), function, [], repeat).await?;
        said.convert().map_err(|error| corrupt("a note", error))
    }
}

fn lasting(seconds: u64) -> Value {
    text(seconds.min(EPHEMERAL_TTL_MAX))
}

fn lasts(stream: &LogName) -> Value {
    stream.lasts().map_or_else(nothing, text)
}

/// Parses a stored document: revision, a space, the text.
fn record(key: &str, kept: &Bytes) -> Result<Document, StoreError> {
    let kept = std::str::from_utf8(kept).map_err(|error| corrupt(key, error))?;
    let parts = kept.split_once(' ').and_then(|(revision, text)| Some((revision.parse().ok()?, text)));
    let (revision, text) = parts.ok_or_else(|| corrupt(key, "a record has no revision"))?;
    Ok(Document { revision, text: text.to_owned() })
}

#[async_trait]
impl RecordStore for RedisStore {
    async fn now(&self) -> Result<Micros, StoreError> {
        if let Some(clock) = &self.clock {
            return Ok(clock.now());
        }
        let time = self.connection.ask("TIME", vec![], Repeat::Harmless).await?;
        let (seconds, micros): (u64, u64) = time.convert().map_err(|error| corrupt("the time", error))?;
        Ok(Micros(seconds * MICROS_PER_SECOND + micros))
    }

    async fn record(&self, kind: DocumentKind, id: &str) -> Result<Option<Document>, StoreError> {
        let key = keys::records(kind);
        let found = self.connection.ask("HGET", vec![text(&key), text(id)], Repeat::Harmless).await?;
        let kept: Option<Bytes> = found.convert().map_err(|error| corrupt(&key, error))?;
        kept.map(|kept| record(&key, &kept)).transpose()
    }

    async fn records(&self, kind: DocumentKind) -> Result<Vec<(String, Document)>, StoreError> {
        let key = keys::records(kind);
        let found = self.connection.ask("HGETALL", vec![text(&key)], Repeat::Harmless).await?;
        let all: BTreeMap<String, Bytes> = found.convert().map_err(|error| corrupt(&key, error))?;
        all.into_iter().map(|(id, kept)| Ok((id, record(&key, &kept)?))).collect()
    }

    async fn change_document(
        &self,
        kind: DocumentKind,
        id: &str,
        change: DocumentChange<'_>,
    ) -> Result<DocumentOutcome, StoreError> {
        let key = keys::records(kind);
        let document = change.text.map_or_else(nothing, |document| text(format_args!("1{document}")));
        let needed = change.needs_other.map_or_else(nothing, text);
        let arguments = [text(id), text(change.over), document, text(DOCUMENTS_MAX), needed];
        let reply = self.on(key.clone(), &functions().put_document, arguments, Repeat::Never).await?;
        match reply.convert::<(i64, u64)>().map_err(|error| corrupt(&key, error))? {
            (STORED, revision) => Ok(DocumentOutcome::Stored(revision)),
            (CONFLICT, revision) => Ok(DocumentOutcome::Conflict(revision)),
            (FULL, _) => Ok(DocumentOutcome::Full),
            (NO_OTHER, _) => Ok(DocumentOutcome::NoOther),
            (other, _) => Err(corrupt(&key, format_args!("a record was written with the outcome {other}"))),
        }
    }

    async fn remove_document(&self, kind: DocumentKind, id: &str) -> Result<bool, StoreError> {
        let arguments = vec![text(keys::records(kind)), text(id)];
        let removed = self.connection.ask("HDEL", arguments, Repeat::Never).await?;
        Ok(removed.as_u64() == Some(1))
    }

    async fn append(&self, stream: &LogName, entry: &str) -> Result<EntryId, StoreError> {
        let key = keys::stream(stream);
        let arguments = [text(entry), text(stream.keeps()), lasts(stream)];
        let id = self.on(key.clone(), &functions().append, arguments, Repeat::Never).await?;
        let id: String = id.convert().map_err(|error| corrupt(&key, error))?;
        id.parse().map_err(|error| corrupt(&key, error))
    }

    async fn trim(&self, stream: &LogName, before: Micros) -> Result<(), StoreError> {
        let arguments = vec![text(keys::stream(stream)), text("MINID"), text("~"), text(before.0 / 1000)];
        self.connection.ask("XTRIM", arguments, Repeat::Harmless).await.map(drop)
    }

    async fn entries(&self, stream: &LogName, before: Option<EntryId>, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let key = keys::stream(stream);
        let arguments = [before.map_or_else(nothing, text), text(limit.min(ENTRIES_MAX)), lasts(stream)];
        let found = self.on(key.clone(), &functions().entries, arguments, Repeat::Harmless).await?;
        let found: Vec<String> = found.convert().map_err(|error| corrupt(&key, error))?;
        let entry = |pair: &[String]| {
            let [id, text] = pair else { return Err(corrupt(&key, "an id and a text were expected")) };
            Ok(Entry { id: id.parse().map_err(|error| corrupt(&key, error))?, text: text.clone() })
        };
        found.chunks(2).map(entry).collect()
    }

    async fn set_ephemeral(&self, note: &EphemeralKey, said: &str, seconds: u64) -> Result<(), StoreError> {
        let arguments = [lasting(seconds), text(said)];
        self.on(keys::note(note), &functions().set_ephemeral, arguments, Repeat::Harmless).await.map(drop)
    }

    async fn claim(&self, note: &EphemeralKey, said: &str, seconds: u64) -> Result<bool, StoreError> {
        Ok(self.number(note, &functions().claim, [lasting(seconds), text(said)]).await? == 1)
    }

    async fn count(&self, note: &EphemeralKey, seconds: u64) -> Result<u64, StoreError> {
        self.number(note, &functions().count, [lasting(seconds)]).await
    }

    async fn uncount(&self, note: &EphemeralKey) -> Result<(), StoreError> {
        self.number(note, &functions().uncount, []).await.map(drop)
    }

    async fn note(&self, note: &EphemeralKey) -> Result<Option<String>, StoreError> {
        self.said(note, &functions().read_note, Repeat::Harmless).await
    }

    async fn take_ephemeral(&self, note: &EphemeralKey) -> Result<Option<String>, StoreError> {
        self.said(note, &functions().take_ephemeral, Repeat::Never).await
    }
}
