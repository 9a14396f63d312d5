//! Gates that cheat are found out, each by its verdict, and one that does not is blamed for nothing.

use std::time::Duration;

use vestibule_rehearsal::report::Report;
use vestibule_rehearsal::{Observer, Rehearsal, Shopping, Target, account_of};

use super::fake_gate::{Cheat, FakeGate};
use super::{assert_held, failed, rehearse, report_of, steadfast, value};

const QUOTA: usize = 6;
const VISITORS: u32 = 30;

async fn rehearsal_of(cheat: Cheat) -> Report {
    let gate = FakeGate::start(cheat, QUOTA).await;
    let crowd = steadfast(VISITORS, Shopping::Fixed(0.5));
    rehearse(crowd, gate.address(), "shop.example.com", "tour", QUOTA as u64, Vec::new()).await
}

#[tokio::test]
async fn an_honest_gate_is_blamed_for_nothing() {
    let report = rehearsal_of(Cheat::Honest).await;
    assert_held(&report);
    assert!((value(&report, "visitors") - f64::from(VISITORS)).abs() < f64::EPSILON);
    assert!(value(&report, "most_inside") > 1.0, "{}", report.to_text());
}

#[tokio::test]
async fn a_gate_that_lets_in_too_many_is_found_out_though_it_says_otherwise() {
    let report = rehearsal_of(Cheat::OverAdmits(3)).await;
    assert_eq!(failed(&report), ["overshoot"]);
    assert!((1.0..=3.0).contains(&value(&report, "overshoot")), "{}", report.to_text());
}

#[tokio::test]
async fn a_gate_that_lets_in_the_latest_first_is_found_out() {
    let report = rehearsal_of(Cheat::NewestFirst).await;
    assert_eq!(failed(&report), ["tau", "overtaking_seconds"], "{}", report.to_text());
    assert!(value(&report, "tau") > 0.2, "{}", report.to_text());
    assert!(value(&report, "overtaking_seconds") > 0.3, "{}", report.to_text());
}

#[tokio::test]
async fn a_gate_that_loses_tickets_is_found_out() {
    let report = rehearsal_of(Cheat::LosesTickets(25)).await;
    assert!(failed(&report).contains(&"places_lost"), "{}", report.to_text());
}

#[tokio::test]
async fn a_gate_that_sends_people_back_is_found_out() {
    let report = rehearsal_of(Cheat::SendsBack(25)).await;
    assert!(failed(&report).contains(&"places_lost"), "{}", report.to_text());
}

#[tokio::test]
async fn a_gate_that_throws_shoppers_out_is_found_out() {
    let report = rehearsal_of(Cheat::Evicts).await;
    assert!(failed(&report).contains(&"evicted"), "{}", report.to_text());
}

#[tokio::test]
async fn a_gate_that_flatters_is_held_against_its_promise() {
    let gate = FakeGate::start(Cheat::Flatters, QUOTA).await;
    let crowd = steadfast(VISITORS, Shopping::Fixed(0.5));
    let report = rehearse(crowd, gate.address(), "shop.example.com", "tour", QUOTA as u64, Vec::new()).await;
    assert_held(&report);
    assert!(value(&report, "promise_kept") < 0.8, "{}", report.to_text());
    assert!(value(&report, "promise_bias") > 1.0, "{}", report.to_text());
}

#[tokio::test]
async fn a_gate_that_forgets_somebody_is_found_out_when_the_time_is_up() {
    let gate = FakeGate::start(Cheat::Starves(10), QUOTA).await;
    let crowd = steadfast(VISITORS, Shopping::Fixed(0.2));
    let rehearsal = Rehearsal {
        crowd: crowd.clone(),
        target: Target::new(&format!("http://{}/", gate.address()), None, None, false).unwrap(),
        connections: 8,
        limit: Duration::from_secs(20),
        most_requests: 100_000,
        faults: Vec::new(),
        observer: Observer::default(),
    };
    let played = rehearsal.play(std::future::pending(), |_| {}).await.unwrap();
    let report = report_of(&crowd, &played, QUOTA as u64);
    assert!(failed(&report).contains(&"tau"), "others went past them: {}", report.to_text());
    let account = account_of(&played.stories, &played.tally, None, played.lasted, true, &played.observed);
    assert_eq!(account.figures.value("never_in"), Some(f64::from(VISITORS) / 10.0));
}
