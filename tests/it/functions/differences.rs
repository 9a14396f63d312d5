//! What a load balancer in front of a function does otherwise than a server that the visitor talks to. Each difference
//! has a test here that shows what happens instead, and a row in README.md.

use axum::Router;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use vestibule_tests::{GateOptions, MAX_REQUEST};

use crate::gate_fixture::{GateFixture, StoreSetup, navigation, raw, session_in, set_cookie};
use crate::handover::proxy::assert_reserved_headers;

/// Why a test of the gate is not run through the load balancer.
#[derive(Clone, Copy)]
pub(crate) enum Difference {
    /// It takes the query apart: an empty one, empty parts and the order of the names are lost.
    Query,
    /// It says itself by which scheme the visitor came.
    Scheme,
    /// It is a proxy that is trusted, so there is no gate behind it that trusts none.
    Trust,
    /// It takes a body of 1 MB at most, and an answer of 1 MB at most.
    Size,
    /// It hands an answer on when all of it is there.
    Streaming,
    /// It refuses upgrades.
    WebSocket,
}

async fn open(changes: Value) -> GateFixture {
    GateFixture::open(StoreSetup::function().await, changes).await
}

fn sorted(uri: &str) -> (String, Vec<String>) {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let mut parts: Vec<String> = query.split('&').map(str::to_owned).collect();
    parts.sort();
    (path.to_owned(), parts)
}

/// Instead of `the_origin_gets_path_and_query_byte_for_byte` and its like for redirects.
#[tokio::test]
async fn path_and_query_arrive_undecoded_in_any_name_order() {
    let fixture = open(json!({ "quota": 9 })).await;
    for (sent, arrives) in [
        ("/echo?a=%20b+c&x=%C3%A4;1&a=%2B", "/echo?a=%20b+c&a=%2B&x=%C3%A4;1"),
        ("/a%2Fb//c/./d", "/a%2Fb//c/./d"),
        ("//x/y?next=https://evil.example/?b", "//x/y?next=https://evil.example/?b"),
        ("/;x=1/a,b:c@d!$'()*~?=z&z", "/;x=1/a,b:c@d!$'()*~?=z&z="),
        ("/?", "/"),
        ("/?a=1&&b=2", "/?a=1&b=2"),
    ] {
        raw(fixture.gate.address(), &navigation(sent, &fixture.host, &[])).await;
        let arrived = fixture.origin.requests().pop().unwrap().uri.to_string();
        assert_eq!(sorted(&arrived), sorted(arrives), "{sent}");
    }
    fixture.change(&json!({ "handover": { "kind": "redirect", "origin": "https://www.example.com" } })).await;
    fixture.change(&json!({ "cookie_domain": "example.com" })).await;
    let (head, _) = raw(fixture.gate.address(), &navigation("/a%2Fb/%C3%A4?q=%20+x&y=1;2", &fixture.host, &[])).await;
    assert!(head.contains("\r\nlocation: https://www.example.com/a%2fb/%c3%a4?q=%20+x&y=1;2\r\n"), "{head}");
}

/// Instead of `the_ticket_cookie_is_secure_over_https`.
#[tokio::test]
async fn the_listener_decides_whether_cookies_are_secure() {
    for (setup, secure) in [(StoreSetup::function().await, false), (StoreSetup::function().await.with_https(), true)] {
        let fixture = GateFixture::open(setup, json!({})).await;
        for claimed in ["https", "http"] {
            let answer = fixture.visitor().with_header("x-forwarded-proto", claimed).navigate("/").await;
            let cookie = set_cookie(&answer, &fixture.cookie_name()).unwrap();
            assert_eq!(cookie.ends_with("; Secure"), secure, "{claimed}: {cookie}");
        }
    }
}

/// Instead of `reserved_headers_are_dropped`.
#[tokio::test]
async fn reserved_headers_are_replaced() {
    let fixture = open(json!({ "quota": 9 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    // The last is who called the load balancer.
    assert_reserved_headers(&fixture, &mut visitor, "203.0.113.9, 127.0.0.1").await;
}

/// Instead of `bodies_reach_the_origin_once_and_complete`.
#[tokio::test]
async fn largest_body_reaches_the_origin_once_and_complete() {
    let fixture = open(json!({ "quota": 9 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let body: Vec<u8> = (0..MAX_REQUEST).map(|n| (n % 251) as u8).collect();
    let answer = visitor.request(Request::post("/status/201"), body.clone()).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    let posts = || fixture.origin.requests().into_iter().filter(|request| request.method == "POST").collect::<Vec<_>>();
    assert_eq!((posts().len(), posts()[0].body == body), (1, true));
    let larger = visitor.request(Request::post("/status/201"), vec![0; MAX_REQUEST + 1]).await;
    assert_eq!((larger.status, posts().len()), (StatusCode::PAYLOAD_TOO_LARGE, 1));
}

/// An origin with an answer of this many bytes, each of which is one in JSON, or none that is text.
async fn origin_of(bytes: usize, byte: u8) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(move || async move { vec![byte; bytes] });
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// A browser gets the gate's response, not an error page of the load balancer.
#[tokio::test]
async fn an_oversized_response_is_a_502_with_its_reason() {
    for (bytes, byte, passes) in
        [(1_000_000, b'x', true), (1 << 20, b'x', false), (700_000, 0xff, true), (900_000, 0xff, false)]
    {
        let origin = json!({ "kind": "proxy", "origin": origin_of(bytes, byte).await });
        let fixture = open(json!({ "quota": 9, "handover": origin })).await;
        let answer = fixture.visitor().navigate("/large").await;
        let balancer = fixture.gate.balancer().unwrap();
        assert_eq!(balancer.complaints(), Vec::<String>::new(), "{bytes}");
        if passes {
            assert_eq!((answer.status, answer.body.len()), (StatusCode::OK, bytes));
        } else {
            assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
            assert!(answer.text().contains("1 MB"), "{}", answer.text());
            assert!(balancer.function().log().contains("/large"), "{}", balancer.function().log());
        }
        assert!(set_cookie(&answer, &fixture.cookie_name()).is_some(), "the session is kept");
    }
}

/// Instead of `responses_are_streamed`.
#[tokio::test]
async fn functions_return_the_complete_response() {
    let fixture = open(json!({ "quota": 9 })).await;
    let mut socket = TcpStream::connect(fixture.gate.address()).await.unwrap();
    socket.write_all(&navigation("/stream", &fixture.host, &[])).await.unwrap();
    let mut first = vec![0; 65_536];
    let count = socket.read(&mut first).await.unwrap();
    let mut rest = String::new();
    socket.read_to_string(&mut rest).await.unwrap();
    let answer = String::from_utf8_lossy(&first[..count]).into_owned() + &rest;
    assert!(answer.contains("line 1") && answer.contains("line 5"), "{answer}");
    assert!(!answer.to_ascii_lowercase().contains("transfer-encoding"), "its length is known");
}

/// Instead of `websockets_require_admission`.
#[tokio::test]
async fn the_load_balancer_rejects_websockets() {
    let fixture = open(json!({ "quota": 1 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let before = fixture.origin.requests().len();
    assert_eq!(visitor.web_socket("/ws").await.unwrap_err().status, StatusCode::BAD_REQUEST);
    assert_eq!(fixture.origin.requests().len(), before);
    assert_eq!(
        session_in(&visitor.keepalive(fixture.queue.as_str()).await).to_string().len(),
        36,
        "the session is kept"
    );
}

/// Not the load balancer's doing, but its owner's: without multi-value headers it hands one value on.
#[tokio::test]
async fn single_value_headers_deliver_the_ticket() {
    let setup = StoreSetup::function().await.single_value();
    let fixture = GateFixture::open_with(setup, json!({ "quota": 1 }), GateOptions::default()).await;
    let (mut inside, mut waiting) = (fixture.visitor(), fixture.visitor());
    let answer = inside.navigate("/cookies").await;
    assert_eq!(answer.text(), "three cookies");
    assert_eq!(inside.keepalive(fixture.queue.as_str()).await.json()["state"], "admitted");
    waiting.navigate("/").await;
    assert_eq!(waiting.fetch("/?a=1&b=2").await.json()["position"], 1);
    assert_eq!(fixture.counts().await, (1, 1));
}
