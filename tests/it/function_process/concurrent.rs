use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use vestibule_tests::{Program, Redis, RuntimeApi};

use super::{PASS_KEYS, TICKET_KEYS, body, navigation, open_queue};
use crate::gate_fixture::TIMEOUT;

const AT_ONCE: usize = 4;

/// An origin that answers once this many requests have arrived.
async fn meeting_point() -> String {
    let barrier = Arc::new(Barrier::new(AT_ONCE));
    let meet = move || {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            "all are here"
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(get(meet))).await });
    format!("http://{address}")
}

#[tokio::test]
async fn concurrent_invocations_are_served_concurrently() {
    let redis = Redis::start().await;
    open_queue(&redis, &meeting_point().await, &json!({ "quota": 99 })).await;
    let api = RuntimeApi::open(TIMEOUT + Duration::from_secs(10)).await;
    let _gate = Program::named("gate", &[])
        .env("VESTIBULE_REDIS_URL", &redis.url())
        .env("VESTIBULE_TICKET_KEYS", TICKET_KEYS)
        .env("VESTIBULE_PASS_KEYS", PASS_KEYS)
        .env("AWS_LAMBDA_RUNTIME_API", api.address())
        .env("AWS_LAMBDA_FUNCTION_NAME", "gate")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .env("AWS_LAMBDA_MAX_CONCURRENCY", &AT_ONCE.to_string())
        .start();
    let events = (0..AT_ONCE).map(|_| api.invoke(navigation("/").to_string()));
    for answer in futures_util::future::join_all(events).await {
        let answer: Value = serde_json::from_slice(&answer.unwrap()).unwrap();
        assert_eq!(body(&answer), "all are here", "{answer}");
    }
}
