use serde_json::json;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{JobBackendError, JobId, Payload, WebhookEvent, WebhookEventType, WebhookSubject};
use vestibule_core::settings::{Document, JobQueuePlan, Plan, PlanOptions, StoredSettings, Unlisted};
use vestibule_core::{Micros, SystemClock};
use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};

use super::*;
use crate::fake_settings_store::FakeSettingsStore;

fn job_queue(id: &str) -> JobQueueSettings {
    let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
    JobQueueSettings::from_json(&json!({ "id": id, "tenant": "acme", "target": target })).unwrap()
}

fn delivering(id: &str, more: &Value) -> JobQueueSettings {
    let mut value = job_queue(id).to_value();
    value["webhook"] = json!({ "event_types": ["queue.reset"] });
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    JobQueueSettings::from_json(&value).unwrap()
}

async fn fixture() -> JobQueues {
    let store = Arc::new(MemoryStore::new(SystemClock::new()));
    store.put_tenant(&Tenant::from_value(&json!({ "id": "acme", "name": "Acme" })).unwrap()).await.unwrap();
    let records = Arc::new(MemoryRecords::new(SystemClock::new()));
    JobQueues::new(records, store, Arc::new(MemoryJobs::new(SystemClock::new())))
}

async fn plan(job_queues: &JobQueues, wanted: &[JobQueueSettings]) -> JobQueuePlan {
    let stored = StoredSettings { job_queues: job_queues.stored().await.unwrap(), ..StoredSettings::default() };
    let document = Document { job_queues: wanted.to_vec(), ..Document::default() };
    let options = PlanOptions { unlisted: Unlisted::Remove, ..PlanOptions::default() };
    Plan::of(&stored, document, &options).job_queues
}

#[tokio::test(start_paused = true)]
async fn cached_settings_are_returned_at_once_while_the_store_is_away() {
    let store = FakeSettingsStore::with_queues(0).await;
    let records = Arc::new(MemoryRecords::new(SystemClock::new()));
    let job_queues = JobQueues::new(records, store.clone(), Arc::new(MemoryJobs::new(SystemClock::new())));
    let mails = job_queue("mails");
    job_queues.execute(&plan(&job_queues, std::slice::from_ref(&mails)).await).await.unwrap();
    store.set_unavailable(true);
    tokio::time::advance(FRESH_FOR).await;
    let before = store.tenant_reads();
    for _ in 0..20 {
        assert!(job_queues.get(&mails.id).await.unwrap().is_some());
    }
    assert_eq!(store.tenant_reads(), before + 1, "the others do not try again");
    store.set_unavailable(false);
    tokio::time::advance(AFTER_FAILURE).await;
    job_queues.get(&mails.id).await.unwrap();
    assert_eq!(store.tenant_reads(), before + 2);
}

#[tokio::test]
async fn secret_is_generated_once() {
    let job_queues = fixture().await;
    let mails = job_queue("mails");
    let written = job_queues.execute(&plan(&job_queues, std::slice::from_ref(&mails)).await).await.unwrap();
    let secret = written.written[0].target.secret.clone().unwrap();
    assert!(plan(&job_queues, std::slice::from_ref(&mails)).await.is_empty());
    let changed = JobQueueSettings { concurrency: 3, ..mails.clone() };
    job_queues.execute(&plan(&job_queues, &[changed]).await).await.unwrap();
    let cached = job_queues.get(&mails.id).await.unwrap().unwrap();
    assert_eq!((cached.settings.concurrency, cached.revision), (3, 2), "written settings are in effect at once");
    assert_eq!(cached.settings.target.secret, Some(secret));
    assert_eq!(cached.tenant.as_ref().unwrap().name, "Acme");
}

#[tokio::test]
async fn lost_job_queues_are_restored_and_removed_ones_are_not() {
    let one = fixture().await;
    let other = JobQueues::new(one.records.clone(), one.store.clone(), one.backend.clone());
    let mails = job_queue("mails");
    let created = async || one.execute(&plan(&one, std::slice::from_ref(&mails)).await).await.unwrap();
    let lose = async || one.records.remove_document(DocumentKind::JobQueues, "mails").await.unwrap();
    created().await;
    let secret = other.read(&mails.id).await.unwrap().unwrap().settings.target.secret.clone();
    assert!(lose().await);
    let restored = other.read(&mails.id).await.unwrap().unwrap();
    assert_eq!((&restored.settings.target.secret, restored.revision), (&secret, 1));
    assert_eq!(one.read(&mails.id).await.unwrap().unwrap().settings, restored.settings);

    // A process that has not looked for long writes back what it knows, until one comes that knows better.
    let changed = JobQueueSettings { paused: true, ..restored.settings.clone() };
    one.execute(&plan(&one, &[changed]).await).await.unwrap();
    assert!(lose().await);
    assert!(!other.read(&mails.id).await.unwrap().unwrap().settings.paused);
    assert!(one.read(&mails.id).await.unwrap().unwrap().settings.paused);
    assert!(other.read(&mails.id).await.unwrap().unwrap().settings.paused);

    let removed = one.execute(&plan(&one, &[]).await).await.unwrap().removed;
    assert_eq!(removed, std::slice::from_ref(&mails.id));
    assert!(other.read(&mails.id).await.unwrap().is_none());
    assert!(one.stored().await.unwrap().is_empty(), "the other process did not write it back");
    created().await;
    other.read(&mails.id).await.unwrap();
    assert!(lose().await);
    assert!(other.read(&mails.id).await.unwrap().is_some(), "it exists again, so it was lost");
}

#[tokio::test]
async fn job_queue_that_exists_accepts_jobs_again() {
    let job_queues = fixture().await;
    let mails = job_queue("mails");
    let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() };
    let enqueue = async || job_queues.enqueue(&mails, vec![NewJob::new(JobId::random(), payload.clone())]).await;
    job_queues.execute(&plan(&job_queues, std::slice::from_ref(&mails)).await).await.unwrap();
    // A process that has removed a job queue of this name is late, or the backend was away when the job queue was created again.
    assert!(job_queues.job_store().remove(&mails).await.unwrap());
    let refused = enqueue().await;
    assert!(
        matches!(refused, Err(JobBackendError::NotSent(_))),
        "nothing is queued, and it is worth trying again: {refused:?}"
    );
    assert_eq!(enqueue().await.unwrap(), [Enqueued::Accepted]);
    let backend = job_queues.backend().clone();
    let drained = backend.store().drain(&mails).await.unwrap();
    assert_eq!(drained.canceled, 1);
    assert_eq!(job_queues.execute(&plan(&job_queues, &[]).await).await.unwrap().removed.len(), 1);
    assert_eq!(enqueue().await.unwrap(), [Enqueued::Removed], "it does not exist any more");
}

#[tokio::test]
async fn job_queue_with_jobs_stays() {
    let job_queues = fixture().await;
    let mails = job_queue("mails");
    job_queues.execute(&plan(&job_queues, &[mails.clone(), job_queue("empty")]).await).await.unwrap();
    let payload = Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() };
    let id = JobId::random();
    let job = NewJob::new(id, payload);
    let wake = job_queues.wake(&mails.id);
    let is_woken = async || tokio::time::timeout(Duration::ZERO, wake.notified()).await.is_ok();
    assert_eq!(job_queues.enqueue(&mails, vec![job.clone()]).await.unwrap(), [Enqueued::Accepted]);
    assert!(is_woken().await, "the worker wakes up");
    assert_eq!(job_queues.enqueue(&mails, vec![job]).await.unwrap(), [Enqueued::Duplicate(id)]);
    assert!(!is_woken().await);
    let outcome = job_queues.execute(&plan(&job_queues, &[]).await).await.unwrap();
    assert_eq!((outcome.not_empty, outcome.removed), (vec![mails.id.clone()], vec!["empty".parse().unwrap()]));
    assert_eq!(job_queues.all().await.unwrap().len(), 1);
}

#[tokio::test]
async fn concurrent_change_is_not_overwritten() {
    let job_queues = fixture().await;
    let mails = job_queue("mails");
    job_queues.execute(&plan(&job_queues, std::slice::from_ref(&mails)).await).await.unwrap();
    let change = |concurrency| JobQueueSettings { concurrency, ..mails.clone() };
    let (first, second) = (plan(&job_queues, &[change(2)]).await, plan(&job_queues, &[change(3)]).await);
    assert_eq!(job_queues.execute(&first).await.unwrap().written.len(), 1);
    assert_eq!(job_queues.execute(&second).await.unwrap().skipped, std::slice::from_ref(&mails.id));
    assert_eq!(job_queues.get(&mails.id).await.unwrap().unwrap().settings.concurrency, 2);
}

fn event(tenant: &str, at: u64) -> WebhookEvent {
    let subject = WebhookSubject::Queue("tour".parse().unwrap());
    WebhookEvent::new(WebhookEventType::QueueReset, tenant.parse().unwrap(), subject, Micros(at))
}

#[tokio::test]
async fn events_are_delivered_once_by_job_queues_of_their_tenant() {
    let job_queues = fixture().await;
    let hooks = delivering("hooks", &json!({}));
    let foreign = delivering("foreign", &json!({ "tenant": "globex" }));
    job_queues.execute(&plan(&job_queues, &[hooks.clone(), foreign.clone(), job_queue("mails")]).await).await.unwrap();
    for at in [1, 1, 2] {
        job_queues.publish(&event("acme", at)).await;
    }
    job_queues.publish(&event("unknown", 1)).await;
    let enqueued = async |settings| job_queues.job_store().stats(settings).await.unwrap().counters.enqueued;
    let counts = [enqueued(&hooks).await, enqueued(&foreign).await, enqueued(&job_queue("mails")).await];
    assert_eq!(counts, [2, 0, 0]);
}

#[tokio::test]
async fn dropped_events_are_counted() {
    let job_queues = fixture().await;
    let full = delivering("full", &json!({ "max_jobs": 1 }));
    job_queues.execute(&plan(&job_queues, &[full, job_queue("mails")]).await).await.unwrap();
    let full: JobQueueId = "full".parse().unwrap();
    for (at, dropped) in [(1, 0), (2, 1), (3, 2)] {
        job_queues.publish(&event("acme", at)).await;
        assert_eq!(job_queues.dropped_events(), BTreeMap::from([(full.clone(), dropped)]));
    }
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<parking_lot::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// The log of this thread, until the guard is dropped.
    fn begin() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    fn lines(&self, with: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().clone()).unwrap();
        text.lines().filter(|line| line.contains(with)).map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn settings_are_read_again_after_a_change_only() {
    let job_queues = fixture().await;
    job_queues.records.put_document(DocumentKind::JobQueues, "unreadable", "{", 0).await.unwrap();
    let (log, _logging) = Log::begin();
    let reads = || log.lines("cannot be read").len();
    let mails = job_queue("mails");
    for _ in 0..3 {
        assert!(job_queues.read(&mails.id).await.unwrap().is_none());
    }
    assert_eq!(reads(), 1);
    let other = JobQueues::new(job_queues.records.clone(), job_queues.store.clone(), job_queues.backend.clone());
    other.execute(&plan(&other, std::slice::from_ref(&mails)).await).await.unwrap();
    let before = reads();
    for _ in 0..3 {
        assert!(job_queues.read(&mails.id).await.unwrap().is_some());
    }
    assert_eq!(reads(), before + 1);
    let renamed = Tenant::from_value(&json!({ "id": "acme", "name": "New" })).unwrap();
    job_queues.store.put_tenant(&renamed).await.unwrap();
    let cached = job_queues.read(&mails.id).await.unwrap().unwrap();
    assert_eq!((cached.tenant.as_ref().unwrap().name.as_str(), reads()), ("New", before + 1));
}

#[tokio::test(start_paused = true)]
async fn dropped_events_are_logged_now_and_then() {
    let job_queues = fixture().await;
    let full = delivering("full", &json!({ "max_jobs": 1 }));
    job_queues.execute(&plan(&job_queues, &[full]).await).await.unwrap();
    let (log, _logging) = Log::begin();
    for at in 1..=5 {
        job_queues.publish(&event("acme", at)).await;
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    job_queues.publish(&event("acme", 6)).await;
    let lines = log.lines("a webhook event is dropped");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].contains("suppressed=3"), "{lines:?}");
}
