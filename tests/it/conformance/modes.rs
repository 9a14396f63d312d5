//! Rules 9 to 11: modes, releases and resets.

use serde_json::json;
use vestibule_core::line::{Counters, Mode, RELEASE_BATCH, VisitKind, Waits};
use vestibule_core::{PutMode, PutOutcome, SessionId, StoreError};

use crate::line_fixture::{StoreFixture, random_queue_id, sessions};

pub(super) async fn rule_09_open_admits_while_slots_are_free(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 2, "mode": "open" })).await;
    let answers = [fixture.visit_as(SessionId::random()).await, fixture.visit_as(SessionId::random()).await];
    for answer in answers {
        assert_eq!((answer.mode, answer.kind), (Mode::Open, VisitKind::Joined));
        assert_eq!(answer.session.unwrap().admitted_at, Some(fixture.now()));
    }
    assert_eq!(fixture.visit_as(SessionId::random()).await.session.unwrap().position, 1);
}

pub(super) async fn rule_09_bypass_stores_nothing(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(2).await;
    fixture.change(|settings| settings.line.mode = Mode::Bypass).await;
    let before = fixture.stats().await;
    for answer in [fixture.visit_as(SessionId::random()).await, fixture.keepalive(&guests[1]).await] {
        assert_eq!((answer.mode, answer.session), (Mode::Bypass, None));
        assert_eq!(answer.kind, VisitKind::Absent);
    }
    assert_eq!(fixture.stats().await, before);
}

pub(super) async fn rule_09_line_is_unchanged_after_bypass(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let guests = fixture.arrivals(3).await;
    fixture.change(|settings| settings.line.mode = Mode::Bypass).await;
    fixture.advance_seconds(20);
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
    assert_eq!(fixture.line().await, sessions(&guests));
}

pub(super) async fn rule_09_paused_accepts_joins_without_admission(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 2 })).await;
    let inside = fixture.join_and_confirm().await;
    fixture.change(|settings| settings.line.mode = Mode::Paused).await;
    let waiting = fixture.arrivals(3).await;
    assert_eq!(fixture.counts().await, (3, 1));
    fixture.leave(&inside).await;
    assert_eq!(fixture.counts().await, (3, 0));
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
    assert_eq!(fixture.line().await, [waiting[2].session]);
}

pub(super) async fn rule_09_closed_rejects_joins_and_keeps_active_sessions(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(2).await;
    fixture.change(|settings| settings.line.mode = Mode::Closed).await;
    let answer = fixture.visit_as(SessionId::random()).await;
    assert_eq!((answer.mode, answer.kind, answer.session), (Mode::Closed, VisitKind::Absent, None));
    fixture.advance_seconds(50);
    fixture.visit_all(&mut guests).await;
    assert!(fixture.is_in(&guests[0]).await);
    assert_eq!(fixture.expires_in(&guests[0]).await, 600_000_000);
    fixture.leave(&guests[0]).await;
    assert_eq!(fixture.counts().await, (1, 0), "no session is admitted, and the line is unchanged");
}

pub(super) async fn rule_09_draining_rejects_joins_and_admits_in_order(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(3).await;
    fixture.change(|settings| settings.line.mode = Mode::Draining).await;
    let answer = fixture.visit_as(SessionId::random()).await;
    assert_eq!((answer.mode, answer.kind, answer.session), (Mode::Draining, VisitKind::Absent, None));
    fixture.leave(&guests[0]).await;
    assert_eq!(fixture.line().await, [guests[2].session]);
    fixture.change(|settings| settings.line.quota = 5).await;
    assert!(fixture.is_in(&guests[2]).await);
    let answer = fixture.visit_as(SessionId::random()).await;
    assert_eq!(
        (answer.session, answer.waiting, answer.active),
        (None, 0, 2),
        "slots are free, and newcomers are rejected"
    );
}

pub(super) async fn rule_09_draining_restores_absent_visitors(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let inside = fixture.join_and_confirm().await;
    let (mut away, waiting) = (fixture.join_and_confirm().await, fixture.join_and_confirm().await);
    fixture.away(&away).await;
    fixture.change(|settings| settings.line.mode = Mode::Draining).await;
    assert_eq!(fixture.visit(&mut away).await.kind, VisitKind::Restored);
    assert_eq!(fixture.line().await, [away.session, waiting.session]);
    fixture.leave(&inside).await;
    assert!(fixture.is_in(&away).await);
}

pub(super) async fn rule_09_drained_queue_closes_after_tickets_expire(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "hold_ttl": 100, "active_ttl": 1000 })).await;
    let mut inside = fixture.join_and_confirm().await;
    let gone = fixture.join_and_confirm().await;
    fixture.change(|settings| settings.line.mode = Mode::Draining).await;
    fixture.purge().await;
    fixture.away(&gone).await;
    fixture.purge().await;
    fixture.advance_seconds(99);
    assert_eq!(fixture.store().purge(&fixture.queue, 500).await.unwrap().closed, None);
    assert_eq!(fixture.settings().await.line.mode, Mode::Draining, "a ticket still holds a position");
    fixture.advance_seconds(1);
    assert_eq!(fixture.store().purge(&fixture.queue, 500).await.unwrap().closed, Some(3));
    let settings = fixture.settings().await;
    assert_eq!((settings.line.mode, settings.line.revision), (Mode::Closed, 3));
    let listed = fixture.store().queues().await.unwrap();
    assert!(listed.contains(&(fixture.queue.clone(), 3)), "the index says so too");
    assert_eq!(fixture.store().purge(&fixture.queue, 500).await.unwrap().closed, None, "written once");
    let stale = fixture.store().put_settings(&settings, PutMode::IfRevision(2)).await.unwrap();
    assert_eq!(stale, PutOutcome::Conflict(3), "an outdated writer does not reopen it");
    let answer = fixture.visit(&mut inside).await;
    assert_eq!((answer.mode, answer.revision), (Mode::Closed, 3));
    assert!(fixture.is_in(&inside).await, "active sessions stay");
}

pub(super) async fn rule_09_return_to_a_drained_queue_delays_closing(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0, "hold_ttl": 100 })).await;
    let mut guest = fixture.join_and_confirm().await;
    fixture.change(|settings| settings.line.mode = Mode::Draining).await;
    fixture.away(&guest).await;
    fixture.purge().await;
    fixture.advance_seconds(99);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Restored);
    fixture.away(&guest).await;
    fixture.advance_seconds(1);
    fixture.purge().await;
    assert_eq!(fixture.settings().await.line.mode, Mode::Draining, "the hold time starts over");
    fixture.advance_seconds(98);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Restored);
    fixture.purge().await;
    fixture.advance_seconds(59);
    fixture.purge().await;
    assert_eq!(fixture.line().await, [guest.session]);
    assert_eq!(fixture.settings().await.line.mode, Mode::Draining, "a session is waiting");
}

pub(super) async fn rule_09_canceled_drain_starts_over(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "hold_ttl": 100 })).await;
    fixture.change(|settings| settings.line.mode = Mode::Draining).await;
    fixture.purge().await;
    fixture.advance_seconds(90);
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
    fixture.purge().await;
    fixture.change(|settings| settings.line.mode = Mode::Draining).await;
    fixture.advance_seconds(10);
    fixture.purge().await;
    fixture.advance_seconds(99);
    fixture.purge().await;
    assert_eq!(fixture.settings().await.line.mode, Mode::Draining);
    fixture.advance_seconds(1);
    fixture.purge().await;
    assert_eq!(fixture.settings().await.line.mode, Mode::Closed);
    fixture.advance_seconds(1000);
    fixture.purge().await;
    assert_eq!(fixture.settings().await.line.revision, 5, "written once");
}

pub(super) async fn rule_09_draining_queue_in_recovery_waits_for_tickets(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0, "hold_ttl": 100 })).await;
    let mut guest = fixture.join_and_confirm().await;
    fixture.change(|settings| settings.line.mode = Mode::Draining).await;
    fixture.purge().await;
    fixture.lose(PutMode::Restore).await;
    fixture.purge().await;
    fixture.advance_seconds(99);
    fixture.purge().await;
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Restored);
    fixture.change(|settings| settings.line.quota = 1).await;
    assert!(fixture.is_in(&guest).await);
}

pub(super) async fn rule_10_release_ignores_quota_rate_and_pause(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0, "admissions_per_minute": 1, "mode": "paused" })).await;
    let guests = fixture.arrivals(6).await;
    assert_eq!(fixture.release(4).await, 4);
    assert_eq!(fixture.line().await, sessions(&guests[4..]));
    assert_eq!(fixture.expires_in(&guests[0]).await, 30_000_000, "absent visitors have to claim their slots");
    assert_eq!(fixture.release(9).await, 2);
    assert_eq!(fixture.release(1).await, 0);
    assert_eq!(
        fixture.stats().await.counters,
        Counters { joined: 6, confirmed: 6, released: 6, ..Counters::default() }
    );
}

pub(super) async fn rule_10_release_does_not_consume_the_rate(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 99, "admissions_per_minute": 60, "mode": "paused" })).await;
    fixture.arrivals(4).await;
    assert_eq!(fixture.release(2).await, 2);
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
    assert_eq!(fixture.counts().await, (1, 3));
}

pub(super) async fn rule_10_release_skips_expired_sessions(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    fixture.join_many(50).await;
    let mut present = fixture.arrivals(3).await;
    fixture.advance_seconds(29);
    fixture.visit_all(&mut present).await;
    fixture.advance_seconds(1);
    assert_eq!(fixture.release(2).await, 2);
    assert_eq!(fixture.line().await, [present[2].session]);
    let expected = Counters { joined: 53, confirmed: 3, released: 2, expired_waiting: 50, ..Counters::default() };
    assert_eq!(fixture.stats().await.counters, expected);
}

pub(super) async fn rule_10_one_release_admits_at_most_500(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    fixture.join_many(RELEASE_BATCH + 3).await;
    assert_eq!(fixture.release(u64::MAX).await, RELEASE_BATCH as u64);
    assert_eq!(fixture.counts().await, (3, RELEASE_BATCH as u64));
}

pub(super) async fn rule_10_quota_applies_again_after_a_release(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(5).await;
    assert_eq!(fixture.release(2).await, 2);
    assert_eq!(fixture.counts().await, (2, 3));
    for (leaver, counts) in [(0, (2, 2)), (1, (2, 1)), (2, (1, 1))] {
        fixture.leave(&guests[leaver]).await;
        assert_eq!(fixture.counts().await, counts);
    }
}

pub(super) async fn rule_10_admit_ignores_quota_rate_pause_and_order(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0, "admissions_per_minute": 1, "mode": "paused" })).await;
    let guests = fixture.arrivals(3).await;
    assert!(fixture.store().admit(&fixture.queue, guests[1].session).await.unwrap());
    assert!(fixture.is_in(&guests[1]).await);
    assert_eq!(fixture.line().await, [guests[0].session, guests[2].session], "the others keep their order");
    assert_eq!(fixture.expires_in(&guests[1]).await, 30_000_000, "absent visitors have to claim their slots");
    let stats = fixture.stats().await;
    assert_eq!(stats.counters, Counters { joined: 3, confirmed: 3, released: 1, ..Counters::default() });
    assert_eq!(stats.waits.buckets.iter().sum::<u64>(), 1);
    assert!(
        !fixture.store().admit(&fixture.queue, guests[1].session).await.unwrap(),
        "an active session is not waiting"
    );
}

pub(super) async fn rule_10_admit_applies_to_waiting_sessions_only(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let (gone, away, expired) =
        (fixture.join_and_confirm().await, fixture.join_and_confirm().await, fixture.join().await);
    fixture.leave(&gone).await;
    fixture.away(&away).await;
    fixture.advance_seconds(30);
    for session in [gone.session, away.session, expired.session, SessionId::random()] {
        assert!(!fixture.store().admit(&fixture.queue, session).await.unwrap());
    }
    assert_eq!(fixture.counts().await, (0, 0));
    let unknown = random_queue_id();
    assert!(
        matches!(fixture.store().admit(&unknown, gone.session).await, Err(StoreError::UnknownQueue(id)) if id == unknown)
    );
}

pub(super) async fn rule_11_reset_empties_the_line_and_voids_tickets(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(3).await;
    let gone = fixture.join_and_confirm().await;
    fixture.leave(&gone).await;
    fixture.advance_seconds(5);
    let epoch = fixture.store().reset(&fixture.queue).await.unwrap();
    let stats = fixture.stats().await;
    assert_eq!((stats.waiting, stats.active, stats.rules.epoch), (0, 0, epoch));
    assert_eq!(
        (stats.counters, stats.waits, stats.state_since),
        (Counters::default(), Waits::default(), fixture.now())
    );
    assert_eq!(fixture.state(&gone).await, None, "tombstones are no longer needed");
    for (index, guest) in guests.iter_mut().enumerate().rev() {
        let session = guest.session;
        assert_eq!(fixture.keepalive(guest).await.kind, VisitKind::Absent);
        assert_eq!(fixture.visit(guest).await.kind, VisitKind::Joined, "{index}");
        assert_ne!(guest.session, session);
        assert_eq!(guest.ticket.epoch(), epoch);
    }
    assert!(fixture.is_in(&guests[2]).await, "the first arrival in the new line");
}

pub(super) async fn rule_11_every_reset_starts_another_epoch(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let first = fixture.store().reset(&fixture.queue).await.unwrap();
    assert_eq!(first, fixture.now().seconds());
    assert_eq!(fixture.store().reset(&fixture.queue).await.unwrap(), first + 1, "within the same second too");
    let settings = fixture.settings().await;
    assert_eq!((settings.line.epoch, settings.line.revision), (first + 1, 3));
}

pub(super) async fn rule_11_settings_with_another_epoch_start_a_new_line(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guests = fixture.arrivals(2).await;
    fixture.change(|settings| settings.line.quota = 9).await;
    assert_eq!(fixture.counts().await, (0, 2));
    fixture.change(|settings| settings.line.epoch = 7).await;
    assert_eq!(fixture.counts().await, (0, 0));
    let answer = fixture.keepalive(&guests[0]).await;
    assert_eq!((answer.epoch, answer.kind), (7, VisitKind::Absent));
}

pub(super) async fn rule_11_reset_epoch_survives_a_lost_state(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let old = fixture.join_and_confirm().await;
    fixture.store().reset(&fixture.queue).await.unwrap();
    let new = fixture.join_and_confirm().await;
    fixture.lose(PutMode::Restore).await;
    assert_eq!(fixture.keepalive(&old).await.kind, VisitKind::Absent);
    assert_eq!(fixture.keepalive(&new).await.kind, VisitKind::Restored);
}
