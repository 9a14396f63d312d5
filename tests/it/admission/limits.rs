//! Limits of joins by client address: rejections, and wrong settings of proxies.

use http::StatusCode;
use serde_json::{Value, json};
use vestibule_core::line::ClientAddressState;
use vestibule_tests::{GateOptions, TestResponse};

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, set_cookie};

direct_and_lambda! {
    monitor_affects_no_visitor_of_an_office,
    visitors_above_the_limit_are_rejected,
    rejection_keeps_the_first_visit,
    blocked_network_gets_its_own_page,
    one_trusted_proxy_too_few_limits_nobody,
    one_trusted_proxy_too_many_limits_nobody,
}

/// A full queue with these limits and without pre-tickets.
fn limited(mut protection: Value) -> Value {
    protection["pre_ticket_from"] = json!("none");
    json!({ "protection": protection })
}

fn rejecting() -> Value {
    limited(json!({ "mode": "enforce", "on_exceed": "reject", "per_address": 3 }))
}

async fn behind_proxies(setup: StoreSetup, settings: Value, trusted_proxies: usize) -> GateFixture {
    let options = GateOptions { trusted_proxies, ..GateOptions::default() };
    GateFixture::open_with(setup, settings, options).await
}

/// The page view of a new visitor with this `X-Forwarded-For`.
async fn page_view(fixture: &GateFixture, forwarded_for: &str) -> TestResponse {
    fixture.visitor().with_header("x-forwarded-for", forwarded_for).navigate("/").await
}

/// Visitors from 25 networks, through this proxy if there is one.
async fn others(fixture: &GateFixture, proxy: &str) {
    for number in 0..25 {
        let page = page_view(fixture, &format!("198.51.{number}.1{proxy}")).await;
        assert_eq!(page.status, StatusCode::OK);
    }
}

async fn monitor_affects_no_visitor_of_an_office(setup: StoreSetup) {
    let fixture = behind_proxies(setup, limited(json!({})), 1).await;
    for _ in 0..150 {
        assert_eq!(page_view(&fixture, "203.0.113.9").await.status, StatusCode::OK);
    }
    let stats = fixture.stats().await;
    assert_eq!((stats.waiting, stats.limits.counters.rejected_limit), (150, 0));
    assert_eq!(stats.limits.counters.over_address, 130, "reported");
}

async fn visitors_above_the_limit_are_rejected(setup: StoreSetup) {
    let fixture = behind_proxies(setup, rejecting(), 1).await;
    others(&fixture, "").await;
    for _ in 0..3 {
        assert_eq!(page_view(&fixture, "203.0.113.9").await.status, StatusCode::OK);
    }
    let page = page_view(&fixture, "203.0.113.9").await;
    assert_eq!((page.status, page.header("cache-control")), (StatusCode::TOO_MANY_REQUESTS, Some("no-store")));
    let retry_after: u64 = page.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=450).contains(&retry_after), "the rest of the window and up to half: {retry_after}");
    assert!(page.text().contains("Many visitors joined from your network"), "{}", page.text());
    assert!(page.text().contains(&format!("<meta http-equiv=\"refresh\" content=\"{retry_after}\">")));
    let mut app = fixture.visitor().with_header("x-forwarded-for", "203.0.113.9");
    let status = app.status(fixture.queue.as_str()).await;
    assert_eq!((status.status, &status.json()["state"]), (StatusCode::TOO_MANY_REQUESTS, &json!("waiting")));
    let join = status.json()["join"].clone();
    assert_eq!((&join["action"], &join["reason"]), (&json!("retry_later"), &json!("limit")));
    assert_eq!(join["retry_after"], status.json()["poll_after"]);
    assert_eq!(page_view(&fixture, "203.0.113.10").await.status, StatusCode::OK, "another address");
    assert_eq!(fixture.counts().await, (29, 0));
}

async fn rejection_keeps_the_first_visit(setup: StoreSetup) {
    let mut settings = rejecting();
    settings["protection"]["pre_ticket_from"] = json!(100);
    settings["quota"] = json!(1000);
    let fixture = behind_proxies(setup, settings, 1).await;
    others(&fixture, "").await;
    for _ in 0..3 {
        page_view(&fixture, "203.0.113.9").await;
    }
    let mut visitor = fixture.visitor().with_header("x-forwarded-for", "203.0.113.9");
    let first = visitor.navigate("/").await;
    assert_eq!(first.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(set_cookie(&first, &fixture.cookie_name()).is_some(), "a pre-ticket");
    let first_visit = fixture.stats().await.now.seconds();
    fixture.advance_seconds(300);
    fixture.change(&json!({ "protection": { "mode": "monitor", "pre_ticket_from": 100 } })).await;
    let status = visitor.status(fixture.queue.as_str()).await;
    assert_eq!((status.status, &status.json()["joined_at"]), (StatusCode::OK, &json!(first_visit)));
}

async fn blocked_network_gets_its_own_page(setup: StoreSetup) {
    let mut settings = rejecting();
    settings["protection"]["networks"] = json!({ "203.0.113.0/24": "blocked" });
    let fixture = behind_proxies(setup, settings, 1).await;
    let page = page_view(&fixture, "203.0.113.9").await;
    assert_eq!(page.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(page.text().contains("You cannot join from this network"), "{}", page.text());
    assert_eq!(page_view(&fixture, "203.0.112.9").await.status, StatusCode::OK);
}

/// The gate takes the address of the outer proxy for that of all visitors.
async fn one_trusted_proxy_too_few_limits_nobody(setup: StoreSetup) {
    let fixture = behind_proxies(setup, rejecting(), 1).await;
    others(&fixture, ", 203.0.113.1").await;
    let limits = fixture.stats().await.limits;
    assert_eq!((limits.client_address, limits.counters.rejected_limit), (Some(ClientAddressState::ExtraProxy), 0));
}

/// The header has fewer entries than proxies are trusted.
async fn one_trusted_proxy_too_many_limits_nobody(setup: StoreSetup) {
    let fixture = behind_proxies(setup, rejecting(), 2).await;
    others(&fixture, "").await;
    let limits = fixture.stats().await.limits;
    assert_eq!((limits.client_address, limits.counters.rejected_limit), (Some(ClientAddressState::Unusable), 0));
}
