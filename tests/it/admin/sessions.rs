//! Sessions in the API.

use std::collections::HashSet;

use http::Method;
use serde_json::json;
use vestibule_core::SessionId;

use vestibule_tests::{GateUnderTest, Visitor};

use super::backoffice::{Backoffice, on_memory_and_redis};

on_memory_and_redis! {
    session_is_found_by_id_or_support_code,
    support_code_of_the_queue_page_finds_the_session,
    short_code_finds_waiting_visitors_in_all_queues,
    waiting_sessions_are_paginated,
    active_and_ended_sessions_are_listed,
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
    assert_eq!(found["last_seen"], json!(null), "the expiry does not tell when it was set");
    let (long, short) = (sessions[2].support_code(), found["support_code"].as_str().unwrap().to_owned());
    assert_eq!(short.len(), 9, "{short}");
    for written in [long.clone(), long.to_lowercase(), long.replace('-', "%20"), short.clone(), short.to_lowercase()] {
        assert_eq!(root.get(&format!("/queues/tour/sessions/{written}")).await.json(), found, "{written}");
    }
    let admitted = root.get(&format!("/queues/tour/sessions/{}", sessions[0])).await.json();
    assert_eq!((&admitted["state"], &admitted["position"]), (&json!("active"), &json!(null)));
    assert_eq!(admitted["support_code"], json!(sessions[0].support_code()));
    for (text, status) in
        [(SessionId::random().to_string(), 404), ("7QK2-M0XV".to_owned(), 404), ("banana".to_owned(), 422)]
    {
        assert_eq!(root.get(&format!("/queues/tour/sessions/{text}")).await.status, status, "{text}");
    }
}

async fn short_code_finds_waiting_visitors_in_all_queues(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.tenant("other").await;
    for (queue, tenant) in [("tour", "acme"), ("drop", "acme"), ("other", "other")] {
        backoffice.queue(queue, tenant, json!({ "quota": 1 })).await;
    }
    let tour = backoffice.join("tour", 3).await;
    backoffice.advance_seconds(1);
    let other = backoffice.join("other", 2).await;
    let mut root = backoffice.root();
    let mut viewer = backoffice.operator("vera", "viewer", &["acme"]).await;
    let list = root.get("/queues/tour/sessions").await.json();
    let code = list["sessions"][1]["support_code"].as_str().unwrap().to_owned();
    for typed in [code.clone(), code.replace('-', "%20").to_lowercase(), tour[2].to_string(), tour[2].support_code()] {
        let found = viewer.get(&format!("/sessions?code={typed}")).await.json();
        let found = &found["sessions"][0];
        assert_eq!((&found["queue"], &found["session"]), (&json!("tour"), &json!(tour[2].to_string())), "{typed}");
        assert_eq!((&found["state"], &found["position"]), (&json!("waiting"), &json!(2)), "{typed}");
    }
    let waiting = root.get("/queues/other/sessions").await.json()["sessions"][0].clone();
    assert_eq!(waiting["session"], json!(other[1].to_string()));
    let foreign = format!("/sessions?code={}", waiting["support_code"].as_str().unwrap());
    assert_eq!(viewer.get(&foreign).await.json(), json!({ "sessions": [] }), "of another tenant");
    assert_eq!(root.get(&foreign).await.json()["sessions"][0]["queue"], "other");
    let refused = root.get("/sessions?code=banana").await;
    assert_eq!(
        (refused.status, &refused.json()["errors"][0]["code"]),
        (http::StatusCode::UNPROCESSABLE_ENTITY, &json!("invalid_value"))
    );
    assert_eq!(root.get("/sessions").await.status, 422);
}

async fn support_code_of_the_queue_page_finds_the_session(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0 })).await;
    let gate = GateUnderTest::start(backoffice.store.clone(), &json!({ "tenants": [], "queues": [] })).await;
    let mut visitor = Visitor::new(gate.address(), "tour.example.com");
    let page = visitor.navigate("/").await;
    let code = page
        .text()
        .split("<code data-vestibule=\"support-code\">")
        .nth(1)
        .and_then(|rest| rest.split("</code>").next());
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

async fn active_and_ended_sessions_are_listed(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 3 })).await;
    let sessions = backoffice.join("tour", 4).await;
    backoffice.store.end(&"tour".parse().unwrap(), sessions[3]).await.unwrap();
    let mut root = backoffice.root();
    let (mut listed, mut path) = (Vec::new(), "/queues/tour/sessions?state=active&limit=2".to_owned());
    loop {
        let page = root.get(&path).await.json();
        listed.extend(page["sessions"].as_array().unwrap().iter().map(|entry| entry["session"].clone()));
        assert!(page["sessions"][0]["admitted_at"].is_f64() && page["sessions"][0]["joined_at"].is_null(), "{page}");
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/queues/tour/sessions?state=active&limit=2&from={next}");
    }
    let expected: HashSet<_> = sessions[..3].iter().map(ToString::to_string).collect();
    assert_eq!(listed.iter().map(|id| id.as_str().unwrap().to_owned()).collect::<HashSet<_>>(), expected);
    assert_eq!(listed.len(), 3);
    let ended = root.get("/queues/tour/sessions?state=ended").await.json();
    assert_eq!(ended["sessions"][0]["session"], json!(sessions[3].to_string()));
    for wrong in ["state=gone", "from=x", "from=1-x", "from=1-1000000"] {
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
    assert_eq!(next["state"], "active", "the slot is free at once");
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
