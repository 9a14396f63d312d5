//! The audit log in the API.

use http::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use vestibule_records::{EphemeralKey, EphemeralKind, LogName};
use vestibule_tests::AdminClient;

use super::backoffice::{Backoffice, PASSWORD, on_memory_and_redis};

on_memory_and_redis! {
    audit_event_contains_old_and_new_values,
    every_change_is_audited_without_secrets,
    audit_log_is_searched_and_paginated,
    audit_log_is_exported_as_lines,
    parts_of_an_export_are_the_whole_export,
    large_events_end_a_part_of_an_export,
    operator_cannot_displace_events_of_others,
    daily_changes_of_an_operator_are_limited,
    operator_at_the_limit_can_still_secure_the_account,
    failed_sign_ins_are_audited_without_filling_the_log,
    sign_ins_are_audited_without_filling_the_log,
    events_of_a_removed_tenant_are_for_superusers,
    events_are_kept_for_a_year,
}

async fn audit_event_contains_old_and_new_values(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let mut acme_operator =
        backoffice.operator("zoe", "operator", &["acme"]).await.with_header("x-request-id", "call-7");
    acme_operator.patch("/queues/tour/controls", json!({ "quota": 9 })).await;
    let mut entry = backoffice.root().get("/audit?limit=1&action=queue.controls").await.json()["events"][0].clone();
    assert!(entry["id"].as_str().unwrap().starts_with(&(backoffice.now() * 1000).to_string()), "{entry}");
    entry["id"] = json!("");
    let expected = json!({
        "id": "", "at": backoffice.now(), "operator": "zoe", "token": null, "request": "call-7", "action": "queue.controls",
        "tenant": "acme", "queue": "tour", "subject": null, "revision": 2,
        "changes": [{ "field": "quota", "from": 2, "to": 9 }], "outcome": "done",
        "via": "api",
    });
    assert_eq!(entry, expected);
}

async fn every_change_is_audited_without_secrets(backoffice: Backoffice) {
    let mut root = backoffice.root();
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 0 })).await;
    let session = backoffice.join("tour", 1).await[0];
    root.patch("/tenants/acme", json!({ "name": "Acme" })).await;
    root.patch("/queues/tour", json!({ "name": "Tour" })).await;
    root.patch("/queues/tour/controls", json!({ "active_ttl": 300 })).await;
    root.create("/queues/tour/clone", json!({ "id": "gig", "hosts": ["gig.example.com"] })).await;
    root.send(Method::POST, &format!("/queues/tour/sessions/{session}/admit"), &[], None).await;
    root.post("/queues/tour/release", json!({ "count": 1 })).await;
    root.confirmed(Method::POST, &format!("/queues/tour/sessions/{session}/end"), None).await;
    root.confirmed(Method::POST, "/queues/tour/reset", None).await;
    let operator = json!({ "name": "zoe", "password": PASSWORD, "role": "operator", "tenants": ["acme"] });
    root.create("/operators", operator).await;
    root.patch("/operators/zoe", json!({ "password": "another password" })).await;
    let token = json!({ "name": "script", "role": "viewer", "tenants": ["acme"], "expires_in": 600 });
    let token = root.create("/tokens", token).await;
    let id = token["token"]["id"].as_str().unwrap();
    root.send(Method::DELETE, &format!("/tokens/{id}"), &[], None).await;
    root.confirmed(Method::DELETE, "/operators/zoe", None).await;
    root.confirmed(Method::DELETE, "/queues/gig", None).await;
    let document = json!({ "tenants": [{ "id": "blue", "name": "Blue" }], "queues": [] });
    root.confirmed(Method::POST, "/settings", Some(document)).await;
    root.confirmed(Method::DELETE, "/tenants/blue", None).await;
    let body = json!({ "current": "correct horse battery", "new": "a third password" });
    backoffice.advance_seconds(1);
    root.send(Method::PUT, "/sign-in/password", &[], Some(body)).await;
    root.send(Method::DELETE, "/sign-in", &[], None).await;
    let mut reader = backoffice.admin.client();
    reader.sign_in("root", "a third password").await;

    let log = reader.get("/audit?limit=200").await;
    let entries = log.json()["events"].as_array().unwrap().clone();
    let mut actions: Vec<_> = entries.iter().rev().map(|entry| entry["action"].as_str().unwrap().to_owned()).collect();
    actions.retain(|action| action != "account.sign_in");
    assert_eq!(
        actions,
        [
            // The first superuser, made beside the API.
            "operator.create",
            "tenant.create",
            "queue.create",
            "tenant.update",
            "queue.update",
            "queue.controls",
            "queue.clone",
            "session.admit",
            "queue.release",
            "session.end",
            "queue.reset",
            "operator.create",
            "operator.update",
            "token.create",
            "token.revoke",
            "operator.remove",
            "queue.remove",
            "settings.import",
            "tenant.remove",
            "account.change_password",
            "account.sign_out",
        ]
    );
    let secret = token["secret"].as_str().unwrap();
    for secret in [PASSWORD, "another password", "a third password", "correct horse battery", "argon2id", secret] {
        assert!(!log.text().contains(secret), "{secret}");
    }
}

async fn audit_log_is_searched_and_paginated(backoffice: Backoffice) {
    for tenant in ["acme", "blue"] {
        backoffice.tenant(tenant).await;
        backoffice.queue(&format!("{tenant}-tour"), tenant, json!({})).await;
    }
    let began = backoffice.now();
    backoffice.advance_seconds(100);
    let mut acme_operator = backoffice.operator("zoe", "operator", &["acme"]).await;
    for quota in 10..15 {
        acme_operator.patch("/queues/acme-tour/controls", json!({ "quota": quota })).await;
    }
    let mut root = backoffice.root();
    let mut count =
        async |query: &str| root.get(&format!("/audit?{query}")).await.json()["events"].as_array().unwrap().len();
    assert_eq!(count("operator=zoe&action=queue.").await, 5);
    assert_eq!(count("tenant=blue").await, 2);
    assert_eq!(count("queue=acme-tour").await, 6);
    assert_eq!(count("search=CONTROLS").await, 5);
    assert_eq!(count(&format!("to={began}&action=queue")).await, 2);
    assert_eq!(count(&format!("from={}&action=queue", began + 1)).await, 5);
    assert_eq!(root.get("/audit?before=x").await.status, 422);
    let mut quotas = Vec::new();
    let mut path = "/audit?queue=acme-tour&action=queue.controls&limit=2".to_owned();
    loop {
        let page = root.get(&path).await.json();
        let entries = page["events"].as_array().unwrap();
        quotas.extend(entries.iter().filter_map(|entry| entry["changes"][0]["to"].as_u64()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/audit?queue=acme-tour&action=queue.controls&limit=2&before={next}");
    }
    assert_eq!(quotas, [14, 13, 12, 11, 10]);
}

async fn audit_log_is_exported_as_lines(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "name": "=1+1, \"x\"" })).await;
    let mut root = backoffice.root();
    let lines = root.get("/audit/export?tenant=acme").await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let entries: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((entries.len(), &entries[0]["action"]), (2, &json!("queue.create")));
    let csv = root.get("/audit/export?format=csv&tenant=acme").await;
    let rows: Vec<_> = csv.text().split("\r\n").collect();
    assert_eq!((rows.len(), rows[0].split(',').count()), (4, 13));
    assert!(rows[1].contains("\"queue.create\",\"acme\",\"tour\""), "{}", rows[1]);
}

async fn parts_of_an_export_are_the_whole_export(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let mut root = backoffice.root();
    for quota in 10..40 {
        root.patch("/queues/tour/controls", json!({ "quota": quota })).await;
    }
    for format in ["ndjson", "csv"] {
        let query = format!("/audit/export?format={format}&action=queue.");
        let whole = root.get(&query).await;
        assert_eq!(whole.header("x-vestibule-next"), None, "all events are in it");
        let (mut parts, mut text, mut before) = (0, String::new(), String::new());
        loop {
            let part = root.get(&format!("{query}&limit=10{before}")).await;
            let lines = part.text().lines().count();
            assert!(lines <= 11, "{format}: {lines} lines");
            text += part.text();
            parts += 1;
            let Some(next) = part.header("x-vestibule-next") else { break };
            before = format!("&before={next}");
        }
        assert_eq!((parts, text.as_str()), (4, whole.text()), "{format}");
    }
    assert_eq!(root.get("/audit/export?limit=1001").await.status, 422);
}

/// A function behind a load balancer sends at most 1 MB, compressed or not.
async fn large_events_end_a_part_of_an_export(backoffice: Backoffice) {
    let mut root = backoffice.root();
    backoffice.tenant("acme").await;
    let acme = LogName::TenantAudit("acme".parse().unwrap());
    let mut event: Value = root.get("/audit?limit=1&action=tenant.").await.json()["events"][0].clone();
    event["subject"] = json!("x".repeat(10_000));
    for _ in 0..100 {
        backoffice.admin.records().append(&acme, &event.to_string()).await.unwrap();
    }
    let part = root.get("/audit/export?limit=1000&tenant=acme").await;
    assert!(part.header("x-vestibule-next").is_some());
    assert!((500_000..600_000).contains(&part.text().len()), "{}", part.text().len());
}

async fn operator_cannot_displace_events_of_others(backoffice: Backoffice) {
    for tenant in ["acme", "blue"] {
        backoffice.tenant(tenant).await;
        backoffice.queue(&format!("{tenant}-tour"), tenant, json!({})).await;
    }
    let mut ada = backoffice.operator("ada", "operator", &["acme"]).await;
    ada.patch("/queues/acme-tour/controls", json!({ "quota": 7 })).await;
    let mut eve = backoffice.operator("eve", "operator", &["blue"]).await;
    eve.patch("/queues/blue-tour/controls", json!({ "quota": 7 })).await;
    let blue = LogName::TenantAudit("blue".parse().unwrap());
    let own = backoffice.admin.records().entries(&blue, None, 10).await.unwrap();
    assert_eq!(own.len(), 1, "only what an operator of the tenant did");
    for _ in 0..300 {
        backoffice.admin.records().append(&blue, &own[0].text).await.unwrap();
    }
    let mut root = backoffice.root();
    for (query, count) in
        [("operator=ada&action=queue.", 1), ("action=tenant.create", 2), ("operator=eve&limit=200", 200)]
    {
        let found = root.get(&format!("/audit?{query}")).await.json();
        assert_eq!(found["events"].as_array().unwrap().len(), count, "{query}");
    }
    let lines = root.get("/audit/export?operator=eve").await.text().lines().count();
    assert_eq!(lines, 302, "with the sign-in");
}

/// SHA-256 in hexadecimal digits, as in the keys of counters.
fn hash(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

async fn daily_changes_of_an_operator_are_limited(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let mut acme_operator = backoffice.operator("zoe", "operator", &["acme"]).await;
    assert_eq!(acme_operator.patch("/queues/tour/controls", json!({ "quota": 7 })).await.status, 200);
    let changes_of = |day: u64| EphemeralKey::new(EphemeralKind::Changes, format!("{}-{day}", hash("zoe")));
    let key = changes_of(backoffice.now() / 86_400);
    assert_eq!(backoffice.admin.records().get_ephemeral(&key).await.unwrap().as_deref(), Some("1"));
    backoffice.admin.records().set_ephemeral(&key, "10000", 60).await.unwrap();
    let refused = acme_operator.patch("/queues/tour/controls", json!({ "quota": 8 })).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (429, "too_many_changes".to_owned()));
    let left: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert_eq!((backoffice.now() + left) % 86_400, 0, "until the next day");
    assert_eq!(acme_operator.get("/queues/tour").await.json()["quota"], 7);
    assert_eq!(backoffice.root().patch("/queues/tour/controls", json!({ "quota": 9 })).await.status, 200);
}

async fn operator_at_the_limit_can_still_secure_the_account(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    backoffice.root().create("/job-queues", super::job_queues::job_queue("mails", &json!({}))).await;
    let mut zoe = backoffice.operator("zoe", "operator", &["acme"]).await;
    let token = json!({ "name": "shop", "role": "operator", "tenants": ["acme"], "only": "jobs", "expires_in": 600 });
    let created = zoe.create("/tokens", token).await;
    let key = EphemeralKey::new(EphemeralKind::Changes, format!("{}-{}", hash("zoe"), backoffice.now() / 86_400));
    backoffice.admin.records().set_ephemeral(&key, "10000", 60).await.unwrap();
    let mut shop = backoffice.admin.client().with_token(created["secret"].as_str().unwrap());
    assert_eq!(shop.post("/job-queues/mails/jobs", json!({ "to": "zoe" })).await.status, 202);
    assert_eq!(zoe.post("/url-tests", json!({ "url": "tour.example.com" })).await.status, 200);
    assert_eq!(zoe.patch("/queues/tour?validate=true", json!({ "name": "Tour" })).await.status, 200);
    zoe.patch("/queues/tour", json!({ "name": "Tour" })).await.assert_code("too_many_changes");
    zoe.patch("/queues/tour?validate=false", json!({ "name": "Tour" })).await.assert_code("too_many_changes");
    zoe.patch("/queues/tour/controls?validate=true", json!({ "quota": 3 })).await.assert_code("validation_failed");
    assert_eq!(zoe.post("/sign-in/proof", json!({ "password": PASSWORD })).await.status, 204);
    let revoke = format!("/tokens/{}", created["token"]["id"].as_str().unwrap());
    assert_eq!(zoe.send(Method::DELETE, &revoke, &[], None).await.status, 204);
    let new = json!({ "current": PASSWORD, "new": "another donkey charger" });
    assert_eq!(zoe.send(Method::PUT, "/sign-in/password", &[], Some(new)).await.status, 204);
    assert_eq!(zoe.send(Method::DELETE, "/sign-in", &[], None).await.status, 204);
}

async fn failed_sign_ins_are_audited_without_filling_the_log(backoffice: Backoffice) {
    let mut root = backoffice.root();
    for address in 0..12 {
        let mut client = backoffice.admin.client().with_header("x-forwarded-for", &format!("198.51.100.{address}"));
        client.post("/sign-in", json!({ "name": "root", "password": "this is not it" })).await;
        client.post("/sign-in", json!({ "name": "my-password-typed-here", "password": "this is not it" })).await;
    }
    let log = root.get("/audit?action=account.sign_in_failed").await;
    let listed: Vec<_> = log.json()["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["operator"].clone(), it["changes"][0]["to"].clone()))
        .collect();
    let (known, unknown) = (json!("root"), json!(null));
    let expected = [(unknown.clone(), json!(10)), (known.clone(), json!(10)), (unknown, json!(1)), (known, json!(1))];
    assert_eq!(listed, expected);
    assert!(!log.text().contains("my-password"), "{}", log.text());
}

async fn sign_ins_are_audited_without_filling_the_log(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut zoe = backoffice.operator("zoe", "viewer", &["acme"]).await;
    let mut root = backoffice.root();
    let mut listed = async || {
        let log = root.get("/audit?operator=zoe&limit=200").await.json();
        let events = log["events"].as_array().unwrap().clone();
        let of = |action: &str| events.iter().filter(|it| it["action"] == action).cloned().collect::<Vec<Value>>();
        (of("account.sign_in"), of("account.sign_out").len())
    };
    for _ in 0..14 {
        zoe.send(Method::DELETE, "/sign-in", &[], None).await;
        zoe.sign_in("zoe", PASSWORD).await;
    }
    let (sign_ins, sign_outs) = listed().await;
    assert_eq!((sign_ins.len(), sign_outs), (10, 10));
    assert!(sign_ins.iter().all(|it| it["changes"] == json!([])), "{sign_ins:?}");

    let counter = EphemeralKey::new(EphemeralKind::AccountEvents, hash("account.sign_in zoe "));
    assert_eq!(backoffice.admin.records().get_ephemeral(&counter).await.unwrap().as_deref(), Some("15"));
    backoffice.admin.records().set_ephemeral(&counter, "98", 86_400).await.unwrap();
    for _ in 0..3 {
        zoe.sign_in("zoe", PASSWORD).await;
    }
    let (sign_ins, _) = listed().await;
    assert_eq!(sign_ins.len(), 11);
    assert_eq!(sign_ins[0]["changes"], json!([{ "field": "count", "from": null, "to": 100 }]));
    backoffice.advance_seconds(86_401);
    zoe.sign_in("zoe", PASSWORD).await;
    let mut root = backoffice.admin.root().await;
    let log = root.get("/audit?operator=zoe&action=account.sign_in&limit=200").await.json();
    assert_eq!(log["events"].as_array().unwrap().len(), 12, "the first of another day");
}

async fn events_of_a_removed_tenant_are_for_superusers(backoffice: Backoffice) {
    let mut root = backoffice.root();
    let actions = async |client: &mut AdminClient, query: &str| {
        let log = client.get(&format!("/audit?limit=200{query}")).await.json();
        let events = log["events"].as_array().unwrap().clone();
        events
            .iter()
            .filter(|it| it["tenant"] == "acme")
            .map(|it| it["action"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let mut ada = backoffice.operator("ada", "operator", &["acme"]).await;
    // Events of the same instant come log by log.
    backoffice.advance_seconds(1);
    ada.patch("/queues/tour/controls", json!({ "quota": 7 })).await;
    backoffice.advance_seconds(1);
    root.confirmed(Method::DELETE, "/queues/tour", None).await;
    root.confirmed(Method::DELETE, "/tenants/acme", None).await;
    let former = ["tenant.remove", "queue.remove", "queue.controls", "queue.create", "tenant.create"];
    for query in ["", "&tenant=acme"] {
        let found = actions(&mut root, query).await;
        assert_eq!(found, former, "{query}");
    }

    backoffice.advance_seconds(1);
    backoffice.tenant("acme").await;
    let mut eve = backoffice.operator("eve", "operator", &["acme"]).await;
    backoffice.queue("gig", "acme", json!({})).await;
    backoffice.advance_seconds(1);
    eve.patch("/queues/gig/controls", json!({ "quota": 8 })).await;
    let current = ["queue.controls", "queue.create", "tenant.create"];
    for query in ["", "&tenant=acme"] {
        let found = actions(&mut eve, query).await;
        assert_eq!(found, current, "{query}");
        let found = actions(&mut root, query).await;
        assert_eq!(found, [&current[..], &former[..]].concat(), "{query}");
    }
    assert_eq!(eve.get("/audit/export?tenant=acme").await.text().lines().count(), current.len());
    let own = actions(&mut ada, "").await;
    assert_eq!(own, ["queue.controls", "queue.create", "tenant.create", "queue.controls"], "with what she did herself");
}

async fn events_are_kept_for_a_year(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut root = backoffice.root();
    let found = root.get("/audit?action=tenant.create").await.json();
    assert_eq!(found["events"].as_array().unwrap().len(), 1);
    backoffice.advance_seconds(366 * 86_400);
    let mut root = backoffice.admin.root().await;
    let found = root.get("/audit?limit=200").await.json();
    assert_eq!(found["events"].as_array().unwrap().len(), 1, "the sign-in of today: {found}");
}
