//! `vestibule push`, `jobs`, `schedules`, `webhooks` and `work`: clients of the API, and a worker alone.

use serde_json::json;
use vestibule_tests::Program;

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
    let (status, said) = jobs.run(&["push", "updates.fifo", payload, "--group", "user/17&", "--user-id", "ada"]).await;
    assert_eq!(status, 0, "{said}");
    let id = said.split_whitespace().next().unwrap().to_owned();
    let (status, shown) = jobs.run(&["jobs", "show", "updates.fifo", &id]).await;
    assert_eq!(status, 0, "{shown}");
    for part in ["\"group_id\": \"user/17&\"", "\"user_id\": \"ada\"", "application/json", "ada@example.com", "queued"]
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
async fn errors_of_push_and_jobs_say_what_to_do() {
    let jobs = Jobs::start().await;
    for (arguments, says) in [
        (&["push", "updates.fifo", "hello"][..], "A FIFO job queue needs the group of the job"),
        (&["push", "mails", "hello", "--group", "a"], "A standard job queue has no groups"),
        (&["push", "mails", ""], "The payload is empty"),
        (&["push", "mails", "@/nothing"], "cannot read /nothing"),
        (&["push", "nothing", "hello"], "No job queue with this ID"),
        (&["push", "mails", "{", "--content-type", "application/json"], "the payload is not JSON"),
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
