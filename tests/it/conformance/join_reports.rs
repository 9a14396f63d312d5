//! What is reported about joins.

use serde_json::json;
use vestibule_core::line::{HISTOGRAM_CELLS, JoinClient, JoinHistogram, LARGEST_NETWORKS_FROM, WindowEvents};
use vestibule_core::{JOIN_WINDOW, NetworkClass, SessionId};

use super::limits::{client, join, joins, limits, others, rejecting};
use crate::line_fixture::StoreFixture;

/// A histogram with these first cells.
fn cells(first: &[u64]) -> JoinHistogram {
    let mut histogram = [0; HISTOGRAM_CELLS];
    histogram[..first.len()].copy_from_slice(first);
    histogram
}

/// How many joins a limit would reject by a histogram.
fn predicted(histogram: &JoinHistogram, limit: u64) -> f64 {
    let cell = |(cell, joins): (usize, &u64)| {
        let (from, to) = (1_u64 << cell, 1_u64 << (cell + 1));
        let above = to.saturating_sub(limit.max(from - 1) + 1);
        *joins as f64 * above as f64 / (to - from) as f64
    };
    histogram.iter().enumerate().map(cell).sum()
}

pub(super) async fn joins_are_counted_by_address_and_network(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    others(&fixture).await;
    assert_eq!(joins(&fixture, client(&fixture, "203.0.113.9"), 5).await, 5);
    assert_eq!(joins(&fixture, client(&fixture, "203.0.113.10"), 3).await, 3);
    join(&fixture, JoinClient::default()).await;
    let report = fixture.protection().await;
    assert_eq!(report.by_address, cells(&[22, 4, 2]), "20 and 1 + 2 + 2 and 1 + 2");
    assert_eq!(report.by_network, cells(&[21, 2, 4, 1]), "20 and 1 + 2 + 4 + 1");
    assert_eq!((report.totals.joins, report.totals.without_address), (29, 1));
}

pub(super) async fn trusted_and_shared_networks_are_counted_as_limits_count_them(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    let class = |class, address| JoinClient { class: Some(class), ..client(&fixture, address) };
    joins(&fixture, class(NetworkClass::Trusted, "203.0.113.9"), 9).await;
    joins(&fixture, class(NetworkClass::Shared, "203.0.114.9"), 33).await;
    let report = fixture.protection().await;
    assert_eq!(report.by_address, cells(&[9 + 16, 17]), "17 to 33 joins count as 2 and 3");
    assert_eq!(report.networks.len(), 1, "the trusted one is below 16 joins");
}

pub(super) async fn histogram_predicts_what_a_limit_rejects(stores: &StoreFixture) {
    let limit = 20;
    let mut figures = Vec::new();
    for settings in [limits(json!({})), rejecting(limit, 60_000)] {
        let fixture = stores.open(settings).await;
        others(&fixture).await;
        let mut joined = 0;
        for (address, count) in [("203.0.113.9", 600), ("203.0.114.9", 25), ("203.0.115.9", 20)] {
            joined += joins(&fixture, client(&fixture, address), count).await;
        }
        figures.push((joined, predicted(&fixture.protection().await.by_address, limit)));
    }
    let [(monitored, predicted), (enforced, _)] = figures[..] else { panic!("two runs") };
    assert_eq!((monitored, enforced), (645, 60));
    // 16 to 31 joins are one cell, in which joins are presumed to be even.
    assert!((predicted - 585.0).abs() <= 0.01 * 645.0, "{predicted}");
}

pub(super) async fn joins_per_second_are_those_of_the_last_seconds(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    let rate = async || (fixture.protection().await.joins_per_second * 10.0).round() as u64;
    others(&fixture).await;
    assert_eq!(rate().await, 20);
    fixture.advance_seconds(15);
    assert_eq!(rate().await, 10, "half of them");
    join(&fixture, JoinClient::default()).await;
    assert_eq!(rate().await, 11);
    fixture.advance_seconds(20);
    assert_eq!(rate().await, 0);
}

pub(super) async fn counts_of_two_windows_are_reported(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(2, 60_000)).await;
    let events = async || fixture.protection().await.events;
    assert_eq!(events().await, WindowEvents::default());
    others(&fixture).await;
    let office = client(&fixture, "203.0.113.9");
    joins(&fixture, office, 5).await;
    let found = events().await.limits;
    assert_eq!((found.over_address, found.rejected_limit), (3, 3));
    fixture.advance_seconds(JOIN_WINDOW);
    fixture.redeem(fixture.first_visit()).await;
    joins(&fixture, office, 4).await;
    let found = events().await;
    assert_eq!((found.limits.rejected_limit, found.pre_tickets_redeemed), (7, 1), "3 and 4");
    fixture.advance_seconds(JOIN_WINDOW);
    let report_then = fixture.protection().await;
    assert_eq!((report_then.events.limits.rejected_limit, report_then.totals.joins), (4, 1), "without a visit");
    assert!((JOIN_WINDOW..2 * JOIN_WINDOW).contains(&report_then.window_seconds));
    fixture.advance_seconds(JOIN_WINDOW);
    let report_then = fixture.protection().await;
    assert_eq!((report_then.events, report_then.totals.joins), (WindowEvents::default(), 0));
    assert_eq!((report_then.by_address, report_then.networks.len()), (cells(&[]), 0));
}

pub(super) async fn largest_networks_are_listed_unless_hidden(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    let listed = async || {
        let report = fixture.protection().await;
        report.networks.iter().map(|entry| (entry.network.to_string(), entry.joins)).collect::<Vec<_>>()
    };
    joins(&fixture, client(&fixture, "203.0.113.9"), LARGEST_NETWORKS_FROM as usize - 1).await;
    assert_eq!(listed().await, []);
    joins(&fixture, client(&fixture, "203.0.113.10"), 1).await;
    joins(&fixture, client(&fixture, "2001:db8:1:2::3"), 20).await;
    let expected = [("2001:db8:1::/48".to_owned(), 20), ("203.0.113.0/24".to_owned(), 16)];
    assert_eq!(listed().await, expected);
    fixture.change(|settings| settings.line.protection.show_networks = false).await;
    assert_eq!(listed().await, []);
    joins(&fixture, client(&fixture, "203.0.113.9"), 1).await;
    assert_eq!(listed().await, [], "nor those that join now");
    fixture.change(|settings| settings.line.protection.show_networks = true).await;
    joins(&fixture, client(&fixture, "203.0.113.9"), 1).await;
    assert_eq!(listed().await, [("203.0.113.0/24".to_owned(), 18)]);
    fixture.store().reset(&fixture.queue).await.unwrap();
    assert_eq!(listed().await, []);
}

pub(super) async fn report_of_a_queue_without_joins_is_empty(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({ "mode": "off" }))).await;
    fixture.visit_as(SessionId::random()).await;
    let report = fixture.protection().await;
    assert_eq!((report.totals.joins, report.networks.len()), (0, 0), "nothing is counted");
    assert_eq!((report.stats.waiting, report.stats.limits.counters.over_address), (1, 0));
}
