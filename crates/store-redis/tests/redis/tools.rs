//! What the tests make: stores, settings, tickets.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use vestibule_core::line::{Visit, VisitAnswer};
use vestibule_core::settings::Settings;
use vestibule_core::store::{SettingsStore as _, VisitStore as _};
use vestibule_core::{
    FirstVisit, KeyList, ManualClock, Micros, PreTicket, PutMode, QueueId, SessionId, ShownStatus, Ticket,
    TicketAccount, TicketOrigin, TicketSigner,
};
use vestibule_store_redis::{RedisOptions, RedisStore};

use super::server::Server;

pub(crate) const START: Micros = Micros(1_700_000_000_000_000);

pub(crate) fn queue() -> QueueId {
    "acme-tour".parse().unwrap()
}

/// Settings with these fields over the ones that are needed.
pub(crate) fn settings(fields: &Value) -> Settings {
    let mut document = json!({
        "id": "acme-tour", "tenant": "acme", "hosts": ["tickets.example.com"], "quota": 1,
        "handover": { "kind": "redirect", "origin": "https://www.example.com" },
        // Only tests of pre-tickets use them.
        "protection": { "pre_ticket_from": "none" },
    });
    for (name, value) in fields.as_object().unwrap() {
        document[name] = value.clone();
    }
    Settings::from_value(&document).unwrap()
}

pub(crate) fn session(number: u32) -> SessionId {
    let mut bytes = [7; 14];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    SessionId::from_bytes(bytes)
}

/// The numbers of sessions that are those of accounts.
pub(crate) const ACCOUNTS: std::ops::Range<u32> = 50..56;

pub(crate) fn joining(number: u32) -> Visit {
    Visit::joining(session(number))
}

/// Signs what a store answered, and verifies it as the gate does.
pub(crate) struct Tickets(TicketSigner);

impl Tickets {
    pub(crate) fn new() -> Self {
        Self(TicketSigner::new(&KeyList::of_bytes("k1", [1; 32])).unwrap())
    }

    pub(crate) fn of(&self, answer: &VisitAnswer) -> Ticket {
        let state = answer.session.unwrap();
        let shown = ShownStatus { position: Some(state.position), ..ShownStatus::default() };
        let is_account = ACCOUNTS.map(session).any(|account| account == state.id);
        let code = || "AAAAAAAAAAAAAAAAAAAAAA".parse().unwrap();
        let account = is_account.then(|| TicketAccount { fingerprint: 7, code: code() });
        let origin = TicketOrigin { account, ..TicketOrigin::default() };
        let token = self.0.sign(&queue(), answer, shown, origin).unwrap();
        self.0.verify(&queue(), token.as_bytes()).unwrap()
    }

    /// The pre-ticket of a first visit at this time that a gate would issue.
    pub(crate) fn first_visit(&self, answer: &VisitAnswer, session: SessionId, preserved: bool) -> PreTicket {
        let visit = FirstVisit { preserved, ..FirstVisit::new(answer.epoch, session, answer.now) };
        let token = self.0.sign_first_visit(&queue(), &visit, None).unwrap();
        self.0.verify_pre_ticket(&queue(), token.as_bytes(), None).unwrap()
    }
}

/// A store that goes by a clock that stands until it is moved.
pub(crate) struct Clocked {
    pub(crate) server: Server,
    pub(crate) store: RedisStore,
    pub(crate) clock: Arc<ManualClock>,
}

impl Clocked {
    pub(crate) async fn start() -> Self {
        let server = Server::start().await;
        let clock = Arc::new(ManualClock::at(START));
        let options =
            RedisOptions { timeout: Duration::from_secs(5), clock: Some(clock.clone()), ..RedisOptions::default() };
        let store = RedisStore::connect(&server.url(), options).unwrap();
        Self { server, store, clock }
    }

    /// The same, holding a queue with these settings.
    pub(crate) async fn with(fields: &Value) -> Self {
        let clocked = Self::start().await;
        clocked.store.put_settings(&settings(fields), PutMode::Always).await.unwrap();
        clocked
    }

    pub(crate) async fn visit(&self, visit: Visit) -> VisitAnswer {
        self.store.visit(&queue(), visit).await.unwrap()
    }

    pub(crate) fn pass_seconds(&self, seconds: u64) {
        self.clock.advance(seconds * vestibule_core::MICROS_PER_SECOND);
    }
}
