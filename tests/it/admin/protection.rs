//! Attack mode, and the report of joins.

use std::net::IpAddr;

use http::Method;
use serde_json::{Value, json};
use vestibule_core::line::{ClientDigests, JoinClient, Visit};
use vestibule_core::{ClientNetworks, NetworkPrefix, PrefixDigest, QueueId, SessionId};
use vestibule_records::history::record_samples;

use super::backoffice::{Backoffice, on_memory_and_redis};

on_memory_and_redis! {
    attack_mode_is_started_extended_and_ended,
    attack_mode_refuses_invalid_durations,
    flood_is_in_the_report_at_once,
    report_without_joins_is_empty,
    client_address_state_stays_while_nobody_joins,
}

const ATTACK_MODE: &str = "/queues/tour/attack-mode";

/// The actions of the audit log that concern attack mode, latest first.
async fn audited(backoffice: &Backoffice) -> Vec<Value> {
    let log = backoffice.root().get("/audit").await.json();
    let events = log["events"].as_array().unwrap().iter();
    let of_attack_mode = events.filter(|event| event["action"].as_str().unwrap().ends_with("attack_mode"));
    of_attack_mode.map(|event| json!([event["action"], event["queue"], event["changes"]])).collect()
}

async fn attack_mode_is_started_extended_and_ended(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let before = backoffice.queue("tour", "acme", json!({ "quota": 9 })).await;
    let (mut root, now) = (backoffice.root(), backoffice.now());
    let put = |seconds| Some(json!({ "duration_seconds": seconds }));
    let started = root.send(Method::PUT, ATTACK_MODE, &[], put(1800)).await;
    assert_eq!((started.status.as_u16(), started.json()), (200, json!({ "attack_mode_until": now + 1800 })));
    let report = root.get("/queues/tour/protection").await.json();
    assert_eq!((&report["attack_mode_until"], &report["pre_ticket_required"]), (&json!(now + 1800), &json!(true)));
    assert_eq!(report["difficulty"], 4, "of the first join of a network");
    assert_eq!(root.get("/queues/tour/stats").await.json()["attack_mode_until"], now + 1800);
    assert_eq!(root.get("/stats").await.json()["queues"][0]["attack_mode_until"], now + 1800);
    assert_eq!(report["mode"], "monitor", "the settings stay");
    assert_eq!(root.get("/queues/tour").await.json()["revision"], before["revision"]);
    backoffice.advance_seconds(600);
    let extended = root.send(Method::PUT, ATTACK_MODE, &[], put(1800)).await.json();
    assert_eq!(extended, json!({ "attack_mode_until": now + 2400 }));
    for _ in 0..2 {
        assert_eq!(root.send(Method::DELETE, ATTACK_MODE, &[], None).await.status, 204);
    }
    let report = root.get("/queues/tour/protection").await.json();
    assert_eq!((&report["attack_mode_until"], &report["pre_ticket_required"]), (&Value::Null, &json!(false)));
    root.send(Method::PUT, ATTACK_MODE, &[], put(60)).await;
    backoffice.advance_seconds(60);
    assert_eq!(
        root.get("/queues/tour/protection").await.json()["attack_mode_until"],
        Value::Null,
        "it ended by itself"
    );
    assert_eq!(root.send(Method::DELETE, ATTACK_MODE, &[], None).await.status, 204);
    let start = |seconds| {
        let changes = json!([{ "field": "duration_seconds", "from": null, "to": seconds }]);
        json!(["queue.attack_mode", "tour", changes])
    };
    let end = json!(["queue.end_attack_mode", "tour", []]);
    assert_eq!(audited(&backoffice).await, [start(60), end, start(1800), start(1800)], "only an early end is an event");
}

async fn attack_mode_refuses_invalid_durations(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let mut root = backoffice.root();
    for wrong in
        [json!({ "duration_seconds": 59 }), json!({ "duration_seconds": 86_401 }), json!({}), json!({ "seconds": 60 })]
    {
        assert_eq!(root.send(Method::PUT, ATTACK_MODE, &[], Some(wrong)).await.status, 422);
    }
    let unknown = root.send(Method::PUT, "/queues/gig/attack-mode", &[], Some(json!({ "duration_seconds": 60 }))).await;
    assert_eq!(unknown.status, 404);
    assert_eq!(audited(&backoffice).await, Vec::<Value>::new());
}

/// Joins of this many sessions with one address.
async fn join(backoffice: &Backoffice, address: &str, count: usize) {
    let queue: QueueId = "tour".parse().unwrap();
    let networks = ClientNetworks::of(address.parse().unwrap()).unwrap();
    // Addresses of different networks that share no cell.
    let IpAddr::V4(v4) = networks.network.network() else { panic!("an IPv4 address") };
    let digest = |kind| PrefixDigest::of_rows([v4.to_bits().wrapping_mul(2_654_435_761) + kind, v4.to_bits() + kind]);
    let (prefixes, network) =
        (ClientDigests { address: digest(0), network: digest(1) }, NetworkPrefix::of(networks.network));
    let client = JoinClient { prefixes: Some(prefixes), network: Some(network), ..JoinClient::default() };
    for _ in 0..count {
        let visit = Visit { client, pre_tickets_issued: 4, ..Visit::joining(SessionId::random()) };
        backoffice.store.visit(&queue, visit).await.unwrap();
    }
}

async fn flood_is_in_the_report_at_once(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let protection = json!({
        "pre_ticket_from": "none", "per_address": 10, "networks": { "203.0.113.0/24": "suspicious" },
    });
    backoffice.queue("tour", "acme", json!({ "quota": 0, "protection": protection })).await;
    for number in 0..20 {
        join(&backoffice, &format!("198.51.{number}.1"), 1).await;
    }
    join(&backoffice, "203.0.113.9", 80).await;
    let report = backoffice.root().get("/queues/tour/protection").await.json();
    let first = |name: &str| report["joins"][name].as_array().unwrap()[..7].to_vec();
    assert_eq!(first("by_address"), [21, 2, 4, 8, 16, 32, 17]);
    assert_eq!(report["joins"]["by_network"].as_array().unwrap().len(), 16);
    assert!(report["joins"]["per_second"].as_f64().unwrap() >= 5.0, "{report}");
    assert_eq!(report["networks"], json!([{ "prefix": "203.0.113.0/24", "joins": 80, "list": "suspicious" }]));
    assert_eq!(report["over_limit"], json!({ "address": 70, "network": 0 }));
    assert_eq!(report["pre_tickets"], json!({ "issued": 400, "redeemed": 0, "share_not_redeemed": 1.0 }));
    assert_eq!((&report["client_address"], &report["no_address_share"]), (&json!("ok"), &json!(0.0)));
}

async fn client_address_state_stays_while_nobody_joins(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "protection": { "pre_ticket_from": "none" } })).await;
    for _ in 0..20 {
        let visit = Visit::joining(SessionId::random());
        backoffice.store.visit(&"tour".parse().unwrap(), visit).await.unwrap();
    }
    let state = async || backoffice.root().get("/queues/tour/protection").await.json()["client_address"].clone();
    assert_eq!(state().await, "unusable", "no join has an address");
    record_samples(&*backoffice.store, &**backoffice.admin.records()).await.unwrap();
    backoffice.advance_seconds(600);
    assert_eq!(state().await, "unusable", "as the metric and the alert");
}

async fn report_without_joins_is_empty(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let report = backoffice.root().get("/queues/tour/protection").await.json();
    let none = json!([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        report,
        json!({
            "queue": "tour", "mode": "monitor", "pre_ticket_required": false, "attack_mode_until": null,
            "client_address": "ok", "no_address_share": 0.0, "window_seconds": 0,
            "pre_tickets": { "issued": 0, "redeemed": 0, "share_not_redeemed": null },
            "joins": { "per_second": 0.0, "by_address": none, "by_network": none },
            "networks": [], "over_limit": { "address": 0, "network": 0 },
            "would_challenge": 0, "rejected": { "blocked": 0, "full": 0, "rate": 0, "limit": 0 },
            "proofs": { "challenged": 0, "valid": 0, "invalid": 0, "delayed_joins": 0 },
            "difficulty": 0, "identities": { "accepted": 0, "rejected": 0 },
        })
    );
}
