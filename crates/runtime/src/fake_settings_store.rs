//! A settings store that counts calls and fails on request.

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

use crate::Directory;

/// Latency of a call.
pub(super) const ANSWERS_AFTER: Duration = Duration::from_millis(20);

pub(super) struct Keeper {
    kept: MemoryStore,
    looks: AtomicUsize,
    loads: AtomicUsize,
    at_once: AtomicUsize,
    pub(super) most_at_once: AtomicUsize,
    away: AtomicBool,
    /// Whether broken queues are corrupt instead of unavailable.
    pub(super) corrupt: AtomicBool,
    broken: parking_lot::Mutex<HashSet<QueueId>>,
}

impl Keeper {
    pub(super) async fn with_queues(count: usize) -> Arc<Self> {
        let kept = MemoryStore::new(SystemClock::new());
        let tenant = Tenant {
            id: "acme".parse().unwrap(),
            name: "Acme".to_owned(),
            color: None,
            logo: None,
            domains: None,
            origins: None,
        };
        kept.put_tenant(&tenant).await.unwrap();
        for number in 0..count {
            kept.put_settings(&settings(number), PutMode::Always).await.unwrap();
        }
        Arc::new(Self {
            kept,
            looks: AtomicUsize::default(),
            loads: AtomicUsize::default(),
            at_once: AtomicUsize::default(),
            most_at_once: AtomicUsize::default(),
            away: AtomicBool::default(),
            corrupt: AtomicBool::default(),
            broken: parking_lot::Mutex::default(),
        })
    }

    pub(super) fn directory(self: &Arc<Self>) -> Arc<Directory> {
        Arc::new(Directory::new(self.clone(), Vec::new(), Vec::new()))
    }

    pub(super) fn go_away(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
    }

    pub(super) fn break_queue(&self, number: usize, broken: bool) {
        let mut all = self.broken.lock();
        if broken {
            all.insert(id(number))
        } else {
            all.remove(&id(number))
        };
    }

    /// The store loses its data.
    pub(super) fn lose(&self) {
        self.kept.restore(MemoryStore::new(SystemClock::new()).snapshot());
    }

    /// Number of reads of the index, and of loaded queues.
    pub(super) fn asked(&self) -> (usize, usize) {
        (self.looks.load(Ordering::Relaxed), self.loads.load(Ordering::Relaxed))
    }

    fn here(&self) -> Result<(), StoreError> {
        if self.away.load(Ordering::Relaxed) { Err(StoreError::Unavailable("away".to_owned())) } else { Ok(()) }
    }
}

pub(super) fn id(number: usize) -> QueueId {
    format!("queue-{number}").parse().unwrap()
}

pub(super) fn host(number: usize) -> String {
    format!("shop-{number}.example.com")
}

pub(super) fn settings(number: usize) -> Settings {
    Settings::from_value(&json!({
        "id": id(number), "tenant": "acme", "hosts": [host(number)], "quota": 1, "handover": { "kind": "check" },
    }))
    .unwrap()
}

#[async_trait]
impl SettingsStore for Keeper {
    async fn queues(&self) -> Result<Vec<(QueueId, u64)>, StoreError> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        sleep(ANSWERS_AFTER).await;
        self.here()?;
        self.kept.queues().await
    }

    async fn settings(&self, queue: &QueueId) -> Result<Option<Settings>, StoreError> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        let at_once = self.at_once.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_at_once.fetch_max(at_once, Ordering::Relaxed);
        sleep(ANSWERS_AFTER).await;
        self.at_once.fetch_sub(1, Ordering::Relaxed);
        self.here()?;
        if self.broken.lock().contains(queue) {
            let reason = "this one is broken".to_owned();
            let is_corrupt = self.corrupt.load(Ordering::Relaxed);
            return Err(if is_corrupt { StoreError::Corrupt(reason) } else { StoreError::Unavailable(reason) });
        }
        self.kept.settings(queue).await
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        self.here()?;
        self.kept.tenants().await
    }

    async fn put_settings(&self, settings: &Settings, mode: PutMode) -> Result<PutOutcome, StoreError> {
        self.kept.put_settings(settings, mode).await
    }

    async fn remove_queue(&self, queue: &QueueId) -> Result<(), StoreError> {
        self.kept.remove_queue(queue).await
    }

    async fn put_tenant(&self, tenant: &Tenant) -> Result<(), StoreError> {
        self.kept.put_tenant(tenant).await
    }

    async fn remove_tenant(&self, tenant: &TenantId) -> Result<(), StoreError> {
        self.kept.remove_tenant(tenant).await
    }
}
