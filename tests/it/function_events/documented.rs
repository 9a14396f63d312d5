//! Events as AWS documents them.

use serde_json::{Value, json};
use vestibule_lambda::Invocation;
use vestibule_tests::{Origin, TestResponse};

use super::{Doors, document};
use crate::gate_fixture::StoreSetup;

/// An event of `tests/fixtures/events`.
macro_rules! documented {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/events/", $name, ".json"))
    };
}

async fn waiting(event: &str) -> TestResponse {
    let origin = Origin::start();
    let doors = Doors::open(&StoreSetup::memory(), &document(&origin.url(), &json!({}))).await;
    doors.call(event).await
}

/// Everybody is let in: what reached the origin.
async fn reached(event: &str) -> (TestResponse, Value) {
    let origin = Origin::start();
    let doors = Doors::open(&StoreSetup::memory(), &document(&origin.url(), &json!({ "quota": 9 }))).await;
    let answer = doors.call(event).await;
    let requests = origin.requests();
    assert_eq!(requests.len(), 1, "{answer:?}");
    let of = |name: &str| requests[0].headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let arrived = json!({
        "method": requests[0].method.as_str(), "target": requests[0].uri.to_string(), "host": of("host"),
        "for": of("x-forwarded-for"), "proto": of("x-forwarded-proto"), "cookie": of("cookie"),
        "body": requests[0].body.to_vec(), "passed": of("x-vestibule-pass").is_some(),
    });
    (answer, arrived)
}

fn is_the_queue_page(answer: &TestResponse, secure: bool) {
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let cookie = answer.header("set-cookie").unwrap();
    let name = if secure { "__Host-vestibule_tour=" } else { "vestibule_tour=" };
    assert!(cookie.starts_with(name) && cookie.contains("; Secure") == secure, "{cookie}");
}

#[tokio::test]
async fn a_load_balancer_visitor_waits() {
    let answer = waiting(documented!("alb")).await;
    is_the_queue_page(&answer, false);
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    assert_eq!(answer.body[..2], [0x1f, 0x8b]);
    let answer = waiting(documented!("alb-multi-value")).await;
    is_the_queue_page(&answer, true);
    assert!(answer.text().contains("Acme tour"));
}

#[tokio::test]
async fn a_load_balancer_visitor_is_admitted() {
    let (answer, arrived) = reached(documented!("alb")).await;
    assert!(answer.text().contains("origin /lambda"));
    assert_eq!(
        arrived,
        json!({
            "method": "GET", "target": "/lambda?query=1234ABCD", "host": "lambda-alb-123578498.us-east-1.elb.amazonaws.com",
            "for": "72.12.164.125", "proto": "http", "cookie": null, "body": [], "passed": true,
        })
    );
    let (_, arrived) = reached(documented!("alb-multi-value")).await;
    assert_eq!(arrived["target"], "/?myKey=val1&myKey=val2");
    assert_eq!((&arrived["for"], &arrived["proto"]), (&json!("72.21.198.66"), &json!("https")));
    assert_eq!(arrived["body"], json!("request_body".as_bytes()));
}

#[tokio::test]
async fn base64_bodies_are_decoded_for_the_origin() {
    let event = documented!("alb-base64-body");
    let origin = Origin::start();
    let changes = json!({ "rules": [{ "action": "bypass", "path": ["/upload/**", "/upload%2Fimage"] }] });
    let doors = Doors::open(&StoreSetup::memory(), &document(&origin.url(), &changes)).await;
    assert_eq!(doors.call(event).await.status, 200);
    let request = &origin.requests()[0];
    assert_eq!(request.uri.to_string(), "/upload%2Fimage?name=caf%C3%A9+%2B.png");
    assert_eq!(request.body, b"\x89PNG\r\n\x1a\n"[..]);
    assert_eq!(request.headers["content-length"], "8");
}

#[tokio::test]
async fn health_checks_need_no_host() {
    let answer = waiting(documented!("alb-health-check")).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["store"]), (200, &json!("up")));
}

#[tokio::test]
async fn an_http_api_visitor_waits_and_is_admitted() {
    is_the_queue_page(&waiting(documented!("http-api")).await, true);
    let (_, arrived) = reached(documented!("http-api")).await;
    assert_eq!(
        arrived,
        json!({
            "method": "GET", "target": "/my/path?parameter1=value1&parameter1=value2&parameter2=value",
            "host": "id.execute-api.us-east-1.amazonaws.com", "for": "192.0.2.1", "proto": "https",
            "cookie": "cookie1=value1; cookie2=value2", "body": b"Hello from Lambda".to_vec(), "passed": true,
        })
    );
}

#[tokio::test]
async fn a_function_url_visitor_waits_and_is_admitted() {
    is_the_queue_page(&waiting(documented!("function-url")).await, true);
    let (_, arrived) = reached(documented!("function-url")).await;
    assert_eq!(arrived["target"], "/my/path%2Fto?parameter1=value1&parameter1=value2&parameter2=%2B+");
    assert_eq!(arrived["host"], "url-id.lambda-url.us-west-2.on.aws");
    assert_eq!((&arrived["for"], &arrived["proto"]), (&json!("123.123.123.123"), &json!("https")));
}

#[tokio::test]
async fn the_client_address_cannot_be_forged() {
    let changes = json!({ "rules": [{ "action": "bypass", "source": "192.0.2.0/24" }] });
    let origin = Origin::start();
    let doors = Doors::open(&StoreSetup::memory(), &document(&origin.url(), &changes)).await;
    let mut event: Value = serde_json::from_str(documented!("http-api")).unwrap();
    assert!(doors.call(&event.to_string()).await.text().contains("origin /my/path"));
    event["requestContext"]["http"]["sourceIp"] = json!("198.51.100.7");
    event["headers"]["x-forwarded-for"] = json!("192.0.2.1");
    assert!(doors.call(&event.to_string()).await.header("set-cookie").is_some(), "waits");
}

#[tokio::test]
async fn unsupported_events_are_named() {
    let doors = Doors::open(&StoreSetup::memory(), &document("http://127.0.0.1:9", &json!({}))).await;
    for (event, named) in [
        (documented!("eventbridge-schedule"), "an event of EventBridge"),
        (documented!("rest-api"), "an event of payload format 1.0"),
    ] {
        let error = doors.function.call(serde_json::from_str(event).unwrap(), Invocation::default()).await.unwrap_err();
        assert!(error.to_string().starts_with(named), "{error}");
    }
}
