//! A process that starts while the store is away knows no queue, and must not say that there is none.

use serde_json::{Value, json};
use vestibule_tests::{Function, Origin, Redis, wait_until};

use super::{body, call, event, gate, header, navigation, open_queue};
use crate::gate_fixture::TIMEOUT;

/// A gate that has never seen its store.
async fn before_the_store() -> (Redis, Function) {
    let redis = Redis::start().await;
    redis.kill();
    let gate = gate(&redis, &[]).await;
    (redis, gate)
}

/// What the data of a page says if its script waits for another status than that of this answer.
fn watched(in_background: &Value) -> String {
    format!("\"status\":{}}}", in_background["statusCode"])
}

fn error_code(answer: &Value) -> Value {
    serde_json::from_str::<Value>(body(answer)).unwrap()["code"].clone()
}

#[tokio::test]
async fn the_unavailable_page_reloads_until_the_store_is_up() {
    let (redis, gate) = before_the_store().await;
    let page = call(&gate, &navigation("/tour?a=1")).await;
    assert_eq!(page["statusCode"], 200, "no error page of the gate's own");
    assert_eq!((header(&page, "cache-control"), header(&page, "retry-after")), (Some("no-store"), Some("10")));
    assert!(body(&page).contains("http-equiv=\"refresh\""), "{}", body(&page));
    assert_eq!(header(&page, "set-cookie"), None);
    let in_background = call(&gate, &event("GET", "/tour", &[("accept", "*/*")])).await;
    assert!(body(&page).contains(&watched(&in_background)), "{}", body(&page));

    let origin = Origin::start();
    redis.restart_empty().await;
    open_queue(&redis, &origin.url(), &json!({})).await;
    wait_until("the page becomes the queue page", TIMEOUT, async || {
        let page = call(&gate, &navigation("/tour?a=1")).await;
        header(&page, "set-cookie").is_some_and(|cookie| cookie.starts_with("__Host-vestibule_tour="))
    })
    .await;
}

#[tokio::test]
async fn other_requests_get_retry_after() {
    let (_redis, gate) = before_the_store().await;
    for (method, path) in [
        ("GET", "/api"),
        ("POST", "/buy"),
        ("GET", "/_vestibule/status"),
        ("POST", "/_vestibule/keepalive"),
        ("POST", "/_vestibule/leave"),
        ("GET", "/_vestibule/theme/tour/logo.svg"),
    ] {
        let answer = call(&gate, &event(method, path, &[("accept", "application/json")])).await;
        assert_eq!((&answer["statusCode"], error_code(&answer)), (&json!(429), json!("queues_not_loaded")), "{path}");
        assert_eq!(header(&answer, "retry-after"), Some("5"), "{path}");
        assert_eq!(header(&answer, "cache-control"), Some("no-store"), "{path}");
    }
}

#[tokio::test]
async fn a_check_returns_401_while_queues_are_not_loaded() {
    let (_redis, gate) = before_the_store().await;
    let asked = [("x-forwarded-host", "tickets.example.com"), ("x-forwarded-uri", "/tour"), ("accept", "text/html")];
    let answer = call(&gate, &event("GET", "/_vestibule/check", &asked)).await;
    assert_eq!((&answer["statusCode"], error_code(&answer)), (&json!(401), json!("queues_not_loaded")));
    assert!(body(&answer).contains("\"status\":401"), "{answer}");
    assert_eq!(header(&answer, "x-vestibule-location"), Some("https://tickets.example.com/tour"));
    let mut with_page = event("GET", "/_vestibule/check", &asked);
    with_page["multiValueQueryStringParameters"] = json!({ "page": ["true"] });
    let answer = call(&gate, &with_page).await;
    assert_eq!((&answer["statusCode"], header(&answer, "retry-after")), (&json!(401), Some("10")));
    let asked = [&asked[..2], &[("accept", "*/*")]].concat();
    with_page["multiValueHeaders"] = event("GET", "/_vestibule/check", &asked)["multiValueHeaders"].clone();
    let in_background = call(&gate, &with_page).await;
    assert!(body(&answer).contains(&watched(&in_background)), "{}", body(&answer));
}

#[tokio::test]
async fn health_is_503_and_assets_are_served_in_an_outage() {
    let (_redis, gate) = before_the_store().await;
    assert_eq!(call(&gate, &event("GET", "/_vestibule/health", &[])).await["statusCode"], 503);
    assert_eq!(call(&gate, &event("GET", "/_vestibule/queue.js", &[])).await["statusCode"], 200);
    assert_eq!(call(&gate, &event("GET", "/_vestibule/jwks.json", &[])).await["statusCode"], 200);
}

#[tokio::test]
async fn the_first_request_finds_its_queue() {
    let (redis, origin) = (Redis::start().await, Origin::start());
    open_queue(&redis, &origin.url(), &json!({})).await;
    for path in ["/_vestibule/theme/tour/none.svg", "/_vestibule/status", "/"] {
        let answer = call(&gate(&redis, &[]).await, &event("GET", path, &[])).await;
        let expected = [("/", 429), ("/_vestibule/status", 200)].iter().find(|(known, _)| *known == path);
        assert_eq!(answer["statusCode"], expected.map_or(404, |(_, status)| *status), "{path}: {answer}");
        assert!(!body(&answer).contains("queues_not_loaded"), "{path}: {answer}");
    }
}
