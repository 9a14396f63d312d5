use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use parking_lot::Mutex;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::process::Process;
use crate::{Visitor, free_port, wait_until};

/// How long the server may take to be ready.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An Alertmanager that sends the test every alert at once when it fires or resolves.
pub struct Alertmanager {
    address: String,
    delivered: Arc<Mutex<Vec<ReceivedAlert>>>,
    receiver: JoinHandle<std::io::Result<()>>,
    _folder: TempDir,
    _process: Process,
}

/// A message to a receiver about one alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedAlert {
    /// Name of the alert.
    pub alert: String,
    /// Label `queue`, empty without one.
    pub queue: String,
    /// Label `job_queue`, empty without one.
    pub job_queue: String,
    /// Label `instance`, empty without one.
    pub instance: String,
    /// Whether it fires; it resolved if not.
    pub fires: bool,
    /// The summary, as a person reads it.
    pub summary: String,
}

impl Alertmanager {
    /// Starts the server, which the system may call either name.
    pub async fn start() -> Self {
        let delivered: Arc<Mutex<Vec<ReceivedAlert>>> = Arc::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let webhook = listener.local_addr().unwrap();
        let router = Router::new().route("/alerts", post(take)).with_state(Arc::clone(&delivered));
        let receiver = tokio::spawn(async move { axum::serve(listener, router).await });
        let folder = tempfile::Builder::new().prefix("vestibule-alertmanager-").tempdir().unwrap();
        let settings = folder.path().join("alertmanager.yml");
        std::fs::write(&settings, settings_for(&webhook.to_string())).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new(program());
        command
            .arg(format!("--config.file={}", settings.display()))
            .arg(format!("--storage.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--cluster.listen-address=")
            .current_dir(folder.path());
        let process = Process::start(&mut command, &folder.path().join("log"), folder.path());
        let manager = Self { address, delivered, receiver, _folder: folder, _process: process };
        wait_until("Alertmanager is ready", TIMEOUT, async || {
            let answer = Visitor::new(&manager.address, &manager.address).try_get("/-/ready").await;
            answer.is_ok_and(|answer| answer.status.is_success())
        })
        .await;
        manager
    }

    /// `127.0.0.1:<port>`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// All messages that the receiver has got so far, in order.
    pub fn delivered(&self) -> Vec<ReceivedAlert> {
        self.delivered.lock().clone()
    }
}

impl Drop for Alertmanager {
    fn drop(&mut self) {
        self.receiver.abort();
    }
}

async fn take(State(delivered): State<Arc<Mutex<Vec<ReceivedAlert>>>>, Json(news): Json<Value>) {
    let alerts = news["alerts"].as_array().unwrap().iter().map(|alert| {
        let label = |name: &str| alert["labels"][name].as_str().unwrap_or_default().to_owned();
        ReceivedAlert {
            alert: label("alertname"),
            queue: label("queue"),
            job_queue: label("job_queue"),
            instance: label("instance"),
            fires: alert["status"] == "firing",
            summary: alert["annotations"]["summary"].as_str().unwrap_or_default().to_owned(),
        }
    });
    delivered.lock().extend(alerts);
}

/// One alert a group, so that nothing waits for anything else.
fn settings_for(webhook: &str) -> String {
    format!(
        "route: {{ receiver: test, group_by: ['...'], group_wait: 0s, group_interval: 1s, repeat_interval: 1h }}\n\
         receivers:\n\
         - name: test\n  \
           webhook_configs: [ {{ url: 'http://{webhook}/alerts', send_resolved: true }} ]\n"
    )
}

/// Debian calls it otherwise than its authors do.
fn program() -> &'static str {
    let named = |name: &&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
    };
    ["prometheus-alertmanager", "alertmanager"].into_iter().find(named).expect("an Alertmanager: scripts/setup")
}
