//! Rules 5 and 6: expiry, and removal of expired sessions in batches.

use serde_json::json;
use vestibule_core::line::{Counters, PURGE_BATCH, REAP_BATCH, Removed, SessionLocation, VisitKind};
use vestibule_core::{MICROS_PER_SECOND, PutMode};

use crate::line_fixture::{LineFixture, StoreFixture};

const fn seconds(count: u64) -> u64 {
    count * MICROS_PER_SECOND
}

pub(super) async fn rule_05_waiting_visit_lasts_waiting_ttl(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let mut guest = fixture.join_and_confirm().await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(60));
    fixture.advance_seconds(59);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Renewed);
    assert_eq!(fixture.expires_in(&guest).await, seconds(60));
    fixture.advance_seconds(60);
    fixture.purge().await;
    assert_eq!(fixture.state(&guest).await, None);
    assert_eq!(
        fixture.stats().await.counters,
        Counters { joined: 1, confirmed: 1, expired_waiting: 1, ..Counters::default() }
    );
}

pub(super) async fn rule_05_active_visit_lasts_active_ttl(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guest = fixture.join_and_confirm().await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(600));
    fixture.advance_seconds(599);
    assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Renewed);
    fixture.visit(&mut guest).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(600));
    fixture.advance_seconds(600);
    fixture.purge().await;
    assert_eq!(fixture.state(&guest).await, None);
    assert_eq!(fixture.stats().await.counters.expired_active, 1);
}

pub(super) async fn rule_05_absent_admitted_visitor_has_claim_ttl(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "claim_ttl": 25 })).await;
    let guests = fixture.arrivals(3).await;
    fixture.leave(&guests[0]).await;
    assert!(fixture.is_in(&guests[1]).await);
    assert_eq!(fixture.expires_in(&guests[1]).await, seconds(25));
    fixture.advance_seconds(25);
    fixture.purge().await;
    assert_eq!(fixture.state(&guests[1]).await, None);
    assert!(fixture.is_in(&guests[2]).await, "the next session has the slot");
    let mut guest = guests[2].clone();
    fixture.visit(&mut guest).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(600), "a visit restores the full TTL");
}

pub(super) async fn rule_05_first_visit_lasts_at_most_claim_ttl(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
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

pub(super) async fn rule_05_repeated_first_visit_does_not_extend_the_expiry(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    for guest in fixture.join_many(2).await {
        fixture.advance_seconds(10);
        let before = fixture.expires_in(&guest).await;
        fixture.visit_as(guest.session).await;
        assert_eq!(fixture.expires_in(&guest).await, before);
    }
}

pub(super) async fn rule_05_max_session_ends_the_session_permanently(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "max_session": 100 })).await;
    let (mut guest, next) = (fixture.join_and_confirm().await, fixture.join().await);
    fixture.advance_seconds(20);
    fixture.visit(&mut guest).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(80) - 1, "no visit lasts longer than the session may");
    fixture.advance_seconds(80);
    let answer = fixture.keepalive(&guest).await;
    assert_eq!((answer.kind, answer.session), (VisitKind::Absent, None));
    assert_eq!(fixture.state(&guest).await, Some(SessionLocation::Ended));
    assert_eq!(fixture.state(&next).await, None, "it had expired by then");
    let (session, ended) = (guest.session, fixture.stats().await.counters.ended);
    assert_eq!((fixture.visit(&mut guest).await.kind, ended), (VisitKind::Joined, 1));
    assert_ne!(guest.session, session);
}

pub(super) async fn rule_05_max_session_counts_from_admission_after_return(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "active_ttl": 60, "max_session": 100 })).await;
    let mut guest = fixture.join_and_confirm().await;
    fixture.advance_seconds(50);
    fixture.visit(&mut guest).await;
    fixture.lose(vestibule_core::PutMode::Restore).await;
    fixture.advance_seconds(40);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Restored);
    assert_eq!(fixture.expires_in(&guest).await, seconds(10) - 1);
    fixture.lose(vestibule_core::PutMode::Restore).await;
    fixture.advance_seconds(10);
    assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Absent, "its time is over");
}

pub(super) async fn rule_05_distant_expiry_is_not_rewritten(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "active_ttl": 160 })).await;
    for (ttl, still_far) in [(160, 10), (60, 30)] {
        let mut guest = fixture.join_and_confirm().await;
        fixture.advance_seconds(still_far);
        fixture.visit(&mut guest).await;
        assert_eq!(fixture.expires_in(&guest).await, seconds(ttl - still_far), "far ahead");
        fixture.advance_micros(1);
        fixture.visit(&mut guest).await;
        assert_eq!(fixture.expires_in(&guest).await, seconds(ttl), "no longer distant");
    }
}

pub(super) async fn rule_05_shorter_ttl_applies_from_the_next_visit(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(2).await;
    fixture.change(|settings| (settings.line.waiting_ttl, settings.line.active_ttl) = (20, 100)).await;
    fixture.visit_all(&mut guests).await;
    assert_eq!(fixture.expires_in(&guests[0]).await, seconds(100));
    assert_eq!(fixture.expires_in(&guests[1]).await, seconds(20));
}

pub(super) async fn rule_05_three_polls_per_waiting_ttl_never_expire(stores: &StoreFixture) {
    for claim_ttl in [20, 30, 45, 60] {
        let fixture = stores.open(json!({ "quota": 0, "claim_ttl": claim_ttl })).await;
        let mut guest = fixture.join().await;
        fixture.advance_seconds(2);
        for _ in 0..30 {
            assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Renewed, "claim_ttl {claim_ttl}");
            fixture.advance_micros(seconds(20) - 1);
        }
    }
}

pub(super) async fn rule_12_far_visit_lasts_a_quarter_of_the_shown_wait(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    for (left, lasts) in [(100, 60), (240, 60), (400, 100), (403, 100), (1200, 300), (3600, 300)] {
        let mut guest = fixture.join_and_confirm().await;
        fixture.visit_and_show(&mut guest, left + 31).await;
        assert_eq!(fixture.expires_in(&guest).await, seconds(60), "no wait was shown before");
        fixture.advance_seconds(31);
        fixture.visit_and_show(&mut guest, left).await;
        assert_eq!(fixture.expires_in(&guest).await, seconds(lasts), "{left} s are left");
    }
}

pub(super) async fn rule_12_shorter_wait_shortens_presence(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let mut guest = fixture.join_and_confirm().await;
    fixture.visit_and_show(&mut guest, 3600).await;
    fixture.visit_and_show(&mut guest, 400).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(300));
    fixture.visit_and_show(&mut guest, 30).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(100), "the line became faster");
    fixture.visit(&mut guest).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(60));
    fixture.visit_and_show(&mut guest, 3600).await;
    fixture.visit_and_show(&mut guest, 3600).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(300));
    fixture.change(|settings| settings.line.hold_ttl = 200).await;
    fixture.visit(&mut guest).await;
    assert_eq!(fixture.expires_in(&guest).await, seconds(100), "hold_ttl was lowered");
}

pub(super) async fn rule_12_expiry_tells_who_never_returned_a_ticket(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let _inside = fixture.join_and_confirm().await;
    let mut far = fixture.join_and_confirm().await;
    let _robot = fixture.join().await;
    fixture.visit_and_show(&mut far, 3600).await;
    fixture.visit(&mut far).await;
    fixture.advance_seconds(31);
    fixture.purge().await;
    assert_eq!((fixture.counts().await, fixture.stats().await.pace.departures), ((1, 1), 0), "the robot expired");
    fixture.advance_seconds(269);
    fixture.purge().await;
    let stats = fixture.stats().await;
    assert_eq!((stats.waiting, stats.pace.departures, stats.counters.confirmed), (0, 1, 2), "the visitor left");
}

pub(super) async fn rule_12_positions_are_incomplete_until_all_poll(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(2).await;
    fixture.advance_seconds(1);
    fixture.lose(PutMode::Restore).await;
    for (seconds, recovering, restoring) in [(0, true, true), (59, true, true), (1, false, true), (89, false, true)] {
        fixture.advance_seconds(seconds);
        let answer = fixture.visit(&mut guests[1]).await;
        assert_eq!((answer.recovering, answer.restoring), (recovering, restoring));
    }
    fixture.advance_seconds(1);
    assert!(!fixture.visit(&mut guests[1]).await.restoring, "a quarter of hold_ttl has passed");
}

pub(super) async fn rule_12_far_visitor_is_present_at_the_census(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 2 })).await;
    let mut guests = fixture.arrivals(5).await;
    fixture.visit_and_show(&mut guests[2], 1200).await;
    fixture.visit_and_show(&mut guests[2], 1200).await;
    // Without a poll for longer than waiting_ttl, but present.
    fixture.advance_seconds(100);
    fixture.visit_all(&mut guests[3..]).await;
    fixture.leave(&guests[0]).await;
    fixture.advance_seconds(1);
    fixture.visit(&mut guests[4]).await;
    assert!(fixture.is_in(&guests[2]).await);
    fixture.advance_seconds(1);
    fixture.lose(PutMode::Restore).await;
    fixture.visit(&mut guests[4]).await;
    assert_eq!(fixture.stats().await.reserved, 2);
    fixture.visit(&mut guests[2]).await;
    assert!(fixture.is_in(&guests[2]).await, "the slot was reserved for this visitor");
}

/// Lets this many waiting sessions expire without a purge.
async fn let_sessions_expire(fixture: &LineFixture<'_>, count: usize) {
    fixture.join_many(count).await;
    fixture.advance_seconds(30);
}

pub(super) async fn rule_06_one_operation_removes_at_most_32_expired(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let_sessions_expire(&fixture, 3 * REAP_BATCH + 20).await;
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

pub(super) async fn rule_06_purge_removes_in_batches_of_at_most_500(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let_sessions_expire(&fixture, PURGE_BATCH + 100).await;
    let purge = |limit| fixture.store().purge(&fixture.queue, limit);
    let few = purge(40).await.unwrap();
    assert_eq!((few.expired, few.more), (40, true));
    let many = purge(usize::MAX).await.unwrap();
    assert_eq!((many.expired, many.more), (PURGE_BATCH as u64, true));
    let rest = purge(PURGE_BATCH).await.unwrap();
    assert_eq!((rest.expired, rest.more), (60, false));
    assert_eq!((fixture.counts().await, purge(500).await.unwrap().expired), ((0, 0), 0));
}

pub(super) async fn rule_06_purge_admits_to_the_slots_it_frees(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 50 })).await;
    fixture.join_many(50).await;
    fixture.advance_seconds(20);
    fixture.join_many(60).await;
    fixture.advance_seconds(10);
    let report = fixture.store().purge(&fixture.queue, 40).await.unwrap();
    assert_eq!((report.expired, report.admitted, report.more), (40, 40, true));
    let report = fixture.store().purge(&fixture.queue, 40).await.unwrap();
    assert_eq!((report.expired, report.admitted, report.more), (10, 10, false));
    assert_eq!(fixture.counts().await, (10, 50));
}

pub(super) async fn rule_06_purge_removes_old_tombstones(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 9, "hold_ttl": 700 })).await;
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

pub(super) async fn expired_unpurged_session_is_restored_by_a_visit(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    fixture.join_many(REAP_BATCH).await;
    fixture.advance_micros(REAP_BATCH as u64);
    let mut guest = fixture.join().await;
    fixture.advance_seconds(30);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Renewed);
    assert_eq!(fixture.position(&guest).await, Some(1));
}
