//! Sessions in the API.

use http::Method;
use serde_json::json;
use vestibule_core::SessionId;

use vestibule_tests::{GateUnderTest, Visitor};

use super::backoffice::{Backoffice, on_memory_and_redis};

on_memory_and_redis! {
    session_is_found_by_id_or_support_code,
    support_code_of_the_queue_page_finds_the_session,
    waiting_sessions_are_paginated,
    ending_a_session_needs_a_confirmation,
    session_is_admitted_out_of_order,
}

async fn session_is_found_by_id_or_support_code(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 1 })).await;
    let sessions = backoffice.join("tour", 3).await;
    let mut root = backoffice.root();
    let found = root.get(&format!("/queues/tour/sessions/{}", sessions[2])).await.json();
    assert_eq!((&found["state"], &found["position"]), (&json!("waiting"), &json!(2)));
    let at = backoffice.now() as f64;
    assert!((found["joined_at"].as_f64().unwrap() - at).abs() < 0.001 && found["expires_at"] == at + 30.0, "{found}");
    assert_eq!(found["last_seen"], found["joined_at"]);
    let code = sessions[2].support_code();
    assert_eq!(found["support_code"], json!(code));
    for written in [code.clone(), code.to_lowercase(), code.replace('-', "%20")] {
        assert_eq!(root.get(&format!("/queues/tour/sessions/{written}")).await.json(), found, "{written}");
    }
    let admitted = root.get(&format!("/queues/tour/sessions/{}", sessions[0])).await.json();
    assert_eq!((&admitted["state"], &admitted["position"]), (&json!("active"), &json!(null)));
    for unknown in [SessionId::random().to_string(), "x".to_owned(), "0NPWV1".to_owned()] {
        assert_eq!(root.get(&format!("/queues/tour/sessions/{unknown}")).await.status, 404, "{unknown}");
    }
}

async fn support_code_of_the_queue_page_finds_the_session(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0 })).await;
    let gate = GateUnderTest::start(backoffice.store.clone(), &json!({ "tenants": [], "queues": [] })).await;
    let mut visitor = Visitor::new(gate.address(), "tour.example.com");
    let page = visitor.navigate("/").await;
    let code = page.text().split("<code>").nth(1).and_then(|rest| rest.split("</code>").next());
    let code = code.unwrap_or_else(|| panic!("{}", page.text()));
    let visitor_status = visitor.status("tour").await.json();
    let mut root = backoffice.root();
    for typed in [code.to_owned(), code.to_lowercase().replace('-', "")] {
        let found = root.get(&format!("/queues/tour/sessions/{typed}")).await.json();
        assert_eq!((&found["session"], &found["support_code"]), (&visitor_status["session"], &json!(code)), "{typed}");
    }
}

async fn waiting_sessions_are_paginated(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0 })).await;
    let sessions = backoffice.join("tour", 5).await;
    let mut root = backoffice.root();
    let mut listed = Vec::new();
    let mut path = "/queues/tour/sessions?limit=2".to_owned();
    loop {
        let page = root.get(&path).await.json();
        let found = page["sessions"].as_array().unwrap().clone();
        assert!(found.len() <= 2);
        listed.extend(found.iter().map(|it| it["session"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/queues/tour/sessions?limit=2&from={next}");
    }
    assert_eq!(listed, sessions.iter().map(ToString::to_string).collect::<Vec<_>>());
    for wrong in ["limit=0", "limit=201", "from=-1", "from=x"] {
        assert_eq!(root.get(&format!("/queues/tour/sessions?{wrong}")).await.status, 422, "{wrong}");
    }
}

async fn ending_a_session_needs_a_confirmation(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let at_once = json!({ "quota": 1, "handover": { "kind": "check" }, "recheck_after": 0 });
    backoffice.queue("tour", "acme", at_once).await;
    let sessions = backoffice.join("tour", 2).await;
    let mut root = backoffice.root();
    let path = format!("/queues/tour/sessions/{}/end", sessions[0].support_code());
    root.send(Method::POST, &path, &[], None).await.assert_code("confirmation_required");
    assert_eq!(root.confirmed(Method::POST, &path, None).await.json(), json!({ "previous_state": "active" }));
    let ended = root.get(&format!("/queues/tour/sessions/{}", sessions[0])).await.json();
    assert_eq!((&ended["state"], &ended["last_seen"]), (&json!("ended"), &json!(null)));
    let next = root.get(&format!("/queues/tour/sessions/{}", sessions[1])).await.json();
    assert_eq!(next["state"], "active", "the place is free at once");
}

async fn session_is_admitted_out_of_order(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0 })).await;
    let sessions = backoffice.join("tour", 3).await;
    let mut root = backoffice.root();
    let path = format!("/queues/tour/sessions/{}/admit", sessions[2].support_code());
    assert_eq!(root.send(Method::POST, &path, &[], None).await.json(), json!({ "admitted": true }));
    let found = root.get(&format!("/queues/tour/sessions/{}", sessions[2])).await.json();
    assert_eq!(found["state"], "active");
    let first = root.get(&format!("/queues/tour/sessions/{}", sessions[0])).await.json();
    assert_eq!(first["position"], 1, "the others stand as before");
    assert_eq!(
        root.send(Method::POST, &path, &[], None).await.json(),
        json!({ "admitted": false }),
        "it is in already"
    );
    let unknown = format!("/queues/tour/sessions/{}/admit", SessionId::random());
    assert_eq!(root.send(Method::POST, &unknown, &[], None).await.status, 404);
}
