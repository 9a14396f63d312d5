use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::process::Process;
use crate::{Nginx, free_port, wait_until};

/// How long an interpreter may take to start a server.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A site on a real server, which reads paths in its own way. It answers `SITE-CHECKOUT` below `/checkout`, `SITE-STATIC` below
/// `/static` and `SITE-HOME` everywhere else.
pub struct Site {
    port: u16,
    _server: Server,
}

enum Server {
    Interpreted { _process: Process, _folder: TempDir },
    Nginx { _nginx: Nginx },
}

impl Site {
    /// An Express application. Express is one of the modules of the browser tests.
    pub async fn express() -> Self {
        let site = harness("express_site.mjs");
        Self::interpreted(Command::new("node").arg(site)).await
    }

    /// A Flask application on WSGI. Flask comes with the tools in `.tools`.
    pub async fn flask() -> Self {
        let python = harness("../../.tools/python/bin/python");
        Self::interpreted(Command::new(python).arg(harness("flask_site.py"))).await
    }

    /// nginx with a location for each part of the site.
    pub async fn nginx() -> Self {
        let page = |location: &str, name: &str| format!("location {location} {{ return 200 \"{name} $uri\"; }}");
        let locations =
            [page("/checkout", "SITE-CHECKOUT"), page("/static", "SITE-STATIC"), page("/", "SITE-HOME")].join(" ");
        let nginx = Nginx::start(&format!("server {{ listen 127.0.0.1:{{port}}; {locations} }}")).await;
        Self { port: nginx.port(), _server: Server::Nginx { _nginx: nginx } }
    }

    /// `127.0.0.1:<port>`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    async fn interpreted(command: &mut Command) -> Self {
        let port = free_port();
        let folder = tempfile::Builder::new().prefix("vestibule-site-").tempdir().unwrap();
        let log = folder.path().join("log");
        let mut process = Process::start(command.arg(port.to_string()), &log, folder.path());
        wait_until("the site listens", TIMEOUT, async || {
            let said = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(process.ended().is_none(), "the site ended; is all of scripts/setup installed?\n{}", said());
            TcpStream::connect(("127.0.0.1", port)).await.is_ok()
        })
        .await;
        Self { port, _server: Server::Interpreted { _process: process, _folder: folder } }
    }
}

fn harness(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("harness").join(file)
}
