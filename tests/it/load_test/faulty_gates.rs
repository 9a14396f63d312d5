//! Each kind of faulty gate fails the check that it violates; a correct gate passes all checks.

use std::time::Duration;

use vestibule_workload::report::Report;
use vestibule_workload::{LoadTest, Observer, Shopping, Target, summarize};

use super::fake_gate::{Cheat, FakeGate};
use super::{assert_passed, failed, patient, rehearse, report_of, value};

const QUOTA: usize = 6;
const VISITORS: u32 = 30;

async fn rehearsal_of(cheat: Cheat) -> Report {
    let gate = FakeGate::start(cheat, QUOTA).await;
    let workload = patient(VISITORS, Shopping::Fixed(0.5));
    rehearse(workload, gate.address(), "shop.example.com", "tour", QUOTA as u64, Vec::new()).await
}

#[tokio::test]
async fn correct_gate_passes_all_checks() {
    let report = rehearsal_of(Cheat::Honest).await;
    assert_passed(&report);
    assert!((value(&report, "visitors") - f64::from(VISITORS)).abs() < f64::EPSILON);
    assert!(value(&report, "peak_active") > 1.0, "{}", report.to_text());
}

#[tokio::test]
async fn over_admission_is_detected() {
    let report = rehearsal_of(Cheat::OverAdmits(3)).await;
    assert_eq!(failed(&report), ["over_admission"]);
    assert!((1.0..=3.0).contains(&value(&report, "over_admission")), "{}", report.to_text());
}

#[tokio::test]
async fn inversions_are_detected() {
    let report = rehearsal_of(Cheat::NewestFirst).await;
    assert_eq!(failed(&report), ["tau", "worst_inversion_seconds"], "{}", report.to_text());
    assert!(value(&report, "tau") > 0.2, "{}", report.to_text());
    assert!(value(&report, "worst_inversion_seconds") > 0.3, "{}", report.to_text());
}

#[tokio::test]
async fn lost_tickets_are_detected() {
    let report = rehearsal_of(Cheat::LosesTickets(25)).await;
    assert!(failed(&report).contains(&"positions_lost"), "{}", report.to_text());
}

#[tokio::test]
async fn lost_positions_are_detected() {
    let report = rehearsal_of(Cheat::SendsBack(25)).await;
    assert!(failed(&report).contains(&"positions_lost"), "{}", report.to_text());
}

#[tokio::test]
async fn evictions_are_detected() {
    let report = rehearsal_of(Cheat::Evicts).await;
    assert!(failed(&report).contains(&"evicted"), "{}", report.to_text());
}

#[tokio::test]
async fn underestimated_waits_are_detected() {
    let gate = FakeGate::start(Cheat::Flatters, QUOTA).await;
    let workload = patient(VISITORS, Shopping::Fixed(0.5));
    let report = rehearse(workload, gate.address(), "shop.example.com", "tour", QUOTA as u64, Vec::new()).await;
    assert_passed(&report);
    assert!(value(&report, "estimate_p90_coverage") < 0.8, "{}", report.to_text());
    assert!(value(&report, "estimate_bias") > 1.0, "{}", report.to_text());
}

#[tokio::test]
async fn starved_visitors_are_detected() {
    let gate = FakeGate::start(Cheat::Starves(10), QUOTA).await;
    let workload = patient(VISITORS, Shopping::Fixed(0.2));
    let test = LoadTest {
        workload: workload.clone(),
        target: Target::new(&format!("http://{}/", gate.address()), None, None, false).unwrap(),
        connections: 8,
        max_duration: Duration::from_secs(20),
        max_requests: 100_000,
        faults: Vec::new(),
        observer: Observer::default(),
    };
    let result = test.run(std::future::pending(), |_| {}).await.unwrap();
    let report = report_of(&workload, &result, QUOTA as u64);
    assert!(failed(&report).contains(&"tau"), "others went past them: {}", report.to_text());
    let summary = summarize(&result.traces, &result.request_stats, None, result.duration, true, &result.observed);
    assert_eq!(summary.figures.value("never_admitted"), Some(f64::from(VISITORS) / 10.0));
}
