//! Rules 9 to 11: modes, releases and resets.

use serde_json::json;
use vestibule_core::line::{Counters, Mode, RELEASE_BATCH, VisitKind, Waits};
use vestibule_core::{PutMode, PutOutcome, SessionId, StoreError};

use crate::room::{Bench, random_queue, sessions};

pub(super) async fn rule_09_open_admits_while_slots_are_free(bench: &Bench) {
    let room = bench.open(json!({ "quota": 2, "mode": "open" })).await;
    let answers = [room.visit_as(SessionId::random()).await, room.visit_as(SessionId::random()).await];
    for answer in answers {
        assert_eq!((answer.mode, answer.kind), (Mode::Open, VisitKind::Joined));
        assert_eq!(answer.place.unwrap().admitted_at, Some(room.now()));
    }
    assert_eq!(room.visit_as(SessionId::random()).await.place.unwrap().position, 1);
}

pub(super) async fn rule_09_bypass_stores_nothing(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let guests = room.arrivals(2).await;
    room.change(|settings| settings.line.mode = Mode::Bypass).await;
    let before = room.stats().await;
    for answer in [room.visit_as(SessionId::random()).await, room.keepalive(&guests[1]).await] {
        assert_eq!((answer.mode, answer.place), (Mode::Bypass, None));
        assert_eq!(answer.kind, VisitKind::Absent);
    }
    assert_eq!(room.stats().await, before);
}

pub(super) async fn rule_09_line_is_unchanged_after_bypass(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let guests = room.arrivals(3).await;
    room.change(|settings| settings.line.mode = Mode::Bypass).await;
    room.pass(20);
    room.change(|settings| settings.line.mode = Mode::Open).await;
    assert_eq!(room.line().await, sessions(&guests));
}

pub(super) async fn rule_09_paused_accepts_joins_without_admission(bench: &Bench) {
    let room = bench.open(json!({ "quota": 2 })).await;
    let inside = room.arrive().await;
    room.change(|settings| settings.line.mode = Mode::Paused).await;
    let waiting = room.arrivals(3).await;
    assert_eq!(room.counts().await, (3, 1));
    room.leave(&inside).await;
    assert_eq!(room.counts().await, (3, 0));
    room.change(|settings| settings.line.mode = Mode::Open).await;
    assert_eq!(room.line().await, [waiting[2].session]);
}

pub(super) async fn rule_09_closed_rejects_joins_and_keeps_active_sessions(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guests = room.arrivals(2).await;
    room.change(|settings| settings.line.mode = Mode::Closed).await;
    let answer = room.visit_as(SessionId::random()).await;
    assert_eq!((answer.mode, answer.kind, answer.place), (Mode::Closed, VisitKind::Absent, None));
    room.pass(50);
    room.visit_all(&mut guests).await;
    assert!(room.is_in(&guests[0]).await);
    assert_eq!(room.expires_in(&guests[0]).await, 600_000_000);
    room.leave(&guests[0]).await;
    assert_eq!(room.counts().await, (1, 0), "no session is admitted, and the line is unchanged");
}

pub(super) async fn rule_09_draining_rejects_joins_and_admits_in_order(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let guests = room.arrivals(3).await;
    room.change(|settings| settings.line.mode = Mode::Draining).await;
    let answer = room.visit_as(SessionId::random()).await;
    assert_eq!((answer.mode, answer.kind, answer.place), (Mode::Draining, VisitKind::Absent, None));
    room.leave(&guests[0]).await;
    assert_eq!(room.line().await, [guests[2].session]);
    room.change(|settings| settings.line.quota = 5).await;
    assert!(room.is_in(&guests[2]).await);
    let answer = room.visit_as(SessionId::random()).await;
    assert_eq!(
        (answer.place, answer.waiting, answer.active),
        (None, 0, 2),
        "slots are free, and newcomers are rejected"
    );
}

pub(super) async fn rule_09_draining_restores_absent_visitors(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let inside = room.arrive().await;
    let (mut away, waiting) = (room.arrive().await, room.arrive().await);
    room.away(&away).await;
    room.change(|settings| settings.line.mode = Mode::Draining).await;
    assert_eq!(room.visit(&mut away).await.kind, VisitKind::Restored);
    assert_eq!(room.line().await, [away.session, waiting.session]);
    room.leave(&inside).await;
    assert!(room.is_in(&away).await);
}

pub(super) async fn rule_09_drained_queue_closes_after_tickets_expire(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "hold_ttl": 100, "active_ttl": 1000 })).await;
    let mut inside = room.arrive().await;
    let gone = room.arrive().await;
    room.change(|settings| settings.line.mode = Mode::Draining).await;
    room.purge().await;
    room.away(&gone).await;
    room.purge().await;
    room.pass(99);
    assert_eq!(room.store().purge(&room.queue, 500).await.unwrap().closed, None);
    assert_eq!(room.settings().await.line.mode, Mode::Draining, "a ticket still holds a position");
    room.pass(1);
    assert_eq!(room.store().purge(&room.queue, 500).await.unwrap().closed, Some(3));
    let settings = room.settings().await;
    assert_eq!((settings.line.mode, settings.line.revision), (Mode::Closed, 3));
    let listed = room.store().queues().await.unwrap();
    assert!(listed.contains(&(room.queue.clone(), 3)), "the index says so too");
    assert_eq!(room.store().purge(&room.queue, 500).await.unwrap().closed, None, "written once");
    let stale = room.store().put_settings(&settings, PutMode::IfRevision(2)).await.unwrap();
    assert_eq!(stale, PutOutcome::Conflict(3), "an outdated writer does not reopen it");
    let answer = room.visit(&mut inside).await;
    assert_eq!((answer.mode, answer.revision), (Mode::Closed, 3));
    assert!(room.is_in(&inside).await, "active sessions stay");
}

pub(super) async fn rule_09_return_to_a_drained_queue_delays_closing(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0, "hold_ttl": 100 })).await;
    let mut guest = room.arrive().await;
    room.change(|settings| settings.line.mode = Mode::Draining).await;
    room.away(&guest).await;
    room.purge().await;
    room.pass(99);
    assert_eq!(room.visit(&mut guest).await.kind, VisitKind::Restored);
    room.away(&guest).await;
    room.pass(1);
    room.purge().await;
    assert_eq!(room.settings().await.line.mode, Mode::Draining, "the hold time starts over");
    room.pass(98);
    assert_eq!(room.visit(&mut guest).await.kind, VisitKind::Restored);
    room.purge().await;
    room.pass(59);
    room.purge().await;
    assert_eq!(room.line().await, [guest.session]);
    assert_eq!(room.settings().await.line.mode, Mode::Draining, "a session is waiting");
}

pub(super) async fn rule_09_canceled_drain_starts_over(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1, "hold_ttl": 100 })).await;
    room.change(|settings| settings.line.mode = Mode::Draining).await;
    room.purge().await;
    room.pass(90);
    room.change(|settings| settings.line.mode = Mode::Open).await;
    room.purge().await;
    room.change(|settings| settings.line.mode = Mode::Draining).await;
    room.pass(10);
    room.purge().await;
    room.pass(99);
    room.purge().await;
    assert_eq!(room.settings().await.line.mode, Mode::Draining);
    room.pass(1);
    room.purge().await;
    assert_eq!(room.settings().await.line.mode, Mode::Closed);
    room.pass(1000);
    room.purge().await;
    assert_eq!(room.settings().await.line.revision, 5, "written once");
}

pub(super) async fn rule_09_draining_queue_in_recovery_waits_for_tickets(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0, "hold_ttl": 100 })).await;
    let mut guest = room.arrive().await;
    room.change(|settings| settings.line.mode = Mode::Draining).await;
    room.purge().await;
    room.lose(PutMode::Restore).await;
    room.purge().await;
    room.pass(99);
    room.purge().await;
    assert_eq!(room.visit(&mut guest).await.kind, VisitKind::Restored);
    room.change(|settings| settings.line.quota = 1).await;
    assert!(room.is_in(&guest).await);
}

pub(super) async fn rule_10_release_ignores_quota_rate_and_pause(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0, "admissions_per_minute": 1, "mode": "paused" })).await;
    let guests = room.arrivals(6).await;
    assert_eq!(room.release(4).await, 4);
    assert_eq!(room.line().await, sessions(&guests[4..]));
    assert_eq!(room.expires_in(&guests[0]).await, 30_000_000, "absent visitors have to claim their slots");
    assert_eq!(room.release(9).await, 2);
    assert_eq!(room.release(1).await, 0);
    assert_eq!(room.stats().await.counters, Counters { joined: 6, confirmed: 6, released: 6, ..Counters::default() });
}

pub(super) async fn rule_10_release_does_not_consume_the_rate(bench: &Bench) {
    let room = bench.open(json!({ "quota": 99, "admissions_per_minute": 60, "mode": "paused" })).await;
    room.arrivals(4).await;
    assert_eq!(room.release(2).await, 2);
    room.change(|settings| settings.line.mode = Mode::Open).await;
    assert_eq!(room.counts().await, (1, 3));
}

pub(super) async fn rule_10_release_skips_expired_sessions(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    room.joiners(50).await;
    let mut present = room.arrivals(3).await;
    room.pass(29);
    room.visit_all(&mut present).await;
    room.pass(1);
    assert_eq!(room.release(2).await, 2);
    assert_eq!(room.line().await, [present[2].session]);
    let expected = Counters { joined: 53, confirmed: 3, released: 2, expired_waiting: 50, ..Counters::default() };
    assert_eq!(room.stats().await.counters, expected);
}

pub(super) async fn rule_10_one_release_admits_at_most_500(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    room.joiners(RELEASE_BATCH + 3).await;
    assert_eq!(room.release(u64::MAX).await, RELEASE_BATCH as u64);
    assert_eq!(room.counts().await, (3, RELEASE_BATCH as u64));
}

pub(super) async fn rule_10_quota_applies_again_after_a_release(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let guests = room.arrivals(5).await;
    assert_eq!(room.release(2).await, 2);
    assert_eq!(room.counts().await, (2, 3));
    for (leaver, counts) in [(0, (2, 2)), (1, (2, 1)), (2, (1, 1))] {
        room.leave(&guests[leaver]).await;
        assert_eq!(room.counts().await, counts);
    }
}

pub(super) async fn rule_10_admit_ignores_quota_rate_pause_and_order(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0, "admissions_per_minute": 1, "mode": "paused" })).await;
    let guests = room.arrivals(3).await;
    assert!(room.store().admit(&room.queue, guests[1].session).await.unwrap());
    assert!(room.is_in(&guests[1]).await);
    assert_eq!(room.line().await, [guests[0].session, guests[2].session], "the others keep their order");
    assert_eq!(room.expires_in(&guests[1]).await, 30_000_000, "absent visitors have to claim their slots");
    let stats = room.stats().await;
    assert_eq!(stats.counters, Counters { joined: 3, confirmed: 3, released: 1, ..Counters::default() });
    assert_eq!(stats.waits.buckets.iter().sum::<u64>(), 1);
    assert!(!room.store().admit(&room.queue, guests[1].session).await.unwrap(), "an active session is not waiting");
}

pub(super) async fn rule_10_admit_applies_to_waiting_sessions_only(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let (gone, away, lapsed) = (room.arrive().await, room.arrive().await, room.join().await);
    room.leave(&gone).await;
    room.away(&away).await;
    room.pass(30);
    for session in [gone.session, away.session, lapsed.session, SessionId::random()] {
        assert!(!room.store().admit(&room.queue, session).await.unwrap());
    }
    assert_eq!(room.counts().await, (0, 0));
    let unknown = random_queue();
    assert!(
        matches!(room.store().admit(&unknown, gone.session).await, Err(StoreError::UnknownQueue(id)) if id == unknown)
    );
}

pub(super) async fn rule_11_reset_empties_the_line_and_voids_tickets(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let mut guests = room.arrivals(3).await;
    let gone = room.arrive().await;
    room.leave(&gone).await;
    room.pass(5);
    let epoch = room.store().reset(&room.queue).await.unwrap();
    let stats = room.stats().await;
    assert_eq!((stats.waiting, stats.active, stats.rules.epoch), (0, 0, epoch));
    assert_eq!((stats.counters, stats.waits, stats.state_since), (Counters::default(), Waits::default(), room.now()));
    assert_eq!(room.state(&gone).await, None, "tombstones are no longer needed");
    for (index, guest) in guests.iter_mut().enumerate().rev() {
        let session = guest.session;
        assert_eq!(room.keepalive(guest).await.kind, VisitKind::Absent);
        assert_eq!(room.visit(guest).await.kind, VisitKind::Joined, "{index}");
        assert_ne!(guest.session, session);
        assert_eq!(guest.ticket.epoch(), epoch);
    }
    assert!(room.is_in(&guests[2]).await, "the first arrival in the new line");
}

pub(super) async fn rule_11_every_reset_starts_another_epoch(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let first = room.store().reset(&room.queue).await.unwrap();
    assert_eq!(first, room.now().seconds());
    assert_eq!(room.store().reset(&room.queue).await.unwrap(), first + 1, "within the same second too");
    let settings = room.settings().await;
    assert_eq!((settings.line.epoch, settings.line.revision), (first + 1, 3));
}

pub(super) async fn rule_11_settings_with_another_epoch_start_a_new_line(bench: &Bench) {
    let room = bench.open(json!({ "quota": 1 })).await;
    let guests = room.arrivals(2).await;
    room.change(|settings| settings.line.quota = 9).await;
    assert_eq!(room.counts().await, (0, 2));
    room.change(|settings| settings.line.epoch = 7).await;
    assert_eq!(room.counts().await, (0, 0));
    let answer = room.keepalive(&guests[0]).await;
    assert_eq!((answer.epoch, answer.kind), (7, VisitKind::Absent));
}

pub(super) async fn rule_11_reset_epoch_survives_a_lost_state(bench: &Bench) {
    let room = bench.open(json!({ "quota": 0 })).await;
    let old = room.arrive().await;
    room.store().reset(&room.queue).await.unwrap();
    let new = room.arrive().await;
    room.lose(PutMode::Restore).await;
    assert_eq!(room.keepalive(&old).await.kind, VisitKind::Absent);
    assert_eq!(room.keepalive(&new).await.kind, VisitKind::Restored);
}
