//! Enqueuing jobs, and what became of them.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use vestibule_core::ManualClock;
use vestibule_core::jobs::{JobId, JobResponse, Outcome, PAYLOAD_MAX, Settlement};
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_store_redis::{RedisJobs, RedisOptions};
use vestibule_tests::{AdminClient, AdminUnderTest};

use super::{enqueue, import, job_queue};
use crate::admin::backoffice::{Backoffice, START, on_memory_and_redis};

on_memory_and_redis! {
    job_is_enqueued_and_shown,
    enqueue_errors,
    repeated_enqueue_is_a_duplicate,
    duplicate_has_the_state_of_the_first_job,
    batch_reports_each_job,
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
