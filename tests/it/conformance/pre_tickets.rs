//! Rule 23: two-step admission.

use serde_json::{Value, json};
use vestibule_core::line::{Mode, Visit, VisitAnswer, VisitKind};
use vestibule_core::settings::{Access, Settings};
use vestibule_core::{Clock as _, FirstVisit, Micros, PreTicket, PutMode, SessionId};

use super::phases::event;
use crate::line_fixture::{LineFixture, START, StoreFixture};

const NETWORK: &str = "203.0.113.0/24";

/// The default protection: a pre-ticket is required from half of the quota on, and a first visit counts for 30 seconds.
fn protected(mut settings: Value) -> Value {
    settings["protection"] = json!({});
    settings
}

/// The same for all newcomers.
fn always(mut settings: Value) -> Value {
    settings["protection"] = json!({ "pre_ticket_from": 0 });
    settings
}

async fn newcomer(fixture: &LineFixture<'_>) -> VisitAnswer {
    fixture.visit_as(SessionId::random()).await
}

/// A first visit now, with these changes.
fn first_visit(fixture: &LineFixture<'_>) -> FirstVisit {
    FirstVisit::new(1, SessionId::random(), fixture.now())
}

fn signed(fixture: &LineFixture<'_>, visit: &FirstVisit) -> PreTicket {
    fixture.stores.pre_ticket(&fixture.queue, visit, [Some(NETWORK); 2])
}

/// The arrival of a session that has just joined by its pre-ticket.
fn arrival(answer: &VisitAnswer) -> Micros {
    assert_eq!(answer.kind, VisitKind::Joined);
    answer.session.unwrap().arrival
}

pub(super) async fn rule_23_first_visit_joins_while_slots_are_free(stores: &StoreFixture) {
    let fixture = stores.open(protected(json!({ "quota": 4 }))).await;
    for _ in 0..2 {
        let answer = newcomer(&fixture).await;
        assert_eq!((answer.kind, answer.session.unwrap().confirmed), (VisitKind::Joined, false));
    }
    let answer = newcomer(&fixture).await;
    assert_eq!((answer.kind, answer.session, answer.active), (VisitKind::NeedsPreTicket, None, 2), "half is in use");
}

pub(super) async fn rule_23_pre_ticket_is_required_while_slots_are_scarce(stores: &StoreFixture) {
    let fixture = stores.open(protected(json!({ "quota": 1, "mode": "paused" }))).await;
    assert_eq!(newcomer(&fixture).await.kind, VisitKind::Joined, "nobody waits and all slots are free");
    for _ in 0..100 {
        assert_eq!(newcomer(&fixture).await.kind, VisitKind::NeedsPreTicket, "a session waits");
    }
    let stats = fixture.stats().await;
    assert_eq!((stats.waiting, stats.counters.joined, stats.requires_pre_ticket()), (1, 1, true), "nothing is stored");
    assert_eq!(fixture.ask(None, None).await.kind, VisitKind::Absent, "only newcomers need one");
    fixture.change(|settings| settings.line.protection.pre_ticket_from = None).await;
    assert_eq!(newcomer(&fixture).await.kind, VisitKind::Joined);
}

pub(super) async fn rule_23_pre_ticket_is_required_in_recovery(stores: &StoreFixture) {
    let fixture = stores.open(protected(json!({ "quota": 4, "waiting_ttl": 60 }))).await;
    fixture.lose(PutMode::Restore).await;
    let answer = newcomer(&fixture).await;
    assert_eq!((answer.kind, answer.recovering), (VisitKind::NeedsPreTicket, true));
    fixture.advance_seconds(60);
    assert_eq!(newcomer(&fixture).await.kind, VisitKind::Joined);
}

pub(super) async fn rule_23_recent_first_visit_is_the_arrival(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 0 }))).await;
    let (early, later) =
        (first_visit(&fixture), FirstVisit { at: fixture.now().add_seconds(1), ..first_visit(&fixture) });
    fixture.advance_seconds(2);
    assert_eq!(arrival(&fixture.redeem(signed(&fixture, &later)).await), later.at);
    fixture.advance_seconds(28);
    let answer = fixture.redeem(signed(&fixture, &early)).await;
    assert_eq!((arrival(&answer), answer.session.unwrap().position), (early.at, 1), "at the maximum age");
    assert_eq!(fixture.line().await, [early.session, later.session]);
    let same = FirstVisit { session: SessionId::random(), ..early };
    assert_eq!(arrival(&fixture.redeem(signed(&fixture, &same)).await), early.at, "arrivals may be equal");
    let mut tied = [early.session, same.session];
    tied.sort();
    assert_eq!(fixture.line().await[..2], tied, "then the sessions decide");
}

pub(super) async fn rule_23_old_first_visit_joins_at_the_end(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 0 }))).await;
    let old = first_visit(&fixture);
    fixture.advance_seconds(10);
    fixture.redeem(fixture.first_visit()).await;
    fixture.advance_micros(20_000_001);
    let answer = fixture.redeem(signed(&fixture, &old)).await;
    assert_eq!((arrival(&answer), answer.session.unwrap().position), (fixture.now(), 2));
    let old = first_visit(&fixture);
    fixture.advance_seconds(2);
    fixture.change(|settings| settings.line.protection.pre_ticket_max_age = 1).await;
    assert_eq!(arrival(&fixture.redeem(signed(&fixture, &old)).await), fixture.now(), "the age is a setting");
}

pub(super) async fn rule_23_preserved_first_visit_counts_for_hold_ttl(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 0, "hold_ttl": 600 }))).await;
    let kept = FirstVisit { preserved: true, ..first_visit(&fixture) };
    let late = FirstVisit { session: SessionId::random(), ..kept };
    fixture.advance_seconds(600);
    assert_eq!(arrival(&fixture.redeem(signed(&fixture, &kept)).await), kept.at);
    fixture.advance_micros(1);
    assert_eq!(arrival(&fixture.redeem(signed(&fixture, &late)).await), fixture.now());
}

pub(super) async fn rule_23_first_visit_counts_from_its_network_only(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 0 }))).await;
    let (visit, networks) = (first_visit(&fixture), [Some(NETWORK), Some("198.51.100.0/24")]);
    let elsewhere = fixture.stores.pre_ticket(&fixture.queue, &visit, networks);
    let kept = FirstVisit { preserved: true, ..first_visit(&fixture) };
    let kept_elsewhere = fixture.stores.pre_ticket(&fixture.queue, &kept, networks);
    fixture.advance_seconds(1);
    assert_eq!(arrival(&fixture.redeem(elsewhere).await), fixture.now());
    assert_eq!(arrival(&fixture.redeem(kept_elsewhere).await), kept.at, "a preserved arrival counts anywhere");
}

pub(super) async fn rule_23_first_visit_of_the_future_joins_at_the_end(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 0 }))).await;
    let future = FirstVisit { at: Micros(fixture.now().0 + 1), preserved: true, ..first_visit(&fixture) };
    assert_eq!(arrival(&fixture.redeem(signed(&fixture, &future)).await), fixture.now());
}

pub(super) async fn rule_23_pre_ticket_is_one_session(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 1 }))).await;
    let pre_ticket = fixture.first_visit();
    let first = fixture.redeem(pre_ticket).await;
    assert_eq!((first.kind, first.active), (VisitKind::Joined, 1));
    for _ in 0..100 {
        let again = fixture.redeem(pre_ticket).await;
        assert_eq!((again.kind, again.session.unwrap().id), (VisitKind::Renewed, pre_ticket.session()));
    }
    let stats = fixture.stats().await;
    assert_eq!((stats.active, stats.waiting, stats.counters.joined), (1, 0, 1));
    assert_eq!(stats.counters.pre_tickets_redeemed, 1);
}

pub(super) async fn rule_23_pre_ticket_of_an_ended_session_joins_nobody(stores: &StoreFixture) {
    let fixture = stores.open(protected(json!({ "quota": 4 }))).await;
    let pre_ticket = fixture.first_visit();
    fixture.redeem(pre_ticket).await;
    fixture.store().end(&fixture.queue, pre_ticket.session()).await.unwrap();
    let answer = fixture.redeem(pre_ticket).await;
    assert_eq!((answer.kind, answer.session), (VisitKind::NeedsPreTicket, None), "whether one is required or not");
    assert_eq!(fixture.counts().await, (0, 0));
    fixture.change(|settings| settings.line.mode = Mode::Closed).await;
    assert_eq!(fixture.redeem(pre_ticket).await.kind, VisitKind::Absent);
}

pub(super) async fn rule_23_pre_ticket_of_another_epoch_joins_nobody(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 1 }))).await;
    let pre_ticket = fixture.first_visit();
    fixture.store().reset(&fixture.queue).await.unwrap();
    assert_eq!(fixture.redeem(pre_ticket).await.kind, VisitKind::NeedsPreTicket);
}

pub(super) async fn rule_23_redeemed_session_is_confirmed_at_once(stores: &StoreFixture) {
    let fixture =
        stores.open(always(json!({ "quota": 1, "waiting_ttl": 60, "active_ttl": 600, "claim_ttl": 30 }))).await;
    let active = fixture.redeem(fixture.first_visit()).await;
    let session = active.session.unwrap();
    assert_eq!((session.confirmed, session.expires_at), (true, fixture.now().add_seconds(600)));
    let waiting = fixture.redeem(fixture.first_visit()).await;
    let session = waiting.session.unwrap();
    assert_eq!((session.confirmed, session.expires_at), (true, fixture.now().add_seconds(60)));
    assert!(!fixture.stores.ticket(&fixture.queue, &waiting).unwrap().is_unconfirmed());
    let counters = fixture.stats().await.counters;
    assert_eq!((counters.joined, counters.confirmed), (2, 2));
}

pub(super) async fn rule_23_only_open_and_paused_queues_require_pre_tickets(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 1 }))).await;
    for (mode, kind) in [
        (Mode::Open, VisitKind::NeedsPreTicket),
        (Mode::Paused, VisitKind::NeedsPreTicket),
        (Mode::Closed, VisitKind::Absent),
        (Mode::Draining, VisitKind::Absent),
        (Mode::Bypass, VisitKind::Absent),
    ] {
        fixture.change(|settings| settings.line.mode = mode).await;
        assert_eq!(newcomer(&fixture).await.kind, kind, "{mode:?}");
        let stats = fixture.stats().await;
        assert_eq!(stats.requires_pre_ticket(), kind == VisitKind::NeedsPreTicket, "{mode:?}");
    }
}

pub(super) async fn rule_23_redeemer_obeys_the_mode_and_the_length_of_the_line(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 0, "max_waiting": 1 }))).await;
    let pre_ticket = fixture.first_visit();
    for mode in [Mode::Closed, Mode::Draining, Mode::Bypass] {
        fixture.change(|settings| settings.line.mode = mode).await;
        assert_eq!(fixture.redeem(pre_ticket).await.session, None, "{mode:?}");
    }
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
    let kept = FirstVisit { preserved: true, ..first_visit(&fixture) };
    fixture.redeem(pre_ticket).await;
    assert_eq!(
        fixture.redeem(signed(&fixture, &kept)).await.kind,
        VisitKind::Full,
        "a preserved arrival does not help"
    );
    assert_eq!(newcomer(&fixture).await.kind, VisitKind::Full);
    assert_eq!(fixture.counts().await, (1, 0));
}

pub(super) async fn rule_23_first_visits_of_a_lobby_count_from_the_start(stores: &StoreFixture) {
    let mut sale = event("sale", 0, 600, 4_000);
    for (field, value) in
        [("order", json!("draw")), ("draw_seconds", json!(30)), ("key", json!("s1")), ("salt", json!("a"))]
    {
        sale[field] = value;
    }
    let fixture =
        stores.open(always(json!({ "mode": "scheduled", "quota": 0, "hold_ttl": 1_200, "events": [sale] }))).await;
    fixture.advance_seconds(590);
    let in_lobby = FirstVisit { preserved: true, ..first_visit(&fixture) };
    assert_eq!(fixture.redeem(signed(&fixture, &in_lobby)).await.kind, VisitKind::Lobby, "a newcomer like others");
    fixture.advance_seconds(15);
    let started_at = Micros(fixture.now().0 - 5_000_000);
    let mut later = fixture.redeem(signed(&fixture, &FirstVisit { preserved: true, ..first_visit(&fixture) })).await;
    assert_eq!(arrival(&later), fixture.now());
    fixture.advance_seconds(30);
    let answer = fixture.redeem(signed(&fixture, &in_lobby)).await;
    assert_eq!(arrival(&answer), started_at, "behind everyone who is drawn");
    later = fixture.ask(fixture.stores.ticket(&fixture.queue, &later), None).await;
    assert_eq!((answer.session.unwrap().position, later.session.unwrap().position), (1, 2), "ahead of later visitors");
}

/// A first visit now, and one whose arrival is preserved.
fn first_visits(fixture: &LineFixture<'_>) -> [FirstVisit; 2] {
    [first_visit(fixture), FirstVisit { preserved: true, ..first_visit(fixture) }]
}

/// Pre-tickets that were collected while nobody could join are no head start.
pub(super) async fn rule_23_first_visits_count_from_when_the_queue_opens(stores: &StoreFixture) {
    let close: [fn(&mut Settings); 4] = [
        |settings| settings.line.mode = Mode::Closed,
        |settings| settings.line.mode = Mode::Draining,
        |settings| settings.line.mode = Mode::Bypass,
        |settings| settings.line.access = Some(Access::Invited),
    ];
    for (index, close) in close.into_iter().enumerate() {
        let fixture = stores.open(always(json!({ "quota": 0 }))).await;
        fixture.change(close).await;
        fixture.advance_seconds(5);
        let while_closed = first_visits(&fixture);
        fixture.advance_seconds(5);
        fixture.change(|settings| (settings.line.mode, settings.line.access) = (Mode::Open, None)).await;
        let opened_at = fixture.now();
        fixture.advance_seconds(1);
        let after = first_visit(&fixture);
        fixture.advance_seconds(1);
        fixture.change(|settings| settings.line.mode = Mode::Paused).await;
        fixture.advance_seconds(1);
        for visit in while_closed {
            assert_eq!(arrival(&fixture.redeem(signed(&fixture, &visit)).await), opened_at, "{index}");
        }
        assert_eq!(arrival(&fixture.redeem(signed(&fixture, &after)).await), after.at, "{index}");
    }
}

pub(super) async fn rule_23_first_visits_before_a_lobby_count_from_its_opening(stores: &StoreFixture) {
    for (between, mode) in [("bypass", Mode::Scheduled), ("closed", Mode::Scheduled), ("closed", Mode::Open)] {
        let begins = stores.clock.now().since(START) / 1_000_000;
        let sale = event("sale", begins + 20, begins + 80, begins + 4_000);
        let scheduled =
            json!({ "mode": "scheduled", "between_events": between, "quota": 0, "hold_ttl": 600, "events": [sale] });
        let fixture = stores.open(always(scheduled)).await;
        fixture.advance_seconds(7);
        let before = first_visits(&fixture);
        fixture.advance_seconds(13);
        let opened_at = fixture.now();
        fixture.advance_seconds(1);
        let visitor = first_visit(&fixture);
        // The operator opens the line before the start.
        fixture.change(|settings| settings.line.mode = mode).await;
        fixture.advance_seconds(1);
        assert_eq!(arrival(&fixture.redeem(signed(&fixture, &visitor)).await), visitor.at);
        for visit in before {
            assert_eq!(arrival(&fixture.redeem(signed(&fixture, &visit)).await), opened_at, "{between}, {mode:?}");
        }
    }
    let begins = stores.clock.now().since(START) / 1_000_000;
    let mut sale = event("sale", begins + 20, begins + 80, begins + 4_000);
    for (field, value) in
        [("order", json!("draw")), ("draw_seconds", json!(30)), ("key", json!("s1")), ("salt", json!("a"))]
    {
        sale[field] = value;
    }
    let fixture =
        stores.open(always(json!({ "mode": "scheduled", "quota": 0, "hold_ttl": 600, "events": [sale] }))).await;
    fixture.advance_seconds(7);
    let [_, before] = first_visits(&fixture);
    fixture.advance_seconds(75);
    let started_at = Micros(fixture.now().0 - 2_000_000);
    let answer = fixture.redeem(signed(&fixture, &before)).await;
    assert_eq!(arrival(&answer), started_at, "behind everyone who is drawn");
}

/// Tickets of direct joins may have been hoarded by bots before the store lost its state.
pub(super) async fn rule_23_direct_joins_never_exceed_the_quota_after_a_loss(stores: &StoreFixture) {
    let fixture = stores
        .open(json!({ "quota": 5, "waiting_ttl": 3, "claim_ttl": 1, "protection": { "pre_ticket_from": "none" } }))
        .await;
    let mut hoarded = fixture.join_many(60).await;
    fixture.lose(PutMode::Restore).await;
    for guest in &hoarded {
        let answer = fixture.keepalive(guest).await;
        assert!(answer.active <= 5, "{} are active", answer.active);
    }
    fixture.lose(PutMode::Restore).await;
    fixture.advance_seconds(1);
    for guest in &mut hoarded {
        assert_eq!(fixture.keepalive(guest).await.session, None, "no such ticket is valid after claim_ttl");
    }
}

/// 200 pre-tickets are collected for a minute and redeemed when the line has formed.
pub(super) async fn rule_23_hoarded_pre_tickets_gain_nothing(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 0 }))).await;
    let mut hoarded = Vec::new();
    for _ in 0..200 {
        hoarded.push(first_visit(&fixture));
        fixture.advance_micros(300_000);
    }
    let opened = fixture.now();
    for visit in &hoarded {
        let arrival = arrival(&fixture.redeem(signed(&fixture, visit)).await);
        let is_recent = opened.since(visit.at) <= 30_000_000;
        assert_eq!(arrival < opened, is_recent, "of {} us ago", opened.since(visit.at));
    }
    let mut entries = fixture.entries().await;
    entries.retain(|entry| entry.at < opened);
    let order: Vec<_> = entries.into_iter().map(|entry| entry.session).collect();
    let recent: Vec<_> = hoarded[100..].iter().map(|visit| visit.session).collect();
    assert_eq!(order, recent, "in the order of their first visits");
}

pub(super) async fn rule_23_issued_and_redeemed_pre_tickets_are_counted(stores: &StoreFixture) {
    let fixture = stores.open(always(json!({ "quota": 1 }))).await;
    let visit = |pre_tickets_issued| Visit { pre_tickets_issued, ..Visit::default() };
    for issued in [0, 3, 4] {
        fixture.store().visit(&fixture.queue, visit(issued)).await.unwrap();
    }
    fixture.redeem(fixture.first_visit()).await;
    let counters = fixture.stats().await.counters;
    assert_eq!((counters.pre_tickets_issued, counters.pre_tickets_redeemed), (7, 1));
}
