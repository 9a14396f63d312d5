//! `vestibule rehearse` and `vestibule plan`, against the real program and its function and against faulty gates.

mod attacks;
mod draws;
mod failovers;
mod fake_gate;
mod faulty_gates;
#[cfg(target_os = "linux")]
mod function;
mod hostile;
mod input;
mod plans;
mod program;
mod reports;
mod sales;
mod streams;

use std::time::Duration;

use vestibule_workload::checks::CheckStatus;
use vestibule_workload::report::{Report, RunDescription};
use vestibule_workload::{
    Arrivals, Behavior, EndReason, Fault, LoadTest, MeasuredRun, Observer, RunResult, Shopping, Target, Workload,
    add_hostile_figures, summarize,
};

/// Arguments for visitors who keep their page open, and leave the site when they have finished.
const PATIENT: [&str; 10] = ["--leave", "1", "--close", "0", "--sleep", "0", "--reload", "0", "--second-tab", "0"];
/// Longest that a rehearsal of a test may last.
const LIMIT: Duration = Duration::from_mins(15);

/// This many visitors who come within a second, wait, shop for that long and leave.
fn patient(visitors: u32, shopping: Shopping) -> Workload {
    Workload {
        visitors,
        arrivals: Arrivals::Steady(1.0),
        behavior: Behavior::patient(shopping),
        seed: 7,
        repeat: None,
        hostile: Vec::new(),
    }
}

/// Visitors with all behaviors, at short intervals.
fn mixed(visitors: u32) -> Workload {
    let behavior = Behavior {
        shopping: Shopping::Uniform(0.5, 2.0),
        leave: 1.0,
        close: 0.1,
        patience: 8.0,
        away: 5.0,
        sleep: 0.1,
        awake: 6.0,
        asleep: 22.0,
        reload: 0.1,
        reload_every: 5.0,
        second_tab: 0.1,
        bots: 0.02,
        bots_every: 3.0,
        flood: 0.03,
        ..Behavior::default()
    };
    Workload { visitors, arrivals: Arrivals::Steady(3.0), behavior, seed: 11, repeat: None, hostile: Vec::new() }
}

/// Runs a workload against a gate at this address and host, and reports.
async fn rehearse(
    workload: Workload,
    address: &str,
    host: &str,
    queue: &str,
    quota: u64,
    faults: Vec<Fault>,
) -> Report {
    let planned_faults = faults.len();
    let test = LoadTest {
        workload: workload.clone(),
        target: Target::new(&format!("http://{address}/"), Some(host), Some(queue), false).unwrap(),
        connections: 64,
        max_duration: LIMIT,
        max_requests: 1_000_000,
        faults,
        observer: Observer::default(),
    };
    let result = test.run(std::future::pending(), |_| {}).await.unwrap();
    assert_eq!(result.faults.len(), planned_faults, "every fault was injected: {:?}", result.faults);
    report_of(&workload, &result, quota)
}

fn report_of(workload: &Workload, result: &RunResult, quota: u64) -> Report {
    let over = result.ended == EndReason::Completed;
    let mut summary =
        summarize(&result.traces, &result.request_stats, Some(quota), result.duration, over, &result.observed);
    let run = MeasuredRun { traces: &result.traces, duration: result.duration, observed: &result.observed };
    add_hostile_figures(&mut summary.figures, &run, None, 30);
    let fixture = RunDescription::new(
        "rehearse",
        "a test".to_owned(),
        workload,
        Some(quota),
        result.duration,
        result.ended.description(),
    );
    Report::new(fixture, &summary, &result.traces, &result.request_stats, &[])
}

fn value(report: &Report, figure: &str) -> f64 {
    let value = report.check(figure).and_then(|check| check.value);
    value.unwrap_or_else(|| panic!("nothing is known of {figure}:\n{}", report.to_text()))
}

/// The checks that failed.
fn failed(report: &Report) -> Vec<&'static str> {
    let failed = report.checks.iter().filter(|check| check.status == CheckStatus::Failed);
    failed.map(|check| check.name).collect()
}

/// No over-admission, no inversion, no position lost, every visitor admitted.
fn assert_passed(report: &Report) {
    assert_passed_except(report, &[]);
    assert!(report.passed());
}

/// The same, except the excused figures.
fn assert_passed_except(report: &Report, excused: &[&str]) {
    let failed: Vec<_> = failed(report).into_iter().filter(|name| !excused.contains(name)).collect();
    assert_eq!(failed, [""; 0], "\n{}\n{:?}", report.to_text(), report.failures);
    for figure in ["over_admission", "tau", "worst_inversion_seconds", "positions_lost", "never_admitted"] {
        assert!(value(report, figure).abs() < f64::EPSILON, "{figure}\n{}", report.to_text());
    }
}
