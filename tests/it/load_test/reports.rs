//! Rule 26: the report of a rehearsed event says what the visitors of the rehearsal experienced.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use vestibule_core::{Clock as _, ManualClock, Micros, Store, SystemClock};
use vestibule_records::RecordStore;
use vestibule_records::history::record_samples;
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{AdminUnderTest, GateUnderTest, Origin, Redis, Visitor};
use vestibule_workload::visitor::VisitorTrace;
use vestibule_workload::{Arrivals, Behavior, EndReason, LoadTest, Observer, Shopping, Target, Workload};

use crate::admin::event_reports::{rows_of, rows_of_json, sale};
use crate::gate_fixture::document_of;
use crate::line_fixture::keys_of;

const VISITORS: u32 = 200;
const HOST: &str = "tour.example.com";
/// How long before the start the visitors come.
const EARLY: u64 = 5;

/// Lets the time of a store pass while it exists.
struct Passing(JoinHandle<()>);

impl Passing {
    fn of(clock: Arc<ManualClock>) -> Self {
        Self(tokio::spawn(async move {
            let mut before = Instant::now();
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                let now = Instant::now();
                clock.advance((now - before).as_micros() as u64);
                before = now;
            }
        }))
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Some close the page in the lobby; of the others most leave the site, and some close the tab.
fn workload() -> Workload {
    let shopping = Shopping::Uniform(0.3, 0.8);
    let leaving =
        Behavior { leave: 0.8, close: 0.2, patience: 0.4, beacon: 1.0, come_back: 0.0, ..Behavior::patient(shopping) };
    Workload {
        visitors: VISITORS,
        arrivals: Arrivals::Steady(1.0),
        behavior: leaving,
        seed: 7,
        repeat: None,
        hostile: Vec::new(),
    }
}

fn count(traces: &[VisitorTrace], is: impl Fn(&VisitorTrace) -> bool) -> u64 {
    traces.iter().filter(|trace| is(trace)).count() as u64
}

/// The numbers of the report agree with the traces.
fn assert_matches_traces(report: &Value, traces: &[VisitorTrace]) {
    let admitted = count(traces, |trace| trace.admitted.is_some());
    let left = count(traces, |trace| trace.admitted.is_some() && trace.slot_free_at == trace.active_until);
    // Who gives up sends the beacon, which is no visit.
    let confirmed = count(traces, |trace| trace.requests > 1 + u32::from(trace.gave_up));
    let abandoned = count(traces, |trace| trace.gave_up);
    assert!(abandoned > 10 && left > 50 && admitted - left > 10, "a rehearsal of everything");
    for (metric, expected) in [
        ("joined", u64::from(VISITORS)),
        ("confirmed", confirmed),
        ("admitted", admitted),
        ("abandoned", abandoned),
        ("returned", 0),
        ("expired", admitted - left),
        ("left", left),
        ("ended", 0),
    ] {
        assert_eq!(report[metric], expected, "{metric}: {report}");
    }
    // A visitor knows the times of arrival and admission to the length of a request and of a poll.
    let bounds = traces.iter().filter_map(|trace| {
        let longest = trace.admitted?.since(trace.arrived?);
        let shortest = trace.last_waiting.map_or(0.0, |waiting| waiting.since(trace.joined.unwrap_or(waiting)));
        Some((shortest, longest))
    });
    let bounds: Vec<(f64, f64)> = bounds.collect();
    for wait in report["waits"].as_array().unwrap() {
        let (le, counted) = (wait["le"].as_f64().unwrap_or(f64::INFINITY), wait["count"].as_u64().unwrap());
        let [certain, possible] = [
            bounds.iter().filter(|(_, longest)| *longest <= le).count() as u64,
            bounds.iter().filter(|(shortest, _)| *shortest <= le).count() as u64,
        ];
        assert!((certain..=possible).contains(&counted), "{le}: {counted} of {certain} to {possible}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn report_of_a_rehearsed_event_equals_the_trace() {
    let (redis, origin) = (Redis::start().await, Origin::start());
    // The beginning of a minute.
    let began = Micros(SystemClock::new().now().seconds() / 60 * 60 * 1_000_000);
    let clock = Arc::new(ManualClock::at(began));
    let options =
        RedisOptions { timeout: Duration::from_secs(10), clock: Some(clock.clone()), ..RedisOptions::default() };
    let redis_store = Arc::new(RedisStore::connect(&redis.url(), options).unwrap());
    let (store, records): (Arc<dyn Store>, Arc<dyn RecordStore>) = (redis_store.clone(), redis_store);
    let events = [sale("first", began, [120, 180, 240]), sale("second", began, [3600, 3660, 3720])];
    let settings = json!({
        "mode": "scheduled", "between_events": "closed", "quota": 150, "events": events, "waiting_ttl": 12,
        "active_ttl": 60, "claim_ttl": 12,
    });
    let gate = GateUnderTest::start(store.clone(), &document_of("tour", HOST, &origin.url(), &settings)).await;
    let backoffice = AdminUnderTest::start(store.clone(), records.clone()).await;
    let mut admin = backoffice.root().await;
    let until = |seconds: u64| clock.advance(began.add_seconds(seconds).since(clock.now()));
    let queue = "tour".parse().unwrap();

    until(110);
    record_samples(&*store, &*records).await.unwrap();
    until(180 - EARLY);
    let passing = Passing::of(clock.clone());
    let test = LoadTest {
        workload: workload(),
        target: Target::new(&format!("http://{}/", gate.address()), Some(HOST), Some("tour"), false).unwrap(),
        connections: 64,
        max_duration: super::LIMIT,
        max_requests: 1_000_000,
        faults: Vec::new(),
        observer: Observer::default(),
    };
    let result = test.run(std::future::pending(), |_| {}).await.unwrap();
    drop(passing);
    assert_eq!(result.ended, EndReason::Completed);
    for seconds in [240, 900] {
        until(seconds);
        store.purge(&queue, 500).await.unwrap();
        record_samples(&*store, &*records).await.unwrap();
    }
    let path = "/queues/tour/events/first/report";
    let report = admin.get(path).await.json();
    assert_eq!(report["complete"], true);
    assert_matches_traces(&report, &result.traces);
    let csv = admin.get(&format!("{path}?format=csv")).await;
    assert_eq!(rows_of(csv.text()), rows_of_json(&report));

    until(3590);
    record_samples(&*store, &*records).await.unwrap();
    until(3600);
    let mut visitor = Visitor::new(gate.address(), HOST);
    visitor.navigate("/").await;
    let lost = keys_of(&queue);
    redis.command(&[&["DEL"], lost.each_ref().map(String::as_str).as_slice()].concat()).await;
    visitor.navigate("/").await;
    assert_eq!(admin.get(path).await.json(), report, "an event that is over stays as it was");
    let second = admin.get("/queues/tour/events/second/report").await.json();
    assert_eq!((&second["complete"], &second["returned"]), (&json!(false), &json!(1)), "{second}");
}
