//! Clients that hold connections and do nothing with them.

use std::time::Duration;

use http::StatusCode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use vestibule_tests::{Program, Visitor, free_port};

use super::{HOST, RunningGate};

/// File descriptors that the program has.
const DESCRIPTORS: u32 = 256;
/// Longest time that a visitor may wait for an answer meanwhile.
const LONGEST: Duration = Duration::from_secs(5);
const VISITORS: usize = 20;
const POLLS: usize = 30;

/// What a hostile client does with its connection.
#[derive(Clone, Copy)]
enum Hostile {
    Silent,
    /// Sends a byte of a request's head a second.
    Dripping,
    /// Asks for much, and reads none of it.
    NeverReading,
    /// Asks once, and keeps the connection.
    Idle,
}

impl Hostile {
    async fn act(self, address: String) {
        let Ok(mut stream) = TcpStream::connect(&address).await else { return };
        let request = format!("GET /_vestibule/queue.js HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
        match self {
            Self::Silent => {}
            Self::Dripping => {
                for byte in request.bytes() {
                    if stream.write_all(&[byte]).await.is_err() {
                        return;
                    }
                    sleep(Duration::from_secs(1)).await;
                }
            }
            Self::NeverReading => drop(stream.write_all(request.repeat(20_000).as_bytes()).await),
            Self::Idle => {
                let _ = stream.write_all(request.as_bytes()).await;
                let _ = stream.read(&mut [0; 1024]).await;
            }
        }
        std::future::pending::<()>().await;
    }
}

/// Lets the test itself open as many connections as it needs.
fn raise_own_limit() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
}

/// Polls as queue.js does, and once more where a connection that lay idle was closed. The longest wait for an answer.
async fn polls(mut visitor: Visitor) -> Duration {
    let mut longest = Duration::ZERO;
    for _ in 0..POLLS {
        let began = Instant::now();
        let answer = match visitor.try_get("/_vestibule/status").await {
            Ok(answer) => answer,
            Err(_) => visitor.try_get("/_vestibule/status").await.expect("an answer at the second try"),
        };
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        longest = longest.max(began.elapsed());
        sleep(Duration::from_millis(200)).await;
    }
    longest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_connections_do_not_delay_visitors() {
    raise_own_limit();
    let served = RunningGate::launched("quota = 1", &[], |launch| launch.descriptors(DESCRIPTORS)).await;
    let mut visitors = JoinSet::new();
    for _ in 0..VISITORS {
        let mut visitor = served.visitor();
        visitor.navigate("/").await;
        visitors.spawn(polls(visitor));
    }
    let mut hostile = JoinSet::new();
    for (kind, count) in
        [(Hostile::Silent, 300), (Hostile::Dripping, 300), (Hostile::NeverReading, 50), (Hostile::Idle, 1000)]
    {
        for _ in 0..count {
            hostile.spawn(kind.act(served.address.clone()));
        }
        sleep(Duration::from_secs(1)).await;
    }
    while let Some(longest) = visitors.join_next().await {
        let longest = longest.unwrap();
        assert!(longest < LONGEST, "somebody waited for {longest:?}");
    }
    let log = served.program.log();
    assert!(log.contains("too many connections") && !log.contains("Too many open files"), "{log}");
    assert_eq!(served.visitor().navigate("/").await.status, StatusCode::OK, "a newcomer is served too");
}

#[tokio::test]
async fn missing_request_body_closes_the_connection() {
    let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let arguments = ["serve", "--origin", "http://127.0.0.1:1", "--state", "state", "--listen", &gate];
    let mut program = Program::vestibule(&[&arguments[..], &["--admin-listen", &admin]].concat()).start();
    program.until_healthy(&gate).await;
    let mut stream = TcpStream::connect(&admin).await.unwrap();
    let head = format!(
        "POST /api/v1/sign-in HTTP/1.1\r\nHost: {admin}\r\nContent-Type: application/json\r\nX-Vestibule-Request: 1\r\n\
         Content-Length: 100\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let ended = timeout(Duration::from_secs(20), stream.read_to_string(&mut answer)).await;
    assert!(ended.is_ok(), "the connection is still open");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}
