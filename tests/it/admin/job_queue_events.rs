//! Schedules and webhooks of job queues in the API.

use http::Method;
use serde_json::{Value, json};
use vestibule_core::jobs::{Outcome, Settlement};

use super::backoffice::{Backoffice, on_memory};
use super::job_queues::{import, job_queue};

on_memory! {
    schedules_are_listed_and_run,
    webhook_is_tested,
    changes_of_queues_are_webhook_events,
    dead_letter_of_a_consumer_is_a_webhook_event,
}

async fn schedules_are_listed_and_run(backoffice: Backoffice) {
    let schedules = json!([
        { "id": "nightly", "cron": "30 4 * * *", "time_zone": "Europe/Berlin", "payload": "{\"full\":true}" },
        { "id": "leap-day", "cron": "0 0 29 2 *", "payload": "now", "content_type": "text/plain" },
    ]);
    import(&backoffice, &[job_queue("stock", &json!({ "schedules": schedules }))]).await;
    let mut root = backoffice.root();
    let list = root.get("/job-queues/stock/schedules").await.json();
    let list = list["schedules"].as_array().unwrap();
    assert_eq!((&list[0]["id"], &list[0]["time_zone"]), (&json!("nightly"), &json!("Europe/Berlin")));
    let next = list[0]["next_run_at"].as_u64().unwrap();
    assert!([9_000, 12_600].contains(&(next % 86_400)), "{next}: 02:30 or 03:30 UTC");
    assert_eq!(list[1]["next_run_at"].as_u64().unwrap() % 86_400, 0);

    let mut ids = Vec::new();
    for _ in 0..2 {
        let run = root.post("/job-queues/stock/schedules/nightly/run", json!({})).await;
        assert_eq!(run.status, 202, "{}", run.text());
        ids.push(run.json()["job_id"].as_str().unwrap().to_owned());
    }
    assert_ne!(ids[0], ids[1], "each run has its own job");
    let job = root.get(&format!("/job-queues/stock/jobs/{}", ids[0])).await.json();
    assert_eq!((&job["payload"], &job["content_type"]), (&json!({ "full": true }), &json!("application/json")));
    let unknown = root.post("/job-queues/stock/schedules/other/run", json!({})).await;
    assert_eq!((unknown.status.as_u16(), unknown.json()["code"].as_str()), (404, Some("unknown_schedule")));

    let exported = root.get("/settings").await.json();
    let schedule = &exported["job_queues"][0]["schedules"][0];
    assert_eq!((&schedule["cron"], schedule["payload"].is_string()), (&json!("30 4 * * *"), true));
    let mut viewer = backoffice.operator("vera", "viewer", &["acme"]).await;
    for path in ["/settings", "/settings?format=toml", "/job-queues/stock"] {
        let shown = viewer.get(path).await;
        assert!(shown.text().contains("nightly") && !shown.text().contains("payload"), "{path}: {}", shown.text());
    }
}

async fn webhook_is_tested(backoffice: Backoffice) {
    let webhook = json!({ "event_types": ["queue.reset"], "queues": ["tour"] });
    let hooks = job_queue("hooks.fifo", &json!({ "webhook": webhook }));
    import(&backoffice, &[hooks, job_queue("mails", &json!({}))]).await;
    let mut root = backoffice.root();
    let mut ids = Vec::new();
    for _ in 0..2 {
        backoffice.advance_seconds(1);
        let test = root.post("/job-queues/hooks.fifo/webhook/test", json!({})).await;
        assert_eq!(test.status, 202, "{}", test.text());
        ids.push(test.json()["job_id"].as_str().unwrap().to_owned());
    }
    assert_ne!(ids[0], ids[1], "each test has its own job");
    let job = root.get(&format!("/job-queues/hooks.fifo/jobs/{}", ids[0])).await.json();
    let payload = &job["payload"];
    assert_eq!((&payload["type"], &payload["timestamp"].is_string()), (&json!("webhook.test"), &true));
    assert_eq!(payload["data"], json!({ "tenant": "acme", "job_queue": "hooks.fifo" }));
    assert_eq!(job["group_id"], "hooks.fifo");
    root.post("/job-queues/mails/webhook/test", json!({})).await.assert_code("no_webhook");
    let events = root.get("/audit").await.json();
    let event = &events["events"][0];
    assert_eq!((&event["action"], &event["subject"]), (&json!("job_queue.test_webhook"), &json!("hooks.fifo")));

    let exported = root.get("/settings").await.json();
    assert_eq!(exported["job_queues"][0]["webhook"], webhook);
    let patched =
        root.patch("/job-queues/hooks.fifo", json!({ "webhook": { "event_types": ["queue.created"] } })).await;
    let wrong = &patched.wrong_fields()[0];
    assert!(wrong.starts_with("webhook.event_types[0]: must be one of \"queue.updated\""), "{wrong}");
    let removed = root.patch("/job-queues/hooks.fifo", json!({ "webhook": null })).await;
    assert_eq!(removed.json()["settings"].get("webhook"), None, "{}", removed.text());
}

/// The payloads of the jobs that wait in a job queue, in their order, without their times.
async fn waiting_payloads(backoffice: &Backoffice, id: &str) -> Vec<Value> {
    let jobs = backoffice.admin.jobs();
    let settings = jobs.get(&id.parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let mut payloads = Vec::new();
    loop {
        let received = jobs.backend().receive(&settings, 1).await.unwrap().jobs;
        let Some(job) = received.first() else { return payloads };
        let mut payload: Value = serde_json::from_slice(&job.payload.bytes).unwrap();
        assert!(payload["timestamp"].take().is_string());
        payloads.push(payload);
        let settlement = Settlement { lease: job.lease, outcome: Outcome::Acknowledged(None) };
        jobs.backend().settle(&settings, vec![settlement]).await.unwrap();
    }
}

/// W1.
async fn changes_of_queues_are_webhook_events(backoffice: Backoffice) {
    let hooks = |id: &str, tenant: &str, types: &[&str], queues: &[&str]| {
        let webhook = json!({ "event_types": types, "queues": queues });
        job_queue(id, &json!({ "tenant": tenant, "webhook": webhook }))
    };
    let both = ["queue.updated", "queue.reset"];
    let job_queues = [
        hooks("all.fifo", "acme", &both, &["*"]),
        hooks("resets.fifo", "acme", &["queue.reset"], &["*"]),
        hooks("other.fifo", "acme", &both, &["gala"]),
        hooks("foreign.fifo", "globex", &both, &["*"]),
        hooks("named.fifo", "globex", &both, &["tour"]),
    ];
    let tenants = json!([{ "id": "acme", "name": "acme" }, { "id": "globex", "name": "globex" }]);
    let document = json!({ "tenants": tenants, "job_queues": job_queues });
    let mut root = backoffice.root();
    let imported = root.confirmed(Method::POST, "/settings", Some(document)).await;
    assert_eq!(imported.json()["applied"], true, "{}", imported.text());

    backoffice.queue("tour", "acme", json!({ "quota": 5 })).await;
    let changes = &waiting_payloads(&backoffice, "all.fifo").await[0]["data"]["changes"];
    assert!(changes.as_array().unwrap().iter().any(|it| it["field"] == "quota" && it["to"] == 5), "{changes}");
    backoffice.advance_seconds(1);
    assert_eq!(root.patch("/queues/tour", json!({ "quota": 9 })).await.status, 200);
    assert_eq!(root.patch("/queues/tour", json!({ "quota": 9 })).await.status, 200, "which changes nothing");
    assert_eq!(root.post("/queues/tour/release", json!({ "count": 1 })).await.status, 200, "no setting");
    let after = root.confirmed(Method::POST, "/queues/tour/reset", None).await.json();
    let change = json!({ "field": "quota", "from": 5, "to": 9 });
    let data = json!({ "tenant": "acme", "queue": "tour", "revision": 2, "changes": [change] });
    let updated = json!({ "type": "queue.updated", "timestamp": null, "data": data });
    let data =
        json!({ "tenant": "acme", "queue": "tour", "revision": 3, "epoch": after["epoch"], "waiting": 0, "active": 0 });
    let reset = json!({ "type": "queue.reset", "timestamp": null, "data": data });
    assert_eq!(waiting_payloads(&backoffice, "all.fifo").await, [updated, reset.clone()]);
    assert_eq!(waiting_payloads(&backoffice, "resets.fifo").await, [reset]);
    for none in ["other.fifo", "foreign.fifo", "named.fifo"] {
        assert_eq!(waiting_payloads(&backoffice, none).await, Vec::<Value>::new(), "{none}");
    }
}

/// J19, W1.
async fn dead_letter_of_a_consumer_is_a_webhook_event(backoffice: Backoffice) {
    let webhook = json!({ "webhook": { "event_types": ["job.dead_lettered"] } });
    let pulled = json!({ "target": { "kind": "pull" } });
    import(&backoffice, &[job_queue("hooks.fifo", &webhook), job_queue("stock", &pulled)]).await;
    let mut root = backoffice.root();
    let jobs = json!({ "jobs": [{ "payload": 1 }, { "payload": 2 }] });
    assert_eq!(root.post("/job-queues/stock/jobs/batch", jobs).await.status, 202);
    let received = root.post("/job-queues/stock/receive", json!({})).await.json()["jobs"].clone();
    let failed = json!({ "jobs": [
        { "receipt_handle": received[0]["receipt_handle"], "reason": "ada@example.com is unknown", "permanent": true },
        { "receipt_handle": received[1]["receipt_handle"] },
    ] });
    // A repeated request is no other event.
    for _ in 0..2 {
        backoffice.advance_seconds(1);
        let failed = root.post("/job-queues/stock/fail", failed.clone()).await.json();
        let states = [&failed["results"][0]["state"], &failed["results"][1]["state"]];
        assert_eq!(states, ["failed", "retrying"], "{failed}");
    }
    let data = json!({
        "tenant": "acme", "job_queue": "stock", "job_id": received[0]["job_id"], "reason": "permanent", "status": null,
    });
    let expected = json!({ "type": "job.dead_lettered", "timestamp": null, "data": data });
    assert_eq!(waiting_payloads(&backoffice, "hooks.fifo").await, [expected]);
}
