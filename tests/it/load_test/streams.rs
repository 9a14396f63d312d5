//! The program at the start of a sale: a line that is full, streams that are opened again, and a cache in front.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use vestibule_tests::{Nginx, Origin, Redis, TcpProxy, Visitor};
use vestibule_workload::report::Report;
use vestibule_workload::{Arrivals, Behavior, Shopping, Workload};

use super::program::RunningGate;
use super::{assert_passed_except, rehearse, value};

/// Visitors who ask at the same time.
const AT_ONCE: usize = 256;
const HOST: &str = "shop.example.com";
/// The line of the queue `tour` in Redis.
const LINE: &str = "vestibule:{tour}:line";
/// Keys that two gates share.
const KEY: &str = "k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
/// Seconds from the beginning of a run to the restart, when everybody listens.
const RESTART_AT: u64 = 10;

/// A gate with a queue whose line holds this many sessions.
async fn gate_with_limit(max_waiting: usize) -> RunningGate {
    let (redis, origin) = (Redis::start().await, Origin::start());
    let url = redis.url();
    let settings = format!(
        "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n[[queues]]\nid = \"tour\"\ntenant = \"acme\"\nhosts = [\"*\"]\nquota = 0\n\
         max_waiting = {max_waiting}\nprotection.pre_ticket_from = \"none\"\nwaiting_ttl = 600\nclaim_ttl = 600\nhandover = {{ kind = \"proxy\", origin = \"{}\" }}\n",
        origin.url()
    );
    // A busy machine takes its time, and no visitor must see an unavailable store.
    let flags = ["--settings", "vestibule.toml", "--store-timeout-ms", "10000"];
    RunningGate::launched(redis, &url, origin, &flags, |program| program.file("vestibule.toml", &settings)).await
}

async fn waiting(redis: &Redis) -> usize {
    match redis.command(&["ZCARD", LINE]).await {
        vestibule_tests::Value::Integer(length) => usize::try_from(length).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The statuses of these visitors, who all ask at once.
async fn statuses(visitors: Vec<Visitor>) -> Vec<(Visitor, Value)> {
    let asked = stream::iter(visitors).map(|mut visitor| async move {
        let status = visitor.status("tour").await.json();
        (visitor, status)
    });
    asked.buffer_unordered(AT_ONCE).collect().await
}

/// Many join at once, and no more than `max_waiting` are ever in line. After the store is flushed, the tickets restore them.
pub(super) async fn assert_full_line_holds(newcomers: usize, max_waiting: usize) {
    let gate = gate_with_limit(max_waiting).await;
    let visitors = (0..newcomers).map(|_| Visitor::new(&gate.address, HOST)).collect();
    let mut longest = 0;
    let watching = async {
        loop {
            longest = longest.max(waiting(&gate.redis).await);
            sleep(Duration::from_millis(10)).await;
        }
    };
    let statuses_seen = tokio::select! {
        statuses_seen = statuses(visitors) => statuses_seen,
        () = watching => unreachable!("it watches to the end"),
    };
    assert!(longest <= max_waiting, "{longest}");
    assert_eq!(waiting(&gate.redis).await, max_waiting);
    let (inside, refused): (Vec<_>, Vec<_>) =
        statuses_seen.into_iter().partition(|(_, status)| status["state"] == "waiting");
    assert_eq!((inside.len(), refused.len()), (max_waiting, newcomers - max_waiting));
    for (_, status) in &refused {
        assert_eq!(
            (&status["state"], &status["session"], &status["position"]),
            (&json!("full"), &Value::Null, &Value::Null)
        );
        assert!((45..=60).contains(&status["poll_after"].as_u64().unwrap()), "{status}");
    }
    let mut newcomer = Visitor::new(&gate.address, HOST);
    let answer = newcomer.fetch("/api").await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.json()["state"], "full");

    gate.redis.command(&["FLUSHALL"]).await;
    let sessions: Vec<Value> = inside.iter().map(|(_, status)| status["session"].clone()).collect();
    let restored = statuses(inside.into_iter().map(|(visitor, _)| visitor).collect()).await;
    assert!(restored.iter().all(|(_, status)| status["state"] == "waiting" && sessions.contains(&status["session"])));
    assert_eq!(waiting(&gate.redis).await, max_waiting);
    assert_eq!(newcomer.status("tour").await.json()["state"], "full");
}

/// Visitors who listen to streams of one gate, which stops while another one takes over.
pub(super) async fn rolling_restart(visitors: u32, quota: u64) -> Report {
    let redis = Redis::start().await;
    let (url, quota_text) = (redis.url(), quota.to_string());
    let keys = ["--ticket-keys", KEY, "--pass-keys", KEY, "--sale-keys", KEY];
    let (origin, other) = (Origin::start(), Origin::start());
    let site = origin.url();
    let flags = [&["--origin", &site, "--quota", &quota_text][..], &keys].concat();
    let mut old = RunningGate::start((), &url, origin, &flags).await;
    let new = RunningGate::start((), &url, other, &flags).await;
    let port = |gate: &RunningGate<()>| gate.address.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let proxy = TcpProxy::to(port(&old)).await;
    let behavior = Behavior { streams: 1.0, ..Behavior::patient(Shopping::Uniform(2.0, 4.0)) };
    let workload =
        Workload { visitors, arrivals: Arrivals::Steady(5.0), behavior, seed: 3, repeat: None, hostile: Vec::new() };
    let address = format!("127.0.0.1:{}", proxy.port());
    let test = rehearse(workload, &address, HOST, "default", quota, Vec::new());
    let restart = async {
        sleep(Duration::from_secs(RESTART_AT)).await;
        proxy.lead_to(port(&new));
        assert!(old.program.terminate().await.success());
    };
    let (report, ()) = tokio::join!(test, restart);
    report
}

/// An nginx that caches answers of a gate and receives requests for the line document for this many seconds.
pub(super) async fn assert_cache_shields_the_gate(seconds: u64) {
    let gate = gate_with_limit(100).await;
    // Each request that nginx sends has a connection of its own.
    let counted = TcpProxy::to(gate.address.rsplit(':').next().unwrap().parse().unwrap()).await;
    let nginx = Nginx::start(&format!(
        "proxy_cache_path cache keys_zone=lines:1m;\n\
         server {{ listen 127.0.0.1:{{port}}; location / {{\n\
         proxy_pass http://127.0.0.1:{}; proxy_set_header Host $http_host; proxy_cache lines; proxy_cache_lock on;\n\
         proxy_cache_use_stale updating error timeout http_503; proxy_cache_background_update on;\n\
         }} }}",
        counted.port()
    ))
    .await;
    let started = Instant::now();
    let until = started + Duration::from_secs(seconds);
    let readers = stream::iter(0..16).map(|_| async {
        let (mut reader, mut read) = (Visitor::new(&nginx.address(), HOST), 0_u64);
        while Instant::now() < until {
            let answer = reader.fetch("/_vestibule/line?queue=tour").await;
            assert_eq!((answer.status, answer.header("set-cookie")), (StatusCode::OK, None), "{}", nginx.errors());
            read += 1;
        }
        read
    });
    let read: u64 = readers.buffer_unordered(16).collect::<Vec<_>>().await.into_iter().sum();
    let (asked, passed) = (counted.opened(), started.elapsed().as_secs() + 1);
    assert!(asked <= passed && read > 10 * asked, "{asked} requests in {passed} s for {read} readers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_at_once_keep_the_limit_of_the_line() {
    assert_full_line_holds(400, 40).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rolling_restart_loses_nobody_who_listens() {
    let report = rolling_restart(60, 6).await;
    assert_passed_except(&report, &["failed_share"]);
    assert!(value(&report, "stream_reconnect_p99_ms") > 2_000.0, "not all at once: {}", report.to_text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cache_asks_the_gate_for_the_line_document_once_a_second() {
    assert_cache_shields_the_gate(4).await;
}
