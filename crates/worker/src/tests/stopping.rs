use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, advance};
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{Extension, JobBackend as _, JobQueueSettings, JobState, Payload};
use vestibule_core::{ManualClock, Micros};
use vestibule_store_memory::MemoryJobs;

use super::fixture::{Fixture, new_job, soon};
use crate::Stopped;
use crate::leases::Leases;

#[tokio::test]
async fn stop_waits_for_running_calls_and_starts_no_more() {
    let mut fixture = Fixture::start(8).await;
    let settings = fixture.job_queue("emails", &json!({ "concurrency": 1 })).await;
    let first = fixture.enqueue(&settings, None, "first").await;
    let call = fixture.handler.next().await;
    let second = fixture.enqueue(&settings, None, "second").await;
    fixture.begin_stop();
    tokio::task::yield_now().await;
    call.respond(204, &[]);
    assert_eq!(fixture.stopped().await, Stopped { finished: 1, requeued: 0, interrupted: 0 });
    assert_eq!(fixture.view(&settings, first).await.state, JobState::Completed);
    assert_eq!(fixture.view(&settings, second).await.state, JobState::Queued);
    assert!(fixture.handler.is_quiet());
    fixture.run();
    let call = fixture.handler.next().await;
    assert_eq!(call.body.as_ref(), b"second");
    call.respond(204, &[]);
    fixture.reaches(&settings, second, JobState::Completed).await;
}

#[tokio::test]
async fn stop_returns_jobs_that_are_not_started() {
    let mut fixture = Fixture::start(8).await;
    // The backend leases the job, and the stop is faster than its answer.
    fixture.backend.receives.forget_permits(usize::MAX);
    let settings = fixture.job_queue("emails", &json!({})).await;
    let id = fixture.enqueue(&settings, None, "hello").await;
    soon("the receive", async {
        while fixture.view(&settings, id).await.state != JobState::Running {
            fixture.backend.receives.add_permits(fixture.backend.received.swap(0, Ordering::SeqCst));
            tokio::task::yield_now().await;
        }
    })
    .await;
    fixture.begin_stop();
    // The worker tells its loops.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    fixture.backend.receives.add_permits(1);
    assert_eq!(fixture.stopped().await, Stopped { finished: 0, requeued: 1, interrupted: 0 });
    let view = fixture.view(&settings, id).await;
    assert_eq!((view.state, view.receive_count, view.failed_attempts), (JobState::Queued, 1, 0));
    assert!(fixture.handler.is_quiet());
}

struct Leased {
    clock: Arc<ManualClock>,
    backend: Arc<MemoryJobs>,
    settings: JobQueueSettings,
}

impl Leased {
    /// A backend with one job.
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Micros(1_795_340_000_000_000)));
        let backend = Arc::new(MemoryJobs::new(clock.clone()));
        let target = json!({ "kind": "http", "url": "https://crm.acme.example/" });
        let settings =
            JobQueueSettings::from_json(&json!({ "id": "emails", "tenant": "acme", "target": target })).unwrap();
        let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() };
        backend.enqueue(&settings, vec![new_job(payload)]).await.unwrap();
        Self { clock, backend, settings }
    }

    /// Both clocks move, in steps of a second.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.advance(1_000_000);
            advance(Duration::from_secs(1)).await;
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn lease_is_extended_during_the_call() {
    let it = Leased::new().await;
    let lease = it.backend.receive(&it.settings, 1).await.unwrap().jobs[0].lease;
    let leases = Leases::new(Arc::new(Notify::new()));
    let held = leases.hold(lease, Instant::now(), None);
    let settings = it.settings.clone();
    let keeping = tokio::spawn(leases.clone().keep(it.backend.clone(), move || settings.clone()));
    it.pass(120).await;
    assert!(held.until() > Instant::now() + Duration::from_secs(19));
    assert_eq!(it.backend.extend(&it.settings, &[Extension::of(lease)]).await.unwrap(), [true]);
    keeping.abort();
}

#[tokio::test(start_paused = true)]
async fn call_ends_with_its_lease() {
    let it = Leased::new().await;
    let lease = it.backend.receive(&it.settings, 1).await.unwrap().jobs[0].lease;
    let leases = Leases::new(Arc::new(Notify::new()));
    let held = leases.hold(lease, Instant::now(), None);
    let call = tokio::spawn(async move {
        let _held = held;
        std::future::pending::<()>().await;
    });
    leases.runs(lease, call.abort_handle());
    let settings = it.settings.clone();
    let keeping = tokio::spawn(leases.clone().keep(it.backend.clone(), move || settings.clone()));
    // The worker was stopped longer than a lease.
    it.clock.advance(31_000_000);
    it.pass(11).await;
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(leases.len(), 0);
    keeping.abort();
}
