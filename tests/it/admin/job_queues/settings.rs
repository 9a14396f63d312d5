//! Settings of job queues: changing, checking, exporting and importing them.

use http::Method;
use serde_json::{Value, json};
use vestibule_core::PutMode;
use vestibule_core::settings::parse_settings_document;

use super::{enqueue, import, job_queue};
use crate::admin::backoffice::{Backoffice, on_memory_and_redis};

on_memory_and_redis! {
    job_queue_is_created_changed_and_removed,
    settings_of_job_queues_are_checked,
    jobs_keep_their_job_queue,
    job_queue_is_paused_and_resumed,
    rules_hold_orders_in_job_queues_of_the_tenant,
    exported_job_queues_can_be_imported,
    tenant_has_a_maximum_of_job_queues,
    tenant_lists_cover_job_queues,
}

async fn job_queue_is_created_changed_and_removed(backoffice: Backoffice) {
    backoffice.tenant_with("acme", &[], &["https://*.acme.example"]).await;
    let mut olaf = backoffice.operator("olaf", "operator", &["acme"]).await;
    let created = olaf.post("/job-queues", job_queue("mails", &json!({ "concurrency": 3 }))).await;
    assert_eq!(created.status, 201, "{}", created.text());
    assert_eq!((&created.headers["etag"], &created.json()["revision"]), (&"\"1\"".parse().unwrap(), &json!(1)));
    assert!(!created.text().contains("whsec_"), "{}", created.text());
    assert_eq!(created.json()["settings"]["concurrency"], 3);
    let secret = olaf.get("/job-queues/mails/secret").await.json();
    olaf.post("/job-queues", job_queue("mails", &json!({}))).await.assert_code("already_exists");

    olaf.send(Method::PATCH, "/job-queues/mails", &[], Some(json!({ "timeout": 60 })))
        .await
        .assert_code("revision_required");
    let patch = json!({ "timeout": 60, "concurrency": null, "target": { "url": "https://api.acme.example/" } });
    let changed = olaf.patch_revision("/job-queues/mails", 1, patch).await;
    assert_eq!((changed.status.as_u16(), &changed.headers["etag"]), (200, &"\"2\"".parse().unwrap()));
    let settings = &changed.json()["settings"];
    assert_eq!((&settings["timeout"], &settings["concurrency"]), (&json!(60), &json!(10)));
    assert_eq!(settings["target"], json!({ "kind": "http", "url": "https://api.acme.example/" }));
    assert_eq!(olaf.get("/job-queues/mails/secret").await.json(), secret, "the secret stays");
    let outdated = olaf.patch_revision("/job-queues/mails", 1, json!({ "timeout": 90 })).await;
    outdated.assert_code("revision_conflict");
    assert_eq!((outdated.status.as_u16(), &outdated.json()["params"]["revision"]), (412, &json!(2)));
    let same = olaf.patch("/job-queues/mails", json!({ "timeout": 60 })).await.json();
    assert_eq!(same["revision"], 2, "nothing has changed");

    assert_eq!(olaf.confirmed(Method::DELETE, "/job-queues/mails", None).await.status, 204);
    olaf.get("/job-queues/mails").await.assert_code("unknown_job_queue");
    let events = olaf.get("/audit").await.json();
    let events = events["events"].as_array().unwrap();
    let of_mails: Vec<_> = events.iter().filter(|it| it["subject"] == "mails").collect();
    let actions: Vec<_> = of_mails.iter().map(|it| it["action"].as_str().unwrap()).collect();
    let read = "job_queue.read_secret";
    assert_eq!(actions, ["job_queue.remove", read, "job_queue.update", read, "job_queue.create"]);
    let fields: Vec<_> = of_mails[2]["changes"].as_array().unwrap().iter().map(|it| it["field"].clone()).collect();
    assert_eq!(fields, ["target", "timeout", "concurrency"]);
    assert!(!json!(of_mails).to_string().contains("whsec_"));
}

async fn settings_of_job_queues_are_checked(backoffice: Backoffice) {
    backoffice.tenant_with("acme", &[], &["https://crm.acme.example"]).await;
    backoffice.tenant("blue").await;
    let mut olaf = backoffice.operator("olaf", "operator", &["acme"]).await;
    let elsewhere = json!({ "target": { "kind": "http", "url": "https://evil.example/" } });
    for (more, field) in [
        (json!({ "id": "e mails" }), "id: "),
        (json!({ "concurrency": 0 }), "concurrency: "),
        (json!({ "retired_secret": {} }), "retired_secret: is unknown"),
        (json!({ "tenant": "blue" }), "tenant: is not a tenant that you have access to"),
        (json!({ "tenant": "nobody" }), "tenant: is not a tenant that you have access to"),
        (elsewhere.clone(), "target.url: "),
    ] {
        let wrong = olaf.post("/job-queues", job_queue("mails", &more)).await.wrong_fields();
        assert!(wrong.len() == 1 && wrong[0].starts_with(field), "{more}: {wrong:?}");
    }
    olaf.create("/job-queues", job_queue("mails", &json!({}))).await;
    for (patch, field) in [
        (elsewhere, "target.url: "),
        (json!({ "id": "other" }), "id: cannot be changed"),
        (json!({ "tenant": "blue" }), "tenant: cannot be changed"),
        (json!({ "target": null }), "target: is required"),
        (json!({ "min_backoff": 901 }), "max_backoff: must not be below min_backoff"),
    ] {
        let wrong = olaf.patch("/job-queues/mails", patch.clone()).await.wrong_fields();
        assert!(wrong.len() == 1 && wrong[0].starts_with(field), "{patch}: {wrong:?}");
    }
    assert_eq!(olaf.get("/job-queues/mails").await.json()["revision"], 1, "nothing was written");
    // Only a superuser may name a handler of a tenant without a list.
    let blue = job_queue("blues", &json!({ "tenant": "blue" }));
    let mut otto = backoffice.operator("otto", "operator", &["blue"]).await;
    assert!(otto.post("/job-queues", blue.clone()).await.wrong_fields()[0].starts_with("target.url: "));
    backoffice.root().create("/job-queues", blue).await;
    assert_eq!(otto.patch("/job-queues/blues", json!({ "concurrency": 2 })).await.status, 200, "the handler stays");

    let mut vera = backoffice.operator("vera", "viewer", &["acme"]).await;
    vera.post("/job-queues", job_queue("more", &json!({}))).await.assert_code("permission_denied");
    vera.patch("/job-queues/mails", json!({ "concurrency": 1 })).await.assert_code("permission_denied");
    vera.send(Method::DELETE, "/job-queues/mails", &[], None).await.assert_code("permission_denied");
    otto.patch("/job-queues/mails", json!({ "concurrency": 1 })).await.assert_code("unknown_job_queue");
    otto.send(Method::DELETE, "/job-queues/mails", &[], None).await.assert_code("unknown_job_queue");
    otto.post("/job-queues/mails/secret/rotate", json!({})).await.assert_code("unknown_job_queue");
    let taken = job_queue("mails", &json!({ "tenant": "blue" }));
    backoffice.root().post("/job-queues", taken).await.assert_code("already_exists");
}

async fn jobs_keep_their_job_queue(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    let mut root = backoffice.root();
    let confirmation = root.send(Method::DELETE, "/job-queues/mails", &[], None).await;
    confirmation.assert_code("confirmation_required");
    enqueue(&mut root, "mails/jobs", "text/plain", b"hello").await;
    let token = confirmation.confirmation();
    for headers in [&[][..], &[("x-vestibule-confirm", token.as_str())]] {
        let refused = root.send(Method::DELETE, "/job-queues/mails", headers, None).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (409, "job_queue_not_empty"));
    }
    assert_eq!(root.get("/job-queues/mails/stats").await.json()["waiting"], 1);
}

async fn job_queue_is_paused_and_resumed(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    let mut root = backoffice.root();
    for (action, paused) in [("pause", true), ("pause", true), ("resume", false)] {
        let view = root.post(&format!("/job-queues/mails/{action}"), json!({})).await;
        assert_eq!(view.json()["settings"]["paused"], paused, "{}", view.text());
    }
    assert_eq!(root.get("/job-queues/mails").await.json()["revision"], 3, "a second pause changes nothing");
    let events = root.get("/audit").await.json();
    let events = events["events"].as_array().unwrap();
    let actions: Vec<_> = events.iter().filter_map(|it| it["action"].as_str()).take(2).collect();
    assert_eq!(actions, ["job_queue.resume", "job_queue.pause"]);
    assert_eq!((&events[1]["subject"], &events[1]["changes"][0]["to"]), (&json!("mails"), &json!(true)));
}

async fn rules_hold_orders_in_job_queues_of_the_tenant(backoffice: Backoffice) {
    let origin = json!({ "target": { "kind": "origin" } });
    let others = json!({ "tenant": "blue", "target": { "kind": "origin" } });
    for tenant in ["acme", "blue"] {
        backoffice.tenant(tenant).await;
    }
    let mut root = backoffice.root();
    for (id, more) in [("orders.fifo", &origin), ("others.fifo", &others), ("mails.fifo", &json!({}))] {
        root.create("/job-queues", job_queue(id, more)).await;
    }
    let hold = |id: &str| json!({ "action": "hold", "job_queue": id, "method": ["POST"] });
    let queue = |id: &str, rules: Value| {
        let handover = json!({ "kind": "proxy", "origin": "https://shop.acme.example" });
        json!({ "id": id, "tenant": "acme", "hosts": [format!("{id}.example.com")], "quota": 1, "handover": handover, "rules": rules })
    };
    let is_missing = |wrong: &[String]| {
        wrong.len() == 1 && wrong[0].contains("rules[0].job_queue: must be a job queue of the tenant with the target")
    };
    for id in ["none.fifo", "others.fifo", "mails.fifo"] {
        let wrong = root.post("/queues", queue("tour", json!([hold(id)]))).await.wrong_fields();
        assert!(is_missing(&wrong), "{id}: {wrong:?}");
        let document =
            json!({ "tenants": [{ "id": "acme", "name": "acme" }], "queues": [queue("tour", json!([hold(id)]))] });
        let wrong = root.post("/settings?validate=true", document).await.wrong_fields();
        assert!(is_missing(&wrong), "{id}: {wrong:?}");
    }
    root.create("/queues", queue("tour", json!([hold("orders.fifo")]))).await;
    let wrong = root.patch("/queues/tour", json!({ "rules": [hold("none.fifo")] })).await.wrong_fields();
    assert!(is_missing(&wrong), "{wrong:?}");
    root.send(Method::DELETE, "/job-queues/orders.fifo", &[], None).await.assert_code("job_queue_in_use");
    let document = json!({
        "tenants": [{ "id": "acme", "name": "acme" }],
        "job_queues": [job_queue("new.fifo", &origin)], "queues": [queue("next", json!([hold("new.fifo")]))],
    });
    assert_eq!(root.post("/settings?validate=true", document).await.status, 200, "both come with the document");
    // A settings file may have written a rule without its job queue. Other rules can still be changed.
    let lost = queue("lost", json!([hold("none.fifo")]));
    let tenants = json!([{ "id": "acme", "name": "acme" }]);
    let document = parse_settings_document(&json!({ "tenants": tenants, "queues": [lost] })).unwrap();
    backoffice.store.put_settings(&document.queues[0], PutMode::Always).await.unwrap();
    let rules = json!([{ "action": "queue", "path": ["/b"] }, hold("none.fifo")]);
    assert_eq!(root.patch("/queues/lost", json!({ "rules": rules })).await.status, 200);
}

async fn exported_job_queues_can_be_imported(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({})), job_queue("updates.fifo", &json!({}))]).await;
    let mut root = backoffice.root();
    let secret = root.get("/job-queues/mails/secret").await.json();
    let exported = root.get("/settings").await.json();
    let plan = root.post("/settings?validate=true", exported.clone()).await.json();
    assert_eq!((&plan["plan"]["job_queues"], &plan["plan"]["tenants"]), (&json!([]), &json!([])), "{plan}");
    let toml = root.get("/settings?format=toml").await.text().to_owned();
    assert!(
        toml.contains("[[job_queues]]\nid = \"mails\"") && toml.contains("\ntarget = { kind = \"http\", url = "),
        "{toml}"
    );

    let mut changed = exported;
    changed["job_queues"].as_array_mut().unwrap().remove(1);
    changed["job_queues"][0]["concurrency"] = json!(4);
    let imported = root.confirmed(Method::POST, "/settings?remove=true", Some(changed)).await.json();
    assert_eq!(imported["plan"]["job_queues"][0]["changes"], json!([{ "field": "concurrency", "from": 10, "to": 4 }]));
    assert_eq!(imported["plan"]["removed_job_queues"], json!(["updates.fifo"]));
    assert_eq!(root.get("/job-queues/mails/secret").await.json(), secret, "the secret stays");
    root.get("/job-queues/updates.fifo").await.assert_code("unknown_job_queue");

    let unknown_tenant = json!({ "job_queues": [job_queue("mails", &json!({ "tenant": "blue" }))] });
    let refused = root.post("/settings", unknown_tenant).await.wrong_fields();
    assert_eq!(refused, ["job_queues[0].tenant: is not a tenant of this document: \"blue\""]);
    let tenants = json!([{ "id": "acme", "name": "acme" }]);
    let twice =
        json!({ "tenants": tenants, "job_queues": [job_queue("mails", &json!({})), job_queue("mails", &json!({}))] });
    let refused = root.post("/settings", twice).await.wrong_fields();
    assert_eq!(refused, ["job_queues[1].id: is already used in this document: \"mails\""]);
}

async fn tenant_has_a_maximum_of_job_queues(backoffice: Backoffice) {
    let mut root = backoffice.root();
    let tenant = json!({ "id": "acme", "name": "acme", "max_job_queues": 2, "origins": ["https://crm.acme.example"] });
    root.create("/tenants", tenant).await;
    let mut alice = backoffice.operator("alice", "operator", &["acme"]).await;
    let ids = ["mails", "invoices", "labels", "stock"];
    let creations = ids.iter().map(|id| {
        let mut client = alice.clone();
        async move { client.post("/job-queues", job_queue(id, &json!({}))).await }
    });
    let results = futures_util::future::join_all(creations).await;
    let (created, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(|it| it.status == 201);
    assert_eq!((created.len(), refused.len()), (2, 2));
    let fault = &refused[0].wrong_fields()[0];
    assert!(fault.starts_with("tenant: the tenant \"acme\" can have at most 2 job queues"), "{fault}");
    assert_eq!(root.patch("/tenants/acme", json!({ "max_job_queues": 3 })).await.status, 200);
    assert_eq!(alice.post("/job-queues", job_queue("other", &json!({}))).await.status, 201);
    let document = json!({ "tenants": [{ "id": "acme", "name": "acme", "max_job_queues": 3 }],
        "job_queues": [job_queue("one-more", &json!({}))] });
    let errors = root.post("/settings?validate=true", document).await.wrong_fields();
    assert!(errors[0].starts_with("one-more.tenant: the tenant \"acme\" can have at most 3"), "{errors:?}");
}

async fn tenant_lists_cover_job_queues(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    let mut root = backoffice.root();
    let outside = root.patch("/tenants/acme", json!({ "origins": ["https://shop.acme.example"] })).await;
    outside.assert_code("queues_outside");
    assert!(outside.wrong_fields()[0].starts_with("mails.target.url: "), "{:?}", outside.wrong_fields());
    assert_eq!(root.patch("/tenants/acme", json!({ "origins": ["https://*.acme.example"] })).await.status, 200);
    let tenants = json!([{ "id": "acme", "name": "acme", "origins": ["https://shop.acme.example"] }]);
    let document = json!({ "tenants": tenants, "job_queues": [job_queue("mails", &json!({}))] });
    assert!(root.post("/settings", document).await.wrong_fields()[0].starts_with("job_queues[0].target.url: "));
    root.send(Method::DELETE, "/tenants/acme", &[], None).await.assert_code("has_job_queues");
}
