//! Which tickets enqueue jobs while the queue lets everybody pass: no session is known then.

use std::sync::Arc;

use http::Request;
use serde_json::{Value, json};
use vestibule_core::SystemClock;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::JobQueueSettings;
use vestibule_core::settings::{JobQueueChange, JobQueuePlan};
use vestibule_runtime::JobQueues;
use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};
use vestibule_tests::{GateOptions, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup};

const ACCEPTED: (u16, Value) = (202, Value::Null);

fn refused() -> (u16, Value) {
    (401, json!("ticket_required"))
}

async fn mails() -> Arc<JobQueues> {
    let records = Arc::new(MemoryRecords::new(SystemClock::new()));
    let backend = Arc::new(MemoryJobs::new(SystemClock::new()));
    let job_queues = JobQueues::new(records, Arc::new(MemoryStore::new(SystemClock::new())), backend);
    let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
    let settings = json!({ "id": "mails", "tenant": "acme", "target": target, "producers": "visitors" });
    let settings = JobQueueSettings::from_json(&settings).unwrap();
    let change = JobQueueChange { settings, retired_secret: None, replaces: 0, changes: Vec::new() };
    job_queues.execute(&JobQueuePlan { changed: vec![change], ..JobQueuePlan::default() }).await.unwrap();
    Arc::new(job_queues)
}

async fn open() -> GateFixture {
    let options = GateOptions { job_queues: Some(mails().await), ..GateOptions::default() };
    let settings = json!({ "hold_ttl": 600, "active_ttl": 300 });
    GateFixture::open_with(StoreSetup::memory(), settings, options).await
}

/// A visitor who waits, and whose ticket is confirmed.
async fn waiting(fixture: &GateFixture) -> Visitor {
    let mut visitor = fixture.visitor();
    visitor.navigate("/").await;
    visitor.navigate("/").await;
    visitor
}

async fn enqueue(visitor: &mut Visitor) -> (u16, Value) {
    let job = Request::post("/_vestibule/jobs/mails").header("accept", "application/json");
    let answer = visitor.request(job.header("content-type", "text/plain"), "x").await;
    (answer.status.as_u16(), answer.json()["code"].clone())
}

#[tokio::test]
async fn ticket_of_an_ended_session_enqueues_nothing_in_bypass_mode() {
    let fixture = open().await;
    let (mut visitor, mut leaver) = (waiting(&fixture).await, waiting(&fixture).await);
    let mut other_tab = leaver.clone();
    fixture.change(&json!({ "mode": "bypass" })).await;
    assert_eq!((enqueue(&mut visitor).await, enqueue(&mut leaver).await), (ACCEPTED, ACCEPTED));
    leaver.leave(fixture.queue.as_str()).await;
    assert_eq!((enqueue(&mut visitor).await, enqueue(&mut other_tab).await), (ACCEPTED, refused()));
    fixture.gate.store().reset(&fixture.queue).await.unwrap();
    assert_eq!(enqueue(&mut visitor).await, refused(), "the ticket is of an earlier epoch");
}

#[tokio::test]
async fn expired_ticket_enqueues_nothing_in_bypass_mode() {
    let fixture = open().await;
    let mut visitor = waiting(&fixture).await;
    fixture.change(&json!({ "mode": "bypass" })).await;
    fixture.advance_seconds(590);
    assert_eq!(enqueue(&mut visitor).await, ACCEPTED);
    fixture.advance_seconds(11);
    assert_eq!(enqueue(&mut visitor).await, refused());
}
