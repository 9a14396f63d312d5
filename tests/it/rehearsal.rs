//! `vestibule rehearse` and `vestibule plan`: crowds against the real program and its function, and against gates that
//! cheat, each of which its own verdict finds out.

mod cheats;
mod drills;
mod fake_gate;
mod input;
mod line;
mod plans;
#[cfg(target_os = "linux")]
mod through_function;

use std::time::Duration;

use vestibule_rehearsal::report::{Report, Scene};
use vestibule_rehearsal::verdict::Outcome;
use vestibule_rehearsal::{
    Arrivals, Crowd, Ended, Fault, Habits, Observer, Played, Rehearsal, Shopping, Target, account_of,
};

/// Longest that a rehearsal of a test may last.
const LIMIT: Duration = Duration::from_mins(15);

/// So many people who come within a second, wait, shop for so long and leave.
fn steadfast(visitors: u32, shopping: Shopping) -> Crowd {
    Crowd { visitors, arrivals: Arrivals::Steady(1.0), habits: Habits::steadfast(shopping), seed: 7 }
}

/// People with all the habits there are, in a hurry.
fn mixed(visitors: u32) -> Crowd {
    let habits = Habits {
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
        ..Habits::default()
    };
    Crowd { visitors, arrivals: Arrivals::Steady(3.0), habits, seed: 11 }
}

/// Plays a crowd against a gate at this address and host, and reports.
async fn rehearse(crowd: Crowd, address: &str, host: &str, queue: &str, quota: u64, faults: Vec<Fault>) -> Report {
    let planned = faults.len();
    let rehearsal = Rehearsal {
        crowd: crowd.clone(),
        target: Target::new(&format!("http://{address}/"), Some(host), Some(queue), false).unwrap(),
        connections: 64,
        limit: LIMIT,
        most_requests: 1_000_000,
        faults,
        observer: Observer::default(),
    };
    let played = rehearsal.play(std::future::pending(), |_| {}).await.unwrap();
    assert_eq!(played.struck.len(), planned, "every fault was brought about: {:?}", played.struck);
    report_of(&crowd, &played, quota)
}

fn report_of(crowd: &Crowd, played: &Played, quota: u64) -> Report {
    let over = played.ended == Ended::Over;
    let account = account_of(&played.stories, &played.tally, Some(quota), played.lasted, over, &played.observed);
    let scene = Scene::of("rehearse", "a test".to_owned(), crowd, Some(quota), played.lasted, played.ended.says());
    Report::new(scene, &account, &played.stories, &played.tally, &[])
}

fn value(report: &Report, figure: &str) -> f64 {
    let value = report.verdict(figure).and_then(|verdict| verdict.value);
    value.unwrap_or_else(|| panic!("nothing is known of {figure}:\n{}", report.to_text()))
}

/// The figures that are beyond what a gate promises.
fn failed(report: &Report) -> Vec<&'static str> {
    let failed = report.verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Failed);
    failed.map(|verdict| verdict.name).collect()
}

/// Never above the quota, nobody overtaken, no place lost, everybody in.
fn assert_held(report: &Report) {
    assert_held_but(report, &[]);
    assert!(report.holds());
}

/// The same, whatever the report says of the figures that are excused.
fn assert_held_but(report: &Report, excused: &[&str]) {
    let failed: Vec<_> = failed(report).into_iter().filter(|name| !excused.contains(name)).collect();
    assert_eq!(failed, [""; 0], "\n{}\n{:?}", report.to_text(), report.failures);
    for figure in ["overshoot", "tau", "overtaking_seconds", "places_lost", "never_in"] {
        assert!(value(report, figure).abs() < f64::EPSILON, "{figure}\n{}", report.to_text());
    }
}
