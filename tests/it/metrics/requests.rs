//! What the stand-alone program says of itself, on its admin address.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{Request, StatusCode};
use vestibule_core::SystemClock;
use vestibule_metrics::{LATENCY_BUCKETS, Metrics, RequestMetrics, router};
use vestibule_runtime::{Decision, Outcome};
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_tests::{Exposition, Origin, Program, Visitor, free_port, promtool_check};

use super::{TOKEN, ask, scrape};

fn decided(outcome: Outcome, store_time: Option<Duration>) -> Response {
    let mut response = StatusCode::OK.into_response();
    response.extensions_mut().insert(Decision { store_time, ..Decision::without_queue(outcome) });
    response
}

fn requests(found: &Exposition, outcome: &str) -> i64 {
    let found = found.value("vestibule_requests_total", &[("outcome", outcome)]);
    found.unwrap_or_else(|| panic!("{outcome} is missing")) as i64
}

#[tokio::test]
async fn requests_are_counted_by_outcome_and_duration() {
    let metrics = RequestMetrics::new();
    let mut gate = Router::new().route("/unhandled", get(|| async { StatusCode::NO_CONTENT }));
    for outcome in Outcome::ALL {
        let asked = (outcome != Outcome::Rechecked).then_some(Duration::from_millis(3));
        gate = gate.route(&format!("/{}", outcome.as_str()), get(move || async move { decided(outcome, asked) }));
    }
    let gate = metrics.around(gate);
    for (times, outcome) in (1..).zip(Outcome::ALL) {
        for _ in 0..times {
            ask(&gate, Request::get(format!("/{}", outcome.as_str()))).await;
        }
    }
    ask(&gate, Request::get("/unhandled")).await;

    let store = Arc::new(MemoryStore::new(SystemClock::new()));
    let records = Arc::new(MemoryRecords::new(SystemClock::new()));
    let metrics = Metrics::new(store, records).with_requests(metrics);
    let found = scrape(&router(metrics, TOKEN.parse().unwrap())).await;
    let mut asked = 0.0;
    for (times, outcome) in (1..).zip(Outcome::ALL) {
        let (times, labels) = (f64::from(times), [("outcome", outcome.as_str())]);
        assert_eq!(Some(requests(&found, outcome.as_str()) as f64), Some(times));
        assert_eq!(found.value("vestibule_request_duration_seconds_count", &labels), Some(times));
        let longest = LATENCY_BUCKETS[LATENCY_BUCKETS.len() - 1].to_string();
        let bucket = [("outcome", outcome.as_str()), ("le", &longest)];
        assert_eq!(found.value("vestibule_request_duration_seconds_bucket", &bucket), Some(times));
        asked += if outcome == Outcome::Rechecked { 0.0 } else { times };
    }
    assert_eq!(requests(&found, "unhandled"), 1);
    assert_eq!(found.value("vestibule_request_store_seconds_count", &[]), Some(asked));
    assert!((found.value("vestibule_request_store_seconds_sum", &[]).unwrap() - asked * 0.003).abs() < 1e-9);
    assert_eq!(found.value("vestibule_request_store_seconds_bucket", &[("le", "0.0025")]), Some(0.0));
    assert_eq!(found.value("vestibule_request_store_seconds_bucket", &[("le", "0.005")]), Some(asked));
}

/// The program before an origin, with one slot, and where it is scraped.
pub(super) struct Scraped {
    pub(super) gate: String,
    pub(super) admin: String,
    program: Program,
    _origin: Origin,
}

impl Scraped {
    pub(super) async fn start(more: &[&str]) -> Self {
        let origin = Origin::start();
        let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let url = origin.url();
        let mut arguments = vec!["serve", "--listen", &gate, "--origin", &url, "--quota", "1", "--state", "state"];
        arguments.extend(["--admin-listen", &admin, "--metrics-token", TOKEN]);
        arguments.extend(more);
        let mut program = Program::vestibule(&arguments).start();
        program.until_healthy(&gate).await;
        Self { program, gate, admin, _origin: origin }
    }

    async fn scrape(&self) -> Exposition {
        Exposition::of(self.text().await.as_str())
    }

    async fn text(&self) -> String {
        let answer = self.scraper().with_header("authorization", &format!("Bearer {TOKEN}")).fetch("/metrics").await;
        assert_eq!(answer.status, StatusCode::OK, "{}", self.program.log());
        answer.text().to_owned()
    }

    fn scraper(&self) -> Visitor {
        Visitor::new(&self.admin, &self.admin)
    }

    pub(super) fn visitor(&self) -> Visitor {
        Visitor::new(&self.gate, "anything.example")
    }
}

#[tokio::test]
async fn the_program_reports_its_own_requests_and_the_store() {
    let watched = Scraped::start(&[]).await;
    let before = watched.scrape().await;
    let (mut first, mut second) = (watched.visitor(), watched.visitor());
    for _ in 0..3 {
        first.navigate("/").await;
    }
    second.navigate("/").await;
    second.status("default").await;
    watched.visitor().fetch("/_vestibule/jwks.json").await;
    watched.visitor().status("nonsense").await;
    let foreign = Request::get("/_vestibule/status?queue=default").header("origin", "https://evil.example");
    watched.visitor().request(foreign, "").await;

    let found = watched.scrape().await;
    let since = |outcome: &str| requests(&found, outcome) - requests(&before, outcome);
    assert_eq!((since("admitted"), since("rechecked"), since("pre_ticket"), since("waiting")), (2, 1, 1, 1));
    assert_eq!((since("endpoint"), since("not_found"), since("refused"), since("unhandled")), (1, 1, 1, 0));
    let store = |found: &Exposition| found.value("vestibule_request_store_seconds_count", &[]).unwrap() as i64;
    // The gate may have known that a pre-ticket is required, and the ticket passed without the store after its first return.
    let calls = store(&found) - store(&before);
    assert!((3..=4).contains(&calls), "{calls}");

    let of = [("tenant", "default"), ("queue", "default")];
    assert_eq!(found.value("vestibule_queue_active", &of), Some(1.0));
    assert_eq!(found.value("vestibule_queue_waiting", &of), Some(1.0));
    assert_eq!(found.value("vestibule_up", &[]), Some(1.0));
    assert!(found.value("vestibule_purge_timestamp_seconds", &[]).is_some(), "its own purge has run");
    assert_eq!(promtool_check(&watched.text().await), "");
}

#[tokio::test]
async fn the_gate_serves_no_metrics() {
    let watched = Scraped::start(&[]).await;
    let answer = watched.visitor().navigate("/metrics").await;
    assert!(answer.text().contains("origin /metrics"), "it is a path of the site like any other");
}

#[tokio::test]
async fn metrics_need_a_token_on_every_address() {
    let watched = Scraped::start(&[]).await;
    let mut scraper = watched.scraper();
    assert_eq!(scraper.fetch("/metrics").await.status, StatusCode::UNAUTHORIZED);
    let mut scraper = scraper.with_header("authorization", &format!("Bearer {TOKEN}"));
    assert_eq!(scraper.fetch("/metrics").await.status, StatusCode::OK);
    assert!(!watched.program.log().contains(TOKEN));

    let (gate, admin) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let arguments =
        ["serve", "--origin", "http://127.0.0.1:1", "--state", "state", "--listen", &gate, "--admin-listen"];
    let mut program = Program::vestibule(&[&arguments[..], &[&admin]].concat()).start();
    program.until_logged("--metrics-token turns metrics on").await;
    assert_eq!(Visitor::new(&admin, &admin).fetch("/metrics").await.status, StatusCode::NOT_FOUND);
    program.kill();

    for (more, words) in [
        (vec!["127.0.0.1:0", "--metrics-token", "short-secret"], "--metrics-token must be 16 to 1024 printable"),
        (vec!["nowhere"], "127.0.0.1:8080"),
    ] {
        let mut program = Program::vestibule(&[&arguments[..], &more].concat()).start();
        assert!(!program.end().await.success());
        assert!(program.log().contains(words) && !program.log().contains("short-secret"), "{}", program.log());
    }
}
