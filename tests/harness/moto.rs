//! A server of AWS's APIs in a process of its own. What it holds is in its memory.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::process::Process;
use crate::{Visitor, wait_until};

/// How long the server may take to be ready: it is a Python program that reads all of its services first.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Starts the server on this port, in this folder, and waits until it listens.
pub(crate) async fn start(port: u16, folder: &Path) -> Process {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(tests.join("../.tools/python/bin/python3"));
    command.arg(tests.join("harness/aws_server.py"));
    command.args(["-H", "127.0.0.1", "-p", &port.to_string()]).current_dir(folder);
    let log = folder.join("log");
    let mut process = Process::start(&mut command, &log, folder);
    let address = format!("127.0.0.1:{port}");
    wait_until("the server of AWS's APIs listens", TIMEOUT, async || {
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        assert!(process.ended().is_none(), "the server ended:\n{}", said());
        Visitor::new(&address, &address).try_get("/").await.is_ok()
    })
    .await;
    process
}
