//! The document names the metrics that there are.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use vestibule_core::{LastPurge, MICROS_PER_SECOND, Micros, SaleKeys, Timestamp};
use vestibule_metrics::{CATALOG, CallMetrics, RequestMetrics, router};
use vestibule_runtime::{ConnectionCounts, CountLimits};
use vestibule_store_memory::MemoryJobs;
use vestibule_tests::{Exposition, promtool_check};

use super::job_queues::job_queues;
use super::{scrape, text_of};
use crate::conformance::phases::event;
use crate::line_fixture::{START, StoreFixture};

/// Name, type and labels of each metric in the tables of the document.
fn documented() -> Vec<[String; 3]> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/metrics.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `vestibule_"));
    let bare = |cell: &str| cell.replace('`', "").trim().to_owned();
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 4, "{row}");
        assert!(cells[3].trim().len() > 10, "no meaning: {row}");
        [bare(cells[0]), bare(cells[1]), bare(cells[2])]
    })
    .collect()
}

/// A router with everything to say.
async fn router_with_requests(stores: &StoreFixture) -> axum::Router {
    let fixture =
        stores.open(json!({ "quota": 1, "admissions_per_minute": 60, "admissions_every": 15, "max_waiting": 100 }));
    let fixture = fixture.await;
    fixture.join_many(2).await;
    let mut sale = event("sale", 100, 160, 260);
    (sale["order"], sale["beacon"]) = ("draw".into(), "drand-quicknet".into());
    // It has started, and the value of its beacon is missing.
    for (field, seconds) in [("lobby_at", 600), ("starts_at", 100)] {
        sale[field] = Timestamp::of(Micros(START.0 - seconds * MICROS_PER_SECOND)).to_string().into();
    }
    stores.open(json!({ "mode": "scheduled", "events": [sale] })).await;
    stores.store.set_last_purge(&LastPurge::default()).await.unwrap();
    let metrics = super::sources(stores).with_requests(RequestMetrics::new());
    let metrics = metrics
        .with_connections(Arc::new(ConnectionCounts::new(CountLimits::default())))
        .with_sale_keys(&SaleKeys::default());
    let calls = CallMetrics::new();
    calls.observe(&"mails".parse().unwrap(), Duration::from_secs(1));
    let job_queues = job_queues(Arc::new(MemoryJobs::new(stores.clock.clone())), &["mails", "orders.fifo"]).await;
    let metrics = metrics.with_job_queues(job_queues, calls);
    router(metrics, super::TOKEN.parse().unwrap())
}

#[test]
fn documentation_lists_every_metric_with_type_and_labels() {
    let catalog = CATALOG.iter().map(|metric| {
        let kind = format!("{:?}", metric.kind).to_lowercase();
        [metric.name.to_owned(), kind, metric.labels.join(", ")]
    });
    assert_eq!(documented(), catalog.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_scrape_has_exactly_the_cataloged_metrics() {
    let stores = StoreFixture::memory();
    let found: Exposition = scrape(&router_with_requests(&stores).await).await;
    let names: BTreeSet<&str> = found.types.keys().map(String::as_str).collect();
    assert_eq!(names, CATALOG.iter().map(|metric| metric.name).collect());
    for metric in CATALOG {
        assert_eq!(found.types[metric.name], format!("{:?}", metric.kind).to_lowercase(), "{}", metric.name);
        assert_eq!(found.help[metric.name], metric.help);
        for sample in found.all(metric.name) {
            let labels: BTreeSet<&str> = sample.labels.keys().map(String::as_str).collect();
            assert_eq!(labels, metric.labels.iter().copied().collect(), "{}", metric.name);
        }
    }
}

#[tokio::test]
async fn promtool_accepts_the_metrics() {
    let stores = StoreFixture::memory();
    assert_eq!(promtool_check(&text_of(&router_with_requests(&stores).await).await), "");
    assert!(promtool_check("# TYPE bad_total gauge\nbad_total 1\n").contains("bad_total"), "it looks");
}
