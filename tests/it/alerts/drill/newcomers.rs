//! Alerts about newcomers: attacks, the limits of joins, the addresses of clients and proofs of work.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_core::line::{ADDRESS_LIMITS_FROM, JoinClient, Visit, VisitAnswer, VisitKind};
use vestibule_core::store::{OperationsStore as _, VisitStore as _};
use vestibule_core::{
    Clock as _, FirstVisit, KeyList, Micros, QueueId, SessionId, ShownStatus, SystemClock, TicketOrigin, TicketSigner,
};
use vestibule_store_redis::RedisStore;

use super::{Measured, Watch, during, put};
use crate::conformance::limits::client_of;

/// How long a queue is without an attack before one begins: the rules compare with the time until `offset` before.
const QUIET: Duration = Duration::from_secs(8);
/// Seconds after which a newcomer joins without an easy proof of work.
const DELAY: u64 = 60;

/// The newcomers of one queue.
struct Newcomers<'a> {
    store: &'a RedisStore,
    signer: TicketSigner,
    queue: QueueId,
}

impl<'a> Newcomers<'a> {
    /// A queue that admits nobody, with this protection.
    async fn of(store: &'a RedisStore, queue: &str, mut protection: Value) -> Self {
        protection["pre_ticket_from"] = "none".into();
        let queue = put(store, queue, json!({ "quota": 0, "protection": protection })).await;
        Self { store, signer: TicketSigner::new(&KeyList::of_bytes("k1", [1; 32])).unwrap(), queue }
    }

    async fn visit(&self, visit: Visit) -> VisitAnswer {
        self.store.visit(&self.queue, visit).await.unwrap()
    }

    fn client(&self, address: &str) -> JoinClient {
        client_of(&self.signer, &self.queue, address)
    }

    async fn join(&self, client: JoinClient) -> VisitAnswer {
        self.visit(Visit { client, ..Visit::joining(SessionId::random()) }).await
    }

    /// A newcomer who comes back with the ticket.
    async fn join_and_confirm(&self, client: JoinClient) {
        let answer = self.join(client).await;
        let token = self.signer.sign(&self.queue, &answer, ShownStatus::default(), TicketOrigin::default()).unwrap();
        self.visit(Visit::keeping(self.signer.verify(&self.queue, token.as_bytes()).unwrap())).await;
    }

    /// A newcomer who was asked for a proof of work long ago, and has none.
    async fn join_late(&self) -> VisitAnswer {
        let at = Micros(SystemClock::new().now().0 - DELAY * 1_000_000);
        let first = FirstVisit::new(1, SessionId::random(), at);
        let token = self.signer.sign_first_visit(&self.queue, &first, None).unwrap();
        let pre_ticket = self.signer.verify_pre_ticket(&self.queue, token.as_bytes(), None).unwrap();
        self.visit(Visit::redeeming(pre_ticket.requiring(1))).await
    }

    /// The queue starts again, so that windows of minutes do not have to pass.
    async fn reset(&self) {
        self.store.reset(&self.queue).await.unwrap();
    }
}

/// Does something over and over.
async fn repeatedly(pause: Duration, work: impl AsyncFn()) {
    loop {
        work().await;
        sleep(pause).await;
    }
}

/// All alerts about newcomers.
pub(super) async fn newcomers_are_suspicious(watch: &Watch, measured: &Measured) {
    let store = &measured.store;
    tokio::join!(
        attack_begins(watch, store),
        attack_mode_is_on(watch, store),
        one_network_joins(watch, store),
        addresses_are_missing(watch, store),
        limits_are_low(watch, store),
        proofs_are_hard(watch, store),
    );
}

async fn attack_begins(watch: &Watch, store: &RedisStore) {
    let attacked = Newcomers::of(store, "attacked", json!({})).await;
    sleep(QUIET).await;
    let issued = repeatedly(Duration::from_millis(20), async || {
        attacked.visit(Visit { pre_tickets_issued: 5, ..Visit::default() }).await;
    });
    during(issued, async {
        watch.fires("VestibuleAttackBeginning", "attacked").await;
        watch.fires("VestibuleFirstVisitsNotReturning", "attacked").await;
    })
    .await;
    watch.resolves("VestibuleAttackBeginning", "attacked").await;
    watch.resolves("VestibuleFirstVisitsNotReturning", "attacked").await;
}

async fn attack_mode_is_on(watch: &Watch, store: &RedisStore) {
    let defended = Newcomers::of(store, "defended", json!({})).await;
    store.set_attack_mode(&defended.queue, 3_600).await.unwrap();
    watch.fires("VestibuleAttackModeOn", "defended").await;
    store.set_attack_mode(&defended.queue, 0).await.unwrap();
    watch.resolves("VestibuleAttackModeOn", "defended").await;
}

async fn one_network_joins(watch: &Watch, store: &RedisStore) {
    let crowded = Newcomers::of(store, "crowded", json!({})).await;
    for host in 0..250 {
        crowded.join(crowded.client(&format!("203.0.113.{host}"))).await;
    }
    watch.fires("VestibuleOneNetworkJoining", "crowded").await;
    crowded.reset().await;
    watch.resolves("VestibuleOneNetworkJoining", "crowded").await;
}

async fn addresses_are_missing(watch: &Watch, store: &RedisStore) {
    let proxied = Newcomers::of(store, "proxied", json!({})).await;
    for _ in 0..=ADDRESS_LIMITS_FROM {
        proxied.join(JoinClient::default()).await;
    }
    watch.fires("VestibuleClientAddressUnreliable", "proxied").await;
    proxied.reset().await;
    watch.resolves("VestibuleClientAddressUnreliable", "proxied").await;
}

async fn limits_are_low(watch: &Watch, store: &RedisStore) {
    let shared = Newcomers::of(store, "shared", json!({ "per_address": 1 })).await;
    for network in 0..ADDRESS_LIMITS_FROM {
        shared.join(shared.client(&format!("198.51.{network}.1"))).await;
    }
    let office = shared.client("203.0.113.9");
    let joins = repeatedly(Duration::from_millis(200), async || shared.join_and_confirm(office).await);
    during(joins, watch.fires("VestibuleLimitsTooLow", "shared")).await;
    shared.reset().await;
    watch.resolves("VestibuleLimitsTooLow", "shared").await;
}

async fn proofs_are_hard(watch: &Watch, store: &RedisStore) {
    let protection = json!({ "mode": "enforce", "proof_of_work": { "mode": "always" } });
    let proving = Newcomers::of(store, "proving", protection).await;
    // At most one newcomer a second joins late.
    let joins = repeatedly(Duration::from_secs(2), async || {
        let answer = proving.join(JoinClient::default()).await;
        assert!(matches!(answer.kind, VisitKind::NeedsProof(_)), "{:?}", answer.kind);
        assert_eq!(proving.join_late().await.kind, VisitKind::Joined);
    });
    during(joins, watch.fires("VestibuleProofsTooHard", "proving")).await;
    watch.resolves("VestibuleProofsTooHard", "proving").await;
}
