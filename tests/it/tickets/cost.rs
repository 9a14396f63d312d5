//! What a request costs the store.

use http::Request;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use vestibule_tests::{GateOptions, Redis, Visitor, wait_until};

use crate::gate_fixture::{GateFixture, StoreSetup, TIMEOUT, direct_and_lambda, over_own_redis, session_in};

direct_and_lambda! {
    first_return_confirms_the_session,
    ending_a_session_applies_after_recheck_after,
    ending_a_session_applies_at_once_without_recheck,
}

mod alone {
    use super::*;

    over_own_redis! {
        every_request_is_one_command_to_redis,
        endpoints_without_a_visit_cost_no_redis_command,
        fresh_admitted_tickets_pass_without_a_store_call,
        new_gate_rechecks_a_fresh_ticket,
        tickets_signed_after_now_are_rechecked,
    }
}

/// Hears every command that Redis is sent; what a script does within itself is left out.
struct Listener(BufReader<TcpStream>);

impl Listener {
    async fn to(redis: &Redis) -> Self {
        let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", redis.port())).await.unwrap());
        stream.write_all(b"MONITOR\r\n").await.unwrap();
        stream.read_line(&mut String::new()).await.unwrap();
        Self(stream)
    }

    /// The commands since the last time, by name.
    async fn heard(&mut self, redis: &Redis) -> Vec<String> {
        redis.command(&["ECHO", "that is all"]).await;
        let mut names = Vec::new();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).await.unwrap();
            match line.split('"').nth(1) {
                Some("ECHO") => return names,
                Some(name) if !line.contains(" lua] ") => names.push(name.to_ascii_lowercase()),
                _ => {}
            }
        }
    }
}

fn scripts(count: usize) -> Vec<String> {
    vec!["fcall".to_owned(); count]
}

async fn every_request_is_one_command_to_redis(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let (mut inside, mut waiting) = (fixture.visitor(), fixture.visitor());
    inside.navigate("/").await;
    waiting.navigate("/").await;
    // The first call of each script makes it known to Redis.
    inside.away(fixture.queue.as_str()).await;
    let mut listener = Listener::to(fixture.setup.own()).await;
    let mut requests = 0;
    for visitor in [&mut inside, &mut waiting] {
        for path in ["/", "/tour", "/a.png"] {
            visitor.fetch(path).await;
            visitor.navigate(path).await;
        }
        visitor.status(fixture.queue.as_str()).await;
        visitor.keepalive(fixture.queue.as_str()).await;
        visitor.away(fixture.queue.as_str()).await;
        requests += 9;
    }
    fixture.visitor().navigate("/new").await;
    fixture.visitor().fetch("/nobody").await;
    fixture.visitor().request(Request::get("/_vestibule/check").header("x-forwarded-uri", "/"), "").await;
    requests += 3;
    assert_eq!(listener.heard(fixture.setup.own()).await, scripts(requests));
}

async fn endpoints_without_a_visit_cost_no_redis_command(setup: StoreSetup) {
    let rules = json!([{ "action": "bypass", "path": "/static/**" }]);
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "rules": rules })).await;
    fixture.visitor().navigate("/").await;
    let mut listener = Listener::to(fixture.setup.own()).await;
    for path in ["/static/app.js", "/_vestibule/queue.js", "/_vestibule/keepalive.js", "/_vestibule/jwks.json"] {
        fixture.visitor().fetch(path).await;
    }
    fixture.visitor().away(fixture.queue.as_str()).await;
    fixture.visitor().leave(fixture.queue.as_str()).await;
    assert_eq!(listener.heard(fixture.setup.own()).await, scripts(0));
}

async fn fresh_admitted_tickets_pass_without_a_store_call(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "recheck_after": 60 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let mut listener = Listener::to(fixture.setup.own()).await;
    for number in 0..50 {
        assert!(visitor.fetch(&format!("/{number}.png")).await.text().contains("origin /"));
    }
    assert_eq!(listener.heard(fixture.setup.own()).await, scripts(1), "only the first return is stored");
    let passes =
        fixture.origin.requests().into_iter().filter(|request| request.headers.contains_key("x-vestibule-pass"));
    assert_eq!(passes.count(), 51);
    visitor.keepalive(fixture.queue.as_str()).await;
    assert_eq!(listener.heard(fixture.setup.own()).await, scripts(1), "a keepalive always asks");
}

/// Otherwise a visitor whose requests all came at once would have the slot for `claim_ttl` only.
async fn first_return_confirms_the_session(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "recheck_after": 60 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    visitor.fetch("/a.png").await;
    fixture.setup.clock.advance(31_000_000);
    assert!(!fixture.visitor().navigate("/").await.text().contains("origin /"), "the slot is taken");
    assert!(visitor.fetch("/page").await.text().contains("origin /page"));
}

async fn ending_a_session_applies_after_recheck_after(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "recheck_after": 1 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.keepalive(fixture.queue.as_str()).await);
    fixture.gate.store().end(&fixture.queue, session).await.unwrap();
    wait_until("the end bites", TIMEOUT, async || !visitor.fetch("/page").await.text().contains("origin /page")).await;
    assert_eq!(fixture.counts().await, (0, 1), "by the store's clock a ticket may still pass unasked");
    fixture.setup.clock.advance(1_000_000);
    fixture.gate.store().purge(&fixture.queue, 100).await.unwrap();
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn ending_a_session_applies_at_once_without_recheck(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "recheck_after": 0 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.keepalive(fixture.queue.as_str()).await);
    fixture.gate.store().end(&fixture.queue, session).await.unwrap();
    assert_eq!(visitor.fetch("/page").await.status.as_u16(), 429);
}

async fn new_gate_rechecks_a_fresh_ticket(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "recheck_after": 60 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.keepalive(fixture.queue.as_str()).await);
    fixture.gate.store().end(&fixture.queue, session).await.unwrap();
    let none = json!({ "tenants": [], "queues": [] });
    let other = fixture.setup.gate(&none, GateOptions::default()).await;
    let mut elsewhere = Visitor::new(other.address(), &fixture.host);
    elsewhere.set_cookie(&fixture.cookie_name(), visitor.cookie(&fixture.cookie_name()).unwrap());
    assert_eq!(elsewhere.fetch("/").await.status.as_u16(), 429, "it does not know the store's time yet");
}

async fn tickets_signed_after_now_are_rechecked(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 2, "recheck_after": 60 })).await;
    let (mut visitor, mut other) = (fixture.visitor(), fixture.visitor());
    visitor.navigate("/").await;
    fixture.setup.clock.step_back(3_600_000_000);
    // The gate learns the store's time.
    other.navigate("/").await;
    let mut listener = Listener::to(fixture.setup.own()).await;
    assert!(visitor.fetch("/page").await.text().contains("origin /page"));
    assert_eq!(listener.heard(fixture.setup.own()).await, scripts(1), "its age is unknown, so the store is asked");
    assert!(visitor.fetch("/page").await.text().contains("origin /page"));
    assert_eq!(listener.heard(fixture.setup.own()).await, scripts(0), "the answer renewed the ticket");
}
