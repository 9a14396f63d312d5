mod exposition;

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::Process;
use crate::{Visitor, free_port, wait_until};

pub use exposition::{Exposition, Sample, sample};

/// How long the server may take to be ready.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A Prometheus that scrapes what a test names, as often as it can.
pub struct Prometheus {
    address: String,
    folder: TempDir,
    process: Process,
}

impl Prometheus {
    /// Starts the server with one job: `target` is `127.0.0.1:<port>`, and `token` the bearer token that it sends.
    pub async fn scraping(job: &str, target: &str, token: &str) -> Self {
        Self::start(&settings(job, target), &[("token", token)]).await
    }

    /// Starts the server with these settings, and these files beside them.
    pub async fn start(settings: &str, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::Builder::new().prefix("vestibule-prometheus-").tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        std::fs::write(folder.path().join("prometheus.yml"), settings).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", folder.path().join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .current_dir(folder.path());
        let process = Process::start(&mut command, &folder.path().join("log"), folder.path());
        let mut prometheus = Self { address, folder, process };
        wait_until("Prometheus is ready", TIMEOUT, async || {
            let ended = prometheus.process.ended();
            assert!(ended.is_none(), "Prometheus ended with {ended:?}:\n{}", prometheus.log());
            let answer = prometheus.visitor().try_get("/-/ready").await;
            answer.is_ok_and(|answer| answer.status.is_success())
        })
        .await;
        prometheus
    }

    /// What a query finds now: labels and value of each series.
    pub async fn query(&self, expression: &str) -> Vec<Sample> {
        let encoded = expression.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02x}"));
        let answer = self.visitor().fetch(&format!("/api/v1/query?query={encoded}")).await.json();
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        answer["data"]["result"].as_array().unwrap().iter().map(found).collect()
    }

    /// What the server says of its one target, such as why it could not be scraped.
    pub async fn target(&self) -> Value {
        self.visitor().fetch("/api/v1/targets").await.json()["data"]["activeTargets"][0].clone()
    }

    /// All that the server wrote so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    fn visitor(&self) -> Visitor {
        Visitor::new(&self.address, &self.address)
    }
}

/// What `promtool check metrics` has against a text; empty if nothing.
pub fn promtool_check(text: &str) -> String {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool is installed");
    let mut input = promtool.stdin.take().unwrap();
    let text = text.to_owned();
    let writing = std::thread::spawn(move || std::io::Write::write_all(&mut input, text.as_bytes()).unwrap());
    let output = promtool.wait_with_output().unwrap();
    writing.join().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if said.is_empty() && !output.status.success() { output.status.to_string() } else { said }
}

fn settings(job: &str, target: &str) -> String {
    format!(
        "global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\n\
         scrape_configs:\n\
         - job_name: {job}\n  \
           authorization: {{ credentials_file: token }}\n  \
           static_configs: [ {{ targets: [ '{target}' ] }} ]\n"
    )
}

fn found(series: &Value) -> Sample {
    let labels = series["metric"].as_object().unwrap().iter();
    let labels = labels.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()));
    let (named, labels): (Vec<_>, Vec<_>) = labels.partition(|(name, _)| name == "__name__");
    let name = named.into_iter().next().map(|(_, name)| name).unwrap_or_default();
    Sample { name, labels: labels.into_iter().collect(), value: series["value"][1].as_str().unwrap().parse().unwrap() }
}
