//! The whole gate over HTTP, against a bare axum hello that answers as many bytes: requests a second, and the CPU that
//! the server and Redis spend on each, from /proc and INFO.
//!
//! The server runs in a process of its own, this program started again, so that its CPU is counted apart from that of
//! the clients. It has half of the processors for itself, gate and hello the same, and clients and Redis have the others, as
//! if they were other machines; in the rows of "shared" all have all. Prints a table; asserts nothing.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use vestibule_core::line::Visit;
use vestibule_core::settings::Settings;
use vestibule_core::{KeyList, MemoryStore, PassSigner, PutMode, SessionId, Store, SystemClock, TicketSigner};
use vestibule_gate::{Gate, GateParts, ProxyLimits};
use vestibule_http::Directory;
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{Redis, free_port};

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
/// Visitors who join at once while the line forms.
const JOINING: usize = 256;
/// For each row, gate and hello are asked in turns, so that a moment in which the machine is slow is not one of them alone.
/// The row says the medians.
const ROUNDS: usize = 7;
/// How long one of them is asked at a time.
const LASTING: Duration = Duration::from_secs(1);
/// Bytes of the head of a bare answer.
const HELLO_HEAD: usize = 130;
/// Clock ticks a second in /proc, on every Linux there is.
const TICKS: f64 = 100.0;

fn settings(quota: u64, recheck_after: u64) -> Settings {
    let document = json!({
        "id": format!("q{quota}-{recheck_after}"), "tenant": "bench", "hosts": [format!("q{quota}-{recheck_after}.test")],
        "quota": quota, "recheck_after": recheck_after, "claim_ttl": 600, "waiting_ttl": 1200, "hold_ttl": 1200,
        "handover": { "kind": "check" },
    });
    Settings::from_value(&document).unwrap()
}

fn keys() -> KeyList {
    KeyList::of_bytes("bench", [7; 32])
}

/// The server's side: a hello of so many bytes, or the gate.
async fn serve(kind: &str, waiting: usize, port: u16) {
    let router = if let Some(bytes) = kind.strip_prefix("hello:") {
        let body = "x".repeat(bytes.parse().unwrap());
        Router::new().fallback(get(move || std::future::ready(body.clone())))
    } else {
        gate(kind, waiting).await
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    axum::serve(listener, router).await.unwrap();
}

async fn gate(address: &str, waiting: usize) -> Router {
    let store: Arc<dyn Store> = match address {
        "memory" => Arc::new(MemoryStore::new(SystemClock::new())),
        url => {
            // "apart" stands in front of the address where every visit is to have a script for itself.
            let together = RedisOptions::default();
            let apart = RedisOptions { visits_together: 1, ..RedisOptions::default() };
            let (url, options) = url.strip_prefix("apart:").map_or((url, together), |url| (url, apart));
            Arc::new(RedisStore::connect(url, options).unwrap())
        }
    };
    let queues = vec![settings(0, 0), settings(1_000_000, 0), settings(1_000_000, 60)];
    for queue in &queues {
        while store.put_settings(queue, PutMode::Always).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let join = |_| store.visit(&queues[0].id, Visit { ticket: None, join: Some(SessionId::random()) });
    let mut joined = stream::iter(0..waiting).map(join).buffer_unordered(JOINING);
    while let Some(answer) = joined.next().await {
        answer.unwrap();
    }
    drop(joined);
    vestibule_gate::router(Gate::new(GateParts {
        directory: Arc::new(Directory::new(store.clone(), Vec::new(), queues)),
        store,
        themes: vestibule_themes::Themes::built_in(),
        tickets: TicketSigner::new(&keys()).unwrap(),
        passes: PassSigner::new(&keys()).unwrap(),
        trusted_proxies: 0,
        proxy: ProxyLimits::default(),
    }))
}

/// Which processors the server works on, and which its clients and Redis, as lists of their numbers.
struct Processors {
    server: String,
    others: String,
}

impl Processors {
    /// The server has the first half of those that this program may use, or `shared`, all have all.
    fn of(allowed: &[u32], shared: bool) -> Self {
        let list = |some: &[u32]| some.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let (first, second) = allowed.split_at(allowed.len() / 2);
        if shared || first.is_empty() {
            return Self { server: list(allowed), others: list(allowed) };
        }
        Self { server: list(first), others: list(second) }
    }

    /// From now on, this program and what it starts keep to those of the others.
    fn leave_the_server_alone(&self) {
        let own = std::process::id().to_string();
        let taskset =
            Command::new("taskset").args(["-a", "-p", "-c", &self.others, &own]).stdout(Stdio::null()).status();
        assert!(taskset.unwrap().success(), "taskset keeps programs to some processors");
    }
}

/// The processors that this program may use: `0-3,6` in /proc.
fn allowed_processors() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim();
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        from.parse().unwrap()..=to.parse().unwrap()
    };
    list.split(',').flat_map(range).collect()
}

struct Server {
    child: Child,
    port: u16,
    processors: Arc<Processors>,
}

impl Server {
    async fn start(kind: &str, waiting: usize, processors: &Arc<Processors>) -> Self {
        let port = free_port();
        let program = std::env::current_exe().unwrap();
        let child = Command::new("taskset")
            .args(["-c", &processors.server])
            .arg(program)
            .args(["serve", kind, &waiting.to_string(), &port.to_string()])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, port, processors: processors.clone() };
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        server
    }

    /// Seconds of CPU so far.
    fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / TICKS
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One visitor on one connection: sends requests, keeps the ticket.
struct Client {
    stream: TcpStream,
    request: String,
    cookie: Option<String>,
    keeps_cookie: bool,
    buffer: Vec<u8>,
    chunk: Vec<u8>,
}

impl Client {
    async fn connect(port: u16, request: &str, keeps_cookie: bool) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            request: request.to_owned(),
            cookie: None,
            keeps_cookie,
            buffer: Vec::new(),
            chunk: vec![0; 32 * 1024],
        }
    }

    /// Returns how many bytes the answer has in all.
    async fn ask(&mut self, request: &str) -> usize {
        let cookie = self.cookie.as_ref().map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
        self.stream.write_all(format!("{request}{cookie}\r\n").as_bytes()).await.unwrap();
        self.buffer.clear();
        loop {
            let read = self.stream.read(&mut self.chunk).await.unwrap();
            assert!(read > 0, "the server closed the connection");
            self.buffer.extend(&self.chunk[..read]);
            let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.buffer[..end]).unwrap().to_owned();
            let length: usize = header(&head, "content-length").unwrap_or("0").parse().unwrap();
            if self.buffer.len() >= end + 4 + length {
                if self.keeps_cookie
                    && let Some(cookie) = header(&head, "set-cookie")
                {
                    self.cookie = cookie.split(';').next().map(str::to_owned);
                }
                return end + 4 + length;
            }
        }
    }

    async fn repeat(mut self, until: Instant) -> (Self, u64) {
        let request = self.request.clone();
        let mut count = 0;
        while Instant::now() < until {
            self.ask(&request).await;
            count += 1;
        }
        (self, count)
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let found = |line: &'a str| line.split_once(": ").filter(|(found, _)| found.eq_ignore_ascii_case(name));
    head.lines().find_map(found).map(|(_, value)| value)
}

/// A server, and the visitors who ask it.
struct Crowd {
    server: Server,
    clients: Vec<Client>,
}

/// What a round found.
struct Round {
    requests: u64,
    requests_a_second: f64,
    cpu_us: f64,
}

impl Crowd {
    /// So many visitors. `first` is sent once by each before, to get a ticket. Returns how many bytes an answer has, too.
    async fn new(
        server: Server,
        first: Option<&str>,
        request: &str,
        keeps_cookie: bool,
        at_once: usize,
    ) -> (Self, usize) {
        let (mut clients, mut bytes) = (Vec::new(), 0);
        for _ in 0..at_once {
            let mut client = Client::connect(server.port, request, keeps_cookie).await;
            if let Some(first) = first {
                client.ask(first).await;
            }
            bytes = client.ask(request).await;
            clients.push(client);
        }
        (Self { server, clients }, bytes)
    }

    async fn ask(&mut self) -> Round {
        let (cpu, started) = (self.server.cpu(), Instant::now());
        let until = started + LASTING;
        let tasks: Vec<_> = self.clients.drain(..).map(|client| tokio::spawn(client.repeat(until))).collect();
        let mut requests = 0;
        for task in tasks {
            let (client, count) = task.await.unwrap();
            requests += count;
            self.clients.push(client);
        }
        let requests_a_second = requests as f64 / started.elapsed().as_secs_f64();
        Round { requests, requests_a_second, cpu_us: (self.server.cpu() - cpu) * 1e6 / requests as f64 }
    }

    /// A bare axum that is sent the same requests and answers as many bytes in all.
    async fn of_hello(&self, request: &str, bytes: usize) -> Self {
        let kind = format!("hello:{}", bytes.saturating_sub(HELLO_HEAD));
        let server = Server::start(&kind, 0, &self.server.processors).await;
        let cookie = self.clients.iter().find_map(|client| client.cookie.as_ref());
        let cookie = cookie.map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
        Self::new(server, None, &format!("{request}{cookie}"), false, self.clients.len()).await.0
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

async fn redis_cpu(redis: &Redis) -> f64 {
    let mut sum = 0.0;
    for field in ["used_cpu_sys", "used_cpu_user"] {
        sum += redis.info("cpu", field).await.unwrap().parse::<f64>().unwrap();
    }
    sum
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, command, kind, waiting, port] = &arguments[..]
        && command == "serve"
    {
        return serve(kind, waiting.parse().unwrap(), port.parse().unwrap()).await;
    }
    println!(
        "| store | waiting | request | at once | bytes | requests/s | of hello's | gate CPU, us | to hello's | Redis CPU, us |"
    );
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let allowed = allowed_processors();
    let halves = Arc::new(Processors::of(&allowed, false));
    halves.leave_the_server_alone();
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
    let shared = Arc::new(Processors::of(&allowed, true));
    shared.leave_the_server_alone();
    for kind in ["memory, shared", "redis, shared"] {
        for at_once in [AT_ONCE].into_iter().chain(FEWER_AND_MORE) {
            rows(kind, WAITING, &KINDS[..1], at_once, &shared).await;
        }
    }
}

/// A kind of request: its name, the queue's host, the path, and whether the ticket is kept.
type Kind = (&'static str, &'static str, &'static str, bool);
const KINDS: [Kind; 4] = [
    ("waiting poll", "q0-0", "/_vestibule/status?queue=q0-0", true),
    ("admitted check", "q1000000-0", "/_vestibule/check", true),
    ("admitted check within recheck_after", "q1000000-60", "/_vestibule/check", true),
    ("first visit, whole page", "q0-0", "/", false),
];

/// Measures these requests of so many visitors at once in a line that is so long, each in turns with hello.
async fn rows(kind: &str, waiting: usize, requests: &[Kind], at_once: usize, processors: &Arc<Processors>) {
    let redis = Redis::start().await;
    let address = match kind {
        "memory" | "memory, shared" => "memory".to_owned(),
        "redis, apart" => format!("apart:{}", redis.url()),
        _ => redis.url(),
    };
    let mut server = Some(Server::start(&address, waiting, processors).await);
    let browser = "Accept: text/html\r\nAccept-Language: en-GB,en;q=0.9\r\nSec-Fetch-Mode: navigate\r\n";
    for (name, host, path, keeps_cookie) in requests {
        let first = format!("GET / HTTP/1.1\r\nHost: {host}.test\r\n{browser}");
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}.test\r\n{browser}");
        let asked = server.take().unwrap();
        let (mut gate, bytes) =
            Crowd::new(asked, keeps_cookie.then_some(&*first), &request, *keeps_cookie, at_once).await;
        let mut hello = gate.of_hello(&request, bytes).await;
        let [mut speeds, mut shares, mut costs, mut ratios, mut redis_costs] = [const { Vec::new() }; 5];
        for _ in 0..ROUNDS {
            let before = redis_cpu(&redis).await;
            let round = gate.ask().await;
            redis_costs.push((redis_cpu(&redis).await - before) * 1e6 / round.requests as f64);
            let bare = hello.ask().await;
            speeds.push(round.requests_a_second);
            shares.push(round.requests_a_second / bare.requests_a_second);
            costs.push(round.cpu_us);
            ratios.push(round.cpu_us / bare.cpu_us);
        }
        println!(
            "| {kind} | {waiting} | {name} | {at_once} | {bytes} | {:.0} | {:.2} | {:.1} | {:.2} | {} |",
            median(speeds),
            median(shares),
            median(costs),
            median(ratios),
            if address == "memory" { "-".to_owned() } else { format!("{:.1}", median(redis_costs)) },
        );
        server = Some(gate.server);
    }
}
