//! What operators do while a sale runs.

use http::Method;
use serde_json::json;
use vestibule_tests::{GateUnderTest, Visitor};

use super::backoffice::{Backoffice, on_memory_and_redis, redis_store};

on_memory_and_redis! {
    control_applies_to_the_next_visit,
    message_is_set_per_language_and_audited,
    settings_other_than_controls_are_rejected,
    large_release_needs_a_confirmation,
    reset_needs_a_confirmation_and_starts_an_epoch,
    concurrent_control_updates_all_apply,
    draining_queue_admits_everyone_then_closes,
}

async fn control_applies_to_the_next_visit(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0 })).await;
    backoffice.join("tour", 3).await;
    let mut root = backoffice.root();
    let pulled = root.send(Method::PATCH, "/queues/tour/controls", &[], Some(json!({ "quota": 2 }))).await;
    assert_eq!((pulled.status.as_u16(), &pulled.json()["quota"]), (200, &json!(2)));
    let stats = backoffice.store.stats(&"tour".parse().unwrap()).await.unwrap();
    assert_eq!((stats.waiting, stats.active), (1, 2));
    let all = json!({
        "mode": "paused", "quota": 9, "admissions_per_minute": 30, "waiting_ttl": 40, "active_ttl": 50,
        "claim_ttl": 20, "hold_ttl": 60, "max_session": 70, "max_waiting": 5000,
        "admissions_every": 15,
    });
    let pulled = root.patch("/queues/tour/controls", all.clone()).await.json();
    for (name, value) in all.as_object().unwrap() {
        assert_eq!(&pulled[name], value, "{name}");
    }
    let refused = root.patch("/queues/tour/controls", json!({ "admissions_per_minute": null })).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["errors"][0]["code"]), (422, &json!("step_without_rate")));
    let unlimited = json!({ "admissions_per_minute": null, "admissions_every": null });
    assert_eq!(root.patch("/queues/tour/controls", unlimited).await.status, 200);
    assert_eq!(root.get("/queues/tour").await.json()["admissions_per_minute"], json!(null));
}

async fn message_is_set_per_language_and_audited(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let mut root = backoffice.root();
    let controls = "/queues/tour/controls";
    let first = json!({ "default": "Sold out.", "de": "Ausverkauft." });
    assert_eq!(root.patch(controls, json!({ "message": first })).await.json()["message"], first);
    let changed = root.patch(controls, json!({ "message": { "de": null, "fr": "Complet." } })).await.json();
    let second = json!({ "default": "Sold out.", "fr": "Complet." });
    assert_eq!((&changed["message"], &changed["revision"]), (&second, &json!(3)));
    let events = root.get("/audit?limit=1&action=queue.controls").await.json();
    assert_eq!(events["events"][0]["changes"], json!([{ "field": "message", "from": first, "to": second }]));

    for wrong in [
        json!({ "default": "x".repeat(281) }),
        json!({ "default": "a\u{7}" }),
        json!({ "default": null }),
        json!({ "d": "x" }),
    ] {
        let refused = root.patch(controls, json!({ "message": wrong })).await;
        assert_eq!(refused.status, 422, "{wrong}");
        assert!(refused.wrong_fields()[0].starts_with("message"), "{}", refused.text());
    }
    let removed = root.patch(controls, json!({ "message": null })).await.json();
    assert!(removed.get("message").is_none(), "{removed}");
    let events = root.get("/audit?limit=1&action=queue.controls").await.json();
    assert_eq!(events["events"][0]["changes"], json!([{ "field": "message", "from": second, "to": null }]));
}

async fn settings_other_than_controls_are_rejected(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let refused = backoffice.root().patch("/queues/tour/controls", json!({ "hosts": ["x.example"] })).await;
    assert!(
        refused.wrong_fields()[0].starts_with("hosts: is not a control; controls are mode, quota,"),
        "{}",
        refused.text()
    );
    let refused = backoffice.root().patch("/queues/tour/controls", json!({ "quota": "many", "waiting_ttl": 1 })).await;
    assert_eq!(refused.wrong_fields().len(), 2, "{}", refused.text());
}

async fn large_release_needs_a_confirmation(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 1, "mode": "paused" })).await;
    backoffice.join("tour", 150).await;
    let mut root = backoffice.root();
    assert_eq!(
        root.post("/queues/tour/release", json!({ "count": 5 })).await.json(),
        json!({ "released": 5, "complete": true })
    );
    let asked = root.post("/queues/tour/release", json!({ "count": 200 })).await;
    let effect = asked.json()["confirmation"]["consequence"].as_str().unwrap().to_owned();
    assert_eq!(effect, "145 visitors will be admitted now, 150 active in total with a quota of 1.");
    let token = asked.confirmation();
    let with = [("x-vestibule-confirm", token.as_str())];
    let body = |count: u64| Some(json!({ "count": count }));
    root.send(Method::POST, "/queues/tour/release", &with, body(300)).await.assert_code("confirmation_required");
    let released = root.confirmed(Method::POST, "/queues/tour/release", body(200)).await;
    assert_eq!(released.json(), json!({ "released": 145, "complete": true }), "no more were there");
    for wrong in [json!({ "count": 0 }), json!({ "count": 100_001 }), json!({}), json!({ "count": 1, "n": 1 })] {
        assert_eq!(root.post("/queues/tour/release", wrong).await.status, 422);
    }
}

async fn reset_needs_a_confirmation_and_starts_an_epoch(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let before = backoffice.queue("tour", "acme", json!({ "quota": 1 })).await;
    backoffice.join("tour", 3).await;
    backoffice.advance_seconds(10);
    let mut root = backoffice.root();
    let asked = root.send(Method::POST, "/queues/tour/reset", &[], None).await;
    assert!(asked.text().contains("2 waiting and 1 active visitors lose their position"), "{}", asked.text());
    let reset = root.confirmed(Method::POST, "/queues/tour/reset", None).await.json();
    assert!(reset["epoch"].as_u64() > before["epoch"].as_u64() && reset["revision"] == 2, "{reset}");
    let stats = backoffice.store.stats(&"tour".parse().unwrap()).await.unwrap();
    assert_eq!((stats.waiting, stats.active), (0, 0));
}

async fn concurrent_control_updates_all_apply(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let pulls = [("quota", 11), ("waiting_ttl", 21), ("active_ttl", 31), ("hold_ttl", 701)];
    let mut desks: Vec<_> = pulls.iter().map(|_| backoffice.root()).collect();
    let pulled = desks
        .iter_mut()
        .zip(pulls)
        .map(|(client, (name, value))| client.patch("/queues/tour/controls", json!({ name: value })));
    for answer in futures_util::future::join_all(pulled).await {
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let settings = backoffice.root().get("/queues/tour").await.json();
    for (name, value) in pulls {
        assert_eq!(settings[name], value, "{name}");
    }
}

async fn draining_queue_admits_everyone_then_closes(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 1 })).await;
    backoffice.join("tour", 3).await;
    let mut root = backoffice.root();
    let stats = root.get("/queues/tour/stats").await.json();
    assert_eq!(stats["drained_in_seconds"], json!(null), "it is not draining");
    assert!(stats["wait_seconds"]["p50"].is_u64(), "{stats}");

    let drained = root.send(Method::POST, "/queues/tour/drain", &[], None).await;
    assert_eq!((drained.status.as_u16(), &drained.json()["mode"]), (200, &json!("draining")), "{}", drained.text());
    assert_eq!(drained.header("etag"), Some("\"2\""));
    let stats = root.get("/queues/tour/stats").await.json();
    assert_eq!((&stats["mode"], &stats["wait_seconds"]), (&json!("draining"), &json!(null)), "nobody joins");
    let time = |stats: &serde_json::Value| stats["drained_in_seconds"]["p50"].as_u64().unwrap();
    assert!(time(&stats) > 0, "{stats}");

    assert_eq!(root.patch("/queues/tour/controls", json!({ "quota": 3 })).await.status, 200);
    let stats = root.get("/queues/tour/stats").await.json();
    assert_eq!((&stats["waiting"], time(&stats)), (&json!(0), 0), "{stats}");
    let tour = "tour".parse().unwrap();
    backoffice.store.purge(&tour, 100).await.unwrap();
    backoffice.advance_seconds(600);
    backoffice.store.purge(&tour, 100).await.unwrap();
    assert_eq!(root.get("/queues/tour").await.json()["mode"], "closed");
    let entry = root.get("/audit?action=queue.drain").await.json()["events"][0].clone();
    assert_eq!(entry["changes"], json!([{ "field": "mode", "from": "open", "to": "draining" }]));
}

#[tokio::test]
async fn quota_change_reaches_a_gate_in_another_process() {
    let backoffice = Backoffice::redis().await;
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0, "hosts": ["tickets.example.com"] })).await;
    // A connection, a directory and a router of its own: nothing is shared but the Redis.
    let store = redis_store(backoffice.redis.as_ref().unwrap(), &backoffice.clock);
    let gate = GateUnderTest::start(store, &json!({})).await;
    let mut visitor = Visitor::new(gate.address(), "tickets.example.com");
    assert_eq!(visitor.status("tour").await.json()["state"], "waiting");
    assert_eq!(backoffice.root().patch("/queues/tour/controls", json!({ "quota": 1 })).await.status, 200);
    assert_eq!(visitor.status("tour").await.json()["state"], "admitted");
    assert_eq!(backoffice.root().patch("/queues/tour/controls", json!({ "mode": "closed" })).await.status, 200);
    let mut newcomer = Visitor::new(gate.address(), "tickets.example.com");
    assert_eq!(newcomer.status("tour").await.json()["state"], "closed");
}
