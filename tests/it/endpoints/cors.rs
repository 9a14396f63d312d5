//! Which pages may ask the own endpoints.

use http::{Request, StatusCode};
use serde_json::json;
use vestibule_tests::{GateOptions, TestResponse};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda};

direct_and_lambda! {
    cors_allows_hosts_of_the_queue_and_its_origin,
    other_sites_get_no_cors_access,
    preflights_of_allowed_pages_are_answered,
    page_of_the_site_may_read_why_it_waits,
    every_page_may_read_that_its_queue_is_unknown,
}

const ORIGIN: &str = "https://www.example.net";

fn redirecting() -> serde_json::Value {
    json!({ "handover": { "kind": "redirect", "origin": ORIGIN } })
}

fn allowed(answer: &TestResponse) -> Option<&str> {
    answer.header("access-control-allow-origin")
}

async fn cors_allows_hosts_of_the_queue_and_its_origin(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, redirecting()).await;
    let host = fixture.host.clone();
    for origin in [ORIGIN.to_owned(), format!("https://{host}"), format!("http://{host}")] {
        for (method, endpoint) in
            [("GET", "status"), ("GET", "stream"), ("POST", "keepalive"), ("POST", "away"), ("POST", "leave")]
        {
            let request = Request::builder().method(method).uri(fixture.own(endpoint)).header("origin", &origin);
            let answer = fixture.visitor().request(request, "").await;
            assert!(answer.status.is_success(), "{endpoint} of {origin}: {}", answer.status);
            assert_eq!(allowed(&answer), Some(origin.as_str()));
            assert_eq!(answer.header("access-control-allow-credentials"), Some("true"));
            assert!(answer.headers.get_all("vary").iter().any(|value| value == "origin"));
        }
    }
    let nobody = fixture.visitor().status(fixture.queue.as_str()).await;
    assert_eq!(allowed(&nobody), None);
}

async fn other_sites_get_no_cors_access(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, redirecting()).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let near = format!("https://{}.evil.example", fixture.host);
    let longer = format!("https://x{}", fixture.host);
    let other_port = format!("http://{}:9999", fixture.host);
    for origin in [
        "https://evil.example",
        "null",
        "",
        "http://www.example.net",
        "https://www.example.net:8443",
        &near,
        &longer,
        &other_port,
    ] {
        for (method, endpoint) in [("GET", "status"), ("POST", "keepalive"), ("POST", "away"), ("POST", "leave")] {
            let request = Request::builder().method(method).uri(fixture.own(endpoint)).header("origin", origin);
            let answer = visitor.request(request, "").await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{endpoint} of {origin:?}");
            assert_eq!(allowed(&answer), None, "{endpoint} of {origin:?}");
            assert_eq!(answer.json()["code"], "origin_not_allowed");
        }
    }
    assert_eq!(fixture.counts().await, (1, 0), "a page of somebody else's ended the session");
}

async fn preflights_of_allowed_pages_are_answered(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, redirecting()).await;
    let preflight = |origin: &str, endpoint: &str| {
        let request = Request::options(fixture.own(endpoint)).header("origin", origin);
        request
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "x-vestibule-ticket")
    };
    for endpoint in ["status", "keepalive", "away", "leave"] {
        let answer = fixture.visitor().request(preflight(ORIGIN, endpoint), "").await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
        assert_eq!(allowed(&answer), Some(ORIGIN));
        assert!(answer.header("access-control-allow-methods").unwrap().contains("POST"));
        assert!(answer.header("access-control-allow-headers").unwrap().contains("x-vestibule-ticket"));
        let foreign = fixture.visitor().request(preflight("https://evil.example", endpoint), "").await;
        assert_eq!((foreign.status, allowed(&foreign)), (StatusCode::FORBIDDEN, None));
    }
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn page_of_the_site_may_read_why_it_waits(setup: StoreSetup) {
    let handover = json!({ "kind": "proxy", "origin": ORIGIN });
    let fixture = GateFixture::open(setup, json!({ "quota": 0, "handover": handover })).await;
    for (origin, is_allowed) in [(ORIGIN, true), ("https://evil.example", false)] {
        let request = Request::post("/basket").header("origin", origin).header("sec-fetch-mode", "cors");
        let answer = fixture.visitor().request(request, "{}").await;
        assert_eq!((answer.status, allowed(&answer)), (StatusCode::TOO_MANY_REQUESTS, is_allowed.then_some(origin)));
        let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
        assert_eq!(exposed.contains("retry-after"), is_allowed);
    }
}

async fn every_page_may_read_that_its_queue_is_unknown(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let origin = "https://other.example";
    let request = Request::post("/_vestibule/keepalive?queue=misspelled").header("origin", origin);
    let answer = fixture.visitor().request(request, "").await;
    assert_eq!((answer.status, &answer.json()["code"]), (StatusCode::NOT_FOUND, &"unknown_queue".into()));
    assert_eq!(allowed(&answer), Some(origin));
    assert_eq!(answer.header("access-control-allow-credentials"), Some("true"), "the script sends cookies");
}

#[tokio::test]
async fn http_pages_get_no_cors_access_to_https() {
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let fixture = GateFixture::open_with(StoreSetup::memory(), json!({}), options).await;
    for (scheme, status) in [("http", StatusCode::FORBIDDEN), ("https", StatusCode::OK)] {
        let origin = format!("{scheme}://{}", fixture.host);
        let request = Request::get(fixture.own("status")).header("origin", origin).header("x-forwarded-proto", "https");
        assert_eq!(fixture.visitor().request(request, "").await.status, status, "{scheme}");
    }
}

// On a shared server such a queue would take the requests of all others.
#[tokio::test]
async fn a_queue_of_all_hosts_allows_the_requested_host_only() {
    let mut settings = redirecting();
    settings["hosts"] = json!(["*"]);
    let fixture = GateFixture::open(StoreSetup::memory(), settings).await;
    let from = |origin: String| Request::get(fixture.own("status")).header("origin", origin);
    let own = fixture.visitor().request(from(format!("https://{}", fixture.host)), "").await;
    assert_eq!(own.status, StatusCode::OK);
    let other = fixture.visitor().request(from("https://evil.example".to_owned()), "").await;
    assert_eq!(other.status, StatusCode::FORBIDDEN);
}
