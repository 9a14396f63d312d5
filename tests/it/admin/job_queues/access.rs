//! Who has access to jobs and signing secrets.

use serde_json::{Value, json};

use super::{enqueue, import, job_queue};
use crate::admin::backoffice::{Backoffice, on_memory_and_redis};

on_memory_and_redis! {
    roles_and_tenants_limit_access_to_jobs,
    jobs_token_only_handles_jobs,
    secret_is_rotated,
    secret_is_revealed_to_operators_only,
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
