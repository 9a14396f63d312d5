//! `vestibule push`, `jobs`, `schedules`, `webhooks` and `work`: clients of the API, and a worker alone.

use std::time::Duration;

use serde_json::{Value, json};
use vestibule_core::fields::Object as _;
use vestibule_core::jobs::{
    Failure, FailureReason, JobBackend as _, JobId, JobQueueSettings, NewJob, Outcome, Payload, Settlement,
};
use vestibule_records::{DocumentKind, RecordStore as _};
use vestibule_store_redis::{RedisJobs, RedisOptions, RedisStore};
use vestibule_tests::{Origin, Program, Redis, free_port, wait_until};

use super::RunningGate;
use crate::admin::backoffice::Backoffice;

/// A backoffice with the job queues `mails` and `updates.fifo`, and an API token of an operator.
struct Jobs {
    backoffice: Backoffice,
    token: String,
}

impl Jobs {
    async fn start() -> Self {
        let backoffice = Backoffice::memory().await;
        backoffice.tenant("acme").await;
        for id in ["mails", "updates.fifo"] {
            let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
            backoffice.root().create("/job-queues", json!({ "id": id, "tenant": "acme", "target": target })).await;
        }
        let token = json!({ "name": "jobs", "role": "operator", "tenants": ["acme"], "expires_in": 86_400 });
        let token = backoffice.root().create("/tokens", token).await["secret"].as_str().unwrap().to_owned();
        Self { backoffice, token }
    }

    async fn run(&self, arguments: &[&str]) -> (i32, String) {
        run(&format!("http://{}/", self.backoffice.admin.address()), &self.token, arguments).await
    }

    /// Enqueues jobs of `mails`.
    async fn enqueue(&self, count: u8) {
        let jobs = self.backoffice.admin.jobs();
        let settings = jobs.get(&"mails".parse().unwrap()).await.unwrap().unwrap().settings.clone();
        for _ in 0..count {
            jobs.enqueue(&settings, vec![job()]).await.unwrap();
        }
    }

    /// Makes dead letters of all jobs of `mails`, and returns their IDs.
    async fn kill_all(&self) -> Vec<String> {
        let jobs = self.backoffice.admin.jobs();
        let settings = jobs.get(&"mails".parse().unwrap()).await.unwrap().unwrap().settings.clone();
        let failure = Failure { reason: FailureReason::Permanent, status: Some(410), response: Vec::new() };
        let mut ids = Vec::new();
        loop {
            let received = jobs.backend().receive(&settings, 10).await.unwrap().jobs;
            if received.is_empty() {
                return ids;
            }
            let leases = received.iter().map(|job| job.lease);
            let settlements =
                leases.map(|lease| Settlement { lease, outcome: Outcome::FailedForGood(failure.clone()) }).collect();
            jobs.backend().settle(&settings, settlements).await.unwrap();
            ids.extend(received.iter().map(|job| job.lease.job.to_string()));
        }
    }

    /// The numbers of waiting jobs and dead letters of `mails`.
    async fn counts(&self) -> (Value, Value) {
        let stats = self.backoffice.root().get("/job-queues/mails/stats").await.json();
        (stats["waiting"].clone(), stats["dead"].clone())
    }
}

fn job() -> NewJob {
    NewJob::new(JobId::random(), Payload { content_type: "text/plain".to_owned(), bytes: b"hello".to_vec() })
}

async fn run(url: &str, token: &str, arguments: &[&str]) -> (i32, String) {
    let program = Program::vestibule(arguments).env("VESTIBULE_API_URL", url).env("VESTIBULE_API_TOKEN", token);
    let mut program = program.start();
    let status = program.end().await;
    assert!(!program.log().contains("vestibule_"), "tokens are not printed: {}", program.log());
    (status.code().unwrap_or(-1), program.log())
}

#[tokio::test]
async fn push_enqueues_and_jobs_shows_the_job() {
    let jobs = Jobs::start().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "hello\n").unwrap();
    let file = format!("@{}", file.path().display());
    let payload = r#"{"email":"ada@example.com"}"#;
    let session = "2b6e6c34-6dd6-402e-80cd-e3f03456f3f7";
    let push = ["push", "updates.fifo", payload, "--group", "user/17&", "--user-id", "ada", "--session", session];
    let (status, said) = jobs.run(&push).await;
    assert_eq!(status, 0, "{said}");
    let id = said.split_whitespace().next().unwrap().to_owned();
    let (status, shown) = jobs.run(&["jobs", "show", "updates.fifo", &id]).await;
    assert_eq!(status, 0, "{shown}");
    for part in
        ["\"group_id\": \"user/17&\"", "\"user_id\": \"ada\"", session, "application/json", "ada@example.com", "queued"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let (_, first) = jobs.run(&["push", "mails", &file, "--deduplication-id", "a", "--delay", "60"]).await;
    let (status, second) = jobs.run(&["push", "mails", &file, "--deduplication-id", "a"]).await;
    assert!(status == 0 && second.contains("a duplicate") && second.contains(first.trim()), "{first}{second}");
    let (_, shown) = jobs.run(&["jobs", "show", "mails", first.trim()]).await;
    assert!(shown.contains("\"payload\": \"hello\\n\"") && shown.contains("text/plain"), "{shown}");

    let (status, said) = jobs.run(&["jobs", "pause", "mails"]).await;
    assert_eq!((status, said.contains("mails is paused")), (0, true), "{said}");
    let (_, list) = jobs.run(&["jobs", "list"]).await;
    let line =
        |id: &str| list.lines().find(|line| line.starts_with(id)).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(line("mails")[..4], ["mails", "1", "0", "0"]);
    assert_eq!((line("mails").last(), line("updates.fifo").last()), (Some(&"paused"), Some(&"running")));
    assert_eq!(jobs.run(&["jobs", "resume", "mails"]).await.0, 0);
}

#[tokio::test]
async fn schedules_run_and_webhooks_are_tested() {
    let jobs = Jobs::start().await;
    let schedules = json!([
        { "id": "nightly", "cron": "0 4 * * *", "time_zone": "Europe/Berlin", "payload": "{}" },
        { "id": "hourly", "cron": "@hourly", "payload": "{}" },
    ]);
    let patch = json!({ "schedules": schedules, "webhook": { "event_types": ["queue.reset"] } });
    assert_eq!(jobs.backoffice.root().patch("/job-queues/mails", patch).await.status, 200);
    let (status, list) = jobs.run(&["schedules", "list", "mails"]).await;
    assert_eq!(status, 0, "{list}");
    let nightly: Vec<_> = list.lines().find(|line| line.starts_with("nightly")).unwrap().split_whitespace().collect();
    assert_eq!(nightly[1..7], ["0", "4", "*", "*", "*", "Europe/Berlin"]);
    assert!(nightly[7].ends_with(":00:00Z"), "{list}");
    for arguments in [&["schedules", "run", "mails", "nightly"][..], &["webhooks", "test", "mails"]] {
        let (status, id) = jobs.run(arguments).await;
        assert_eq!(status, 0, "{id}");
        let (status, shown) = jobs.run(&["jobs", "show", "mails", id.trim()]).await;
        assert_eq!((status, shown.contains("queued")), (0, true), "{shown}");
    }
}

#[tokio::test]
async fn dead_letters_are_retried() {
    let jobs = Jobs::start().await;
    // More than one request replays.
    jobs.enqueue(203).await;
    let dead = jobs.kill_all().await;
    assert_eq!(jobs.counts().await, (json!(0), json!(203)));
    let (status, said) = jobs.run(&["jobs", "retry", "mails", &dead[1], &dead[0], &dead[1]]).await;
    assert_eq!((status, said.contains("2 jobs of mails run again")), (0, true), "{said}");
    assert_eq!(jobs.counts().await, (json!(2), json!(201)));
    let mut sequences = Vec::new();
    for id in [&dead[1], &dead[0]] {
        let job = jobs.backoffice.root().get(&format!("/job-queues/mails/jobs/{id}")).await.json();
        sequences.push(job["sequence_number"].as_u64());
    }
    assert!(sequences[0] < sequences[1], "in the order of the arguments: {sequences:?}");
    let (status, said) = jobs.run(&["jobs", "retry", "mails", &dead[1], &dead[2]]).await;
    assert_eq!((status, said.contains("1 of the jobs are no dead letters of mails")), (1, true), "{said}");
    let (status, said) = jobs.run(&["jobs", "retry", "mails"]).await;
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("JOB") && said.contains("--all"), "{said}");
    let (status, said) = jobs.run(&["jobs", "retry", "mails", "--all"]).await;
    assert_eq!((status, said.contains("200 jobs of mails run again")), (0, true), "{said}");
    assert_eq!(jobs.counts().await, (json!(203), json!(0)));
    let (status, said) = jobs.run(&["jobs", "retry", "mails"]).await;
    assert_eq!((status, said.contains("<JOB>")), (2, true), "{said}");
}

#[tokio::test]
async fn dead_letters_are_deleted() {
    let jobs = Jobs::start().await;
    jobs.enqueue(70).await;
    let dead = jobs.kill_all().await;
    let (status, said) = jobs.run(&["jobs", "delete", "mails", &dead[0], &dead[1], &dead[0]]).await;
    assert_eq!((status, said.contains("2 dead letters of mails deleted")), (0, true), "{said}");
    let (status, said) = jobs.run(&["jobs", "delete", "mails", &dead[1], &dead[2]]).await;
    assert_eq!((status, said.contains("1 of the jobs are no dead letters of mails")), (1, true), "{said}");
    let (status, said) = jobs.run(&["jobs", "delete", "mails", "--all"]).await;
    assert_eq!((status, said.contains("pass --yes to confirm: All dead letters")), (1, true), "{said}");
    assert_eq!(jobs.counts().await.1, 67, "nothing is deleted without a confirmation");
    let (status, said) = jobs.run(&["jobs", "delete", "mails", "--all", "--yes"]).await;
    assert_eq!((status, said.contains("67 dead letters of mails deleted")), (0, true), "{said}");
    assert_eq!(jobs.counts().await, (json!(0), json!(0)));
}

#[tokio::test]
async fn waiting_jobs_are_drained_after_a_confirmation() {
    let jobs = Jobs::start().await;
    jobs.enqueue(3).await;
    let (status, said) = jobs.run(&["jobs", "drain", "mails"]).await;
    assert_eq!((status, said.contains("pass --yes to confirm: All waiting jobs")), (1, true), "{said}");
    assert_eq!(jobs.counts().await.0, 3, "nothing is deleted without a confirmation");
    let (status, said) = jobs.run(&["jobs", "drain", "mails", "--yes"]).await;
    assert_eq!((status, said.contains("3 waiting jobs of mails deleted")), (0, true), "{said}");
    assert_eq!(jobs.counts().await.0, 0);
}

#[tokio::test]
async fn paused_job_queue_starts_no_jobs_until_it_is_resumed() {
    let jobs = Jobs::start().await;
    jobs.enqueue(1).await;
    for (action, says, started) in
        [("pause", "mails is paused", 0), ("pause", "mails is paused", 0), ("resume", "mails is resumed", 1)]
    {
        let (status, said) = jobs.run(&["jobs", action, "mails"]).await;
        assert_eq!((status, said.contains(says)), (0, true), "{said}");
        assert_eq!(jobs.kill_all().await.len(), started, "{action}");
    }
}

#[tokio::test]
async fn work_runs_the_jobs_of_other_processes() {
    let (redis, origin) = (Redis::start().await, Origin::start());
    let settings = format!(
        "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n\
         [[queues]]\nid = \"tour\"\ntenant = \"acme\"\nhosts = [\"*\"]\nquota = 1\n\
         handover = {{ kind = \"proxy\", origin = \"{}\" }}\n\n\
         [[job_queues]]\nid = \"mails\"\ntenant = \"acme\"\nconcurrency = 1\n\
         target = {{ kind = \"http\", url = \"{}/slow?1500\" }}\n",
        origin.url(),
        origin.url()
    );
    let (address, url) = (format!("127.0.0.1:{}", free_port()), redis.url());
    let arguments = ["serve", "--listen", &address, "--state", "state", "--no-worker", "--store", &url];
    let arguments = [&arguments[..], &["--settings", "vestibule.toml"]].concat();
    let mut serving = Program::vestibule(&arguments).file("vestibule.toml", &settings).start();
    serving.until_healthy(&address).await;
    let target = json!({ "kind": "http", "url": "https://crm.acme.example/jobs" });
    let settings = JobQueueSettings::from_json(&json!({ "id": "mails", "tenant": "acme", "target": target })).unwrap();
    let jobs = RedisJobs::connect(&url, RedisOptions::default()).unwrap();
    jobs.enqueue(&settings, vec![job(), job()]).await.unwrap();

    let mut worker = Program::vestibule(&["work", "--store", &url, "--state", "state"]).start();
    let limit = Duration::from_secs(20);
    wait_until("the handler is called", limit, async || origin.requests().len() == 1).await;
    // There is nothing to reload.
    worker.signal("HUP");
    assert!(worker.terminate().await.success(), "{}", worker.log());
    let stats = jobs.store().stats(&settings).await.unwrap();
    assert_eq!((stats.counters.acknowledged, stats.counters.failed), (1, 0), "it waited for the call: {stats:?}");
    assert_eq!((stats.waiting, stats.running), (1, 0), "no other job is started");
    worker.restart();
    let completed = async || jobs.store().stats(&settings).await.unwrap().counters.acknowledged == 2;
    wait_until("the other job is completed", limit, completed).await;
}

/// Redis comes back empty, and no process knew the settings but by the file.
#[tokio::test]
async fn job_queues_of_the_settings_file_survive_an_empty_redis() {
    let (redis, limit) = (Redis::start().await, Duration::from_secs(20));
    let url = redis.url();
    let mails = "quota = 1\n\n[[job_queues]]\nid = \"mails\"\ntenant = \"acme\"\ntarget = { kind = \"pull\" }\n";
    let mut served = RunningGate::launched(mails, &["--store", &url], |launch| launch).await;
    let store = RedisStore::connect(&url, RedisOptions::default()).unwrap();
    let stored = async || store.list_documents(DocumentKind::JobQueues).await.is_ok_and(|all| all.len() == 1);
    wait_until("the job queue is stored", limit, stored).await;
    served.program.kill();
    redis.restart_empty().await;
    assert_eq!(redis.command(&["DBSIZE"]).await.integer(), 0);
    served.program.restart();
    wait_until("the job queue is stored again", limit, stored).await;
}

#[tokio::test]
async fn errors_of_push_and_jobs_say_what_to_do() {
    let jobs = Jobs::start().await;
    for (arguments, says) in [
        (&["push", "updates.fifo", "hello"][..], "needs the group of the job: give it with --group"),
        (&["push", "mails", "hello", "--group", "a"], "A standard job queue has no groups"),
        (&["push", "mails", ""], "The payload is empty"),
        (&["push", "mails", "@/nothing"], "cannot read /nothing"),
        (&["push", "nothing", "hello"], "No job queue with this ID"),
        (&["push", "mails", "{", "--content-type", "application/json"], "cannot be read as JSON"),
        (&["jobs", "show", "mails", "0NPWV1MDQB2XKF3Y0T5DWZQ"], "No job with this ID"),
        (&["jobs", "pause", "nothing"], "No job queue with this ID"),
        (&["schedules", "run", "mails", "nightly"], "no schedule with this ID"),
        (&["webhooks", "test", "mails"], "delivers no webhook events"),
    ] {
        let (status, said) = jobs.run(arguments).await;
        assert_eq!((status, said.contains(says)), (1, true), "{arguments:?}: {said}");
    }
    let address = format!("http://{}", jobs.backoffice.admin.address());
    for (url, token, says) in [
        (address.as_str(), "nonsense", "This sign-in or token is invalid"),
        (&address, "", "VESTIBULE_API_TOKEN is not set"),
        ("http://127.0.0.1:9", "nonsense", "cannot reach the backoffice"),
        ("http://admin.example.com", "nonsense", "--api-url must be an https:// URL"),
    ] {
        let (status, said) = run(url, token, &["jobs", "list"]).await;
        assert_eq!((status, said.contains(says)), (1, true), "{url}: {said}");
    }
    let (status, said) = jobs.run(&["work"]).await;
    assert_eq!((status, said.contains("work needs the Redis of the other processes")), (1, true), "{said}");
}
