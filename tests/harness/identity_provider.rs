use std::path::Path;
use std::process::Command;
use std::time::Duration;

use http::Request;
use serde_json::Value;
use tempfile::TempDir;

use crate::process::Process;
use crate::{Visitor, free_port, wait_until};

/// How long the provider may take to be ready: it is a Python program.
const PATIENCE: Duration = Duration::from_mins(1);
/// Seconds for which a proof of the provider holds.
const PROOF_HOLDS: u64 = 60;

/// An `OpenID` provider at which everybody who is known to it signs in with a click.
pub struct IdentityProvider {
    port: u16,
    process: Option<Process>,
    _folder: TempDir,
}

impl IdentityProvider {
    /// Starts one that knows people by these claims, `sub` among them.
    pub async fn start(people: &[Value]) -> Self {
        let port = free_port();
        let folder = tempfile::Builder::new().prefix("vestibule-provider-").tempdir().unwrap();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools/python/bin/oidc-provider-mock");
        let mut command = Command::new(program);
        command.args(["-p", &port.to_string(), "--require-nonce", "true"]);
        command.args(["--token-max-age", &PROOF_HOLDS.to_string()]);
        for claims in people {
            command.args(["--user-claims", &claims.to_string()]);
        }
        let log = folder.path().join("log");
        let mut process = Process::start(&mut command, &log, folder.path());
        let mut client = Visitor::new(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{port}"));
        wait_until("the identity provider listens", PATIENCE, async || {
            let said = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(process.ended().is_none(), "the identity provider ended:\n{}", said());
            client.try_get("/.well-known/openid-configuration").await.is_ok()
        })
        .await;
        Self { port, process: Some(process), _folder: folder }
    }

    /// What it is configured by.
    #[must_use]
    pub fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Seconds for which its proofs hold.
    #[must_use]
    pub fn proof_holds(&self) -> u64 {
        PROOF_HOLDS
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Signs somebody in on the page at `address`. Returns where the browser is sent to.
    pub async fn sign_in(&self, address: &str, sub: &str) -> String {
        self.post(address, &format!("sub={sub}")).await
    }

    /// Declines on the page at `address`. Returns where the browser is sent to.
    pub async fn decline(&self, address: &str) -> String {
        self.post(address, "action=deny").await
    }

    async fn post(&self, address: &str, body: &str) -> String {
        let host = format!("127.0.0.1:{}", self.port);
        let path = address.strip_prefix(&self.issuer()).expect("an address of the provider");
        let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        let answer = Visitor::new(&host, &host).request(request, body.to_owned()).await;
        assert_eq!(answer.status, 302, "{}", answer.text());
        answer.header("location").unwrap().to_owned()
    }
}
