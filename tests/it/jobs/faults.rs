//! Workers that are killed, stopped or have wrong clocks, and handlers that fail, hang or ask for patience. Workers are processes,
//! and the jobs are in a Redis.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use vestibule_core::jobs::{Detail, Enqueued, JOB_BATCH, JobBackend as _, JobQueueSettings, JobState, JobView};
use vestibule_store_redis::{RedisJobs, RedisOptions};
use vestibule_tests::{FakeTime, Origin, Program, Redis, free_port, wait_until};

use super::backends::fixture::{job, number_of, settings_of};

/// A lease of a worker that was killed ends after 30 s.
const LIMIT: Duration = Duration::from_secs(75);
const JOB_QUEUE: &str = "updates.fifo";
const GROUPS: u64 = 50;

/// How a handler answers.
struct Answer {
    after: Duration,
    status: StatusCode,
    retry_after: Option<u64>,
}

impl Answer {
    const fn of(status: StatusCode, after: Duration) -> Self {
        Self { after, status, retry_after: None }
    }

    const fn done() -> Self {
        Self::of(StatusCode::NO_CONTENT, Duration::from_millis(5))
    }
}

/// A call that a handler got.
#[derive(Clone, Debug)]
struct Call {
    job: String,
    number: u64,
    group: String,
    sequence: u64,
    began: Instant,
    /// When it was answered, or when the connection was closed.
    ended: Option<Instant>,
}

/// A handler that notes its calls.
struct Handler {
    url: String,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Handler {
    /// Answers call number `n` of a job, from 0, as the function says.
    async fn start(answer: impl Fn(&Call, usize) -> Answer + Clone + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/jobs", listener.local_addr().unwrap());
        let calls = Arc::new(Mutex::new(Vec::new()));
        let noted = calls.clone();
        let router = Router::new().fallback(move |headers: HeaderMap, body: Bytes| {
            let (noted, answer) = (noted.clone(), answer.clone());
            async move { handle(&noted, &headers, &body, answer).await }
        });
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, calls }
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().clone()
    }
}

/// Notes the end of a call when it is dropped.
struct End<'a>(&'a Mutex<Vec<Call>>, usize);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.lock()[self.1].ended = Some(Instant::now());
    }
}

async fn handle(
    calls: &Mutex<Vec<Call>>,
    headers: &HeaderMap,
    body: &[u8],
    answer: impl Fn(&Call, usize) -> Answer,
) -> Response {
    let text = |name: &str| headers[name].to_str().unwrap().to_owned();
    let number = std::str::from_utf8(body).unwrap().strip_prefix("job ").unwrap().parse().unwrap();
    let call = Call {
        job: text("vestibule-job-id"),
        number,
        group: text("vestibule-group-id"),
        sequence: text("vestibule-sequence-number").parse().unwrap(),
        began: Instant::now(),
        ended: None,
    };
    let (answer, end) = {
        let mut calls = calls.lock();
        let earlier = calls.iter().filter(|it| it.job == call.job).count();
        let answer = answer(&call, earlier);
        calls.push(call);
        (answer, calls.len() - 1)
    };
    let _end = End(calls, end);
    sleep(answer.after).await;
    let mut response = answer.status.into_response();
    if let Some(seconds) = answer.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// A Redis with one job queue, and the handler of its jobs.
struct Site {
    redis: Redis,
    handler: Handler,
    jobs: RedisJobs,
    settings: JobQueueSettings,
    _gate: Program,
    _origin: Origin,
}

impl Site {
    /// `settings` are numbers.
    async fn start(settings: Value, answer: impl Fn(&Call, usize) -> Answer + Clone + Send + Sync + 'static) -> Self {
        let (redis, origin, handler) = (Redis::start().await, Origin::start(), Handler::start(answer).await);
        let numbers = settings.as_object().unwrap().iter().map(|(name, value)| format!("{name} = {value}\n"));
        let document = format!(
            "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n\
             [[queues]]\nid = \"tour\"\ntenant = \"acme\"\nhosts = [\"*\"]\nquota = 1\n\
             handover = {{ kind = \"proxy\", origin = \"{}\" }}\n\n\
             [[job_queues]]\nid = \"{JOB_QUEUE}\"\ntenant = \"acme\"\n\
             target = {{ kind = \"http\", url = \"{}\" }}\n{}",
            origin.url(),
            handler.url,
            numbers.collect::<String>()
        );
        let settings = settings_of(JOB_QUEUE, &settings);
        let (address, url) = (format!("127.0.0.1:{}", free_port()), redis.url());
        let arguments = ["serve", "--listen", &address, "--state", "state", "--no-worker", "--store", &url];
        let arguments = [&arguments[..], &["--settings", "vestibule.toml"]].concat();
        let mut gate = Program::vestibule(&arguments).file("vestibule.toml", &document).start();
        gate.until_healthy(&address).await;
        let jobs =
            RedisJobs::connect(&url, RedisOptions { timeout: Duration::from_secs(5), ..RedisOptions::default() });
        Self { redis, handler, jobs: jobs.unwrap(), settings, _gate: gate, _origin: origin }
    }

    /// A worker in a process of its own.
    fn worker(&self) -> Program {
        self.worker_with(&[])
    }

    fn worker_with(&self, environment: &[(String, String)]) -> Program {
        let program = Program::vestibule(&["work", "--store", &self.redis.url(), "--state", "state"]);
        environment.iter().fold(program, |program, (name, value)| program.env(name, value)).start()
    }

    async fn enqueue(&self, numbers: std::ops::Range<u64>) {
        let numbers: Vec<_> = numbers.collect();
        for numbers in numbers.chunks(JOB_BATCH) {
            let new = numbers.iter().map(|number| job(*number, Some(&group_of(*number)))).collect();
            let answers = self.jobs.enqueue(&self.settings, new).await.unwrap();
            assert!(answers.iter().all(|answer| *answer == Enqueued::Accepted));
        }
    }

    async fn view(&self, number: u64) -> JobView {
        let id = job(number, None).id;
        self.jobs.store().get(&self.settings, &[id], Detail::Status).await.unwrap().remove(0).unwrap()
    }

    async fn until_completed(&self, count: u64) {
        self.until_completed_within(LIMIT, count).await;
    }

    async fn until_completed_within(&self, limit: Duration, count: u64) {
        wait_until("the jobs are completed", limit, async || {
            self.jobs.store().stats(&self.settings).await.unwrap().counters.acknowledged >= count
        })
        .await;
    }

    /// J5: in each group, the jobs began in the order of acceptance. A job that runs again does not come before an earlier one.
    fn assert_order(&self) {
        let mut last = HashMap::new();
        for call in self.handler.calls() {
            let before = last.insert(call.group.clone(), call.sequence).unwrap_or_default();
            assert!(before <= call.sequence, "{} after {before} in {}", call.sequence, call.group);
        }
    }
}

fn group_of(number: u64) -> String {
    format!("g{}", number % GROUPS)
}

/// `VESTIBULE_JOB_KILLS` says how many times.
#[tokio::test]
async fn f01_jobs_of_killed_workers_run_again() {
    const CONCURRENCY: u64 = 10;
    let kills: u64 = std::env::var("VESTIBULE_JOB_KILLS").map_or(8, |kills| kills.parse().expect("a number"));
    let count = 200 * kills;
    let settings = json!({ "concurrency": CONCURRENCY, "max_attempts": 100, "min_backoff": 1, "max_backoff": 1 });
    // The two workers need most of the time for 200 jobs a second, so nearly each of them is killed while its jobs run.
    let site = Site::start(settings, |_, _| Answer::of(StatusCode::NO_CONTENT, Duration::from_millis(70))).await;
    let mut workers = [site.worker(), site.worker()];
    let produced = async {
        // 200 jobs a second.
        for start in (0..count).step_by(20) {
            site.enqueue(start..start + 20).await;
            sleep(Duration::from_millis(100)).await;
        }
    };
    let killed = async {
        for kill in 0..kills {
            // At different times of the 100 ms between two batches.
            sleep(Duration::from_millis(900 + 37 * (kill % 8))).await;
            workers[usize::from(kill % 2 == 1)].restart();
        }
    };
    tokio::join!(produced, killed);
    // Leases of killed workers take the place of running jobs for half a minute.
    site.until_completed_within(LIMIT + Duration::from_secs(3 * kills), count).await;
    let stats = site.jobs.store().stats(&site.settings).await.unwrap();
    assert_eq!((stats.waiting, stats.running, stats.dead), (0, 0, 0));
    assert_eq!((stats.counters.enqueued, stats.counters.acknowledged), (count, count), "no job is lost");
    let calls = site.handler.calls();
    let jobs: HashSet<_> = calls.iter().map(|call| &call.job).collect();
    assert_eq!(jobs.len() as u64, count);
    let again = calls.len() as u64 - count;
    assert!(again <= stats.counters.failed, "{again} second runs, {} leases that ended", stats.counters.failed);
    assert!(stats.counters.failed <= kills * CONCURRENCY, "{:?}", stats.counters);
    assert!(again > 0, "some worker was killed while a job ran");
    // The lease, the backoff, and time to look for jobs. After many kills, leases of other jobs may use the whole concurrency meanwhile.
    let longest = Duration::from_secs(if kills > 8 { 70 } else { 35 });
    let mut began = HashMap::new();
    for call in &calls {
        if let Some(before) = began.insert(&call.job, call.began) {
            assert!(call.began - before < longest, "{:?}", call.began - before);
        }
    }
    site.assert_order();
}

#[tokio::test]
async fn f04_retry_after_is_no_attempt_and_the_rate_holds_afterwards() {
    const PATIENCE: Duration = Duration::from_secs(3);
    let started = Instant::now();
    let site = Site::start(json!({ "dispatches_per_minute": 1_200, "concurrency": 100 }), move |_, _| {
        if started.elapsed() > PATIENCE + Duration::from_secs(5) {
            return Answer::done();
        }
        Answer { retry_after: Some(PATIENCE.as_secs()), ..Answer::of(StatusCode::SERVICE_UNAVAILABLE, Duration::ZERO) }
    })
    .await;
    let _worker = site.worker();
    site.enqueue(0..100).await;
    site.until_completed(100).await;
    let stats = site.jobs.store().stats(&site.settings).await.unwrap();
    assert_eq!((stats.counters.failed, stats.dead), (0, 0), "no attempt is counted");
    assert!(stats.counters.requeued > 0);
    let began: Vec<_> = site.handler.calls().iter().map(|call| call.began).collect();
    // 20 a second, and the bucket holds one second.
    for (at, first) in began.iter().enumerate() {
        let within = began[at..].iter().take_while(|later| **later - *first < Duration::from_secs(1)).count();
        assert!(within <= 45, "{within} calls within a second");
    }
}

#[tokio::test]
async fn f05_failing_job_delays_only_its_group() {
    const JOBS: u64 = 1_000;
    const POISON: u64 = 7;
    let settings = json!({ "concurrency": 50, "min_backoff": 1, "max_backoff": 1 });
    let site = Site::start(settings, |call, _| match call.number {
        POISON => Answer::of(StatusCode::INTERNAL_SERVER_ERROR, Duration::ZERO),
        _ => Answer::done(),
    })
    .await;
    let _worker = site.worker();
    site.enqueue(0..JOBS).await;
    site.until_completed(JOBS - 1).await;
    let view = site.view(POISON).await;
    assert_eq!((view.state, view.failed_attempts), (JobState::Failed, 8));
    let calls = site.handler.calls();
    let group = group_of(POISON);
    let last_attempt = calls.iter().rposition(|call| call.number == POISON).unwrap();
    let others = calls[..last_attempt].iter().filter(|call| call.group != group).count() as u64;
    assert_eq!(others, JOBS - JOBS / GROUPS, "all other groups were done before the job failed for good");
    let own: Vec<_> = calls.iter().filter(|call| call.group == group).map(|call| call.number).collect();
    assert!(
        own[1..9].iter().all(|number| *number == POISON) || own[..8].iter().all(|number| *number == POISON),
        "{own:?}"
    );
    assert_eq!(own.len() as u64, JOBS / GROUPS - 1 + 8);
    site.assert_order();
}

#[tokio::test]
async fn f06_handler_that_never_answers_is_cut_off() {
    let site = Site::start(json!({ "timeout": 2, "max_attempts": 1 }), |call, _| match call.number {
        0 => Answer::of(StatusCode::NO_CONTENT, LIMIT),
        _ => Answer::done(),
    })
    .await;
    let _worker = site.worker();
    // The second job is of the same group.
    site.enqueue(0..1).await;
    site.enqueue(GROUPS..GROUPS + 1).await;
    site.until_completed(1).await;
    let calls = site.handler.calls();
    let seconds = (calls[0].ended.expect("the handler notices") - calls[0].began).as_secs_f64();
    assert!((1.0..=3.0).contains(&seconds), "{seconds}");
    assert_eq!(calls[1].number, GROUPS, "the group continues");
    let view = site.view(0).await;
    assert_eq!((view.state, view.reason.map(|reason| json!(reason))), (JobState::Failed, Some(json!("timeout"))));
}

#[tokio::test]
async fn f07_clocks_of_workers_do_not_matter() {
    const JOBS: u64 = 400;
    let site = Site::start(json!({ "concurrency": 20 }), |_, _| Answer::done()).await;
    let _workers = ["+5s", "-5s"].map(|offset| site.worker_with(&FakeTime::environment(offset)));
    site.enqueue(0..JOBS).await;
    site.until_completed(JOBS).await;
    let calls = site.handler.calls();
    assert_eq!(calls.len() as u64, JOBS, "no job was leased twice");
    assert_eq!(site.jobs.store().stats(&site.settings).await.unwrap().counters.failed, 0);
    site.assert_order();
}

#[tokio::test]
async fn f09_settlement_of_a_stopped_worker_is_refused() {
    let site = Site::start(json!({ "min_backoff": 1 }), |_, earlier| match earlier {
        // Long enough for the worker to be stopped meanwhile.
        0 => Answer::of(StatusCode::INTERNAL_SERVER_ERROR, Duration::from_secs(2)),
        _ => Answer::done(),
    })
    .await;
    let stopped = site.worker();
    site.enqueue(0..1).await;
    wait_until("the job runs", LIMIT, async || !site.handler.calls().is_empty()).await;
    stopped.signal("STOP");
    let _other = site.worker();
    site.until_completed(1).await;
    stopped.signal("CONT");
    wait_until("the old lease is refused", LIMIT, async || {
        site.jobs.store().stats(&site.settings).await.unwrap().counters.refused > 0
    })
    .await;
    let view = site.view(0).await;
    assert_eq!((view.state, view.receive_count, view.failed_attempts), (JobState::Completed, 2, 1));
    let reasons: Vec<_> = view.attempts.iter().map(|attempt| json!(attempt.reason)).collect();
    assert_eq!(reasons, [json!("lease_expired"), Value::Null], "the second run counts");
    assert_eq!(number_of(view.id), 0);
}
