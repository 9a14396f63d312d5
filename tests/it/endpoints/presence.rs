//! `keepalive`, `away` and `leave`.

use http::StatusCode;
use serde_json::{Value, json};
use vestibule_core::line::SessionLocation;

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, session_in, set_cookie};

direct_and_lambda! {
    a_keepalive_renews_the_session,
    keepalive_without_a_ticket_does_not_join,
    a_closed_page_leaves_the_line_and_keeps_its_position,
    away_does_not_affect_active_sessions,
    leave_frees_the_slot_and_ends_the_session,
    an_away_beacon_without_a_ticket_changes_nothing,
    leave_is_idempotent,
    an_ended_session_has_a_reason,
}

async fn an_ended_session_has_a_reason(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "active_ttl": 100 })).await;
    let queue = fixture.queue.as_str();
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let mut elsewhere = visitor.clone();
    visitor.leave(queue).await;
    let mut younger = fixture.visitor();
    younger.navigate("/").await;
    let lost = elsewhere.keepalive(queue).await.json();
    assert_eq!((&lost["session"], &lost["reason"]), (&Value::Null, &json!("ended")));
    let page = elsewhere.navigate("/").await;
    assert!(page.text().contains("Your previous session has ended"), "{}", page.text());
    assert_eq!(elsewhere.fetch("/").await.json()["reason"], Value::Null, "it is sent once");

    // One did not come back within `claim_ttl`, the other one within `active_ttl`.
    for (visits, seconds) in [(1, 40), (2, 2000)] {
        younger.leave(queue).await;
        fixture.advance_seconds(100);
        younger = fixture.visitor();
        for _ in 0..visits {
            younger.navigate("/").await;
        }
        fixture.advance_seconds(seconds);
        assert_eq!(younger.keepalive(queue).await.json()["reason"], json!("expired"), "after {seconds} s");
    }
}

async fn a_keepalive_renews_the_session(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1, "active_ttl": 100 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    for _ in 0..5 {
        fixture.advance_seconds(25);
        let answer = visitor.keepalive(fixture.queue.as_str()).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.json()["state"], "admitted");
        assert_eq!(answer.json()["expires_in"], json!(100));
        assert!(set_cookie(&answer, &fixture.cookie_name()).is_some(), "the ticket is signed again");
    }
    assert_eq!((fixture.counts().await, fixture.stats().await.counters.returned), ((0, 1), 0));
}

async fn keepalive_without_a_ticket_does_not_join(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let answer = fixture.visitor().keepalive(fixture.queue.as_str()).await;
    assert_eq!((answer.status, &answer.json()["session"]), (StatusCode::OK, &Value::Null));
    assert!(set_cookie(&answer, &fixture.cookie_name()).is_none());
    assert_eq!(fixture.counts().await, (0, 0));
}

async fn a_closed_page_leaves_the_line_and_keeps_its_position(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let (mut first, mut second) = (fixture.visitor(), fixture.visitor());
    first.navigate("/").await;
    second.navigate("/").await;
    let session = session_in(&first.fetch("/").await);
    let answer = first.away(fixture.queue.as_str()).await;
    assert_eq!((answer.status, answer.body.len()), (StatusCode::NO_CONTENT, 0));
    assert_eq!(second.fetch("/").await.json()["position"], 1, "the second moved up");
    assert_eq!(fixture.counts().await, (1, 0));

    let back = first.navigate("/").await;
    assert!(back.text().contains("data-vestibule"));
    let visitor_status = first.fetch("/").await;
    assert_eq!((session_in(&visitor_status), &visitor_status.json()["position"]), (session, &json!(1)));
    assert_eq!(fixture.counts().await, (2, 0));
}

async fn away_does_not_affect_active_sessions(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    assert_eq!(visitor.away(fixture.queue.as_str()).await.status, StatusCode::NO_CONTENT);
    assert_eq!(fixture.counts().await, (0, 1));
}

async fn leave_frees_the_slot_and_ends_the_session(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let (mut first, mut second) = (fixture.visitor(), fixture.visitor());
    first.navigate("/").await;
    second.navigate("/").await;
    let ticket = first.cookie(&fixture.cookie_name()).unwrap().to_owned();
    let session = session_in(&first.keepalive(fixture.queue.as_str()).await);

    let answer = first.leave(fixture.queue.as_str()).await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert!(set_cookie(&answer, &fixture.cookie_name()).unwrap().contains("Max-Age=0"));
    assert!(first.cookie(&fixture.cookie_name()).is_none());
    assert!(second.navigate("/").await.text().contains("origin /"), "the slot is free at once");
    let found = fixture.gate.store().find(&fixture.queue, session).await.unwrap().unwrap();
    assert_eq!(found.state, SessionLocation::Ended);

    first.set_cookie(&fixture.cookie_name(), &ticket);
    let page = first.navigate("/").await;
    assert!(!page.text().contains("origin /"), "a kept ticket came back");
    assert_ne!(session_in(&first.fetch("/").await), session);
}

async fn an_away_beacon_without_a_ticket_changes_nothing(setup: StoreSetup) {
    let fixture = GateFixture::open(setup.clone(), json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.fetch("/").await);
    let path = |endpoint| format!("{}&session={session}", fixture.own(endpoint));
    for endpoint in ["away", "leave"] {
        assert_eq!(fixture.visitor().post(&path(endpoint)).await.status, StatusCode::NO_CONTENT);
    }
    assert_eq!(fixture.counts().await, (1, 0), "a session's name is no ticket");
}

async fn leave_is_idempotent(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    let mut copy = visitor.clone();
    for answer in [visitor.leave(fixture.queue.as_str()).await, copy.leave(fixture.queue.as_str()).await] {
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
    }
    assert_eq!(fixture.stats().await.counters.left, 1);
}
