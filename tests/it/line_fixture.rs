//! A queue in some store whose time only moves when the test moves it, and the guests that stand in it.

use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use vestibule_core::line::{
    JoinClient, ListedSession, PageStart, ProtectionReport, Removed, SessionList, SessionLocation, SessionPage, Stats,
    Visit, VisitAnswer,
};
use vestibule_core::settings::Settings;
use vestibule_core::{
    Clock, FirstVisit, KeyList, ManualClock, Micros, PreTicket, PutMode, PutOutcome, QueueId, SessionId, ShownStatus,
    Store, Ticket, TicketAccount, TicketOrigin, TicketSigner,
};
use vestibule_records::RecordStore;
use vestibule_store_memory::{MemoryRecords, MemoryStore};
use vestibule_store_redis::{Keys, RedisOptions, RedisStore};
use vestibule_tests::{Cluster, Redis};

/// How long a store may take: these tests are about what it answers, not how soon.
const TIMEOUT: Duration = Duration::from_secs(10);
/// When the tests' time begins.
pub(crate) const START: Micros = Micros(1_700_000_000_000_000);

/// A store, the clock that it goes by, and the key that signs its tickets.
pub(crate) struct StoreFixture {
    pub(crate) store: Arc<dyn Store>,
    kept_in: Backend,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) signer: TicketSigner,
}

/// Where a store keeps its state, so that a test can do to it what befalls it.
enum Backend {
    Memory { store: Arc<MemoryStore>, before: Mutex<HashMap<QueueId, Value>> },
    Redis { url: String },
}

impl StoreFixture {
    pub(crate) fn memory() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::of(store.clone(), Backend::Memory { store, before: Mutex::default() }, clock)
    }

    /// A store on the shared Redis of this process.
    pub(crate) async fn redis() -> Self {
        Self::at(&Redis::shared().await.url())
    }

    /// A store on the shared Redis Cluster of this process.
    pub(crate) async fn cluster() -> Self {
        static SHARED: OnceCell<Cluster> = OnceCell::const_new();
        Self::at(&SHARED.get_or_init(Cluster::start).await.url())
    }

    pub(crate) fn at(url: &str) -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let store = Arc::new(connect(url, &clock));
        Self::of(store, Backend::Redis { url: url.replace("redis-cluster:", "redis:") }, clock)
    }

    fn of(store: Arc<dyn Store>, kept_in: Backend, clock: Arc<ManualClock>) -> Self {
        Self { store, kept_in, clock, signer: TicketSigner::new(&KeyList::of_bytes("k1", [7; 32])).unwrap() }
    }

    /// Records beside the store, by the same clock: new ones in memory, or those of the Redis.
    pub(crate) fn records(&self) -> Arc<dyn RecordStore> {
        match &self.kept_in {
            Backend::Memory { .. } => Arc::new(MemoryRecords::new(self.clock.clone())),
            Backend::Redis { url } => Arc::new(connect(url, &self.clock)),
        }
    }

    /// The store loses all that it has of this queue.
    pub(crate) fn lose(&self, queue: &QueueId) {
        match &self.kept_in {
            Backend::Memory { store, .. } => drop(replace(store, queue, None)),
            Backend::Redis { url } => {
                let keys = keys_of(queue);
                redis_cli(url, &["DEL"], &keys.iter().map(String::as_str).collect::<Vec<_>>());
            }
        }
    }

    /// Runs a script on the settings of the queue; returns its answer.
    pub(crate) fn redis_script(&self, script: &str, queue: &QueueId) -> String {
        let Backend::Redis { url } = &self.kept_in else { panic!("the memory store runs no scripts") };
        redis_cli(url, &["EVAL", script, "1"], &[&Keys::of(queue).settings()])
    }

    /// Notes the state that the queue has now, for [`Self::roll_back`].
    pub(crate) fn note(&self, queue: &QueueId) {
        match &self.kept_in {
            Backend::Memory { store, before } => {
                let found = replace(store, queue, None).expect("the queue is there");
                replace(store, queue, Some(found.clone()));
                before.lock().insert(queue.clone(), found);
            }
            Backend::Redis { url } => {
                for key in keys_of(queue) {
                    redis_cli(url, &["DEL"], &[&format!("{key}:before")]);
                    redis_cli(url, &["COPY"], &[&key, &format!("{key}:before")]);
                }
            }
        }
    }

    /// The queue's state goes back to what was noted, as after a failover, or from an old file. Nothing if nothing was.
    pub(crate) fn roll_back(&self, queue: &QueueId) {
        match &self.kept_in {
            Backend::Memory { store, before } => {
                if let Some(found) = before.lock().get(queue).cloned() {
                    replace(store, queue, Some(found));
                }
            }
            Backend::Redis { url } => {
                let before = format!("{}:before", Keys::of(queue).settings());
                if redis_cli(url, &["EXISTS"], &[&before]) == "1" {
                    for key in keys_of(queue) {
                        redis_cli(url, &["DEL"], &[&key]);
                        redis_cli(url, &["COPY"], &[&format!("{key}:before"), &key]);
                    }
                }
            }
        }
    }

    /// The ticket that the gate would set after this answer, if the session is waiting or active.
    pub(crate) fn ticket(&self, queue: &QueueId, answer: &VisitAnswer) -> Option<Ticket> {
        self.ticket_with_wait(queue, answer, None)
    }

    /// The same ticket of a visitor who was shown this wait, in milliseconds.
    pub(crate) fn ticket_with_wait(
        &self,
        queue: &QueueId,
        answer: &VisitAnswer,
        wait_ms: Option<u64>,
    ) -> Option<Ticket> {
        let position = answer.session.map(|session| session.position);
        let shown = ShownStatus { position, wait_ms, presumed: false };
        let signed = self.signer.sign(queue, answer, shown, TicketOrigin::default())?;
        Some(self.signer.verify(queue, signed.as_bytes()).unwrap())
    }

    /// The pre-ticket of a first visit from a network, as a gate reads it in a request from another.
    pub(crate) fn pre_ticket(&self, queue: &QueueId, visit: &FirstVisit, networks: [Option<&str>; 2]) -> PreTicket {
        let token = self.signer.sign_first_visit(queue, visit, networks[0]).unwrap();
        self.signer.verify_pre_ticket(queue, token.as_bytes(), networks[1]).unwrap()
    }

    /// A new queue with a random id and these settings over the ordinary ones.
    pub(crate) async fn open(&self, settings: Value) -> LineFixture<'_> {
        let settings = settings_of(&random_queue_id(), &settings);
        let outcome = self.store.put_settings(&settings, PutMode::Always).await.unwrap();
        assert_eq!(outcome, PutOutcome::Stored(1));
        LineFixture { stores: self, queue: settings.id }
    }
}

fn connect(url: &str, clock: &Arc<ManualClock>) -> RedisStore {
    let options = RedisOptions { timeout: TIMEOUT, clock: Some(clock.clone()), ..RedisOptions::default() };
    RedisStore::connect(url, options).unwrap()
}

/// Replaces what a memory store keeps of a queue, and returns what it kept before.
fn replace(store: &MemoryStore, queue: &QueueId, with: Option<Value>) -> Option<Value> {
    let mut all = serde_json::to_value(store.snapshot()).unwrap();
    let queues = all["queues"].as_array_mut().unwrap();
    let at = queues.iter().position(|kept| kept["settings"]["id"] == queue.as_str());
    let found = at.map(|at| queues.remove(at));
    queues.extend(with);
    assert!(store.restore(serde_json::from_value(all).unwrap()).is_empty());
    found
}

/// All keys of a queue.
pub(crate) fn keys_of(queue: &QueueId) -> [String; 7] {
    let keys = Keys::of(queue);
    [keys.line(), keys.active(), keys.pool(), keys.ended(), keys.state(), keys.settings(), keys.joins()]
}

fn redis_cli(url: &str, command: &[&str], keys: &[&str]) -> String {
    let output = Command::new("redis-cli").args(["-c", "-u", url]).args(command).args(keys).output();
    let output = output.expect("redis-cli is installed with redis-server");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

pub(crate) fn random_queue_id() -> QueueId {
    format!("q-{}", SessionId::random()).parse().unwrap()
}

/// The ordinary settings of a queue, with `changes` over them. No credential outlives a question to the store, so that a slot
/// is free as soon as its session ends.
pub(crate) fn settings_of(queue: &QueueId, changes: &Value) -> Settings {
    let mut document = json!({
        "id": queue, "tenant": "acme", "hosts": ["tickets.example.com"], "quota": 1,
        "handover": { "kind": "check" }, "recheck_after": 0,
        // Only tests of pre-tickets use them.
        "protection": { "pre_ticket_from": "none" },
    });
    document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    Settings::from_value(&document).unwrap()
}

/// One queue.
pub(crate) struct LineFixture<'a> {
    pub(crate) stores: &'a StoreFixture,
    pub(crate) queue: QueueId,
}

/// A visitor with a browser: a ticket, signed again on every visit.
#[derive(Clone, Debug)]
pub(crate) struct TestVisitor {
    pub(crate) session: SessionId,
    pub(crate) arrival: Micros,
    pub(crate) ticket: Ticket,
}

impl LineFixture<'_> {
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.stores.store
    }

    pub(crate) fn now(&self) -> Micros {
        self.stores.clock.now()
    }

    /// Moves the clock forward by seconds.
    pub(crate) fn advance_seconds(&self, seconds: u64) {
        self.stores.clock.advance(seconds * 1_000_000);
    }

    /// Moves the clock forward by microseconds.
    pub(crate) fn advance_micros(&self, micros: u64) {
        self.stores.clock.advance(micros);
    }

    pub(crate) async fn ask(&self, ticket: Option<Ticket>, join: Option<SessionId>) -> VisitAnswer {
        self.store().visit(&self.queue, Visit { ticket, join, ..Visit::default() }).await.unwrap()
    }

    /// A visit without a ticket, under this id.
    pub(crate) async fn visit_as(&self, session: SessionId) -> VisitAnswer {
        self.ask(None, Some(session)).await
    }

    /// Somebody new comes for the first time, and has not come back with the ticket yet.
    pub(crate) async fn join(&self) -> TestVisitor {
        let answer = self.visit_as(SessionId::random()).await;
        let ticket =
            self.stores.ticket(&self.queue, &answer).expect("who comes to an open queue gets a position or a slot");
        TestVisitor { session: ticket.session(), arrival: ticket.arrival(), ticket }
    }

    /// Somebody new comes, and comes back with the ticket an instant later.
    pub(crate) async fn join_and_confirm(&self) -> TestVisitor {
        let mut guest = self.join().await;
        self.advance_micros(1);
        self.visit(&mut guest).await;
        guest
    }

    /// The pre-ticket that a gate signs for a first visit now, brought from the same network.
    pub(crate) fn first_visit(&self) -> PreTicket {
        let visit = FirstVisit::new(1, SessionId::random(), self.now());
        self.stores.pre_ticket(&self.queue, &visit, [None; 2])
    }

    /// A visit of a visitor whose account has this session, with a ticket or none.
    pub(crate) async fn visit_as_account(&self, account: SessionId, ticket: Option<Ticket>) -> VisitAnswer {
        self.store().visit(&self.queue, Visit { ticket, ..Visit::of_account(account) }).await.unwrap()
    }

    /// The ticket that the gate sets for the session of an account.
    pub(crate) fn account_ticket(&self, answer: &VisitAnswer) -> Ticket {
        self.account_ticket_in_batch(answer, None)
    }

    /// The ticket that the gate sets for the session of a code of this batch, if a visitor with an account uses it.
    pub(crate) fn account_ticket_in_batch(&self, answer: &VisitAnswer, batch: Option<u16>) -> Ticket {
        let code = "AAAAAAAAAAAAAAAAAAAAAA".parse().unwrap();
        let account = Some(TicketAccount { fingerprint: 7, code });
        let (origin, shown) = (TicketOrigin { account, batch, ..TicketOrigin::default() }, ShownStatus::default());
        let signer = &self.stores.signer;
        let token = signer.sign(&self.queue, answer, shown, origin).unwrap();
        signer.verify(&self.queue, token.as_bytes()).unwrap()
    }

    /// A visit with a pre-ticket, without a ticket.
    pub(crate) async fn redeem(&self, pre_ticket: PreTicket) -> VisitAnswer {
        self.store().visit(&self.queue, Visit::redeeming(pre_ticket)).await.unwrap()
    }

    /// The same from this client.
    pub(crate) async fn redeem_as(&self, pre_ticket: PreTicket, client: JoinClient) -> VisitAnswer {
        self.store().visit(&self.queue, Visit { client, ..Visit::redeeming(pre_ticket) }).await.unwrap()
    }

    /// This many come one after the other.
    pub(crate) async fn arrivals(&self, count: usize) -> Vec<TestVisitor> {
        let mut guests = Vec::new();
        for _ in 0..count {
            guests.push(self.join_and_confirm().await);
        }
        guests
    }

    /// This many come for the first time, all at this instant.
    pub(crate) async fn join_many(&self, count: usize) -> Vec<TestVisitor> {
        let mut guests = Vec::new();
        for _ in 0..count {
            guests.push(self.join().await);
        }
        guests
    }

    /// A visit with the ticket, as the gate makes it: whose ticket holds no position joins as the session's successor.
    pub(crate) async fn visit(&self, guest: &mut TestVisitor) -> VisitAnswer {
        let successor = guest.session.successor(guest.ticket.signed_at().0);
        let answer = self.ask(Some(guest.ticket.clone()), Some(successor)).await;
        if let Some(ticket) = self.stores.ticket(&self.queue, &answer) {
            *guest = TestVisitor { session: ticket.session(), arrival: ticket.arrival(), ticket };
        }
        answer
    }

    /// A visit that shows the visitor this wait in seconds, which the new ticket says.
    pub(crate) async fn visit_and_show(&self, guest: &mut TestVisitor, wait: u64) -> VisitAnswer {
        let answer = self.visit(guest).await;
        let ticket = self.stores.ticket_with_wait(&self.queue, &answer, Some(wait * 1000));
        guest.ticket = ticket.expect("a position in line");
        answer
    }

    /// All of them visit, in this order.
    pub(crate) async fn visit_all(&self, guests: &mut [TestVisitor]) {
        for guest in guests {
            self.visit(guest).await;
        }
    }

    /// A keepalive: joins nobody.
    pub(crate) async fn keepalive(&self, guest: &TestVisitor) -> VisitAnswer {
        self.ask(Some(guest.ticket.clone()), None).await
    }

    pub(crate) async fn away(&self, guest: &TestVisitor) -> Removed {
        self.store().away(&self.queue, guest.ticket.clone()).await.unwrap()
    }

    pub(crate) async fn leave(&self, guest: &TestVisitor) -> Removed {
        self.store().leave(&self.queue, guest.ticket.clone()).await.unwrap()
    }

    pub(crate) async fn end(&self, guest: &TestVisitor) -> Removed {
        self.store().end(&self.queue, guest.session).await.unwrap()
    }

    pub(crate) async fn release(&self, count: u64) -> u64 {
        self.store().release(&self.queue, count).await.unwrap()
    }

    /// Purges until no expired session is left.
    pub(crate) async fn purge(&self) {
        while self.store().purge(&self.queue, usize::MAX).await.unwrap().more {}
    }

    pub(crate) async fn protection(&self) -> ProtectionReport {
        self.store().protection(&self.queue).await.unwrap()
    }

    pub(crate) async fn stats(&self) -> Stats {
        self.store().stats(&self.queue).await.unwrap()
    }

    /// The numbers of waiting and of active sessions.
    pub(crate) async fn counts(&self) -> (u64, u64) {
        let stats = self.stats().await;
        (stats.waiting, stats.active)
    }

    pub(crate) async fn state(&self, guest: &TestVisitor) -> Option<SessionLocation> {
        self.store().find(&self.queue, guest.session).await.unwrap().map(|found| found.state)
    }

    /// When the session expires, in microseconds from now.
    pub(crate) async fn expires_in(&self, guest: &TestVisitor) -> u64 {
        self.store().find(&self.queue, guest.session).await.unwrap().unwrap().expires_at.since(self.now())
    }

    pub(crate) async fn is_in(&self, guest: &TestVisitor) -> bool {
        matches!(self.state(guest).await, Some(SessionLocation::Active { .. }))
    }

    /// The rank in line; `None` if not in line.
    pub(crate) async fn position(&self, guest: &TestVisitor) -> Option<u64> {
        match self.state(guest).await? {
            SessionLocation::Waiting { position, .. } => Some(position),
            _ => None,
        }
    }

    /// All who wait, in their order.
    pub(crate) async fn line(&self) -> Vec<SessionId> {
        self.entries().await.into_iter().map(|entry| entry.session).collect()
    }

    /// All who wait, page by page.
    pub(crate) async fn entries(&self) -> Vec<ListedSession> {
        let (mut entries, mut from) = (Vec::new(), Some(PageStart::default()));
        while let Some(cursor) = from {
            let page = self.page(SessionList::Waiting, cursor, usize::MAX).await;
            entries.extend(page.entries);
            from = page.next;
        }
        entries
    }

    pub(crate) async fn page(&self, list: SessionList, start: PageStart, limit: usize) -> SessionPage {
        self.store().page(&self.queue, list, start, limit).await.unwrap()
    }

    pub(crate) async fn settings(&self) -> Settings {
        self.store().settings(&self.queue).await.unwrap().unwrap()
    }

    /// Changes the settings, whatever their revision.
    pub(crate) async fn change(&self, change: impl FnOnce(&mut Settings)) {
        let mut settings = self.settings().await;
        change(&mut settings);
        self.store().put_settings(&settings, PutMode::Always).await.unwrap();
    }

    /// The store loses the queue, and a gate writes the settings back that it holds.
    pub(crate) async fn lose(&self, mode: PutMode) {
        let settings = self.settings().await;
        self.stores.lose(&self.queue);
        let outcome = self.store().put_settings(&settings, mode).await.unwrap();
        assert_eq!(outcome, PutOutcome::Stored(settings.line.revision));
    }
}

/// The sessions of these guests.
pub(crate) fn sessions(guests: &[TestVisitor]) -> Vec<SessionId> {
    guests.iter().map(|guest| guest.session).collect()
}
