//! `vestibule serve` with job queues, and the handlers that docs/jobs.md prints, each in a process of its own.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::request::Builder;
use http::{Method, header};
use serde_json::Value;
use sha2::Sha256;
use vestibule_core::{Clock as _, SystemClock};
use vestibule_tests::{AdminClient, DocumentedHandler, Origin, Program, TestResponse, Visitor, free_port, wait_until};

const LIMIT: Duration = Duration::from_secs(20);
const SECRET: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
const PASSWORD: &str = "correct horse battery";

/// The program with one job queue, whose target is at this port.
struct Serving {
    program: Program,
    client: AdminClient,
    _origin: Origin,
}

impl Serving {
    async fn start(port: u16) -> Self {
        let origin = Origin::start();
        let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("vestibule.toml");
        let text = format!(
            "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n\
             [[queues]]\nid = \"tour\"\ntenant = \"acme\"\nhosts = [\"*\"]\nquota = 1\n\
             handover = {{ kind = \"proxy\", origin = \"{}\" }}\n\n\
             [[job_queues]]\nid = \"updates.fifo\"\ntenant = \"acme\"\nmin_backoff = 1\n\
             target = {{ kind = \"http\", url = \"http://127.0.0.1:{port}/jobs\", secret = \"{SECRET}\" }}\n\
             webhook = {{ event_types = [\"queue.reset\"] }}\n",
            origin.url()
        );
        std::fs::write(&settings, text).unwrap();
        let arguments = ["serve", "--listen", &gate, "--admin-listen", &admin, "--state", "state", "--settings"];
        let arguments = [&arguments[..], &[settings.to_str().unwrap()]].concat();
        let bootstrap = format!("root:{PASSWORD}");
        let mut program = Program::vestibule(&arguments).env("VESTIBULE_ADMIN_BOOTSTRAP", &bootstrap).start();
        program.until_healthy(&gate).await;
        let mut client = AdminClient::at(&admin);
        let root = serde_json::json!({ "name": "root", "password": PASSWORD });
        wait_until("the first superuser can sign in", LIMIT, async || {
            client.clone().post("/sign-in", root.clone()).await.status == 200
        })
        .await;
        client.sign_in("root", PASSWORD).await;
        Self { program, client, _origin: origin }
    }

    /// Enqueues a job as a client does, and returns its ID.
    async fn enqueue(&mut self, body: &str) -> String {
        let request = Builder::new().method(Method::POST).uri("/api/v1/job-queues/updates.fifo/jobs?group_id=user-17");
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let response: TestResponse = self.client.visitor().request(request, body.to_owned()).await;
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
