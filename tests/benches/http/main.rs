//! The whole gate over HTTP, against a bare axum hello that answers as many bytes: requests a second, and the CPU that
//! the server and Redis spend on each, from /proc and INFO.
//!
//! The server runs in a process of its own, this program started again, so that its CPU is counted apart from that of
//! the clients. It has half of the processors for itself, gate and hello the same, and clients and Redis have the others, as
//! if they were other machines; in the rows of "shared" all have all. Prints a table; asserts nothing.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

mod clients;
mod forgers;
mod served;
mod server;
mod streams;

use vestibule_tests::Redis;

use clients::Visitors;
use server::{Processors, Server};

/// The program's allocator, for gate and hello alike.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Visitors at once, each on a connection that sends one request after the other.
const AT_ONCE: usize = 64;
/// Others that a waiting poll is measured for beside that.
const FEWER_AND_MORE: [usize; 3] = [16, 32, 256];
/// Visitors in line while requests are measured.
const WAITING: usize = 10_000;
/// Lines that a waiting poll is measured in beside that one.
const SHORT_AND_LONG: [usize; 2] = [1_000, 1_000_000];
/// For each row, gate and hello are asked in turns, so that a moment in which the machine is slow is not one of them alone.
/// The row says the medians.
const ROUNDS: usize = 7;

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, command, kind, waiting, port] = &arguments[..]
        && command == "serve"
    {
        return served::serve(kind, waiting.parse().unwrap(), port.parse().unwrap()).await;
    }
    // Some tables alone: `cargo bench -p vestibule-tests --bench http -- sales`, or `-- protection`.
    let only = |name: &str| arguments.iter().any(|argument| argument == name);
    let all = Processors::shared();
    let halves = all.halved();
    halves.take_those_of_the_others();
    println!(
        "| store | waiting | request | at once | bytes | requests/s | of hello's | gate CPU, us | to hello's | \
         Redis CPU, us | Redis commands |"
    );
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for kind in ["memory", "redis"] {
        rows(kind, WAITING, &PROTECTION, AT_ONCE, &halves).await;
    }
    for kind in ["memory", "redis"] {
        forgers::rows(kind, &halves).await;
    }
    if only("protection") {
        return;
    }
    for kind in ["memory", "redis"] {
        rows(kind, WAITING, &SALES, AT_ONCE, &halves).await;
    }
    for kind in ["memory", "redis"] {
        streams::rows(kind, &halves).await;
    }
    if only("sales") {
        return;
    }
    for kind in ["memory", "redis", "redis, apart"] {
        rows(kind, WAITING, &KINDS, AT_ONCE, &halves).await;
        for waiting in SHORT_AND_LONG {
            rows(kind, waiting, &KINDS[..1], AT_ONCE, &halves).await;
        }
        let at_once = if kind == "redis, apart" { &[][..] } else { &FEWER_AND_MORE };
        for at_once in at_once {
            rows(kind, WAITING, &KINDS[..1], *at_once, &halves).await;
        }
    }
    all.take_those_of_the_others();
    for kind in ["memory, shared", "redis, shared"] {
        for at_once in [AT_ONCE].into_iter().chain(FEWER_AND_MORE) {
            rows(kind, WAITING, &KINDS[..1], at_once, &all).await;
        }
    }
}

/// A kind of request: its name, the queue's host, the path, and whether the ticket is kept.
type Kind = (&'static str, &'static str, &'static str, bool);
/// The suffix of requests that have a connection of their own.
const APART: &str = ", a connection each";
/// What on-sales add, and a waiting poll with and without a kept connection.
const SALES: [Kind; 4] = [
    ("waiting poll", "q0-0", "/_vestibule/status?queue=q0-0", true),
    ("waiting poll, a connection each", "q0-0", "/_vestibule/status?queue=q0-0", true),
    ("lobby poll", "lobby", "/_vestibule/status?queue=lobby", true),
    ("line document", "q0-0", "/_vestibule/line?queue=q0-0", false),
];
/// What clients without cookies get while pre-tickets are required, and a waiting poll.
const PROTECTION: [Kind; 3] = [
    ("waiting poll", "q0-0", "/_vestibule/status?queue=q0-0", true),
    ("pre-ticket page", "scarce", "/", false),
    ("pre-ticket status", "scarce", "/_vestibule/status?queue=scarce", false),
];
const KINDS: [Kind; 4] = [
    ("waiting poll", "q0-0", "/_vestibule/status?queue=q0-0", true),
    ("admitted check", "q1000000-0", "/_vestibule/check", true),
    ("admitted check within recheck_after", "q1000000-60", "/_vestibule/check", true),
    ("first visit, whole page", "q0-0", "/", false),
];

/// The store that a server of this kind gets.
fn address(kind: &str, redis: &Redis) -> String {
    match kind {
        "memory" | "memory, shared" => "memory".to_owned(),
        "redis, apart" => format!("apart:{}", redis.url()),
        _ => redis.url(),
    }
}

/// Measures these requests of this many visitors at once in a line of this length, each in turns with hello.
async fn rows(kind: &str, waiting: usize, requests: &[Kind], at_once: usize, processors: &Processors) {
    let redis = Redis::start().await;
    let address = address(kind, &redis);
    let mut server = Some(Server::start(&address, waiting, processors).await);
    let browser = "Accept: text/html\r\nAccept-Language: en-GB,en;q=0.9\r\nSec-Fetch-Mode: navigate\r\n";
    for (name, host, path, keeps_cookie) in requests {
        let first = format!("GET / HTTP/1.1\r\nHost: {host}.test\r\n{browser}");
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}.test\r\n{browser}");
        let asked = server.take().unwrap();
        let (mut gate, bytes) =
            Visitors::new(asked, keeps_cookie.then_some(&*first), &request, *keeps_cookie, at_once).await;
        let mut hello = gate.of_hello(&request, bytes, processors).await;
        if name.ends_with(APART) {
            (gate, hello) = (gate.apart(), hello.apart());
        }
        let [mut speeds, mut shares, mut costs, mut ratios, mut redis_costs, mut commands] = [const { Vec::new() }; 6];
        for _ in 0..ROUNDS {
            let (before, calls) = (redis.cpu().await, redis.calls("fcall").await);
            let round = gate.ask().await;
            redis_costs.push((redis.cpu().await - before) * 1e6 / round.requests as f64);
            commands.push((redis.calls("fcall").await - calls) as f64 / round.requests as f64);
            let bare = hello.ask().await;
            speeds.push(round.requests_a_second);
            shares.push(round.requests_a_second / bare.requests_a_second);
            costs.push(round.cpu_us);
            ratios.push(round.cpu_us / bare.cpu_us);
        }
        println!(
            "| {kind} | {waiting} | {name} | {at_once} | {bytes} | {:.0} | {:.2} | {:.1} | {:.2} | {} | {} |",
            median(speeds),
            median(shares),
            median(costs),
            median(ratios),
            if address == "memory" { "-".to_owned() } else { format!("{:.1}", median(redis_costs)) },
            if address == "memory" { "-".to_owned() } else { format!("{:.4}", median(commands)) },
        );
        server = Some(gate.server);
    }
}
