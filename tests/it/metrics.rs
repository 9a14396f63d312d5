//! What a scrape finds.

mod access;
mod document;
mod failures;
mod function;
mod job_queues;
mod many;
mod prometheus;
mod requests;
mod values;

use std::io::Read as _;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::Response;
use http::{Request, StatusCode, header};
use tower::ServiceExt as _;
use vestibule_metrics::{Metrics, router};
use vestibule_store_redis::RedisStore;
use vestibule_tests::Exposition;

use crate::line_fixture::StoreFixture;

/// The token of scrapes whose token does not matter.
const TOKEN: &str = function::TOKEN;

/// A scrape with the token, to add to.
fn scraping() -> http::request::Builder {
    Request::get("/metrics").header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
}

/// What a scrape finds.
async fn scrape(metrics: &Router) -> Exposition {
    Exposition::of(&text_of(metrics).await)
}

async fn text_of(metrics: &Router) -> String {
    let response = ask(metrics, scraping()).await;
    assert_eq!(response.status(), StatusCode::OK);
    let kind = response.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    String::from_utf8(bytes_of(response).await).unwrap()
}

async fn ask(metrics: &Router, request: http::request::Builder) -> Response {
    metrics.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
}

async fn bytes_of(response: Response) -> Vec<u8> {
    to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()
}

pub(crate) fn unzipped(bytes: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

fn metrics_of(stores: &StoreFixture) -> Router {
    router(sources(stores), TOKEN.parse().unwrap())
}

fn metrics_at(store: Arc<RedisStore>) -> Router {
    router(Metrics::new(store.clone(), store), TOKEN.parse().unwrap())
}

fn sources(stores: &StoreFixture) -> Metrics {
    Metrics::new(stores.store.clone(), stores.records())
}
