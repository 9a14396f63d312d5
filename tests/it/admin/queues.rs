//! Queues in the API.

use http::Method;
use serde_json::{Value, json};
use vestibule_core::jobs::{JobId, NewJob, Payload};
use vestibule_core::settings::Settings;

use super::backoffice::{Backoffice, on_memory_and_redis, queue};

on_memory_and_redis! {
    created_queue_returns_every_setting,
    queue_is_updated_by_a_merge_patch_with_if_match,
    queue_removal_needs_a_confirmation,
    queue_removal_counts_unfinished_orders,
    validate_writes_nothing_and_returns_the_changes,
    clone_copies_settings_absent_from_the_body,
    all_invalid_fields_are_listed_with_their_path,
    conflicting_queues_are_rejected_by_name,
    stale_if_match_returns_the_current_settings,
    one_concurrent_update_wins,
    one_concurrent_create_wins,
    queues_are_listed_by_page_and_searched,
    url_test_returns_the_queue_and_the_reason,
    rules_name_trusted_headers_only,
    body_must_be_json_of_limited_size,
}

async fn created_queue_returns_every_setting(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let every = json!({
        "id": "tour", "tenant": "acme", "name": "The tour", "hosts": ["a.example.com", "*.b.example.com"],
        "rules": [{ "action": "queue", "path": ["/shop/**"], "method": ["GET"], "source": ["192.0.2.0/24"],
            "header": { "name": "x-a", "value": "1" }, "cookie": { "name": "c", "value": "2" } }],
        "mode": "paused", "quota": 7, "admissions_per_minute": 60, "admissions_every": 15, "max_waiting": 9000, "waiting_ttl": 30,
        "active_ttl": 300,
        "claim_ttl": 20, "hold_ttl": 400, "max_session": 3600, "recheck_after": 0, "theme": "summer",
        "handover": { "kind": "redirect", "origin": "https://www.example.com", "preflights": "forward" },
        "queue_status": 202,
        "store_failure": "open", "cookie_domain": "example.com",
    });
    let mut root = backoffice.root();
    let created = root.post("/queues", every.clone()).await;
    assert_eq!((created.status.as_u16(), created.header("etag")), (201, Some("\"1\"")), "{}", created.text());
    let mut expected = every;
    (expected["revision"], expected["epoch"]) = (json!(1), json!(backoffice.now()));
    assert_eq!(created.json(), expected);
    let read = root.get("/queues/tour").await;
    assert_eq!((read.json(), read.header("etag")), (expected.clone(), Some("\"1\"")));
    let kept = backoffice.store.settings(&"tour".parse().unwrap()).await.unwrap().unwrap();
    assert_eq!(Settings::to_value(&kept), expected);
    let plain = backoffice.queue("plain", "acme", json!({ "epoch": 5 })).await;
    assert_eq!((&plain["epoch"], &plain["name"]), (&json!(backoffice.now()), &json!("plain")), "it begins now");
}

async fn queue_is_updated_by_a_merge_patch_with_if_match(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "max_session": 60, "handover": { "kind": "check" } })).await;
    let mut root = backoffice.root();
    let without = root.send(Method::PATCH, "/queues/tour", &[], Some(json!({ "quota": 5 }))).await;
    assert_eq!((without.status.as_u16(), without.code()), (428, "revision_required".to_owned()));
    let patch =
        json!({ "quota": 5, "max_session": null, "handover": { "kind": "proxy", "origin": "https://x.example" } });
    let changed = root.patch_revision("/queues/tour", 1, patch).await;
    assert_eq!((changed.status.as_u16(), changed.header("etag")), (200, Some("\"2\"")), "{}", changed.text());
    let changed = changed.json();
    assert_eq!(
        (&changed["quota"], &changed["max_session"], &changed["revision"]),
        (&json!(5), &Value::Null, &json!(2))
    );
    let handover = json!({ "kind": "proxy", "origin": "https://x.example", "preflights": "answer" });
    assert_eq!(changed["handover"], handover);
    let same = root.patch_revision("/queues/tour", 2, json!({ "quota": 5 })).await;
    assert_eq!(same.header("etag"), Some("\"2\""), "nothing to write");
    for (field, value) in [("id", json!("other")), ("tenant", json!("blue")), ("epoch", json!(1))] {
        let refused = root.patch("/queues/tour", json!({ field: value })).await;
        assert_eq!(refused.status, 422);
        assert!(refused.wrong_fields()[0].starts_with(&format!("{field}: cannot be changed")), "{}", refused.text());
    }
    assert_eq!(root.patch("/queues/none", json!({ "quota": 1 })).await.status, 404);
}

async fn queue_removal_needs_a_confirmation(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 1 })).await;
    backoffice.join("tour", 3).await;
    let mut root = backoffice.root();
    let asked = root.send(Method::DELETE, "/queues/tour", &[], None).await;
    let effect = asked.json()["confirmation"]["consequence"].as_str().unwrap().to_owned();
    assert!(effect.contains("2 waiting and 1 active visitors"), "{effect}");
    let token = asked.confirmation();
    root.patch("/queues/tour", json!({ "quota": 2 })).await;
    let with = [("x-vestibule-confirm", token.as_str())];
    root.send(Method::DELETE, "/queues/tour", &with, None).await.assert_code("confirmation_required");
    assert_eq!(root.get("/queues/tour").await.status, 200, "it is not the queue that was looked at");
    assert_eq!(root.confirmed(Method::DELETE, "/queues/tour", None).await.status, 204);
    assert_eq!(root.get("/queues/tour").await.status, 404);
    assert_eq!(backoffice.store.settings(&"tour".parse().unwrap()).await.unwrap().map(|it| it.to_value()), None);
    assert_eq!(backoffice.queue("tour", "acme", json!({})).await["revision"], 3, "the name is free again");
}

async fn queue_removal_counts_unfinished_orders(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut root = backoffice.root();
    root.create("/job-queues", json!({ "id": "orders.fifo", "tenant": "acme", "target": { "kind": "origin" } })).await;
    let rule = json!({ "action": "hold", "job_queue": "orders.fifo", "method": ["POST"] });
    let handover = json!({ "kind": "proxy", "origin": "http://127.0.0.1:1" });
    backoffice.queue("tour", "acme", json!({ "handover": handover, "rules": [rule] })).await;
    backoffice.queue("gig", "acme", json!({})).await;
    let mut effect = async |queue: &str| {
        let asked = root.send(Method::DELETE, &format!("/queues/{queue}"), &[], None).await;
        asked.json()["confirmation"]["consequence"].as_str().unwrap().to_owned()
    };
    assert!(!effect("tour").await.contains("orders"), "there are none");
    let jobs = backoffice.admin.jobs();
    let settings = jobs.get(&"orders.fifo".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let payload = || Payload { content_type: "text/plain".to_owned(), bytes: b"order".to_vec() };
    for group in ["visitor-1", "visitor-2"] {
        let order = NewJob { group: Some(group.parse().unwrap()), ..NewJob::new(JobId::random(), payload()) };
        jobs.enqueue(&settings, vec![order]).await.unwrap();
    }
    assert_eq!(jobs.backend().receive(&settings, 1).await.unwrap().jobs.len(), 1);
    let said = effect("tour").await;
    assert!(said.contains("2 held orders are not finished"), "{said}");
    assert!(!effect("gig").await.contains("orders"), "no rule of it holds orders");
}

async fn validate_writes_nothing_and_returns_the_changes(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut root = backoffice.root();
    let validated = root.post("/queues?validate=true", queue("tour", "acme", json!({}))).await;
    assert_eq!((validated.status.as_u16(), &validated.json()["settings"]["quota"]), (200, &json!(2)));
    assert_eq!(root.get("/queues/tour").await.status, 404);
    backoffice.queue("tour", "acme", json!({})).await;
    let path = "/queues/tour?validate=true";
    let validated = root.patch_revision(path, 1, json!({ "quota": 9 })).await;
    assert_eq!(validated.json()["changes"], json!([{ "field": "quota", "from": 2, "to": 9 }]));
    assert_eq!(root.patch_revision(path, 1, json!({ "quota": -9 })).await.status, 422);
    assert_eq!(root.patch_revision(path, 7, json!({ "quota": 9 })).await.status, 412);
    assert_eq!(root.get("/queues/tour").await.json()["quota"], 2);
}

async fn clone_copies_settings_absent_from_the_body(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "waiting_ttl": 45, "name": "The tour" })).await;
    backoffice.advance_seconds(60);
    let mut root = backoffice.root();
    assert_eq!(root.post("/queues/tour/clone", json!({})).await.wrong_fields()[0].split(':').next(), Some("id"));
    let refused = root.post("/queues/tour/clone", json!({ "id": "tour-2" })).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code()),
        (409, "routing_conflict".to_owned()),
        "both have the same host"
    );
    let patch = json!({ "id": "tour-2", "hosts": ["2.example.com"] });
    let validated = root.post("/queues/tour/clone?validate=true", patch.clone()).await;
    assert_eq!(validated.status, 200);
    let cloned = root.create("/queues/tour/clone", patch).await;
    assert_eq!((&cloned["waiting_ttl"], &cloned["name"]), (&json!(45), &json!("The tour")));
    assert_eq!((&cloned["epoch"], &cloned["revision"]), (&json!(backoffice.now()), &json!(1)));
}

async fn all_invalid_fields_are_listed_with_their_path(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let wrong = json!({
        "hosts": ["https://x"], "quota": -1, "mode": "ajar", "qouta": 3, "tenant": "acme",
        "rules": [{ "action": "queue", "path": "shop" }], "handover": { "kind": "redirect" },
    });
    let refused = backoffice.root().post("/queues", queue("tour", "acme", wrong)).await;
    let fields = refused.wrong_fields();
    for path in ["hosts[0]:", "rules[0].path:", "quota:", "mode:", "handover.origin:", "qouta: is unknown"] {
        assert!(fields.iter().any(|field| field.starts_with(path)), "{path} {fields:?}");
    }
    assert_eq!(fields.len(), 6, "{fields:?}");
    let unknown = backoffice.root().post("/queues", queue("tour", "nobody", json!({}))).await;
    assert_eq!(unknown.wrong_fields(), ["tenant: is not a tenant that you have access to: \"nobody\""]);
}

async fn conflicting_queues_are_rejected_by_name(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("a", "acme", json!({ "hosts": ["x.example.com"] })).await;
    let mut root = backoffice.root();
    let late = root.post("/queues", queue("b", "acme", json!({ "hosts": ["y.example.com", "x.example.com"] }))).await;
    assert_eq!((late.status.as_u16(), late.code()), (409, "routing_conflict".to_owned()));
    let expected = "hosts[1]: never applies on \"x.example.com\": \"a\" matches all requests first";
    assert_eq!(late.wrong_fields(), [expected]);
    backoffice.queue("b", "acme", json!({ "hosts": ["y.example.com"] })).await;
    let moved = root.patch("/queues/b", json!({ "hosts": ["x.example.com"] })).await;
    assert_eq!((moved.status.as_u16(), moved.code()), (409, "routing_conflict".to_owned()));
    let rules = json!({ "rules": [{ "action": "queue", "path": "/shop/**" }] });
    assert_eq!(root.patch("/queues/a", rules).await.status, 200);
    assert_eq!(
        root.patch("/queues/b", json!({ "hosts": ["x.example.com"] })).await.status,
        200,
        "now it gets the rest"
    );
}

async fn stale_if_match_returns_the_current_settings(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "name": "Tour" })).await;
    let mut operator = backoffice.operator("zoe", "operator", &["acme"]).await;
    let mut root = backoffice.root();
    assert_eq!(operator.patch_revision("/queues/tour", 1, json!({ "quota": 50 })).await.status, 200);
    backoffice.advance_seconds(5);
    assert_eq!(operator.patch_revision("/queues/tour", 2, json!({ "quota": 70, "mode": "paused" })).await.status, 200);
    let late = root.patch_revision("/queues/tour", 1, json!({ "quota": 10, "name": "The tour" })).await;
    assert_eq!((late.status.as_u16(), late.code()), (412, "revision_conflict".to_owned()));
    let conflict = &late.json()["conflict"];
    assert_eq!(conflict["revision"], 3);
    assert_eq!(conflict["current"], root.get("/queues/tour").await.json());
    assert_eq!(root.get("/queues/tour").await.json()["quota"], 70, "nothing was written");
    assert_eq!(root.patch_revision("/queues/tour", 3, json!({ "name": "The tour" })).await.status, 200);
}

async fn one_concurrent_update_wins(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({})).await;
    let mut desks: Vec<_> = (0..8).map(|_| backoffice.root()).collect();
    let saves = desks.iter_mut().zip(100_u64..).map(async |(client, quota)| {
        (client.patch_revision("/queues/tour", 1, json!({ "quota": quota })).await, quota)
    });
    let answers = futures_util::future::join_all(saves).await;
    let (first, others): (Vec<_>, Vec<_>) = answers.iter().partition(|(answer, _)| answer.status == 200);
    assert_eq!(first.len(), 1, "{answers:?}");
    let settings = backoffice.root().get("/queues/tour").await.json();
    assert_eq!((&settings["quota"], &settings["revision"]), (&json!(first[0].1), &json!(2)));
    for (answer, _) in others {
        assert_eq!(answer.code(), "revision_conflict", "{}", answer.text());
        assert_eq!(answer.json()["conflict"]["current"]["quota"], json!(first[0].1));
    }
}

async fn one_concurrent_create_wins(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let mut desks: Vec<_> = (0..8).map(|_| backoffice.root()).collect();
    let creations = desks.iter_mut().enumerate().map(|(index, client)| {
        client.post("/queues", queue("tour", "acme", json!({ "name": format!("tour {index}") })))
    });
    let answers = futures_util::future::join_all(creations).await;
    let created: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
    assert_eq!(created.len(), 1, "{:?}", answers.iter().map(|answer| answer.status).collect::<Vec<_>>());
    assert!(answers.iter().all(|answer| [201, 409].contains(&answer.status.as_u16())));
    assert_eq!(backoffice.root().get("/queues/tour").await.json(), created[0].json());
}

async fn queues_are_listed_by_page_and_searched(backoffice: Backoffice) {
    for tenant in ["acme", "blue"] {
        backoffice.tenant(tenant).await;
    }
    for (id, tenant) in [("c", "acme"), ("a", "acme"), ("b", "blue"), ("d", "blue")] {
        backoffice.queue(id, tenant, json!({ "name": format!("Sale {id}") })).await;
    }
    let mut root = backoffice.root();
    let mut ids = async |query: &str| {
        let page = root.get(&format!("/queues{query}")).await.json();
        let ids =
            page["queues"].as_array().unwrap().iter().map(|queue| queue["id"].as_str().unwrap()).collect::<Vec<_>>();
        (ids.join(""), page["next"].as_str().map(str::to_owned))
    };
    assert_eq!(ids("").await, ("abcd".to_owned(), None));
    assert_eq!(ids("?limit=3").await, ("abc".to_owned(), Some("c".to_owned())));
    assert_eq!(ids("?limit=3&after=c").await, ("d".to_owned(), None));
    assert_eq!(ids("?tenant=blue").await, ("bd".to_owned(), None));
    assert_eq!(ids("?search=SALE%20C").await, ("c".to_owned(), None));
    assert_eq!(ids("?search=b.example").await, ("b".to_owned(), None));
    for wrong in ["?limit=0", "?limit=x", "?tenant=A", "?nothing=1", "?limit=1&limit=2"] {
        assert_eq!(root.get(&format!("/queues{wrong}")).await.status, 422, "{wrong}");
    }
}

async fn url_test_returns_the_queue_and_the_reason(backoffice: Backoffice) {
    for tenant in ["acme", "blue"] {
        backoffice.tenant(tenant).await;
    }
    let (shop, free) =
        (json!({ "action": "queue", "path": "/shop/**" }), json!({ "action": "bypass", "path": "/shop/css/**" }));
    backoffice.queue("a", "acme", json!({ "hosts": ["x.example.com"], "rules": [free, shop] })).await;
    backoffice.queue("b", "acme", json!({ "hosts": ["x.example.com"] })).await;
    backoffice.queue("c", "blue", json!({ "hosts": ["*.example.com"] })).await;
    let mut root = backoffice.root();
    let shop = root.post("/url-tests", json!({ "url": "https://X.example.com:8443/Shop/../shop/1?q" })).await.json();
    let sent = json!("/shop/../shop/1");
    assert_eq!((&shop["outcome"], &shop["queue"], &shop["path"]), (&json!("queue"), &json!("a"), &sent));
    let reading = |path: &str, queue: &str| json!({ "path": path, "outcome": "queue", "queue": queue });
    let readings = json!([reading("/shop/../shop/1", "a"), reading("/shop/1", "a")]);
    assert_eq!(shop["readings"], readings, "each way in which an origin may read it");
    let both = root.post("/url-tests", json!({ "url": "https://x.example.com/shop/../about" })).await.json();
    assert_eq!((&both["outcome"], &both["queue"]), (&json!("rejected"), &Value::Null));
    assert_eq!(both["readings"], json!([reading("/shop/../about", "a"), reading("/about", "b")]));
    assert_eq!(
        shop["evaluated"][0],
        json!({
            "queue": "a", "host": "x.example.com", "rule": 1, "client": null, "reason": "Rule 2 matched; the request is queued.",
            "message": { "code": "rule_queued", "params": { "rule": 2 } },
        })
    );
    let css = root.post("/url-tests", json!({ "url": "x.example.com/shop/css/a" })).await.json();
    assert_eq!((&css["outcome"], &css["evaluated"][0]["rule"]), (&json!("bypass"), &json!(0)));
    let home = root.post("/url-tests", json!({ "url": "x.example.com" })).await.json();
    assert_eq!((&home["queue"], home["evaluated"].as_array().unwrap().len()), (&json!("b"), 2));
    assert_eq!(root.post("/url-tests", json!({ "url": "nobody.example" })).await.json()["outcome"], "unknown_host");
    let mut blue = backoffice.operator("zoe", "viewer", &["blue"]).await;
    let foreign = blue.post("/url-tests", json!({ "url": "x.example.com" })).await.json();
    assert_eq!((&foreign["outcome"], &foreign["queue"]), (&json!("foreign"), &Value::Null), "not theirs to see");
    let passes = blue.post("/url-tests", json!({ "url": "x.example.com/shop/css/a" })).await.json();
    assert_eq!(passes["outcome"], "foreign", "nor what the rules of others let pass");
    assert_eq!(passes["readings"][0]["outcome"], "foreign");
    assert!(!foreign.to_string().contains("\"a\"") && !foreign.to_string().contains("Rule 1"), "{foreign}");
    assert_eq!(root.post("/url-tests", json!({ "url": "/shop", "host": "x" })).await.wrong_fields().len(), 2);

    let rules = json!([{ "action": "queue", "path": "/**" }]);
    let tried = root.post("/url-tests", json!({ "url": "x.example.com", "queue": "a", "rules": rules })).await.json();
    assert_eq!((&tried["queue"], &tried["evaluated"][0]["rule"]), (&json!("a"), &json!(0)), "rules that nobody saved");
    let again = root.post("/url-tests", json!({ "url": "x.example.com" })).await.json();
    assert_eq!(again["queue"], "b", "nor are they now");
    let wrong = json!({ "url": "x.example.com", "queue": "a", "rules": [{ "action": "turn" }] });
    let wrong = root.post("/url-tests", wrong).await.wrong_fields();
    assert!(wrong.len() == 1 && wrong[0].starts_with("rules[0].action"), "{wrong:?}");
    let score = |name: &str| json!([{ "action": "block", "header": { "name": name, "below": 30 } }]);
    let request = json!({
        "url": "x.example.com", "queue": "a", "rules": score("cf-bot-score"), "headers": { "CF-Bot-Score": "29" },
    });
    let tested = root.post("/url-tests", request).await.json();
    let [outcome, client] = [&tested["outcome"], &tested["evaluated"][0]["client"]];
    assert_eq!((outcome, client), (&json!("queue"), &json!({ "rule": 0, "action": "block" })));
    let untrusted = json!({ "url": "x.example.com", "queue": "a", "rules": score("x-score") });
    let wrong = root.post("/url-tests", untrusted).await.wrong_fields();
    assert!(wrong.len() == 1 && wrong[0].starts_with("rules[0].header: \"x-score\" is not in"), "{wrong:?}");
    let theirs = json!({ "url": "x.example.com", "queue": "a", "rules": [] });
    assert_eq!(blue.post("/url-tests", theirs).await.status.as_u16(), 404);
}

async fn rules_name_trusted_headers_only(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let score = |name: &str| json!([{ "action": "challenge", "header": { "name": name, "below": 30 } }]);
    let settings = |name: &str| {
        json!({
            "id": "a", "tenant": "acme", "hosts": ["x.example.com"], "quota": 1, "handover": { "kind": "check" },
            "rules": score(name),
        })
    };
    let mut root = backoffice.root();
    let is_refused = |wrong: &[String], field: &str| wrong.len() == 1 && wrong[0].starts_with(field);
    assert!(is_refused(&root.post("/queues", settings("x-score")).await.wrong_fields(), "rules[0].header: "));
    assert_eq!(root.post("/queues", settings("x-amzn-waf-score")).await.status.as_u16(), 201);
    let patch = root.patch("/queues/a", json!({ "rules": score("x-score") })).await;
    assert!(is_refused(&patch.wrong_fields(), "rules[0].header: "));
    let tenants = json!([{ "id": "acme", "name": "acme" }]);
    let import = json!({ "tenants": tenants, "queues": [settings("x-score")] });
    let wrong = root.post("/settings", import).await.wrong_fields();
    assert!(is_refused(&wrong, "a.rules[0].header: "), "{wrong:?}");
}

async fn body_must_be_json_of_limited_size(backoffice: Backoffice) {
    let mut root = backoffice.root();
    let big = root.post("/tenants", json!({ "id": "acme", "name": "x".repeat(300_000) })).await;
    assert_eq!((big.status.as_u16(), big.code()), (413, "too_large".to_owned()));
    let request = |kind: &str| http::Request::post("/api/v1/tenants").header("content-type", kind);
    for (kind, body, status, code) in [
        ("application/json", "{", 400, "invalid_body"),
        ("application/json", "[1]", 400, "invalid_body"),
        ("text/plain", "{}", 415, "wrong_content_type"),
        ("application/merge-patch+json; charset=utf-8", "{}", 422, "validation_failed"),
    ] {
        let answer = root.visitor().request(request(kind), body).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (status, code.to_owned()), "{kind} {body}");
    }
    assert_eq!(root.get("/nothing").await.code(), "route_not_found");
    assert_eq!(root.send(Method::PUT, "/tenants", &[], None).await.code(), "method_not_allowed");
}
