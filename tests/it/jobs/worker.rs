//! `vestibule serve` with job queues, and the handlers that docs/jobs.md prints, each in a process of its own.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::request::Builder;
use http::{HeaderMap, Method, StatusCode, header};
use parking_lot::Mutex;
use serde_json::Value;
use sha2::Sha256;
use tokio::net::TcpListener;
use vestibule_core::{Clock as _, SystemClock};
use vestibule_tests::{
    AdminClient, DocumentedHandler, Origin, Program, Redis, TestResponse, Visitor, free_port, wait_until,
};

const LIMIT: Duration = Duration::from_secs(20);
const SECRET: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const PASSWORD: &str = "correct horse battery";

/// The program with job queues.
struct Serving {
    program: Program,
    client: AdminClient,
    gate: String,
    admin: String,
    _origin: Origin,
}

impl Serving {
    /// One job queue, whose target is at this port.
    async fn start(port: u16) -> Self {
        let updates = format!(
            "[[job_queues]]\nid = \"updates.fifo\"\ntenant = \"acme\"\nmin_backoff = 1\n\
             target = {{ kind = \"http\", url = \"http://127.0.0.1:{port}/jobs\", secret = \"{SECRET}\" }}\n\
             webhook = {{ event_types = [\"queue.reset\"] }}\n"
        );
        Self::with_job_queues(&updates, &[]).await
    }

    async fn with_job_queues(job_queues: &str, options: &[&str]) -> Self {
        let origin = Origin::start();
        let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let settings = format!(
            "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n\
             [[queues]]\nid = \"tour\"\ntenant = \"acme\"\nhosts = [\"*\"]\nquota = 1\n\
             handover = {{ kind = \"proxy\", origin = \"{}\" }}\n\n\
             {job_queues}",
            origin.url()
        );
        let arguments = ["serve", "--listen", &gate, "--admin-listen", &admin, "--state", "state"];
        let arguments = [&arguments[..], &["--settings", "vestibule.toml"], options].concat();
        let bootstrap = format!("root:{PASSWORD}");
        let program = Program::vestibule(&arguments).env("VESTIBULE_ADMIN_BOOTSTRAP", &bootstrap);
        let mut program = program.file("vestibule.toml", &settings).start();
        program.until_healthy(&gate).await;
        let mut client = AdminClient::at(&admin);
        let root = serde_json::json!({ "name": "root", "password": PASSWORD });
        wait_until("the first superuser can sign in", LIMIT, async || {
            client.clone().post("/sign-in", root.clone()).await.status == 200
        })
        .await;
        client.sign_in("root", PASSWORD).await;
        Self { program, client, gate, admin, _origin: origin }
    }

    /// Enqueues a job as a client does, and returns its ID.
    async fn enqueue(&mut self, body: &str) -> String {
        let response = enqueue(&mut self.client, "updates.fifo/jobs?group_id=user-17", body).await;
        assert_eq!(response.status, 202, "{}", response.text());
        response.json()["job_id"].as_str().unwrap().to_owned()
    }

    /// The job when it is in this state.
    async fn job_in(&mut self, id: &str, state: &str) -> Value {
        let path = format!("/job-queues/updates.fifo/jobs/{id}");
        let mut job = Value::Null;
        let client = &mut self.client;
        wait_until(&format!("the job is {state}"), LIMIT, async || {
            job = client.get(&path).await.json();
            job["state"] == state
        })
        .await;
        job
    }
}

async fn enqueue(client: &mut AdminClient, path: &str, body: &str) -> TestResponse {
    let request = Builder::new().method(Method::POST).uri(format!("/api/v1/job-queues/{path}"));
    let request = request.header(header::CONTENT_TYPE, "application/json");
    client.visitor().request(request, body.to_owned()).await
}

/// The timestamp and the signature of a call, without the worker's code.
fn signed(id: &str, body: &str) -> (String, String) {
    let timestamp = SystemClock::new().now().seconds().to_string();
    let key = BASE64_STANDARD.decode(SECRET.trim_start_matches("whsec_")).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    (timestamp, format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes())))
}

/// A handler fails once, and then completes the job. It refuses a body that somebody else has written.
async fn assert_completes(handler: DocumentedHandler) {
    let mut serving = Serving::start(handler.port()).await;
    let id = serving.enqueue(r#"{"email": "ada@example.com"}"#).await;
    let job = serving.job_in(&id, "completed").await;
    assert_eq!(job["receive_count"], 2, "{job}");
    let attempts: Vec<_> = job["attempts"].as_array().unwrap().iter().map(|it| it["status"].clone()).collect();
    assert_eq!(attempts, [500, 204], "{job}");
    assert_eq!(handler.processed(), [format!("{id} ada@example.com")]);

    let test = serving.client.post("/job-queues/updates.fifo/webhook/test", serde_json::json!({})).await.json();
    let test = test["job_id"].as_str().unwrap().to_owned();
    serving.job_in(&test, "completed").await;
    assert_eq!(handler.processed()[1..], [format!("{test} webhook.test")], "the library accepts the event");

    let address = format!("127.0.0.1:{}", handler.port());
    for (sent, status) in [(r#"{"email": "ada@example.com"}"#, 204), (r#"{"email": "eve@example.com"}"#, 401)] {
        let (timestamp, signature) = signed("job-2", r#"{"email": "ada@example.com"}"#);
        let request = Builder::new()
            .method(Method::POST)
            .uri("/jobs")
            .header("vestibule-job-id", "job-2")
            .header("webhook-id", "job-2")
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature);
        let response = Visitor::new(&address, &address).request(request, sent).await;
        assert_eq!(response.status, status, "{sent}");
    }
    assert_eq!(handler.processed()[2..], ["job-2 ada@example.com"]);

    serving.program.terminate().await;
    let log = serving.program.log();
    assert!(log.contains("worker stopped"), "{log}");
    for secret in ["ada@example.com", SECRET, SECRET.trim_start_matches("whsec_")] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn handler_in_node_fails_once_and_completes() {
    assert_completes(DocumentedHandler::node(SECRET).await).await;
}

#[tokio::test]
async fn handler_in_python_fails_once_and_completes() {
    assert_completes(DocumentedHandler::python(SECRET).await).await;
}

#[tokio::test]
async fn handler_in_php_fails_once_and_completes() {
    assert_completes(DocumentedHandler::php(SECRET).await).await;
}

#[tokio::test]
async fn handler_in_go_fails_once_and_completes() {
    assert_completes(DocumentedHandler::go(SECRET).await).await;
}

/// A user changes their profile twice. Each system has a job queue, in which the user is a group; one system always fails.
#[tokio::test]
async fn profile_example() {
    let systems = Origin::start();
    let job_queue = |id: &str, path: &str| {
        let url = format!("{}/{path}", systems.url());
        format!(
            "[[job_queues]]\nid = \"{id}.fifo\"\ntenant = \"acme\"\nmin_backoff = 1\nmax_backoff = 1\n\
             target = {{ kind = \"http\", url = \"{url}\" }}\n\n"
        )
    };
    let job_queues = [("crm", "crm"), ("help-desk", "status/500"), ("mailing", "mailing")];
    let document: String = job_queues.iter().map(|(id, path)| job_queue(id, path)).collect();
    let mut serving = Serving::with_job_queues(&document, &[]).await;
    // What the request handler of the shop does.
    for change in ["\"ada 1\"", "\"ada 2\"", "\"bob 1\"", "\"bob 2\""] {
        for (id, _) in job_queues {
            let user = &change[1..4];
            let enqueued = enqueue(&mut serving.client, &format!("{id}.fifo/jobs?group_id={user}"), change).await;
            assert_eq!(enqueued.status, 202, "{}", enqueued.text());
        }
    }
    let calls = |path: &str, user: &str| -> Vec<String> {
        let calls = systems.requests().into_iter().filter(|call| call.uri.path() == path);
        let bodies = calls.map(|call| String::from_utf8(call.body.to_vec()).unwrap());
        bodies.filter(|body| body[1..].starts_with(user)).collect()
    };
    let help_desk = "/status/500";
    wait_until("the help desk is called again", LIMIT, async || {
        ["ada", "bob"].iter().all(|user| calls(help_desk, user).len() > 2)
    })
    .await;
    for user in ["ada", "bob"] {
        let changes = [format!("\"{user} 1\""), format!("\"{user} 2\"")];
        for path in ["/crm", "/mailing"] {
            assert_eq!(calls(path, user), changes, "{path}: each change once, in order");
        }
        assert!(calls(help_desk, user).iter().all(|call| *call == changes[0]), "the second change waits for the first");
    }
}

/// A handler enqueues the next job to its own job queue while it is called.
#[tokio::test]
async fn handler_enqueues_next_job() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut serving = Serving::start(listener.local_addr().unwrap().port()).await;
    let token = serde_json::json!({
        "name": "handler", "role": "operator", "tenants": ["acme"], "only": "jobs", "expires_in": 86_400,
    });
    let token = serving.client.create("/tokens", token).await["secret"].as_str().unwrap().to_owned();
    let client = AdminClient::at(&serving.admin).with_token(&token);
    let calls = Arc::new(Mutex::new(Vec::new()));
    let noted = calls.clone();
    let router = Router::new().fallback(move |headers: HeaderMap, body: String| {
        let (mut client, noted) = (client.clone(), noted.clone());
        async move {
            noted.lock().push(body.clone());
            let header = |name: &str| headers[name].to_str().unwrap();
            let (job_queue, group) = (header("vestibule-job-queue"), header("vestibule-group-id"));
            let rest = body.parse::<u64>().unwrap() - 1;
            if rest > 0 {
                let path = format!("{job_queue}/jobs?group_id={group}");
                assert_eq!(enqueue(&mut client, &path, &rest.to_string()).await.status, 202);
            }
            StatusCode::NO_CONTENT
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    serving.enqueue("3").await;
    wait_until("the last job runs", LIMIT, async || calls.lock().len() == 3).await;
    assert_eq!(*calls.lock(), ["3", "2", "1"]);
}

/// A job of the site's backend names a visitor, who sees its progress; nobody else does.
#[tokio::test]
async fn visitor_named_by_the_site_follows_the_job() {
    let handler = Origin::start();
    let reports = format!(
        "[[job_queues]]\nid = \"reports\"\ntenant = \"acme\"\ntarget = {{ kind = \"http\", url = \"{}/slow?2000\" }}\n",
        handler.url()
    );
    let mut serving = Serving::with_job_queues(&reports, &["--public-url", "http://public.example"]).await;
    let mut visitors = [(); 2].map(|()| Visitor::new(&serving.gate, "shop.example"));
    for visitor in &mut visitors {
        visitor.navigate("/").await;
        visitor.navigate("/").await;
    }
    let [mut named, mut other] = visitors;
    let session = named.status("tour").await.json()["session"].as_str().unwrap().to_owned();
    let mut backend = serving.client.clone().with_header("vestibule-session", &session);
    let enqueued = enqueue(&mut backend, "reports/jobs", r#"{"order":1}"#).await;
    assert_eq!(enqueued.status, 202, "{}", enqueued.text());
    let location = format!("/_vestibule/jobs/reports/{}", enqueued.json()["job_id"].as_str().unwrap());
    let mut events = named.event_stream(&format!("{location}/events")).await.unwrap();
    wait_until("the handler is called", LIMIT, async || handler.requests().len() == 1).await;
    let call = handler.requests().remove(0);
    assert_eq!(call.headers["vestibule-session"], session);
    let progress = call.headers["vestibule-progress-url"].to_str().unwrap().trim_start_matches("http://public.example");
    let report = Builder::new().method(Method::POST).uri(progress);
    let reported = Visitor::new(&serving.gate, "public.example").request(report, r#"{"status":"preparing"}"#).await;
    assert_eq!(reported.status, StatusCode::NO_CONTENT, "{}", reported.text());
    let mut messages = Vec::new();
    while let Some(event) = events.event().await {
        messages.extend(event.get("message").cloned());
    }
    assert_eq!(messages, [serde_json::json!({ "status": "preparing" })]);
    let status = named.fetch(&location).await.json();
    assert_eq!((&status["state"], &status["progress"][0]["message"]), (&"completed".into(), &messages[0]), "{status}");
    for path in [location.clone(), format!("{location}/events")] {
        other.fetch(&path).await.assert_code("unknown_job");
    }

    let jobs = serde_json::json!([{ "payload": 1, "session": session }, { "payload": 2 }]);
    let batch = serving.client.post("/job-queues/reports/jobs/batch", serde_json::json!({ "jobs": jobs })).await.json();
    for (job, status) in batch["jobs"].as_array().unwrap().iter().zip([200, 404]) {
        let location = format!("/_vestibule/jobs/reports/{}", job["job_id"].as_str().unwrap());
        assert_eq!(named.fetch(&location).await.status, status, "{job}");
    }
}

/// J3, in the API: a 503 says whether the job may be queued.
#[tokio::test]
async fn error_says_whether_a_job_may_be_queued() {
    let redis = Redis::start().await;
    let mails = "[[job_queues]]\nid = \"mails\"\ntenant = \"acme\"\ntarget = { kind = \"pull\" }\n";
    let serving = Serving::with_job_queues(mails, &["--jobs", &redis.url()]).await;
    let mut client = serving.client.with_header("idempotency-key", "change-1");
    assert_eq!(client.get("/job-queues/mails/stats").await.status, 200, "the backend is connected");
    redis.freeze();
    let unconfirmed = enqueue(&mut client, "mails/jobs", "1").await;
    unconfirmed.assert_code("enqueue_unconfirmed");
    assert!(unconfirmed.status == 503 && unconfirmed.headers.contains_key("retry-after"));
    redis.thaw();
    let mut repeated = unconfirmed.clone();
    wait_until("it is confirmed", LIMIT, async || {
        repeated = enqueue(&mut client, "mails/jobs", "1").await;
        repeated.status == 202
    })
    .await;
    assert_eq!(repeated.json()["duplicate"], true);
    assert_eq!(repeated.json()["job_id"], unconfirmed.json()["params"]["job_id"]);
    redis.kill();
    wait_until("the loss of the connection is known", LIMIT, async || {
        let refused = enqueue(&mut client, "mails/jobs", "1").await;
        refused.code() == "not_queued" && refused.status == 503 && refused.headers.contains_key("retry-after")
    })
    .await;
}
