//! The lines of all queues: the rules plus a lock per queue.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    removed: Mutex<BTreeSet<QueueId>>,
    tenants: Mutex<BTreeMap<TenantId, Tenant>>,
    last_purge: Mutex<Option<LastPurge>>,
}

/// The whole content of a memory store at one instant, self-describing, so that a process can save
/// it to disk.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemorySnapshot {
    queues: Vec<QueueSnapshot>,
    removed: BTreeSet<QueueId>,
    tenants: Vec<Tenant>,
    last_purge: Option<LastPurge>,
    /// What the process saves beside the content of the store, since both must fit. The store does not read it.
    pub beside: Value,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct QueueSnapshot {
    settings: Value,
    line: LineSnapshot,
}

impl MemoryStore {
    /// An empty store that uses this clock.
    #[must_use]
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
    #[must_use]
    pub fn snapshot(&self) -> MemorySnapshot {
        let entries: Vec<_> = {
            let queues = self.queues.read();
            queues.values().cloned().collect()
        };
        let queue = |entry: &Arc<Mutex<Entry>>| {
            let entry = entry.lock();
            QueueSnapshot { settings: entry.settings.to_value(), line: entry.line.snapshot() }
        };
        MemorySnapshot {
            queues: entries.iter().map(queue).collect(),
            removed: self.removed.lock().clone(),
            tenants: self.tenants.lock().values().cloned().collect(),
            last_purge: *self.last_purge.lock(),
            beside: Value::Null,
        }
    }

    /// Replaces the content of the store with a snapshot. Returns the queues whose settings can't
    /// be read; they are skipped.
    pub fn restore(&self, snapshot: MemorySnapshot) -> Vec<Value> {
        let (mut queues, mut unreadable) = (HashMap::new(), Vec::new());
        for QueueSnapshot { settings: document, line } in snapshot.queues {
            let line = line.into_line();
            match Settings::from_value(&document) {
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
        let revision = settings.line.revision;
        if let Some(entry) = queues.get(&settings.id) {
            return PutOutcome::Conflict(entry.lock().settings.line.revision);
        }
        let restores = matches!(mode, PutMode::Restore | PutMode::Unreadable);
        if restores && self.removed.lock().contains(&settings.id) {
            return PutOutcome::Removed;
        }
        let mut line = Line::new(settings.line.clone(), self.clock.now(), restores);
        if self.removed.lock().remove(&settings.id) {
            line.confirm_rules();
        }
        queues.insert(settings.id.clone(), Arc::new(Mutex::new(Entry { settings: settings.clone(), line })));
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
        all.extend(self.removed.lock().iter().map(|id| (id.clone(), 0)));
        all.sort();
        Ok(all)
    }

    async fn remove_queue(&self, queue: &QueueId) -> Result<(), StoreError> {
        let removed = self.queues.write().remove(queue);
        if removed.is_some() {
            self.removed.lock().insert(queue.clone());
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
