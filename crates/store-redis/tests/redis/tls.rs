//! Redis with TLS, a password without user name, and a private certificate authority.

use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tempfile::TempDir;
use vestibule_core::PutMode;
use vestibule_core::store::{OperationsStore as _, SettingsStore as _};
use vestibule_store_redis::{RedisOptions, RedisStore};

use super::frozen_process::until;
use super::process::Process;
use super::server::{Server, free_port};
use super::tools::{queue, settings};

const TOKEN: &str = "a-token/with+odd=characters";
const TOKEN_IN_URL: &str = "a-token%2Fwith%2Bodd%3Dcharacters";

/// A server with a certificate for 127.0.0.1, which wants the token and holds a queue.
struct Guarded {
    server: Server,
    port: u16,
    files: TempDir,
}

impl Guarded {
    async fn start(options: &[&str]) -> Self {
        let files = TempDir::new().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let file = |name: &str, content: String| {
            let path = files.path().join(name);
            std::fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let authority = file("authority.pem", authority.pem());
        let (certificate, key) = (file("certificate.pem", certificate.pem()), file("key.pem", key.serialize_pem()));
        let port = free_port();
        let port_text = port.to_string();
        let tls = [
            ["--tls-port", &port_text],
            ["--tls-cert-file", &certificate],
            ["--tls-key-file", &key],
            ["--tls-ca-cert-file", &authority],
            ["--tls-auth-clients", "no"],
        ];
        let server = Server::start_with(free_port(), &[&tls.concat(), options].concat()).await;
        Self { server, port, files }
    }

    /// Writes a queue, and requires the token from now on.
    async fn guard(&self, url: &str) {
        let store = store_at(url);
        store.put_settings(&settings(&json!({ "quota": 0 })), PutMode::Always).await.unwrap();
        assert_eq!(self.server.command(&format!("CONFIG SET requirepass {TOKEN}")), "OK");
        assert!(self.server.command("GET any").starts_with("NOAUTH"));
    }

    fn process_at(&self, url: &str) -> Process {
        let authority = self.files.path().join("authority.pem");
        Process::start(url, &[("SSL_CERT_FILE", authority.to_str().unwrap())])
    }
}

fn store_at(url: &str) -> RedisStore {
    RedisStore::connect(url, RedisOptions { timeout: Duration::from_secs(6), ..RedisOptions::default() }).unwrap()
}

#[tokio::test]
async fn token_without_user_and_authority_from_variable_work() {
    let guarded = Guarded::start(&[]).await;
    guarded.guard(&guarded.server.url()).await;
    let url = format!("rediss://:{TOKEN_IN_URL}@127.0.0.1:{}", guarded.port);
    assert_eq!(guarded.process_at(&url).visit(1), "answered");
    let plain = format!("redis://:{TOKEN_IN_URL}@127.0.0.1:{}", guarded.server.port());
    assert_eq!(store_at(&plain).stats(&queue()).await.unwrap().waiting, 1);

    let said = guarded.process_at(&url.replace("a-token", "another-token")).visit(2);
    assert!(said.contains("store unavailable") && !said.contains("token"), "{said}");
    let said = guarded.process_at(&url.replace("127.0.0.1", "localhost")).visit(3);
    assert!(said.contains("store unavailable"), "a certificate for another name: {said}");
}

#[tokio::test]
async fn unnamed_authority_is_not_trusted() {
    let guarded = Guarded::start(&[]).await;
    guarded.guard(&guarded.server.url()).await;
    let url = format!("rediss://:{TOKEN_IN_URL}@127.0.0.1:{}", guarded.port);
    let said = Process::start(&url, &[]).visit(1);
    assert!(said.contains("store unavailable"), "{said}");
    let empty = guarded.files.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let said = Process::start(&url, &[("SSL_CERT_FILE", empty.to_str().unwrap())]).visit(1);
    assert!(said.contains("SSL_CERT_FILE names no certificate"), "{said}");
}

#[tokio::test]
async fn cluster_accepts_a_token_without_user() {
    let bus = free_port().to_string();
    let cluster = [["--cluster-enabled", "yes"], ["--cluster-port", &bus], ["--cluster-announce-ip", "127.0.0.1"]];
    let guarded = Guarded::start(&[&cluster.concat()[..], &["--tls-cluster", "yes"]].concat()).await;
    assert_eq!(guarded.server.command("CLUSTER ADDSLOTSRANGE 0 16383"), "OK");
    until("the cluster serves", || guarded.server.command("CLUSTER INFO").contains("cluster_state:ok")).await;
    guarded.guard(&guarded.server.url()).await;
    let url = format!("rediss-cluster://:{TOKEN_IN_URL}@127.0.0.1:{}", guarded.port);
    assert_eq!(guarded.process_at(&url).visit(1), "answered");
    let said = guarded.process_at(&url.replace("a-token", "another-token")).visit(2);
    assert!(said.contains("store unavailable"), "{said}");
}
