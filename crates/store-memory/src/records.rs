//! Documents, logs and ephemeral keys.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use vestibule_core::{Clock, MICROS_PER_SECOND, Micros, StoreError};
use vestibule_records::{
    DOCUMENTS_MAX, Document, DocumentChange, DocumentKind, DocumentOutcome, ENTRIES_MAX, EPHEMERAL_TTL_MAX, Entry,
    EntryId, EphemeralKey, LogName, RecordStore,
};

/// Maximum number of expired ephemeral keys removed by one write.
const EXPIRED_REMOVED_MAX: usize = 32;

/// A record store that keeps documents, logs and ephemeral keys in this process.
pub struct MemoryRecords {
    clock: Box<dyn Clock>,
    content: Mutex<Content>,
}

#[derive(Default)]
struct Content {
    documents: BTreeMap<(DocumentKind, String), Document>,
    revisions: BTreeMap<DocumentKind, u64>,
    logs: BTreeMap<LogName, VecDeque<Entry>>,
    ephemeral: BTreeMap<EphemeralKey, (Micros, String)>,
    expiries: BTreeSet<(Micros, EphemeralKey)>,
}

impl MemoryRecords {
    /// An empty store that uses this clock.
    pub fn new(clock: impl Clock + 'static) -> Self {
        Self { clock: Box::new(clock), content: Mutex::default() }
    }

    /// The content and the current time, which is read under the lock so that it follows the order
    /// of operations.
    fn lock(&self) -> (MutexGuard<'_, Content>, Micros) {
        let content = self.content.lock();
        let now = self.clock.now();
        (content, now)
    }
}

impl Content {
    /// Removes a document. Returns whether it existed.
    fn remove_document(&mut self, key: &(DocumentKind, String)) -> bool {
        let existed = self.documents.remove(key).is_some();
        *self.revisions.entry(key.0).or_default() += u64::from(existed);
        existed
    }

    fn append(&mut self, now: Micros, log: &LogName, text: &str) -> EntryId {
        self.drop_if_expired(now, log);
        let entries = self.logs.entry(log.clone()).or_default();
        let now_ms = now.0 / 1000;
        let id = match entries.back().map(|entry| entry.id) {
            Some(last) if last.at_ms >= now_ms => EntryId { number: last.number + 1, ..last },
            _ => EntryId { at_ms: now_ms, number: 0 },
        };
        entries.push_back(Entry { id, text: text.to_owned() });
        if entries.len() > log.max_entries() {
            entries.pop_front();
        }
        id
    }

    fn drop_if_expired(&mut self, now: Micros, log: &LogName) {
        let last = self.logs.get(log).and_then(|entries| entries.back());
        let last = last.map(|entry| Micros(entry.id.at_ms * 1000));
        if let (Some(last), Some(ttl)) = (last, log.ttl())
            && last.add_seconds(ttl) <= now
        {
            self.logs.remove(log);
        }
    }

    fn get_ephemeral(&self, now: Micros, key: &EphemeralKey) -> Option<&str> {
        self.ephemeral.get(key).filter(|(expires_at, _)| *expires_at > now).map(|(_, text)| text.as_str())
    }

    fn set_ephemeral(&mut self, now: Micros, key: &EphemeralKey, text: String, expires_at: Micros) {
        for _ in 0..EXPIRED_REMOVED_MAX {
            let Some((_, expired)) = self.expiries.first().filter(|(at, _)| *at <= now).cloned() else { break };
            self.remove_ephemeral(&expired);
        }
        self.remove_ephemeral(key);
        self.ephemeral.insert(key.clone(), (expires_at, text));
        self.expiries.insert((expires_at, key.clone()));
    }

    fn remove_ephemeral(&mut self, key: &EphemeralKey) {
        if let Some((expires_at, _)) = self.ephemeral.remove(key) {
            self.expiries.remove(&(expires_at, key.clone()));
        }
    }
}

fn expiry(now: Micros, seconds: u64) -> Micros {
    Micros(now.0 + seconds.min(EPHEMERAL_TTL_MAX) * MICROS_PER_SECOND)
}

#[async_trait]
impl RecordStore for MemoryRecords {
    async fn now(&self) -> Result<Micros, StoreError> {
        Ok(self.clock.now())
    }

    async fn get_document(&self, kind: DocumentKind, id: &str) -> Result<Option<Document>, StoreError> {
        Ok(self.lock().0.documents.get(&(kind, id.to_owned())).cloned())
    }

    async fn documents_revision(&self, kind: DocumentKind) -> Result<u64, StoreError> {
        Ok(self.lock().0.revisions.get(&kind).copied().unwrap_or_default())
    }

    async fn list_documents(&self, kind: DocumentKind) -> Result<Vec<(String, Document)>, StoreError> {
        let (content, _) = self.lock();
        let from = content.documents.range((kind, String::new())..);
        let of_kind = from.take_while(|((found, _), _)| *found == kind);
        Ok(of_kind.map(|((_, id), document)| (id.clone(), document.clone())).collect())
    }

    async fn change_document(
        &self,
        kind: DocumentKind,
        id: &str,
        change: DocumentChange<'_>,
    ) -> Result<DocumentOutcome, StoreError> {
        let DocumentChange { text, over, needs_other } = change;
        let (mut content, _) = self.lock();
        let key = (kind, id.to_owned());
        let current = content.documents.get(&key).map_or(0, |document| document.revision);
        if current != over {
            return Ok(DocumentOutcome::Conflict(current));
        }
        let mut others = content.documents.iter().filter(|((found, other), _)| *found == kind && other != id);
        if needs_other.is_some_and(|needed| !others.any(|(_, document)| document.text.contains(needed))) {
            return Ok(DocumentOutcome::NoOther);
        }
        let Some(text) = text else {
            content.remove_document(&key);
            return Ok(DocumentOutcome::Stored(0));
        };
        if current == 0 && content.documents.keys().filter(|(found, _)| *found == kind).count() >= DOCUMENTS_MAX {
            return Ok(DocumentOutcome::Full);
        }
        *content.revisions.entry(kind).or_default() += 1;
        content.documents.insert(key, Document { revision: current + 1, text: text.to_owned() });
        Ok(DocumentOutcome::Stored(current + 1))
    }

    async fn remove_document(&self, kind: DocumentKind, id: &str) -> Result<bool, StoreError> {
        Ok(self.lock().0.remove_document(&(kind, id.to_owned())))
    }

    async fn append(&self, log: &LogName, text: &str) -> Result<EntryId, StoreError> {
        let (mut content, now) = self.lock();
        Ok(content.append(now, log, text))
    }

    async fn trim(&self, log: &LogName, before: Micros) -> Result<(), StoreError> {
        if let Some(entries) = self.lock().0.logs.get_mut(log) {
            let kept_from = entries.partition_point(|entry| entry.id.at_ms < before.0 / 1000);
            entries.drain(..kept_from);
        }
        Ok(())
    }

    async fn entries(&self, log: &LogName, before: Option<EntryId>, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let (mut content, now) = self.lock();
        content.drop_if_expired(now, log);
        let entries = content.logs.get(log).into_iter().flatten().rev();
        let earlier = entries.skip_while(|entry| before.is_some_and(|before| entry.id >= before));
        Ok(earlier.take(limit.min(ENTRIES_MAX)).cloned().collect())
    }

    async fn set_ephemeral(&self, key: &EphemeralKey, text: &str, seconds: u64) -> Result<(), StoreError> {
        let (mut content, now) = self.lock();
        content.set_ephemeral(now, key, text.to_owned(), expiry(now, seconds));
        Ok(())
    }

    async fn set_ephemeral_if_absent(&self, key: &EphemeralKey, text: &str, seconds: u64) -> Result<bool, StoreError> {
        let (mut content, now) = self.lock();
        let free = content.get_ephemeral(now, key).is_none();
        if free {
            content.set_ephemeral(now, key, text.to_owned(), expiry(now, seconds));
        }
        Ok(free)
    }

    async fn set_ephemeral_if_present(&self, key: &EphemeralKey, text: &str, seconds: u64) -> Result<bool, StoreError> {
        let (mut content, now) = self.lock();
        let is_present = content.get_ephemeral(now, key).is_some();
        if is_present {
            content.set_ephemeral(now, key, text.to_owned(), expiry(now, seconds));
        }
        Ok(is_present)
    }

    async fn increment(&self, key: &EphemeralKey, seconds: u64) -> Result<u64, StoreError> {
        let (mut content, now) = self.lock();
        let current = content.ephemeral.get(key).filter(|(expires_at, _)| *expires_at > now);
        let (expires_at, number) =
            current.map_or((expiry(now, seconds), 0), |(at, text)| (*at, text.parse().unwrap_or(0)));
        content.set_ephemeral(now, key, (number + 1).to_string(), expires_at);
        Ok(number + 1)
    }

    async fn decrement(&self, key: &EphemeralKey) -> Result<(), StoreError> {
        let (mut content, now) = self.lock();
        let current = content.ephemeral.get(key).filter(|(expires_at, _)| *expires_at > now).cloned();
        if let Some((expires_at, text)) = current {
            let number = text.parse().unwrap_or(0_u64).saturating_sub(1);
            content.set_ephemeral(now, key, number.to_string(), expires_at);
        }
        Ok(())
    }

    async fn get_ephemeral(&self, key: &EphemeralKey) -> Result<Option<String>, StoreError> {
        let (content, now) = self.lock();
        Ok(content.get_ephemeral(now, key).map(str::to_owned))
    }

    async fn take_ephemeral(&self, key: &EphemeralKey) -> Result<Option<String>, StoreError> {
        let (mut content, now) = self.lock();
        let taken = content.get_ephemeral(now, key).map(str::to_owned);
        content.remove_ephemeral(key);
        Ok(taken)
    }
}
