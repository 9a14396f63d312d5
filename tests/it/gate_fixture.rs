//! A gate with one queue before an origin, over any store, at a time that the test moves.

use std::sync::Arc;
use std::time::Duration;

use http::header::SET_COOKIE;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vestibule_core::line::Stats;
use vestibule_core::settings::Settings;
use vestibule_core::{
    Clock, ManualClock, Micros, PutMode, QueueId, SessionId, Store, SystemClock, VisitorState, VisitorStatus,
};
use vestibule_store_memory::MemoryStore;
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{BalancerOptions, FakeTime, GateOptions, GateUnderTest, Origin, Redis, TestResponse, Visitor};
use vestibule_themes::PageView;

/// Longer than a busy machine takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs each of these tests by a gate in the test's process over the memory store, and by the gate that is deployed: a
/// function, behind a load balancer, over Redis. What the store has a part in is shown on both.
///
/// What comes after `; by https:` has a load balancer whose listener is an HTTPS one, and what comes after `; differing:` is
/// not run through the load balancer, for the difference named.
macro_rules! direct_and_lambda {
    ($($behaviors:tt)+) => {
        mod memory {
            $crate::gate_fixture::each!(crate::gate_fixture::StoreSetup::memory(); $($behaviors)+);
        }
        $crate::gate_fixture::function!($($behaviors)+);
    };
}
pub(crate) use direct_and_lambda;

/// As [`direct_and_lambda`], for what concurrent requests to one process do, which combines their visits to Redis: also by a
/// gate in the test's process over Redis. An instance of a function has one request at a time.
macro_rules! on_each_store {
    ($($behaviors:tt)+) => {
        mod redis {
            $crate::gate_fixture::each!(crate::gate_fixture::StoreSetup::redis().await; $($behaviors)+);
        }
        $crate::gate_fixture::direct_and_lambda!($($behaviors)+);
    };
}
pub(crate) use on_each_store;

/// As [`direct_and_lambda`], for what looks at a Redis of its own: without the memory store.
macro_rules! over_own_redis {
    ($($behaviors:tt)+) => {
        mod redis {
            $crate::gate_fixture::each!(crate::gate_fixture::StoreSetup::own_redis().await; $($behaviors)+);
        }
        $crate::gate_fixture::function!($($behaviors)+);
    };
}
pub(crate) use over_own_redis;

macro_rules! each {
    ($setup:expr; $($behavior:ident,)+ $(; by https: $($secure:ident,)+)? $(; differing: $($other:ident: $difference:ident,)+)?) => {
        $crate::suite::tests!($setup; { $($behavior,)+ $($($secure,)+)? $($($other,)+)? });
    };
}
pub(crate) use each;

macro_rules! function {
    ($($behavior:ident,)+ $(; by https: $($secure:ident,)+)? $(; differing: $($other:ident: $difference:ident,)+)?) => {
        #[cfg(target_os = "linux")]
        mod function {
            $crate::suite::tests!(crate::gate_fixture::StoreSetup::function().await; { $($behavior,)+ });
            $($crate::suite::tests!(crate::gate_fixture::StoreSetup::function().await.with_https(); { $($secure,)+ });)?
            $($(const _: crate::functions::Difference = crate::functions::Difference::$difference;)+)?
        }
    };
}
pub(crate) use function;

/// A store, its clock, and where its gates run.
#[derive(Clone)]
pub(crate) struct StoreSetup {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<TestClock>,
    /// The Redis that nobody else has, if there is one.
    redis: Option<Arc<Redis>>,
    /// The load balancer before the functions, if the gates are functions.
    listener: Option<BalancerOptions>,
}

/// The clock that a test moves.
pub(crate) struct TestClock {
    clock: Arc<ManualClock>,
    /// The clock of the Redis that functions use.
    redis_clock: Option<Arc<FakeTime>>,
}

impl TestClock {
    fn frozen() -> Self {
        Self { clock: Arc::new(ManualClock::at(SystemClock::new().now())), redis_clock: None }
    }

    pub(crate) fn now(&self) -> Micros {
        self.clock.now()
    }

    pub(crate) fn step_back(&self, micros: u64) {
        self.clock.step_back(micros);
        if let Some(redis_clock) = &self.redis_clock {
            redis_clock.set(self.clock.now());
        }
    }

    pub(crate) fn advance(&self, micros: u64) {
        self.clock.advance(micros);
        if let Some(redis_clock) = &self.redis_clock {
            redis_clock.set(self.clock.now());
        }
    }
}

impl StoreSetup {
    pub(crate) fn memory() -> Self {
        let time = TestClock::frozen();
        let store = Arc::new(MemoryStore::new(Arc::clone(&time.clock)));
        Self { store, clock: Arc::new(time), redis: None, listener: None }
    }

    pub(crate) async fn redis() -> Self {
        Self::over(Redis::shared().await)
    }

    pub(crate) async fn own_redis() -> Self {
        let redis = Arc::new(Redis::start().await);
        Self { redis: Some(Arc::clone(&redis)), ..Self::over(&redis) }
    }

    pub(crate) fn over(redis: &Redis) -> Self {
        let time = TestClock::frozen();
        let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&time.clock);
        Self { store: connected(redis, Some(clock)), clock: Arc::new(time), redis: None, listener: None }
    }

    /// A function uses the clock of Redis, so that one is moved.
    pub(crate) async fn function() -> Self {
        let mut time = TestClock::frozen();
        let redis_clock = Arc::new(FakeTime::at(time.clock.now()));
        time.redis_clock = Some(Arc::clone(&redis_clock));
        let redis = Redis::start_at(redis_clock).await;
        let (store, listener) = (connected(&redis, None), Some(BalancerOptions::default()));
        Self { store, clock: Arc::new(time), redis: Some(Arc::new(redis)), listener }
    }

    /// The load balancer's listener is an HTTPS one.
    pub(crate) fn with_https(mut self) -> Self {
        self.listener = self.listener.map(|listener| BalancerOptions { https: true, ..listener });
        self
    }

    /// The target group has no multi-value headers.
    pub(crate) fn single_value(mut self) -> Self {
        self.listener = self.listener.map(|listener| BalancerOptions { multi_value: false, ..listener });
        self
    }

    /// The same store and time for a gate in this process.
    pub(crate) fn in_process(&self) -> Self {
        Self { listener: None, ..self.clone() }
    }

    /// The Redis that nobody else has.
    pub(crate) fn own(&self) -> &Redis {
        self.redis.as_ref().expect("a Redis of its own")
    }

    /// A gate over the store: in this process, or as a function behind a load balancer.
    pub(crate) async fn gate(&self, document: &Value, options: GateOptions) -> GateUnderTest {
        let store = Arc::clone(&self.store);
        match self.listener {
            None => GateUnderTest::start_with(store, document, options).await,
            Some(listener) => GateUnderTest::function(store, &self.own().url(), document, options, listener).await,
        }
    }
}

fn connected(redis: &Redis, clock: Option<Arc<dyn Clock>>) -> Arc<dyn Store> {
    let options = RedisOptions { timeout: TIMEOUT, clock, ..RedisOptions::default() };
    Arc::new(RedisStore::connect(&redis.url(), options).unwrap())
}

/// A queue of its own host, an origin behind it, and a gate between them.
pub(crate) struct GateFixture {
    pub(crate) gate: GateUnderTest,
    pub(crate) origin: Origin,
    pub(crate) setup: StoreSetup,
    pub(crate) queue: QueueId,
    pub(crate) host: String,
}

pub(crate) fn random_id() -> String {
    format!("q-{}", &SessionId::random().to_string()[..13])
}

/// A document of one queue, as [`GateFixture::open`] takes changes to it.
pub(crate) fn document_of(queue: &str, host: &str, origin: &str, changes: &Value) -> Value {
    let mut settings = json!({
        "id": queue, "tenant": "acme", "name": "Acme tour", "hosts": [host], "quota": 0,
        "recheck_after": 0, "handover": { "kind": "proxy", "origin": origin },
        // Only tests of pre-tickets use them.
        "protection": { "pre_ticket_from": "none" },
    });
    settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": [settings] })
}

impl GateFixture {
    /// Opens a queue with these settings over the ordinary ones: nobody is admitted, and the origin is proxied to.
    pub(crate) async fn open(setup: StoreSetup, changes: Value) -> Self {
        Self::open_with(setup, changes, GateOptions::default()).await
    }

    pub(crate) async fn open_with(setup: StoreSetup, changes: Value, options: GateOptions) -> Self {
        let origin = Origin::start();
        let id = random_id();
        let host = format!("{id}.example.com");
        let document = document_of(&id, &host, &origin.url(), &changes);
        let gate = setup.gate(&document, options).await;
        Self { gate, origin, setup, queue: id.parse().unwrap(), host }
    }

    pub(crate) fn visitor(&self) -> Visitor {
        Visitor::new(self.gate.address(), &self.host)
    }

    pub(crate) fn cookie_name(&self) -> String {
        format!("vestibule_{}", self.queue)
    }

    pub(crate) fn own(&self, endpoint: &str) -> String {
        format!("/_vestibule/{endpoint}?queue={}", self.queue)
    }

    pub(crate) async fn stats(&self) -> Stats {
        self.gate.store().stats(&self.queue).await.unwrap()
    }

    /// The numbers of waiting and of active sessions.
    pub(crate) async fn counts(&self) -> (u64, u64) {
        let stats = self.stats().await;
        (stats.waiting, stats.active)
    }

    /// Changes settings as an operator does: in the store, without notifying a gate.
    pub(crate) async fn change(&self, changes: &Value) {
        let settings = self.gate.store().settings(&self.queue).await.unwrap().unwrap();
        let mut value = settings.to_value();
        value.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let settings = Settings::from_value(&value).unwrap();
        self.gate.store().put_settings(&settings, PutMode::Always).await.unwrap();
    }

    pub(crate) fn advance_seconds(&self, seconds: u64) {
        self.setup.clock.advance(seconds * 1_000_000);
    }
}

/// A session as an answer names it.
pub(crate) fn session_in(answer: &TestResponse) -> SessionId {
    let visitor_status = answer.json();
    visitor_status["session"].as_str().unwrap_or_else(|| panic!("no session: {visitor_status}")).parse().unwrap()
}

/// The cookie of this name that an answer sets, with its attributes. By https its name begins with `__Host-`.
pub(crate) fn set_cookie<'a>(answer: &'a TestResponse, name: &str) -> Option<&'a str> {
    let cookies = answer.headers.get_all(SET_COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let named = format!("{name}=");
    cookies.into_iter().find(|cookie| cookie.strip_prefix("__Host-").unwrap_or(cookie).starts_with(&named))
}

/// Sends these very bytes, and returns the head of the answer in lower case and its body.
pub(crate) async fn raw(address: &str, request: &[u8]) -> (String, String) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    socket.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    tokio::time::timeout(TIMEOUT, socket.read_to_end(&mut answer)).await.expect("an answer in time").unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.to_ascii_lowercase(), body.to_owned())
}

/// A navigation without cookies as bytes, with more header lines.
pub(crate) fn navigation(target: &str, host: &str, lines: &[&str]) -> Vec<u8> {
    let mut request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\nConnection: close\r\n");
    for line in lines {
        request.push_str(line);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    request.into_bytes()
}

/// Redis by its own clock, which is given up on after `timeout`.
pub(crate) fn over(redis: &Redis, timeout: Duration) -> Arc<dyn Store> {
    Arc::new(
        RedisStore::connect(&redis.url(), RedisOptions { timeout, clock: None, ..RedisOptions::default() }).unwrap(),
    )
}

/// Where somebody stands whose queue page is drawn.
pub(crate) fn visitor_status() -> VisitorStatus {
    let queue = "acme-tour".parse().unwrap();
    VisitorStatus { position: Some(7), waiting: Some(9), ..VisitorStatus::new(queue, VisitorState::Waiting, 5) }
}

/// The page that this visitor status is shown on.
pub(crate) fn view(visitor_status: &VisitorStatus) -> PageView<'_> {
    PageView {
        queue_name: "World tour",
        brand_name: "Acme",
        ..PageView::new(visitor_status, "n0nce", "/_vestibule/theme/acme-tour/")
    }
}
