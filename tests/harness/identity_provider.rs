use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use http::Request;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::Value;
use tempfile::TempDir;

use crate::process::Process;
use crate::{Visitor, free_port, wait_until};

/// How long the provider may take to be ready: it is a Python program.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Seconds for which a proof of the provider holds.
const PROOF_HOLDS: u64 = 60;

/// The authority of its certificate, in its folder.
const AUTHORITY: &str = "authority.pem";

/// An OpenID provider at which everybody who is known to it signs in with a click.
pub struct IdentityProvider {
    port: u16,
    tls_port: u16,
    process: Option<Process>,
    folder: TempDir,
}

impl IdentityProvider {
    /// Starts one that knows people by these claims, `sub` among them.
    pub async fn start(people: &[Value]) -> Self {
        let (port, tls_port) = (free_port(), free_port());
        let folder = tempfile::Builder::new().prefix("vestibule-provider-").tempdir().unwrap();
        let (certificate, key) = certify(folder.path());
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new(tests.join("../.tools/python/bin/python"));
        command.arg(tests.join("harness/identity_provider.py"));
        command.args([port.to_string(), tls_port.to_string()]).args([certificate, key]);
        command.arg(PROOF_HOLDS.to_string()).args(people.iter().map(Value::to_string));
        let log = folder.path().join("log");
        let mut process = Process::start(&mut command, &log, folder.path());
        let mut client = Visitor::new(&format!("127.0.0.1:{port}"), &format!("127.0.0.1:{port}"));
        wait_until("the identity provider listens", TIMEOUT, async || {
            let said = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(process.ended().is_none(), "the identity provider ended:\n{}", said());
            client.try_get("/.well-known/openid-configuration").await.is_ok()
        })
        .await;
        Self { port, tls_port, process: Some(process), folder }
    }

    /// What it is configured by.
    pub fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it is configured by where it is reached by TLS. Its certificate is of an authority that nobody knows.
    pub fn tls_issuer(&self) -> String {
        format!("https://127.0.0.1:{}", self.tls_port)
    }

    /// A PEM file with that authority.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join(AUTHORITY)
    }

    /// Seconds for which its proofs hold.
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
        // A browser knows the authority; this one goes in by the other door.
        let path = address.strip_prefix(&self.issuer()).or_else(|| address.strip_prefix(&self.tls_issuer()));
        let path = path.expect("an address of the provider");
        let request = Request::post(path).header("content-type", "application/x-www-form-urlencoded");
        let answer = Visitor::new(&host, &host).request(request, body.to_owned()).await;
        assert_eq!(answer.status, 302, "{}", answer.text());
        answer.header("location").unwrap().to_owned()
    }
}

/// Makes a certificate for loopback, of an authority made for it. Returns the files of the certificate and of its key.
fn certify(folder: &Path) -> (PathBuf, PathBuf) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let file = |name: &str, content: String| {
        std::fs::write(folder.join(name), content).unwrap();
        folder.join(name)
    };
    file(AUTHORITY, authority.pem());
    (file("certificate.pem", certificate.pem()), file("key.pem", key.serialize_pem()))
}
