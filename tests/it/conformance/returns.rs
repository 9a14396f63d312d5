//! Rule 7: the ticket holds the position.

use serde_json::json;
use vestibule_core::line::{Counters, LineRules, Mode, Removed, Visit, VisitKind};
use vestibule_core::settings::Settings;
use vestibule_core::{PutMode, PutOutcome, SessionId};

use crate::line_fixture::{LineFixture, StoreFixture, TestVisitor, sessions};

pub(super) async fn rule_07_ticket_restores_its_original_arrival(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let mut guests = fixture.arrivals(3).await;
    let original = guests[0].arrival;
    fixture.advance_seconds(50);
    fixture.visit_all(&mut guests[1..]).await;
    fixture.advance_seconds(20);
    fixture.purge().await;
    assert_eq!(fixture.position(&guests[1]).await, Some(1), "absent visitors do not block");
    let answer = fixture.visit(&mut guests[0]).await;
    assert_eq!((answer.kind, answer.session.unwrap().position), (VisitKind::Restored, 1));
    assert_eq!(guests[0].arrival, original);
    assert_eq!(fixture.line().await, sessions(&guests));
    let expected = Counters { joined: 3, confirmed: 3, returned: 1, expired_waiting: 1, ..Counters::default() };
    assert_eq!(fixture.stats().await.counters, expected);
}

pub(super) async fn rule_07_keepalive_restores_a_session(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let guest = fixture.join_and_confirm().await;
    fixture.advance_seconds(100);
    assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Restored);
    assert_eq!(fixture.line().await, [guest.session]);
}

pub(super) async fn rule_07_ticket_holds_its_position_for_hold_ttl(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let mut guest = fixture.join_and_confirm().await;
    let session = guest.session;
    let old = guest.clone();
    for _ in 0..3 {
        fixture.advance_micros(600_000_000 - 1);
        assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Restored);
    }
    fixture.advance_seconds(600);
    fixture.purge().await;
    assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Absent, "a keepalive does not join");
    assert_eq!(fixture.keepalive(&old).await.kind, VisitKind::Absent);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Joined);
    assert_ne!(guest.session, session);
}

pub(super) async fn rule_07_missed_turn_returns_to_the_head(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(4).await;
    fixture.advance_seconds(20);
    fixture.visit_all(&mut guests).await;
    fixture.leave(&guests[0]).await;
    assert!(fixture.is_in(&guests[1]).await);
    fixture.advance_seconds(40);
    fixture.visit_all(&mut guests[2..]).await;
    assert!(fixture.is_in(&guests[2]).await, "the slot of the absent visitor was reassigned");
    let answer = fixture.visit(&mut guests[1]).await;
    assert_eq!((answer.kind, answer.session.unwrap().position), (VisitKind::Restored, 1));
    fixture.leave(&guests[2]).await;
    assert!(fixture.is_in(&guests[1]).await);
}

/// An admitted session that has expired.
async fn admitted_and_gone(fixture: &LineFixture<'_>) -> TestVisitor {
    let mut guest = fixture.join_and_confirm().await;
    fixture.advance_seconds(550);
    fixture.visit(&mut guest).await;
    fixture.advance_micros(600_000_000 - 1);
    fixture.lose(PutMode::Always).await;
    guest
}

pub(super) async fn rule_07_admitted_ticket_restores_an_active_session(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guest = admitted_and_gone(&fixture).await;
    let admitted_at = guest.ticket.admitted_at();
    let answer = fixture.visit(&mut guest).await;
    assert_eq!(answer.kind, VisitKind::Restored);
    assert_eq!(answer.session.unwrap().admitted_at, admitted_at, "the session continues");
    assert_eq!(fixture.expires_in(&guest).await, 600_000_000);
    let counters = fixture.stats().await.counters;
    assert_eq!((counters.returned, counters.admitted), (1, 0), "it is no new admission");
}

pub(super) async fn rule_07_admitted_ticket_is_valid_for_active_ttl(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "hold_ttl": 6000 })).await;
    let mut guest = admitted_and_gone(&fixture).await;
    fixture.advance_micros(1);
    assert_eq!(fixture.keepalive(&guest).await.kind, VisitKind::Absent);
    assert_eq!(fixture.visit(&mut guest).await.kind, VisitKind::Joined);
}

pub(super) async fn rule_07_admitted_ticket_without_free_slot_heads_the_line(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "active_ttl": 40 })).await;
    let mut guest = fixture.join_and_confirm().await;
    let arrival = guest.arrival;
    let others = fixture.arrivals(3).await;
    fixture.advance_seconds(38);
    fixture.visit(&mut guest).await;
    let mut others = others;
    fixture.visit_all(&mut others).await;
    fixture.advance_seconds(39);
    fixture.purge().await;
    assert!(fixture.is_in(&guest).await);
    // The ticket is valid for longer than the session that it is of.
    fixture.change(|settings| settings.line.active_ttl = 100).await;
    fixture.advance_seconds(1);
    fixture.visit(&mut others[0]).await;
    assert!(fixture.is_in(&others[0]).await, "the slot belongs to the next session");
    let answer = fixture.visit(&mut guest).await;
    assert_eq!((answer.kind, answer.active), (VisitKind::Restored, 1), "no session is admitted above the quota");
    assert_eq!(
        answer.session.map(|session| (session.position, session.arrival, session.admitted_at)),
        Some((1, arrival, None))
    );
    fixture.leave(&others[0]).await;
    assert!(fixture.is_in(&guest).await);
}

pub(super) async fn rule_07_old_ticket_of_an_active_session_is_that_session(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let (first, mut second) = (fixture.join_and_confirm().await, fixture.join_and_confirm().await);
    let old = second.clone();
    fixture.leave(&first).await;
    fixture.visit(&mut second).await;
    let answer = fixture.keepalive(&old).await;
    assert_eq!((answer.kind, answer.active), (VisitKind::Renewed, 1));
    assert!(answer.session.unwrap().admitted_at.is_some());
}

pub(super) async fn rule_07_order_survives_a_lost_state(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(5).await;
    fixture.advance_seconds(5);
    fixture.visit_all(&mut guests).await;
    fixture.lose(PutMode::Restore).await;
    assert!(fixture.stats().await.recovering);
    let newcomer = fixture.join_and_confirm().await;
    assert_eq!(fixture.position(&newcomer).await, Some(1), "no newcomer is admitted");
    let mut shuffled: Vec<TestVisitor> = [3, 1, 0, 4, 2].map(|index| guests[index].clone()).to_vec();
    fixture.visit_all(&mut shuffled).await;
    assert!(fixture.is_in(&guests[0]).await, "active sessions are active again");
    let order: Vec<_> = guests[1..].iter().chain([&newcomer]).map(|guest| guest.session).collect();
    assert_eq!(fixture.line().await, order);
}

pub(super) async fn rule_07_recovery_admits_no_newcomer_for_waiting_ttl(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 5 })).await;
    let mut guest = fixture.join_and_confirm().await;
    fixture.lose(PutMode::Restore).await;
    let state_since = fixture.now();
    let mut newcomer = fixture.join_and_confirm().await;
    assert_eq!(fixture.stats().await.state_since, state_since);
    fixture.advance_micros(20_000_000);
    assert!(fixture.visit(&mut newcomer).await.recovering);
    fixture.visit(&mut guest).await;
    fixture.advance_micros(40_000_000 - 2);
    assert!(fixture.visit(&mut newcomer).await.recovering);
    assert_eq!(fixture.counts().await, (1, 1));
    fixture.advance_micros(1);
    let answer = fixture.visit(&mut newcomer).await;
    assert!(!answer.recovering && fixture.is_in(&newcomer).await);
}

pub(super) async fn rule_07_ticket_older_than_the_state_starts_recovery(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(3).await;
    fixture.advance_seconds(1);
    fixture.lose(PutMode::Always).await;
    assert!(!fixture.stats().await.recovering, "the loss is not detected yet");
    fixture.advance_seconds(1);
    assert!(fixture.visit(&mut guests[2]).await.recovering);
    assert_eq!(
        fixture.position(&guests[2]).await,
        Some(1),
        "a slot is free, and two earlier arrivals have not returned yet"
    );
    fixture.visit_all(&mut guests[..2]).await;
    assert!(fixture.is_in(&guests[0]).await);
    fixture.advance_seconds(31);
    fixture.visit_all(&mut guests).await;
    fixture.advance_seconds(29);
    fixture.leave(&guests[0]).await;
    assert!(fixture.is_in(&guests[1]).await, "one waiting_ttl after it showed");
}

pub(super) async fn rule_07_void_old_ticket_does_not_start_recovery(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let guest = fixture.join_and_confirm().await;
    fixture.advance_seconds(1);
    fixture.store().reset(&fixture.queue).await.unwrap();
    fixture.advance_seconds(1);
    assert!(!fixture.keepalive(&guest).await.recovering, "it is of another epoch");
    let mut newcomer = fixture.join_and_confirm().await;
    fixture.advance_seconds(1);
    assert!(!fixture.visit(&mut newcomer).await.recovering, "its ticket is younger than the state");
}

pub(super) async fn rule_07_late_detected_loss_starts_one_recovery(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guests = fixture.arrivals(2).await;
    fixture.advance_seconds(1);
    fixture.lose(PutMode::Always).await;
    fixture.advance_seconds(60);
    assert!(fixture.visit(&mut guests[0]).await.recovering);
    assert!(fixture.is_in(&guests[0]).await);
    fixture.advance_seconds(60);
    assert!(!fixture.visit(&mut guests[1]).await.recovering, "recovery is over");
}

pub(super) async fn rule_07_recovery_restores_quota_and_the_rest_wait_first(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 4 })).await;
    let mut guests = fixture.arrivals(5).await;
    fixture.visit_all(&mut guests).await;
    fixture.change(|settings| settings.line.quota = 2).await;
    fixture.lose(PutMode::Restore).await;
    let mut backwards: Vec<TestVisitor> = guests.iter().rev().cloned().collect();
    fixture.visit_all(&mut backwards).await;
    assert_eq!(fixture.counts().await, (3, 2), "never above the quota");
    assert_eq!(fixture.line().await, sessions(&[guests[0].clone(), guests[1].clone(), guests[4].clone()]));
}

pub(super) async fn rule_07_newcomer_in_recovery_waits_behind_returners(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let mut guests = fixture.join_many(50).await;
    fixture.lose(PutMode::Restore).await;
    fixture.visit(&mut guests[49]).await;
    let newcomer = fixture.join().await;
    assert!(newcomer.arrival > guests[49].arrival, "though the clock is behind the arrivals given out before");
    fixture.visit_all(&mut guests[..49]).await;
    assert_eq!(fixture.position(&newcomer).await, Some(51));
}

pub(super) async fn rule_07_returner_waits_while_the_queue_is_paused(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut guest = fixture.join_and_confirm().await;
    fixture.lose(PutMode::Always).await;
    fixture.change(|settings| settings.line.mode = Mode::Paused).await;
    fixture.visit(&mut guest).await;
    assert!(fixture.is_in(&guest).await, "active sessions are active again");
}

pub(super) async fn rule_08_leave_of_an_expired_ticket_frees_no_reserved_slot(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 3, "active_ttl": 20, "claim_ttl": 10, "waiting_ttl": 10 })).await;
    let mut guests = fixture.arrivals(6).await;
    fixture.visit_all(&mut guests).await;
    let expired = guests[0].clone();
    for _ in 0..4 {
        fixture.advance_seconds(5);
        fixture.visit_all(&mut guests).await;
    }
    let recent = guests[1].clone();
    fixture.advance_seconds(5);
    fixture.lose(PutMode::Restore).await;
    fixture.visit_all(&mut guests[3..]).await;
    assert_eq!(fixture.stats().await.reserved, 3);
    assert_eq!(fixture.leave(&expired).await, Removed::Absent);
    assert_eq!(fixture.stats().await.reserved, 3, "this ticket could not restore its session");
    assert_eq!(fixture.leave(&recent).await, Removed::Absent);
    assert_eq!(fixture.stats().await.reserved, 2);
}

pub(super) async fn rule_07_slots_are_reserved_for_unreturned_sessions(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 3, "active_ttl": 100, "waiting_ttl": 10 })).await;
    let mut guests = fixture.arrivals(6).await;
    fixture.visit_all(&mut guests[..3]).await;
    let active = guests[..3].to_vec();
    fixture.lose(PutMode::Restore).await;
    fixture.advance_seconds(5);
    fixture.visit_all(&mut guests[3..]).await;
    assert_eq!(fixture.stats().await.reserved, 3, "their tickets say how many were active");
    fixture.visit(&mut guests[0]).await;
    fixture.advance_seconds(5);
    fixture.visit_all(&mut guests[3..]).await;
    let stats = fixture.stats().await;
    assert!(!stats.recovering, "the order is whole again");
    assert_eq!((stats.reserved, stats.active, stats.waiting), (2, 1, 3), "two slots are reserved");
    fixture.leave(&active[1]).await;
    assert!(fixture.is_in(&guests[3]).await, "leaving counts as a return");
    assert_eq!(fixture.stats().await.reserved, 1);
    for _ in 0..12 {
        fixture.advance_seconds(7);
        fixture.visit_all(&mut guests[3..]).await;
    }
    assert_eq!(fixture.position(&guests[4]).await, Some(1));
    fixture.advance_seconds(6);
    fixture.visit_all(&mut guests[3..]).await;
    assert!(fixture.is_in(&guests[4]).await, "a slot is reserved for active_ttl");
    assert_eq!(fixture.keepalive(&active[2]).await.kind, VisitKind::Absent);
}

pub(super) async fn rule_07_unnotified_admission_takes_its_reserved_slot(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 2 })).await;
    let mut guests = fixture.arrivals(5).await;
    fixture.advance_seconds(1);
    fixture.visit_all(&mut guests[1..]).await;
    fixture.advance_seconds(1);
    fixture.leave(&guests[0]).await;
    fixture.advance_seconds(1);
    fixture.visit(&mut guests[4]).await;
    fixture.advance_seconds(1);
    fixture.lose(PutMode::Restore).await;
    fixture.visit_all(&mut guests[3..]).await;
    assert_eq!((fixture.counts().await, fixture.stats().await.reserved), ((2, 0), 2));
    let answer = fixture.visit(&mut guests[2]).await;
    assert!(
        answer.recovering && fixture.is_in(&guests[2]).await,
        "a later arrival was waiting, so this one was not admitted"
    );
    assert_eq!(fixture.stats().await.reserved, 1, "it was one of the two");
    fixture.visit(&mut guests[1]).await;
    assert_eq!((fixture.counts().await, fixture.stats().await.reserved), ((2, 2), 0));
    assert_eq!(fixture.line().await, sessions(&guests[3..]));
}

/// An invited visitor waits with an earlier arrival than that of the active one.
pub(super) async fn rule_07_early_arrival_does_not_take_a_reserved_slot(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let mut active = fixture.join_and_confirm().await;
    let visit = Visit::invited(SessionId::random(), 60_000_000);
    let joined = fixture.store().visit(&fixture.queue, visit).await.unwrap();
    let ticket = stores.ticket(&fixture.queue, &joined).unwrap();
    let mut invited = TestVisitor { session: ticket.session(), arrival: ticket.arrival(), ticket };
    fixture.advance_seconds(1);
    fixture.visit(&mut invited).await;
    assert!(invited.arrival < active.arrival);
    fixture.advance_seconds(1);
    let mut later = fixture.join_and_confirm().await;
    fixture.advance_seconds(1);
    fixture.lose(PutMode::Restore).await;
    for guest in [&mut later, &mut invited] {
        assert_eq!(fixture.visit(guest).await.session.unwrap().admitted_at, None, "the slot is that of another");
    }
    fixture.visit(&mut active).await;
    assert!(fixture.is_in(&active).await);
    assert_eq!(fixture.line().await, [invited.session, later.session]);
}

pub(super) async fn rule_07_slot_ended_by_max_session_is_not_restored(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "max_session": 20 })).await;
    let mut guests = fixture.arrivals(3).await;
    stores.note(&fixture.queue);
    fixture.advance_seconds(1);
    fixture.visit_all(&mut guests[1..]).await;
    fixture.advance_seconds(1);
    fixture.leave(&guests[0]).await;
    fixture.advance_seconds(1);
    fixture.visit(&mut guests[2]).await;
    fixture.advance_seconds(1);
    stores.roll_back(&fixture.queue);
    assert!(fixture.visit(&mut guests[2]).await.recovering);
    fixture.advance_seconds(25);
    fixture.purge().await;
    let answer = fixture.visit(&mut guests[1]).await;
    assert_eq!(answer.kind, VisitKind::Renewed, "their slot no longer exists");
    assert_eq!(fixture.line().await, sessions(&guests[1..]));
}

pub(super) async fn rule_07_claim_prevented_by_the_loss_succeeds_later(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 0 })).await;
    let (mut early, mut late) = (fixture.join().await, fixture.join().await);
    let mut steady = fixture.join_and_confirm().await;
    fixture.advance_seconds(25);
    fixture.visit(&mut steady).await;
    fixture.advance_seconds(20);
    fixture.lose(PutMode::Restore).await;
    fixture.visit(&mut steady).await;
    fixture.advance_seconds(29);
    assert_eq!(fixture.visit(&mut early).await.kind, VisitKind::Restored, "the loss is not counted");
    fixture.advance_seconds(1);
    assert_eq!(fixture.visit(&mut late).await.kind, VisitKind::Joined, "claim_ttl after it");
}

pub(super) async fn rule_07_state_that_went_back_in_time_recovers(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "waiting_ttl": 10 })).await;
    let mut guests = fixture.arrivals(3).await;
    stores.note(&fixture.queue);
    fixture.advance_seconds(4);
    fixture.leave(&guests[0]).await;
    fixture.visit_all(&mut guests[1..]).await;
    assert!(fixture.is_in(&guests[1]).await);
    let newest = fixture.join_and_confirm().await;
    fixture.advance_seconds(1);
    stores.roll_back(&fixture.queue);
    let answer = fixture.keepalive(&newest).await;
    assert!(answer.recovering, "the ticket was signed in a gap of the state");
    assert_eq!(answer.kind, VisitKind::Restored);
    fixture.visit(&mut guests[2]).await;
    assert_eq!(
        fixture.line().await,
        sessions(&[guests[1].clone(), guests[2].clone(), newest.clone()]),
        "in the old order"
    );
    let back = fixture.visit(&mut guests[1]).await;
    assert_eq!((back.active, back.session.unwrap().position), (1, 1), "another holds the slot by this state");
}

pub(super) async fn rule_07_clock_stepping_back_blocks_no_visitor(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1, "admissions_per_minute": 60 })).await;
    let mut guests = fixture.arrivals(3).await;
    fixture.advance_seconds(2);
    stores.clock.step_back(3_600_000_000);
    assert!(!fixture.visit(&mut guests[1]).await.recovering);
    fixture.advance_seconds(1);
    fixture.leave(&guests[0]).await;
    assert!(fixture.is_in(&guests[1]).await, "admissions by rate continue as well");
    fixture.advance_seconds(1);
    fixture.leave(&guests[1]).await;
    assert!(fixture.is_in(&guests[2]).await);
    assert!(fixture.join_and_confirm().await.arrival > guests[2].arrival, "behind arrivals by the old clock");
}

pub(super) async fn rule_07_newer_settings_replace_restored_ones(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let old = fixture.settings().await;
    fixture.change(|settings| settings.line.quota = 2).await;
    let new = fixture.settings().await;
    stores.lose(&fixture.queue);
    let put = async |settings| fixture.store().put_settings(settings, PutMode::Restore).await.unwrap();
    assert_eq!(put(&old).await, PutOutcome::Stored(1), "an idle gate comes first");
    fixture.join_and_confirm().await;
    assert_eq!(put(&new).await, PutOutcome::Stored(2), "another knows better");
    assert_eq!(put(&old).await, PutOutcome::Conflict(2));
    assert_eq!(fixture.settings().await.line.quota, 2);
    fixture.change(|settings| settings.line.quota = 3).await;
    let newest = fixture.settings().await;
    let newer = Settings { line: LineRules { revision: 9, ..new.line.clone() }, ..new.clone() };
    assert_eq!(
        put(&newer).await,
        PutOutcome::Conflict(newest.line.revision),
        "an operator's settings are not provisional"
    );
}

pub(super) async fn rule_07_restored_settings_replace_no_created_ones(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let created = fixture.settings().await;
    fixture.change(|settings| settings.line.quota = 9).await;
    let held = fixture.settings().await;
    stores.lose(&fixture.queue);
    let put = async |settings, mode| fixture.store().put_settings(settings, mode).await.unwrap();
    assert_eq!(put(&created, PutMode::Always).await, PutOutcome::Stored(1), "a settings file, for example");
    assert_eq!(put(&held, PutMode::Restore).await, PutOutcome::Conflict(1));
    assert_eq!(fixture.settings().await.line.quota, 1);
}

pub(super) async fn rule_07_settings_of_a_removed_queue_replace_no_new_ones(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let new = fixture.settings().await;
    fixture.change(|settings| settings.line.quota = 9).await;
    let removed = fixture.settings().await;
    fixture.store().remove_queue(&fixture.queue).await.unwrap();
    let put = async |settings, mode| fixture.store().put_settings(settings, mode).await.unwrap();
    assert_eq!(put(&removed, PutMode::Restore).await, PutOutcome::Removed);
    assert_eq!(put(&new, PutMode::Always).await, PutOutcome::Stored(3), "it is created again");
    assert_eq!(put(&removed, PutMode::Restore).await, PutOutcome::Conflict(3));
    assert_eq!(fixture.settings().await.line.quota, 1);
}

pub(super) async fn rule_07_higher_ticket_epoch_replaces_a_restored_epoch(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let old = fixture.settings().await;
    let void = fixture.join_and_confirm().await;
    fixture.advance_seconds(1);
    let epoch = fixture.store().reset(&fixture.queue).await.unwrap();
    let mut guests = fixture.arrivals(2).await;
    stores.lose(&fixture.queue);
    fixture.store().put_settings(&old, PutMode::Restore).await.unwrap();
    assert_eq!(fixture.keepalive(&void).await.kind, VisitKind::Restored, "the loss is not detected yet");
    let answer = fixture.visit(&mut guests[1]).await;
    assert_eq!((answer.epoch, answer.kind), (epoch, VisitKind::Restored));
    assert!(answer.recovering && answer.revision > old.line.revision);
    assert_eq!(fixture.keepalive(&void).await.kind, VisitKind::Absent, "void as before");
    assert_eq!(fixture.settings().await.line.epoch, epoch);
}

pub(super) async fn rule_07_unconfirmed_ticket_is_valid_for_claim_ttl(stores: &StoreFixture) {
    let fixture = stores.open(json!({ "quota": 1 })).await;
    let hoarded = fixture.join_many(3).await;
    fixture.advance_seconds(30);
    fixture.lose(PutMode::Restore).await;
    for guest in &hoarded {
        assert_eq!(fixture.keepalive(guest).await.kind, VisitKind::Absent);
    }
    let mut in_time = fixture.join().await;
    fixture.advance_seconds(29);
    assert_eq!(fixture.visit(&mut in_time).await.kind, VisitKind::Renewed);
    fixture.advance_seconds(300);
    fixture.purge().await;
    assert_eq!(fixture.keepalive(&in_time).await.kind, VisitKind::Restored, "a confirmed ticket is valid longer");
}

pub(super) async fn rule_07_old_admitted_tickets_do_not_skip_the_line(stores: &StoreFixture) {
    let settings = json!({ "quota": 1, "active_ttl": 100, "claim_ttl": 70, "waiting_ttl": 60 });
    let fixture = stores.open(settings).await;
    let mut guests = fixture.arrivals(2).await;
    let old = guests[0].clone();
    assert!(old.ticket.admitted_at().is_some());
    fixture.advance_seconds(50);
    fixture.visit(&mut guests[1]).await;
    fixture.change(|settings| settings.line.active_ttl = 20).await;
    fixture.visit(&mut guests[0]).await;
    fixture.advance_seconds(19);
    fixture.change(|settings| settings.line.active_ttl = 100).await;
    fixture.advance_seconds(1);
    fixture.visit(&mut guests[1]).await;
    assert!(fixture.is_in(&guests[1]).await);
    for guest in [&guests[0], &old] {
        assert_eq!(fixture.keepalive(guest).await.session.unwrap().position, 1);
    }
    fixture.change(|settings| settings.line.waiting_ttl = 200).await;
    assert_eq!(fixture.keepalive(&old).await.session.unwrap().position, 1, "a longer TTL does not apply retroactively");
}

/// Their positions were lost, and those who wait have moved up.
pub(super) async fn rule_07_raised_ttl_makes_no_void_ticket_valid(stores: &StoreFixture) {
    let rules = json!({ "quota": 1, "waiting_ttl": 5, "claim_ttl": 3, "hold_ttl": 10, "active_ttl": 10 });
    let fixture = stores.open(rules).await;
    let mut admitted = fixture.join_and_confirm().await;
    fixture.visit(&mut admitted).await;
    let (mut ended, mut gone) = (fixture.join_and_confirm().await, fixture.join_and_confirm().await);
    let mut unconfirmed = fixture.join().await;
    fixture.end(&ended).await;
    let mut patient = fixture.join_and_confirm().await;
    for _ in 0..4 {
        fixture.advance_seconds(3);
        fixture.visit(&mut patient).await;
    }
    fixture.purge().await;
    fixture.change(|settings| settings.line.quota = 0).await;
    let mut away = fixture.join_and_confirm().await;
    fixture.advance_seconds(6);
    fixture
        .change(|settings| {
            let line = &mut settings.line;
            (line.waiting_ttl, line.claim_ttl, line.hold_ttl, line.active_ttl) = (60, 60, 600, 600);
        })
        .await;
    for void in [&mut ended, &mut gone, &mut unconfirmed, &mut admitted] {
        assert_eq!(fixture.visit(void).await.kind, VisitKind::Joined, "as a newcomer");
    }
    assert_eq!(fixture.visit(&mut away).await.kind, VisitKind::Restored, "it was valid when the TTL was raised");
    fixture.advance_seconds(20);
    assert_eq!(fixture.visit(&mut away).await.kind, VisitKind::Renewed);
    fixture.advance_seconds(100);
    assert_eq!(fixture.visit(&mut away).await.kind, VisitKind::Restored, "the new TTL is that of later tickets");
}

/// Nobody would be admitted, and slots would be reserved for sessions that are long gone.
pub(super) async fn rule_07_raised_ttl_prolongs_no_recovery(stores: &StoreFixture) {
    let rules = json!({ "quota": 2, "waiting_ttl": 5, "claim_ttl": 3, "hold_ttl": 10, "active_ttl": 10 });
    let fixture = stores.open(rules).await;
    let mut guests = fixture.arrivals(2).await;
    fixture.visit_all(&mut guests).await;
    assert_eq!(fixture.counts().await, (0, 2));
    fixture.lose(PutMode::Restore).await;
    fixture.visit(&mut guests[0]).await;
    assert!(fixture.stats().await.recovering);
    fixture.advance_seconds(11);
    fixture.purge().await;
    let over = fixture.stats().await;
    assert_eq!((over.recovering, over.reserved), (false, 0));
    fixture
        .change(|settings| {
            (settings.line.waiting_ttl, settings.line.hold_ttl, settings.line.active_ttl) = (60, 600, 600);
        })
        .await;
    let stats = fixture.stats().await;
    assert_eq!((stats.recovering, stats.reserved), (false, 0));
    let mut newcomers = fixture.arrivals(2).await;
    assert!(!fixture.visit(&mut newcomers[0]).await.restoring);
    assert_eq!(fixture.counts().await, (0, 2));
}
