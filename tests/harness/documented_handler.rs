use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::process::Process;
use crate::{free_port, wait_until};

/// How long an interpreter may take to start a server.
const TIMEOUT: Duration = Duration::from_mins(1);

/// What the handler in Node does with a job: the first call fails, and later ones write a line.
const NODE: &str = "
import { appendFileSync } from 'node:fs';
let calls = 0;
async function updateCustomer(id, customer, signal) {
  if (++calls === 1 || signal.aborted) throw new Error('not now');
  appendFileSync('processed', `${id} ${customer.email ?? customer.type}\\n`);
}
";

/// The same in Python.
const PYTHON: &str = "
calls = []
def update_customer(id, customer):
    calls.append(id)
    if len(calls) == 1:
        raise RuntimeError('not now')
    with open('processed', 'a') as file:
        file.write(f\"{id} {customer.get('email') or customer['type']}\\n\")
";

/// The same in PHP, which runs the file for each request.
const PHP: &str = "<?php
function update_customer(string $id, array $customer): void {
    if (!file_exists('called')) {
        touch('called');
        throw new Exception('not now');
    }
    file_put_contents('processed', $id . ' ' . ($customer['email'] ?? $customer['type']) . \"\\n\", FILE_APPEND);
}
";

/// The same in Go.
const GO: &str = "package main

import (
	\"context\"
	\"encoding/json\"
	\"errors\"
	\"fmt\"
	\"os\"
)

var calls = 0

func updateCustomer(timedOut context.Context, id string, payload []byte) error {
	calls++
	if calls == 1 || timedOut.Err() != nil {
		return errors.New(\"not now\")
	}
	var customer struct{ Email, Type string }
	if err := json.Unmarshal(payload, &customer); err != nil {
		return err
	}
	file, err := os.OpenFile(\"processed\", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintf(file, \"%s %s%s\\n\", id, customer.Email, customer.Type)
	return err
}
";

/// A handler of docs/jobs.md in a process of its own, exactly as it is printed there.
pub struct DocumentedHandler {
    port: u16,
    folder: TempDir,
    _process: Process,
}

impl DocumentedHandler {
    /// The handler in Node. Its package is one of the modules of the browser tests.
    pub async fn node(secret: &str) -> Self {
        let folder = folder();
        std::os::unix::fs::symlink(workspace("tests/browser/node_modules"), folder.path().join("node_modules"))
            .unwrap();
        std::fs::write(folder.path().join("handler.mjs"), format!("{}{NODE}", printed("js"))).unwrap();
        Self::start(Command::new("node").arg("handler.mjs"), folder, secret).await
    }

    /// The handler in Python. Its package comes with the tools in `.tools`.
    pub async fn python(secret: &str) -> Self {
        let folder = folder();
        std::fs::write(folder.path().join("handler.py"), format!("{PYTHON}{}", printed("python"))).unwrap();
        let python = workspace(".tools/python/bin/python");
        Self::start(Command::new(python).arg("handler.py"), folder, secret).await
    }

    /// The handler in PHP, with the web server of PHP.
    pub async fn php(secret: &str) -> Self {
        let folder = folder();
        let handler = printed("php");
        let (_, rest) = handler.split_once("<?php\n").expect("the handler is PHP");
        std::fs::write(folder.path().join("handler.php"), format!("{PHP}{rest}")).unwrap();
        let serve = "exec php -S \"127.0.0.1:$PORT\" handler.php";
        Self::start(Command::new("sh").args(["-c", serve]), folder, secret).await
    }

    /// The handler in Go.
    pub async fn go(secret: &str) -> Self {
        let folder = folder();
        std::fs::write(folder.path().join("customer.go"), GO).unwrap();
        std::fs::write(folder.path().join("handler.go"), printed("go")).unwrap();
        let build = "go build -o handler handler.go customer.go && exec ./handler";
        Self::start(Command::new("sh").args(["-c", build]), folder, secret).await
    }

    async fn start(command: &mut Command, folder: TempDir, secret: &str) -> Self {
        let port = free_port();
        let log = folder.path().join("log");
        command.current_dir(folder.path()).env("PORT", port.to_string()).env("VESTIBULE_WEBHOOK_SECRET", secret);
        let mut process = Process::start(command, &log, folder.path());
        wait_until("the handler listens", TIMEOUT, async || {
            let said = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(process.ended().is_none(), "the handler ended; is all of scripts/setup installed?\n{}", said());
            TcpStream::connect(("127.0.0.1", port)).await.is_ok()
        })
        .await;
        Self { port, folder, _process: process }
    }

    /// The port that it listens on.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The jobs that it has processed: `<job ID> <email>`, of webhook events `<job ID> <type>`.
    pub fn processed(&self) -> Vec<String> {
        let lines = std::fs::read_to_string(self.folder.path().join("processed")).unwrap_or_default();
        lines.lines().map(str::to_owned).collect()
    }
}

/// The program of docs/jobs.md in this language.
fn printed(language: &str) -> String {
    let page = std::fs::read_to_string(workspace("docs/jobs.md")).unwrap();
    let (_, rest) = page.split_once(&format!("```{language}\n")).expect("docs/jobs.md has a handler");
    rest.split_once("```").expect("a block has an end").0.to_owned()
}

fn folder() -> TempDir {
    tempfile::Builder::new().prefix("vestibule-handler-").tempdir().unwrap()
}

fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}
