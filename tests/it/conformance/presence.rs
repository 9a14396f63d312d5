//! Rules 5 and 6: expiry, and removal of expired sessions in batches.

use serde_json::json;
use vestibule_core::MICROS_PER_SECOND;
use vestibule_core::line::{Counters, PURGE_BATCH, REAP_BATCH, Removed, SessionLocation, VisitKind};

use crate::room::{Bench, Room};

const fn seconds(count: u64) -> u64 {
    count * MICROS_PER_SECOND
}

pub(super) async fn rule_05_waiting_visit_lasts_waiting_ttl(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let mut guest = room.arrive().await;
    assert_eq!(room.expires_in(&guest).await, seconds(60));
    room.pass(59);
    assert_eq!(room.visit(&mut guest).await.kind, VisitKind::Renewed);
    assert_eq!(room.expires_in(&guest).await, seconds(60));
    room.pass(60);
    room.purge().await;
    assert_eq!(room.state(&guest).await, None);
    assert_eq!(
        room.stats().await.counters,
        Counters { joined: 1, confirmed: 1, expired_waiting: 1, ..Counters::default() }
    );
}

pub(super) async fn rule_05_active_visit_lasts_active_ttl(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guest = room.arrive().await;
    assert_eq!(room.expires_in(&guest).await, seconds(600));
    room.pass(599);
    assert_eq!(room.keepalive(&guest).await.kind, VisitKind::Renewed);
    room.visit(&mut guest).await;
    assert_eq!(room.expires_in(&guest).await, seconds(600));
    room.pass(600);
    room.purge().await;
    assert_eq!(room.state(&guest).await, None);
    assert_eq!(room.stats().await.counters.expired_active, 1);
}

pub(super) async fn rule_05_absent_admitted_visitor_has_claim_ttl(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "claim_ttl": 25 })).await;
    let guests = room.arrivals(3).await;
    room.leave(&guests[0]).await;
    assert!(room.is_in(&guests[1]).await);
    assert_eq!(room.expires_in(&guests[1]).await, seconds(25));
    room.pass(25);
    room.purge().await;
    assert_eq!(room.state(&guests[1]).await, None);
    assert!(room.is_in(&guests[2]).await, "the next session has the slot");
    let mut guest = guests[2].clone();
    room.visit(&mut guest).await;
    assert_eq!(room.expires_in(&guest).await, seconds(600), "a visit restores the full TTL");
}

pub(super) async fn rule_05_first_visit_lasts_at_most_claim_ttl(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let (inside, waiting) = (room.join().await, room.join().await);
    assert_eq!(room.expires_in(&inside).await, seconds(30), "a bot holds a slot for seconds only");
    assert_eq!(room.expires_in(&waiting).await, seconds(30));
    room.change(|settings| (settings.line.claim_ttl, settings.line.active_ttl) = (90, 75)).await;
    let patient = room.join().await;
    assert_eq!(room.expires_in(&patient).await, seconds(60), "claim_ttl makes no visit last longer");
    room.change(|settings| settings.line.quota = 9).await;
    let newcomer = room.join().await;
    assert_eq!(room.expires_in(&newcomer).await, seconds(75));
}

pub(super) async fn rule_05_repeated_first_visit_does_not_extend_the_expiry(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    for guest in room.joiners(2).await {
        room.pass(10);
        let before = room.expires_in(&guest).await;
        room.visit_as(guest.session).await;
        assert_eq!(room.expires_in(&guest).await, before);
    }
}

pub(super) async fn rule_05_max_session_ends_the_session_permanently(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "max_session": 100 })).await;
    let (mut guest, next) = (room.arrive().await, room.join().await);
    room.pass(20);
    room.visit(&mut guest).await;
    assert_eq!(room.expires_in(&guest).await, seconds(80) - 1, "no visit lasts longer than the session may");
    room.pass(80);
    let answer = room.keepalive(&guest).await;
    assert_eq!((answer.kind, answer.place), (VisitKind::Absent, None));
    assert_eq!(room.state(&guest).await, Some(SessionLocation::Ended));
    assert_eq!(room.state(&next).await, None, "it had expired by then");
    let (session, ended) = (guest.session, room.stats().await.counters.ended);
    assert_eq!((room.visit(&mut guest).await.kind, ended), (VisitKind::Joined, 1));
    assert_ne!(guest.session, session);
}

pub(super) async fn rule_05_max_session_counts_from_admission_after_return(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "active_ttl": 60, "max_session": 100 })).await;
    let mut guest = room.arrive().await;
    room.pass(50);
    room.visit(&mut guest).await;
    room.lose(vestibule_core::PutMode::Restore).await;
    room.pass(40);
    assert_eq!(room.visit(&mut guest).await.kind, VisitKind::Restored);
    assert_eq!(room.expires_in(&guest).await, seconds(10) - 1);
    room.lose(vestibule_core::PutMode::Restore).await;
    room.pass(10);
    assert_eq!(room.keepalive(&guest).await.kind, VisitKind::Absent, "its time is over");
}

pub(super) async fn rule_05_distant_expiry_is_not_rewritten(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "active_ttl": 160 })).await;
    for (ttl, still_far) in [(160, 10), (60, 30)] {
        let mut guest = room.arrive().await;
        room.pass(still_far);
        room.visit(&mut guest).await;
        assert_eq!(room.expires_in(&guest).await, seconds(ttl - still_far), "far ahead");
        room.pass_micros(1);
        room.visit(&mut guest).await;
        assert_eq!(room.expires_in(&guest).await, seconds(ttl), "no longer distant");
    }
}

pub(super) async fn rule_05_shorter_ttl_applies_from_the_next_visit(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guests = room.arrivals(2).await;
    room.change(|settings| (settings.line.waiting_ttl, settings.line.active_ttl) = (20, 100)).await;
    room.visit_all(&mut guests).await;
    assert_eq!(room.expires_in(&guests[0]).await, seconds(100));
    assert_eq!(room.expires_in(&guests[1]).await, seconds(20));
}

pub(super) async fn rule_05_three_polls_per_waiting_ttl_never_expire(bench: &Bench) {
    for claim_ttl in [20, 30, 45, 60] {
        let room = bench.open(json!({ "quota": 0, "claim_ttl": claim_ttl })).await;
        let mut guest = room.join().await;
        room.pass(2);
        for _ in 0..30 {
            assert_eq!(room.visit(&mut guest).await.kind, VisitKind::Renewed, "claim_ttl {claim_ttl}");
            room.pass_micros(seconds(20) - 1);
        }
    }
}

/// Lets this many waiting sessions expire without a purge.
async fn lapsed(room: &Room<'_>, count: usize) {
    room.joiners(count).await;
    room.pass(30);
}

pub(super) async fn rule_06_one_operation_removes_at_most_32_expired(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    lapsed(&room, 3 * REAP_BATCH + 20).await;
    let left = |count| (3 * REAP_BATCH as u64 + 20 - count, 0);
    let guest = room.join().await;
    assert_eq!(room.counts().await, left(31));
    assert_eq!(room.away(&guest).await, Removed::Waiting);
    assert_eq!(room.counts().await, left(64));
    assert_eq!(room.end(&guest).await, Removed::Absent);
    assert_eq!(room.counts().await, left(96));
    assert_eq!(room.release(0).await, 0);
    assert_eq!(room.counts().await, (0, 0));
    assert_eq!(room.stats().await.counters.expired_waiting, 116);
}

pub(super) async fn rule_06_purge_removes_in_batches_of_at_most_500(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    lapsed(&room, PURGE_BATCH + 100).await;
    let purge = |limit| room.store().purge(&room.queue, limit);
    let few = purge(40).await.unwrap();
    assert_eq!((few.expired, few.more), (40, true));
    let many = purge(usize::MAX).await.unwrap();
    assert_eq!((many.expired, many.more), (PURGE_BATCH as u64, true));
    let rest = purge(PURGE_BATCH).await.unwrap();
    assert_eq!((rest.expired, rest.more), (60, false));
    assert_eq!((room.counts().await, purge(500).await.unwrap().expired), ((0, 0), 0));
}

pub(super) async fn rule_06_purge_admits_to_the_slots_it_frees(bench: &Bench) {
    let room = bench.open(json!({ "quota": 50 })).await;
    room.joiners(50).await;
    room.pass(20);
    room.joiners(60).await;
    room.pass(10);
    let report = room.store().purge(&room.queue, 40).await.unwrap();
    assert_eq!((report.expired, report.admitted, report.more), (40, 40, true));
    let report = room.store().purge(&room.queue, 40).await.unwrap();
    assert_eq!((report.expired, report.admitted, report.more), (10, 10, false));
    assert_eq!(room.counts().await, (10, 50));
}

pub(super) async fn rule_06_purge_removes_old_tombstones(bench: &Bench) {
    let room = bench.open(json!({ "quota": 9, "hold_ttl": 700 })).await;
    let guests = room.arrivals(3).await;
    for guest in &guests {
        room.leave(guest).await;
    }
    room.pass_micros(seconds(700) - 1);
    let early = room.store().purge(&room.queue, 500).await.unwrap();
    assert_eq!((early.tombstones, room.state(&guests[0]).await), (0, Some(SessionLocation::Ended)));
    room.pass_micros(1);
    let report = room.store().purge(&room.queue, 2).await.unwrap();
    assert_eq!((report.tombstones, report.more), (2, true));
    let report = room.store().purge(&room.queue, 2).await.unwrap();
    assert_eq!((report.tombstones, report.more), (1, false));
    assert_eq!(room.state(&guests[0]).await, None);
}

pub(super) async fn expired_unpurged_session_is_restored_by_a_visit(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    room.joiners(REAP_BATCH).await;
    room.pass_micros(REAP_BATCH as u64);
    let mut guest = room.join().await;
    room.pass(30);
    assert_eq!(room.visit(&mut guest).await.kind, VisitKind::Renewed);
    assert_eq!(room.position(&guest).await, Some(1));
}
