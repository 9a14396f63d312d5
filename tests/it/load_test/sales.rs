//! Sales at size: many joins at once before a full line, streams over a rolling restart, a cache before the line document.
//! `make test-all` runs them; [`super::streams`] has smaller ones.

use super::streams::{assert_cache_shields_the_gate, assert_full_line_holds, rolling_restart};
use super::{assert_passed_except, value};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_joins_at_once_keep_a_line_of_a_thousand() {
    assert_full_line_holds(10_000, 1_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rolling_restart_of_2000_streams_loses_nobody() {
    let report = rolling_restart(2_000, 200).await;
    assert_passed_except(&report, &["failed_share"]);
    let peak = value(&report, "streams_peak");
    assert!(peak > 1_000.0, "{}", report.to_text());
    let busy = report.series.reconnects.iter().filter(|streams| **streams > 0.0).count();
    assert!(busy >= 10, "streams reconnect over {busy} seconds: {:?}", report.series.reconnects);
    assert!(value(&report, "stream_reconnects_peak") < peak / 2.0, "{:?}", report.series.reconnects);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cache_requests_the_line_document_once_a_second() {
    assert_cache_shields_the_gate(30).await;
}
