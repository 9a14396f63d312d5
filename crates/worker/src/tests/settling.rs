use std::sync::Arc;

use serde_json::json;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use vestibule_core::jobs::{JobBackend as _, JobQueueSettings, JobResponse, JobState, Outcome, Payload};

use super::fixture::{Fixture, new_job, soon};
use crate::leases::Leases;
use crate::settler::settle_all;
use crate::webhooks::JobEvents;

#[tokio::test]
async fn large_responses_are_settled_in_several_lists() {
    const KB: usize = 1_000;
    let fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("orders", &json!({ "paused": true })).await;
    let receiving = JobQueueSettings { paused: false, ..settings.clone() };
    let leases = Leases::new(Arc::new(Notify::new()));
    let (outcomes, ended) = mpsc::unbounded_channel();
    let mut ids = Vec::new();
    // All have ended before the first is settled.
    for size in [100 * KB, 100 * KB, 100 * KB, 300 * KB, 1, 1, 1] {
        let job = new_job(Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() });
        ids.push(fixture.enqueue_job(&settings, job).await);
        let lease = fixture.backend.receive(&receiving, 1).await.unwrap().jobs[0].lease;
        let response = JobResponse { status: 200, body: vec![b'x'; size], ..JobResponse::default() };
        let held = leases.hold(lease, Instant::now(), None);
        outcomes.send((held, Outcome::Acknowledged(Some(response)))).unwrap();
    }
    drop(outcomes);
    let (events, _publish) = JobEvents::new(fixture.job_queues.clone());
    let settings_now = receiving.clone();
    let settling = settle_all(ended, fixture.backend.clone(), move || settings_now.clone(), events);
    soon("settling", settling).await;
    for id in ids {
        assert_eq!(fixture.view(&receiving, id).await.state, JobState::Completed);
    }
    let lists = fixture.backend.settlements.lock().clone();
    assert_eq!(lists, [2, 1, 1, 3], "up to 256 KiB, and at least one");
}
