//! Attack mode.

use serde_json::{Value, json};
use vestibule_core::line::{
    ADDRESS_LIMITS_FROM, ATTACK_MODE_MAX, AttackModeChange, BLOCKED_RETRY, ClientAddressState, JoinClient,
    JoinRejection, Mode, RejectionReason, VisitKind,
};
use vestibule_core::{DIFFICULTY_MAX, NetworkClass, SessionId};

use super::limits::{client, join, joins, limits, others, rejection};
use crate::line_fixture::{LineFixture, START, StoreFixture};

async fn set(fixture: &LineFixture<'_>, seconds: u64) -> AttackModeChange {
    fixture.store().set_attack_mode(&fixture.queue, seconds).await.unwrap()
}

/// What becomes of a client without a pre-ticket.
async fn newcomer(fixture: &LineFixture<'_>) -> VisitKind {
    fixture.visit_as(SessionId::random()).await.kind
}

/// How many of these sessions join by their pre-tickets, from one client. All of them have proven work.
async fn redeemers(fixture: &LineFixture<'_>, client: JoinClient, count: usize) -> usize {
    let mut joined = 0;
    for _ in 0..count {
        let pre_ticket = fixture.first_visit().proving(0, DIFFICULTY_MAX, fixture.now()).unwrap();
        joined += usize::from(fixture.redeem_as(pre_ticket, client).await.kind == VisitKind::Joined);
    }
    joined
}

fn rejecting(per_address: u64, per_network: u64) -> Value {
    limits(json!({ "on_exceed": "reject", "per_address": per_address, "per_network": per_network }))
}

pub(super) async fn attack_mode_always_requires_pre_tickets(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({ "mode": "off" }))).await;
    assert_eq!(newcomer(&fixture).await, VisitKind::Joined, "the settings use no pre-tickets");
    set(&fixture, 60).await;
    assert_eq!(newcomer(&fixture).await, VisitKind::NeedsPreTicket);
    assert!(fixture.stats().await.requires_pre_ticket());
    assert_eq!(redeemers(&fixture, JoinClient::default(), 1).await, 1);
    fixture.change(|settings| settings.line.mode = Mode::Closed).await;
    assert_eq!(newcomer(&fixture).await, VisitKind::Absent, "nobody can join");
}

pub(super) async fn attack_mode_enforces_half_of_the_limits(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(11, 60_000)).await;
    others(&fixture).await;
    let office = client(&fixture, "203.0.113.9");
    assert_eq!(joins(&fixture, office, 3).await, 3);
    set(&fixture, 600).await;
    assert_eq!(redeemers(&fixture, office, 10).await, 2, "5 with those before");
    let counters = fixture.stats().await.limits.counters;
    assert_eq!((counters.rejected_limit, counters.over_address), (8, 8));
    set(&fixture, 0).await;
    assert_eq!(joins(&fixture, office, 10).await, 10, "the settings only monitor");
}

pub(super) async fn attack_mode_rejects_suspicious_networks(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    let suspicious = JoinClient { class: Some(NetworkClass::Suspicious), ..client(&fixture, "203.0.113.9") };
    let blocked = JoinClient { class: Some(NetworkClass::Blocked), ..suspicious };
    assert_eq!((joins(&fixture, suspicious, 2).await, joins(&fixture, blocked, 2).await), (2, 2));
    set(&fixture, 60).await;
    let expected = Some(JoinRejection { reason: RejectionReason::Blocked, retry_after: BLOCKED_RETRY });
    for client in [suspicious, blocked] {
        let pre_ticket = fixture.first_visit();
        assert_eq!(rejection(&fixture.redeem_as(pre_ticket, client).await), expected);
    }
    assert_eq!(fixture.stats().await.limits.counters.rejected_blocked, 2);
}

pub(super) async fn attack_mode_applies_to_the_next_request_and_ends_by_itself(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    assert_eq!(set(&fixture, 60).await, AttackModeChange { before: None, until: Some(START.add_seconds(60)) });
    let answer = fixture.visit_as(SessionId::random()).await;
    assert_eq!((answer.kind, answer.attack_mode), (VisitKind::NeedsPreTicket, true));
    assert_eq!(fixture.stats().await.attack_mode_until, Some(START.add_seconds(60)));
    fixture.advance_micros(59_999_999);
    assert_eq!(newcomer(&fixture).await, VisitKind::NeedsPreTicket);
    fixture.advance_micros(1);
    let answer = fixture.visit_as(SessionId::random()).await;
    assert_eq!((answer.kind, answer.attack_mode), (VisitKind::Joined, false));
    assert_eq!(fixture.stats().await.attack_mode_until, None);
}

pub(super) async fn attack_mode_can_be_extended_and_ended(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    let first = set(&fixture, 60).await.until;
    fixture.advance_seconds(30);
    let change = set(&fixture, 60).await;
    assert_eq!(change, AttackModeChange { before: first, until: Some(START.add_seconds(90)) });
    assert_eq!(set(&fixture, 0).await, AttackModeChange { before: change.until, until: None });
    assert_eq!(set(&fixture, 0).await, AttackModeChange::default(), "it is off");
    assert_eq!(newcomer(&fixture).await, VisitKind::Joined);
    let longest = set(&fixture, u64::MAX >> 12).await.until;
    assert_eq!(longest, Some(fixture.now().add_seconds(ATTACK_MODE_MAX)));
}

pub(super) async fn attack_mode_does_not_apply_limits_to_unreliable_addresses(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(1, 1)).await;
    set(&fixture, 600).await;
    let proxy = JoinClient { extra_hops: true, ..client(&fixture, "203.0.113.9") };
    let count = ADDRESS_LIMITS_FROM as usize + 10;
    assert_eq!(redeemers(&fixture, proxy, count).await, count);
    assert_eq!(fixture.stats().await.limits.client_address, Some(ClientAddressState::ExtraProxy));
}

pub(super) async fn attack_mode_survives_changed_settings_and_not_a_reset(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    set(&fixture, 600).await;
    fixture.change(|settings| settings.line.quota = 7).await;
    assert_eq!(newcomer(&fixture).await, VisitKind::NeedsPreTicket);
    fixture.store().reset(&fixture.queue).await.unwrap();
    assert_eq!(fixture.stats().await.attack_mode_until, None);
    assert_eq!(newcomer(&fixture).await, VisitKind::Joined);
}

pub(super) async fn attack_mode_lasts_as_long_after_the_clock_stepped_back(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    fixture.advance_seconds(1_000);
    set(&fixture, 60).await;
    join(&fixture, JoinClient::default()).await;
    stores.clock.step_back(500_000_000);
    assert_eq!(newcomer(&fixture).await, VisitKind::NeedsPreTicket);
    assert_eq!(fixture.stats().await.attack_mode_until, Some(fixture.now().add_seconds(60)));
}
