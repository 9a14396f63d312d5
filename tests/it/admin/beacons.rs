//! The beacons of draws: how their values are recorded, and what happens if they are removed.

use serde_json::{Value, json};
use vestibule_core::line::Visit;
use vestibule_core::{Micros, QueueId, SessionId, Timestamp};
use vestibule_tests::{AdminClient, TestResponse};

use super::backoffice::{Backoffice, on_memory_and_redis, queue};

on_memory_and_redis! {
    value_is_recorded_once_and_draws_the_order,
    settings_cannot_invent_a_value,
    beacon_is_removed_with_a_confirmation,
    import_states_what_happens_to_lobbies,
    recorded_value_survives_export_and_import,
}

const BEACON: &str = "/queues/tour/events/sale/beacon";
/// The hexadecimal digits of "example signature", and their SHA-256.
const SIGNATURE: &str = "6578616d706c65207369676e6174757265";
const RANDOMNESS: &str = "c6686d2de1a96947b4625d7c57d30ff26d0afef6415ee7db2b378e54f7e19bd7";

/// A queue with an event that opens its lobby in 100 seconds, starts in 200 and ends in 1000, and has a beacon.
async fn drawn(backoffice: &Backoffice) -> Value {
    backoffice.tenant("acme").await;
    let at = |seconds: u64| Timestamp::of(Micros(0).add_seconds(backoffice.now() + seconds)).to_string();
    let sale = json!({
        "id": "sale", "lobby_at": at(100), "starts_at": at(200), "ends_at": at(1_000), "beacon": "drand-quicknet",
    });
    backoffice.queue("tour", "acme", json!({ "mode": "scheduled", "events": [sale] })).await["events"][0].take()
}

/// Lets a visitor come to the lobby.
async fn enter_lobby(backoffice: &Backoffice) {
    let queue: QueueId = "tour".parse().unwrap();
    backoffice.store.visit(&queue, Visit::joining(SessionId::random())).await.unwrap();
}

async fn event(root: &mut AdminClient) -> Value {
    root.get("/queues/tour/events/sale").await.json()
}

async fn value_is_recorded_once_and_draws_the_order(backoffice: Backoffice) {
    drawn(&backoffice).await;
    let mut root = backoffice.root();
    let announced = event(&mut root).await;
    let beacon = &announced["draw"]["beacon"];
    assert_eq!((&beacon["status"], &announced["draw"]["ends_at"]), (&json!("announced"), &json!(null)), "{announced}");
    let round = beacon["round"].as_u64().unwrap();
    assert!(beacon["address"].as_str().unwrap().ends_with(&format!("/public/{round}")), "{beacon}");
    let value = json!({ "round": round, "signature": SIGNATURE });
    let refused = async |root: &mut AdminClient, value: Value| {
        let answer = root.post(BEACON, value).await;
        (answer.status.as_u16(), answer.code())
    };
    let early = refused(&mut root, value.clone()).await;
    assert_eq!(early, (422, "beacon_round".to_owned()));
    backoffice.advance_seconds(213);
    assert_eq!(event(&mut root).await["draw"]["beacon"]["status"], "missing");
    let stats = root.get("/queues/tour/stats").await.json();
    assert_eq!((&stats["event"]["awaits_beacon"], &stats["event"]["draw_ends_at"]), (&json!(true), &json!(null)));
    let other = refused(&mut root, json!({ "round": round + 1, "signature": SIGNATURE })).await;
    assert_eq!(other, (422, "beacon_round".to_owned()));
    for wrong in [json!({ "round": round }), json!({ "round": round, "signature": "none" }), json!({})] {
        assert_eq!(refused(&mut root, wrong).await, (422, "validation_failed".to_owned()));
    }
    let in_draw = root.post("/queues/tour/release", json!({ "count": 1 })).await;
    assert_eq!((in_draw.status.as_u16(), in_draw.code()), (409, "draw_in_progress".to_owned()));

    let revision = root.get("/queues/tour").await.json()["revision"].as_u64().unwrap();
    let recorded = root.post(BEACON, value.clone()).await;
    assert_eq!(recorded.status, 200, "{}", recorded.text());
    let recorded = recorded.json();
    let beacon = &recorded["draw"]["beacon"];
    let received_at = Timestamp::of(Micros(0).add_seconds(backoffice.now())).to_string();
    assert_eq!(
        (&beacon["status"], &beacon["randomness"], &beacon["received_at"]),
        (&json!("recorded"), &json!(RANDOMNESS), &json!(received_at))
    );
    assert!(recorded["draw"]["seed"].is_string() && recorded["draw"]["ends_at"].is_string(), "{recorded}");
    assert_eq!(root.get("/queues/tour").await.json()["revision"], revision + 1);
    assert_eq!(refused(&mut root, value).await, (409, "beacon_recorded".to_owned()));
    let entry = root.get("/audit?action=event.beacon").await.json();
    assert_eq!(entry["events"][0]["subject"], "sale", "{entry}");
    backoffice.queue("gig", "acme", json!({ "mode": "open" })).await;
    assert_eq!(
        root.post("/queues/tour/events/other/beacon", json!({ "round": 1, "signature": "00" })).await.status,
        404
    );
}

fn assert_invented(answer: &TestResponse, field: &str) {
    let message = "is recorded by the server; leave it out, or repeat the stored value";
    assert_eq!(answer.wrong_fields(), [format!("{field}: {message}")], "{}", answer.text());
}

async fn settings_cannot_invent_a_value(backoffice: Backoffice) {
    let sale = drawn(&backoffice).await;
    let mut root = backoffice.root();
    let round = event(&mut root).await["draw"]["beacon"]["round"].clone();
    let received_at = Timestamp::of(Micros(0).add_seconds(backoffice.now() + 250)).to_string();
    let value = json!({ "round": round, "randomness": RANDOMNESS, "signature": SIGNATURE, "received_at": received_at });
    let mut invented = sale.clone();
    invented["beacon_value"] = value;
    let answer = root.patch("/queues/tour", json!({ "events": [invented] })).await;
    assert_invented(&answer, "events[0].beacon_value");
    let (mut other, mut copy) = (invented.clone(), invented.clone());
    other["id"] = "other".into();
    let answer = root.patch("/queues/tour", json!({ "events": [other] })).await;
    assert_invented(&answer, "events[0].beacon_value");
    copy["salt"].take();
    let answer = root.post("/queues", queue("gig", "acme", json!({ "events": [copy] }))).await;
    assert_invented(&answer, "events[0].beacon_value");
    let mut removed = sale.clone();
    removed["beacon"].take();
    removed["beacon_removed_at"] = received_at.into();
    let answer = root.patch("/queues/tour", json!({ "events": [removed] })).await;
    assert_invented(&answer, "events[0].beacon_removed_at");

    backoffice.advance_seconds(250);
    assert_eq!(root.post(BEACON, json!({ "round": round, "signature": SIGNATURE })).await.status, 200);
    let stored = root.get("/queues/tour").await.json()["events"].clone();
    assert!(stored[0]["beacon_value"].is_object());
    let mut renamed = stored.clone();
    renamed[0]["name"] = "New".into();
    assert_eq!(
        root.patch("/queues/tour", json!({ "events": renamed })).await.status,
        200,
        "the stored value is repeated"
    );
    let kept = root.patch("/queues/tour", json!({ "events": [sale] })).await.json();
    assert_eq!(kept["events"][0]["beacon_value"], stored[0]["beacon_value"], "or left out");
    let mut changed = stored.clone();
    changed[0]["beacon_value"]["signature"] = "00".into();
    changed[0]["beacon_value"]["randomness"] =
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d".into();
    let answer = root.patch("/queues/tour", json!({ "events": changed })).await;
    assert_invented(&answer, "events[0].beacon_value");
    let clone = root.post("/queues/tour/clone", json!({ "id": "tour-2", "hosts": ["2.example.com"] })).await.json();
    assert!(clone["events"][0]["beacon"].is_string() && clone["events"][0]["beacon_value"].is_null(), "{clone}");
}

async fn beacon_is_removed_with_a_confirmation(backoffice: Backoffice) {
    let sale = drawn(&backoffice).await;
    let mut root = backoffice.root();
    let with = |beacon: Value| {
        let mut event = sale.clone();
        event["beacon"] = beacon;
        json!({ "events": [event] })
    };
    let (with, without) = (with("drand-quicknet".into()), with(Value::Null));
    assert_eq!(root.patch("/queues/tour", without.clone()).await.status, 200, "before the lobby");
    assert_eq!(root.patch("/queues/tour", with.clone()).await.status, 200);
    backoffice.advance_seconds(100);
    enter_lobby(&backoffice).await;
    enter_lobby(&backoffice).await;
    backoffice.advance_seconds(400);
    let asked = root.patch("/queues/tour", without.clone()).await;
    let message = &asked.json()["confirmation"]["message"];
    assert_eq!((&message["code"], &message["params"]["tickets"]), (&json!("will_remove_beacon"), &json!(2)));
    let token = asked.confirmation();
    let headers = [("if-match", "*"), ("x-vestibule-confirm", token.as_str())];
    let removed = root.send(http::Method::PATCH, "/queues/tour", &headers, Some(without)).await;
    assert_eq!(removed.status, 200, "{}", removed.text());
    let now = Timestamp::of(Micros(0).add_seconds(backoffice.now())).to_string();
    assert_eq!(removed.json()["events"][0]["beacon_removed_at"], now);
    let found = event(&mut root).await;
    let draw = &found["draw"];
    assert_eq!(
        (&found["phase"], &draw["beacon"], &draw["beacon_removed_at"]),
        (&json!("draw"), &json!(null), &json!(now))
    );
    assert!(draw["seed"].is_string(), "the order is drawn when the beacon is removed: {draw}");
    let refused = root.patch("/queues/tour", with).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (422, "event_locked".to_owned()));
    let late = root.post(BEACON, json!({ "round": 1, "signature": "00" })).await;
    assert_eq!((late.status.as_u16(), late.code()), (409, "no_beacon".to_owned()));
    backoffice.advance_seconds(30);
    assert_eq!(event(&mut root).await["phase"], "running");
}

async fn import_states_what_happens_to_lobbies(backoffice: Backoffice) {
    drawn(&backoffice).await;
    let mut root = backoffice.root();
    backoffice.advance_seconds(100);
    for _ in 0..3 {
        enter_lobby(&backoffice).await;
    }
    let mut document = root.get("/settings").await.json();
    document["queues"][0]["name"] = "New".into();
    let asked = root.post("/settings", document.clone()).await.json();
    assert_eq!(asked["confirmation"]["message"]["code"], "will_import", "the lobby stays");
    for (events, code) in
        [(json!([]), "will_void_lobby_tickets"), (document["queues"][0]["events"].clone(), "will_remove_beacon")]
    {
        let mut document = document.clone();
        document["queues"][0]["events"] = events;
        if let Some(event) = document["queues"][0]["events"].get_mut(0) {
            event["beacon"] = Value::Null;
        }
        let planned = root.post("/settings?validate=true", document.clone()).await.json();
        let lobby = &planned["plan"]["lobbies"][0];
        assert_eq!((&lobby["queue"], &lobby["event"]), (&json!("tour"), &json!("sale")), "{planned}");
        let message = root.post("/settings", document.clone()).await.json()["confirmation"]["message"].clone();
        let then = &message["params"]["then"];
        assert_eq!((&message["code"], &then["code"]), (&json!("both"), &json!(code)), "{message}");
        assert_eq!(then["params"]["tickets"], 3);
    }
    document["queues"] = json!([]);
    let asked = root.post("/settings?remove=true", document).await.json();
    assert_eq!(asked["confirmation"]["message"]["params"]["then"]["code"], "will_void_lobby_tickets", "{asked}");
}

async fn recorded_value_survives_export_and_import(backoffice: Backoffice) {
    drawn(&backoffice).await;
    let mut root = backoffice.root();
    let round = event(&mut root).await["draw"]["beacon"]["round"].clone();
    backoffice.advance_seconds(300);
    assert_eq!(root.post(BEACON, json!({ "round": round, "signature": SIGNATURE })).await.status, 200);
    let drawn = event(&mut root).await["draw"].clone();
    let document = root.get("/settings").await.json();
    let toml = root.get("/settings?format=toml").await;
    assert!(toml.text().contains("beacon_value"), "{}", toml.text());
    let plan = root.post("/settings?validate=true", document.clone()).await.json();
    assert_eq!(plan["plan"]["queues"], json!([]), "{plan}");
    backoffice.store.remove_queue(&"tour".parse().unwrap()).await.unwrap();
    let token = root.post("/settings", document.clone()).await.confirmation();
    let headers = [("x-vestibule-confirm", token.as_str())];
    let imported = root.send(http::Method::POST, "/settings", &headers, Some(document)).await;
    assert_eq!(imported.status, 200, "{}", imported.text());
    assert_eq!(event(&mut root).await["draw"]["beacon"], drawn["beacon"]);
}
