//! Hostile clients beside visitors: what they take of a real gate, and what of a simulated one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use vestibule_core::SystemClock;
use vestibule_core::line::LineRules;
use vestibule_core::settings::Settings;
use vestibule_store_memory::MemoryStore;
use vestibule_tests::{GateOptions, GateUnderTest, Origin, Redis};
use vestibule_workload::checks::Figures;
use vestibule_workload::simulation::simulate;
use vestibule_workload::visitor::VisitorTrace;
use vestibule_workload::{
    Arrivals, Behavior, Hostile, LoadTest, MeasuredRun, Observation, Observer, RunResult, Shopping, Target,
    VisitorKind, Workload, add_hostile_figures, summarize,
};

use super::program::{RunningGate, run};
use crate::gate_fixture::document_of;

const HOST: &str = "tour.example.com";

/// This many visitors who come evenly, shop for that long and leave, and hostile clients.
fn workload(visitors: u32, seconds: f64, shopping: Shopping, hostile: &[&str]) -> Workload {
    let hostile: Vec<Hostile> = hostile.iter().map(|text| text.parse().unwrap()).collect();
    let behavior = Behavior::patient(shopping);
    Workload { visitors, arrivals: Arrivals::Steady(seconds), behavior, seed: 5, repeat: None, hostile }
}

/// Runs a workload against a gate behind a trusted proxy.
async fn attack(workload: Workload, settings: &Value, seconds: u64) -> RunResult {
    let (_origin, gate) = protected_gate(settings).await;
    rehearse(workload, &gate, seconds).await
}

/// A site with a gate behind a trusted proxy.
async fn protected_gate(settings: &Value) -> (Origin, GateUnderTest) {
    let (origin, store) = (Origin::start(), Arc::new(MemoryStore::new(SystemClock::new())));
    let document = document_of("tour", HOST, &origin.url(), settings);
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let gate = GateUnderTest::start_with(store, &document, options).await;
    (origin, gate)
}

async fn rehearse(workload: Workload, gate: &GateUnderTest, seconds: u64) -> RunResult {
    let test = LoadTest {
        workload,
        target: Target::new(&format!("http://{}/", gate.address()), Some(HOST), Some("tour"), false).unwrap(),
        connections: 64,
        max_duration: Duration::from_secs(seconds),
        max_requests: 1_000_000,
        faults: Vec::new(),
        observer: Observer::default(),
    };
    test.run(std::future::pending(), |_| {}).await.unwrap()
}

/// The figures of a run in which a first visit counts for this many seconds.
fn figures(result: &RunResult, quota: u64, max_age: u64) -> Figures {
    let RunResult { traces, request_stats, duration, observed, .. } = result;
    let mut figures = summarize(traces, request_stats, Some(quota), *duration, false, observed).figures;
    add_hostile_figures(&mut figures, &MeasuredRun { traces, duration: *duration, observed }, None, max_age);
    figures
}

fn value(figures: &Figures, name: &str) -> f64 {
    figures.value(name).unwrap_or_else(|| panic!("{name} was not measured"))
}

fn of_kind(traces: &[VisitorTrace], kind: VisitorKind) -> impl Iterator<Item = &VisitorTrace> {
    traces.iter().filter(move |trace| trace.kind == kind)
}

/// All kinds of hostile clients at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_clients_break_no_promise() {
    let hostile = [
        "replay:clients=300,addresses=300,networks=100",
        "forge:rate=20,addresses=20",
        "hoard:pre_tickets=60,redeem=9,addresses=60",
        "leaver:sessions=20,away=2,addresses=20",
        "cookieless:rate=40,addresses=40",
    ];
    let settings = json!({ "quota": 12, "protection": { "pre_ticket_from": 0, "pre_ticket_max_age": 5 } });
    let result = attack(workload(60, 10.0, Shopping::Fixed(0.2), &hostile), &settings, 20).await;
    let RunResult { traces, request_stats, .. } = &result;
    let mut sessions: Vec<u64> = of_kind(traces, VisitorKind::Replayer).map(|trace| trace.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    sessions.retain(|session| *session != 0);
    assert_eq!(sessions.len(), 1, "one pre-ticket is one session");
    let forgers: Vec<&VisitorTrace> = of_kind(traces, VisitorKind::Forger).collect();
    assert!(!forgers.is_empty() && forgers.iter().all(|trace| trace.requests > 0));
    assert!(forgers.iter().all(|trace| trace.bot_slots.is_empty()), "a forged token joins nobody");
    assert!(of_kind(traces, VisitorKind::Bot).all(|trace| trace.bot_slots.is_empty()), "they never come back");
    assert!(of_kind(traces, VisitorKind::Leaver).any(|trace| trace.was_absent && trace.session != 0));
    assert_eq!(request_stats.failures.values().sum::<u64>(), 0, "{:?}", request_stats.failures);
    let figures = figures(&result, 12, 5);
    let promises = ["over_admission", "tau", "positions_lost", "evicted", "server_errors", "inversions_beyond_max_age"];
    for promise in promises {
        assert!(value(&figures, promise).abs() < f64::EPSILON, "{promise}: {}", value(&figures, promise));
    }
}

/// A farm with few addresses, by a gate and by a simulation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn farm_takes_what_a_plan_predicts() {
    let farm = ["farm:sessions=120,addresses=10,networks=2"];
    for protection in [json!({ "mode": "off" }), json!({ "mode": "enforce", "on_exceed": "reject", "per_address": 3 })]
    {
        let workload = workload(80, 8.0, Shopping::Exponential(1.0), &farm);
        let settings = json!({ "quota": 12, "protection": protection });
        let result = attack(workload.clone(), &settings, 14).await;
        let shown = figures(&result, 12, 30);

        let document = document_of("tour", HOST, "http://127.0.0.1", &settings);
        let rules: LineRules = Settings::from_value(&document["queues"][0]).unwrap().line;
        let simulated = simulate(workload, &rules, None, 14);
        let (traces, duration) = (&simulated.traces, simulated.duration);
        let mut predicted = Figures::default();
        let observed = Observation::default();
        add_hostile_figures(&mut predicted, &MeasuredRun { traces, duration, observed: &observed }, None, 30);
        for name in ["bot_share_of_admissions", "bot_share_of_slot_time"] {
            let (shown, predicted) = (value(&shown, name), value(&predicted, name));
            println!("{settings}: {name}: {shown:.3} shown, {predicted:.3} predicted");
            assert!((shown - predicted).abs() < 0.1, "{settings}: {name}: {shown:.3} shown, {predicted:.3} predicted");
        }
        if settings["protection"]["mode"] == "enforce" {
            // The first twenty joins are not limited.
            assert!(value(&shown, "bot_sessions") <= 30.0 + 20.0, "{}", value(&shown, "bot_sessions"));
            assert!(value(&shown, "visitors_rejected").abs() < f64::EPSILON);
        }
    }
}

/// The program before a flood of this many requests per second without cookies, beside visitors who find free slots, over this many
/// seconds. What visitors lose and what the store does for the flood are compared with the same visitors without it.
pub(super) async fn assert_flood_is_harmless(rate: u32, visitors: u32, seconds: u32) {
    let (redis, origin) = (Redis::start().await, Origin::start());
    let (url, site) = (redis.url(), origin.url());
    let gate =
        RunningGate::start(redis, &url, origin, &["--origin", &site, "--quota", "50", "--trusted-proxies", "1"]).await;
    let texts = [
        gate.url(),
        visitors.to_string(),
        format!("steady:{seconds}"),
        format!("cookieless:rate={rate},addresses=200,networks=20"),
        gate.program.id().to_string(),
    ];
    let [address, visitors, arrivals, flood, process] = texts.each_ref().map(String::as_str);
    let arguments = [
        &["rehearse", address, "--visitors", visitors, "--arrivals", arrivals, "--quota", "50"][..],
        &["--shopping", "fixed:3", "--leave", "1", "--close", "0", "--sleep", "0", "--reload", "0"],
        &["--second-tab", "0", "--hostile", flood, "--twin", "--gate-process", process, "--redis", url.as_str()],
        &["--json", "report.json", "--html", "report.html", "--fail-if"],
        // The second visit comes after a second, and takes a request.
        &["visitor_wait_added_p50>1.25,store_commands_per_bot_request>0.05,store_memory_added>0.05,failed_share>0"],
    ];
    let (status, said, program) = run(&arguments.concat()).await;
    println!("{said}");
    assert_eq!(status, 0, "{said}");
    let report: Value = serde_json::from_slice(&std::fs::read(program.folder().join("report.json")).unwrap()).unwrap();
    assert_eq!(report["run"]["hostile"][0], format!("{flood},at=0"));
    let value = |name: &str| {
        let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
        check.and_then(|check| check["value"].as_f64()).unwrap_or_else(|| panic!("{name}: {said}"))
    };
    assert!(value("bot_requests") > f64::from(rate * seconds) / 2.0, "{said}");
    assert!(value("gate_cpu_us_per_bot_request") > 0.0 && value("bot_cpu_seconds_per_slot") > 0.0, "{said}");
    let page = std::fs::read_to_string(program.folder().join("report.html")).unwrap();
    assert!(page.contains("hostile clients") && page.contains("bot_share_of_slot_time"));
}

#[tokio::test]
async fn flood_without_cookies_costs_the_store_nothing() {
    assert_flood_is_harmless(150, 20, 4).await;
}

/// A farm that computes in attack mode: each of its positions takes it the work of difficulty 4.
pub(super) async fn assert_positions_cost_computing_time() {
    let (_origin, gate) = protected_gate(&json!({ "quota": 50 })).await;
    gate.store().set_attack_mode(&"tour".parse().unwrap(), 600).await.unwrap();
    let farm = ["farm:sessions=16,addresses=16,networks=16,cores=2,proof=solve"];
    // The visitor stays until the farm is done.
    let result = rehearse(workload(1, 1.0, Shopping::Fixed(600.0), &farm), &gate, 75).await;
    let figures = figures(&result, 50, 30);
    assert!(value(&figures, "bot_admissions") >= 12.0, "{}", value(&figures, "bot_admissions"));
    let seconds = value(&figures, "bot_cpu_seconds_per_slot");
    println!("{seconds:.2} core-seconds per position");
    // 10,000 derivations in the mean; few cores make one in less than 0.1 ms.
    assert!(seconds >= 1.0, "{seconds}");
}
