use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::process::Process;
use crate::{free_port, wait_until};

/// An nginx with the server blocks of a test.
pub struct Nginx {
    port: u16,
    folder: TempDir,
    _process: Process,
}

impl Nginx {
    /// Starts nginx with `servers` as the content of its `http` block, `{port}` replaced by a free port on which at
    /// least one of them must listen: `server { listen 127.0.0.1:{port}; return 204; }`.
    pub async fn start(servers: &str) -> Self {
        let port = free_port();
        let folder = tempfile::Builder::new().prefix("vestibule-nginx-").tempdir().unwrap();
        let settings = settings(&servers.replace("{port}", &port.to_string()));
        std::fs::write(folder.path().join("nginx.conf"), settings).unwrap();
        let mut command = Command::new(program());
        command.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "error.log"]);
        let mut process = Process::start(&mut command, &folder.path().join("output.log"), folder.path());
        wait_until("nginx listens", Duration::from_secs(10), async || {
            let ended = process.ended();
            assert!(ended.is_none(), "nginx ended with {ended:?}:\n{}", errors(&folder));
            TcpStream::connect(("127.0.0.1", port)).await.is_ok()
        })
        .await;
        Self { port, folder, _process: process }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `127.0.0.1:<port>`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// What nginx wrote to its error log.
    pub fn errors(&self) -> String {
        errors(&self.folder)
    }
}

/// Debian keeps nginx where only root's search path leads.
fn program() -> &'static str {
    if std::path::Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "nginx" }
}

fn settings(servers: &str) -> String {
    format!(
        "daemon off;\n\
         master_process off;\n\
         pid nginx.pid;\n\
         events {{ worker_connections 256; }}\n\
         http {{\n\
         access_log off;\n\
         client_body_temp_path body;\n\
         proxy_temp_path proxy;\n\
         fastcgi_temp_path fastcgi;\n\
         uwsgi_temp_path uwsgi;\n\
         scgi_temp_path scgi;\n\
         {servers}\n\
         }}\n"
    )
}

fn errors(folder: &TempDir) -> String {
    std::fs::read_to_string(folder.path().join("error.log")).unwrap_or_default()
}
