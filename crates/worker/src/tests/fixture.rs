//! A worker over the memory backend, whose clock stands still, and a handler that answers when the test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use http::HeaderMap;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{
    BackendResult, Detail, Enqueued, Extension, JobBackend, JobBackendError, JobId, JobQueueSettings, JobState,
    JobStore, JobView, NewJob, Payload, Received, ReplayedAll, Settled, Settlement,
};
use vestibule_core::settings::{JobQueueChange, JobQueuePlan, RetiredSecret, StoredJobQueue, Tenant};
use vestibule_core::store::SettingsStore as _;
use vestibule_core::{KeyList, ManualClock, Micros, PassSigner, SystemClock};
use vestibule_runtime::JobQueues;
use vestibule_store_memory::{MemoryJobs, MemoryRecords, MemoryStore};

use crate::{Stopped, Worker};

/// How long anything that must happen may take.
const LIMIT: Duration = Duration::from_secs(10);
/// When the tests begin, in Unix seconds.
pub(super) const NOW: u64 = 1_795_340_000;

pub(super) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(LIMIT, future).await.unwrap_or_else(|_| panic!("{what} took more than {LIMIT:?}"))
}

/// A server that passes each request to the test.
pub(super) struct Handler {
    pub(super) url: String,
    calls: mpsc::UnboundedReceiver<Call>,
}

/// A request that waits for its response.
pub(super) struct Call {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    response: oneshot::Sender<Response>,
}

impl Call {
    pub(super) fn respond(self, status: u16, headers: &[(&'static str, &str)]) {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        self.response.send(response.body("why".into()).unwrap()).unwrap();
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// Waits until the worker closes the connection.
    pub(super) async fn closed(mut self) {
        soon("closing the connection", self.response.closed()).await;
    }
}

impl Handler {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jobs", listener.local_addr().unwrap());
        let (sender, calls) = mpsc::unbounded_channel();
        let router = Router::new().fallback(receive).with_state(sender);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, calls }
    }

    pub(super) async fn next(&mut self) -> Call {
        soon("a call", self.calls.recv()).await.unwrap()
    }

    /// Whether no call has arrived that the test has not taken.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.calls.try_recv().is_err()
    }
}

async fn receive(State(calls): State<mpsc::UnboundedSender<Call>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let (response, answer) = oneshot::channel();
    let path = head.uri.path_and_query().unwrap().to_string();
    calls.send(Call { path, headers: head.headers, body, response }).unwrap();
    // A test that ends drops the call.
    answer.await.unwrap_or_default()
}

pub(super) fn passes() -> PassSigner {
    PassSigner::new(&KeyList::of_bytes("pass-1", [9; 32])).unwrap()
}

/// The memory backend, which can be stopped.
pub(super) struct Backend {
    memory: MemoryJobs,
    /// Settlements that fail before one succeeds.
    pub(super) settle_failures: AtomicUsize,
    /// How many outcomes each call had that settled some.
    pub(super) settlements: Mutex<Vec<usize>>,
    /// One permit for each answer to a receive.
    pub(super) receives: Semaphore,
    /// Receives that have begun.
    pub(super) received: AtomicUsize,
}

#[async_trait]
impl JobBackend for Backend {
    async fn enqueue(&self, settings: &JobQueueSettings, jobs: Vec<NewJob>) -> BackendResult<Vec<Enqueued>> {
        self.memory.enqueue(settings, jobs).await
    }

    async fn receive(&self, settings: &JobQueueSettings, max: usize) -> BackendResult<Received> {
        let received = self.memory.receive(settings, max).await;
        self.received.fetch_add(1, Ordering::SeqCst);
        self.receives.acquire().await.unwrap().forget();
        received
    }

    async fn extend(&self, settings: &JobQueueSettings, leases: &[Extension]) -> BackendResult<Vec<bool>> {
        self.memory.extend(settings, leases).await
    }

    async fn settle(&self, settings: &JobQueueSettings, settlements: Vec<Settlement>) -> BackendResult<Vec<Settled>> {
        let fewer = |failures: usize| failures.checked_sub(1);
        if self.settle_failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok() {
            return Err(JobBackendError::Unavailable("stopped by the test".to_owned()));
        }
        self.settlements.lock().push(settlements.len());
        self.memory.settle(settings, settlements).await
    }

    async fn replay(&self, settings: &JobQueueSettings, jobs: &[JobId]) -> BackendResult<Vec<bool>> {
        self.memory.replay(settings, jobs).await
    }

    async fn replay_all(&self, settings: &JobQueueSettings, until: Option<Micros>) -> BackendResult<ReplayedAll> {
        self.memory.replay_all(settings, until).await
    }

    fn store(&self) -> &dyn JobStore {
        &self.memory
    }
}

pub(super) struct Fixture {
    pub(super) handler: Handler,
    pub(super) clock: Arc<ManualClock>,
    pub(super) backend: Arc<Backend>,
    pub(super) worker: Arc<Worker>,
    pub(super) job_queues: Arc<JobQueues>,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<Stopped>>,
}

impl Fixture {
    /// A worker that runs up to this many jobs at a time, beyond one of each job queue. The tenant may have any origin.
    pub(super) async fn start(concurrency: usize) -> Self {
        Self::of_tenant(concurrency, &json!({})).await
    }

    pub(super) async fn of_tenant(concurrency: usize, lists: &Value) -> Self {
        let clock = Arc::new(ManualClock::at(Micros(NOW * 1_000_000)));
        let backend = Arc::new(Backend {
            memory: MemoryJobs::new(clock.clone()),
            settle_failures: AtomicUsize::new(0),
            settlements: Mutex::default(),
            receives: Semaphore::new(Semaphore::MAX_PERMITS),
            received: AtomicUsize::new(0),
        });
        let store = Arc::new(MemoryStore::new(SystemClock::new()));
        let mut tenant = json!({ "id": "acme", "name": "Acme" });
        tenant.as_object_mut().unwrap().extend(lists.as_object().unwrap().clone());
        store.put_tenant(&Tenant::from_value(&tenant).unwrap()).await.unwrap();
        let records = Arc::new(MemoryRecords::new(SystemClock::new()));
        let job_queues = Arc::new(JobQueues::new(records, store, backend.clone()));
        let worker = Arc::new(Worker::new(job_queues.clone(), concurrency, passes(), None));
        let (stop, running) = (None, None);
        let mut fixture = Self { handler: Handler::start().await, clock, backend, worker, job_queues, stop, running };
        fixture.run();
        fixture
    }

    /// Runs the worker, again after a stop.
    pub(super) fn run(&mut self) {
        let (stop, stopped) = oneshot::channel::<()>();
        let worker = self.worker.clone();
        self.stop = Some(stop);
        self.running = Some(tokio::spawn(async move { worker.run(async { stopped.await.unwrap_or_default() }).await }));
    }

    /// Tells the worker to stop.
    pub(super) fn begin_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// What the worker said when it had stopped.
    pub(super) async fn stopped(&mut self) -> Stopped {
        soon("the stop", self.running.take().unwrap()).await.unwrap()
    }

    /// Creates or changes a job queue; its target is the handler of the test.
    pub(super) async fn job_queue(&self, id: &str, more: &Value) -> JobQueueSettings {
        let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
        let target = json!({ "kind": "http", "url": self.handler.url, "secret": secret });
        let mut value = json!({ "id": id, "tenant": "acme", "target": target });
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let settings = JobQueueSettings::from_json(&value).unwrap();
        self.write(&settings, None).await;
        settings
    }

    /// Writes settings, with the secret before the last rotation.
    pub(super) async fn write(&self, settings: &JobQueueSettings, retired_secret: Option<RetiredSecret>) {
        let replaces = self.stored(settings.id.as_str()).await.map_or(0, |it| it.revision);
        let change = JobQueueChange { settings: settings.clone(), retired_secret, replaces, changes: Vec::new() };
        let plan = JobQueuePlan { changed: vec![change], ..JobQueuePlan::default() };
        assert_eq!(self.job_queues.execute(&plan).await.unwrap().written.len(), 1);
    }

    pub(super) async fn stored(&self, id: &str) -> Option<StoredJobQueue> {
        self.job_queues.stored().await.unwrap().into_iter().find(|it| it.settings.id.as_str() == id)
    }

    pub(super) async fn enqueue(&self, settings: &JobQueueSettings, group: Option<&str>, text: &str) -> JobId {
        let payload = Payload { content_type: "text/plain".to_owned(), bytes: text.into() };
        self.enqueue_job(settings, NewJob { group: group.map(|it| it.parse().unwrap()), ..new_job(payload) }).await
    }

    pub(super) async fn enqueue_job(&self, settings: &JobQueueSettings, job: NewJob) -> JobId {
        let id = job.id;
        assert_eq!(self.job_queues.enqueue(settings, vec![job]).await.unwrap(), [Enqueued::Accepted]);
        id
    }

    pub(super) async fn view(&self, settings: &JobQueueSettings, job: JobId) -> JobView {
        self.backend.store().get(settings, &[job], Detail::Contents).await.unwrap().remove(0).unwrap()
    }

    /// Waits until the job is in this state.
    pub(super) async fn reaches(&self, settings: &JobQueueSettings, job: JobId, state: JobState) -> JobView {
        soon("the settlement", async {
            loop {
                let view = self.view(settings, job).await;
                if view.state == state {
                    return view;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await
    }
}

pub(super) fn new_job(payload: Payload) -> NewJob {
    NewJob::new(JobId::random(), payload)
}
