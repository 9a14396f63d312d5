//! Every function under the emulator, called with every documented event and with what is none: each call is answered or
//! fails by itself, and the process goes on.

use std::path::Path;

use serde_json::{Value, json};
use vestibule_core::PutMode;
use vestibule_core::settings::parse_settings_document;
use vestibule_tests::{Deployment, Function, Redis};

use super::deployment;
use crate::gate_fixture::{TIMEOUT, document_of, over};

const TOKEN: &str = "a-token-of-thirty-two-characters";

/// What no caller of a function sends.
const MALFORMED: [&str; 9] = [
    "",
    "no json",
    "{\"requestContext\":",
    "null",
    "5",
    "[]",
    "{}",
    r#"{"requestContext":{"elb":null},"httpMethod":7,"path":[]}"#,
    r#"{"requestContext":{"elb":{}},"httpMethod":"GET","path":"/","headers":{"x y":1},"body":5}"#,
];

/// The documented events by their names.
fn documented() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/events");
    let mut events: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap()))
        .collect();
    events.sort();
    assert!(events.len() >= 8, "{events:?}");
    events
}

/// Whether a visitor is behind an event: a load balancer's, a function URL's or an HTTP API's.
fn is_request(event: &str) -> bool {
    let event: Value = serde_json::from_str(event).unwrap();
    !event["requestContext"]["elb"].is_null() || !event["requestContext"]["http"].is_null()
}

async fn call(function: &Function, event: &str) -> Result<Value, Value> {
    let said = function.invoke(event.to_owned()).await;
    let error = |text: String| serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
    said.map(|answer| serde_json::from_slice(&answer).unwrap()).map_err(error)
}

/// The error says what is wrong, and nothing broke.
fn assert_clear(error: &Value, event: &str) {
    let message = error["errorMessage"].as_str().unwrap_or_else(|| panic!("{event}: {error}"));
    assert!(message.len() > 10 && !message.contains("panicked"), "{event}: {message}");
    assert_ne!(error["errorType"], "Runtime.ExitError", "{event}: {message}");
}

fn assert_went_on(function: &Function) {
    let log = function.log();
    assert_eq!(log.matches("INIT START").count(), 1, "the process was restarted: {log}");
    assert!(!log.contains("panicked"), "{log}");
}

/// A Redis with one queue for every host.
async fn redis() -> Redis {
    let redis = Redis::start().await;
    let store = over(&redis, TIMEOUT);
    let mut document = document_of("tour", "unused.example.com", "http://127.0.0.1:9", &json!({}));
    document["queues"][0]["hosts"] = json!(["*"]);
    let document = parse_settings_document(&document).unwrap();
    store.put_tenant(&document.tenants[0]).await.unwrap();
    store.put_settings(&document.queues[0], PutMode::Always).await.unwrap();
    redis
}

#[tokio::test]
async fn the_gate_serves_http_events_only() {
    let redis = redis().await;
    let gate = deployment(redis.port()).emulated().await;
    let (_, good) = documented().into_iter().find(|(name, _)| name == "alb").unwrap();
    for (name, event) in documented() {
        let said = call(&gate, &event).await;
        if is_request(&event) {
            let status = said.unwrap_or_else(|error| panic!("{name}: {error}"))["statusCode"].clone();
            assert!(status == 200 || name == "alb-base64-body" && status == 429, "{name}: {status}");
        } else {
            assert_clear(&said.unwrap_err(), &name);
        }
    }
    for event in MALFORMED {
        match call(&gate, event).await {
            Err(error) => assert_clear(&error, event),
            Ok(answer) => assert_eq!(answer["statusCode"], 400, "{event}: {answer}"),
        }
        assert_eq!(call(&gate, &good).await.unwrap()["statusCode"], 200, "after {event}");
    }
    assert_went_on(&gate);
}

#[tokio::test]
async fn metrics_serves_http_events_only() {
    let redis = redis().await;
    let url = redis.url();
    let metrics = Deployment::of("metrics").env("VESTIBULE_REDIS_URL", &url).env("VESTIBULE_METRICS_TOKEN", TOKEN);
    let metrics = metrics.emulated().await;
    for (name, event) in documented() {
        let said = call(&metrics, &event).await;
        if is_request(&event) {
            let status = said.unwrap_or_else(|error| panic!("{name}: {error}"))["statusCode"].clone();
            assert!(status == 404 || status == 401 || status == 405, "{name}: {status}");
        } else if let Err(error) = said {
            assert_clear(&error, &name);
        }
    }
    let scrape = json!({
        "requestContext": { "elb": { "targetGroupArn": "arn" } }, "httpMethod": "GET", "path": "/metrics",
        "headers": { "authorization": format!("Bearer {TOKEN}") }, "body": "", "isBase64Encoded": false,
    });
    for event in MALFORMED {
        if let Err(error) = call(&metrics, event).await {
            assert_clear(&error, event);
        }
        let answer = call(&metrics, &scrape.to_string()).await.unwrap();
        assert_eq!(answer["statusCode"], 200, "after {event}");
        assert!(answer["body"].as_str().unwrap().contains("vestibule_up 1"), "{answer}");
    }
    assert_went_on(&metrics);
}

#[tokio::test]
async fn the_purge_ignores_its_event() {
    let redis = redis().await;
    let purge = Deployment::of("purge").env("VESTIBULE_REDIS_URL", &redis.url()).emulated().await;
    for (name, event) in documented() {
        let summary = call(&purge, &event).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(summary.is_object() || summary.is_null(), "{name}: {summary}");
    }
    for event in MALFORMED {
        if let Err(error) = call(&purge, event).await {
            assert_clear(&error, event);
            assert!(serde_json::from_str::<Value>(event).is_err(), "{event} is JSON: {error}");
        }
    }
    assert_went_on(&purge);
    let over_a_dead_store = Redis::start().await;
    let purge = Deployment::of("purge").env("VESTIBULE_REDIS_URL", &over_a_dead_store.url()).emulated().await;
    over_a_dead_store.kill();
    let error = call(&purge, "{}").await.unwrap_err();
    assert_clear(&error, "a dead store");
    over_a_dead_store.restart_empty().await;
    let again = async || call(&purge, "{}").await.is_ok();
    vestibule_tests::wait_until("the purge works again", TIMEOUT, again).await;
    assert_went_on(&purge);
}
