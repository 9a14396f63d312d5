//! Job queues in the API: enqueuing jobs, what became of them, and who may.

use std::sync::Arc;
use std::time::Duration;

use http::request::Builder;
use http::{Method, header};
use serde_json::{Value, json};
use vestibule_core::jobs::{JobId, JobResponse, Outcome, PAYLOAD_MAX, Settlement};
use vestibule_core::settings::parse_settings_document;
use vestibule_core::{ManualClock, PutMode};
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_store_redis::{RedisJobs, RedisOptions};
use vestibule_tests::{AdminClient, AdminUnderTest, TestResponse};

use super::backoffice::{Backoffice, START, on_memory_and_redis};

on_memory_and_redis! {
    job_is_enqueued_and_shown,
    enqueue_errors,
    repeated_enqueue_is_a_duplicate,
    duplicate_has_the_state_of_the_first_job,
    batch_reports_each_job,
    roles_and_tenants_limit_access_to_jobs,
    jobs_token_only_handles_jobs,
    job_queue_is_created_changed_and_removed,
    settings_of_job_queues_are_checked,
    rules_hold_orders_in_job_queues_of_the_tenant,
    jobs_keep_their_job_queue,
    secret_is_rotated,
    job_queue_is_paused_and_resumed,
    secret_is_revealed_to_operators_only,
    exported_job_queues_can_be_imported,
    tenant_lists_cover_job_queues,
    tenant_has_a_maximum_of_job_queues,
}

pub(super) fn job_queue(id: &str, more: &Value) -> Value {
    let mut job_queue = json!({
        "id": id, "tenant": "acme", "target": { "kind": "http", "url": "https://crm.acme.example/jobs" },
    });
    job_queue.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job_queue
}

/// Imports job queues of the tenant acme.
pub(super) async fn import(backoffice: &Backoffice, job_queues: &[Value]) {
    let document = json!({ "tenants": [{ "id": "acme", "name": "acme" }], "job_queues": job_queues });
    let imported = backoffice.root().confirmed(Method::POST, "/settings", Some(document)).await;
    assert_eq!(imported.json()["applied"], true, "{}", imported.text());
}

pub(super) async fn enqueue(client: &mut AdminClient, path: &str, content_type: &str, body: &[u8]) -> TestResponse {
    let request = Builder::new().method(Method::POST).uri(format!("/api/v1/job-queues/{path}"));
    client.visitor().request(request.header(header::CONTENT_TYPE, content_type), body.to_vec()).await
}

#[tokio::test]
async fn errors_name_the_storage_of_jobs() {
    let clock = Arc::new(ManualClock::at(START));
    let (store, records) = (Arc::new(MemoryStore::new(clock.clone())), Arc::new(MemoryRecords::new(clock)));
    let options = RedisOptions { timeout: Duration::from_millis(200), ..RedisOptions::default() };
    let unreachable = Arc::new(RedisJobs::connect("redis://127.0.0.1:1", options).unwrap());
    let admin = AdminUnderTest::start_with_jobs(store, records, unreachable).await;
    let mut root = admin.root().await;
    root.create("/tenants", json!({ "id": "acme", "name": "acme" })).await;
    root.create("/job-queues", job_queue("mails", &json!({}))).await;
    let job = JobId::random();
    for (method, path) in
        [(Method::GET, "stats".to_owned()), (Method::DELETE, String::new()), (Method::DELETE, format!("jobs/{job}"))]
    {
        let path = format!("/job-queues/mails/{path}");
        let refused = root.send(method, path.trim_end_matches('/'), &[], None).await;
        assert_eq!((refused.status.as_u16(), refused.code()), (503, "jobs_unavailable".to_owned()), "{path}");
        assert_eq!(refused.header("retry-after"), Some("1"), "{path}");
    }
}

async fn job_is_enqueued_and_shown(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("updates.fifo", &json!({})), job_queue("mails", &json!({ "concurrency": 3 }))])
        .await;
    let session = "2b6e6c34-6dd6-402e-80cd-e3f03456f3f7";
    let mut root = backoffice.root().with_header("vestibule-user-id", "ada").with_header("vestibule-session", session);
    let body = br#"{"email": "ada@example.com"}"#;
    let response = enqueue(&mut root, "updates.fifo/jobs?group_id=user-17", "application/json", body).await;
    assert_eq!(response.status, 202, "{}", response.text());
    let id = response.json()["job_id"].as_str().unwrap().to_owned();
    let expected = json!({ "job_id": id, "job_queue": "updates.fifo", "state": "queued", "duplicate": false });
    assert_eq!(response.json(), expected);
    assert_eq!(response.headers["x-job-id"], id);
    assert_eq!(response.headers["location"], format!("/api/v1/job-queues/updates.fifo/jobs/{id}"));

    let job = root.get(&format!("/job-queues/updates.fifo/jobs/{id}")).await.json();
    for (field, value) in [
        ("state", json!("queued")),
        ("group_id", json!("user-17")),
        ("user_id", json!("ada")),
        ("session", json!(session)),
        ("params", Value::Null),
        ("ahead", json!(0)),
        ("progress", json!([])),
        ("result", Value::Null),
        ("sequence_number", json!(1)),
        ("receive_count", json!(0)),
        ("attempts", json!([])),
        ("content_type", json!("application/json")),
        ("payload", json!({ "email": "ada@example.com" })),
    ] {
        assert_eq!(job[field], value, "{field}");
    }
    let binary = enqueue(&mut root, "mails/jobs?delay=60", "image/png", &[0xff, 0, 1]).await.json();
    let job = root.get(&format!("/job-queues/mails/jobs/{}", binary["job_id"].as_str().unwrap())).await.json();
    assert_eq!((&job["payload"], &job["payload_base64"]), (&Value::Null, &json!("/wAB")));

    let list = root.get("/job-queues").await.json();
    let list = list["job_queues"].as_array().unwrap();
    assert_eq!(
        list.iter().map(|it| it["settings"]["id"].as_str().unwrap()).collect::<Vec<_>>(),
        ["mails", "updates.fifo"]
    );
    assert_eq!((&list[0]["settings"]["concurrency"], &list[0]["stats"]["waiting"]), (&json!(3), &json!(1)));
    let stats = root.get("/job-queues/updates.fifo/stats").await.json();
    assert_eq!((&stats["waiting"], &stats["running"], &stats["enqueued"]), (&json!(1), &json!(0), &json!(1)));
    for counter in ["unknown", "canceled", "replayed", "refused"] {
        assert_eq!(stats[counter], 0, "{counter}: {stats}");
    }

    // What a worker does.
    let jobs = backoffice.admin.jobs();
    let settings = jobs.get(&"updates.fifo".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let lease = jobs.backend().receive(&settings, 1).await.unwrap().jobs[0].lease;
    let message = r#"{"step": 1.10}"#.parse().unwrap();
    jobs.job_store().add_progress(&settings, lease, message).await.unwrap();
    let response = JobResponse { status: 200, body: b"updated".to_vec(), ..JobResponse::default() };
    let settlement = Settlement { lease, outcome: Outcome::Acknowledged(Some(response)) };
    jobs.backend().settle(&settings, vec![settlement]).await.unwrap();
    // As a visitor quotes it.
    let code = format!("{}-{}", &id[..6], &id[6..]).to_lowercase();
    let shown = root.get(&format!("/job-queues/updates.fifo/jobs/{code}")).await;
    assert_eq!(shown.json()["job_id"], id);
    let job = shown.json();
    assert_eq!((&job["state"], &job["payload"], &job["receive_count"]), (&json!("completed"), &Value::Null, &json!(1)));
    assert_eq!(job["attempts"][0]["status"], 200);
    assert_eq!(job["result"], json!({ "status": 200, "location": null, "body": "updated" }));
    assert_eq!(job["progress"][0]["id"], 1);
    assert!(shown.text().contains(r#"{"step": 1.10}"#), "as it was written: {}", shown.text());
}

async fn enqueue_errors(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("updates.fifo", &json!({})), job_queue("mails", &json!({ "max_jobs": 1 }))]).await;
    let mut root = backoffice.root();
    let large = vec![b'x'; PAYLOAD_MAX + 1];
    let deep = format!("{}{}", "[".repeat(61), "]".repeat(61)).into_bytes();
    let long = "x".repeat(101);
    for (path, content_type, body, status, code) in [
        ("updates.fifo/jobs", "text/plain", &b"hello"[..], 400, "group_required"),
        ("mails/jobs?group_id=a", "text/plain", b"hello", 400, "group_not_supported"),
        ("updates.fifo/jobs?group_id=a&delay=1", "text/plain", b"hello", 400, "delay_not_supported"),
        ("updates.fifo/jobs?group_id=a%20b", "text/plain", b"hello", 400, "invalid_id"),
        ("mails/jobs?deduplication_id=%C3%A4", "text/plain", b"hello", 400, "invalid_id"),
        (&format!("mails/jobs?deduplication_id={long}"), "text/plain", b"hello", 422, "validation_failed"),
        ("mails/jobs?delay=901", "text/plain", b"hello", 422, "validation_failed"),
        ("mails/jobs?group=a", "text/plain", b"hello", 422, "validation_failed"),
        ("mails/jobs", "application/json; charset=utf-8", b"{\"a\":", 400, "invalid_json"),
        ("mails/jobs", "application/json", &deep, 400, "invalid_json"),
        ("mails/jobs", "text/plain", b"", 422, "empty_payload"),
        ("mails/jobs", "text/plain", &large, 413, "payload_too_large"),
        ("unknown/jobs", "text/plain", b"hello", 404, "unknown_job_queue"),
        ("un known/jobs", "text/plain", b"hello", 404, "unknown_job_queue"),
    ] {
        let response = enqueue(&mut root, &path.replace("un known", "un%20known"), content_type, body).await;
        assert_eq!((response.status.as_u16(), response.code().as_str()), (status, code), "{path}: {}", response.text());
    }
    let long = format!("text/plain; a={}", "x".repeat(255));
    for (path, content_type, detail) in [
        (
            "mails/jobs?deduplication_id=a%20b",
            "text/plain",
            "must be 1 to 100 printable ASCII characters without spaces.",
        ),
        ("mails/jobs", &long, "must be at most 255 characters."),
    ] {
        let response = enqueue(&mut root, path, content_type, b"hello").await;
        assert_eq!(response.code(), "invalid_id", "{path}");
        assert!(response.json()["detail"].as_str().unwrap().ends_with(detail), "{}", response.text());
    }
    let mut user = backoffice.root().with_header("vestibule-user-id", &"x".repeat(256));
    let refused = enqueue(&mut user, "mails/jobs", "text/plain", b"hello").await;
    assert_eq!(refused.json()["detail"], "user_id must be 1 to 255 printable ASCII characters.");
    let mut session = backoffice.root().with_header("vestibule-session", "mine");
    let refused = enqueue(&mut session, "mails/jobs", "text/plain", b"hello").await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (400, "invalid_id"));
    assert!(
        refused.json()["detail"].as_str().unwrap().starts_with("session must be a session ID"),
        "{}",
        refused.text()
    );
    assert_eq!(enqueue(&mut root, "mails/jobs", "text/plain", b"hello").await.status, 202);
    let full = enqueue(&mut root, "mails/jobs", "text/plain", b"hello").await;
    assert_eq!((full.status.as_u16(), full.code().as_str()), (503, "job_queue_full"));
    assert!(full.headers.contains_key("retry-after"));
    for path in ["/job-queues/mails/jobs/0NPWV1MDQB2XKF3Y0T5DWZQ", "/job-queues/mails/jobs/x"] {
        root.get(path).await.assert_code("unknown_job");
    }
}

async fn repeated_enqueue_is_a_duplicate(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("updates.fifo", &json!({})), job_queue("mails", &json!({}))]).await;
    for path in ["updates.fifo/jobs?group_id=a", "mails/jobs"] {
        let mut root = backoffice.root().with_header("idempotency-key", "change-4711");
        let first = enqueue(&mut root, path, "text/plain", b"one").await;
        let second = enqueue(&mut root, path, "text/plain", b"two").await;
        assert_eq!(first.json()["job_id"], second.json()["job_id"], "{path}");
        assert!(!first.headers.contains_key("x-job-duplicate"));
        assert_eq!((second.status.as_u16(), &second.headers["x-job-duplicate"]), (202, &"true".parse().unwrap()));
        assert_eq!(second.json()["duplicate"], true);
    }
    let mut root = backoffice.root();
    for path in ["updates.fifo/jobs?group_id=c&", "mails/jobs?"] {
        let path = format!("{path}deduplication_id=change-4712");
        let first = enqueue(&mut root, &path, "text/plain", b"one").await.json();
        let second = enqueue(&mut root, &path, "text/plain", b"two").await.json();
        assert_eq!((&second["job_id"], &second["duplicate"]), (&first["job_id"], &json!(true)), "{path}");
    }
    let [first, second] = [r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#].map(str::as_bytes);
    let path = "updates.fifo/jobs?group_id=b";
    let first = enqueue(&mut root, path, "application/json", first).await.json();
    let second = enqueue(&mut root, path, "application/json", second).await.json();
    assert_eq!((&second["job_id"], &second["duplicate"]), (&first["job_id"], &json!(true)), "equal content");
}

async fn duplicate_has_the_state_of_the_first_job(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    let mut root = backoffice.root();
    let path = "mails/jobs?deduplication_id=change-4711";
    let state = async |root: &mut AdminClient| enqueue(root, path, "text/plain", b"one").await.json()["state"].clone();
    assert_eq!((state(&mut root).await, state(&mut root).await), (json!("queued"), json!("queued")));
    let jobs = backoffice.admin.jobs();
    let settings = jobs.get(&"mails".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let lease = jobs.backend().receive(&settings, 1).await.unwrap().jobs[0].lease;
    assert_eq!(state(&mut root).await, "running");
    let settlement = Settlement { lease, outcome: Outcome::Acknowledged(None) };
    jobs.backend().settle(&settings, vec![settlement]).await.unwrap();
    assert_eq!(state(&mut root).await, "completed");
    let job = json!({ "payload": 1, "deduplication_id": "change-4711" });
    let results = root.post("/job-queues/mails/jobs/batch", json!({ "jobs": [job, { "payload": 2 }] })).await.json();
    let states = (&results["jobs"][0]["state"], &results["jobs"][1]["state"]);
    assert_eq!(states, (&json!("completed"), &json!("queued")));
}

async fn batch_reports_each_job(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("updates.fifo", &json!({ "max_jobs": 98 }))]).await;
    let mut root = backoffice.root();
    let job = |number: u64| json!({ "payload": number, "group_id": format!("user-{number}") });
    let mut jobs: Vec<Value> = (0..100).map(job).collect();
    jobs[70] = json!({ "payload": {} });
    jobs[71] = jobs[0].clone();
    jobs[72]["session"] = json!("mine");
    let response = root.post("/job-queues/updates.fifo/jobs/batch", json!({ "jobs": jobs })).await;
    assert_eq!(response.status, 202, "{}", response.text());
    let results = response.json()["jobs"].as_array().unwrap().clone();
    assert_eq!(results.len(), 100);
    assert_eq!((&results[70]["code"], &results[72]["code"]), (&json!("group_required"), &json!("invalid_id")));
    assert_eq!((&results[71]["job_id"], &results[71]["duplicate"]), (&results[0]["job_id"], &json!(true)));
    assert_eq!(results.iter().filter(|it| it["duplicate"] == false).count(), 97);
    let another = json!({ "jobs": [job(200), job(201)] });
    let another = root.post("/job-queues/updates.fifo/jobs/batch", another).await.json();
    assert_eq!(
        (&another["jobs"][0]["duplicate"], &another["jobs"][1]["code"]),
        (&json!(false), &json!("job_queue_full"))
    );
    for bad in [json!({ "jobs": [] }), json!({ "jobs": [{ "group_id": "a" }] }), json!({ "jobs": vec![job(1); 101] })] {
        root.post("/job-queues/updates.fifo/jobs/batch", bad).await.assert_code("validation_failed");
    }
}

async fn roles_and_tenants_limit_access_to_jobs(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    backoffice.tenant("blue").await;
    let id = enqueue(&mut backoffice.root(), "mails/jobs", "text/plain", b"hello").await.json();
    let job = format!("/job-queues/mails/jobs/{}", id["job_id"].as_str().unwrap());
    let mut viewer = backoffice.operator("vera", "viewer", &["acme"]).await;
    assert_eq!(viewer.get("/job-queues").await.json()["job_queues"].as_array().unwrap().len(), 1);
    assert_eq!(viewer.get("/job-queues/mails/stats").await.status, 200);
    viewer.get(&job).await.assert_code("permission_denied");
    enqueue(&mut viewer, "mails/jobs", "text/plain", b"hello").await.assert_code("permission_denied");
    viewer.post("/job-queues/mails/pause", json!({})).await.assert_code("permission_denied");
    let mut operator = backoffice.operator("olaf", "operator", &["acme"]).await;
    assert_eq!(operator.get(&job).await.status, 200);
    let mut other = backoffice.operator("otto", "operator", &["blue"]).await;
    assert_eq!(other.get("/job-queues").await.json(), json!({ "job_queues": [] }));
    for path in ["/job-queues/mails", "/job-queues/mails/stats", "/job-queues/mails/secret", &job] {
        other.get(path).await.assert_code("unknown_job_queue");
    }
    enqueue(&mut other, "mails/jobs", "text/plain", b"hello").await.assert_code("unknown_job_queue");
}

async fn jobs_token_only_handles_jobs(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    let token =
        json!({ "name": "shop", "role": "operator", "tenants": ["acme"], "only": "jobs", "expires_in": 86_400 });
    let token = backoffice.root().create("/tokens", token).await;
    let mut shop = backoffice.admin.client().with_token(token["secret"].as_str().unwrap());
    let enqueued = enqueue(&mut shop, "mails/jobs", "text/plain", b"hello").await;
    assert_eq!(enqueued.status, 202, "{}", enqueued.text());
    let location = enqueued.headers["location"].to_str().unwrap().strip_prefix("/api/v1").unwrap().to_owned();
    assert_eq!(shop.get(&location).await.status, 200);
    for path in ["/job-queues", "/job-queues/mails", "/job-queues/mails/secret", "/queues", "/tenants", "/settings"] {
        shop.get(path).await.assert_code("permission_denied");
    }
    shop.post("/job-queues/mails/pause", json!({})).await.assert_code("permission_denied");
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

async fn secret_is_rotated(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    let mut root = backoffice.root();
    let first = root.get("/job-queues/mails/secret").await.json();
    assert_eq!(first["previous_until"], Value::Null);
    let rotated = root.post("/job-queues/mails/secret/rotate", json!({})).await.json();
    assert_ne!(rotated["secret"], first["secret"]);
    assert_eq!(rotated["previous_until"], backoffice.now() + 86_400);
    assert_eq!(root.get("/job-queues/mails/secret").await.json(), rotated);
    let early = root.post("/job-queues/mails/secret/rotate", json!({})).await;
    early.assert_code("confirmation_required");
    assert_eq!(root.get("/job-queues/mails/secret").await.json(), rotated, "the older secret still signs");
    let stored = async || {
        let stored = backoffice.admin.jobs().stored().await.unwrap().remove(0);
        (
            json!(stored.settings.target.secret.unwrap().reveal()),
            stored.retired_secret.map(|it| json!(it.secret.reveal())),
        )
    };
    let expected = (rotated["secret"].clone(), Some(first["secret"].clone()));
    assert_eq!(stored().await, expected);
    root.patch("/job-queues/mails", json!({ "concurrency": 3 })).await;
    root.post("/job-queues/mails/pause", json!({})).await;
    import(&backoffice, &[job_queue("mails", &json!({ "concurrency": 4 }))]).await;
    assert_eq!(stored().await, expected, "other changes keep both secrets");
    for path in ["/job-queues/mails", "/settings", "/audit"] {
        let text = root.get(path).await.text().to_owned();
        assert!(!text.contains("whsec_") && !text.contains("retired_secret"), "{path}: {text}");
    }
    let pull = job_queue("pulled", &json!({ "target": { "kind": "pull" } }));
    root.create("/job-queues", pull).await;
    root.post("/job-queues/pulled/secret/rotate", json!({})).await.assert_code("no_signing_secret");
    assert_eq!(root.patch("/job-queues/pulled", json!({ "concurrency": 2 })).await.status, 200);
    let events = root.get("/audit").await.json();
    let rotations: Vec<_> =
        events["events"].as_array().unwrap().iter().filter(|it| it["action"] == "job_queue.rotate_secret").collect();
    assert_eq!((rotations.len(), &rotations[0]["changes"][0]["field"]), (1, &json!("target")));
    backoffice
        .operator("vera", "viewer", &["acme"])
        .await
        .post("/job-queues/mails/secret/rotate", json!({}))
        .await
        .assert_code("permission_denied");
    backoffice.advance_seconds(86_400);
    // Sign-ins have expired, too.
    let shown = backoffice.admin.root().await.get("/job-queues/mails/secret").await.json();
    assert_eq!((&shown["secret"], &shown["previous_until"]), (&rotated["secret"], &Value::Null));
    let again = backoffice.admin.root().await.post("/job-queues/mails/secret/rotate", json!({})).await;
    assert_eq!(again.status, 200, "there is no older secret any more");
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

async fn secret_is_revealed_to_operators_only(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    let mut root = backoffice.root();
    let secret = root.get("/job-queues/mails/secret").await.json()["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("whsec_") && secret.len() > 40, "{secret}");
    backoffice
        .operator("vera", "viewer", &["acme"])
        .await
        .get("/job-queues/mails/secret")
        .await
        .assert_code("permission_denied");
    for path in ["/job-queues", "/job-queues/mails", "/settings", "/audit"] {
        let text = root.get(path).await.text().to_owned();
        assert!(!text.contains("whsec_") && !text.contains(&secret[6..]), "{path}: {text}");
    }
    let events = root.get("/audit").await.json();
    let reads = events["events"].as_array().unwrap().iter().filter(|it| it["action"] == "job_queue.read_secret");
    assert_eq!(reads.count(), 1);
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
