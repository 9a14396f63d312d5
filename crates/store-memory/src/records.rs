//! Documents, logs and ephemeral keys.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use vestibule_core::{Clock, MICROS_PER_SECOND, Micros, StoreError};
use vestibule_records::{
    DOCUMENTS_MAX, Document, DocumentChange, DocumentKind, DocumentOutcome, ENTRIES_MAX, EPHEMERAL_TTL_MAX, Entry,
    EntryId, EphemeralKey, LogName, RecordStore,
};

/// Maximum number of expired ephemeral keys removed by one write.
const NOTES_REAPED: usize = 32;

/// A record store that keeps documents, logs and ephemeral keys in this process.
pub struct MemoryRecords {
    clock: Box<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    records: BTreeMap<(DocumentKind, String), Document>,
    streams: BTreeMap<LogName, VecDeque<Entry>>,
    notes: BTreeMap<EphemeralKey, (Micros, String)>,
    lapses: BTreeSet<(Micros, EphemeralKey)>,
}

impl MemoryRecords {
    /// An empty store that uses this clock.
    #[must_use]
    pub fn new(clock: impl Clock + 'static) -> Self {
        Self { clock: Box::new(clock), kept: Mutex::default() }
    }

    /// The content and the current time, which is read under the lock so that it follows the order
    /// of operations.
    fn kept(&self) -> (MutexGuard<'_, Kept>, Micros) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        (kept, now)
    }
}

impl Kept {
    fn append(&mut self, now: Micros, stream: &LogName, text: &str) -> EntryId {
        self.drop_lapsed(now, stream);
        let entries = self.streams.entry(stream.clone()).or_default();
        let now_ms = now.0 / 1000;
        let id = match entries.back().map(|entry| entry.id) {
            Some(last) if last.at_ms >= now_ms => EntryId { number: last.number + 1, ..last },
            _ => EntryId { at_ms: now_ms, number: 0 },
        };
        entries.push_back(Entry { id, text: text.to_owned() });
        if entries.len() > stream.keeps() {
            entries.pop_front();
        }
        id
    }

    fn drop_lapsed(&mut self, now: Micros, stream: &LogName) {
        let last = self.streams.get(stream).and_then(|entries| entries.back());
        let last = last.map(|entry| Micros(entry.id.at_ms * 1000));
        if let (Some(last), Some(lasts)) = (last, stream.lasts())
            && last.add_seconds(lasts) <= now
        {
            self.streams.remove(stream);
        }
    }

    fn note(&self, now: Micros, note: &EphemeralKey) -> Option<&str> {
        self.notes.get(note).filter(|(lapses_at, _)| *lapses_at > now).map(|(_, text)| text.as_str())
    }

    fn set_ephemeral(&mut self, now: Micros, note: &EphemeralKey, text: String, lapses_at: Micros) {
        for _ in 0..NOTES_REAPED {
            let Some((_, lapsed)) = self.lapses.first().filter(|(at, _)| *at <= now).cloned() else { break };
            self.remove_note(&lapsed);
        }
        self.remove_note(note);
        self.notes.insert(note.clone(), (lapses_at, text));
        self.lapses.insert((lapses_at, note.clone()));
    }

    fn remove_note(&mut self, note: &EphemeralKey) {
        if let Some((lapses_at, _)) = self.notes.remove(note) {
            self.lapses.remove(&(lapses_at, note.clone()));
        }
    }
}

fn lapse(now: Micros, seconds: u64) -> Micros {
    Micros(now.0 + seconds.min(EPHEMERAL_TTL_MAX) * MICROS_PER_SECOND)
}

#[async_trait]
impl RecordStore for MemoryRecords {
    async fn now(&self) -> Result<Micros, StoreError> {
        Ok(self.clock.now())
    }

    async fn record(&self, kind: DocumentKind, id: &str) -> Result<Option<Document>, StoreError> {
        Ok(self.kept().0.records.get(&(kind, id.to_owned())).cloned())
    }

    async fn records(&self, kind: DocumentKind) -> Result<Vec<(String, Document)>, StoreError> {
        let (kept, _) = self.kept();
        let from = kept.records.range((kind, String::new())..);
        let of_kind = from.take_while(|((found, _), _)| *found == kind);
        Ok(of_kind.map(|((_, id), record)| (id.clone(), record.clone())).collect())
    }

    async fn change_document(
        &self,
        kind: DocumentKind,
        id: &str,
        change: DocumentChange<'_>,
    ) -> Result<DocumentOutcome, StoreError> {
        let DocumentChange { text, over, needs_other } = change;
        let (mut kept, _) = self.kept();
        let key = (kind, id.to_owned());
        let current = kept.records.get(&key).map_or(0, |record| record.revision);
        if current != over {
            return Ok(DocumentOutcome::Conflict(current));
        }
        let mut others = kept.records.iter().filter(|((found, other), _)| *found == kind && other != id);
        if needs_other.is_some_and(|needed| !others.any(|(_, record)| record.text.contains(needed))) {
            return Ok(DocumentOutcome::NoOther);
        }
        let Some(text) = text else {
            kept.records.remove(&key);
            return Ok(DocumentOutcome::Stored(0));
        };
        if current == 0 && kept.records.keys().filter(|(found, _)| *found == kind).count() >= DOCUMENTS_MAX {
            return Ok(DocumentOutcome::Full);
        }
        kept.records.insert(key, Document { revision: current + 1, text: text.to_owned() });
        Ok(DocumentOutcome::Stored(current + 1))
    }

    async fn remove_document(&self, kind: DocumentKind, id: &str) -> Result<bool, StoreError> {
        Ok(self.kept().0.records.remove(&(kind, id.to_owned())).is_some())
    }

    async fn append(&self, stream: &LogName, text: &str) -> Result<EntryId, StoreError> {
        let (mut kept, now) = self.kept();
        Ok(kept.append(now, stream, text))
    }

    async fn trim(&self, stream: &LogName, before: Micros) -> Result<(), StoreError> {
        if let Some(entries) = self.kept().0.streams.get_mut(stream) {
            let kept_from = entries.partition_point(|entry| entry.id.at_ms < before.0 / 1000);
            entries.drain(..kept_from);
        }
        Ok(())
    }

    async fn entries(&self, stream: &LogName, before: Option<EntryId>, limit: usize) -> Result<Vec<Entry>, StoreError> {
        let (mut kept, now) = self.kept();
        kept.drop_lapsed(now, stream);
        let entries = kept.streams.get(stream).into_iter().flatten().rev();
        let earlier = entries.skip_while(|entry| before.is_some_and(|before| entry.id >= before));
        Ok(earlier.take(limit.min(ENTRIES_MAX)).cloned().collect())
    }

    async fn set_ephemeral(&self, note: &EphemeralKey, text: &str, seconds: u64) -> Result<(), StoreError> {
        let (mut kept, now) = self.kept();
        kept.set_ephemeral(now, note, text.to_owned(), lapse(now, seconds));
        Ok(())
    }

    async fn claim(&self, note: &EphemeralKey, text: &str, seconds: u64) -> Result<bool, StoreError> {
        let (mut kept, now) = self.kept();
        let free = kept.note(now, note).is_none();
        if free {
            kept.set_ephemeral(now, note, text.to_owned(), lapse(now, seconds));
        }
        Ok(free)
    }

    async fn count(&self, note: &EphemeralKey, seconds: u64) -> Result<u64, StoreError> {
        let (mut kept, now) = self.kept();
        let held = kept.notes.get(note).filter(|(lapses_at, _)| *lapses_at > now);
        let (lapses_at, number) = held.map_or((lapse(now, seconds), 0), |(at, text)| (*at, text.parse().unwrap_or(0)));
        kept.set_ephemeral(now, note, (number + 1).to_string(), lapses_at);
        Ok(number + 1)
    }

    async fn uncount(&self, note: &EphemeralKey) -> Result<(), StoreError> {
        let (mut kept, now) = self.kept();
        let held = kept.notes.get(note).filter(|(lapses_at, _)| *lapses_at > now).cloned();
        if let Some((lapses_at, text)) = held {
            let number = text.parse().unwrap_or(0_u64).saturating_sub(1);
            kept.set_ephemeral(now, note, number.to_string(), lapses_at);
        }
        Ok(())
    }

    async fn note(&self, note: &EphemeralKey) -> Result<Option<String>, StoreError> {
        let (kept, now) = self.kept();
        Ok(kept.note(now, note).map(str::to_owned))
    }

    async fn take_ephemeral(&self, note: &EphemeralKey) -> Result<Option<String>, StoreError> {
        let (mut kept, now) = self.kept();
        let taken = kept.note(now, note).map(str::to_owned);
        kept.remove_note(note);
        Ok(taken)
    }
}
