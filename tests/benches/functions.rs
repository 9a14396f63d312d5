//! The functions as they are deployed: how large they are, how long a first request takes, and how long one takes that
//! finds its connection to Redis broken, beside a hello in Node.js that is measured in the same way.
//!
//! Build them first: `cargo build --release -p vestibule-gate -p vestibule-metrics -p vestibule-purge --bins`, and then the
//! backoffice apart, `cargo build --release -p vestibule-admin --bins`, whose libraries have more features. Prints tables,
//! and fails if a zip is larger than it may be.

#![expect(clippy::unwrap_used, reason = "a benchmark that can't be set up has failed")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use vestibule_core::settings::parse_settings_document;
use vestibule_core::{PutMode, Store};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{Deployment, Function, GateOptions, GateUnderTest, Redis, TcpProxy};

/// How often each function is started.
const STARTS: usize = 20;
/// Requests to a function that is warm, after each start.
const WARM: usize = 10;
/// How often a connection is dropped between two requests.
const DROPS: usize = 20;
/// Between two requests: the store takes no connection for dead that is younger than two seconds.
const FROZEN: Duration = Duration::from_millis(2100);
/// The largest zip of each function, in bytes; the backoffice has its dashboard in it.
const LIMITS: [(&str, u64); 5] =
    [("gate", 10_000_000), ("metrics", 5_000_000), ("purge", 4_000_000), ("admin", 10_000_000), ("worker", 10_000_000)];
const TOKEN: &str = "a-token-of-thirty-two-characters";
const HOST: &str = "tickets.example.com";

#[tokio::main]
async fn main() {
    let redis = Redis::start().await;
    settle(&redis).await;
    let functions = functions(&redis);
    let too_large = print_sizes(&functions);
    print_starts(&functions).await;
    print_drops(&redis).await;
    assert!(too_large.is_empty(), "larger than they may be: {too_large:?}");
}

/// A function, and what it is asked.
struct Measured {
    name: &'static str,
    deployment: Deployment,
    event: Value,
    program: PathBuf,
}

async fn settle(redis: &Redis) {
    let store: Arc<dyn Store> = Arc::new(RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap());
    let document = json!({
        "tenants": [{ "id": "acme", "name": "Acme" }],
        "queues": [{ "id": "tour", "tenant": "acme", "hosts": [HOST], "quota": 0, "handover": { "kind": "check" } }],
    });
    let document = parse_settings_document(&document).unwrap();
    store.put_tenant(&document.tenants[0]).await.unwrap();
    store.put_settings(&document.queues[0], PutMode::Always).await.unwrap();
}

fn functions(redis: &Redis) -> Vec<Measured> {
    let over = |name: &'static str| Deployment::of(name).env("VESTIBULE_REDIS_URL", &redis.url());
    let hello = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/node-hello/bootstrap");
    let schedule = json!({ "source": "aws.scheduler", "detail-type": "Scheduled Event", "detail": {} });
    let scrape = request("/metrics", json!({ "authorization": [format!("Bearer {TOKEN}")] }));
    let all = [
        ("gate", gate(&redis.url()), page()),
        ("metrics", over("metrics").env("VESTIBULE_METRICS_TOKEN", TOKEN), scrape),
        ("purge", over("purge"), schedule.clone()),
        ("worker", worker(over("worker")), schedule),
        ("admin", over("admin"), request("/", json!({ "accept": ["text/html"], "host": [HOST] }))),
        ("hello in Node.js", Deployment::of_program("hello", hello.clone()), page()),
    ];
    all.map(|(name, deployment, event)| Measured {
        program: if name.contains("Node") { hello.clone() } else { built(name) },
        name,
        deployment,
        event,
    })
    .into()
}

fn worker(deployment: Deployment) -> Deployment {
    let passes = GateUnderTest::pass_keys().expose();
    deployment.env("VESTIBULE_JOBS_URL", "sqs://bench").env("VESTIBULE_PASS_KEYS", &passes)
}

fn gate(url: &str) -> Deployment {
    GateOptions::default().deployment(url).env("VESTIBULE_STORE_TIMEOUT_MS", "250")
}

fn built(name: &str) -> PathBuf {
    let bench = std::env::current_exe().unwrap();
    bench.parent().and_then(Path::parent).unwrap().join(name)
}

/// A visitor who comes for the first time, and waits.
fn page() -> Value {
    request("/", json!({ "accept": ["text/html"], "sec-fetch-mode": ["navigate"], "host": [HOST] }))
}

fn request(path: &str, mut headers: Value) -> Value {
    headers["x-forwarded-for"] = json!(["203.0.113.9"]);
    headers["x-forwarded-proto"] = json!(["https"]);
    json!({
        "requestContext": { "elb": { "targetGroupArn": "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/t/0" } },
        "httpMethod": "GET", "path": path, "multiValueQueryStringParameters": {}, "multiValueHeaders": headers,
        "body": "", "isBase64Encoded": false,
    })
}

/// Returns the functions whose zip is larger than it may be.
fn print_sizes(functions: &[Measured]) -> Vec<&'static str> {
    println!("\n## Size\n\n| function | program | zip | may be |\n| --- | ---: | ---: | ---: |");
    let folder = tempfile::tempdir().unwrap();
    let mut too_large = Vec::new();
    for (name, limit) in LIMITS {
        let program = &functions.iter().find(|function| function.name == name).unwrap().program;
        let zip = zipped(program, folder.path());
        let size = std::fs::metadata(program).unwrap().len();
        println!("| {name} | {} | {} | {} |", megabytes(size), megabytes(zip), megabytes(limit));
        if zip > limit {
            too_large.push(name);
        }
    }
    too_large
}

fn megabytes(bytes: u64) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}

/// The size of a zip as `sam deploy` makes it, which packs with the same library.
fn zipped(program: &Path, folder: &Path) -> u64 {
    let (bootstrap, zip) = (folder.join("bootstrap"), folder.join("function.zip"));
    std::fs::copy(program, &bootstrap).unwrap();
    let _ = std::fs::remove_file(&zip);
    let packed = Command::new("python3").args(["-m", "zipfile", "-c"]).args([&zip, &bootstrap]).status().unwrap();
    assert!(packed.success());
    std::fs::metadata(zip).unwrap().len()
}

/// What was measured of one function, in milliseconds.
#[derive(Default)]
struct Times {
    init: Vec<f64>,
    first: Vec<f64>,
    warm: Vec<f64>,
}

/// One start of each after the other, so that whatever else the machine does slows all of them down.
async fn print_starts(functions: &[Measured]) {
    let mut times: Vec<Times> = functions.iter().map(|_| Times::default()).collect();
    for _ in 0..STARTS {
        for (function, times) in functions.iter().zip(&mut times) {
            start(function, times).await;
        }
    }
    let node = times.last().map(|times| (median(&times.init), median(&times.first))).unwrap();
    println!("\n## Cold start: {STARTS} starts of each, in milliseconds\n");
    println!(
        "| function | init: median, p90 | of Node.js' | first request: median, p90 | of Node.js' | then: median |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (function, times) in functions.iter().zip(&times) {
        let (init, first) = (median(&times.init), median(&times.first));
        println!(
            "| {} | {init:.1}, {:.1} | {:.2} | {first:.1}, {:.1} | {:.2} | {:.1} |",
            function.name,
            quantile(&times.init, 0.9),
            init / node.0,
            quantile(&times.first, 0.9),
            first / node.1,
            median(&times.warm),
        );
    }
}

async fn start(function: &Measured, times: &mut Times) {
    let running = function.deployment.clone().emulated().await;
    times.first.push(invoked(&running, &function.event).await);
    times.init.push(init_of(&running.log()));
    for _ in 0..WARM {
        times.warm.push(invoked(&running, &function.event).await);
    }
}

/// How long an invocation takes that must not fail.
async fn invoked(function: &Function, event: &Value) -> f64 {
    let begun = Instant::now();
    let answer = function.invoke(event.to_string()).await;
    let taken = begun.elapsed();
    let answer = answer.unwrap_or_else(|error| panic!("{error}\n{}", function.log()));
    let status = serde_json::from_slice::<Value>(&answer).unwrap()["statusCode"].clone();
    assert!(status.is_null() || status == 200, "{}", String::from_utf8_lossy(&answer));
    milliseconds(taken)
}

/// What the emulator says of the time until the function asked for its first invocation.
fn init_of(log: &str) -> f64 {
    let duration = log.split("INIT REPORT(durationMs: ").nth(1).and_then(|rest| rest.split(')').next());
    duration.unwrap_or_else(|| panic!("no init report in {log}")).parse().unwrap()
}

/// What happens to the connection.
type Dropped = fn(&TcpProxy);

/// The gate frozen between two requests, and its connection to Redis dropped meanwhile, or left alone.
async fn print_drops(redis: &Redis) {
    let tcp_proxy = TcpProxy::to(redis.port()).await;
    let function = gate(&format!("redis://127.0.0.1:{}", tcp_proxy.port())).instances(1).await;
    let Some(instance) = function.each().first() else { unreachable!("one was started") };
    instance.freezes_between_invocations();
    invoked(&function, &page()).await;
    let ways: [(&str, Dropped); 4] = [
        ("left alone", |_| ()),
        ("reset", TcpProxy::reset),
        ("closed", TcpProxy::close),
        ("silent, without notice", TcpProxy::silence),
    ];
    println!("\n## Thaw: first request after the connection to Redis was ..., {DROPS} times, in milliseconds\n");
    println!("| connection | median, p90 | connections made |\n| --- | ---: | ---: |");
    for (name, drop_connection) in ways {
        let (mut times, before) = (Vec::new(), tcp_proxy.opened());
        for _ in 0..DROPS {
            drop_connection(&tcp_proxy);
            tokio::time::sleep(FROZEN).await;
            times.push(invoked(&function, &page()).await);
        }
        let made = tcp_proxy.opened() - before;
        println!("| {name} | {:.1}, {:.1} | {made} |", median(&times), quantile(&times, 0.9));
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * part).round() as usize]
}
