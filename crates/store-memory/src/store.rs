//! The lines of all queues: the rules plus a lock per queue.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vestibule_core::line::{
    AttackModeChange, Line, LineSnapshot, LineView, LocatedSession, PageStart, ProtectionReport, PurgeReport, Removed,
    SessionList, SessionPage, Stats, Visit, VisitAnswer,
};
use vestibule_core::settings::{Settings, Tenant};
use vestibule_core::store::{OperationsStore, PutMode, PutOutcome, SettingsStore, StoreError, VisitStore};
use vestibule_core::{Clock, LastPurge, Micros, QueueId, SessionId, TenantId, Ticket};

struct Entry {
    settings: Settings,
    line: Line,
}

/// A store that keeps everything in this process.
pub struct MemoryStore {
    clock: Box<dyn Clock>,
    queues: RwLock<HashMap<QueueId, Arc<Mutex<Entry>>>>,
    /// Removed queues, and their last revisions, after which new queues of these IDs continue.
    removed: Mutex<BTreeMap<QueueId, u64>>,
    tenants: Mutex<BTreeMap<TenantId, Tenant>>,
    last_purge: Mutex<Option<LastPurge>>,
}

/// The whole content of a memory store at one instant, self-describing, so that a process can save
/// it to disk. One of another version is read leniently, as stored settings are.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "SavedSnapshot")]
pub struct MemorySnapshot {
    queues: Vec<QueueSnapshot>,
    removed: BTreeMap<QueueId, u64>,
    tenants: Vec<Tenant>,
    last_purge: Option<LastPurge>,
    /// What the process saves beside the content of the store, since both must fit. The store does not read it.
    pub beside: Value,
    /// The settings of queues, and tenants, that can't be read.
    #[serde(skip)]
    unreadable: Vec<Value>,
}

#[derive(Debug, Clone, Serialize)]
struct QueueSnapshot {
    settings: Value,
    line: LineSnapshot,
}

/// A snapshot as saved, possibly by another version: one queue or tenant that can't be read does not affect the others.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SavedSnapshot {
    queues: Vec<Value>,
    removed: Value,
    tenants: Vec<Value>,
    last_purge: Value,
    beside: Value,
}

impl From<SavedSnapshot> for MemorySnapshot {
    fn from(saved: SavedSnapshot) -> Self {
        let mut unreadable = Vec::new();
        let mut queues = Vec::new();
        for saved in saved.queues {
            match QueueSnapshot::read(saved) {
                Ok(queue) => queues.push(queue),
                Err(settings) => unreadable.push(settings),
            }
        }
        let mut tenants = Vec::new();
        for saved in saved.tenants {
            match Tenant::deserialize(&saved) {
                Ok(tenant) => tenants.push(tenant),
                Err(_) => unreadable.push(saved),
            }
        }
        let last_purge = LastPurge::deserialize(saved.last_purge).ok();
        let removed = BTreeMap::deserialize(saved.removed).unwrap_or_default();
        Self { queues, removed, tenants, last_purge, beside: saved.beside, unreadable }
    }
}

impl QueueSnapshot {
    /// Reads a saved queue. Its settings are the error if it can't be read.
    fn read(mut saved: Value) -> Result<Self, Value> {
        let (settings, mut line) = (saved["settings"].take(), saved["line"].take());
        let Ok(read) = Settings::from_stored(&settings) else { return Err(settings) };
        if Settings::from_value(&settings).is_err() {
            // The rules of the line are those of the settings, which are read leniently.
            line["rules"] = json!(read.line);
        }
        match LineSnapshot::deserialize(line) {
            Ok(line) => Ok(Self { settings, line }),
            Err(_) => Err(settings),
        }
    }
}

impl MemoryStore {
    /// An empty store that uses this clock.
    pub fn new(clock: impl Clock + 'static) -> Self {
        Self {
            clock: Box::new(clock),
            queues: RwLock::default(),
            removed: Mutex::default(),
            tenants: Mutex::default(),
            last_purge: Mutex::default(),
        }
    }

    /// The current content of the store. Queues are read one after another, each atomically.
    pub fn snapshot(&self) -> MemorySnapshot {
        let entries: Vec<_> = {
            let queues = self.queues.read();
            queues.values().cloned().collect()
        };
        let queue = |entry: &Arc<Mutex<Entry>>| {
            let entry = entry.lock();
            QueueSnapshot { settings: entry.settings.to_stored(), line: entry.line.snapshot() }
        };
        MemorySnapshot {
            queues: entries.iter().map(queue).collect(),
            removed: self.removed.lock().clone(),
            tenants: self.tenants.lock().values().cloned().collect(),
            last_purge: *self.last_purge.lock(),
            beside: Value::Null,
            unreadable: Vec::new(),
        }
    }

    /// Replaces the content of the store with a snapshot. Returns the settings of the queues, and the tenants, that can't
    /// be read; they are skipped.
    pub fn restore(&self, snapshot: MemorySnapshot) -> Vec<Value> {
        let (mut queues, mut unreadable) = (HashMap::new(), snapshot.unreadable);
        for QueueSnapshot { settings: document, line } in snapshot.queues {
            let line = line.into_line();
            match Settings::from_stored(&document) {
                Ok(settings) => {
                    let settings = Settings { line: line.rules().clone(), ..settings };
                    queues.insert(settings.id.clone(), Arc::new(Mutex::new(Entry { settings, line })));
                }
                Err(_) => unreadable.push(document),
            }
        }
        *self.queues.write() = queues;
        *self.removed.lock() = snapshot.removed;
        *self.tenants.lock() = snapshot.tenants.into_iter().map(|tenant| (tenant.id.clone(), tenant)).collect();
        *self.last_purge.lock() = snapshot.last_purge;
        unreadable
    }

    fn entry(&self, queue: &QueueId) -> Option<Arc<Mutex<Entry>>> {
        self.queues.read().get(queue).cloned()
    }

    fn on<T>(&self, queue: &QueueId, operation: impl FnOnce(&mut Line, Micros) -> T) -> Result<T, StoreError> {
        let entry = self.entry(queue).ok_or_else(|| StoreError::UnknownQueue(queue.clone()))?;
        let mut entry = entry.lock();
        // Read under the lock, so that the operations of one queue see time in their order of
        // execution.
        let now = self.clock.now();
        let Entry { settings, line } = &mut *entry;
        let answer = operation(line, now);
        // A ticket may prove that a later epoch was in force.
        if settings.line.revision != line.rules().revision {
            settings.line = line.rules().clone();
        }
        Ok(answer)
    }

    fn create(&self, settings: &Settings, mode: PutMode) -> PutOutcome {
        let mut queues = self.queues.write();
        if let Some(entry) = queues.get(&settings.id) {
            return PutOutcome::Conflict(entry.lock().settings.line.revision);
        }
        let restores = matches!(mode, PutMode::Restore | PutMode::Unreadable);
        if restores && self.removed.lock().contains_key(&settings.id) {
            return PutOutcome::Removed;
        }
        let mut settings = settings.clone();
        let removed = self.removed.lock().remove(&settings.id);
        if let Some(last_revision) = removed {
            settings.line.revision = settings.line.revision.max(last_revision + 1);
        }
        let revision = settings.line.revision;
        let mut line = Line::new(settings.line.clone(), self.clock.now(), restores);
        if removed.is_some() {
            line.confirm_rules();
        }
        queues.insert(settings.id.clone(), Arc::new(Mutex::new(Entry { settings, line })));
        PutOutcome::Stored(revision)
    }

    fn change(&self, entry: &Mutex<Entry>, settings: &Settings, mode: PutMode) -> PutOutcome {
        let mut entry = entry.lock();
        let (now, current) = (self.clock.now(), entry.settings.line.revision);
        let fits = match mode {
            PutMode::Always => true,
            PutMode::IfRevision(revision) => revision == current,
            PutMode::Restore if entry.line.restore_rules(settings.line.clone(), now) => {
                entry.settings = settings.clone();
                return PutOutcome::Stored(settings.line.revision);
            }
            PutMode::Restore | PutMode::Unreadable => false,
        };
        if !fits {
            return PutOutcome::Conflict(current);
        }
        entry.settings = settings.clone();
        entry.settings.line.revision = current + 1;
        let rules = entry.settings.line.clone();
        entry.line.change_rules(rules, now);
        PutOutcome::Stored(current + 1)
    }
}

#[async_trait]
impl VisitStore for MemoryStore {
    async fn visit(&self, queue: &QueueId, visit: Visit) -> Result<VisitAnswer, StoreError> {
        self.on(queue, |line, now| line.visit(now, &visit))
    }

    async fn away(&self, queue: &QueueId, ticket: Ticket) -> Result<Removed, StoreError> {
        self.on(queue, |line, now| line.away(now, &ticket))
    }

    async fn leave(&self, queue: &QueueId, ticket: Ticket) -> Result<Removed, StoreError> {
        self.on(queue, |line, now| line.leave(now, &ticket))
    }
}

#[async_trait]
impl SettingsStore for MemoryStore {
    async fn put_settings(&self, settings: &Settings, mode: PutMode) -> Result<PutOutcome, StoreError> {
        match (self.entry(&settings.id), mode) {
            (Some(entry), _) => Ok(self.change(&entry, settings, mode)),
            (None, PutMode::IfRevision(_)) => Err(StoreError::UnknownQueue(settings.id.clone())),
            (None, _) => match self.create(settings, mode) {
                // Another task created it in the meantime.
                PutOutcome::Conflict(_) if mode == PutMode::Always => self.put_settings(settings, mode).await,
                outcome => Ok(outcome),
            },
        }
    }

    async fn settings(&self, queue: &QueueId) -> Result<Option<Settings>, StoreError> {
        Ok(self.entry(queue).map(|entry| entry.lock().settings.clone()))
    }

    async fn queues(&self) -> Result<Vec<(QueueId, u64)>, StoreError> {
        let queues = self.queues.read();
        let mut all: Vec<_> =
            queues.iter().map(|(id, entry)| (id.clone(), entry.lock().settings.line.revision)).collect();
        all.extend(self.removed.lock().keys().map(|id| (id.clone(), 0)));
        all.sort();
        Ok(all)
    }

    async fn remove_queue(&self, queue: &QueueId) -> Result<(), StoreError> {
        let removed = self.queues.write().remove(queue);
        if let Some(entry) = removed {
            self.removed.lock().insert(queue.clone(), entry.lock().settings.line.revision);
        }
        Ok(())
    }

    async fn put_tenant(&self, tenant: &Tenant) -> Result<(), StoreError> {
        self.tenants.lock().insert(tenant.id.clone(), tenant.clone());
        Ok(())
    }

    async fn replace_tenant(&self, before: Option<&Tenant>, tenant: &Tenant) -> Result<bool, StoreError> {
        let mut tenants = self.tenants.lock();
        let held = tenants.get(&tenant.id);
        let is_free = held == before || held == Some(tenant);
        if is_free {
            tenants.insert(tenant.id.clone(), tenant.clone());
        }
        Ok(is_free)
    }

    async fn remove_tenant(&self, tenant: &TenantId) -> Result<(), StoreError> {
        self.tenants.lock().remove(tenant);
        Ok(())
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        Ok(self.tenants.lock().values().cloned().collect())
    }
}

#[async_trait]
impl OperationsStore for MemoryStore {
    async fn end(&self, queue: &QueueId, session: SessionId) -> Result<Removed, StoreError> {
        self.on(queue, |line, now| line.end(now, session))
    }

    async fn release(&self, queue: &QueueId, count: u64) -> Result<u64, StoreError> {
        self.on(queue, |line, now| line.release(now, count))
    }

    async fn admit(&self, queue: &QueueId, session: SessionId) -> Result<bool, StoreError> {
        self.on(queue, |line, now| line.admit(now, session))
    }

    async fn purge(&self, queue: &QueueId, limit: usize) -> Result<PurgeReport, StoreError> {
        let entry = self.entry(queue).ok_or_else(|| StoreError::UnknownQueue(queue.clone()))?;
        let mut entry = entry.lock();
        let report = entry.line.purge(self.clock.now(), limit);
        if report.closed.is_some() {
            entry.settings.line = entry.line.rules().clone();
        }
        Ok(report)
    }

    async fn set_attack_mode(&self, queue: &QueueId, seconds: u64) -> Result<AttackModeChange, StoreError> {
        self.on(queue, |line, now| line.set_attack_mode(now, seconds))
    }

    async fn protection(&self, queue: &QueueId) -> Result<ProtectionReport, StoreError> {
        self.on(queue, |line, now| line.protection_report(now))
    }

    async fn line(&self, queue: &QueueId) -> Result<LineView, StoreError> {
        self.on(queue, |line, now| line.view(now))
    }

    async fn stats(&self, queue: &QueueId) -> Result<Stats, StoreError> {
        self.on(queue, |line, now| line.stats(now))
    }

    async fn find(&self, queue: &QueueId, session: SessionId) -> Result<Option<LocatedSession>, StoreError> {
        self.on(queue, |line, now| line.find(now, session))
    }

    async fn page(
        &self,
        queue: &QueueId,
        list: SessionList,
        start: PageStart,
        limit: usize,
    ) -> Result<SessionPage, StoreError> {
        self.on(queue, |line, now| line.page(now, list, start, limit))
    }

    async fn reset(&self, queue: &QueueId) -> Result<u64, StoreError> {
        let entry = self.entry(queue).ok_or_else(|| StoreError::UnknownQueue(queue.clone()))?;
        let mut entry = entry.lock();
        let now = self.clock.now();
        let rules = &mut entry.settings.line;
        rules.epoch = now.seconds().max(rules.epoch + 1);
        rules.revision += 1;
        let rules = rules.clone();
        entry.line.change_rules(rules.clone(), now);
        Ok(rules.epoch)
    }

    async fn set_last_purge(&self, record: &LastPurge) -> Result<(), StoreError> {
        *self.last_purge.lock() = Some(LastPurge { at: self.clock.now(), ..*record });
        Ok(())
    }

    async fn last_purge(&self) -> Result<Option<LastPurge>, StoreError> {
        Ok(*self.last_purge.lock())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use vestibule_core::SystemClock;

    use super::*;

    fn settings(id: &str) -> Settings {
        let fields = json!({
            "id": id, "tenant": "acme", "hosts": ["*"], "quota": 0, "handover": { "kind": "check" },
            "protection": { "pre_ticket_from": "none" },
        });
        Settings::from_value(&fields).unwrap()
    }

    /// A saved store with a queue in which a visitor waits, changed as another version may have written it.
    async fn restored(change: impl FnOnce(&mut Value)) -> (MemoryStore, Vec<Value>) {
        let store = MemoryStore::new(SystemClock::new());
        let tenant = Tenant::from_value(&json!({ "id": "acme", "name": "Acme" })).unwrap();
        store.put_tenant(&tenant).await.unwrap();
        for id in ["tour", "other"] {
            store.put_settings(&settings(id), PutMode::Always).await.unwrap();
            store.visit(&id.parse().unwrap(), Visit::joining(SessionId::random())).await.unwrap();
        }
        let mut saved = serde_json::to_value(store.snapshot()).unwrap();
        let is_other = |queue: &Value| queue["settings"]["id"] == "other";
        saved["queues"].as_array_mut().unwrap().sort_by_key(is_other);
        change(&mut saved);
        let store = MemoryStore::new(SystemClock::new());
        let unreadable = store.restore(serde_json::from_value(saved).unwrap());
        (store, unreadable)
    }

    async fn waiting(store: &MemoryStore, id: &str) -> Option<u64> {
        store.stats(&id.parse().unwrap()).await.ok().map(|stats| stats.waiting)
    }

    #[tokio::test]
    async fn snapshot_of_a_newer_version_keeps_its_lines() {
        let (store, unreadable) = restored(|saved| {
            saved["last_purge"] = "soon".into();
            let queue = &mut saved["queues"][0];
            queue["settings"]["future"] = "x".into();
            for rules in ["settings", "line"] {
                let rules = if rules == "line" { &mut queue["line"]["rules"] } else { &mut queue["settings"] };
                rules["mode"] = "raffle".into();
                rules["protection"] = json!({ "on_exceed": "call" });
            }
        })
        .await;
        assert_eq!((unreadable, waiting(&store, "tour").await), (Vec::new(), Some(1)));
        let settings = store.settings(&"tour".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(settings.line.mode, vestibule_core::line::Mode::Paused);
        let saved = serde_json::to_value(store.snapshot()).unwrap();
        let futures: Vec<_> =
            saved["queues"].as_array().unwrap().iter().map(|queue| &queue["settings"]["future"]).collect();
        assert!(futures.contains(&&Value::from("x")), "{saved}");
    }

    #[tokio::test]
    async fn unreadable_part_of_a_snapshot_does_not_affect_the_rest() {
        let (store, unreadable) = restored(|saved| {
            saved["queues"][0]["line"]["waiting"] = 7.into();
            saved["tenants"][0]["name"] = 7.into();
        })
        .await;
        let ids: Vec<_> = unreadable.iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!((ids, waiting(&store, "other").await), (vec!["tour", "acme"], Some(1)));
    }
}
