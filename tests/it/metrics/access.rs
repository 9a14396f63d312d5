//! Who may scrape.

use std::sync::Arc;

use http::{Request, StatusCode, header};
use vestibule_core::SystemClock;
use vestibule_metrics::{Metrics, router};
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_tests::Deployment;

use super::ask;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn guarded() -> axum::Router {
    let store = Arc::new(MemoryStore::new(SystemClock::new()));
    router(Metrics::new(store, Arc::new(MemoryRecords::new(SystemClock::new()))), TOKEN.parse().unwrap())
}

#[tokio::test]
async fn requests_without_the_token_get_401() {
    let metrics = guarded();
    for authorization in
        [None, Some(""), Some("Bearer"), Some("Bearer 0123456789abcdef"), Some("Basic OjA="), Some(TOKEN)]
    {
        let mut request = Request::get("/metrics");
        if let Some(value) = authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        let response = ask(&metrics, request).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{authorization:?}");
        assert!(response.headers()[header::WWW_AUTHENTICATE].to_str().unwrap().starts_with("Bearer "));
        let body: serde_json::Value = serde_json::from_slice(&super::bytes_of(response).await).unwrap();
        assert_eq!(body["code"], "unauthorized");
        assert!(!body.to_string().contains("vestibule_"), "{body}");
    }
}

#[tokio::test]
async fn the_token_gives_access_to_metrics_only() {
    let metrics = guarded();
    let with = |request: http::request::Builder| request.header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
    assert_eq!(ask(&metrics, with(Request::get("/metrics"))).await.status(), StatusCode::OK);
    assert_eq!(ask(&metrics, with(Request::post("/metrics"))).await.status(), StatusCode::METHOD_NOT_ALLOWED);
    for path in ["/", "/metrics/", "/metrics/x", "/_vestibule/health"] {
        assert_eq!(ask(&metrics, with(Request::get(path))).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn a_function_without_a_token_does_not_start() {
    for (token, words) in [(None, "is not set"), (Some("short"), "16 to 1024")] {
        let mut function = Deployment::of("metrics").env("VESTIBULE_REDIS_URL", "redis://127.0.0.1:1");
        if let Some(token) = token {
            function = function.env("VESTIBULE_METRICS_TOKEN", token);
        }
        let function = function.instances(1).await;
        assert!(function.invoke("{}").await.is_err());
        let log = function.log();
        assert!(log.contains("VESTIBULE_METRICS_TOKEN") && log.contains(words) && !log.contains("panicked"), "{log}");
    }
}
