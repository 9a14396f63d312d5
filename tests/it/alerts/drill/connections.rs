//! Alerts about connections.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use vestibule_tests::{Program, free_port};

use super::{TOKEN, Watch, during};

/// As many connections as a gate has at least.
const CONNECTIONS: usize = 16;
/// All requests go to the site, which does not answer.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: crowded.example.com\r\n\r\n";

/// A gate in front of a site that accepts connections and never answers.
pub(super) struct Crowded {
    gate: String,
    pub(super) admin: String,
    _program: Program,
    _site: TcpListener,
}

impl Crowded {
    pub(super) async fn start() -> Self {
        let site = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let settings = format!(
            "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n\
             [[queues]]\nid = \"crowded\"\ntenant = \"acme\"\nhosts = [\"crowded.example.com\"]\nmode = \"bypass\"\nquota = 1\n\
             handover = {{ kind = \"proxy\", origin = \"http://{}\" }}\n",
            site.local_addr().unwrap()
        );
        let connections = CONNECTIONS.to_string();
        let arguments = ["serve", "--settings", "vestibule.toml", "--listen", &gate, "--admin-listen", &admin];
        let more = ["--metrics-token", TOKEN, "--state", "state", "--connections", &connections];
        let program = Program::vestibule(&[&arguments[..], &more].concat()).file("vestibule.toml", &settings);
        let mut program = program.start();
        program.until_healthy(&gate).await;
        Self { gate, admin, _program: program, _site: site }
    }

    async fn connect(&self) -> TcpStream {
        let mut connection = TcpStream::connect(&self.gate).await.unwrap();
        connection.write_all(REQUEST).await.ok();
        connection
    }
}

/// All connections wait for the site, and more clients connect; then they leave.
pub(super) async fn connections_are_refused(watch: &Watch, crowded: &Crowded) {
    let clients = async {
        let mut open = Vec::new();
        loop {
            let connection = crowded.connect().await;
            // Some make room for others before their request has arrived.
            if open.len() < 2 * CONNECTIONS {
                open.push(connection);
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    during(clients, watch.fires("VestibuleConnectionsRefused", &crowded.admin)).await;
    watch.resolves("VestibuleConnectionsRefused", &crowded.admin).await;
}
