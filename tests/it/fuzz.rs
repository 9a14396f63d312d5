//! The program under requests that nobody sends on purpose: malformed targets, headers, framing, cookies, tickets and
//! bodies, at the gate and at the backoffice.
//!
//! `VESTIBULE_FUZZ_REQUESTS` says how many, `VESTIBULE_FUZZ_SEED` which. A failure names the seed of its request.

mod requests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use vestibule_tests::{Origin, Program, Visitor, free_port};

use self::requests::{Target, any_request};

/// Requests unless `VESTIBULE_FUZZ_REQUESTS` says otherwise.
const REQUESTS: u64 = 4_000;
/// Requests at once.
const AT_ONCE: usize = 24;
/// How long an answer may take. A request that is not complete gets none: its sender hangs up then.
const TIMEOUT: Duration = Duration::from_millis(400);

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().expect("a number"))
}

/// What came back: the statuses of all answers on the connection.
async fn statuses(address: &str, request: &[u8]) -> Vec<u16> {
    let mut socket = TcpStream::connect(address).await.expect("it accepts connections");
    let mut answer = Vec::new();
    // The other end may hang up while it is written to.
    let _ = timeout(TIMEOUT, socket.write_all(request)).await;
    let _ = timeout(TIMEOUT, socket.read_to_end(&mut answer)).await;
    let text = String::from_utf8_lossy(&answer);
    let lines = text.split("HTTP/1.").skip(1);
    lines.filter_map(|line| line.get(2..5)?.parse().ok()).collect()
}

/// Sends `count` requests of these seeds, many at once. Those that were answered with an error of the server's own.
async fn send(address: &str, target: Target, first: u64, count: u64) -> (u64, Vec<String>) {
    let (answered, mut failed) = (Arc::new(AtomicU64::new(0)), Vec::new());
    let (mut running, mut seeds) = (JoinSet::new(), first..first + count);
    loop {
        while running.len() < AT_ONCE
            && let Some(seed) = seeds.next()
        {
            let (address, answered) = (address.to_owned(), Arc::clone(&answered));
            running.spawn(async move {
                let request = any_request(target, &mut SmallRng::seed_from_u64(seed));
                let statuses = statuses(&address, &request).await;
                answered.fetch_add(u64::from(!statuses.is_empty()), Ordering::Relaxed);
                let text = String::from_utf8_lossy(&request);
                // 501 is the answer to a transfer coding that is not passed on, and to nothing else.
                let has_coding = text.to_ascii_lowercase().contains("transfer-encoding:");
                let is_failure = |status: &u16| *status >= 500 && !(*status == 501 && has_coding);
                statuses.iter().any(is_failure).then(|| format!("seed {seed}: {statuses:?} to {text}"))
            });
        }
        match running.join_next().await {
            Some(failure) => failed.extend(failure.expect("a request is sent")),
            None => return (answered.load(Ordering::Relaxed), failed),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_requests_never_crash_or_bypass() {
    let origin = Origin::start();
    let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let queue = |id: &str, rules: &str| {
        format!(
            "[[queues]]\nid = \"{id}\"\ntenant = \"acme\"\nhosts = [\"{id}.test\"]\nquota = 0\nrules = [{rules}]\n\
             handover = {{ kind = \"proxy\", origin = \"{}\" }}\n",
            origin.url()
        )
    };
    let queues = [queue("all", ""), queue("static", "{ action = \"bypass\", path = \"/static/**\" }")];
    let settings = format!("[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n{}", queues.concat());
    let arguments = ["serve", "--listen", &gate, "--admin-listen", &admin, "--state", "state", "--store", "memory"];
    let mut program = Program::vestibule(&[&arguments[..], &["--settings", "vestibule.toml"]].concat())
        .file("vestibule.toml", &settings)
        .env("VESTIBULE_ADMIN_BOOTSTRAP", "root:correct horse battery")
        .start();
    program.until_healthy(&gate).await;

    let (seed, count) = (variable("VESTIBULE_FUZZ_SEED", 1), variable("VESTIBULE_FUZZ_REQUESTS", REQUESTS));
    for (address, target, share) in [(&gate, Target::Gate, count * 3 / 4), (&admin, Target::Backoffice, count / 4)] {
        let (answered, failed) = send(address, target, seed * 1_000_000_007, share).await;
        assert!(failed.is_empty(), "{} failed, {:#?}\n{}", failed.len(), &failed[..failed.len().min(5)], program.log());
        assert!(answered > share / 2, "only {answered} of {share} were answered");
    }
    assert!(!program.log().contains("panicked"), "{}", program.log());
    let alive = Visitor::new(&gate, "all.test").navigate("/").await;
    assert!(alive.text().contains("data-state=\"waiting\""), "{}", alive.text());
    for request in origin.requests() {
        let path = request.uri.path().to_lowercase();
        let is_static = path.trim_start_matches('/').starts_with("static");
        assert!(is_static && request.headers["x-forwarded-host"] == "static.test", "{request:?} reached the site");
    }
    program.kill();
}
