use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use super::Deployment;
use crate::process::Process;
use crate::{Visitor, free_port, wait_until};

/// How long the emulator may take to listen, and to end what it started.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A function under the official Runtime Interface Emulator.
pub struct Emulator {
    folder: TempDir,
    process: Process,
    /// It takes one invocation at a time and dies of two.
    client: Mutex<Visitor>,
}

impl Emulator {
    pub(super) async fn start(deployment: &Deployment) -> Self {
        let folder = tempfile::Builder::new().prefix("vestibule-function-").tempdir().unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = deployment.command(&emulator());
        command
            .args(["--runtime-interface-emulator-address", &address])
            .args(["--runtime-api-address", &format!("127.0.0.1:{}", free_port())])
            .arg(&deployment.program)
            .current_dir(folder.path());
        let process = Process::start(&mut command, &folder.path().join("log"), folder.path());
        let client = Mutex::new(Visitor::new(&address, &address));
        let mut emulator = Self { folder, process, client };
        wait_until("the emulator listens", TIMEOUT, async || {
            let ended = emulator.process.ended();
            assert!(ended.is_none(), "the emulator ended with {ended:?}:\n{}", emulator.log());
            TcpStream::connect(&address).await.is_ok()
        })
        .await;
        emulator
    }

    pub(super) async fn invoke(&self, event: Bytes) -> Result<Bytes, String> {
        let mut client = self.client.lock().await;
        let request = Request::post("/2015-03-31/functions/function/invocations");
        let answer = client.try_request(request, event).await.map_err(|error| format!("{error:?}: {}", self.log()))?;
        // An error that the function reported has status 200, too: the emulator omits the header that distinguishes them.
        let is_error = answer.status != StatusCode::OK || is_error(&answer.body);
        if is_error { Err(String::from_utf8_lossy(&answer.body).into_owned()) } else { Ok(answer.body) }
    }

    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Killed, it would leave the function behind.
        self.process.terminate(TIMEOUT);
    }
}

fn is_error(answer: &[u8]) -> bool {
    let answer: Result<serde_json::Value, _> = serde_json::from_slice(answer);
    answer.is_ok_and(|answer| answer["errorType"].is_string() && answer.get("statusCode").is_none())
}

fn emulator() -> PathBuf {
    let emulator = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools/bin/aws-lambda-rie");
    assert!(emulator.exists(), "the Runtime Interface Emulator is not installed: run scripts/setup");
    emulator
}
