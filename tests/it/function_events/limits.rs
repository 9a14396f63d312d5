//! What a function can carry of an origin's answer.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Doors, document, passed_on};
use crate::gate_fixture::StoreSetup;

/// An origin: `/text/<bytes>`, `/binary/<bytes>`, `/endless`, `/never`, `/hangs` after a first line, `/cut` in its answer.
async fn origin() -> String {
    let sized = |byte: u8| move |Path(bytes): Path<usize>| std::future::ready(vec![byte; bytes]);
    let router = Router::new()
        .route("/text/{bytes}", axum::routing::get(sized(b'a')))
        .route("/binary/{bytes}", axum::routing::get(sized(0xff)))
        .route("/endless", axum::routing::get(async || Body::from_stream(endless())))
        .route("/never", axum::routing::get(std::future::pending::<Response>))
        .route("/hangs", axum::routing::get(async || Body::from_stream(hangs())))
        .route("/cut", axum::routing::get(async || Body::from_stream(cut())));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router.fallback(async || "home".into_response())).await });
    format!("http://{address}")
}

type Chunk = Result<Vec<u8>, std::io::Error>;

fn endless() -> impl futures_util::Stream<Item = Chunk> {
    stream::repeat_with(|| Ok(vec![b'a'; 64 << 10]))
}

fn hangs() -> impl futures_util::Stream<Item = Chunk> {
    futures_util::StreamExt::chain(stream::iter([Ok(b"data: 1\n\n".to_vec())]), stream::pending())
}

fn cut() -> impl futures_util::Stream<Item = Chunk> {
    stream::iter([Ok(b"half".to_vec()), Err(std::io::Error::other("gone"))])
}

fn event(path: &str, accept: &str) -> Value {
    json!({
        "requestContext": { "elb": {} }, "httpMethod": "GET", "path": path, "body": "", "isBase64Encoded": false,
        "multiValueHeaders": { "host": ["tickets.example.com"], "accept": [accept], "x-forwarded-for": ["203.0.113.9"] },
    })
}

fn http_api(path: &str) -> Value {
    json!({
        "version": "2.0", "rawPath": path, "rawQueryString": "", "headers": { "accept": "text/html" },
        "requestContext": { "domainName": "tickets.example.com", "http": { "method": "GET", "sourceIp": "203.0.113.9" } },
    })
}

async fn admitting() -> Doors {
    Doors::open(&StoreSetup::memory(), &document(&origin().await, &json!({ "quota": 99 }))).await
}

#[tokio::test]
async fn oversized_response_shows_an_error_page() {
    let doors = admitting().await;
    for path in ["/text/1048576", "/binary/790000", "/endless"] {
        let answer = doors.call(&event(path, "text/html").to_string()).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{path}");
        assert!(answer.text().contains("1 MB") || answer.text().contains("1\u{a0}MB"), "{}", answer.text());
        assert!(answer.header("set-cookie").unwrap().starts_with("vestibule_tour="), "the ticket comes along");
    }
}

#[tokio::test]
async fn other_requests_get_problem_details() {
    let doors = admitting().await;
    let mut first = event("/", "text/html");
    let cookie =
        doors.call(&first.to_string()).await.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    first["multiValueHeaders"]["cookie"] = json!([cookie]);
    first["multiValueHeaders"]["accept"] = json!(["application/json"]);
    first["path"] = json!("/text/2000000");
    let answer = doors.call(&first.to_string()).await;
    assert_eq!((answer.status, &answer.json()["code"]), (StatusCode::BAD_GATEWAY, &json!("response_too_large")));
    assert!(answer.header("set-cookie").is_some());
}

#[tokio::test]
async fn responses_within_the_limit_are_complete() {
    let doors = admitting().await;
    for (path, length) in [("/text/1047000", 1_047_000), ("/binary/785000", 785_000)] {
        let answer = doors.called(&event(path, "text/html").to_string(), Duration::from_secs(20)).await;
        assert_eq!(answer["statusCode"], 200, "{path}");
        assert!(serde_json::to_vec(&answer).unwrap().len() <= 1 << 20);
        assert_eq!(passed_on(&answer).body.len(), length);
    }
    let answer = doors.call(&http_api("/binary/4700000").to_string()).await;
    assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 4_700_000), "6 MB, a third of it for base64");
    assert_eq!(doors.call(&http_api("/binary/4800000").to_string()).await.status, StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn a_slow_origin_gets_504_before_the_function_times_out() {
    let doors = admitting().await;
    for path in ["/never", "/hangs"] {
        let answer = doors.called(&event(path, "text/html").to_string(), Duration::from_millis(1500)).await;
        let answer = passed_on(&answer);
        assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT, "{path}");
        assert!(
            answer.header("set-cookie").unwrap().starts_with("vestibule_tour="),
            "{path}: a page of the gate's own"
        );
    }
}

#[tokio::test]
async fn an_interrupted_response_is_an_error_page() {
    let answer = admitting().await.call(&event("/cut", "text/html").to_string()).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert!(answer.header("content-type").unwrap().starts_with("text/html") && !answer.text().contains("half"));
}

#[tokio::test]
async fn websockets_get_501_in_a_function() {
    let doors = admitting().await;
    let mut event = event("/never", "*/*");
    let upgrade =
        [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")];
    for (name, value) in upgrade {
        event["multiValueHeaders"][name] = json!([value]);
    }
    event["multiValueHeaders"]["sec-fetch-mode"] = json!(["navigate"]);
    let answer = doors.call(&event.to_string()).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["code"]), (501, &json!("upgrade_not_supported")));
    event["multiValueHeaders"]["upgrade"] = json!(["h2c"]);
    event["path"] = json!("/");
    assert_eq!(doors.call(&event.to_string()).await.text(), "home", "one that would not be granted anyway");
}
