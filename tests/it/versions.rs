//! Two versions of the program side by side over one Redis. Visitors are served by two gates in turns, while a newer version changes
//! the settings: it writes fields that this version does not know.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use vestibule_core::line::SessionLocation;
use vestibule_core::{PutMode, SessionId};
use vestibule_store_redis::Keys;
use vestibule_tests::{GateOptions, GateUnderTest, Value as Reply, Visitor};

use crate::gate_fixture::{GateFixture, StoreSetup, document_of, session_in};

const VISITORS: usize = 24;
/// More steps than a line of this length takes.
const STEPS_MAX: usize = 4000;
const QUOTAS: std::ops::Range<u64> = 2..6;

/// Writes settings as a newer version does: with a rule that this version does not know.
const WRITE: &str = "
    local rules = cmsgpack.unpack(redis.call('HGET', KEYS[1], 'rules'))
    rules.quota, rules.revision, rules.raffle = tonumber(ARGV[1]), tonumber(ARGV[2]), { shares = 3 }
    redis.call('HSET', KEYS[1], 'rules', cmsgpack.pack(rules), 'document', ARGV[3])
    redis.call('HSET', KEYS[2], ARGV[4], ARGV[2])
    return 'OK'";

/// A visitor at both gates, with one ticket.
struct Guest {
    visitors: [Visitor; 2],
    session: SessionId,
    position: u64,
    is_admitted: bool,
}

/// Two gates over one Redis, and the visitors of their line in order of arrival.
struct SideBySide {
    fixture: GateFixture,
    other: GateUnderTest,
    guests: Vec<Guest>,
    joined: usize,
    quota: u64,
}

impl SideBySide {
    async fn start() -> Self {
        let changes = json!({ "quota": QUOTAS.start, "waiting_ttl": 1200, "claim_ttl": 600, "hold_ttl": 1200 });
        let fixture = GateFixture::open(StoreSetup::own_redis().await, changes.clone()).await;
        let document = document_of(fixture.queue.as_str(), &fixture.host, &fixture.origin.url(), &changes);
        let options = GateOptions { writes_settings: false, ..GateOptions::default() };
        let other = fixture.setup.gate(&document, options).await;
        Self { fixture, other, guests: Vec::new(), joined: 0, quota: QUOTAS.start }
    }

    async fn stored(&self) -> Value {
        let key = Keys::of(&self.fixture.queue).settings();
        let found = self.fixture.setup.own().command(&["HGET", &key, "document"]).await;
        let Reply::Text(text) = found else { panic!("{found:?}") };
        serde_json::from_str(&text).unwrap()
    }

    /// A newer version raises the quota.
    async fn change_as_a_newer_version(&mut self) {
        self.quota = (self.quota + 1).min(QUOTAS.end);
        let mut document = self.stored().await;
        let revision = self.fixture.stats().await.rules.revision + 1;
        document["quota"] = json!(self.quota);
        document["revision"] = json!(revision);
        document["raffle"] = json!({ "shares": 3 });
        let (quota, revision, document) = (self.quota.to_string(), revision.to_string(), document.to_string());
        let (key, queue) = (Keys::of(&self.fixture.queue).settings(), self.fixture.queue.as_str());
        let words = ["EVAL", WRITE, "2", &key, Keys::QUEUES, &quota, &revision, &document, queue];
        let answer = self.fixture.setup.own().command(&words).await;
        assert_eq!(answer, Reply::Text("OK".to_owned()));
    }

    /// This version raises the quota. It keeps what it does not know.
    async fn change_as_this_version(&mut self) {
        self.quota = (self.quota + 1).min(QUOTAS.end);
        let store = self.fixture.gate.store();
        let mut settings = store.settings(&self.fixture.queue).await.unwrap().unwrap();
        settings.line.quota = self.quota;
        store.put_settings(&settings, PutMode::Always).await.unwrap();
        assert_eq!(self.stored().await["raffle"], json!({ "shares": 3 }));
    }

    async fn join(&mut self, at: usize) {
        let addresses = [self.fixture.gate.address(), self.other.address()];
        let mut visitors = addresses.map(|address| Visitor::new(address, &self.fixture.host));
        let session = session_in(&visitors[at].status(self.fixture.queue.as_str()).await);
        self.share_ticket(&mut visitors, at);
        self.guests.push(Guest { visitors, session, position: u64::MAX, is_admitted: false });
        self.joined += 1;
    }

    /// A visitor polls one of the gates, and leaves once admitted.
    async fn poll(&mut self, index: usize, at: usize) {
        let queue = self.fixture.queue.as_str();
        let guest = &mut self.guests[index];
        if guest.is_admitted {
            guest.visitors[at].leave(queue).await;
            self.guests.remove(index);
            return;
        }
        let answer = guest.visitors[at].status(queue).await;
        let status = answer.json();
        assert_eq!(session_in(&answer), guest.session, "{status}");
        if let Some(position) = status["position"].as_u64() {
            assert!(position <= guest.position, "position {} before: {status}", guest.position);
            guest.position = position;
        } else {
            assert_eq!(status["state"], "admitted", "{status}");
            guest.is_admitted = true;
        }
        let mut guest = self.guests.remove(index);
        self.share_ticket(&mut guest.visitors, at);
        self.guests.insert(index, guest);
    }

    /// The other gate gets the ticket that this one signed.
    fn share_ticket(&self, visitors: &mut [Visitor; 2], at: usize) {
        let name = self.fixture.cookie_name();
        let ticket = visitors[at].cookie(&name).unwrap().to_owned();
        visitors[1 - at].set_cookie(&name, &ticket);
    }

    /// The quota holds, everybody has a position or a slot, and nobody was admitted before somebody who came earlier.
    async fn check(&self) {
        let stats = self.fixture.stats().await;
        assert!(stats.active <= self.quota, "{} of {}", stats.active, self.quota);
        let mut is_someone_waiting = false;
        for guest in &self.guests {
            let found = self.fixture.gate.store().find(&self.fixture.queue, guest.session).await.unwrap();
            match found.expect("nobody loses the position").state {
                SessionLocation::Active { .. } => {
                    assert!(!is_someone_waiting, "{} was admitted too early", guest.session);
                }
                SessionLocation::Waiting { .. } => is_someone_waiting = true,
                SessionLocation::Ended => panic!("{} has ended", guest.session),
            }
        }
    }
}

async fn two_versions_keep_order_and_quota(seed: u64) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut gates = SideBySide::start().await;
    gates.change_as_a_newer_version().await;
    for _ in 0..STEPS_MAX {
        let (at, present) = (rng.random_range(0..2), gates.guests.len());
        match rng.random_range(0..100) {
            0 => gates.change_as_a_newer_version().await,
            1 => gates.change_as_this_version().await,
            2..20 if gates.joined < VISITORS => gates.join(at).await,
            _ if present > 0 => gates.poll(rng.random_range(0..present), at).await,
            _ => {}
        }
        gates.check().await;
        if gates.joined == VISITORS && gates.guests.is_empty() {
            return;
        }
        gates.fixture.setup.clock.advance(rng.random_range(0..4_000_000));
    }
    panic!("seed {seed}: {} visitors are still in line", gates.guests.len());
}

#[tokio::test]
async fn gates_of_two_versions_keep_order_and_quota() {
    for seed in 1..=3 {
        two_versions_keep_order_and_quota(seed).await;
    }
}
