//! `stream`: the visitor status as server-sent events. The rules of a read-only visit are tested with the stores.

use http::{Request, StatusCode};
use serde_json::{Value, json};
use vestibule_core::SessionId;
use vestibule_tests::{Balancer, BalancerOptions, EventStream, GateOptions, StreamBlock, Visitor, wait_until};

use super::visitor_status::{FIELDS, fields};
use crate::gate_fixture::{GateFixture, StoreSetup, TIMEOUT, set_cookie};

mod memory {
    crate::gate_fixture::each!(crate::gate_fixture::StoreSetup::memory();
        stream_sends_the_status_when_it_changes,
        stream_ends_with_the_turn,
        open_stream_keeps_nobody_present,
        opening_a_stream_renews_and_restores,
        stream_ends_before_its_session_expires,
        position_of_a_stream_never_rises,
        visitors_without_a_position_get_no_stream,
        streams_follow_the_mode,
        streams_are_limited,
        removed_queue_ends_its_streams,
        streams_have_cors_headers_for_the_site,
        an_app_gets_its_ticket_with_the_stream,
    );
}

mod redis {
    crate::gate_fixture::each!(crate::gate_fixture::StoreSetup::redis().await;
        stream_sends_the_status_when_it_changes,
        stream_ends_with_the_turn,
        open_stream_keeps_nobody_present,
        opening_a_stream_renews_and_restores,
        message_reaches_all_pages_and_streams,
    );
}

crate::gate_fixture::function! {
    a_function_has_no_streams,
}

async fn open(fixture: &GateFixture, visitor: &mut Visitor) -> Result<EventStream, StatusCode> {
    visitor.event_stream(&fixture.own("stream")).await.map_err(|response| response.status)
}

/// A visitor who waits and has returned the ticket.
async fn waiting(fixture: &GateFixture) -> Visitor {
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    visitor.status(fixture.queue.as_str()).await;
    visitor
}

/// A stream of this visitor, and its first event.
async fn opened(fixture: &GateFixture, visitor: &mut Visitor) -> (EventStream, Value) {
    let mut stream = open(fixture, visitor).await.unwrap();
    let first = stream.event().await.unwrap();
    (stream, first)
}

async fn expires_in(fixture: &GateFixture, status: &Value) -> u64 {
    let session: SessionId = status["session"].as_str().unwrap().parse().unwrap();
    let found = fixture.gate.store().find(&fixture.queue, session).await.unwrap().unwrap();
    found.expires_at.since(fixture.setup.clock.now()) / 1_000_000
}

async fn stream_sends_the_status_when_it_changes(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let (mut older, mut visitor) = (waiting(&fixture).await, waiting(&fixture).await);
    let mut stream = open(&fixture, &mut visitor).await.unwrap();
    let header = |name: &str| stream.headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(header("cache-control"), Some("no-store, no-transform"));
    assert_eq!((header("x-accel-buffering"), header("transfer-encoding")), (Some("no"), Some("chunked")));
    assert_eq!((header("content-length"), header("content-encoding")), (None, None));
    assert!(header("set-cookie").unwrap().starts_with(&fixture.cookie_name()), "the new ticket");

    let Some(StreamBlock::Retry(retry)) = stream.next().await else { panic!("retry comes first") };
    assert!((500..=1500).contains(&retry), "{retry}");
    let Some(StreamBlock::Event(name, status)) = stream.next().await else { panic!("the status comes at once") };
    assert_eq!((name.as_str(), fields(&status)), ("status", FIELDS.to_vec()));
    assert_eq!((&status["state"], &status["position"]), (&json!("waiting"), &json!(2)));

    older.leave(fixture.queue.as_str()).await;
    let next = stream.event().await.unwrap();
    assert_eq!((&next["position"], &next["session"]), (&json!(1), &status["session"]));
    fixture.change(&json!({ "message": { "default": "Sold out soon." } })).await;
    assert_eq!(stream.event().await.unwrap()["message"], "Sold out soon.");
    fixture.change(&json!({ "mode": "paused" })).await;
    assert_eq!(stream.event().await.unwrap()["state"], "paused");
    fixture.change(&json!({ "mode": "closed" })).await;
    assert_eq!(stream.event().await.unwrap()["state"], "closed");
    assert_eq!(stream.next().await, None);
}

async fn stream_ends_with_the_turn(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = waiting(&fixture).await;
    let (mut stream, _) = opened(&fixture, &mut visitor).await;
    fixture.change(&json!({ "quota": 1 })).await;
    let turn = stream.event().await.unwrap();
    assert_eq!((&turn["state"], &turn["position"]), (&json!("admitted"), &Value::Null));
    assert_eq!(turn["enter_url"], format!("http://{}/", fixture.host));
    assert_eq!(stream.next().await, None, "there is nothing more to wait for");
    assert_eq!(expires_in(&fixture, &turn).await, 30, "the visitor has not claimed the slot");
    assert_eq!(visitor.status(fixture.queue.as_str()).await.json()["state"], "admitted");
    assert_eq!(expires_in(&fixture, &turn).await, 600);
    let (mut stream, status) = opened(&fixture, &mut visitor).await;
    assert_eq!((&status["state"], stream.next().await), (&json!("admitted"), None));
}

async fn open_stream_keeps_nobody_present(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = waiting(&fixture).await;
    let (mut stream, status) = opened(&fixture, &mut visitor).await;
    fixture.advance_seconds(59);
    fixture.change(&json!({ "message": { "default": "Still here." } })).await;
    assert_eq!(stream.event().await.unwrap()["expires_in"], 1);
    fixture.advance_seconds(1);
    assert_eq!(stream.next().await, None, "only a visit can tell more");
    assert_eq!(fixture.counts().await, (0, 0));
    let (_stream, again) = opened(&fixture, &mut visitor).await;
    assert_eq!((&again["session"], &again["position"]), (&status["session"], &json!(1)));
    assert_eq!(fixture.stats().await.counters.returned, 1);
}

async fn opening_a_stream_renews_and_restores(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = waiting(&fixture).await;
    let before = visitor.cookie(&fixture.cookie_name()).unwrap().to_owned();
    fixture.advance_seconds(50);
    let (stream, status) = opened(&fixture, &mut visitor).await;
    assert_eq!(expires_in(&fixture, &status).await, 60);
    assert_ne!(visitor.cookie(&fixture.cookie_name()), Some(before.as_str()), "the ticket is signed again");
    drop(stream);
    visitor.away(fixture.queue.as_str()).await;
    assert_eq!(fixture.counts().await, (0, 0));
    let (_stream, restored) = opened(&fixture, &mut visitor).await;
    assert_eq!((&restored["session"], &restored["joined_at"]), (&status["session"], &status["joined_at"]));
}

async fn stream_ends_before_its_session_expires(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "waiting_ttl": 3 })).await;
    let mut visitor = waiting(&fixture).await;
    let (mut stream, status) = opened(&fixture, &mut visitor).await;
    // The clock of the store stands still, so nothing else ends it.
    assert_eq!(stream.next().await, None);
    assert_eq!(expires_in(&fixture, &status).await, 3);
}

async fn position_of_a_stream_never_rises(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let (mut older, mut visitor) = (waiting(&fixture).await, waiting(&fixture).await);
    let (mut stream, _) = opened(&fixture, &mut visitor).await;
    older.away(fixture.queue.as_str()).await;
    assert_eq!(stream.event().await.unwrap()["position"], 1);
    older.status(fixture.queue.as_str()).await;
    fixture.change(&json!({ "message": { "default": "News." } })).await;
    let next = stream.event().await.unwrap();
    assert_eq!((&next["message"], &next["position"], &next["waiting"]), (&json!("News."), &json!(1), &json!(2)));
}

async fn message_reaches_all_pages_and_streams(setup: StoreSetup) {
    const MESSAGE: &str = "Sold out: <b>row 1</b>";
    let fixture = GateFixture::open(setup, json!({})).await;
    let (mut pages, mut streams) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        pages.push(waiting(&fixture).await);
    }
    for _ in 0..50 {
        streams.push(opened(&fixture, &mut waiting(&fixture).await).await.0);
    }
    fixture.change(&json!({ "message": { "default": MESSAGE } })).await;
    for stream in &mut streams {
        assert_eq!(stream.event().await.unwrap()["message"], MESSAGE, "it is the next update of each");
    }
    for page in &mut pages {
        assert_eq!(page.status(fixture.queue.as_str()).await.json()["message"], MESSAGE, "the next poll has it");
    }
    let page = pages[0].navigate("/").await;
    assert!(page.text().contains("&lt;b&gt;row 1") && !page.text().contains("<b>row 1"), "it is text");
}

async fn visitors_without_a_position_get_no_stream(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut stranger = fixture.visitor();
    assert_eq!(open(&fixture, &mut stranger).await.err(), Some(StatusCode::NO_CONTENT));
    stranger.set_cookie(&fixture.cookie_name(), "forged");
    assert_eq!(open(&fixture, &mut stranger).await.err(), Some(StatusCode::NO_CONTENT));
    assert_eq!(fixture.counts().await, (0, 0), "nobody joined");

    let mut visitor = waiting(&fixture).await;
    let head = visitor.request(Request::head(fixture.own("stream")), "").await;
    assert_eq!(head.status, StatusCode::NO_CONTENT);
    let ticket = visitor.cookie(&fixture.cookie_name()).unwrap().to_owned();
    visitor.leave(fixture.queue.as_str()).await;
    visitor.set_cookie(&fixture.cookie_name(), &ticket);
    assert_eq!(open(&fixture, &mut visitor).await.err(), Some(StatusCode::NO_CONTENT), "the session has ended");
    assert_eq!(fixture.visitor().fetch("/_vestibule/stream?queue=other").await.status, StatusCode::NOT_FOUND);
}

async fn streams_follow_the_mode(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = waiting(&fixture).await;
    for (mode, state) in [
        ("paused", Some("paused")),
        ("draining", Some("waiting")),
        ("closed", None),
        ("bypass", None),
        ("open", Some("waiting")),
    ] {
        fixture.change(&json!({ "mode": mode })).await;
        match (open(&fixture, &mut visitor).await, state) {
            (Ok(mut stream), Some(state)) => assert_eq!(stream.event().await.unwrap()["state"], state, "{mode}"),
            (Err(status), None) => assert_eq!(status, StatusCode::NO_CONTENT, "{mode}"),
            (opened, _) => panic!("{mode}: {:?}", opened.err()),
        }
    }
    let (mut stream, _) = opened(&fixture, &mut visitor).await;
    fixture.change(&json!({ "mode": "bypass" })).await;
    assert_eq!(stream.event().await.unwrap()["state"], "admitted");
    assert_eq!(stream.next().await, None);
}

async fn streams_are_limited(setup: StoreSetup) {
    let limits = |streams| GateOptions { streams, ..GateOptions::default() };
    let fixture = GateFixture::open_with(setup.clone(), json!({}), limits(1)).await;
    let mut visitor = waiting(&fixture).await;
    let (stream, _) = opened(&fixture, &mut visitor).await;
    assert_eq!(open(&fixture, &mut visitor.clone()).await.err(), Some(StatusCode::NO_CONTENT));
    drop(stream);
    wait_until("a closed connection gives its stream back", TIMEOUT, async || {
        open(&fixture, &mut visitor).await.is_ok()
    })
    .await;
    let fixture = GateFixture::open_with(setup, json!({}), limits(0)).await;
    let mut visitor = waiting(&fixture).await;
    assert_eq!(open(&fixture, &mut visitor).await.err(), Some(StatusCode::NO_CONTENT), "0 turns streams off");
}

async fn removed_queue_ends_its_streams(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = waiting(&fixture).await;
    let (mut stream, _) = opened(&fixture, &mut visitor).await;
    fixture.gate.store().remove_queue(&fixture.queue).await.unwrap();
    assert_eq!(stream.event().await.unwrap()["state"], "unavailable");
    assert_eq!(stream.next().await, None);
    assert_eq!(open(&fixture, &mut visitor).await.err(), Some(StatusCode::NOT_FOUND));
}

async fn streams_have_cors_headers_for_the_site(setup: StoreSetup) {
    let site = "https://www.example.net";
    let fixture =
        GateFixture::open(setup, json!({ "handover": { "kind": "redirect", "origin": site }, "recheck_after": 2 }))
            .await;
    let visitor = waiting(&fixture).await;
    let mut embedded = visitor.clone().with_header("origin", site).with_header("sec-fetch-site", "cross-site");
    let stream = open(&fixture, &mut embedded).await.unwrap();
    assert_eq!(stream.headers["access-control-allow-origin"], site);
    assert_eq!(stream.headers["access-control-allow-credentials"], "true");
    let mut other = visitor.with_header("origin", "https://evil.example");
    assert_eq!(open(&fixture, &mut other).await.err(), Some(StatusCode::FORBIDDEN));
}

async fn an_app_gets_its_ticket_with_the_stream(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut app = fixture.visitor().with_header("x-vestibule-ticket", "");
    let ticket = app.status(fixture.queue.as_str()).await.header("x-vestibule-ticket").unwrap().to_owned();
    app.forget_cookies();
    let mut app = app.with_header("x-vestibule-ticket", &ticket);
    let stream = open(&fixture, &mut app).await.unwrap();
    assert!(stream.headers.contains_key("x-vestibule-ticket"));
}

async fn a_function_has_no_streams(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = waiting(&fixture).await;
    let response = visitor.fetch(&fixture.own("stream")).await;
    assert_eq!(response.status, StatusCode::NO_CONTENT);
    assert_eq!(set_cookie(&response, &fixture.cookie_name()), None);
    assert!(visitor.navigate("/").await.text().contains("\"stream_url\":null"));

    let deployment = GateOptions::default().deployment(&fixture.setup.own().url());
    let function = deployment.env("VESTIBULE_STREAM_URL", "/_vestibule/stream").instances(1).await;
    let balancer = Balancer::before(function, BalancerOptions::default()).await;
    let page = Visitor::new(balancer.address(), &fixture.host).navigate("/").await;
    let url = format!("\"stream_url\":\"{}\"", fixture.own("stream"));
    assert!(page.text().contains(&url), "the streams of another process");
}
