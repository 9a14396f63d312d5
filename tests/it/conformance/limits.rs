//! Limits of joins by client address and network.

use serde_json::{Value, json};
use vestibule_core::line::{
    ADDRESS_LIMITS_FROM, BLOCKED_RETRY, ClientAddressState, ClientDigests, JoinClient, JoinRejection, LimitStats,
    RejectionReason, Visit, VisitAnswer, VisitKind,
};
use vestibule_core::{
    ClientNetworks, JOIN_WINDOW, NetworkClass, NetworkPrefix, PrefixKind, QueueId, SessionId, TicketSigner,
};

use crate::line_fixture::{LineFixture, StoreFixture, keys_of};

/// A paused queue with these limits, so that nobody is admitted.
pub(super) fn limits(mut protection: Value) -> Value {
    protection["pre_ticket_from"] = json!("none");
    json!({ "mode": "paused", "protection": protection })
}

pub(super) fn rejecting(per_address: u64, per_network: u64) -> Value {
    limits(json!({ "mode": "enforce", "on_exceed": "reject", "per_address": per_address, "per_network": per_network }))
}

/// The client with this address.
pub(crate) fn client(fixture: &LineFixture<'_>, address: &str) -> JoinClient {
    client_of(&fixture.stores.signer, &fixture.queue, address)
}

/// The client with this address, as a gate with this signer knows it.
pub(crate) fn client_of(signer: &TicketSigner, queue: &QueueId, address: &str) -> JoinClient {
    let networks = ClientNetworks::of(address.parse().unwrap()).unwrap();
    let digest = |kind, prefix: String| signer.prefix_digest(kind, queue, 1, &prefix).unwrap();
    let prefixes = ClientDigests {
        address: digest(PrefixKind::Address, networks.address.to_string()),
        network: digest(PrefixKind::Network, networks.network.to_string()),
    };
    let network = Some(NetworkPrefix::of(networks.network));
    JoinClient { prefixes: Some(prefixes), network, ..JoinClient::default() }
}

pub(super) async fn join(fixture: &LineFixture<'_>, client: JoinClient) -> VisitAnswer {
    let visit = Visit { client, ..Visit::joining(SessionId::random()) };
    fixture.store().visit(&fixture.queue, visit).await.unwrap()
}

/// How many of this many joins are not rejected.
pub(super) async fn joins(fixture: &LineFixture<'_>, client: JoinClient, count: usize) -> usize {
    let mut joined = 0;
    for _ in 0..count {
        joined += usize::from(join(fixture, client).await.kind == VisitKind::Joined);
    }
    joined
}

/// Joins of other clients, so that the limits of addresses apply.
pub(crate) async fn others(fixture: &LineFixture<'_>) {
    for number in 0..ADDRESS_LIMITS_FROM {
        let other = client(fixture, &format!("198.51.{number}.1"));
        assert_eq!(join(fixture, other).await.kind, VisitKind::Joined);
    }
}

pub(super) fn rejection(answer: &VisitAnswer) -> Option<JoinRejection> {
    if let VisitKind::Rejected(rejection) = answer.kind { Some(rejection) } else { None }
}

pub(super) async fn monitor_affects_nobody(stores: &StoreFixture) {
    let fixture = stores.open(limits(json!({}))).await;
    others(&fixture).await;
    let office = client(&fixture, "203.0.113.9");
    assert_eq!(joins(&fixture, office, 150).await, 150);
    let limits = fixture.stats().await.limits;
    assert_eq!((limits.counters.over_address, limits.counters.rejected_limit), (130, 0), "reported above 20");
    assert_eq!(limits.client_address, Some(ClientAddressState::Ok));
}

pub(super) async fn reject_limits_one_address(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(5, 400)).await;
    others(&fixture).await;
    let (one, neighbor) = (client(&fixture, "203.0.113.9"), client(&fixture, "203.0.113.10"));
    assert_eq!(joins(&fixture, one, 50).await, 5);
    let rejected = rejection(&join(&fixture, one).await).unwrap();
    assert_eq!(rejected.reason, RejectionReason::Limit);
    assert!((1..=JOIN_WINDOW).contains(&rejected.retry_after), "{rejected:?}");
    assert_eq!(joins(&fixture, neighbor, 5).await, 5, "another address of the network");
    let limits = fixture.stats().await.limits.counters;
    assert_eq!((limits.over_address, limits.over_network, limits.rejected_limit), (46, 0, 46));
}

pub(super) async fn reject_limits_one_network(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(5, 8)).await;
    others(&fixture).await;
    let mut joined = 0;
    for number in 0..20 {
        joined += joins(&fixture, client(&fixture, &format!("203.0.113.{number}")), 1).await;
    }
    assert_eq!(joined, 8);
    assert_eq!(joins(&fixture, client(&fixture, "203.0.114.1"), 1).await, 1, "another network");
}

pub(super) async fn limits_do_not_apply_below_twenty_joins(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(1, 1)).await;
    let one = client(&fixture, "203.0.113.9");
    assert_eq!(joins(&fixture, one, 30).await as u64, ADDRESS_LIMITS_FROM);
}

pub(super) async fn extra_proxy_disables_limits(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(1, 1)).await;
    let proxies = [0, 1].map(|number| client(&fixture, &format!("203.0.11{number}.1")));
    for proxy in proxies.map(|proxy| JoinClient { extra_hops: true, ..proxy }) {
        assert_eq!(joins(&fixture, proxy, 25).await, 25);
    }
    assert_eq!(fixture.stats().await.limits.client_address, Some(ClientAddressState::ExtraProxy));
    fixture.advance_seconds(JOIN_WINDOW);
    assert_eq!(
        joins(&fixture, JoinClient { extra_hops: true, ..proxies[0] }, 25).await,
        25,
        "in the next window as well"
    );
}

pub(super) async fn joins_without_address_are_not_limited(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(1, 1)).await;
    assert_eq!(joins(&fixture, JoinClient::default(), 30).await, 30);
    assert_eq!(fixture.stats().await.limits.client_address, Some(ClientAddressState::Unusable));
}

pub(super) async fn shared_network_counts_as_a_part(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(2, 400)).await;
    others(&fixture).await;
    let carrier = JoinClient { class: Some(NetworkClass::Shared), ..client(&fixture, "203.0.113.9") };
    assert_eq!(joins(&fixture, carrier, 50).await, 32);
}

pub(super) async fn trusted_network_is_not_limited(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(2, 2)).await;
    others(&fixture).await;
    let office = JoinClient { class: Some(NetworkClass::Trusted), ..client(&fixture, "203.0.113.9") };
    assert_eq!(joins(&fixture, office, 50).await, 50);
}

pub(super) async fn blocked_network_does_not_join(stores: &StoreFixture) {
    for (protection, is_blocked) in [(rejecting(5, 5), true), (limits(json!({})), false)] {
        let fixture = stores.open(protection).await;
        let blocked = JoinClient { class: Some(NetworkClass::Blocked), ..client(&fixture, "203.0.113.9") };
        let expected = JoinRejection { reason: RejectionReason::Blocked, retry_after: BLOCKED_RETRY };
        assert_eq!(rejection(&join(&fixture, blocked).await), is_blocked.then_some(expected));
        assert_eq!(fixture.stats().await.limits.counters.rejected_blocked, u64::from(is_blocked));
    }
}

pub(super) async fn rate_limits_joins_per_second(stores: &StoreFixture) {
    let protection = json!({ "mode": "enforce", "on_exceed": "reject", "joins_per_second": 10 });
    let fixture = stores.open(limits(protection)).await;
    assert_eq!(joins(&fixture, JoinClient::default(), 30).await, 10, "one second's worth");
    let rejected = rejection(&join(&fixture, JoinClient::default()).await).unwrap();
    assert_eq!((rejected.reason, rejected.retry_after), (RejectionReason::Rate, 3), "21 rejections at 10 per second");
    fixture.advance_micros(500_000);
    assert_eq!(joins(&fixture, JoinClient::default(), 30).await, 5);
    assert_eq!(fixture.stats().await.limits.counters.rejected_rate, 46);
}

pub(super) async fn counts_end_after_two_windows(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(5, 400)).await;
    others(&fixture).await;
    let one = client(&fixture, "203.0.113.9");
    assert_eq!(joins(&fixture, one, 10).await, 5);
    fixture.advance_seconds(JOIN_WINDOW);
    assert_eq!(joins(&fixture, one, 10).await, 0, "the window before counts");
    fixture.advance_seconds(JOIN_WINDOW);
    others(&fixture).await;
    assert_eq!(joins(&fixture, one, 10).await, 5);
}

pub(super) async fn counters_are_removed_with_the_queue(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(5, 400)).await;
    others(&fixture).await;
    let one = client(&fixture, "203.0.113.9");
    assert_eq!(joins(&fixture, one, 10).await, 5);
    fixture.store().reset(&fixture.queue).await.unwrap();
    assert_eq!(fixture.stats().await.limits, LimitStats::default(), "a reset starts from zero");
    others(&fixture).await;
    assert_eq!(joins(&fixture, one, 10).await, 5);
    assert!(keys_of(&fixture.queue).iter().any(|key| key.ends_with(":joins")));
}

pub(super) async fn returning_ticket_is_no_join(stores: &StoreFixture) {
    let fixture = stores.open(rejecting(1, 400)).await;
    others(&fixture).await;
    let one = client(&fixture, "203.0.113.9");
    let answer = join(&fixture, one).await;
    let ticket = fixture.stores.ticket(&fixture.queue, &answer).unwrap();
    for _ in 0..3 {
        let visit =
            Visit { client: one, ticket: Some(ticket.clone()), join: Some(SessionId::random()), ..Visit::default() };
        let answer = fixture.store().visit(&fixture.queue, visit).await.unwrap();
        assert_eq!(answer.kind, VisitKind::Renewed);
    }
    assert_eq!(fixture.stats().await.limits.counters.rejected_limit, 0);
}

pub(super) async fn full_line_counts_rejections(stores: &StoreFixture) {
    let mut settings = limits(json!({}));
    settings["max_waiting"] = json!(2);
    let fixture = stores.open(settings).await;
    for _ in 0..5 {
        join(&fixture, JoinClient::default()).await;
    }
    assert_eq!(fixture.stats().await.limits.counters.rejected_full, 3);
}
