//! Consumers receive jobs over the API, and settle each by itself.

use std::time::Duration;

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use vestibule_tests::{AdminClient, TestResponse};

use super::backoffice::{Backoffice, on_memory};
use super::job_queues;

on_memory! {
    jobs_are_received_and_settled_one_by_one,
    receive_waits_for_a_job,
    too_many_waiting_receives_are_refused,
    jobs_of_a_lost_request_return_at_once,
    payloads_stay_as_they_were_written,
    only_jobs_to_pull_can_be_received,
    received_jobs_are_settled_after_the_target_has_changed,
}

const QUEUE: &str = "/job-queues/updates.fifo";
const JSON: &str = "application/json";

async fn open(backoffice: &Backoffice) -> AdminClient {
    let mut root = backoffice.root();
    root.create("/tenants", json!({ "id": "acme", "name": "Acme" })).await;
    let more = json!({ "timeout": 60, "max_attempts": 2 });
    create(&mut root, "updates.fifo", &json!({ "kind": "pull" }), &more).await;
    root
}

async fn create(root: &mut AdminClient, id: &str, target: &Value, more: &Value) {
    let mut settings = json!({ "id": id, "tenant": "acme", "target": target });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    root.create("/job-queues", settings).await;
}

async fn enqueue(client: &mut AdminClient, group: &str, number: u64) -> String {
    let jobs = json!({ "jobs": [{ "payload": { "number": number }, "group_id": group }] });
    let results = client.post(&format!("{QUEUE}/jobs/batch"), jobs).await.json();
    results["jobs"][0]["job_id"].as_str().unwrap().to_owned()
}

async fn receive(client: &mut AdminClient, wait_seconds: u64) -> Vec<Value> {
    let received = client.post(&format!("{QUEUE}/receive"), json!({ "wait_seconds": wait_seconds })).await;
    assert_eq!(received.status, 200, "{}", received.text());
    received.json()["jobs"].as_array().unwrap().clone()
}

fn handles(jobs: &[Value]) -> Vec<Value> {
    jobs.iter().map(|job| job["receipt_handle"].clone()).collect()
}

/// State or code of each result.
fn outcomes(response: &TestResponse) -> Vec<Value> {
    assert_eq!(response.status, 200, "{}", response.text());
    let results = response.json()["results"].as_array().unwrap().clone();
    results.iter().map(|it| if it["state"].is_null() { it["code"].clone() } else { it["state"].clone() }).collect()
}

async fn jobs_are_received_and_settled_one_by_one(backoffice: Backoffice) {
    let mut root = open(&backoffice).await;
    let first = enqueue(&mut root, "a", 1).await;
    for (group, number) in [("a", 2), ("b", 3), ("c", 4), ("d", 5)] {
        enqueue(&mut root, group, number).await;
    }
    let jobs = receive(&mut root, 0).await;
    let numbers: Vec<_> = jobs.iter().map(|job| job["payload"]["number"].clone()).collect();
    assert_eq!(numbers, [1, 3, 4, 5], "one of each group");
    assert_eq!(
        (&jobs[0]["job_id"], &jobs[0]["group_id"], &jobs[0]["receive_count"], &jobs[0]["content_type"]),
        (&json!(first), &json!("a"), &json!(1), &json!("application/json"))
    );
    assert!(receive(&mut root, 0).await.is_empty(), "they belong to their consumer");

    let handles = handles(&jobs);
    let acknowledged = json!({ "receipt_handles": [handles[0], "nonsense", handles[0]] });
    let acknowledged = root.post(&format!("{QUEUE}/acknowledge"), acknowledged).await;
    assert_eq!(outcomes(&acknowledged), ["completed", "lease_ended", "completed"]);
    let failed = json!({ "jobs": [
        { "receipt_handle": handles[1], "reason": "no such customer", "permanent": true },
        { "receipt_handle": handles[2], "reason": "database is down" },
        { "receipt_handle": handles[3], "requeue": true },
    ] });
    for response in
        [root.post(&format!("{QUEUE}/fail"), failed.clone()).await, root.post(&format!("{QUEUE}/fail"), failed).await]
    {
        assert_eq!(outcomes(&response), ["failed", "retrying", "queued"], "a repeated request has the same response");
    }
    let contradiction = json!({ "receipt_handles": [handles[1]] });
    assert_eq!(outcomes(&root.post(&format!("{QUEUE}/acknowledge"), contradiction).await), ["lease_ended"]);
    let dead = root.get(&format!("{QUEUE}/dead-letters")).await.json();
    let dead = &dead["dead_letters"][0];
    assert_eq!((&dead["reason"], &dead["response"]), (&json!("permanent"), &json!("no such customer")));
    let retried = root.get(&format!("{QUEUE}/jobs/{}", jobs[2]["job_id"].as_str().unwrap())).await.json();
    assert_eq!(
        (&retried["attempts"][0]["reason"], &retried["response"]),
        (&json!("reported"), &json!("database is down"))
    );

    let again = receive(&mut root, 0).await;
    let numbers: Vec<_> = again.iter().map(|job| job["payload"]["number"].clone()).collect();
    assert_eq!(numbers.len(), 2, "{numbers:?}");
    assert!(numbers.contains(&json!(2)) && numbers.contains(&json!(5)), "{numbers:?}");
    let extended = json!({ "receipt_handles": [self::handles(&again)[0], handles[0]], "seconds": 900 });
    let extended = root.post(&format!("{QUEUE}/extend"), extended).await;
    assert_eq!(outcomes(&extended), ["running", "lease_ended"]);
}

async fn receive_waits_for_a_job(backoffice: Backoffice) {
    let mut root = open(&backoffice).await;
    let mut producer = backoffice.root();
    let enqueued = async {
        sleep(Duration::from_millis(300)).await;
        enqueue(&mut producer, "a", 1).await
    };
    let waiting = timeout(Duration::from_secs(10), receive(&mut root, 20));
    let (received, id) = tokio::join!(waiting, enqueued);
    assert_eq!(received.expect("long before the end of the wait")[0]["job_id"], id);
    assert!(receive(&mut root, 1).await.is_empty(), "it ends when the time is over");
    let paused = async {
        sleep(Duration::from_millis(200)).await;
        producer.post(&format!("{QUEUE}/pause"), json!({})).await;
        enqueue(&mut producer, "b", 2).await;
    };
    let (received, ()) = tokio::join!(receive(&mut root, 2), paused);
    assert!(received.is_empty(), "a paused job queue starts nothing: {received:?}");
}

async fn too_many_waiting_receives_are_refused(backoffice: Backoffice) {
    let mut root = open(&backoffice).await;
    let mut consumers: Vec<_> = (0..20).map(|_| backoffice.root()).collect();
    let waiting = join_all(consumers.iter_mut().map(|consumer| receive(consumer, 20)));
    let one_more = async {
        sleep(Duration::from_millis(300)).await;
        let address = format!("{QUEUE}/receive");
        let refused = root.post(&address, json!({ "wait_seconds": 20 }));
        let refused = timeout(Duration::from_secs(10), refused).await.expect("it is answered at once");
        assert!(receive(&mut root, 0).await.is_empty(), "one that does not wait is served");
        refused
    };
    tokio::select! {
        _ = waiting => panic!("those within the limit wait"),
        refused = one_more => {
            refused.assert_code("too_many_receives");
            assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (429, Some("1")));
        }
    }
    sleep(Duration::from_millis(500)).await;
    assert!(timeout(Duration::from_secs(1), receive(&mut root, 20)).await.is_err(), "the others have ended");
}

async fn jobs_of_a_lost_request_return_at_once(backoffice: Backoffice) {
    let mut root = open(&backoffice).await;
    let mut lost = backoffice.root();
    // The client goes away while its request waits.
    assert!(timeout(Duration::from_millis(200), receive(&mut lost, 20)).await.is_err());
    enqueue(&mut root, "a", 1).await;
    let jobs = receive(&mut root, 5).await;
    assert_eq!(jobs.len(), 1, "the lost request took nothing with it");
}

async fn payloads_stay_as_they_were_written(backoffice: Backoffice) {
    let mut root = open(&backoffice).await;
    let payload = r#"{ "id": 9007199254740993, "size": [1e400, 0.10000000000000000001], "twice": 1, "twice": 2 }"#;
    let single = job_queues::enqueue(&mut root, "updates.fifo/jobs?group_id=a", JSON, payload.as_bytes()).await;
    assert_eq!(single.status, 202, "{}", single.text());
    let jobs = format!(r#"{{"jobs":[{{"payload":{payload},"group_id":"b"}},{{"payload":null,"group_id":"c"}}]}}"#);
    let batch = job_queues::enqueue(&mut root, "updates.fifo/jobs/batch", JSON, jobs.as_bytes()).await;
    assert_eq!(batch.status, 202, "{}", batch.text());
    let received = root.post(&format!("{QUEUE}/receive"), json!({})).await;
    assert_eq!(received.text().matches(payload).count(), 2, "{}", received.text());
    assert!(received.text().contains(r#""payload":null,"#), "{}", received.text());
    let id = single.json()["job_id"].as_str().unwrap().to_owned();
    let shown = root.get(&format!("{QUEUE}/jobs/{id}")).await;
    assert!(shown.text().contains(payload), "{}", shown.text());
    for (body, code) in [("{", "invalid_body"), ("[]", "invalid_body"), (r#"{"jobs":[1]}"#, "validation_failed")] {
        let refused = job_queues::enqueue(&mut root, "updates.fifo/jobs/batch", JSON, body.as_bytes()).await;
        assert_eq!(refused.json()["code"], code, "{body}");
    }
}

async fn only_jobs_to_pull_can_be_received(backoffice: Backoffice) {
    let mut root = open(&backoffice).await;
    let handler = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
    create(&mut root, "mails", &handler, &json!({})).await;
    create(&mut root, "orders.fifo", &json!({ "kind": "origin" }), &json!({})).await;
    for (path, body) in [
        ("mails/receive", json!({})),
        ("orders.fifo/receive", json!({})),
        ("orders.fifo/acknowledge", json!({ "receipt_handles": ["x"] })),
        ("orders.fifo/extend", json!({ "receipt_handles": ["x"], "seconds": 1 })),
        ("orders.fifo/fail", json!({ "jobs": [{ "receipt_handle": "x" }] })),
    ] {
        root.post(&format!("/job-queues/{path}"), body).await.assert_code("pull_not_supported");
    }
    root.post(&format!("{QUEUE}/receive"), json!({ "max_jobs": 65 })).await.assert_code("validation_failed");
    root.post(&format!("{QUEUE}/extend"), json!({ "receipt_handles": [], "seconds": 1 }))
        .await
        .assert_code("validation_failed");
    let token =
        json!({ "name": "consumer", "role": "operator", "tenants": ["acme"], "only": "jobs", "expires_in": 600 });
    let token = root.create("/tokens", token).await;
    let mut consumer = backoffice.admin.client().with_token(token["secret"].as_str().unwrap());
    enqueue(&mut consumer, "a", 1).await;
    let jobs = receive(&mut consumer, 0).await;
    let acknowledged = json!({ "receipt_handles": handles(&jobs) });
    assert_eq!(outcomes(&consumer.post(&format!("{QUEUE}/acknowledge"), acknowledged).await), ["completed"]);
    consumer.post(&format!("{QUEUE}/pause"), json!({})).await.assert_code("permission_denied");
    let job = enqueue(&mut consumer, "a", 2).await;
    let path = format!("{QUEUE}/jobs/{job}");
    assert_eq!(consumer.get(&path).await.json()["job_id"], job.as_str());
    consumer.send(Method::DELETE, &path, &[], None).await.assert_code("permission_denied");
    let canceled = root.send(Method::DELETE, &path, &[], None).await;
    assert!(canceled.status.is_success(), "{}", canceled.text());
}

async fn received_jobs_are_settled_after_the_target_has_changed(backoffice: Backoffice) {
    let mut root = open(&backoffice).await;
    for (group, number) in [("a", 1), ("b", 2), ("c", 3)] {
        enqueue(&mut root, group, number).await;
    }
    let handles = handles(&receive(&mut root, 0).await);
    let pushed = json!({ "target": { "kind": "http", "url": "https://crm.acme.example/jobs" } });
    assert_eq!(root.patch(QUEUE, pushed).await.status, 200);
    root.post(&format!("{QUEUE}/receive"), json!({})).await.assert_code("pull_not_supported");
    for (path, body, state) in [
        ("extend", json!({ "receipt_handles": [handles[0]], "seconds": 60 }), "running"),
        ("acknowledge", json!({ "receipt_handles": [handles[0]] }), "completed"),
        ("fail", json!({ "jobs": [{ "receipt_handle": handles[1] }] }), "retrying"),
        ("fail", json!({ "jobs": [{ "receipt_handle": handles[2], "requeue": true }] }), "queued"),
    ] {
        assert_eq!(outcomes(&root.post(&format!("{QUEUE}/{path}"), body).await), [state], "{path}");
    }
}
