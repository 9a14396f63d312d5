//! A Redis server of a test's own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// Longest time for a server to start.
const START: Duration = Duration::from_secs(10);
/// The tests of the whole program take the ports below.
const PORTS: Range<u16> = 22_000..32_000;

pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    options: Vec<String>,
    process: Child,
}

fn binary() -> String {
    std::env::var("VESTIBULE_TEST_REDIS_SERVER").unwrap_or_else(|_| "redis-server".to_owned())
}

/// A port below those that systems give to outgoing connections, so that nobody takes it before the server does. Each process
/// begins at a number of its own.
pub(crate) fn free_port() -> u16 {
    static WALKED: AtomicU32 = AtomicU32::new(0);
    loop {
        let walked = WALKED.fetch_add(1, Ordering::Relaxed);
        let offset = std::process::id().wrapping_mul(101).wrapping_add(walked) % u32::from(PORTS.end - PORTS.start);
        let port = PORTS.start + offset as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn spawn(folder: &TempDir, port: u16, options: &[String]) -> Child {
    Command::new(binary())
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--appendonly", "no"])
        .args(options)
        .arg("--dir")
        .arg(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(free_port(), &[]).await
    }

    pub(crate) async fn start_with(port: u16, options: &[&str]) -> Self {
        let (folder, options) = (TempDir::new().unwrap(), options.iter().map(ToString::to_string).collect::<Vec<_>>());
        let server = Self { process: spawn(&folder, port, &options), folder, port, options };
        server.until_it_answers().await;
        server
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) async fn restart_empty(&mut self) {
        self.process = spawn(&self.folder, self.port, &self.options);
        self.until_it_answers().await;
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    async fn until_it_answers(&self) {
        let started = Instant::now();
        while self.try_command("PING").is_none() {
            assert!(started.elapsed() < START, "{} did not start", binary());
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends a command of plain words and returns a status, a number or a text.
    pub(crate) fn command(&self, line: &str) -> String {
        self.try_command(line).unwrap()
    }

    fn try_command(&self, line: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.write_all(format!("{line}\r\n").as_bytes()).ok()?;
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        reader.read_line(&mut head).ok()?;
        let (kind, rest) = head.trim_end().split_at_checked(1)?;
        if kind != "$" {
            return Some(rest.to_owned());
        }
        let mut text = vec![0; rest.parse().ok()?];
        reader.read_exact(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    /// How often each command was called, by clients and by scripts.
    pub(crate) fn calls(&self) -> std::collections::BTreeMap<String, u64> {
        let calls = |line: &str| {
            let (name, values) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), values.split(',').next()?.parse().ok()?))
        };
        self.command("INFO commandstats").lines().filter_map(calls).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
