//! Job queues of the functions: gate, backoffice and metrics as they are deployed, beside a worker that runs their jobs.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Builder;
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use vestibule_core::Store;
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{JobBackend, JobQueueSettings};
use vestibule_core::settings::{JobQueueChange, JobQueuePlan, parse_settings_document};
use vestibule_core::store::PutMode;
use vestibule_jobs_sqs::SqsJobs;
use vestibule_runtime::{JobQueues, open_jobs, open_store_and_records};
use vestibule_store_redis::RedisOptions;
use vestibule_tests::{
    AdminClient, Balancer, BalancerOptions, Deployment, Exposition, Function, GateOptions, GateUnderTest, Origin,
    Program, Redis, Sqs, TestResponse, Visitor, wait_until,
};

use crate::suite::on_each;

pub(super) const LIMIT: Duration = Duration::from_secs(20);
/// Longer than a busy machine takes.
const TIMEOUT: Duration = Duration::from_secs(10);
const HOST: &str = "shop.example";

/// A deployment whose gate is a function, with these job queues and a site that holds its POST requests to `/slow`.
pub(super) struct Site {
    pub(super) redis: Redis,
    pub(super) origin: Origin,
    pub(super) job_queues: Arc<JobQueues>,
    pub(super) jobs: Jobs,
    store: Arc<dyn Store>,
    gate: Balancer,
}

/// Where jobs are.
#[derive(Clone)]
pub(super) enum Jobs {
    /// In the Redis of the store.
    Redis,
    /// In the SQS queues with this prefix.
    Sqs(Arc<Sqs>, String),
}

impl Jobs {
    pub(super) async fn sqs() -> Self {
        let sqs = Arc::new(Sqs::start().await);
        let prefix = sqs.queues().await;
        Self::Sqs(sqs, prefix)
    }

    /// The variables of a function.
    pub(super) fn configure(&self, deployment: Deployment, redis: &Redis) -> Deployment {
        match self {
            Self::Redis => deployment.env("VESTIBULE_JOBS_URL", &redis.url()),
            Self::Sqs(sqs, prefix) => {
                let deployment = deployment.env("VESTIBULE_JOBS_URL", prefix);
                sqs.environment().iter().fold(deployment, |deployment, (name, value)| deployment.env(name, value))
            }
        }
    }

    fn open(&self, redis: &Redis) -> Arc<dyn JobBackend> {
        match self {
            Self::Redis => open_jobs("--jobs", &redis.url(), &redis.url(), TIMEOUT, 0).unwrap(),
            Self::Sqs(sqs, prefix) => {
                let options = RedisOptions { timeout: TIMEOUT, ..RedisOptions::default() };
                let jobs = SqsJobs::connect(prefix.parse().unwrap(), Some(sqs.server()), &redis.url(), options);
                Arc::new(jobs.unwrap())
            }
        }
    }
}

/// A worker that runs until it is dropped.
pub(super) enum Worker {
    /// `vestibule work`.
    Program(#[expect(dead_code, reason = "it ends with its value")] Program),
    /// The function, to which messages are handed.
    Function(JoinHandle<()>),
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Self::Function(task) = self {
            task.abort();
        }
    }
}

impl Site {
    pub(super) async fn open(jobs: Jobs, job_queues: &[Value]) -> Self {
        let redis = Redis::start().await;
        Self::over(redis, jobs, job_queues).await
    }

    pub(super) async fn over(redis: Redis, jobs: Jobs, job_queues: &[Value]) -> Self {
        let gate = jobs.configure(gate(&redis), &redis).instances(2).await;
        let (store, records) = open_store_and_records("--store", &redis.url(), TIMEOUT).unwrap();
        let all = Arc::new(JobQueues::new(records, store.clone(), jobs.open(&redis)));
        let gate = Balancer::before(gate, BalancerOptions::default()).await;
        let site = Self { redis, origin: Origin::start_in_network(), job_queues: all, jobs, store, gate };
        site.write(job_queues).await;
        site
    }

    /// Writes the tenant, the queue and these job queues, as an operator does.
    async fn write(&self, job_queues: &[Value]) {
        let queue = json!({
            "id": "tour", "tenant": "acme", "hosts": [HOST], "quota": 10,
            "handover": { "kind": "proxy", "origin": self.origin.url() },
            "rules": [
                { "action": "hold", "job_queue": "orders.fifo", "method": ["POST"], "path": ["/slow"] },
                { "action": "queue", "path": ["/**"] },
            ],
        });
        let document = json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "queues": [queue] });
        let document = parse_settings_document(&document).unwrap_or_else(|wrong| panic!("{wrong:?}"));
        self.store.put_tenant(&document.tenants[0]).await.unwrap();
        self.store.put_settings(&document.queues[0], PutMode::Always).await.unwrap();
        let changed = job_queues.iter().map(|settings| self.new_job_queue(settings)).collect();
        let written = self.job_queues.execute(&JobQueuePlan { changed, ..JobQueuePlan::default() }).await.unwrap();
        assert_eq!(written.written.len(), job_queues.len());
    }

    /// Changes a job queue that was not changed before.
    pub(super) async fn replace(&self, settings: JobQueueSettings) {
        let change = JobQueueChange { settings, retired_secret: None, replaces: 1, changes: Vec::new() };
        let plan = JobQueuePlan { changed: vec![change], ..JobQueuePlan::default() };
        assert_eq!(self.job_queues.execute(&plan).await.unwrap().written.len(), 1);
    }

    /// Removes a job queue that has no jobs.
    pub(super) async fn remove(&self, id: &str) {
        let removed = self.job_queues.stored().await.unwrap().into_iter().filter(|it| it.settings.id.as_str() == id);
        let plan = JobQueuePlan { removed: removed.collect(), ..JobQueuePlan::default() };
        assert_eq!(self.job_queues.execute(&plan).await.unwrap().removed.len(), 1);
    }

    /// A job queue whose target is the path `/echo` of the site, unless `settings` say something else.
    fn new_job_queue(&self, settings: &Value) -> JobQueueChange {
        let mut all = json!({ "tenant": "acme", "min_backoff": 1, "target": self.handler("/echo") });
        all.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let settings = JobQueueSettings::from_json(&all).unwrap_or_else(|wrong| panic!("{wrong:?}"));
        JobQueueChange { settings, retired_secret: None, replaces: 0, changes: Vec::new() }
    }

    fn handler(&self, path: &str) -> Value {
        json!({ "kind": "http", "url": format!("{}{path}", self.origin.url()) })
    }

    /// The worker that is a function.
    pub(super) fn worker_function(&self) -> Deployment {
        let deployment = Deployment::of("worker")
            .env("VESTIBULE_REDIS_URL", &self.redis.url())
            .env("VESTIBULE_STORE_TIMEOUT_MS", "10000")
            .env("VESTIBULE_PASS_KEYS", &GateUnderTest::pass_keys().expose());
        self.jobs.configure(deployment, &self.redis)
    }

    /// A worker for the jobs.
    async fn worker(&self) -> Worker {
        let Jobs::Sqs(sqs, prefix) = self.jobs.clone() else {
            let passes = GateUnderTest::pass_keys().expose();
            let arguments = ["work", "--store", &self.redis.url(), "--pass-keys", &passes];
            return Worker::Program(Program::vestibule(&arguments).start());
        };
        let function = self.worker_function().timeout(Duration::from_mins(15)).instances(1).await;
        Worker::Function(tokio::spawn(async move {
            loop {
                for is_fifo in [false, true] {
                    sqs.hand_to(&function, &prefix, is_fifo).await;
                }
                sleep(Duration::from_millis(50)).await;
            }
        }))
    }

    /// A visitor who is admitted.
    pub(super) async fn visitor(&self) -> Visitor {
        let mut visitor = Visitor::new(self.gate.address(), HOST);
        wait_until("admitted", LIMIT, async || visitor.navigate("/").await.text().contains("origin /")).await;
        visitor
    }

    /// The bodies of the calls of this path, in the order of their coming.
    fn calls(&self, path: &str) -> Vec<String> {
        let requests = self.origin.requests().into_iter().filter(|it| it.method == Method::POST);
        let calls = requests.filter(|it| it.uri.path() == path);
        calls.map(|it| String::from_utf8_lossy(&it.body).into_owned()).collect()
    }
}

fn gate(redis: &Redis) -> Deployment {
    GateOptions::default().deployment(&redis.url())
}

fn post(path: &str) -> Builder {
    Request::post(path.to_owned()).header(ACCEPT, "application/json").header(CONTENT_TYPE, "text/plain")
}

fn location(response: &TestResponse) -> String {
    response.header("location").unwrap_or_else(|| panic!("no location: {response:?}")).to_owned()
}

on_each! {
    { redis: super::Jobs::Redis, sqs: super::Jobs::sqs().await, }
    {
        visitor_enqueues_and_follows_a_job,
        held_order_is_answered_after_two_seconds,
    }
}

async fn visitor_enqueues_and_follows_a_job(jobs: Jobs) {
    let site = Site::open(jobs, &[json!({ "id": "mails", "producers": "visitors" })]).await;
    let mut visitor = site.visitor().await;
    let accepted = visitor.request(post("/_vestibule/jobs/mails"), "hello").await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{} {}", accepted.text(), site.gate.function().log());
    let location = location(&accepted);
    assert_eq!(visitor.fetch(&location).await.json()["state"], "queued", "the function runs no jobs");
    // The whole response: a function can't stream, so the client comes back.
    let events = visitor.fetch(&format!("{location}/events")).await;
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    let text = events.text();
    assert!(text.starts_with("retry: 2000\n") && text.contains("event: state\n") && text.contains("queued"), "{text}");

    let _worker = site.worker().await;
    wait_until("the job is completed", LIMIT, async || visitor.fetch(&location).await.json()["state"] == "completed")
        .await;
    assert_eq!(site.calls("/echo"), ["hello"]);
    let events = visitor.fetch(&format!("{location}/events")).await;
    assert!(events.text().contains("\"state\":\"completed\""), "{}", events.text());
    assert!(site.gate.complaints().is_empty(), "{:?}", site.gate.complaints());
}

async fn held_order_is_answered_after_two_seconds(jobs: Jobs) {
    let site = Site::open(jobs, &[json!({ "id": "orders.fifo", "target": { "kind": "origin" } })]).await;
    let mut visitor = site.visitor().await;
    let _worker = site.worker().await;
    // Until the worker runs, the response says that the order waits.
    wait_until("a quick order gets the response of the site", LIMIT, async || {
        visitor.request(post("/slow?1"), "ticket=quick").await.status == StatusCode::OK
    })
    .await;

    let submitted_at = Instant::now();
    let slow = visitor.request(post("/slow?6000"), "ticket=slow").await;
    assert_eq!(slow.status, StatusCode::ACCEPTED, "{}", slow.text());
    assert!(submitted_at.elapsed() < Duration::from_secs(6), "a function does not wait for it: {submitted_at:?}");
    let url = location(&slow);
    let mut last = slow;
    wait_until("the order is completed", LIMIT, async || {
        last = visitor.fetch(&url).await;
        last.status == StatusCode::OK
    })
    .await;
    assert_eq!(site.calls("/slow"), ["ticket=quick", "ticket=slow"]);
    let twice = visitor.request(post("/slow?6000"), "ticket=slow").await;
    assert_ne!(twice.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", twice.text());
    assert_eq!(site.calls("/slow").len(), 2, "a double click is one order");
}

/// The backoffice as a function over this Redis, with its superuser signed in.
async fn backoffice(redis: &Redis, more: &[(&str, &str)]) -> (Balancer, AdminClient) {
    let deployment = Deployment::of("admin")
        .env("VESTIBULE_REDIS_URL", &redis.url())
        .env("VESTIBULE_ADMIN_BOOTSTRAP", "root:correct horse battery")
        // Argon2 takes its time in a program that was not released.
        .env("VESTIBULE_STORE_TIMEOUT_MS", "10000");
    let deployment = more.iter().fold(deployment, |deployment, (name, value)| deployment.env(name, value));
    let https = BalancerOptions { https: true, ..BalancerOptions::default() };
    let balancer = Balancer::before(deployment.instances(1).await, https).await;
    let mut root = AdminClient::at(balancer.address());
    root.sign_in("root", "correct horse battery").await;
    (balancer, root)
}

#[tokio::test]
async fn operators_enqueue_at_the_function() {
    let site = Site::open(Jobs::Redis, &[]).await;
    let (_balancer, mut root) = backoffice(&site.redis, &[("VESTIBULE_JOBS_URL", &site.redis.url())]).await;
    let mails = json!({ "id": "mails", "tenant": "acme", "target": site.handler("/echo") });
    root.create("/job-queues", mails).await;
    let pulled = json!({ "id": "pulled", "tenant": "acme", "target": { "kind": "pull" } });
    root.create("/job-queues", pulled).await;
    let mut ids = Vec::new();
    for job_queue in ["mails", "pulled"] {
        let enqueued = root.post(&format!("/job-queues/{job_queue}/jobs"), json!({ "n": 1 })).await;
        assert_eq!(enqueued.status, StatusCode::ACCEPTED, "{}", enqueued.text());
        ids.push(enqueued.json()["job_id"].as_str().unwrap().to_owned());
    }
    let received = root.post("/job-queues/pulled/receive", json!({ "max_jobs": 5, "wait_seconds": 1 })).await.json();
    assert_eq!(received["jobs"][0]["job_id"], ids[1], "{received}");

    let _worker = site.worker().await;
    let path = format!("/job-queues/mails/jobs/{}", ids[0]);
    wait_until("the job is completed", LIMIT, async || root.get(&path).await.json()["state"] == "completed").await;
    assert_eq!(site.calls("/echo"), [r#"{"n":1}"#]);

    let metrics = Deployment::of("metrics")
        .env("VESTIBULE_REDIS_URL", &site.redis.url())
        .env("VESTIBULE_METRICS_TOKEN", "a-token-of-the-tests-0123456789")
        .env("VESTIBULE_JOBS_URL", &site.redis.url());
    let metrics = Balancer::before(metrics.instances(1).await, BalancerOptions::default()).await;
    let mut prometheus = Visitor::new(metrics.address(), "metrics.example.com")
        .with_header("authorization", "Bearer a-token-of-the-tests-0123456789");
    let scraped = Exposition::of(prometheus.fetch("/metrics").await.text());
    let acknowledged = scraped.value("vestibule_jobs_total", &[("job_queue", "mails"), ("event", "acknowledged")]);
    assert_eq!(acknowledged, Some(1.0));
}

#[tokio::test]
async fn consumers_are_refused_where_sqs_carries_jobs() {
    let Jobs::Sqs(sqs, prefix) = Jobs::sqs().await else { unreachable!() };
    let redis = Redis::start().await;
    let mut variables: Vec<_> = sqs.environment().into();
    variables.push(("VESTIBULE_JOBS_URL", prefix));
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (_balancer, mut root) = backoffice(&redis, &variables).await;
    root.create("/tenants", json!({ "id": "acme", "name": "Acme" })).await;
    let job_queue = |target: Value| json!({ "id": "mails", "tenant": "acme", "target": target });
    let pulled = job_queue(json!({ "kind": "pull" }));
    let created = root.post("/job-queues", pulled.clone()).await;
    assert_eq!(created.status, StatusCode::UNPROCESSABLE_ENTITY);
    let refused = "target.kind: must not be pull in this deployment";
    assert!(created.wrong_fields()[0].starts_with(refused), "{}", created.text());
    root.create("/job-queues", job_queue(json!({ "kind": "http", "url": "https://crm.acme.example/" }))).await;
    let changed =
        root.patch("/job-queues/mails", json!({ "target": { "kind": "pull", "url": null, "secret": null } })).await;
    assert!(changed.text().contains("pull_needs_redis"), "{}", changed.text());
    let imported = root
        .post(
            "/settings?validate=true",
            json!({ "tenants": [{ "id": "acme", "name": "Acme" }], "job_queues": [pulled] }),
        )
        .await;
    assert!(imported.text().contains("pull_needs_redis"), "{}", imported.text());
}

#[tokio::test]
async fn functions_without_the_variable_have_no_job_queues() {
    let site = Site::open(Jobs::Redis, &[json!({ "id": "mails", "producers": "visitors" })]).await;
    let (_balancer, mut root) = backoffice(&site.redis, &[]).await;
    let created = root.post("/job-queues", json!({ "id": "new", "tenant": "acme", "target": site.handler("/") })).await;
    assert_eq!(created.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(created.text().contains("set VESTIBULE_JOBS_URL of its functions"), "{}", created.text());
    assert_eq!(root.post("/job-queues/mails/jobs", json!({})).await.code(), "unknown_job_queue");
    let gate = Balancer::before(gate(&site.redis).instances(1).await, BalancerOptions::default()).await;
    let refused = Visitor::new(gate.address(), HOST).request(post("/_vestibule/jobs/mails"), "x").await;
    assert_eq!(refused.json()["code"], "unknown_job_queue");
}

/// What a function says that does not start.
async fn refusal(function: Function) -> String {
    function.invoke("{}").await.unwrap_err();
    function.log()
}

#[tokio::test]
async fn invalid_addresses_of_jobs_are_named() {
    let redis = Redis::start().await;
    for (variable, value, says) in [
        (
            "VESTIBULE_JOBS_URL",
            "memory",
            "must be the address of a Redis or of SQS: the memory of a function ends with it",
        ),
        ("VESTIBULE_JOBS_URL", "http://:s3cret@x", "redis://"),
        ("VESTIBULE_JOBS_URL", "sqs://a.fifo", "must be sqs:// and a prefix of 1 to 64 characters"),
        ("VESTIBULE_JOBS_MIN_REPLICAS", "6", "must be a whole number from 0 to 5"),
    ] {
        let deployment = gate(&redis).env("VESTIBULE_JOBS_URL", &redis.url()).env(variable, value);
        let log = refusal(deployment.instances(1).await).await;
        assert!(log.contains(variable) && log.contains(says) && !log.contains("s3cret"), "{value}: {log}");
    }
}
