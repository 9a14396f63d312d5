//! Plans: their figures agree with those of a rehearsal.

use serde_json::Value;
use vestibule::cost::CAVEAT;
use vestibule_core::line::LineRules;
use vestibule_workload::report::{Report, RunDescription};
use vestibule_workload::simulation::{DURATION_MAX, simulate};
use vestibule_workload::{Arrivals, Behavior, Observation, Shopping, Workload, summarize};

use super::program::{RunningGate, run};
use super::{assert_passed, rehearse, value};

fn result(workload: &Workload, quota: u64) -> Report {
    let result = simulate(workload.clone(), &LineRules::with_quota(quota), None, DURATION_MAX);
    assert!(result.completed);
    let summary =
        summarize(&result.traces, &result.request_stats, Some(quota), result.duration, true, &Observation::default());
    let fixture = RunDescription::new("plan", String::new(), workload, Some(quota), result.duration, "");
    Report::new(fixture, &summary, &result.traces, &result.request_stats, &[])
}

/// How far apart plan and rehearsal may be: a share of the rehearsal's figure.
const BOUNDS: [(&str, f64); 6] = [
    ("wait_p50", 0.15),
    ("wait_p90", 0.15),
    ("wait_longest", 0.15),
    ("requests", 0.15),
    ("requests_per_visitor_minute", 0.15),
    ("peak_active", 0.10),
];

/// Enough visitors that randomness evens out, and who wait for long enough that the two seconds between two polls are less than a
/// tenth of it: by seed, the median of a plan varies by a fiftieth.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plan_agrees_with_a_load_test() {
    let (visitors, quota) = (480, 70);
    let served = RunningGate::with(quota).await;
    let behavior = Behavior { second_tab: 0.1, ..Behavior::patient(Shopping::Uniform(2.0, 6.0)) };
    let workload =
        Workload { visitors, arrivals: Arrivals::Burst(5.0), behavior, seed: 3, repeat: None, hostile: Vec::new() };
    let planned = result(&workload, quota);
    let shown = rehearse(workload, &served.address, "shop.example.com", "default", quota, Vec::new()).await;
    assert_passed(&planned);
    assert_passed(&shown);
    for (figure, bound) in BOUNDS {
        let (one, other) = (value(&planned, figure), value(&shown, figure));
        println!("{figure}: {one} planned, {other} shown");
        assert!((one - other).abs() <= bound * other, "{figure}: {one} planned, {other} shown");
    }
}

#[test]
fn plan_with_all_behaviors_passes_all_checks() {
    let mut behavior = super::mixed(0).behavior;
    (behavior.shopping, behavior.patience, behavior.awake, behavior.asleep) =
        (Shopping::LogNormal(20.0), 60.0, 100.0, 300.0);
    let workload = Workload {
        visitors: 2_000,
        arrivals: Arrivals::Ramp(300.0),
        behavior,
        seed: 5,
        repeat: None,
        hostile: Vec::new(),
    };
    let report = result(&workload, 20);
    assert_passed(&report);
    assert!(value(&report, "utilization") > 0.5, "{}", report.to_text());
    let again = result(&workload, 20);
    assert_eq!(report.to_json(), again.to_json(), "the same seed is the same plan");
}

#[test]
fn sleeping_phones_keep_their_position_in_a_plan() {
    let behavior =
        Behavior { sleep: 1.0, awake: 20.0, asleep: 120.0, ..Behavior::patient(Shopping::Exponential(20.0)) };
    let report = result(
        &Workload {
            visitors: 2_000,
            arrivals: Arrivals::Burst(60.0),
            behavior,
            seed: 5,
            repeat: None,
            hostile: Vec::new(),
        },
        20,
    );
    assert_passed(&report);
    let last = report.run.seconds;
    assert!(last > 1_200.0, "tickets from the beginning are too old by then: {last}");
}

#[test]
fn larger_quota_has_a_shorter_wait() {
    let behavior = Behavior::patient(Shopping::Exponential(60.0));
    let workload = Workload {
        visitors: 3_000,
        arrivals: Arrivals::Burst(60.0),
        behavior,
        seed: 5,
        repeat: None,
        hostile: Vec::new(),
    };
    let wait = |quota| {
        let result = simulate(workload.clone(), &LineRules::with_quota(quota), None, DURATION_MAX);
        let summary = summarize(
            &result.traces,
            &result.request_stats,
            Some(quota),
            result.duration,
            true,
            &Observation::default(),
        );
        summary.figures.value("wait_p90").unwrap()
    };
    let (narrow, wide) = (wait(50), wait(200));
    // Nine of ten of 3000 come out of 50 slots of some 62 seconds each.
    let expected = (0.9 * 3_000.0 / 50.0 - 1.0) * 62.5;
    assert!((narrow / expected - 1.0).abs() < 0.1, "{narrow} and {expected}");
    assert!((narrow / wide - 4.0).abs() < 0.5, "{narrow} and {wide}");
}

#[test]
fn steps_of_a_rate_admit_groups_in_a_plan() {
    let behavior = Behavior { second_tab: 0.0, ..Behavior::patient(Shopping::Uniform(2.0, 6.0)) };
    let workload = Workload {
        visitors: 600,
        arrivals: Arrivals::Burst(5.0),
        behavior,
        seed: 5,
        repeat: None,
        hostile: Vec::new(),
    };
    let groups = |every| {
        let rate =
            LineRules { admissions_per_minute: Some(120), admissions_every: every, ..LineRules::with_quota(600) };
        let result = simulate(workload.clone(), &rate, None, DURATION_MAX);
        assert!(result.completed);
        let summary =
            summarize(&result.traces, &result.request_stats, Some(600), result.duration, true, &Observation::default());
        let run = RunDescription::new("plan", String::new(), &workload, Some(600), result.duration, "");
        let report = Report::new(run, &summary, &result.traces, &result.request_stats, &[]);
        assert_passed(&report);
        value(&report, "peak_active")
    };
    let (even, stepped) = (groups(None), groups(Some(60)));
    assert!((100.0..=130.0).contains(&stepped) && even < 30.0, "120 at once, or two a second: {stepped} and {even}");
}

#[tokio::test]
async fn plan_of_an_event_draws_the_order_of_its_lobby() {
    let workload = [
        "plan",
        "--visitors",
        "300",
        "--arrivals",
        "burst:60",
        "--shopping",
        "fixed:5",
        "--quota",
        "20",
        "--leave",
        "1",
    ];
    let (status, said, _) =
        run(&[&workload[..], &["--lobby", "200", "--order", "draw", "--draw-seconds", "45"]].concat()).await;
    assert!(status == 0 && said.contains("All checks passed"), "{said}");
    let (status, said, _) = run(&[&workload[..], &["--lobby", "301"]].concat()).await;
    assert!(status != 0 && said.contains("--lobby: 301 of 300 visitors"), "{said}");
}

#[tokio::test]
async fn quotas_are_compared() {
    let (status, said, program) = run(&[
        "plan",
        "--visitors",
        "1000",
        "--arrivals",
        "burst:30",
        "--shopping",
        "exponential:30",
        "--quota",
        "50,100,200",
        "--json",
        "plans.json",
        "--html",
        "plans.html",
    ])
    .await;
    assert_eq!(status, 0, "{said}");
    let plans: Value = serde_json::from_slice(&std::fs::read(program.folder().join("plans.json")).unwrap()).unwrap();
    let quotas: Vec<u64> =
        plans["plans"].as_array().unwrap().iter().map(|plan| plan["run"]["quota"].as_u64().unwrap()).collect();
    assert_eq!(quotas, [50, 100, 200]);
    for plan in plans["plans"].as_array().unwrap() {
        let checks = plan["checks"].as_array().unwrap();
        let figure = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
        let value = |name: &str| figure(name)["value"].as_f64().unwrap();
        let rate = value("peak_requests_per_second");
        assert_eq!(value("lambda_concurrency") as u64, (rate / 10.0).ceil() as u64, "{rate} requests a second");
        assert!(figure("cost")["title"].as_str().unwrap().contains("Estimated"), "{}", figure("cost"));
        assert_eq!(plan["cost"]["caveat"], CAVEAT);
    }
    let page = std::fs::read_to_string(program.folder().join("plans.html")).unwrap();
    assert!(page.contains(CAVEAT) && said.contains(CAVEAT), "the caveat stands beside the costs: {said}");
    assert!(page.contains("Wait by arrival") && !page.contains("<script"));
    assert!(said.contains("median wait"), "{said}");
}
