//! The function as it is deployed: the program behind a load balancer.

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;
use vestibule_tests::{
    Balancer, BalancerOptions, Deployment, Exposition, Function, Redis, TestResponse, Visitor, promtool_check,
};

use super::{metrics_of, scrape, unzipped};
use crate::line_fixture::StoreFixture;

pub(super) const TOKEN: &str = "a-token-of-the-tests-0123456789";

/// The function over this Redis.
pub(super) fn deployed(redis: &Redis) -> Deployment {
    Deployment::of("metrics").env("VESTIBULE_REDIS_URL", &redis.url()).env("VESTIBULE_METRICS_TOKEN", TOKEN)
}

pub(super) async fn behind_a_balancer(function: Function) -> Balancer {
    Balancer::before(function, BalancerOptions::default()).await
}

async fn get(balancer: &Balancer, headers: &[(&str, &str)]) -> TestResponse {
    let mut visitor = Visitor::new(balancer.address(), "metrics.example.com");
    for (name, value) in headers {
        visitor = visitor.with_header(name, value);
    }
    visitor.fetch("/metrics").await
}

fn bearer() -> (&'static str, &'static str) {
    ("authorization", concat!("Bearer ", "a-token-of-the-tests-0123456789"))
}

/// What does not change from one scrape to the next while nothing happens: times that are still running do.
fn visitor_status(found: &Exposition) -> Vec<String> {
    let running = ["_seconds", "_per_second", "_window_joins"];
    let still = found.samples.iter().filter(|it| !running.iter().any(|ending| it.name.ends_with(ending)));
    still.map(|it| format!("{it:?}")).collect()
}

#[tokio::test]
async fn function_and_router_report_the_same() {
    let redis = Redis::start().await;
    let stores = StoreFixture::at(&redis.url());
    let fixture = stores.open(json!({ "quota": 2, "admissions_per_minute": 600 })).await;
    fixture.join_many(5).await;
    let here = scrape(&metrics_of(&stores)).await;

    let balancer = behind_a_balancer(deployed(&redis).emulated().await).await;
    let answer = get(&balancer, &[bearer()]).await;
    assert_eq!(answer.status, StatusCode::OK, "{:?}\n{}", balancer.complaints(), balancer.function().log());
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert_eq!(visitor_status(&Exposition::of(answer.text())), visitor_status(&here));
    assert_eq!(promtool_check(answer.text()), "");

    let zipped = get(&balancer, &[bearer(), ("accept-encoding", "gzip")]).await;
    assert_eq!(visitor_status(&Exposition::of(&unzipped(&zipped.body))), visitor_status(&here));
    assert_eq!(get(&balancer, &[]).await.status, StatusCode::UNAUTHORIZED);
    assert_eq!(get(&balancer, &[("authorization", "Bearer wrong-wrong-wrong")]).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_function_reports_an_unavailable_store() {
    let redis = Redis::start().await;
    let balancer = behind_a_balancer(deployed(&redis).instances(1).await).await;
    assert_eq!(get(&balancer, &[bearer()]).await.status, StatusCode::OK);
    redis.kill();
    let answer = get(&balancer, &[bearer()]).await;
    assert_eq!(answer.status, StatusCode::OK);
    let found = Exposition::of(answer.text());
    assert_eq!((found.value("vestibule_up", &[]), found.value("vestibule_store_up", &[])), (Some(0.0), Some(0.0)));
}

#[tokio::test]
async fn a_function_reports_new_queues() {
    let redis = Redis::start().await;
    let stores = Arc::new(StoreFixture::at(&redis.url()));
    let balancer = behind_a_balancer(deployed(&redis).instances(1).await).await;
    let queues = async || Exposition::of(get(&balancer, &[bearer()]).await.text()).value("vestibule_queues", &[]);
    assert_eq!(queues().await, Some(0.0));
    stores.open(json!({})).await;
    assert_eq!(queues().await, Some(1.0));
}
