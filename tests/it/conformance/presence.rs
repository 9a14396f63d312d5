//! Rules 5 and 6: expiry, and removal of expired sessions in batches.

use serde_json::json;
use vestibule_core::MICROS_PER_SECOND;
use vestibule_core::line::{Counters, PURGE_BATCH, REAP_BATCH, Removed, SessionLocation, VisitKind};

use crate::line_fixture::{LineFixture, StoreFixture};

const fn seconds(count: u64) -> u64 {
    count * MICROS_PER_SECOND
}

pub(super) async fn rule_05_waiting_visit_lasts_waiting_ttl(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 0 })).await;
    let mut guest = fixture.join_and_confirm().await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(60));
    fixture.pass(59);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Renewed);
    assert_eq!(fixture.expires_in(&guest).await, seconds(60));
    fixture.pass(60);
    fixture.purge().await;
    assert_eq!(fixture.state(&guest).await, None);
    assert_eq!(
        fixture.stats().await.counters,
        Counters { joined: 1, confirmed: 1, expired_waiting: 1, ..Counters::default() }
    );
}

pub(super) async fn rule_05_active_visit_lasts_active_ttl(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 1 })).await;
    let mut guest = fixture.join_and_confirm().await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(600));
    fixture.pass(599);
    assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Renewed);
    fixture.visit(&mut guest).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(600));
    fixture.pass(600);
    fixture.purge().await;
    assert_eq!(fixture.state(&guest).await, None);
    assert_eq!(fixture.stats().await.counters.expired_active, 1);
}

pub(super) async fn rule_05_absent_admitted_visitor_has_claim_ttl(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 1, "claim_ttl": 25 })).await;
    let guests = fixture.arrivals(3).await;
    fixture.leave(&guests[0]).await;
    assert!(fixture.is_in(&guests[1]).await);
    assert_eq!(fixture.expires_in(&guests[1]).await, seconds(25));
    fixture.pass(25);
    fixture.purge().await;
    assert_eq!(fixture.state(&guests[1]).await, None);
    assert!(fixture.is_in(&guests[2]).await, "the next session has the slot");
    let mut guest = guests[2].clone();
    fixture.visit(&mut guest).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(600), "a visit restores the full TTL");
}

pub(super) async fn rule_05_first_visit_lasts_at_most_claim_ttl(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 1 })).await;
    let (inside, waiting) = (fixture.join().await, fixture.join().await);
    assert_eq!(fixture.expires_in(&inside).await, seconds(30), "a bot holds a slot for seconds only");
    assert_eq!(fixture.expires_in(&waiting).await, seconds(30));
    fixture.change(|settings| (settings.line.claim_ttl, settings.line.active_ttl) = (90, 75)).await;
    let patient = fixture.join().await;
    assert_eq!(fixture.expires_in(&patient).await, seconds(60), "claim_ttl makes no visit last longer");
    fixture.change(|settings| settings.line.quota = 9).await;
    let newcomer = fixture.join().await;
    assert_eq!(fixture.expires_in(&newcomer).await, seconds(75));
}

pub(super) async fn rule_05_repeated_first_visit_does_not_extend_the_expiry(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 1 })).await;
    for guest in fixture.join_many(2).await {
        fixture.pass(10);
        let before = fixture.expires_in(&guest).await;
        fixture.visit_as(guest.session).await;
        assert_eq!(fixture.expires_in(&guest).await, before);
    }
}

pub(super) async fn rule_05_max_session_ends_the_session_permanently(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 1, "max_session": 100 })).await;
    let (mut guest, next) = (fixture.join_and_confirm().await, fixture.join().await);
    fixture.pass(20);
    fixture.visit(&mut guest).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(80) - 1, "no visit lasts longer than the session may");
    fixture.pass(80);
    let answer = fixture.keepalive(&guest).await;
    assert_eq!((answer.kind, answer.place), (VisitKind::Absent, None));
    assert_eq!(fixture.state(&guest).await, Some(SessionLocation::Ended));
    assert_eq!(fixture.state(&next).await, None, "it had expired by then");
    let (session, ended) = (guest.session, fixture.stats().await.counters.ended);
    assert_eq!((fixture.visit(&mut guest).await.kind, ended), (VisitKind::Joined, 1));
    assert_ne!(guest.session, session);
}

pub(super) async fn rule_05_max_session_counts_from_admission_after_return(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 1, "active_ttl": 60, "max_session": 100 })).await;
    let mut guest = fixture.join_and_confirm().await;
    fixture.pass(50);
    fixture.visit(&mut guest).await;
    fixture.lose(vestibule_core::PutMode::Restore).await;
    fixture.pass(40);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Restored);
    assert_eq!(fixture.expires_in(&guest).await, seconds(10) - 1);
    fixture.lose(vestibule_core::PutMode::Restore).await;
    fixture.pass(10);
    assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Absent, "its time is over");
}

pub(super) async fn rule_05_distant_expiry_is_not_rewritten(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 1, "active_ttl": 160 })).await;
    for (ttl, still_far) in [(160, 10), (60, 30)] {
        let mut guest = fixture.join_and_confirm().await;
        fixture.pass(still_far);
        fixture.visit(&mut guest).await;
        assert_eq!(fixture.expires_in(&guest).await, seconds(ttl - still_far), "far ahead");
        fixture.advance_micros(1);
        fixture.visit(&mut guest).await;
        assert_eq!(fixture.expires_in(&guest).await, seconds(ttl), "no longer distant");
    }
}

pub(super) async fn rule_05_shorter_ttl_applies_from_the_next_visit(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(2).await;
    fixture.change(|settings| (settings.line.waiting_ttl, settings.line.active_ttl) = (20, 100)).await;
    fixture.visit_all(&mut guests).await;
    assert_eq!(fixture.expires_in(&guests[0]).await, seconds(100));
    assert_eq!(fixture.expires_in(&guests[1]).await, seconds(20));
}

pub(super) async fn rule_05_three_polls_per_waiting_ttl_never_expire(bench: &StoreFixture) {
    for claim_ttl in [20, 30, 45, 60] {
        let fixture = bench.open(json!({ "quota": 0, "claim_ttl": claim_ttl })).await;
        let mut guest = fixture.join().await;
        fixture.pass(2);
        for _ in 0..30 {
            assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Renewed, "claim_ttl {claim_ttl}");
            fixture.advance_micros(seconds(20) - 1);
        }
    }
}

/// Lets this many waiting sessions expire without a purge.
async fn lapsed(fixture: &LineFixture<'_>, count: usize) {
    fixture.join_many(count).await;
    fixture.pass(30);
}

pub(super) async fn rule_06_one_operation_removes_at_most_32_expired(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 0 })).await;
    lapsed(&fixture, 3 * REAP_BATCH + 20).await;
    let left = |count| (3 * REAP_BATCH as u64 + 20 - count, 0);
    let guest = fixture.join().await;
    assert_eq!(fixture.counts().await, left(31));
    assert_eq!(fixture.away(&guest).await, Removed::Waiting);
    assert_eq!(fixture.counts().await, left(64));
    assert_eq!(fixture.end(&guest).await, Removed::Absent);
    assert_eq!(fixture.counts().await, left(96));
    assert_eq!(fixture.release(0).await, 0);
    assert_eq!(fixture.counts().await, (0, 0));
    assert_eq!(fixture.stats().await.counters.expired_waiting, 116);
}

pub(super) async fn rule_06_purge_removes_in_batches_of_at_most_500(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 0 })).await;
    lapsed(&fixture, PURGE_BATCH + 100).await;
    let purge = |limit| fixture.store().purge(&fixture.queue, limit);
    let few = purge(40).await.unwrap();
    assert_eq!((few.expired, few.more), (40, true));
    let many = purge(usize::MAX).await.unwrap();
    assert_eq!((many.expired, many.more), (PURGE_BATCH as u64, true));
    let rest = purge(PURGE_BATCH).await.unwrap();
    assert_eq!((rest.expired, rest.more), (60, false));
    assert_eq!((fixture.counts().await, purge(500).await.unwrap().expired), ((0, 0), 0));
}

pub(super) async fn rule_06_purge_admits_to_the_slots_it_frees(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 50 })).await;
    fixture.join_many(50).await;
    fixture.pass(20);
    fixture.join_many(60).await;
    fixture.pass(10);
    let report = fixture.store().purge(&fixture.queue, 40).await.unwrap();
    assert_eq!((report.expired, report.admitted, report.more), (40, 40, true));
    let report = fixture.store().purge(&fixture.queue, 40).await.unwrap();
    assert_eq!((report.expired, report.admitted, report.more), (10, 10, false));
    assert_eq!(fixture.counts().await, (10, 50));
}

pub(super) async fn rule_06_purge_removes_old_tombstones(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 9, "hold_ttl": 700 })).await;
    let guests = fixture.arrivals(3).await;
    for guest in &guests {
        fixture.leave(guest).await;
    }
    fixture.advance_micros(seconds(700) - 1);
    let early = fixture.store().purge(&fixture.queue, 500).await.unwrap();
    assert_eq!((early.tombstones, fixture.state(&guests[0]).await), (0, Some(SessionLocation::Ended)));
    fixture.advance_micros(1);
    let report = fixture.store().purge(&fixture.queue, 2).await.unwrap();
    assert_eq!((report.tombstones, report.more), (2, true));
    let report = fixture.store().purge(&fixture.queue, 2).await.unwrap();
    assert_eq!((report.tombstones, report.more), (1, false));
    assert_eq!(fixture.state(&guests[0]).await, None);
}

pub(super) async fn expired_unpurged_session_is_restored_by_a_visit(bench: &StoreFixture) {
    let fixture = bench.open(json!({ "quota": 0 })).await;
    fixture.join_many(REAP_BATCH).await;
    fixture.advance_micros(REAP_BATCH as u64);
    let mut guest = fixture.join().await;
    fixture.pass(30);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Renewed);
    assert_eq!(fixture.position(&guest).await, Some(1));
}
