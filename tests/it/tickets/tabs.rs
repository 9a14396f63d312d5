//! A hundred tabs of one visitor are one session.

use std::collections::HashSet;

use futures_util::future::join_all;
use serde_json::json;
use vestibule_tests::{GateOptions, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, TIMEOUT, on_each_store, session_in};

on_each_store! {
    a_hundred_tabs_of_one_visitor_are_one_session,
    a_hundred_tabs_with_an_ended_ticket_are_one_session,
    a_hundred_concurrent_visitors_are_a_hundred_sessions,
}

/// A gate that a hundred requests at once do not keep from its store.
async fn open(setup: StoreSetup, quota: u64) -> GateFixture {
    let options = GateOptions { store_timeout: TIMEOUT, ..GateOptions::default() };
    GateFixture::open_with(setup, json!({ "quota": quota }), options).await
}

async fn sessions_of_tabs(visitor: &Visitor) -> usize {
    let tabs = (0..100).map(|_| {
        let mut tab = visitor.clone();
        async move {
            tab.navigate("/").await;
            session_in(&tab.fetch("/").await)
        }
    });
    join_all(tabs).await.into_iter().collect::<HashSet<_>>().len()
}

async fn a_hundred_tabs_of_one_visitor_are_one_session(setup: StoreSetup) {
    let fixture = open(setup, 0).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    assert_eq!(sessions_of_tabs(&visitor).await, 1);
    assert_eq!((fixture.counts().await, fixture.stats().await.counters.joined), ((1, 0), 1));
}

async fn a_hundred_tabs_with_an_ended_ticket_are_one_session(setup: StoreSetup) {
    let fixture = open(setup, 0).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    fixture.gate.store().reset(&fixture.queue).await.unwrap();
    assert_eq!(sessions_of_tabs(&visitor).await, 1);
    assert_eq!(fixture.counts().await, (1, 0));

    fixture.advance_seconds(700);
    assert_eq!(sessions_of_tabs(&visitor).await, 1, "a ticket that was held too long");
}

async fn a_hundred_concurrent_visitors_are_a_hundred_sessions(setup: StoreSetup) {
    let fixture = open(setup, 7).await;
    let arrivals = join_all((0..100).map(|_| {
        let (mut visitor, queue) = (fixture.visitor(), fixture.queue.clone());
        async move {
            visitor.navigate("/").await;
            visitor.keepalive(queue.as_str()).await.json()
        }
    }))
    .await;
    let positions: HashSet<u64> =
        arrivals.iter().filter_map(|visitor_status| visitor_status["position"].as_u64()).collect();
    assert_eq!(positions, (1..=93).collect(), "every position once");
    assert_eq!(fixture.counts().await, (93, 7));
}
