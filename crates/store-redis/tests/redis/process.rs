//! A separate process that holds a store: it can be frozen, and has its own environment.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use vestibule_core::store::VisitStore as _;
use vestibule_store_redis::{RedisOptions, RedisStore};

use super::frozen_process::PATIENCE;
use super::tools::{joining, queue};

/// The variable with the address for the process.
const ADDRESS: &str = "VESTIBULE_TEST_STORE";

/// Not a test: the main loop of the process. It reads a number per visit and writes the outcome.
#[test]
#[ignore = "runs as the process of other tests"]
fn holds_a_store() {
    let Ok(url) = std::env::var(ADDRESS) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let options = RedisOptions { timeout: PATIENCE, ..RedisOptions::default() };
    let store = runtime.block_on(async { RedisStore::connect(&url, options) });
    for line in std::io::stdin().lines() {
        let number = line.unwrap().parse().unwrap();
        let outcome = match &store {
            Ok(store) => match runtime.block_on(store.visit(&queue(), joining(number))) {
                Ok(_) => "answered".to_owned(),
                Err(error) => error.to_string(),
            },
            Err(error) => error.to_string(),
        };
        println!("\nvisit {outcome}");
    }
}

pub(crate) struct Process {
    child: Child,
    asked: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Process {
    /// With these variables; none that names certificates is inherited.
    pub(crate) fn start(url: &str, environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::holds_a_store", "--ignored", "--nocapture"])
            .env_remove("SSL_CERT_FILE")
            .env_remove("SSL_CERT_DIR")
            .env(ADDRESS, url)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (asked, said) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, asked, said }
    }

    pub(crate) fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// The outcome of a visit.
    pub(crate) fn visit(&mut self, number: u32) -> String {
        writeln!(self.asked, "{number}").unwrap();
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "the process ended");
            if let Some(outcome) = line.strip_prefix("visit ") {
                return outcome.trim_end().to_owned();
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
