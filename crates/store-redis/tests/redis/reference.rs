//! Random operations give the same answers as in the memory store, which is the reference.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde_json::json;
use vestibule_core::line::{
    Census, ClientDigests, JoinClient, LARGEST_NETWORKS_MAX, PageStart, ProofCounts, SessionList, Visit, VisitAnswer,
    VisitKind, Witness,
};
use vestibule_core::settings::Settings;
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};
use vestibule_core::{
    ManualClock, Micros, NetworkClass, NetworkPrefix, PreTicket, PrefixDigest, PutMode, QueueId, SessionId, Ticket,
};
use vestibule_store_memory::{MemorySnapshot, MemoryStore};
use vestibule_store_redis::{Keys, RedisOptions, RedisStore};

use super::server::Server;
use super::tools::{ACCOUNTS, START, Tickets, queue, session, settings};

const STEPS: usize = 700;
const SEEDS: u64 = 12;
/// Visits that one script serves.
const TOGETHER: usize = 32;
/// Few, so that they meet each other.
const SESSIONS: u32 = 60;

pub(crate) struct Pair<'a> {
    server: &'a Server,
    clock: Arc<ManualClock>,
    pub(crate) memory: MemoryStore,
    pub(crate) redis: RedisStore,
    pub(crate) tickets: Tickets,
    held: Vec<Ticket>,
    pre_tickets: Vec<PreTicket>,
    /// An earlier state of both stores.
    kept: Option<MemorySnapshot>,
    /// The last count of active sessions.
    census: Option<Census>,
    rng: SmallRng,
}

/// Applies an operation to both stores; the answers must be equal.
macro_rules! both {
    ($pair:expr, $($operation:tt)*) => {{
        let memory = $pair.memory.$($operation)*.await;
        let redis = $pair.redis.$($operation)*.await;
        $crate::reference::same(&memory, &redis);
        memory
    }};
}
pub(crate) use both;

pub(crate) fn same(memory: &impl Debug, redis: &impl Debug) {
    assert_eq!(format!("{memory:?}"), format!("{redis:?}"), "memory on the left, Redis on the right");
}

/// The client with the address of this number in a network, most of which share no cell.
fn client(address: u32, network: u32) -> JoinClient {
    let digest = |number: u32| PrefixDigest::of_rows([number.wrapping_mul(2_654_435_761), number]);
    let prefixes = ClientDigests { address: digest(address), network: digest(10_000 + network) };
    let network = format!("203.0.{network}.0/24").parse().unwrap();
    JoinClient { prefixes: Some(prefixes), network: Some(NetworkPrefix::of(network)), ..JoinClient::default() }
}

impl Pair<'_> {
    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from.choose(&mut self.rng).unwrap().clone()
    }

    fn some_session(&mut self) -> SessionId {
        session(self.rng.random_range(0..SESSIONS))
    }

    /// Mostly a late one, so that most are good.
    fn some_ticket(&mut self) -> Option<Ticket> {
        let count = self.held.len();
        let from = if self.rng.random_bool(0.8) { count.saturating_sub(12) } else { 0 };
        (count > 0).then(|| self.held[self.rng.random_range(from..count)].clone())
    }

    /// Mostly of the epoch that runs, so that the line outlives the change.
    async fn some_settings(&mut self) -> Settings {
        let running = self.memory.stats(&queue()).await.map_or(1, |stats| stats.rules.epoch);
        let epoch = if self.rng.random_bool(0.9) { running } else { 1 };
        let waiting_ttl = self.pick(&[3, 10, 60, 60, 300]);
        let mut document = json!({
            "quota": self.pick(&[0, 1, 2, 3, 5, 8, 20, 200]),
            "mode": self.pick(&["open", "open", "open", "open", "paused", "closed", "draining", "draining", "bypass"]),
            "waiting_ttl": waiting_ttl, "active_ttl": self.pick(&[2, 20, 100, 100]),
            "claim_ttl": self.pick(&[20, 30]).max(waiting_ttl / 3),
            "hold_ttl": self.pick(&[60, 120]).max(waiting_ttl), "epoch": epoch,
        });
        if self.rng.random_bool(0.5) {
            document["admissions_per_minute"] = self.pick(&[1, 7, 60, 61, 600, 6_000_000]).into();
            if self.rng.random_bool(0.5) {
                document["admissions_every"] = self.pick(&[1, 5, 15, 60, 90, 3600]).into();
            }
        }
        if self.rng.random_bool(0.5) {
            document["protection"] = json!({
                "pre_ticket_from": self.pick(&[0, 50, 100]), "pre_ticket_max_age": self.pick(&[0, 5, 30]),
                "mode": self.pick(&["off", "monitor", "enforce", "enforce"]),
                "per_address": self.pick(&[2, 5, 60_000]), "per_network": self.pick(&[4, 20, 60_000]),
                "counters": self.pick(&[131_072, 131_072, 524_288]), "show_networks": self.pick(&[true, true, false]),
                "proof_of_work": { "mode": self.pick(&["off", "auto", "always"]), "from": self.pick(&[1, 50]) },
            });
            if document["protection"]["proof_of_work"]["mode"] == "off" || self.rng.random_bool(0.5) {
                document["protection"]["on_exceed"] = "reject".into();
            }
            if self.rng.random_bool(0.3) {
                document["protection"]["joins_per_second"] = self.pick(&[1, 10, 100_000]).into();
            }
        }
        if self.rng.random_bool(0.4) {
            document["max_session"] = self.pick(&[1, 15, 50]).into();
        }
        settings(&document)
    }

    async fn step(&mut self) {
        let (queue, session) = (queue(), self.some_session());
        match self.rng.random_range(0..100) {
            0..43 => self.visit().await,
            43..50 => self.visits_at_once().await,
            50..61 => {
                let most = self.pick(&[1, 1000, 400_000, 2_000_000, 2_000_000, 9_000_000, 9_000_000, 70_000_000]);
                self.clock.advance(self.rng.random_range(0..=most));
            }
            // To the very end of a time.
            61..65 => self.pass_seconds(&[1, 1, 2, 3, 5, 10, 15, 20, 30, 50, 60, 120]),
            65..66 => self.pass_seconds(&[120, 200, 240]),
            66..71 => {
                if let Some(ticket) = self.some_ticket() {
                    both!(self, away(&queue, ticket.clone())).ok();
                }
            }
            71..76 => {
                if let Some(ticket) = self.some_ticket() {
                    both!(self, leave(&queue, ticket.clone())).ok();
                }
            }
            76..81 => drop(both!(self, end(&queue, session))),
            81..82 => {
                let seconds = self.pick(&[0, 60, 100, 100_000]);
                both!(self, set_attack_mode(&queue, seconds)).ok();
            }
            82..85 => {
                let count = self.rng.random_range(0..5);
                both!(self, release(&queue, count)).ok();
            }
            85..86 => drop(both!(self, admit(&queue, session))),
            86..90 => {
                let limit = self.pick(&[0, 1, 3, 1000]);
                both!(self, purge(&queue, limit)).ok();
            }
            90..95 => {
                let mode = match self.rng.random_range(0..6) {
                    0..4 => PutMode::Always,
                    4 => PutMode::IfRevision(self.rng.random_range(0..9)),
                    _ => PutMode::Restore,
                };
                let settings = self.some_settings().await;
                both!(self, put_settings(&settings, mode)).ok();
            }
            95..97 => {
                let list = self.pick(&[SessionList::Waiting, SessionList::Active, SessionList::Ended]);
                let start = PageStart { at: Micros(START.0 + 1_000_000), skip: self.pick(&[0, 1]) };
                drop(both!(self, page(&queue, list, start, 3)));
            }
            97..98 if self.rng.random_bool(0.5) => drop(both!(self, reset(&queue))),
            97..98 => self.fail().await,
            98 => self.remove().await,
            _ => self.many_visitors().await,
        }
    }

    async fn visit(&mut self) {
        let visit = self.some_visit();
        if let Ok(answer) = both!(self, visit(&queue(), visit.clone())) {
            self.keep(&answer);
            let turned_away = answer.kind == VisitKind::Full;
            if let Some(session) = visit.join.filter(|_| turned_away || answer.kind == VisitKind::NeedsPreTicket) {
                self.pre_tickets.push(self.tickets.first_visit(&answer, session, turned_away));
            }
            if let (VisitKind::NeedsProof(difficulty), Some(session)) = (answer.kind, visit.join) {
                let sent = visit.redeem.unwrap_or_else(|| self.tickets.first_visit(&answer, session, false));
                let asked = sent.requiring(u32::try_from(difficulty).unwrap());
                let proven =
                    if self.rng.random_bool(0.3) { asked.proving(0, difficulty - 1, answer.now) } else { Some(asked) };
                self.pre_tickets.extend(proven);
            }
        }
    }

    fn some_visit(&mut self) -> Visit {
        let ticket = if self.rng.random_bool(0.7) { self.some_ticket() } else { None };
        let join = if self.rng.random_bool(0.8) { Some(self.some_session()) } else { None };
        let read_only = ticket.is_some() && self.rng.random_bool(0.2);
        let witness = self.some_witness();
        let latest = self.pre_tickets.len().saturating_sub(12);
        let redeem = self.pre_tickets[latest..].choose(&mut self.rng).copied();
        if let Some(pre_ticket) = redeem.filter(|_| ticket.is_none() && self.rng.random_bool(0.7)) {
            let (client, proofs) = (self.some_client(), self.some_proofs());
            let visit = Visit { witness, client, proofs, ..Visit::redeeming(pre_ticket) };
            let (account, join) = self.some_account(None, visit.join);
            return Visit { account, join, ..visit };
        }
        let (client, pre_tickets_issued) = (self.some_client(), self.rng.random_range(0..3));
        let (account, join) = self.some_account(ticket.as_ref(), join);
        Visit { ticket, join, account, read_only, client, witness, pre_tickets_issued, ..Visit::default() }
    }

    /// Some visitors are signed in: they join as the session of their account. The gate ignores tickets of other accounts.
    fn some_account(
        &mut self,
        ticket: Option<&Ticket>,
        join: Option<SessionId>,
    ) -> (Option<SessionId>, Option<SessionId>) {
        let of_ticket = ticket.filter(|ticket| ticket.is_of_account()).map(Ticket::session);
        let account = of_ticket.unwrap_or_else(|| session(self.rng.random_range(ACCOUNTS)));
        if self.rng.random_bool(0.3) { (Some(account), join.and(Some(account))) } else { (None, join) }
    }

    fn some_proofs(&mut self) -> ProofCounts {
        ProofCounts { valid: self.rng.random_range(0..2), invalid: self.rng.random_range(0..2) }
    }

    /// One of a few addresses of a few networks, most of which share no cell.
    fn some_client(&mut self) -> JoinClient {
        let address = self.rng.random_range(0..12);
        let classes = [NetworkClass::Trusted, NetworkClass::Shared, NetworkClass::Suspicious, NetworkClass::Blocked];
        JoinClient {
            class: Some(self.pick(&classes)).filter(|_| self.rng.random_bool(0.2)),
            extra_hops: self.rng.random_bool(0.1),
            ..if self.rng.random_bool(0.8) { client(address, address / 4) } else { JoinClient::default() }
        }
    }

    /// Mostly of a process that could serve all the time.
    fn some_witness(&mut self) -> Witness {
        let unserved = match self.rng.random_range(0..20) {
            0 => Witness::STARTED,
            1 => self.rng.random_range(0..100_000_000),
            _ => 0,
        };
        Witness { unserved, census: self.census.filter(|_| self.rng.random_bool(0.5)) }
    }

    fn keep(&mut self, answer: &VisitAnswer) {
        if answer.session.is_some() {
            self.held.push(self.tickets.of(answer));
        }
        self.census = Some(answer.census());
    }

    /// Visits that come at once share a script, in the order in which they came. One process says the same with all of them.
    async fn visits_at_once(&mut self) {
        let count = self.rng.random_range(2..=TOGETHER);
        let witness = self.some_witness();
        let mut visits: Vec<Visit> = (0..count).map(|_| Visit { witness, ..self.some_visit() }).collect();
        // A script counts the pre-tickets of a batch after its visits: one of these may begin another state.
        let issued = visits.iter_mut().map(|visit| std::mem::take(&mut visit.pre_tickets_issued)).sum();
        visits[count - 1].pre_tickets_issued = issued;
        for visit in &mut visits[..count - 1] {
            visit.proofs = ProofCounts::default();
        }
        let (store, queue) = (&self.redis, queue());
        let answers = join_all(visits.iter().map(|visit| store.visit(&queue, visit.clone()))).await;
        for (visit, redis) in visits.into_iter().zip(answers) {
            let memory = self.memory.visit(&queue, visit).await;
            same(&memory, &redis);
            if let Ok(answer) = memory {
                self.keep(&answer);
            }
        }
    }

    /// An operator removes the queue; a gate tries to restore it, and an operator creates it again.
    async fn remove(&mut self) {
        both!(self, remove_queue(&queue())).ok();
        if self.rng.random_bool(0.2) {
            self.visit().await;
        }
        let settings = self.some_settings().await;
        both!(self, put_settings(&settings, PutMode::Restore)).ok();
        both!(self, put_settings(&settings, PutMode::Always)).ok();
    }

    /// Data is lost, or the clock is set.
    async fn fail(&mut self) {
        match self.rng.random_range(0..5) {
            0 | 1 => self.lose().await,
            2 => self.keep_state(),
            3 => self.roll_back(),
            _ => {
                let most = self.pick(&[1, 400_000, 2_000_000, 60_000_000, 300_000_000]);
                self.clock.step_back(self.rng.random_range(0..=most));
            }
        }
    }

    /// The store loses everything, and gates restore their settings.
    async fn lose(&mut self) {
        self.server.command("FLUSHALL");
        self.memory.restore(MemorySnapshot::default());
        // The copies of an earlier state are gone, too.
        self.kept = None;
        if self.rng.random_bool(0.2) {
            self.visit().await;
        }
        for _ in 0..self.rng.random_range(1..=2) {
            let mut settings = self.some_settings().await;
            settings.line.revision = self.rng.random_range(1..5);
            both!(self, put_settings(&settings, PutMode::Restore)).ok();
            self.visit().await;
        }
    }

    pub(crate) fn keep_state(&mut self) {
        self.kept = Some(self.memory.snapshot());
        for name in KEYS {
            let key = key(name);
            self.server.command(&format!("DEL {key}:kept"));
            self.server.command(&format!("COPY {key} {key}:kept"));
        }
    }

    /// The state goes back in time: a failover, or a server started from an old file.
    pub(crate) fn roll_back(&mut self) {
        let Some(kept) = self.kept.clone() else { return };
        self.memory.restore(kept);
        for name in KEYS {
            let key = key(name);
            self.server.command(&format!("DEL {key}"));
            self.server.command(&format!("COPY {key}:kept {key}"));
        }
        // The memory store does not save what it knows about joins.
        self.server.command(&format!("DEL {} {}", key("joins"), key("networks")));
        self.server.command(&format!("HDEL {} joins join_bucket events_window events_since", key("state")));
    }

    pub(crate) fn pass_seconds(&mut self, any_of: &[u64]) {
        let seconds = self.pick(any_of);
        self.clock.advance(seconds * vestibule_core::MICROS_PER_SECOND);
    }

    /// More sessions join than one operation removes or admits, and may expire together.
    async fn many_visitors(&mut self) {
        let size = self.rng.random_range(40..=180);
        for number in 0..size {
            self.join_many(number).await;
        }
        if self.rng.random_bool(0.5) {
            both!(self, release(&queue(), 150)).ok();
        } else {
            self.pass_seconds(&[3, 10, 20, 30, 60]);
        }
        for _ in 0..4 {
            let number = self.rng.random_range(0..size);
            self.join_many(number).await;
        }
    }

    pub(crate) async fn join_many(&mut self, number: u32) {
        let visit = Visit { client: self.some_client(), ..Visit::joining(session(1000 + number)) };
        both!(self, visit(&queue(), visit.clone())).ok();
    }

    pub(crate) async fn compare(&mut self, thoroughly: bool) {
        let queue = queue();
        both!(self, protection(&queue)).ok();
        if thoroughly {
            both!(self, stats(&queue)).ok();
            for list in [SessionList::Waiting, SessionList::Active, SessionList::Ended] {
                both!(self, page(&queue, list, PageStart::default(), 150)).ok();
            }
            // A revision that a ticket brought about is not in the index.
            let (memory, redis) = (self.memory.queues().await, self.redis.queues().await);
            let listed = |queues: Vec<(QueueId, u64)>| -> Vec<_> {
                queues.into_iter().map(|(id, revision)| (id, revision == 0)).collect()
            };
            same(&listed(memory.unwrap()), &listed(redis.unwrap()));
            let (memory, redis) = (self.memory.settings(&queue).await, self.redis.settings(&queue).await);
            same(&memory.unwrap().map(|found| found.to_value()), &redis.unwrap().map(|found| found.to_value()));
            for number in (0..SESSIONS).chain(1000..1005) {
                both!(self, find(&queue, session(number))).ok();
            }
        }
    }
}

/// What a queue keeps, by the ends of its keys' names.
const KEYS: [&str; 6] = ["line", "active", "pool", "ended", "state", "settings"];

fn key(name: &str) -> String {
    Keys::of(&queue()).line().replace(":line", &format!(":{name}"))
}

/// Says which seed and which step it was.
struct Trace(u64, usize);

impl Drop for Trace {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("VESTIBULE_TEST_SEED={} failed at step {}", self.0, self.1);
        }
    }
}

/// Both stores, holding a queue with these settings.
pub(crate) async fn pair<'a>(server: &'a Server, seed: u64, first: &serde_json::Value) -> Pair<'a> {
    server.command("FLUSHALL");
    let clock = Arc::new(ManualClock::at(START));
    let options =
        RedisOptions { timeout: Duration::from_secs(5), clock: Some(clock.clone()), ..RedisOptions::default() };
    let pair = Pair {
        server,
        memory: MemoryStore::new(clock.clone()),
        redis: RedisStore::connect(&server.url(), options).unwrap(),
        clock,
        tickets: Tickets::new(),
        held: Vec::new(),
        pre_tickets: Vec::new(),
        kept: None,
        census: None,
        rng: SmallRng::seed_from_u64(seed),
    };
    both!(pair, put_settings(&settings(first), PutMode::Always)).unwrap();
    pair
}

async fn run(server: &Server, seed: u64) {
    let first = json!({ "quota": 3, "waiting_ttl": 10, "active_ttl": 20, "hold_ttl": 60 });
    let mut pair = pair(server, seed, &first).await;
    let mut trace = Trace(seed, 0);
    for step in 0..STEPS {
        trace.1 = step;
        pair.step().await;
        pair.compare(step % 10 == 0).await;
    }
    pair.compare(true).await;
}

#[tokio::test]
async fn random_operations_match_the_reference_rules() {
    let server = Server::start().await;
    let seeds = match std::env::var("VESTIBULE_TEST_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..SEEDS).collect(),
    };
    for seed in seeds {
        run(&server, seed).await;
    }
}

/// More networks than are listed join, over three windows.
#[tokio::test]
async fn largest_networks_match_the_reference_rules() {
    let server = Server::start().await;
    let first = json!({ "quota": 0, "protection": { "pre_ticket_from": "none" } });
    let mut pair = pair(&server, 1, &first).await;
    for number in 0..6000 {
        // Some networks join far more often than others.
        let network = pair.rng.random_range(0_u32..120).min(pair.rng.random_range(0..120));
        let visit = Visit { client: client(number % 300, network), ..Visit::joining(session(number)) };
        let (queue, store) = (queue(), &pair.redis);
        let (redis, memory) = (store.visit(&queue, visit.clone()).await, pair.memory.visit(&queue, visit).await);
        same(&memory.map(|answer| answer.kind), &redis.map(|answer| answer.kind));
        pair.clock.advance(110_000);
        if number % 100 == 0 {
            both!(pair, protection(&queue)).unwrap();
        }
    }
    let report = both!(pair, protection(&queue())).unwrap();
    assert_eq!(report.networks.len(), LARGEST_NETWORKS_MAX);
}
