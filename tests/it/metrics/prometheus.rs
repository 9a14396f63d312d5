//! Scraped by a real Prometheus.

use serde_json::json;
use vestibule_tests::{Prometheus, Redis, wait_until};

use super::function::{TOKEN, behind_a_balancer, deployed};
use super::requests::Scraped;
use crate::gate_fixture::TIMEOUT;
use crate::line_fixture::StoreFixture;

/// The one value that an expression has, if it has one.
async fn value(prometheus: &Prometheus, expression: &str) -> Option<f64> {
    let found = prometheus.query(expression).await;
    assert!(found.len() < 2, "{expression}: {found:?}");
    found.first().map(|series| series.value)
}

async fn until(prometheus: &Prometheus, expression: &str, expected: f64) {
    wait_until(&format!("{expression} is {expected}"), TIMEOUT, async || {
        value(prometheus, expression).await == Some(expected)
    })
    .await;
}

#[tokio::test]
async fn prometheus_scrapes_the_program() {
    let watched = Scraped::start(&[]).await;
    let (mut first, mut second) = (watched.visitor(), watched.visitor());
    first.navigate("/").await;
    for _ in 0..3 {
        second.navigate("/").await;
    }
    let mut third = watched.visitor();
    for _ in 0..2 {
        third.navigate("/").await;
    }
    let prometheus = Prometheus::scraping("gate", &watched.admin, TOKEN).await;
    until(&prometheus, "up{job=\"gate\"}", 1.0).await;
    until(&prometheus, "vestibule_up", 1.0).await;
    until(&prometheus, "vestibule_queue_waiting{tenant=\"default\",queue=\"default\"}", 2.0).await;
    until(&prometheus, "vestibule_queue_active", 1.0).await;
    until(&prometheus, "vestibule_queue_joined_total", 3.0).await;
    until(&prometheus, "vestibule_queue_mode == 1", 1.0).await;
    until(&prometheus, "vestibule_requests_total{outcome=\"waiting\"}", 3.0).await;
    assert!(
        value(&prometheus, "histogram_quantile(0.99, sum by (le) (vestibule_request_duration_seconds_bucket))").await
            > Some(0.0)
    );
    assert_eq!(prometheus.query("vestibule_queue_mode").await.len(), 6);
    assert_eq!(prometheus.query("{__name__=~\"vestibule_.*\",exported_job!=\"\"}").await, [], "no label conflicts");
}

#[tokio::test]
async fn prometheus_scrapes_the_function() {
    let redis = Redis::start().await;
    let stores = StoreFixture::at(&redis.url());
    let fixture = stores.open(json!({ "quota": 2, "tenant": "acme" })).await;
    fixture.join_many(5).await;
    let balancer = behind_a_balancer(deployed(&redis).instances(2).await).await;
    let prometheus = Prometheus::scraping("function", balancer.address(), TOKEN).await;
    until(&prometheus, "up", 1.0).await;
    let of = format!("{{tenant=\"acme\",queue=\"{}\"}}", fixture.queue);
    until(&prometheus, &format!("vestibule_queue_waiting{of}"), 3.0).await;
    until(&prometheus, &format!("vestibule_queue_wait_seconds_count{of}"), 2.0).await;
    redis.kill();
    until(&prometheus, "vestibule_up", 0.0).await;
    until(&prometheus, "up", 1.0).await;
    assert!(balancer.complaints().is_empty(), "{:?}", balancer.complaints());
}

#[tokio::test]
async fn prometheus_reports_a_wrong_token() {
    let watched = Scraped::start(&[]).await;
    let prometheus = Prometheus::scraping("gate", &watched.admin, "another-token-0123456789").await;
    until(&prometheus, "up", 0.0).await;
    assert!(prometheus.target().await["lastError"].as_str().unwrap().contains("401"));
}
