//! `operator`: where the overlay of a queue is.

use http::StatusCode;
use serde_json::json;
use vestibule_tests::GateOptions;

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda};

direct_and_lambda! {
    operators_are_sent_to_the_overlay_of_the_queue,
    overlay_needs_the_address_of_the_dashboard,
}

async fn operators_are_sent_to_the_overlay_of_the_queue(setup: StoreSetup) {
    let options = GateOptions { admin_url: Some("https://admin.example.com/".to_owned()), ..GateOptions::default() };
    let fixture = GateFixture::open_with(setup, json!({ "quota": 0 }), options).await;
    let overlay = format!("https://admin.example.com/queues/{}/overlay", fixture.queue);
    for path in [fixture.own("operator"), "/_vestibule/operator".to_owned()] {
        let answer = fixture.visitor().fetch(&path).await;
        assert_eq!((answer.status, answer.header("location")), (StatusCode::FOUND, Some(&*overlay)));
        assert_eq!((answer.header("cache-control"), answer.header("set-cookie")), (Some("no-store"), None));
    }
    let other = fixture.visitor().fetch("/_vestibule/operator?queue=other").await;
    assert_eq!((other.status, other.code()), (StatusCode::NOT_FOUND, "unknown_queue".to_owned()));
    assert_eq!(fixture.stats().await.counters.joined, 0, "it joins nobody");
}

async fn overlay_needs_the_address_of_the_dashboard(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 0 })).await;
    let answer = fixture.visitor().fetch(&fixture.own("operator")).await;
    assert_eq!((answer.status, answer.code()), (StatusCode::NOT_FOUND, "no_admin_url".to_owned()));
}
