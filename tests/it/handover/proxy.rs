//! Handover by proxy.

use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::response::IntoResponse;
use futures_util::{SinkExt, StreamExt};
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use vestibule_core::settings::{Settings, Tenant};
use vestibule_core::{PutMode, verify_pass};
use vestibule_gate::ProxyLimits;
use vestibule_tests::{GateOptions, GateUnderTest, Origin, TestResponse, Visitor, wait_until};

use crate::gate_fixture::{
    GateFixture, StoreSetup, TIMEOUT, direct_and_lambda, document_of, navigation, random_id, raw, session_in,
    set_cookie,
};

direct_and_lambda! {
    the_origin_receives_a_valid_pass_and_no_ticket,
    hop_by_hop_headers_are_not_forwarded,
    every_cookie_of_the_origin_reaches_the_visitor,
    the_status_and_the_body_are_the_origin_s,
    an_unreachable_origin_shows_an_error_page,
    a_slow_origin_shows_an_error_page,
    responses_with_tickets_are_not_shared,
    shared_responses_renew_an_aging_ticket,
    requests_without_a_pass_have_a_bypass_reason,
    ; by https:
    trusted_proxies_keep_forwarded_for,
    ; differing:
    reserved_headers_are_dropped: Trust,
    the_origin_gets_path_and_query_byte_for_byte: Query,
    bodies_reach_the_origin_once_and_complete: Size,
    responses_are_streamed: Streaming,
    websockets_require_admission: WebSocket,
}

#[tokio::test]
async fn origin_that_leads_back_to_the_gate_is_recognized() {
    let (store, id) = (StoreSetup::memory().store, random_id());
    let host = format!("{id}.example.com");
    let gate = GateUnderTest::start(store.clone(), &json!({})).await;
    let url = format!("http://{}", gate.address());
    let rules = json!([{ "path": ["/free/**"], "action": "bypass" }]);
    let document = document_of(&id, &host, &url, &json!({ "quota": 100, "rules": rules }));
    store.put_tenant(&Tenant::from_value(&document["tenants"][0]).unwrap()).await.unwrap();
    let settings = Settings::from_value(&document["queues"][0]).unwrap();
    store.put_settings(&settings, PutMode::Always).await.unwrap();
    gate.directory().refresh().await.unwrap();
    let mut visitor = Visitor::new(gate.address(), &host);
    let page = visitor.navigate("/").await;
    assert_eq!(page.status, StatusCode::LOOP_DETECTED, "{}", page.text());
    assert_eq!(store.stats(&settings.id).await.unwrap().counters.joined, 2, "the third pass joins nobody");
    let answer = visitor.fetch("/free/").await;
    assert_eq!((answer.status, &answer.json()["code"]), (StatusCode::LOOP_DETECTED, &json!("origin_loop")));
    assert_watches(&page, answer.status);
}

#[tokio::test]
async fn tunnels_are_limited() {
    let options = GateOptions { tunnels: 1, ..GateOptions::default() };
    let settings = json!({ "quota": 1, "rules": [{ "path": ["/free/**"], "action": "bypass" }] });
    let fixture = GateFixture::open_with(StoreSetup::memory(), settings, options).await;
    let mut visitor = admitted(&fixture).await;
    let socket = visitor.web_socket("/ws").await.unwrap();
    let refused = visitor.web_socket("/ws").await.unwrap_err();
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("too_many_tunnels"))
    );
    let bypassing = fixture.visitor().web_socket("/free/ws").await.unwrap_err();
    assert_eq!(bypassing.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(visitor.navigate("/").await.status, StatusCode::OK, "requests are not limited by it");
    drop(socket);
    wait_until("a closed tunnel frees its slot", Duration::from_secs(10), async || {
        visitor.web_socket("/ws").await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn newcomer_who_goes_before_the_origin_responds_keeps_no_slot() {
    let settings = json!({ "quota": 2, "protection": { "pre_ticket_from": "none" } });
    let fixture = GateFixture::open(StoreSetup::memory(), settings).await;
    for _ in 0..2 {
        let mut newcomer = fixture.visitor();
        timeout(Duration::from_millis(300), newcomer.navigate("/slow?20000")).await.unwrap_err();
        drop(newcomer);
        wait_until("the slot is free", TIMEOUT, async || fixture.counts().await == (0, 0)).await;
    }
    let mut known = admitted(&fixture).await;
    timeout(Duration::from_millis(300), known.navigate("/slow?20000")).await.unwrap_err();
    let stays = fixture.visitor().navigate("/").await;
    assert_eq!(stays.status, StatusCode::OK);
    assert_eq!(fixture.counts().await, (0, 2), "a visitor who has a ticket comes back with it");
}

#[tokio::test]
async fn internal_origins_must_be_allowed_by_the_tenant() {
    let (origin, store, id) = (Origin::start(), StoreSetup::memory().store, random_id());
    let host = format!("{id}.example.com");
    let document = document_of(&id, &host, &origin.url(), &json!({ "quota": 100 }));
    store.put_settings(&Settings::from_value(&document["queues"][0]).unwrap(), PutMode::Always).await.unwrap();
    for (tenant, status) in [
        (None, StatusCode::BAD_GATEWAY),
        (Some(json!({ "origins": [] })), StatusCode::BAD_GATEWAY),
        (Some(json!({ "origins": ["https://*.example.com"] })), StatusCode::BAD_GATEWAY),
        (Some(json!({ "origins": [origin.url()] })), StatusCode::OK),
        (Some(json!({})), StatusCode::OK),
    ] {
        if let Some(mut tenant) = tenant.clone() {
            tenant["id"] = json!("acme");
            tenant["name"] = json!("Acme");
            store.put_tenant(&Tenant::from_value(&tenant).unwrap()).await.unwrap();
        }
        let gate = GateUnderTest::start(store.clone(), &json!({})).await;
        let answer = Visitor::new(gate.address(), &host).navigate("/").await;
        assert_eq!(answer.status, status, "{tenant:?}");
    }
}

async fn open(setup: StoreSetup) -> GateFixture {
    GateFixture::open(setup, json!({ "quota": 100 })).await
}

async fn admitted(fixture: &GateFixture) -> Visitor {
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    visitor
}

async fn requests_without_a_pass_have_a_bypass_reason(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "rules": [{ "action": "bypass", "path": "/static/**" }] })).await;
    let by_rule = Request::get("/static/x").header("x-vestibule-bypass", "forged");
    fixture.visitor().request(by_rule, "").await;
    fixture.change(&json!({ "mode": "bypass" })).await;
    fixture.visitor().navigate("/").await;
    fixture.change(&json!({ "mode": "open", "quota": 1 })).await;
    fixture.visitor().navigate("/").await;
    let decisions: Vec<_> =
        fixture.origin.requests().iter().map(|seen| seen.headers.get("x-vestibule-bypass").cloned()).collect();
    assert_eq!(decisions, [Some("rule".parse().unwrap()), Some("mode".parse().unwrap()), None]);
}

async fn the_origin_gets_path_and_query_byte_for_byte(setup: StoreSetup) {
    let fixture = open(setup).await;
    for target in ["/echo?a=%20b+c&&x=%C3%A4;1", "/a%2Fb//c/./d", "/?", "//x/y"] {
        raw(fixture.gate.address(), &navigation(target, &fixture.host, &[])).await;
        assert_eq!(fixture.origin.requests().last().unwrap().uri.to_string(), target);
    }
}

async fn the_origin_receives_a_valid_pass_and_no_ticket(setup: StoreSetup) {
    let fixture = open(setup).await;
    let mut visitor = admitted(&fixture).await;
    visitor.set_cookie("basket", "1");
    visitor.set_cookie("zone", "eu");
    let headers = visitor.fetch("/echo").await.json()["headers"].clone();
    let keys = visitor.fetch("/_vestibule/jwks.json").await.json();
    let now = fixture.stats().await.now;
    let claims = verify_pass(&keys, headers["x-vestibule-pass"].as_str().unwrap(), now).unwrap();
    assert_eq!(claims.sub, session_in(&visitor.keepalive(fixture.queue.as_str()).await));
    assert_eq!(headers["cookie"], "basket=1; zone=eu", "the ticket stays here");
}

async fn reserved_headers_are_dropped(setup: StoreSetup) {
    let fixture = open(setup).await;
    let mut visitor = admitted(&fixture).await;
    assert_reserved_headers(&fixture, &mut visitor, "127.0.0.1").await;
}

/// Headers of the gate that an admitted visitor sends do not reach the site.
pub(crate) async fn assert_reserved_headers(fixture: &GateFixture, visitor: &mut Visitor, forwarded_for: &str) {
    let request = Request::get("/echo")
        .header("x-vestibule-pass", "forged")
        .header("x-vestibule-session", "forged")
        .header("x_vestibule_pass", "forged")
        .header("x-vestibule-ticket", "")
        .header("x-forwarded-for", "203.0.113.9")
        .header("x-forwarded-host", "evil.example")
        .header("x-forwarded-proto", "https")
        .header("x-real-ip", "203.0.113.9")
        .header("forwarded", "for=203.0.113.9");
    let headers = visitor.request(request, "").await.json()["headers"].clone();
    assert!(headers["x-vestibule-pass"].as_str().unwrap().starts_with("ey"));
    for dropped in ["x-vestibule-session", "x_vestibule_pass", "x-vestibule-ticket", "x-real-ip", "forwarded"] {
        assert_eq!(headers[dropped], Value::Null, "{dropped}");
    }
    assert_eq!(headers["x-forwarded-for"], forwarded_for);
    assert_eq!(headers["x-forwarded-proto"], "http");
    assert_eq!((&headers["x-forwarded-host"], &headers["host"]), (&json!(fixture.host), &json!(fixture.host)));
}

async fn trusted_proxies_keep_forwarded_for(setup: StoreSetup) {
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let fixture = GateFixture::open_with(setup, json!({ "quota": 9 }), options).await;
    let visitor = fixture.visitor().with_header("x-forwarded-for", "203.0.113.9");
    let mut visitor = visitor.with_header("x-forwarded-proto", "https");
    visitor.navigate("/").await;
    let headers = visitor.fetch("/echo").await.json()["headers"].clone();
    assert_eq!(
        (&headers["x-forwarded-for"], &headers["x-forwarded-proto"]),
        (&json!("203.0.113.9, 127.0.0.1"), &json!("https"))
    );
}

async fn hop_by_hop_headers_are_not_forwarded(setup: StoreSetup) {
    let fixture = open(setup).await;
    let lines =
        ["Connection: x-secret", "X-Secret: 1", "Keep-Alive: 5", "TE: deflate", "Proxy-Authorization: x", "X-Kept: 1"];
    raw(fixture.gate.address(), &navigation("/echo", &fixture.host, &lines)).await;
    let headers = fixture.origin.requests().pop().unwrap().headers;
    for dropped in ["x-secret", "keep-alive", "te", "proxy-authorization"] {
        assert!(!headers.contains_key(dropped), "{dropped}");
    }
    assert!(headers.contains_key("x-kept"));
}

async fn every_cookie_of_the_origin_reaches_the_visitor(setup: StoreSetup) {
    let fixture = open(setup).await;
    let answer = fixture.visitor().navigate("/cookies").await;
    let cookies: Vec<&str> = answer
        .headers
        .get_all("set-cookie")
        .iter()
        .map(|value| value.to_str().unwrap().split('=').next().unwrap())
        .collect();
    assert_eq!(cookies, ["basket", "theme", "seen", fixture.cookie_name().as_str()]);
}

async fn the_status_and_the_body_are_the_origin_s(setup: StoreSetup) {
    let fixture = open(setup).await;
    let mut visitor = admitted(&fixture).await;
    for code in [201, 204, 304, 404, 418, 500, 503] {
        assert_eq!(visitor.fetch(&format!("/status/{code}")).await.status.as_u16(), code);
    }
    let head = visitor.request(Request::head("/x"), "").await;
    assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0));
}

async fn bodies_reach_the_origin_once_and_complete(setup: StoreSetup) {
    let fixture = open(setup).await;
    let mut visitor = admitted(&fixture).await;
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let answer = visitor.request(Request::post("/status/201"), body.clone()).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    let posts: Vec<_> = fixture.origin.requests().into_iter().filter(|request| request.method == "POST").collect();
    assert_eq!((posts.len(), posts[0].body == body), (1, true));
}

async fn responses_are_streamed(setup: StoreSetup) {
    let fixture = open(setup).await;
    let mut socket = TcpStream::connect(fixture.gate.address()).await.unwrap();
    socket.write_all(&navigation("/stream", &fixture.host, &[])).await.unwrap();
    let mut read = String::new();
    let mut buffer = [0; 512];
    while !read.contains("line 1") {
        let count = socket.read(&mut buffer).await.unwrap();
        assert!(count > 0, "{read}");
        read.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    assert!(!read.contains("line 5"), "it came all at once");
    let mut rest = String::new();
    socket.read_to_string(&mut rest).await.unwrap();
    assert!(rest.contains("line 5"));
}

/// The script of an error page reloads it once a background request gets another status than this one.
fn assert_watches(page: &TestResponse, status: StatusCode) {
    assert!(page.text().contains(&format!("\"status\":{}}}", status.as_u16())), "{}", page.text());
}

async fn an_unreachable_origin_shows_an_error_page(setup: StoreSetup) {
    let mut fixture = open(setup).await;
    let mut visitor = admitted(&fixture).await;
    fixture.origin.stop().await;
    let page = visitor.navigate("/tour").await;
    assert_eq!(page.status, StatusCode::BAD_GATEWAY);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.header("retry-after"), Some("10"));
    assert!(page.text().contains("You’re admitted. We keep your session for"), "{}", page.text());
    assert!(page.text().contains("http-equiv=\"refresh\"") && page.text().contains("Support code"));
    assert!(!page.text().contains("127.0.0.1"), "the page names what is behind it");
    assert!(set_cookie(&page, &fixture.cookie_name()).is_some(), "the slot is kept");
    let answer = visitor.fetch("/tour").await;
    assert_eq!((answer.status, &answer.json()["code"]), (StatusCode::BAD_GATEWAY, &json!("origin_down")));
    assert_watches(&page, answer.status);
    fixture.origin.restart();
    assert_eq!(visitor.navigate("/tour").await.status, StatusCode::OK);
    assert_eq!(fixture.stats().await.counters.joined, 1);
}

async fn a_slow_origin_shows_an_error_page(setup: StoreSetup) {
    let limits = ProxyLimits { read_timeout: Duration::from_millis(200), ..ProxyLimits::default() };
    let options = GateOptions { proxy: limits, ..GateOptions::default() };
    let fixture = GateFixture::open_with(setup, json!({ "quota": 1 }), options).await;
    let page = fixture.visitor().navigate("/slow?20000").await;
    assert_eq!(page.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
}

async fn websockets_require_admission(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let mut visitor = admitted(&fixture).await;
    let mut socket = visitor.web_socket("/ws").await.unwrap();
    for text in ["hello", "and again"] {
        socket.send(Message::text(text)).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), Message::text(text));
    }
    let mut waiting = admitted(&fixture).await;
    let refused = waiting.web_socket("/ws").await.unwrap_err();
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    let stranger = fixture.visitor().web_socket("/ws").await.unwrap_err();
    assert_eq!(stranger.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(fixture.counts().await, (1, 1));
}

/// An origin whose answer is cached as the last part of the path says.
async fn caching_origin() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = |Path(caching): Path<String>| async move { ([("cache-control", caching)], "x").into_response() };
    tokio::spawn(
        async move { axum::serve(listener, Router::new().route("/{caching}", axum::routing::get(answer))).await },
    );
    url
}

async fn responses_with_tickets_are_not_shared(setup: StoreSetup) {
    let fixture = open(setup).await;
    fixture.change(&json!({ "handover": { "kind": "proxy", "origin": caching_origin().await } })).await;
    let newcomer = fixture.visitor().navigate("/public,max-age=60").await;
    assert!(set_cookie(&newcomer, &fixture.cookie_name()).is_some());
    assert!(newcomer.header("cache-control").unwrap().contains("private"), "the answer is theirs alone");
    let mut visitor = fixture.visitor();
    visitor.navigate("/no-store").await;
    for caching in ["public", "public,max-age=60", "s-maxage=5", "max-age=31536000,immutable", "PUBLIC", "max-age=60"] {
        let answer = visitor.fetch(&format!("/{caching}")).await;
        assert!(set_cookie(&answer, &fixture.cookie_name()).is_none(), "{caching}");
        assert_eq!(answer.header("cache-control"), Some(caching));
    }
    for caching in ["private", "no-cache", "max-age=0", "must-revalidate"] {
        let answer = visitor.fetch(&format!("/{caching}")).await;
        assert!(set_cookie(&answer, &fixture.cookie_name()).is_some(), "{caching}");
        assert!(answer.header("cache-control").unwrap().starts_with("private"), "{caching}");
    }
    let page = visitor.navigate("/public,max-age=60").await;
    assert!(set_cookie(&page, &fixture.cookie_name()).is_some(), "a page renews the ticket");
    assert_eq!(page.header("cache-control"), Some("private, max-age=60"));
}

async fn shared_responses_renew_an_aging_ticket(setup: StoreSetup) {
    let fixture = open(setup).await;
    let handover = json!({ "kind": "proxy", "origin": caching_origin().await });
    fixture.change(&json!({ "handover": handover, "active_ttl": 300 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/no-store").await;
    visitor.navigate("/no-store").await;
    for (seconds, is_renewed) in [(90, false), (20, true), (0, false), (90, false), (20, true)] {
        fixture.advance_seconds(seconds);
        let answer = visitor.fetch("/public,max-age=60").await;
        assert_eq!(set_cookie(&answer, &fixture.cookie_name()).is_some(), is_renewed, "after {seconds} s");
        assert_eq!(answer.header("cache-control").unwrap().contains("private"), is_renewed);
    }
}
