//! Proof of work of newcomers.

use serde_json::{Value, json};
use vestibule_core::line::{DELAYED_MIN, JoinClient, ProofCounts, RejectionReason, Visit, VisitAnswer, VisitKind};
use vestibule_core::{NetworkClass, PreTicket, SessionId};

use super::limits::{client, join, joins, limits, others, rejection};
use crate::line_fixture::{LineFixture, StoreFixture};

/// A paused queue that enforces proof of work in this mode.
fn proving(mode: &str) -> Value {
    limits(json!({ "mode": "enforce", "proof_of_work": { "mode": mode } }))
}

fn required(answer: &VisitAnswer) -> Option<u64> {
    if let VisitKind::NeedsProof(difficulty) = answer.kind { Some(difficulty) } else { None }
}

fn proven(fixture: &LineFixture<'_>, difficulty: u64) -> PreTicket {
    fixture.first_visit().proving(0, difficulty, fixture.now()).unwrap()
}

pub(super) async fn proof_of_work_is_required_of_newcomers(stores: &StoreFixture) {
    let fixture = stores.open(proving("always")).await;
    assert_eq!(required(&fixture.visit_as(SessionId::random()).await), Some(1), "a direct join");
    let first = fixture.first_visit();
    assert_eq!(required(&fixture.redeem(first).await), Some(1));
    let asked = first.requiring(1);
    assert_eq!(required(&fixture.redeem(asked).await), Some(1));
    fixture.advance_seconds(20);
    let answer = fixture.redeem(asked.proving(0, 1, fixture.now()).unwrap()).await;
    assert_eq!((answer.kind, answer.session.unwrap().arrival), (VisitKind::Joined, first.first_visit()));
    assert_eq!(fixture.redeem(first).await.kind, VisitKind::Renewed, "its session is present");
    let counters = fixture.stats().await.limits.counters;
    assert_eq!((counters.challenged, counters.would_challenge), (2, 0), "who asks again is counted once");
}

pub(super) async fn proof_of_an_earlier_epoch_counts_for_nothing(stores: &StoreFixture) {
    let fixture = stores.open(proving("always")).await;
    let [proven, delayed] = [proven(&fixture, 1), fixture.first_visit().requiring(1)];
    fixture.advance_seconds(60);
    fixture.store().reset(&fixture.queue).await.unwrap();
    for earlier in [proven, delayed] {
        assert_eq!(required(&fixture.redeem(earlier).await), Some(1));
    }
}

pub(super) async fn proof_of_work_is_monitored(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({ "proof_of_work": { "mode": "always" } }))).await;
    assert_eq!(joins(&fixture, JoinClient::default(), 3).await, 3);
    let counters = fixture.stats().await.limits.counters;
    assert_eq!((counters.challenged, counters.would_challenge), (0, 3));
}

pub(super) async fn proof_of_work_grows_with_the_joins_of_an_address(stores: &StoreFixture) {
    let fixture = stores.open(proving("auto")).await;
    others(&fixture).await;
    let office = client(&fixture, "203.0.113.9");
    assert_eq!(joins(&fixture, office, 4).await, 4, "a household");
    assert_eq!(required(&join(&fixture, office).await), Some(2));
    for difficulty in [2, 2, 2, 2, 3] {
        let answer = fixture.redeem_as(proven(&fixture, difficulty), office).await;
        assert_eq!(answer.kind, VisitKind::Joined);
    }
    assert_eq!(required(&fixture.redeem_as(proven(&fixture, 2), office).await), Some(3), "a part is proven");
    assert_eq!(joins(&fixture, client(&fixture, "198.51.100.9"), 1).await, 1, "another network");
    let class = |class| JoinClient { class: Some(class), ..client(&fixture, "192.0.2.9") };
    assert_eq!(required(&join(&fixture, class(NetworkClass::Suspicious)).await), Some(16));
    assert_eq!(joins(&fixture, JoinClient { class: Some(NetworkClass::Trusted), ..office }, 9).await, 9);
}

pub(super) async fn proof_of_work_grows_with_the_joins_of_the_queue(stores: &StoreFixture) {
    let mut settings = proving("auto");
    settings["protection"]["proof_of_work"]["from"] = json!(1);
    let fixture = stores.open(settings).await;
    assert_eq!(joins(&fixture, JoinClient::default(), 30).await, 11, "more than one per second of ten");
    assert_eq!(required(&join(&fixture, JoinClient::default()).await), Some(2));
    fixture.advance_seconds(20);
    assert_eq!(joins(&fixture, JoinClient::default(), 1).await, 1);
}

pub(super) async fn invited_newcomers_prove_no_work(stores: &StoreFixture) {
    let fixture = stores.open(proving("always")).await;
    let invited = Visit::invited(SessionId::random(), 0);
    assert_eq!(fixture.store().visit(&fixture.queue, invited).await.unwrap().kind, VisitKind::Joined);
}

pub(super) async fn attack_mode_asks_for_four_times_the_work(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({ "mode": "off" }))).await;
    fixture.store().set_attack_mode(&fixture.queue, 60).await.unwrap();
    assert_eq!(required(&fixture.redeem(fixture.first_visit()).await), Some(4));
    assert_eq!(fixture.redeem(proven(&fixture, 4)).await.kind, VisitKind::Joined);
}

pub(super) async fn delayed_newcomers_join_without_a_proof(stores: &StoreFixture) {
    let fixture = stores.open(proving("always")).await;
    let asked: Vec<PreTicket> = (0..2 * DELAYED_MIN).map(|_| fixture.first_visit().requiring(1)).collect();
    fixture.advance_micros(29_999_999);
    assert_eq!(required(&fixture.redeem(asked[0]).await), Some(1), "too early");
    fixture.advance_micros(1);
    let answer = fixture.redeem(asked[0]).await;
    assert_eq!((answer.kind, answer.session.unwrap().arrival), (VisitKind::Joined, fixture.now()), "it arrives now");
    let mut joined = 1;
    for pre_ticket in &asked[1..] {
        joined += u64::from(fixture.redeem(*pre_ticket).await.kind == VisitKind::Joined);
    }
    assert_eq!(joined, DELAYED_MIN, "one per second");
    assert_eq!(fixture.stats().await.limits.counters.delayed_joins, DELAYED_MIN);
    let harder = fixture.first_visit().requiring(64);
    fixture.advance_seconds(299);
    assert_eq!(required(&fixture.redeem(harder).await), Some(1));
    fixture.advance_seconds(1);
    assert_eq!(fixture.redeem(harder).await.kind, VisitKind::Joined, "after five minutes at the latest");
}

pub(super) async fn delayed_joins_are_limited_by_address(stores: &StoreFixture) {
    let mut settings = proving("always");
    settings["protection"]["per_address"] = json!(2);
    let fixture = stores.open(settings).await;
    for number in 0..20 {
        let other = client(&fixture, &format!("198.51.{number}.1"));
        assert_eq!(fixture.redeem_as(proven(&fixture, 1), other).await.kind, VisitKind::Joined);
    }
    let office = client(&fixture, "203.0.113.9");
    let asked = fixture.first_visit().requiring(1);
    for _ in 0..5 {
        assert_eq!(fixture.redeem_as(proven(&fixture, 16), office).await.kind, VisitKind::Joined, "challenged only");
    }
    fixture.advance_seconds(30);
    let rejected = rejection(&fixture.redeem_as(asked, office).await).unwrap();
    assert_eq!(rejected.reason, RejectionReason::Limit);
    assert_eq!(fixture.redeem_as(asked, JoinClient::default()).await.kind, VisitKind::Joined);
}

pub(super) async fn proofs_are_counted(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    for proofs in [ProofCounts { valid: 2, invalid: 3 }, ProofCounts { valid: 1, invalid: 0 }] {
        fixture.store().visit(&fixture.queue, Visit { proofs, ..Visit::default() }).await.unwrap();
    }
    let counters = fixture.stats().await.limits.counters;
    assert_eq!((counters.proofs_valid, counters.proofs_invalid), (3, 3));
}
