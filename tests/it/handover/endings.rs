//! Connections that stay open end with what let them pass.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::time::{advance, pause, resume, timeout};
use vestibule_core::Timestamp;
use vestibule_gate::ProxyLimits;
use vestibule_tests::{EventStream, GateOptions, Visitor, WebSocket, wait_until};

use crate::gate_fixture::{GateFixture, StoreSetup, TIMEOUT};

/// Longer than the time between two checks.
const CHECKED: Duration = Duration::from_secs(61);
/// How long what stays open is watched.
const A_WHILE: Duration = Duration::from_millis(300);

/// A web socket and an event stream of the site.
struct Connections {
    socket: WebSocket,
    events: EventStream,
}

impl Connections {
    async fn open(visitor: &mut Visitor) -> Self {
        let socket = visitor.web_socket("/ws").await.unwrap();
        let mut events = visitor.event_stream("/events").await.unwrap();
        events.next().await.expect("an event");
        Self { socket, events }
    }

    async fn stay(&mut self) {
        timeout(A_WHILE, self.socket.next()).await.expect_err("the web socket stays open");
        let all = async { while self.events.next().await.is_some() {} };
        timeout(A_WHILE, all).await.expect_err("the event stream stays open");
    }

    async fn end(mut self) {
        let socket = async { while let Some(Ok(_)) = self.socket.next().await {} };
        timeout(TIMEOUT, socket).await.expect("the web socket ends");
        let events = async { while self.events.next().await.is_some() {} };
        timeout(TIMEOUT, events).await.expect("the event stream ends");
    }
}

async fn open(setup: StoreSetup, changes: Value) -> GateFixture {
    let monitor = json!({ "action": "bypass", "header": { "name": "x-monitor", "value": "s3cret" } });
    let mut settings = json!({ "quota": 1, "rules": [monitor] });
    settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let proxy = ProxyLimits { read_timeout: CHECKED * 10, ..ProxyLimits::default() };
    let options = GateOptions { proxy, store_timeout: Duration::from_millis(300), ..GateOptions::default() };
    GateFixture::open_with(setup, settings, options).await
}

/// Lets the time of the gate pass, so that it checks its connections.
async fn check() {
    pause();
    advance(CHECKED).await;
    resume();
}

#[tokio::test]
async fn connections_end_with_their_session() {
    let fixture = open(StoreSetup::memory(), json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let mut connections = Connections::open(&mut visitor).await;
    let mut by_rule = Connections::open(&mut fixture.visitor().with_header("x-monitor", "s3cret")).await;
    check().await;
    connections.stay().await;
    visitor.leave(fixture.queue.as_str()).await;
    check().await;
    connections.end().await;
    by_rule.stay().await;
}

#[tokio::test]
async fn connections_of_bypass_mode_end_with_it() {
    let fixture = open(StoreSetup::memory(), json!({ "mode": "bypass" })).await;
    let mut connections = Connections::open(&mut fixture.visitor()).await;
    check().await;
    connections.stay().await;
    fixture.change(&json!({ "mode": "open" })).await;
    check().await;
    connections.end().await;
}

#[tokio::test]
async fn connections_from_before_an_event_end_with_its_lobby() {
    let setup = StoreSetup::memory();
    let at = |seconds| Timestamp::of(setup.clock.now().add_seconds(seconds)).to_string();
    let sale = json!({ "id": "sale", "lobby_at": at(3_600), "starts_at": at(4_500), "ends_at": at(8_100) });
    let settings = json!({ "mode": "scheduled", "between_events": "bypass", "events": [sale] });
    let fixture = open(setup, settings).await;
    let mut connections = Connections::open(&mut fixture.visitor()).await;
    check().await;
    connections.stay().await;
    fixture.advance_seconds(3_600);
    check().await;
    connections.end().await;
}

#[tokio::test]
async fn connections_of_a_store_failure_end_with_it() {
    let fixture = open(StoreSetup::own_redis().await, json!({ "store_failure": "open" })).await;
    fixture.setup.own().freeze();
    let mut connections = Connections::open(&mut fixture.visitor()).await;
    check().await;
    connections.stay().await;
    fixture.setup.own().thaw();
    wait_until("the store answers", TIMEOUT, async || fixture.gate.store().ping().await.is_ok()).await;
    check().await;
    connections.end().await;
}
