//! What operators do with waiting jobs and with dead letters.

use http::Method;
use serde_json::{Value, json};
use vestibule_core::jobs::{Extension, Failure, FailureReason, JobId, NewJob, Outcome, Payload, Settlement};
use vestibule_tests::AdminClient;

use super::backoffice::{Backoffice, on_memory};
use super::job_queues::{enqueue, import, job_queue};

on_memory! {
    waiting_jobs_are_canceled_and_drained,
    dead_letters_are_shown_replayed_and_deleted,
    replayed_jobs_of_a_group_keep_their_order,
    dead_letters_come_in_pages_of_any_size,
    several_dead_letters_are_deleted_at_once,
    dead_letters_are_for_operators_of_the_tenant,
    held_orders_are_resolved_and_never_replayed,
}

/// Runs what is due, as a worker does, with these outcomes.
pub(super) async fn run_jobs(backoffice: &Backoffice, id: &str, outcomes: Vec<Outcome>) {
    let jobs = backoffice.admin.jobs();
    let settings = jobs.get(&id.parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let received = jobs.backend().receive(&settings, outcomes.len()).await.unwrap().jobs;
    assert_eq!(received.len(), outcomes.len());
    let settlements = received.iter().zip(outcomes).map(|(job, outcome)| Settlement { lease: job.lease, outcome });
    jobs.backend().settle(&settings, settlements.collect()).await.unwrap();
}

pub(super) fn failed(status: u16) -> Outcome {
    let response = format!("no customer with status {status}").into_bytes();
    Outcome::FailedForGood(Failure { reason: FailureReason::Permanent, status: Some(status), response })
}

pub(super) async fn enqueue_text(client: &mut AdminClient, path: &str, text: &str) -> String {
    let enqueued = enqueue(client, path, "text/plain", text.as_bytes()).await;
    assert_eq!(enqueued.status, 202, "{}", enqueued.text());
    enqueued.json()["job_id"].as_str().unwrap().to_owned()
}

/// J13.
async fn waiting_jobs_are_canceled_and_drained(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    let mut root = backoffice.root();
    let running = enqueue_text(&mut root, "mails/jobs", "one").await;
    let jobs = backoffice.admin.jobs();
    let settings = jobs.get(&"mails".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let lease = jobs.backend().receive(&settings, 1).await.unwrap().jobs[0].lease;
    let waiting = enqueue_text(&mut root, "mails/jobs", "two").await;
    let cancel = async |job: &str| {
        backoffice.root().send(Method::DELETE, &format!("/job-queues/mails/jobs/{job}"), &[], None).await
    };
    cancel(&running).await.assert_code("job_leased");
    assert_eq!(cancel(&waiting).await.status, 204);
    cancel(&waiting).await.assert_code("unknown_job");
    cancel("x").await.assert_code("unknown_job");
    let settlement = Settlement { lease, outcome: failed(410) };
    jobs.backend().settle(&settings, vec![settlement]).await.unwrap();
    cancel(&running).await.assert_code("job_finished");

    for number in 0..250 {
        let job = NewJob::new(JobId::random(), Payload { content_type: "text/plain".to_owned(), bytes: vec![number] });
        jobs.enqueue(&settings, vec![job]).await.unwrap();
    }
    let first = root.send(Method::POST, "/job-queues/mails/drain", &[], None).await;
    assert!(
        first.json()["confirmation"]["consequence"].as_str().unwrap().contains("(250) will be deleted"),
        "{}",
        first.text()
    );
    assert!(!first.text().contains("order"), "none are held: {}", first.text());
    let drained = root.confirmed(Method::POST, "/job-queues/mails/drain", None).await;
    assert_eq!(drained.json(), json!({ "canceled": 250, "complete": true }));
    let stats = root.get("/job-queues/mails/stats").await.json();
    assert_eq!((&stats["waiting"], &stats["dead"]), (&json!(0), &json!(1)), "dead letters stay");
    let events = root.get("/audit").await.json();
    let of_jobs = |action: &str| events["events"].as_array().unwrap().iter().find(|it| it["action"] == action).cloned();
    assert_eq!(of_jobs("job_queue.drain").unwrap()["changes"][0]["to"], 250);
    assert_eq!(of_jobs("job_queue.cancel_job").unwrap()["changes"][0]["to"], waiting);
}

/// J14.
async fn dead_letters_are_shown_replayed_and_deleted(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("updates.fifo", &json!({}))]).await;
    let mut root = backoffice.root();
    let mut ids = Vec::new();
    for (group, text) in [("a", "first"), ("b", "second"), ("c", "third")] {
        ids.push(enqueue_text(&mut root, &format!("updates.fifo/jobs?group_id={group}"), text).await);
    }
    for status in [410, 422, 400] {
        run_jobs(&backoffice, "updates.fifo", vec![failed(status)]).await;
    }
    let page = root.get("/job-queues/updates.fifo/dead-letters?limit=2").await.json();
    let shown = |page: &Value| -> Vec<String> {
        page["dead_letters"].as_array().unwrap().iter().map(|it| it["job_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(shown(&page), [ids[2].as_str(), &ids[1]]);
    let letter = &page["dead_letters"][1];
    for (field, value) in [
        ("state", json!("failed")),
        ("reason", json!("permanent")),
        ("response", json!("no customer with status 422")),
        ("group_id", json!("b")),
        ("payload", Value::Null),
    ] {
        assert_eq!(letter[field], value, "{field}");
    }
    assert!(letter["ended_at"].is_u64() && letter["attempts"][0]["status"] == 422, "{letter}");
    let next = page["next"].as_str().unwrap();
    let page = root.get(&format!("/job-queues/updates.fifo/dead-letters?limit=2&before={next}")).await.json();
    assert_eq!((shown(&page), &page["next"]), (vec![ids[0].clone()], &Value::Null));
    let wrong = root.get("/job-queues/updates.fifo/dead-letters?before=x").await.wrong_fields();
    assert!(wrong[0].starts_with("before: "), "{wrong:?}");
    let path = |id: &str| format!("/job-queues/updates.fifo/dead-letters/{id}");
    assert_eq!(root.get(&path(&ids[0])).await.json()["payload"], "first");

    let replay = async |body: Value| backoffice.root().post("/job-queues/updates.fifo/dead-letters/replay", body).await;
    assert_eq!(replay(json!({ "job_ids": [ids[0]] })).await.json(), json!({ "replayed": 1, "complete": true }));
    assert_eq!(replay(json!({ "job_ids": [ids[0]] })).await.json()["replayed"], 0, "it is no dead letter any more");
    let job = root.get(&format!("/job-queues/updates.fifo/jobs/{}", ids[0])).await.json();
    assert_eq!(
        (&job["state"], &job["failed_attempts"], &job["sequence_number"]),
        (&json!("queued"), &json!(0), &json!(4))
    );
    root.get(&path(&ids[0])).await.assert_code("unknown_dead_letter");
    for bad in [json!({}), json!({ "job_ids": [ids[1]], "all": true }), json!({ "job_ids": ["x"] })] {
        assert!(replay(bad.clone()).await.wrong_fields()[0].starts_with("job_ids: must "), "{bad}");
    }
    assert_eq!(root.send(Method::DELETE, &path(&ids[1]), &[], None).await.status, 204);
    root.send(Method::DELETE, &path(&ids[1]), &[], None).await.assert_code("unknown_dead_letter");
    assert_eq!(replay(json!({ "all": true })).await.json(), json!({ "replayed": 1, "complete": true }));
    let stats = root.get("/job-queues/updates.fifo/stats").await.json();
    assert_eq!((&stats["waiting"], &stats["dead"]), (&json!(2), &json!(0)));
}

/// J5, over more than one batch of a backend.
async fn replayed_jobs_of_a_group_keep_their_order(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("updates.fifo", &json!({ "max_attempts": 1 }))]).await;
    let mut root = backoffice.root();
    let mut ids = Vec::new();
    for number in 0..70 {
        ids.push(enqueue_text(&mut root, "updates.fifo/jobs?group_id=a", &number.to_string()).await);
        run_jobs(&backoffice, "updates.fifo", vec![failed(410)]).await;
    }
    let named: Vec<_> = ids.iter().rev().collect();
    let replayed = root.post("/job-queues/updates.fifo/dead-letters/replay", json!({ "job_ids": named })).await;
    assert_eq!(replayed.json(), json!({ "replayed": 70, "complete": true }));
    let jobs = backoffice.admin.jobs();
    let settings = jobs.get(&"updates.fifo".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    for id in ids {
        let job = jobs.backend().receive(&settings, 1).await.unwrap().jobs.remove(0);
        assert_eq!(job.lease.job.to_string(), id);
        let settlement = Settlement { lease: job.lease, outcome: Outcome::Acknowledged(None) };
        jobs.backend().settle(&settings, vec![settlement]).await.unwrap();
    }
}

async fn dead_letters_come_in_pages_of_any_size(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({ "concurrency": 100 }))]).await;
    let mut root = backoffice.root();
    for number in 0..70 {
        enqueue_text(&mut root, "mails/jobs", &format!("job {number}")).await;
    }
    for count in [40, 30] {
        run_jobs(&backoffice, "mails", (0..count).map(|_| failed(410)).collect()).await;
    }
    for limit in [1, 64, 65, 100] {
        let (mut seen, mut before) = (0, String::new());
        loop {
            let page = root.get(&format!("/job-queues/mails/dead-letters?limit={limit}{before}")).await.json();
            seen += page["dead_letters"].as_array().unwrap().len();
            match page["next"].as_str() {
                Some(next) => before = format!("&before={next}"),
                None => break,
            }
        }
        assert_eq!(seen, 70, "pages of {limit}");
    }
}

async fn several_dead_letters_are_deleted_at_once(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({ "concurrency": 100 }))]).await;
    let mut root = backoffice.root();
    let mut ids = Vec::new();
    for number in 0..140 {
        ids.push(enqueue_text(&mut root, "mails/jobs", &format!("job {number}")).await);
    }
    for count in [60, 60, 19] {
        run_jobs(&backoffice, "mails", (0..count).map(|_| failed(410)).collect()).await;
    }
    let path = "/job-queues/mails/dead-letters/delete";
    let some = root.post(path, json!({ "job_ids": ids[..70] })).await;
    assert_eq!(some.json(), json!({ "deleted": 70, "complete": true }), "{}", some.text());
    let again = root.post(path, json!({ "job_ids": [ids[0], ids[70], ids[139]] })).await;
    assert_eq!(again.json()["deleted"], 1, "one is deleted, and one waits");
    for bad in [json!({}), json!({ "job_ids": [ids[71]], "all": true }), json!({ "job_ids": ["x"] })] {
        assert!(root.post(path, bad.clone()).await.wrong_fields()[0].starts_with("job_ids: must "), "{bad}");
    }
    let first = root.post(path, json!({ "all": true })).await;
    let consequence = first.json()["confirmation"]["consequence"].as_str().unwrap().to_owned();
    assert!(consequence.contains("(68) will be deleted") && !consequence.contains("order"), "{consequence}");
    let all = root.confirmed(Method::POST, path, Some(json!({ "all": true }))).await;
    assert_eq!(all.json(), json!({ "deleted": 68, "complete": true }), "{}", all.text());
    let stats = root.get("/job-queues/mails/stats").await.json();
    assert_eq!((&stats["waiting"], &stats["dead"]), (&json!(1), &json!(0)), "jobs that wait stay");
    let events = root.get("/audit").await.json();
    let deleted =
        events["events"].as_array().unwrap().iter().find(|it| it["action"] == "job_queue.delete_dead_letters");
    assert_eq!(deleted.unwrap()["changes"][0]["to"], 68);
}

async fn dead_letters_are_for_operators_of_the_tenant(backoffice: Backoffice) {
    import(&backoffice, &[job_queue("mails", &json!({}))]).await;
    backoffice.tenant("blue").await;
    let id = enqueue_text(&mut backoffice.root(), "mails/jobs", "hello").await;
    run_jobs(&backoffice, "mails", vec![failed(410)]).await;
    let vera = backoffice.operator("vera", "viewer", &["acme"]).await;
    let otto = backoffice.operator("otto", "operator", &["blue"]).await;
    for (client, code) in [(vera, "permission_denied"), (otto, "unknown_job_queue")] {
        for (method, path, body) in [
            (Method::GET, "dead-letters".to_owned(), None),
            (Method::GET, format!("dead-letters/{id}"), None),
            (Method::DELETE, format!("dead-letters/{id}"), None),
            (Method::DELETE, format!("jobs/{id}"), None),
            (Method::POST, "drain".to_owned(), None),
            (Method::POST, "dead-letters/delete".to_owned(), Some(json!({ "all": true }))),
            (Method::POST, "dead-letters/replay".to_owned(), Some(json!({ "all": true }))),
            (Method::POST, format!("dead-letters/{id}/resolve"), Some(json!({ "outcome": "placed" }))),
        ] {
            let response = client.clone().send(method, &format!("/job-queues/mails/{path}"), &[], body).await;
            assert_eq!(response.code(), code, "{path}: {}", response.text());
        }
    }
    assert_eq!(backoffice.root().get("/job-queues/mails/stats").await.json()["dead"], 1);
}

/// H9.
async fn held_orders_are_resolved_and_never_replayed(backoffice: Backoffice) {
    let target = json!({ "target": { "kind": "origin" } });
    import(&backoffice, &[job_queue("orders.fifo", &target)]).await;
    let jobs = backoffice.admin.jobs();
    let settings = jobs.get(&"orders.fifo".parse().unwrap()).await.unwrap().unwrap().settings.clone();
    let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"order".to_vec() };
    let order = NewJob { group: Some("visitor-1".parse().unwrap()), ..NewJob::new(JobId::random(), payload) };
    let id = order.id.to_string();
    jobs.enqueue(&settings, vec![order]).await.unwrap();
    let lease = jobs.backend().receive(&settings, 1).await.unwrap().jobs[0].lease;
    assert_eq!(jobs.backend().extend(&settings, &[Extension::sent(lease)]).await.unwrap(), [true]);
    let lost = Outcome::Unknown(Failure { reason: FailureReason::Timeout, status: None, response: Vec::new() });
    jobs.backend().settle(&settings, vec![Settlement { lease, outcome: lost }]).await.unwrap();

    let mut root = backoffice.root();
    let job = enqueue(&mut root, "orders.fifo/jobs?group_id=visitor-1", "text/plain", b"order").await;
    assert_eq!((job.status.as_u16(), job.code().as_str()), (409, "held_orders_only"));
    let path = format!("/job-queues/orders.fifo/dead-letters/{id}");
    assert_eq!(root.get(&path).await.json()["state"], "unknown");
    let replay = root.post("/job-queues/orders.fifo/dead-letters/replay", json!({ "all": true })).await;
    assert_eq!((replay.status.as_u16(), replay.code().as_str()), (409, "not_replayable"));
    root.post(&format!("{path}/resolve"), json!({ "outcome": "perhaps" })).await.assert_code("validation_failed");
    assert_eq!(root.post(&format!("{path}/resolve"), json!({ "outcome": "placed" })).await.status, 204);
    assert_eq!(root.get(&path).await.json()["resolution"], "placed");
    let unknown = format!("/job-queues/orders.fifo/dead-letters/{}/resolve", JobId::random());
    root.post(&unknown, json!({ "outcome": "placed" })).await.assert_code("unknown_dead_letter");
    let asked = async |path: &str, body: Option<Value>| {
        let path = format!("/job-queues/orders.fifo/{path}");
        backoffice.root().send(Method::POST, &path, &[], body).await.json()["confirmation"]["message"]["code"].clone()
    };
    let codes = [asked("drain", None).await, asked("dead-letters/delete", Some(json!({ "all": true }))).await];
    assert_eq!(codes, ["will_cancel_orders", "will_delete_orders"]);
    let events = root.get("/audit").await.json();
    let resolved = events["events"].as_array().unwrap().iter().find(|it| it["action"] == "job_queue.resolve_order");
    assert_eq!(
        (&resolved.unwrap()["changes"][0]["to"], &resolved.unwrap()["changes"][1]["to"]),
        (&json!(id), &json!("placed"))
    );
}
