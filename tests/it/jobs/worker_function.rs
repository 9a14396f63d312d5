//! The worker as a function, under a Runtime API: SQS hands it jobs, and a schedule calls it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use vestibule_core::jobs::{Detail, Enqueued, JobId, JobQueueSettings, JobState, JobStats, JobView, NewJob, Payload};
use vestibule_core::{Clock as _, Micros, SystemClock};
use vestibule_tests::{FakeTime, Function, Origin, Redis, Sqs, network_address, wait_until};

use super::functions::{Jobs, LIMIT, Site};

/// A handler that records calls. A job whose payload begins with `fail` fails at its first call, and `slow` takes 2.5 seconds.
struct Handler {
    address: SocketAddr,
    calls: Calls,
    server: JoinHandle<std::io::Result<()>>,
}

/// Job queue and payload of each call.
type Calls = Arc<Mutex<Vec<(String, String)>>>;

impl Handler {
    async fn start() -> Self {
        let listener = TcpListener::bind((network_address(), 0)).await.unwrap();
        let (address, calls) = (listener.local_addr().unwrap(), Calls::default());
        let router = Router::new().fallback(handle).with_state(calls.clone());
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, calls, server }
    }

    /// Settings of a job queue with this handler.
    fn job_queue(&self, id: &str, more: &Value) -> Value {
        let mut settings =
            json!({ "id": id, "target": { "kind": "http", "url": format!("http://{}/", self.address) } });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings
    }

    /// The payloads of the calls of a job queue, in their order.
    fn calls(&self, job_queue: &str) -> Vec<String> {
        let calls = self.calls.lock();
        calls.iter().filter(|(of, _)| of == job_queue).map(|(_, payload)| payload.clone()).collect()
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn handle(State(calls): State<Calls>, headers: HeaderMap, payload: String) -> StatusCode {
    let job_queue = headers["vestibule-job-queue"].to_str().unwrap().to_owned();
    let is_first = {
        let mut calls = calls.lock();
        let is_first = calls.iter().all(|(_, known)| *known != payload);
        calls.push((job_queue, payload.clone()));
        is_first
    };
    if payload.starts_with("slow") {
        sleep(Duration::from_millis(2_500)).await;
    }
    if payload.starts_with("fail") && is_first { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::NO_CONTENT }
}

/// A deployment with the worker.
struct Deployed {
    site: Site,
    sqs: Arc<Sqs>,
    prefix: String,
    function: Function,
}

impl Deployed {
    async fn open(job_queues: &[Value]) -> Self {
        Self::with_timeout(Duration::from_mins(15), job_queues).await
    }

    async fn with_timeout(timeout: Duration, job_queues: &[Value]) -> Self {
        Self::over(Redis::start().await, timeout, job_queues).await
    }

    async fn over(redis: Redis, timeout: Duration, job_queues: &[Value]) -> Self {
        let jobs = Jobs::sqs().await;
        let Jobs::Sqs(sqs, prefix) = jobs.clone() else { unreachable!() };
        let site = Site::over(redis, jobs, job_queues).await;
        let function = site.worker_function().timeout(timeout).instances(1).await;
        Self { site, sqs, prefix, function }
    }

    async fn settings(&self, id: &str) -> JobQueueSettings {
        self.site.job_queues.get(&id.parse().unwrap()).await.unwrap().unwrap().settings.clone()
    }

    /// Enqueues a job for each payload, in a group or in none. Returns their IDs.
    async fn enqueue(&self, id: &str, group: Option<&str>, payloads: &[&str]) -> Vec<JobId> {
        let settings = self.settings(id).await;
        let new = |text: &&str| {
            let payload = Payload { content_type: "text/plain".to_owned(), bytes: text.as_bytes().to_vec() };
            NewJob { group: group.map(|group| group.parse().unwrap()), ..NewJob::new(JobId::random(), payload) }
        };
        let jobs: Vec<_> = payloads.iter().map(new).collect();
        let ids = jobs.iter().map(|job| job.id).collect();
        let accepted = self.site.job_queues.enqueue(&settings, jobs).await.unwrap();
        assert!(accepted.iter().all(|it| *it == Enqueued::Accepted), "{accepted:?}");
        ids
    }

    /// Hands a batch to the function. Returns how many messages it had, and how many come again.
    async fn hand(&self, is_fifo: bool) -> (usize, usize) {
        self.sqs.hand_to(&self.function, &self.prefix, is_fifo).await.expect("messages")
    }

    /// Hands batches to the function until there are no messages.
    async fn hand_all(&self, is_fifo: bool) {
        wait_until("all jobs have run", LIMIT, async || {
            self.sqs.hand_to(&self.function, &self.prefix, is_fifo).await;
            self.sqs.messages(&self.prefix).await == 0
        })
        .await;
    }

    async fn view(&self, id: &str, job: JobId) -> JobView {
        let settings = self.settings(id).await;
        self.site.job_queues.job_store().get(&settings, &[job], Detail::Contents).await.unwrap().remove(0).unwrap()
    }

    async fn stats(&self, id: &str) -> JobStats {
        self.site.job_queues.job_store().stats(&self.settings(id).await).await.unwrap()
    }

    async fn minute(&self) -> Result<(), String> {
        let event = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/events/eventbridge-schedule.json"));
        self.function.invoke(event).await.map(drop)
    }
}

/// F10: 3 of 10 fail.
#[tokio::test]
async fn f10_failed_jobs_come_back() {
    let handler = Handler::start().await;
    let deployed = Deployed::open(&[handler.job_queue("mails", &json!({}))]).await;
    let payloads = ["1", "2", "fail 3", "4", "5", "fail 6", "7", "fail 8", "9", "10"];
    let ids = deployed.enqueue("mails", None, &payloads).await;
    assert_eq!(deployed.hand(false).await, (10, 3));
    assert_eq!((handler.calls("mails").len(), deployed.sqs.messages(&deployed.prefix).await), (10, 3));
    let stats = deployed.stats("mails").await;
    assert_eq!((stats.waiting, stats.running, stats.counters.acknowledged), (3, 0, 7));
    let failed = deployed.view("mails", ids[2]).await;
    assert_eq!((failed.state, failed.attempts.len()), (JobState::Retrying, 1), "{failed:?}");
    deployed.hand_all(false).await;
    let stats = deployed.stats("mails").await;
    assert_eq!((stats.waiting, stats.counters.acknowledged, handler.calls("mails").len()), (0, 10, 13));
}

/// F10: a group fails in the middle.
#[tokio::test]
async fn f10_group_stops_at_its_failure() {
    let handler = Handler::start().await;
    let deployed = Deployed::open(&[handler.job_queue("updates.fifo", &json!({}))]).await;
    let ids = deployed.enqueue("updates.fifo", Some("a"), &["a1", "a2", "fail a3", "a4", "a5"]).await;
    deployed.enqueue("updates.fifo", Some("b"), &["b1", "b2", "b3", "b4", "b5"]).await;
    assert_eq!(deployed.hand(true).await, (10, 3));
    let calls_of = |is_of_b: bool| -> Vec<String> {
        handler.calls("updates.fifo").into_iter().filter(|it| it.starts_with('b') == is_of_b).collect()
    };
    assert_eq!(calls_of(true), ["b1", "b2", "b3", "b4", "b5"]);
    assert_eq!(calls_of(false), ["a1", "a2", "fail a3"]);
    for waiting in &ids[3..] {
        let job = deployed.view("updates.fifo", *waiting).await;
        assert_eq!((job.state, job.receive_count), (JobState::Queued, 0), "{job:?}");
    }
    assert_eq!(deployed.sqs.messages(&deployed.prefix).await, 3);
    let blocked = deployed.stats("updates.fifo").await.blocked_group;
    assert_eq!(
        blocked.map(|group| group.job),
        Some(ids[2]),
        "the jobs behind it wait, though nobody has asked to start them"
    );
    deployed.hand_all(true).await;
    assert_eq!(deployed.stats("updates.fifo").await.blocked_group, None);
    assert_eq!(calls_of(false), ["a1", "a2", "fail a3", "fail a3", "a4", "a5"]);
    assert_eq!(deployed.view("updates.fifo", ids[4]).await.attempts.len(), 1);
    let counters = deployed.stats("updates.fifo").await.counters;
    assert_eq!((counters.acknowledged, counters.failed), (10, 1));
}

/// F10: time runs out (J12). The function has five seconds for calls.
#[tokio::test]
async fn f10_jobs_without_time_are_returned() {
    let handler = Handler::start().await;
    let job_queue = handler.job_queue("updates.fifo", &json!({ "timeout": 3 }));
    let deployed = Deployed::with_timeout(Duration::from_secs(20), &[job_queue]).await;
    let ids = deployed.enqueue("updates.fifo", Some("a"), &["slow 1", "slow 2", "slow 3"]).await;
    assert_eq!(deployed.hand(true).await, (3, 2));
    assert_eq!(handler.calls("updates.fifo"), ["slow 1"]);
    for returned in &ids[1..] {
        assert_eq!(deployed.view("updates.fifo", *returned).await.receive_count, 0);
    }
    let handed_at = Instant::now();
    deployed.hand_all(true).await;
    assert!(handed_at.elapsed() < Duration::from_secs(15), "they come again at once: {:?}", handed_at.elapsed());
    assert_eq!(handler.calls("updates.fifo"), ["slow 1", "slow 2", "slow 3"]);
    assert_eq!(deployed.stats("updates.fifo").await.counters.failed, 0);
}

#[tokio::test]
async fn calls_that_never_have_time_are_reported() {
    let handler = Handler::start().await;
    let job_queue = handler.job_queue("mails", &json!({ "timeout": 300 }));
    let deployed = Deployed::with_timeout(Duration::from_mins(1), &[job_queue]).await;
    deployed.enqueue("mails", None, &["hello"]).await;
    assert_eq!(deployed.hand(false).await, (1, 1));
    assert!(deployed.function.log().contains("raise the function's timeout"), "{}", deployed.function.log());
    let again = deployed.sqs.hand_to(&deployed.function, &deployed.prefix, false).await;
    assert_eq!((again, handler.calls("mails").len()), (None, 0), "it does not come again at once");
}

#[tokio::test]
async fn dead_letter_keeps_its_payload_and_is_replayed() {
    let handler = Handler::start().await;
    let job_queue = handler.job_queue("updates.fifo", &json!({ "max_attempts": 1 }));
    let deployed = Deployed::open(&[job_queue]).await;
    let ids = deployed.enqueue("updates.fifo", Some("a"), &["fail 1", "2"]).await;
    deployed.hand(true).await;
    assert_eq!(handler.calls("updates.fifo"), ["fail 1", "2"], "the group goes on");
    assert_eq!(deployed.sqs.messages(&deployed.prefix).await, 0);
    let dead = deployed.view("updates.fifo", ids[0]).await;
    assert_eq!((dead.state, dead.payload.unwrap().bytes), (JobState::Failed, b"fail 1".to_vec()));
    let settings = deployed.settings("updates.fifo").await;
    assert_eq!(deployed.site.job_queues.backend().replay(&settings, &ids[..1]).await.unwrap(), [true]);
    deployed.hand_all(true).await;
    assert_eq!(handler.calls("updates.fifo"), ["fail 1", "2", "fail 1"]);
}

#[tokio::test]
async fn paused_jobs_run_in_order_after_the_pause() {
    let handler = Handler::start().await;
    let deployed = Deployed::open(&[handler.job_queue("updates.fifo", &json!({ "paused": true }))]).await;
    let payloads: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    let payloads: Vec<&str> = payloads.iter().map(String::as_str).collect();
    deployed.enqueue("updates.fifo", Some("a"), &payloads).await;
    assert_eq!(deployed.hand(true).await, (8, 8));
    assert_eq!(handler.calls("updates.fifo"), Vec::<String>::new());
    let resumed = JobQueueSettings { paused: false, ..deployed.settings("updates.fifo").await };
    deployed.site.replace(resumed).await;
    deployed.hand_all(true).await;
    assert_eq!(handler.calls("updates.fifo"), payloads);
}

#[tokio::test]
async fn nothing_is_called_at_addresses_of_the_function() {
    let own = Origin::start();
    let target = json!({ "kind": "http", "url": format!("{}/echo", own.url()) });
    let deployed = Deployed::open(&[json!({ "id": "mails", "target": target })]).await;
    let ids = deployed.enqueue("mails", None, &["hello"]).await;
    assert_eq!(deployed.hand(false).await, (1, 1));
    assert!(own.requests().is_empty());
    let job = deployed.view("mails", ids[0]).await;
    assert_eq!((job.state, job.attempts.len()), (JobState::Retrying, 1), "{job:?}");
}

#[tokio::test]
async fn each_minute_schedules_enqueue_their_jobs() {
    let handler = Handler::start().await;
    let time = Arc::new(FakeTime::at(minute(0)));
    let redis = Redis::start_at(time.clone()).await;
    let schedules = json!([{ "id": "import", "cron": "* * * * *", "payload": "\"import\"" }]);
    let job_queue = handler.job_queue("stock", &json!({ "schedules": schedules }));
    let deployed = Deployed::over(redis, Duration::from_mins(15), &[job_queue]).await;
    deployed.minute().await.unwrap();
    assert_eq!(deployed.sqs.messages(&deployed.prefix).await, 0, "the schedule begins now");
    time.set(minute(1));
    deployed.minute().await.unwrap();
    deployed.minute().await.unwrap();
    assert_eq!(deployed.sqs.messages(&deployed.prefix).await, 1, "one job for one occurrence");
    deployed.hand(false).await;
    assert_eq!(handler.calls("stock"), ["\"import\""]);
    deployed.site.redis.kill();
    let error = deployed.minute().await.unwrap_err();
    assert!(error.contains(r#""errorType":"MinuteFailed""#), "an alarm counts the error: {error}");
}

/// This many minutes after now.
fn minute(number: u64) -> Micros {
    let now = SystemClock::new().now().seconds();
    Micros(0).add_seconds(now - now % 60 + 30 + 60 * number)
}

/// W2: the function compares queues each minute, and calls the handlers of webhooks.
#[tokio::test]
async fn each_minute_webhooks_learn_what_queues_did() {
    let handler = Handler::start().await;
    let time = Arc::new(FakeTime::at(minute(0)));
    let redis = Redis::start_at(time.clone()).await;
    let job_queue = handler.job_queue("hooks", &json!({ "webhook": { "event_types": ["queue.admitted"] } }));
    let deployed = Deployed::over(redis, Duration::from_mins(15), &[job_queue]).await;
    deployed.minute().await.unwrap();
    deployed.site.visitor().await;
    time.set(minute(1));
    deployed.minute().await.unwrap();
    deployed.hand(false).await;
    let calls = events_of(&handler.calls("hooks"));
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!((&calls[0]["type"], &calls[0]["data"]["admitted"]), (&json!("queue.admitted"), &json!(1)), "{calls:?}");
    time.set(minute(2));
    deployed.minute().await.unwrap();
    assert_eq!(deployed.sqs.messages(&deployed.prefix).await, 0, "nothing has happened since");
}

fn events_of(bodies: &[String]) -> Vec<Value> {
    bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect()
}

/// The jobs of a job queue that is removed were canceled before. Their messages are still in SQS.
#[tokio::test]
async fn messages_of_a_removed_job_queue_are_deleted() {
    let handler = Handler::start().await;
    let deployed = Deployed::open(&[handler.job_queue("mails", &json!({}))]).await;
    let ids = deployed.enqueue("mails", None, &["1", "2"]).await;
    let settings = deployed.settings("mails").await;
    deployed.site.job_queues.job_store().cancel(&settings, &ids).await.unwrap();
    deployed.site.remove("mails").await;
    assert_eq!(deployed.hand(false).await, (2, 0), "they do not come again: {}", deployed.function.log());
    assert_eq!((deployed.sqs.messages(&deployed.prefix).await, handler.calls("mails").len()), (0, 0));
}

#[tokio::test]
async fn other_events_and_messages_are_reported() {
    let deployed = Deployed::open(&[]).await;
    let error = deployed.function.invoke(r#"{"Records":[{"s3":{}}]}"#).await.unwrap_err();
    assert!(error.contains("takes messages of SQS"), "{error}");
    let attributes = json!({ "ApproximateReceiveCount": "1", "SentTimestamp": "1545082649183" });
    let record = json!({ "messageId": "m1", "receiptHandle": "h", "body": "hello", "attributes": attributes });
    let answer = deployed.function.invoke(json!({ "Records": [record] }).to_string()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer, json!({ "batchItemFailures": [{ "itemIdentifier": "m1" }] }));
    assert!(deployed.function.log().contains("carry no job"), "{}", deployed.function.log());
}

#[tokio::test]
async fn invalid_variables_of_the_worker_are_named() {
    let site = Site::open(Jobs::sqs().await, &[]).await;
    for (variable, value, says) in [
        ("VESTIBULE_JOBS_URL", "", "is not set; it must be sqs://"),
        ("VESTIBULE_JOBS_URL", "redis://:s3cret@127.0.0.1", "must be sqs:// and a prefix"),
        ("VESTIBULE_PASS_KEYS", "", "is not set; it must be the pass signing keys"),
        ("VESTIBULE_PASS_KEYS", "kid:s3cret!", ""),
        ("VESTIBULE_PUBLIC_URL", "tickets.example.com", "must be a scheme, host and port"),
    ] {
        let function = site.worker_function().env(variable, value).instances(1).await;
        function.invoke("{}").await.unwrap_err();
        let log = function.log();
        assert!(log.contains(variable) && log.contains(says) && !log.contains("s3cret"), "{value:?}: {log}");
    }
}
