//! A settings store for tests that counts reads and fails on request.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use tokio::time::sleep;
use vestibule_core::settings::{Settings, Tenant};
use vestibule_core::store::{PutMode, PutOutcome, SettingsStore, StoreError};
use vestibule_core::{QueueId, SystemClock, TenantId};
use vestibule_store_memory::MemoryStore;

/// Time that a read of queues takes.
pub(crate) const LATENCY: Duration = Duration::from_millis(20);

pub(crate) struct FakeSettingsStore {
    store: MemoryStore,
    index_reads: AtomicUsize,
    queue_reads: AtomicUsize,
    tenant_reads: AtomicUsize,
    at_once: AtomicUsize,
    pub(crate) most_at_once: AtomicUsize,
    is_unavailable: AtomicBool,
    /// Whether broken queues are corrupt instead of unavailable.
    pub(crate) corrupt: AtomicBool,
    broken: parking_lot::Mutex<HashSet<QueueId>>,
}

impl FakeSettingsStore {
    pub(crate) async fn with_queues(count: usize) -> Arc<Self> {
        let store = MemoryStore::new(SystemClock::new());
        let tenant = Tenant {
            id: "acme".parse().unwrap(),
            name: "Acme".to_owned(),
            color: None,
            logo: None,
            domains: None,
            origins: None,
            max_job_queues: None,
        };
        store.put_tenant(&tenant).await.unwrap();
        for number in 0..count {
            store.put_settings(&settings(number), PutMode::Always).await.unwrap();
        }
        Arc::new(Self {
            store,
            index_reads: AtomicUsize::default(),
            queue_reads: AtomicUsize::default(),
            tenant_reads: AtomicUsize::default(),
            at_once: AtomicUsize::default(),
            most_at_once: AtomicUsize::default(),
            is_unavailable: AtomicBool::default(),
            corrupt: AtomicBool::default(),
            broken: parking_lot::Mutex::default(),
        })
    }

    pub(crate) fn set_unavailable(&self, is_unavailable: bool) {
        self.is_unavailable.store(is_unavailable, Ordering::Relaxed);
    }

    pub(crate) fn break_queue(&self, number: usize, broken: bool) {
        let mut all = self.broken.lock();
        if broken {
            all.insert(id(number))
        } else {
            all.remove(&id(number))
        };
    }

    /// The store loses its data.
    pub(crate) fn lose(&self) {
        self.store.restore(MemoryStore::new(SystemClock::new()).snapshot());
    }

    /// Number of reads of the index, and of queues.
    pub(crate) fn reads(&self) -> (usize, usize) {
        (self.index_reads.load(Ordering::Relaxed), self.queue_reads.load(Ordering::Relaxed))
    }

    pub(crate) fn tenant_reads(&self) -> usize {
        self.tenant_reads.load(Ordering::Relaxed)
    }

    fn available(&self) -> Result<&MemoryStore, StoreError> {
        let is_unavailable = self.is_unavailable.load(Ordering::Relaxed);
        if is_unavailable { Err(StoreError::Unavailable("unavailable".to_owned())) } else { Ok(&self.store) }
    }
}

pub(crate) fn id(number: usize) -> QueueId {
    format!("queue-{number}").parse().unwrap()
}

pub(crate) fn host(number: usize) -> String {
    format!("shop-{number}.example.com")
}

pub(crate) fn settings(number: usize) -> Settings {
    Settings::from_value(&json!({
        "id": id(number), "tenant": "acme", "hosts": [host(number)], "quota": 1, "handover": { "kind": "check" },
    }))
    .unwrap()
}

#[async_trait]
impl SettingsStore for FakeSettingsStore {
    async fn queues(&self) -> Result<Vec<(QueueId, u64)>, StoreError> {
        self.index_reads.fetch_add(1, Ordering::Relaxed);
        sleep(LATENCY).await;
        self.available()?.queues().await
    }

    async fn settings(&self, queue: &QueueId) -> Result<Option<Settings>, StoreError> {
        self.queue_reads.fetch_add(1, Ordering::Relaxed);
        let at_once = self.at_once.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(at_once, Ordering::Relaxed);
        sleep(LATENCY).await;
        self.at_once.fetch_sub(1, Ordering::Relaxed);
        let store = self.available()?;
        if self.broken.lock().contains(queue) {
            let reason = "this one is broken".to_owned();
            let is_corrupt = self.corrupt.load(Ordering::Relaxed);
            return Err(if is_corrupt { StoreError::Corrupt(reason) } else { StoreError::Unavailable(reason) });
        }
        store.settings(queue).await
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        self.tenant_reads.fetch_add(1, Ordering::Relaxed);
        self.available()?.tenants().await
    }

    async fn put_settings(&self, settings: &Settings, mode: PutMode) -> Result<PutOutcome, StoreError> {
        self.store.put_settings(settings, mode).await
    }

    async fn remove_queue(&self, queue: &QueueId) -> Result<(), StoreError> {
        self.store.remove_queue(queue).await
    }

    async fn put_tenant(&self, tenant: &Tenant) -> Result<(), StoreError> {
        self.store.put_tenant(tenant).await
    }

    async fn replace_tenant(&self, before: Option<&Tenant>, tenant: &Tenant) -> Result<bool, StoreError> {
        self.store.replace_tenant(before, tenant).await
    }

    async fn remove_tenant(&self, tenant: &TenantId) -> Result<(), StoreError> {
        self.store.remove_tenant(tenant).await
    }
}
