//! The process that is asked: this program, started again, on processors of its own or shared.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::net::TcpStream;
use vestibule_tests::free_port;

/// Clock ticks a second in /proc, on every Linux there is.
const TICKS: f64 = 100.0;

/// Which processors the server works on, and which its clients and Redis, by their numbers.
pub(crate) struct Processors {
    server: Vec<u32>,
    others: Vec<u32>,
}

impl Processors {
    /// All that this program may use, for all of them. In /proc they stand as `0-3,6`.
    pub(crate) fn shared() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
        let range = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            from.parse().unwrap()..=to.parse().unwrap()
        };
        let all: Vec<u32> = list.split(',').flat_map(range).collect();
        Self { server: all.clone(), others: all }
    }

    /// Half of them for the server, the rest for the others. A single one stays shared.
    pub(crate) fn halved(&self) -> Self {
        let (first, second) = self.server.split_at(self.server.len() / 2);
        let server = if first.is_empty() { second } else { first };
        Self { server: server.to_vec(), others: second.to_vec() }
    }

    /// From now on, this program and what it starts keep to those of the others.
    pub(crate) fn take_those_of_the_others(&self) {
        let (others, own) = (list(&self.others), std::process::id().to_string());
        let taskset = Command::new("taskset").args(["-a", "-p", "-c", &others, &own]).stdout(Stdio::null()).status();
        assert!(taskset.unwrap().success(), "taskset keeps programs to some processors");
    }
}

fn list(processors: &[u32]) -> String {
    processors.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) async fn start(kind: &str, waiting: usize, processors: &Processors) -> Self {
        let port = free_port();
        let program = std::env::current_exe().unwrap();
        let child = Command::new("taskset")
            .args(["-c", &list(&processors.server)])
            .arg(program)
            .args(["serve", kind, &waiting.to_string(), &port.to_string()])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port };
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0
    }

    /// Seconds of CPU so far.
    pub(crate) fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / TICKS
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
