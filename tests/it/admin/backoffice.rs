//! A backoffice over a store whose time only moves when the test moves it, with what a sale has in it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use vestibule_core::line::Visit;
use vestibule_core::{Clock as _, ManualClock, Micros, SessionId, Store};
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{AdminClient, AdminUnderTest, Redis};
use vestibule_themes::ThemeVersions;

/// When the tests' time begins.
pub(crate) const START: Micros = Micros(1_700_000_100_000_000);
/// A password of the tests.
pub(crate) const PASSWORD: &str = "wrong donkey charger";

/// A backoffice, what is behind it, and its superuser.
pub(crate) struct Backoffice {
    pub(crate) admin: AdminUnderTest,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) root: AdminClient,
    /// The server behind it, if it is one.
    pub(crate) redis: Option<Redis>,
}

impl Backoffice {
    pub(crate) async fn memory() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let admin = AdminUnderTest::start(store.clone(), Arc::new(MemoryRecords::new(clock.clone()))).await;
        Self { root: admin.root().await, admin, store, clock, redis: None }
    }

    /// One that publishes themes.
    pub(crate) async fn memory_with_themes(themes: ThemeVersions) -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let (store, records) = (Arc::new(MemoryStore::new(clock.clone())), Arc::new(MemoryRecords::new(clock.clone())));
        let admin = AdminUnderTest::start_with_themes(store.clone(), records, themes).await;
        Self { root: admin.root().await, admin, store, clock, redis: None }
    }

    /// Another backoffice over the same store and records.
    pub(crate) async fn another_process(&self, themes: ThemeVersions) -> AdminUnderTest {
        AdminUnderTest::start_with_themes(self.store.clone(), Arc::clone(self.admin.records()), themes).await
    }

    pub(crate) async fn redis() -> Self {
        let (redis, clock) = (Redis::start().await, Arc::new(ManualClock::at(START)));
        let store = redis_store(&redis, &clock);
        let admin = AdminUnderTest::start(store.clone(), store.clone()).await;
        Self { root: admin.root().await, admin, store, clock, redis: Some(redis) }
    }

    /// The superuser, to work with.
    pub(crate) fn root(&self) -> AdminClient {
        self.root.clone()
    }

    /// Lets seconds pass.
    pub(crate) fn advance_seconds(&self, seconds: u64) {
        self.clock.advance(seconds * 1_000_000);
    }

    /// A tenant.
    pub(crate) async fn tenant(&self, id: &str) {
        self.tenant_with(id, &[], &[]).await;
    }

    /// A tenant with lists of domains and origins; an empty one is none.
    pub(crate) async fn tenant_with(&self, id: &str, domains: &[&str], origins: &[&str]) {
        let list = |entries: &[&str]| if entries.is_empty() { Value::Null } else { json!(entries) };
        let tenant = json!({ "id": id, "name": id, "domains": list(domains), "origins": list(origins) });
        self.root().create("/tenants", tenant).await;
    }

    /// A queue of a tenant, with `settings` over the ordinary ones.
    pub(crate) async fn queue(&self, id: &str, tenant: &str, settings: Value) -> Value {
        self.root().create("/queues", queue(id, tenant, settings)).await
    }

    /// An operator who signed in.
    pub(crate) async fn operator(&self, name: &str, role: &str, tenants: &[&str]) -> AdminClient {
        let operator = json!({ "name": name, "password": PASSWORD, "role": role, "tenants": tenants });
        self.root().create("/operators", operator).await;
        let mut client = self.admin.client();
        client.sign_in(name, PASSWORD).await;
        client
    }

    /// Lets visitors join a queue.
    pub(crate) async fn join(&self, queue: &str, count: usize) -> Vec<SessionId> {
        let queue = queue.parse().unwrap();
        let mut sessions = Vec::new();
        for _ in 0..count {
            let session = SessionId::random();
            self.store.visit(&queue, Visit::joining(session)).await.unwrap();
            sessions.push(session);
        }
        sessions
    }

    /// The present, in seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().seconds()
    }
}

pub(crate) fn redis_store(redis: &Redis, clock: &Arc<ManualClock>) -> Arc<RedisStore> {
    let options =
        RedisOptions { timeout: Duration::from_secs(10), clock: Some(clock.clone()), ..RedisOptions::default() };
    Arc::new(RedisStore::connect(&redis.url(), options).unwrap())
}

/// The settings of a new queue; its host is its own.
pub(crate) fn queue(id: &str, tenant: &str, settings: Value) -> Value {
    let mut queue = json!({
        "id": id, "tenant": tenant, "hosts": [format!("{id}.example.com")], "quota": 2, "handover": { "kind": "check" },
        // Only tests of pre-tickets use them.
        "protection": { "pre_ticket_from": "none" },
    });
    let Value::Object(settings) = settings else { panic!("settings are an object") };
    queue.as_object_mut().unwrap().extend(settings);
    queue
}

/// Runs every behavior of a module over the memory store. For behaviors that use the store as a `RecordStore` only, which
/// `admin::records` shows to be the same on all stores.
macro_rules! on_memory {
    ($($behavior:ident,)+) => {
        $crate::suite::on_each! {
            { memory: $crate::admin::backoffice::Backoffice::memory().await, }
            { $($behavior,)+ }
        }
    };
}
pub(crate) use on_memory;

/// Runs every behavior of a module over the memory store and over Redis.
macro_rules! on_memory_and_redis {
    ($($behavior:ident,)+) => {
        $crate::suite::on_each! {
            {
                memory: $crate::admin::backoffice::Backoffice::memory().await,
                redis: $crate::admin::backoffice::Backoffice::redis().await,
            }
            { $($behavior,)+ }
        }
    };
}
pub(crate) use on_memory_and_redis;
