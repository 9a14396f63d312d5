//! While the store is away, the queue's setting decides, nothing is signed and nobody is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use vestibule_core::line::{Mode, PageStart, SessionList};
use vestibule_core::settings::Protection;
use vestibule_core::{PutMode, SessionId, Store};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{GateUnderTest, Origin, Redis, TestResponse, Visitor, wait_until};

use crate::gate_fixture::{TIMEOUT, document_of, random_id, set_cookie};
use crate::suite::on_each;

const STORE_TIMEOUT: Duration = Duration::from_millis(300);
/// Several times the store's timeout: a gate that waits for the store without bounds is slower.
const SOON: Duration = Duration::from_secs(5);

/// How the store fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Failure {
    /// Killed, and there again with nothing in it.
    Stopped,
    /// Takes connections and answers nothing.
    Frozen,
    /// Answers long after the gate has given up.
    Slow,
}

/// A proxy in front of Redis with a given delay.
struct Route {
    port: u16,
    delay_ms: Arc<AtomicU64>,
}

impl Route {
    async fn to(redis: &Redis) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, target) = (listener.local_addr().unwrap().port(), redis.port());
        let delay_ms = Arc::new(AtomicU64::new(0));
        let delay = Arc::clone(&delay_ms);
        tokio::spawn(async move {
            while let Ok((gate, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else { continue };
                let ((from_gate, to_gate), (from_server, to_server)) = (gate.into_split(), server.into_split());
                tokio::spawn(carry(from_gate, to_server, Arc::default()));
                tokio::spawn(carry(from_server, to_gate, Arc::clone(&delay)));
            }
        });
        Self { port, delay_ms }
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay_ms: Arc<AtomicU64>) {
    let mut buffer = vec![0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        sleep(Duration::from_millis(delay_ms.load(Ordering::Relaxed))).await;
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

/// A gate before a Redis that fails, with one active visitor and three who wait.
struct Failing {
    redis: Redis,
    way: Route,
    gate: GateUnderTest,
    origin: Origin,
    queue: String,
    host: String,
    inside: Visitor,
    waiting: Vec<Visitor>,
}

impl Failing {
    async fn open(store_failure: &str) -> Self {
        Self::open_with(store_failure, json!({})).await
    }

    async fn open_with(store_failure: &str, changes: Value) -> Self {
        let redis = Redis::start().await;
        let way = Route::to(&redis).await;
        let options = RedisOptions { timeout: STORE_TIMEOUT, clock: None, ..RedisOptions::default() };
        let url = format!("redis://127.0.0.1:{}", way.port);
        let store: Arc<dyn Store> = Arc::new(RedisStore::connect(&url, options).unwrap());
        wait_until("the store answers", TIMEOUT, async || store.ping().await.is_ok()).await;
        let (origin, queue) = (Origin::start(), random_id());
        let host = format!("{queue}.example.com");
        let mut settings = json!({
            "quota": 1, "waiting_ttl": 4, "claim_ttl": 4, "store_failure": store_failure, "recheck_after": 0,
        });
        settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let gate = GateUnderTest::start(store, &document_of(&queue, &host, &origin.url(), &settings)).await;
        let visitor = || Visitor::new(gate.address(), &host);
        let (inside, waiting) = (visitor(), vec![visitor(), visitor(), visitor()]);
        let mut failing = Self { redis, way, gate, origin, queue, host, inside, waiting };
        failing.fill().await;
        failing
    }

    async fn fill(&mut self) {
        assert!(self.inside.navigate("/").await.text().contains("origin /"));
        for (index, visitor) in self.waiting.iter_mut().enumerate() {
            visitor.navigate("/").await;
            assert_eq!(visitor.fetch("/").await.json()["position"], index + 1);
        }
    }

    async fn fail(&self, failure: Failure) {
        match failure {
            Failure::Stopped => self.redis.kill(),
            Failure::Frozen => self.redis.freeze(),
            Failure::Slow => self.way.delay_ms.store(4000, Ordering::Relaxed),
        }
        let mut monitor = self.stranger();
        wait_until("the store is away", TIMEOUT, async || {
            monitor.fetch("/_vestibule/health").await.status == StatusCode::SERVICE_UNAVAILABLE
        })
        .await;
    }

    async fn repair(&self, failure: Failure) {
        match failure {
            Failure::Stopped => self.redis.restart_empty().await,
            Failure::Frozen => self.redis.thaw(),
            Failure::Slow => self.way.delay_ms.store(0, Ordering::Relaxed),
        }
        let mut monitor = self.stranger();
        wait_until("the store is back", TIMEOUT, async || {
            monitor.fetch("/_vestibule/health").await.status == StatusCode::OK
        })
        .await;
    }

    fn stranger(&self) -> Visitor {
        Visitor::new(self.gate.address(), &self.host)
    }

    /// An answer that came soon, is no error of the gate's own, and carries nothing signed.
    fn assert_calm(&self, answer: &TestResponse) {
        assert!(!answer.status.is_server_error(), "{}", answer.status);
        assert!(set_cookie(answer, &format!("vestibule_{}", self.queue)).is_none(), "signed without the store");
    }

    async fn page(&self, visitor: &mut Visitor) -> TestResponse {
        let answer = timeout(SOON, visitor.navigate("/tour")).await.expect("an answer soon");
        self.assert_calm(&answer);
        answer
    }

    async fn data(&self, visitor: &mut Visitor) -> Value {
        let answer = timeout(SOON, visitor.fetch("/tour")).await.expect("an answer soon");
        self.assert_calm(&answer);
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
        answer.json()
    }

    /// Lets one after the other in, by leaving, and returns who came in which turn.
    async fn order_of_admission(&mut self) -> Vec<usize> {
        let mut order = Vec::new();
        let queue = self.queue.clone();
        let (waiting, inside) = (&mut self.waiting, &mut self.inside);
        wait_until("the one inside is known again", TIMEOUT, async || {
            inside.keepalive(&queue).await.json()["state"] == "admitted"
        })
        .await;
        // Visitors whose session expired meanwhile return by their ticket. Absent visitors block nobody, so all must be present.
        for visitor in waiting.iter_mut() {
            wait_until("everyone is in line again", TIMEOUT, async || {
                visitor.status(&queue).await.json()["state"] == "waiting"
            })
            .await;
        }
        inside.leave(&queue).await;
        wait_until("all are admitted", TIMEOUT * 2, async || {
            for (index, visitor) in
                waiting.iter_mut().enumerate().filter(|(index, _)| !order.contains(index)).collect::<Vec<_>>()
            {
                if visitor.status(&queue).await.json()["state"] == "admitted" {
                    order.push(index);
                    visitor.leave(&queue).await;
                }
            }
            order.len() == 3
        })
        .await;
        order
    }
}

async fn store_failure_tickets_passes_admitted_tickets_only(failure: Failure) {
    let mut failing = Failing::open("tickets").await;
    let sessions = [0, 1, 2].map(|index| failing.waiting[index].clone());
    failing.fail(failure).await;
    let mut inside = failing.inside.clone();
    assert!(failing.page(&mut inside).await.text().contains("origin /tour"), "an admitted ticket passes");
    let seen = failing.origin.requests().pop().unwrap();
    assert!(seen.headers.contains_key("x-vestibule-pass"), "the origin can tell");
    for (index, visitor) in sessions.into_iter().enumerate() {
        let mut visitor = visitor;
        let page = failing.page(&mut visitor).await;
        assert!(page.text().contains("Reconnecting"), "{}", page.text());
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert!(page.header("retry-after").is_some());
        let visitor_status = failing.data(&mut visitor).await;
        assert_eq!((&visitor_status["state"], &visitor_status["position"]), (&json!("unavailable"), &json!(index + 1)));
        assert!(visitor_status["session"].is_string(), "{visitor_status}");
    }
    let stranger = failing.page(&mut failing.stranger()).await;
    assert!(stranger.text().contains("data-vestibule"), "a newcomer sees the page too");
    let mut asking = failing.stranger();
    let status = asking.status(&failing.queue).await;
    assert_eq!((status.status, &status.json()["state"]), (StatusCode::OK, &json!("unavailable")));
    assert_eq!(asking.away(&failing.queue).await.status, StatusCode::NO_CONTENT);
    failing.repair(failure).await;
    assert_eq!(failing.order_of_admission().await, [0, 1, 2], "the line goes on in its order");
}

async fn open_mode_passes_everyone(failure: Failure) {
    let mut failing = Failing::open("open").await;
    failing.fail(failure).await;
    let [mut inside, mut waiting, mut stranger] =
        [failing.inside.clone(), failing.waiting[1].clone(), failing.stranger()];
    for visitor in [&mut inside, &mut waiting, &mut stranger] {
        assert!(failing.page(visitor).await.text().contains("origin /tour"));
    }
    let requests = failing.origin.requests();
    let passes: Vec<bool> =
        requests.iter().rev().take(3).map(|seen| seen.headers.contains_key("x-vestibule-pass")).collect();
    assert_eq!(passes, [false, false, true], "nobody gets a pass for a slot that they do not have");
    assert_eq!(requests.last().unwrap().headers["x-vestibule-bypass"], "store-failure");
    failing.repair(failure).await;
    assert_eq!(failing.order_of_admission().await, [0, 1, 2]);
}

async fn store_failure_closed_rejects_new_visitors(failure: Failure) {
    let mut failing = Failing::open("closed").await;
    failing.fail(failure).await;
    let [mut inside, mut waiting, mut stranger] =
        [failing.inside.clone(), failing.waiting[1].clone(), failing.stranger()];
    assert!(failing.page(&mut inside).await.text().contains("origin /tour"), "an active session continues");
    for visitor in [&mut waiting, &mut stranger] {
        assert!(failing.page(visitor).await.text().contains("Closed for now"));
        assert_eq!(failing.data(visitor).await["state"], "closed");
    }
    failing.repair(failure).await;
    assert_eq!(failing.order_of_admission().await, [0, 1, 2]);
}

on_each! {
    { stopped: super::Failure::Stopped, frozen: super::Failure::Frozen, slow: super::Failure::Slow, }
    {
        store_failure_tickets_passes_admitted_tickets_only,
        open_mode_passes_everyone,
        store_failure_closed_rejects_new_visitors,
    }
}

#[tokio::test]
async fn streams_continue_after_an_outage() {
    let mut failing = Failing::open_with("tickets", json!({ "waiting_ttl": 60, "claim_ttl": 30 })).await;
    let path = format!("/_vestibule/stream?queue={}", failing.queue);
    let mut stream = failing.waiting[0].event_stream(&path).await.unwrap();
    assert_eq!(stream.event().await.unwrap()["state"], "waiting");
    failing.fail(Failure::Frozen).await;
    let status = stream.event().await.unwrap();
    assert_eq!((&status["state"], &status["position"]), (&json!("unavailable"), &json!(1)));
    let mut late = failing.waiting[1].event_stream(&path).await.unwrap();
    assert_eq!(late.event().await.unwrap()["state"], "unavailable");
    assert!(!late.headers.contains_key("set-cookie"), "nothing is signed without the store");
    failing.repair(Failure::Frozen).await;
    let status = stream.event().await.unwrap();
    assert_eq!((&status["state"], &status["position"]), (&json!("waiting"), &json!(1)));
    assert_eq!(late.next().await, None, "opening it renewed nothing, so the browser opens another one");
}

#[tokio::test]
async fn streams_apply_store_failure() {
    for (store_failure, state) in [("open", "admitted"), ("closed", "closed")] {
        let settings = json!({ "waiting_ttl": 60, "claim_ttl": 30 });
        let mut failing = Failing::open_with(store_failure, settings).await;
        let path = format!("/_vestibule/stream?queue={}", failing.queue);
        let mut stream = failing.waiting[0].event_stream(&path).await.unwrap();
        stream.event().await.unwrap();
        failing.fail(Failure::Stopped).await;
        let status = stream.event().await.unwrap();
        assert_eq!((&status["state"], status["enter_url"].is_string()), (&json!(state), state == "admitted"));
        assert_eq!(stream.next().await, None);
    }
}

#[tokio::test]
async fn old_epoch_tickets_do_not_pass_in_an_outage() {
    let mut failing = Failing::open("tickets").await;
    failing.gate.store().reset(&failing.queue.parse().unwrap()).await.unwrap();
    // The next request tells the gate of the reset.
    failing.waiting[0].navigate("/").await;
    failing.fail(Failure::Stopped).await;
    let mut inside = failing.inside.clone();
    assert_eq!(failing.data(&mut inside).await["state"], "unavailable");
}

#[tokio::test]
async fn admitted_tickets_pass_for_active_ttl_in_an_outage() {
    let failing = Failing::open_with("tickets", json!({ "active_ttl": 2 })).await;
    let mut inside = failing.inside.clone();
    inside.keepalive(&failing.queue).await;
    failing.fail(Failure::Stopped).await;
    wait_until("the ticket is too old", TIMEOUT, async || {
        failing.page(&mut inside).await.text().contains("Reconnecting")
    })
    .await;
}

#[tokio::test]
async fn leave_fails_while_the_store_is_unavailable() {
    let failing = Failing::open("tickets").await;
    failing.fail(Failure::Stopped).await;
    let answer = failing.inside.clone().leave(&failing.queue).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.json()["code"], "store_unavailable");
    assert!(set_cookie(&answer, &format!("vestibule_{}", failing.queue)).is_none(), "the ticket is kept to try again");
}

#[tokio::test]
async fn a_gate_serves_once_the_store_is_available() {
    let redis = Redis::start().await;
    redis.kill();
    let store = crate::gate_fixture::over(&redis, STORE_TIMEOUT);
    let (origin, queue) = (Origin::start(), random_id());
    let host = format!("{queue}.example.com");
    let document = document_of(&queue, &host, &origin.url(), &json!({ "quota": 1, "epoch": 7 }));
    let options = vestibule_tests::GateOptions { writes_settings: false, ..Default::default() };
    let gate = GateUnderTest::start_with(store, &document, options).await;
    let mut visitor = Visitor::new(gate.address(), &host);
    assert!(visitor.navigate("/").await.text().contains("One moment"), "a newcomer has no position");
    redis.restart_empty().await;
    wait_until("the visitor is in line", TIMEOUT, async || visitor.status(&queue).await.json()["session"].is_string())
        .await;
    let settings = gate.store().settings(&queue.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(settings.line.epoch, 7, "the gate writes back what it holds");
}

#[tokio::test]
async fn unreadable_settings_leave_the_previous_ones_in_force() {
    let redis = Redis::start().await;
    let store = crate::gate_fixture::over(&redis, STORE_TIMEOUT);
    let (origin, queue) = (Origin::start(), random_id());
    let host = format!("{queue}.example.com");
    let document = document_of(&queue, &host, &origin.url(), &json!({ "quota": 1, "name": "World tour" }));
    let gate = GateUnderTest::start_with(store, &document, vestibule_tests::GateOptions::default()).await;
    let mut settings = gate.store().settings(&queue.parse().unwrap()).await.unwrap().unwrap();
    settings.line.quota = 2;
    gate.store().put_settings(&settings, PutMode::Always).await.unwrap();
    redis.command(&["HSET", &format!("vestibule:{{{queue}}}:settings"), "document", "{"]).await;
    for admitted in [true, true, false] {
        let answer = Visitor::new(gate.address(), &host).navigate("/").await;
        assert_eq!(answer.text().contains("origin /"), admitted, "the rules of the store apply: {}", answer.text());
        assert!(admitted || answer.text().contains("World tour"), "the settings are the previous ones");
    }
}

/// One slow answer of the store is no head start: nobody could join then.
#[tokio::test]
async fn newcomers_of_an_outage_get_no_arrival_in_a_closed_queue() {
    let failing = Failing::open("tickets").await;
    let (store, queue) = (Arc::clone(failing.gate.store()), failing.queue.parse().unwrap());
    let mut settings = store.settings(&queue).await.unwrap().unwrap();
    (settings.line.protection, settings.line.mode) = (Protection::default(), Mode::Closed);
    store.put_settings(&settings, PutMode::Always).await.unwrap();
    assert_eq!(failing.stranger().status(&failing.queue).await.json()["state"], "closed");
    failing.fail(Failure::Slow).await;
    for _ in 0..3 {
        let page = failing.page(&mut failing.stranger()).await;
        assert!(page.text().contains("data-vestibule"), "{}", page.text());
        failing.data(&mut failing.stranger()).await;
    }
}

/// Each first visit during an outage gets a pre-ticket with a preserved arrival.
#[tokio::test]
async fn newcomers_of_an_outage_keep_the_order_of_their_first_visits() {
    let failing = Failing::open("tickets").await;
    let (store, queue) = (Arc::clone(failing.gate.store()), failing.queue.parse().unwrap());
    let mut settings = store.settings(&queue).await.unwrap().unwrap();
    (settings.line.protection, settings.line.waiting_ttl, settings.line.claim_ttl) = (Protection::default(), 60, 30);
    store.put_settings(&settings, PutMode::Always).await.unwrap();
    wait_until("the gate knows the settings", TIMEOUT, async || {
        let answer = failing.stranger().status(&failing.queue).await;
        answer.json()["join"]["action"] == "redeem"
    })
    .await;
    failing.fail(Failure::Stopped).await;
    let cookie = format!("vestibule_{}", failing.queue);
    let mut newcomers = [failing.stranger(), failing.stranger(), failing.stranger()];
    for newcomer in &mut newcomers {
        let page = timeout(SOON, newcomer.navigate("/tour")).await.expect("an answer soon");
        assert!(page.text().contains("One moment"), "{}", page.text());
        assert!(set_cookie(&page, &cookie).is_some(), "a pre-ticket");
        wait_until("the arrival is preserved", TIMEOUT, async || {
            let again = timeout(SOON, newcomer.navigate("/tour")).await.expect("an answer soon");
            set_cookie(&again, &cookie).is_none()
        })
        .await;
    }
    failing.repair(Failure::Stopped).await;
    let mut sessions = Vec::new();
    for newcomer in newcomers.iter_mut().rev() {
        let mut status = json!(null);
        wait_until("the newcomer joins", TIMEOUT, async || {
            status = newcomer.status(&failing.queue).await.json();
            status["session"].is_string()
        })
        .await;
        sessions.insert(0, status["session"].as_str().unwrap().parse::<SessionId>().unwrap());
    }
    let page = store.page(&queue, SessionList::Waiting, PageStart::default(), 100).await.unwrap();
    let mut found: Vec<SessionId> = page.entries.into_iter().map(|entry| entry.session).collect();
    found.retain(|session| sessions.contains(session));
    assert_eq!(found, sessions, "they joined in reverse");
}
