//! Random sequences of joins: clients of few addresses and networks, limits that change, windows, rejections and retries. Every
//! store gives the same answers and reports, and counts no join too few.

use std::collections::HashMap;

use futures_util::future::join_all;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use vestibule_core::line::{JoinClient, Mode, ProtectionReport, Visit, VisitAnswer, VisitKind};
use vestibule_core::settings::{LimitMode, OnExceed, Protection, Settings};
use vestibule_core::{
    Clock as _, FirstVisit, JOIN_WINDOW, MICROS_PER_SECOND, NetworkClass, PreTicket, ProofMode, PutMode, SessionId,
    Ticket, join_window,
};

use super::run::{Coverage, same};
use crate::conformance::limits::client;
use crate::line_fixture::{LineFixture, StoreFixture, random_queue_id, settings_of};

/// Clients of a sequence.
const CLIENTS: usize = 9;
/// Clients of one network.
const CLIENTS_OF_A_NETWORK: usize = 3;
/// Maximum number of joins at once: one call of a store.
const AT_ONCE: usize = 12;
/// Sequences begin at a multiple of it, so that a seed stands for the same windows.
const ALIGNED: u64 = 4 * JOIN_WINDOW * MICROS_PER_SECOND;

/// A store beside the rules, which have the same time.
pub(super) struct ComparedStores {
    reference: StoreFixture,
    other: StoreFixture,
}

impl ComparedStores {
    pub(super) async fn redis() -> Self {
        Self { reference: StoreFixture::memory(), other: StoreFixture::redis().await }
    }

    fn advance(&self, micros: u64) {
        self.reference.clock.advance(micros);
        self.other.clock.advance(micros);
    }

    /// Runs a sequence of operations; returns what happened in it.
    ///
    /// # Errors
    /// Returns what differs or is counted too low.
    pub(super) async fn run(&self, seed: u64, operations: usize) -> Result<Coverage, String> {
        self.advance(ALIGNED - self.reference.clock.now().0 % ALIGNED);
        let mut rng = SmallRng::seed_from_u64(seed);
        let settings = settings_of(&random_queue_id(), &json!({ "quota": 10 }));
        let fixture = |stores| LineFixture { stores, queue: settings.id.clone() };
        let (reference, other) = (fixture(&self.reference), fixture(&self.other));
        let clients = clients(&mut rng, &reference);
        let mut sequence = JoinSequence {
            stores: self,
            reference,
            other,
            settings,
            rng,
            clients,
            pre_tickets: Vec::new(),
            tickets: Vec::new(),
            joined: HashMap::new(),
            steps: Vec::new(),
        };
        sequence.change().await?;
        for _ in 0..operations {
            if let Err(what) = sequence.step().await {
                return Err(format!("{}\n{what}", sequence.steps.join("\n")));
            }
        }
        sequence.finish().await
    }
}

/// Nine clients of three networks, some of which come through another proxy, and one without a usable address.
fn clients(rng: &mut SmallRng, fixture: &LineFixture<'_>) -> Vec<JoinClient> {
    let mut clients = vec![JoinClient::default()];
    for number in 0..CLIENTS {
        let address = format!("203.0.{}.{}", number / CLIENTS_OF_A_NETWORK, number % CLIENTS_OF_A_NETWORK);
        clients.push(JoinClient { extra_hops: rng.random_bool(0.3), ..client(fixture, &address) });
    }
    clients
}

fn one_of<T: Copy>(rng: &mut SmallRng, of: &[T]) -> T {
    *of.choose(rng).expect("there is something to choose from")
}

/// Random measures with small limits.
fn protection(rng: &mut SmallRng) -> Protection {
    let mut protection = Protection {
        pre_ticket_from: one_of(rng, &[None, None, Some(0), Some(50)]),
        mode: one_of(rng, &[LimitMode::Enforce, LimitMode::Enforce, LimitMode::Monitor, LimitMode::Off]),
        per_address: one_of(rng, &[None, Some(1), Some(3), Some(20)]),
        per_network: one_of(rng, &[None, Some(2), Some(8), Some(40)]),
        on_exceed: one_of(rng, &[OnExceed::Challenge, OnExceed::Reject, OnExceed::Reject]),
        joins_per_second: one_of(rng, &[None, None, None, Some(1), Some(3), Some(50)]),
        counters: if rng.random_bool(0.02) { 524_288 } else { 131_072 },
        show_networks: rng.random_bool(0.8),
        ..Protection::default()
    };
    protection.proof_of_work.mode = one_of(rng, &[ProofMode::Off, ProofMode::Auto, ProofMode::Always]);
    protection.proof_of_work.from = one_of(rng, &[1, 2, 50]);
    protection
}

struct JoinSequence<'a> {
    stores: &'a ComparedStores,
    reference: LineFixture<'a>,
    other: LineFixture<'a>,
    settings: Settings,
    rng: SmallRng,
    clients: Vec<JoinClient>,
    /// Pre-tickets of newcomers who did not join yet, with the indices of their clients.
    pre_tickets: Vec<(usize, PreTicket)>,
    tickets: Vec<Ticket>,
    /// The true numbers of joins by window and client.
    joined: HashMap<(u64, usize), u64>,
    /// What happened so far.
    steps: Vec<String>,
}

impl JoinSequence<'_> {
    async fn step(&mut self) -> Result<(), String> {
        self.pause();
        match self.rng.random_range(0..100) {
            0..45 => self.newcomers().await,
            45..75 => self.retry().await,
            75..83 => self.poll().await,
            83..92 => self.change().await,
            92..98 => self.attack_mode().await,
            _ => self.reset().await,
        }
    }

    /// Often none, sometimes until a slot or a window is over, and sometimes longer than both windows.
    fn pause(&mut self) {
        let now = self.reference.now().0;
        let until = |seconds: u64| seconds * MICROS_PER_SECOND - now % (seconds * MICROS_PER_SECOND);
        let micros = match self.rng.random_range(0..100) {
            0..50 => 0,
            50..70 => self.rng.random_range(1..MICROS_PER_SECOND),
            70..80 => until(10) - self.rng.random_range(0..2),
            80..88 => self.rng.random_range(1..60) * MICROS_PER_SECOND,
            88..96 => until(JOIN_WINDOW) - self.rng.random_range(0..2),
            _ => one_of(&mut self.rng, &[JOIN_WINDOW, 2 * JOIN_WINDOW, 3 * JOIN_WINDOW + 7]) * MICROS_PER_SECOND,
        };
        self.stores.advance(micros);
    }

    /// Newcomers of one client, without pre-tickets, some of them invited.
    async fn newcomers(&mut self) -> Result<(), String> {
        let number = self.rng.random_range(0..self.clients.len());
        let invited = self.rng.random_bool(0.1);
        let visits = (0..self.rng.random_range(1..=AT_ONCE)).map(|_| {
            let session = SessionId::random();
            if invited { Visit::invited(session, 0) } else { Visit::joining(session) }
        });
        let visits: Vec<Visit> = visits.collect();
        self.join(number, visits).await
    }

    /// Some newcomers of one client come back with their pre-tickets, some of them with a proof of what they were asked for.
    async fn retry(&mut self) -> Result<(), String> {
        let Some((number, _)) = self.pre_tickets.choose(&mut self.rng).copied() else { return self.newcomers().await };
        let most = self.rng.random_range(1..=AT_ONCE);
        let solves = self.rng.random_bool(0.6);
        let mut visits = Vec::new();
        self.pre_tickets.retain(|(client, pre_ticket)| {
            let comes = *client == number && visits.len() < most;
            if comes {
                let base = pre_ticket.proven().unwrap_or(0).into();
                let bearing =
                    pre_ticket.proving(base, pre_ticket.work_left(), pre_ticket.first_visit()).filter(|_| solves);
                visits.push(Visit::redeeming(bearing.unwrap_or(*pre_ticket)));
            }
            !comes
        });
        self.join(number, visits).await
    }

    /// These visits come at once from one client.
    async fn join(&mut self, number: usize, mut visits: Vec<Visit>) -> Result<(), String> {
        let classes = [
            None,
            None,
            None,
            None,
            Some(NetworkClass::Trusted),
            Some(NetworkClass::Shared),
            Some(NetworkClass::Suspicious),
            Some(NetworkClass::Blocked),
        ];
        let client = JoinClient { class: one_of(&mut self.rng, &classes), ..self.clients[number] };
        for visit in &mut visits {
            visit.client = client;
        }
        let now = self.reference.now();
        let redeem = visits.iter().filter(|visit| visit.redeem.is_some()).count();
        self.steps
            .push(format!("{now:?}: {} joins, {redeem} by pre-tickets, of client {number}: {client:?}", visits.len()));
        let before = self.reference.protection().await;
        let answers = self.visit(&visits).await?;
        for (visit, answer) in visits.iter().zip(&answers) {
            self.keep(number, visit, answer);
        }
        self.steps.push(format!("   -> {:?}", answers.iter().map(|answer| answer.kind).collect::<Vec<_>>()));
        let after = self.report().await?;
        self.check_counts(number, client.class, [&before, &after], &answers)
    }

    /// Serves these visits one after the other by the rules, and at once by the store.
    async fn visit(&self, visits: &[Visit]) -> Result<Vec<VisitAnswer>, String> {
        let mut expected = Vec::new();
        for visit in visits {
            expected.push(self.reference.store().visit(&self.reference.queue, visit.clone()).await.unwrap());
        }
        let (store, queue) = (self.other.store(), &self.other.queue);
        let found = join_all(visits.iter().map(|visit| store.visit(queue, visit.clone()))).await;
        let found: Vec<VisitAnswer> = found.into_iter().map(Result::unwrap).collect();
        same("answer", &expected, &found).map_err(|what| format!("{visits:?}: {what}"))?;
        Ok(found)
    }

    /// Keeps the ticket or the pre-ticket that a gate would set.
    fn keep(&mut self, number: usize, visit: &Visit, answer: &VisitAnswer) {
        self.tickets.extend(self.reference.stores.ticket(&self.reference.queue, answer));
        let preserved = matches!(answer.kind, VisitKind::Full | VisitKind::Rejected(_));
        let pre_ticket = visit.redeem.or_else(|| {
            let session = visit.join?;
            let visit = FirstVisit { preserved, ..FirstVisit::new(answer.epoch, session, answer.now) };
            Some(self.reference.stores.pre_ticket(&self.reference.queue, &visit, [None; 2]))
        });
        let pre_ticket = match answer.kind {
            VisitKind::NeedsProof(difficulty) => {
                pre_ticket.map(|pre_ticket| pre_ticket.requiring(difficulty.try_into().unwrap()))
            }
            VisitKind::NeedsPreTicket | VisitKind::Full | VisitKind::Rejected(_) => pre_ticket,
            _ => None,
        };
        self.pre_tickets.extend(pre_ticket.map(|pre_ticket| (number, pre_ticket)));
    }

    /// Counts these joins, and checks that no estimate is below the true number of joins.
    fn check_counts(
        &mut self,
        number: usize,
        class: Option<NetworkClass>,
        [before, after]: [&ProtectionReport; 2],
        answers: &[VisitAnswer],
    ) -> Result<(), String> {
        let Protection { mode, per_address, per_network, on_exceed, .. } = self.settings.line.protection.clone();
        let is_counted = mode != LimitMode::Off || before.stats.attack_mode_until.is_some();
        if number == 0 || !is_counted {
            return Ok(());
        }
        let window = join_window(self.reference.now());
        let rejects = mode == LimitMode::Enforce && on_exceed == OnExceed::Reject;
        let is_limited = matches!(class, None | Some(NetworkClass::Suspicious));
        let applies = rejects && is_limited && before.totals.limits_apply() && after.totals.limits_apply();
        for answer in answers.iter().filter(|answer| answer.kind == VisitKind::Joined) {
            *self.joined.entry((window, number)).or_default() += 1;
            let [address, network] = self.true_joins(window, number);
            let exceeds = |joins, limit: Option<u64>| limit.is_some_and(|limit| joins > limit);
            if applies && (exceeds(address, per_address) || exceeds(network, per_network)) {
                return Err(format!("{answer:?} joined; {address} of the address and {network} of the network did"));
            }
        }
        Ok(())
    }

    /// The true joins of the address and of the network of a client in this window and the one before.
    fn true_joins(&self, window: u64, number: usize) -> [u64; 2] {
        let of_client = |number: usize| {
            let in_window = |window| self.joined.get(&(window, number)).copied().unwrap_or_default();
            in_window(window) + in_window(window - 1)
        };
        let first = (number - 1) / CLIENTS_OF_A_NETWORK * CLIENTS_OF_A_NETWORK + 1;
        [of_client(number), (first..first + CLIENTS_OF_A_NETWORK).map(of_client).sum()]
    }

    /// Visitors who have joined come back.
    async fn poll(&mut self) -> Result<(), String> {
        let count = self.rng.random_range(1..=AT_ONCE);
        let tickets: Vec<Ticket> = self.tickets.choose_multiple(&mut self.rng, count).cloned().collect();
        let visits: Vec<Visit> = tickets.into_iter().map(Visit::keeping).collect();
        self.visit(&visits).await?;
        self.report().await.map(drop)
    }

    /// Other measures, limits and modes.
    async fn change(&mut self) -> Result<(), String> {
        let protection = protection(&mut self.rng);
        if protection.counters != self.settings.line.protection.counters {
            // Other counters begin at zero.
            self.joined.clear();
        }
        self.settings.line.protection = protection;
        self.settings.line.max_waiting = one_of(&mut self.rng, &[None, None, None, Some(30)]);
        self.settings.line.mode = one_of(&mut self.rng, &[Mode::Paused, Mode::Open]);
        self.steps.push(format!("{:?}: {:?}", self.reference.now(), self.settings.line));
        self.put().await
    }

    async fn put(&self) -> Result<(), String> {
        let put = async |fixture: &LineFixture<'_>| {
            fixture.store().put_settings(&self.settings, PutMode::Always).await.unwrap()
        };
        same("revision", &put(&self.reference).await, &put(&self.other).await)?;
        self.report().await.map(drop)
    }

    async fn attack_mode(&mut self) -> Result<(), String> {
        let seconds = one_of(&mut self.rng, &[0, 60, 600]);
        self.steps.push(format!("{:?}: attack mode for {seconds} s", self.reference.now()));
        for fixture in [&self.reference, &self.other] {
            fixture.store().set_attack_mode(&fixture.queue, seconds).await.unwrap();
        }
        self.report().await.map(drop)
    }

    async fn reset(&mut self) -> Result<(), String> {
        self.steps.push(format!("{:?}: reset", self.reference.now()));
        for fixture in [&self.reference, &self.other] {
            fixture.store().reset(&fixture.queue).await.unwrap();
        }
        self.settings.line.epoch = self.reference.stats().await.rules.epoch;
        self.joined.clear();
        self.report().await.map(drop)
    }

    /// The report, which is the same by the rules and by the store.
    async fn report(&self) -> Result<ProtectionReport, String> {
        let report = self.reference.protection().await;
        same("report", &report, &self.other.protection().await)?;
        Ok(report)
    }

    /// Removes the queue. Returns the events since the last reset.
    async fn finish(self) -> Result<Coverage, String> {
        let stats = self.report().await?.stats;
        for fixture in [&self.reference, &self.other] {
            fixture.store().remove_queue(&fixture.queue).await.unwrap();
        }
        let counters = stats.limits.counters.named().into_iter().filter(|(name, _)| !name.starts_with("proofs"));
        Ok(counters.collect())
    }
}
