//! All settings as one document.

use http::Method;
use serde_json::json;

use super::backoffice::{Backoffice, on_memory_and_redis, queue};

on_memory_and_redis! {
    exported_settings_can_be_imported_elsewhere,
    import_writes_nothing_until_confirmed,
    slow_confirmation_of_new_queues_is_accepted,
    import_keeps_unlisted_queues_by_default,
    invalid_import_changes_nothing,
}

async fn exported_settings_can_be_imported_elsewhere(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let rules = json!([{ "action": "queue", "path": ["/shop/**"], "cookie": { "name": "n", "value": "\"v\"" } }]);
    backoffice.queue("tour", "acme", json!({ "name": "Z\u{f6}e's \"tour\"", "rules": rules, "max_session": 60 })).await;
    backoffice.queue("gig", "acme", json!({})).await;
    let exported = backoffice.root().get("/settings").await.json();
    let other = Backoffice::memory().await;
    let imported = other.root().confirmed(Method::POST, "/settings", Some(exported.clone())).await.json();
    assert_eq!((&imported["applied"], &imported["skipped"]), (&json!(true), &json!([])), "{imported}");
    assert_eq!(other.root().get("/settings").await.json(), exported);
    let again = other.root().post("/settings", exported).await.json();
    assert_eq!((&again["applied"], &again["plan"]["queues"]), (&json!(false), &json!([])), "there is nothing to do");

    let toml = backoffice.root().get("/settings?format=toml").await;
    assert_eq!(toml.header("content-type"), Some("application/toml"));
    assert!(toml.text().contains("[[queues.rules]]\naction = \"queue\"\n"), "{}", toml.text());
}

async fn import_writes_nothing_until_confirmed(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("tour", "acme", json!({ "quota": 2 })).await;
    let document = json!({
        "tenants": [{ "id": "acme", "name": "Acme" }, { "id": "blue", "name": "Blue" }],
        "queues": [queue("tour", "acme", json!({ "quota": 5 })), queue("blues", "blue", json!({}))],
    });
    let mut root = backoffice.root();
    let plan = root.post("/settings?validate=true", document.clone()).await.json();
    assert_eq!(plan["applied"], false);
    let plan = &plan["plan"];
    let changes_in = |list: &str| -> Vec<_> {
        plan[list]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["id"].as_str().unwrap().to_owned(), it["created"] == true))
            .collect()
    };
    assert_eq!(changes_in("tenants"), [("acme".to_owned(), false), ("blue".to_owned(), true)]);
    assert_eq!(changes_in("queues"), [("tour".to_owned(), false), ("blues".to_owned(), true)]);
    assert_eq!(plan["queues"][0]["changes"], json!([{ "field": "quota", "from": 2, "to": 5 }]));
    let asked = root.post("/settings", document.clone()).await;
    let effect = asked.json()["confirmation"]["consequence"].as_str().unwrap().to_owned();
    assert!(
        effect.starts_with(
            "1 tenants and 1 queues will be created, 1 tenants and 1 queues updated, and 0 queues removed"
        ),
        "{effect}"
    );
    assert_eq!(root.get("/queues/tour").await.json()["quota"], 2, "nothing is written yet");
    let token = asked.confirmation();
    root.patch("/queues/tour", json!({ "quota": 3 })).await;
    let with = [("x-vestibule-confirm", token.as_str())];
    root.send(Method::POST, "/settings", &with, Some(document.clone())).await.assert_code("confirmation_required");
    assert_eq!(root.confirmed(Method::POST, "/settings", Some(document)).await.json()["applied"], true);
    assert_eq!(root.get("/queues/tour").await.json()["quota"], 5);
    assert_eq!(root.get("/queues/blues").await.json()["epoch"], backoffice.now(), "it begins now");
}

async fn slow_confirmation_of_new_queues_is_accepted(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    let document = json!({
        "tenants": [{ "id": "acme", "name": "acme" }],
        "queues": [queue("tour", "acme", json!({}))],
    });
    let mut root = backoffice.root();
    let token = root.post("/settings", document.clone()).await.confirmation();
    backoffice.advance_seconds(30);
    let with = [("x-vestibule-confirm", token.as_str())];
    let done = root.send(Method::POST, "/settings", &with, Some(document)).await.json();
    assert_eq!(done["applied"], true, "{done}");
    assert_eq!(root.get("/queues/tour").await.json()["epoch"], backoffice.now(), "it begins now");
}

async fn import_keeps_unlisted_queues_by_default(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    for id in ["tour", "gig"] {
        backoffice.queue(id, "acme", json!({})).await;
    }
    let document =
        json!({ "tenants": [{ "id": "acme", "name": "acme" }], "queues": [queue("tour", "acme", json!({}))] });
    let mut root = backoffice.root();
    let plan = root.post("/settings?validate=true", document.clone()).await.json();
    assert_eq!((&plan["plan"]["kept"], &plan["plan"]["removed"]), (&json!(["gig"]), &json!([])));
    let done = root.confirmed(Method::POST, "/settings?remove=true", Some(document)).await.json();
    assert_eq!(done["plan"]["removed"], json!(["gig"]));
    assert_eq!(root.get("/queues/gig").await.status, 404);
}

async fn invalid_import_changes_nothing(backoffice: Backoffice) {
    backoffice.tenant("acme").await;
    backoffice.queue("a", "acme", json!({ "hosts": ["x.example.com"] })).await;
    let mut root = backoffice.root();
    let wrong = json!({ "tenants": [{ "id": "acme", "name": "" }], "queues": [queue("b", "acme", json!({ "quota": -1 }))], "more": 1 });
    let refused = root.post("/settings", wrong).await;
    let fields = refused.wrong_fields();
    assert!(
        ["more:", "tenants[0].name:", "queues[0].quota:"]
            .iter()
            .all(|path| fields.iter().any(|it| it.starts_with(path))),
        "{fields:?}"
    );
    let document = json!({
        "tenants": [{ "id": "acme", "name": "acme" }],
        "queues": [queue("b", "acme", json!({ "hosts": ["x.example.com"] }))],
    });
    let refused = root.post("/settings?validate=true", document).await;
    assert_eq!((refused.status.as_u16(), refused.code()), (409, "routing_conflict".to_owned()));
    assert!(refused.wrong_fields()[0].starts_with("b.hosts[0]: never applies"), "{}", refused.text());
    assert_eq!(root.get("/queues/b").await.status, 404);
}
