//! One run: a queue, simulated visitors and a seed.

use std::collections::{BTreeMap, VecDeque};

use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use vestibule_core::line::{VisitAnswer, VisitKind};
use vestibule_core::settings::Settings;
use vestibule_core::{FirstVisit, PreTicket, PutMode, PutOutcome, QueueId, SessionId, Ticket};

use super::invariants::{Step, StepHistory};
use super::operation::{Operation, OperationResult};
use super::snapshot::Snapshot;
use super::visitors::Visitors;
use crate::line_fixture::{StoreFixture, random_queue_id};

/// Networks of visitors.
const NETWORK: &str = "203.0.113.0/24";
const OTHER_NETWORK: &str = "198.51.100.0/24";
/// One run in this number has limits of joins. Their counters take time to create.
const RUNS_PER_LIMITED_RUN: u64 = 16;
/// Number of recent steps shown in a failure.
const STEPS_SHOWN: usize = 12;
/// Number of sessions up to which all are looked up after every step.
const FEW: usize = 6;
/// Longer than any TTL, in microseconds.
const LONG_AFTER: u64 = 30 * 86_400 * 1_000_000;

pub(super) struct Run {
    rng: SmallRng,
    queue: QueueId,
    reference: StoreFixture,
    other: Option<StoreFixture>,
    settings: Settings,
    visitors: Visitors,
    history: StepHistory,
    /// The data and state saved earlier.
    noted: Option<(StepHistory, Snapshot)>,
    steps: VecDeque<String>,
    happened: Coverage,
}

/// Event counts of a run, by the names of the counters.
pub(super) type Coverage = BTreeMap<&'static str, u64>;

impl Run {
    pub(super) fn new(seed: u64, other: Option<StoreFixture>) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let queue = random_queue_id();
        let visitors = Visitors::new(seed.is_multiple_of(RUNS_PER_LIMITED_RUN));
        let settings = visitors.settings(&mut rng, &queue);
        let (reference, history) = (StoreFixture::memory(), StepHistory::default());
        let (steps, happened) = (VecDeque::new(), Coverage::new());
        Self { rng, queue, reference, other, settings, visitors, history, noted: None, steps, happened }
    }

    fn benches(&self) -> impl Iterator<Item = &StoreFixture> {
        [&self.reference].into_iter().chain(&self.other)
    }

    /// Runs this many operations.
    ///
    /// # Errors
    /// Returns the violated invariant and the last steps before it.
    pub(super) async fn go(mut self, operations: usize) -> Result<Coverage, String> {
        for stores in self.benches() {
            let outcome = stores.store.put_settings(&self.settings, PutMode::Always).await.unwrap();
            assert_eq!(outcome, PutOutcome::Stored(1));
        }
        let mut seen = Snapshot::take(&*self.reference.store, &self.queue, None, None).await;
        for index in 0..operations {
            seen = self.step(&seen).await.map_err(|what| self.tell(index, &what))?;
        }
        self.empty(&seen).await.map_err(|what| self.tell(operations, &what))?;
        for stores in self.benches() {
            stores.store.remove_queue(&self.queue).await.unwrap();
        }
        Ok(self.happened)
    }

    fn tell(&self, index: usize, what: &str) -> String {
        let steps: Vec<&str> = self.steps.iter().map(String::as_str).collect();
        format!("step {index}: {what}\nafter\n{}", steps.join("\n"))
    }

    fn advance_micros(&self, micros: u64) {
        for stores in self.benches() {
            stores.clock.advance(micros);
        }
    }

    async fn step(&mut self, before: &Snapshot) -> Result<Snapshot, String> {
        let pause = self.visitors.pause(&mut self.rng, before);
        self.advance_micros(pause);
        let operation = self.visitors.next(&mut self.rng, &self.settings, before);
        if self.steps.len() == STEPS_SHOWN {
            self.steps.pop_front();
        }
        self.steps.push_back(format!("{pause} us later: {}", operation.description()));
        let answer = self.apply(&operation).await?;
        self.steps.push_back(format!("   -> {answer:?}"));
        let came = self.keep(&answer);
        self.keep_lobby_ticket(&operation, &answer);
        self.keep_pre_ticket(&operation, &answer);
        match operation {
            Operation::Note => self.noted = Some((self.history.clone(), before.clone())),
            Operation::RollBack => {
                if let Some((history, _)) = &self.noted {
                    self.history = history.clone();
                }
            }
            _ => {}
        }
        let noted = self.noted.as_ref().map(|(_, seen)| seen).filter(|_| matches!(operation, Operation::RollBack));
        let after = self.look(noted.unwrap_or(before), came).await?;
        Step { before, after: &after, operation: &operation, answer: &answer }.check(&mut self.history)?;
        self.count(before, &after);
        self.settings = self.reference.store.settings(&self.queue).await.unwrap().unwrap();
        Ok(after)
    }

    fn count(&mut self, before: &Snapshot, after: &Snapshot) {
        for ((name, after), (_, before)) in after.stats.counters.named().iter().zip(before.stats.counters.named()) {
            *self.happened.entry(name).or_default() += after.saturating_sub(before);
        }
    }

    /// Applies the operation to every store; all must return the same answer.
    async fn apply(&self, operation: &Operation) -> Result<OperationResult, String> {
        let answer = operation.on(&self.reference, &self.queue).await;
        if let Some(other) = &self.other {
            let differs = operation.on(other, &self.queue).await;
            same("answer", &answer, &differs)?;
        }
        Ok(answer)
    }

    /// Keeps the ticket that the gate would set, and returns its session.
    fn keep(&mut self, answer: &OperationResult) -> Option<SessionId> {
        let OperationResult::Visit(answer) = answer else { return None };
        let session = answer.session?;
        let wait_ms = self.visitors.wait_shown(answer, &session);
        self.visitors.keep(&mut self.rng, self.reference.ticket_with_wait(&self.queue, answer, wait_ms)?);
        Some(session.id)
    }

    /// Keeps the lobby ticket that the gate would set.
    fn keep_lobby_ticket(&mut self, operation: &Operation, answer: &OperationResult) {
        let (Operation::Visit(visit), OperationResult::Visit(answer)) = (operation, answer) else { return };
        let Some(entry) = answer.lobby_entry(visit) else { return };
        let event = self.settings.line.phase(answer.now, true).and_then(|current| current.event);
        let event = event.expect("a lobby is that of an event");
        let signer = &self.reference.signer;
        let token = signer.sign_lobby(&self.queue, &event.id, &entry).unwrap();
        self.visitors.keep_lobby_ticket(signer.verify_lobby(&self.queue, token.as_bytes()).unwrap());
        *self.happened.entry("lobby").or_default() += 1;
    }

    /// Keeps the pre-ticket that a gate would set. Some come from another network later, and some were signed while the store
    /// did not respond, so that their arrival is preserved.
    fn keep_pre_ticket(&mut self, operation: &Operation, answer: &OperationResult) {
        let (Operation::Visit(visit), OperationResult::Visit(answer)) = (operation, answer) else { return };
        if let Some(pre_ticket) = visit.redeem {
            return self.keep_turned_away(answer, pre_ticket);
        }
        let Some(session) = visit.join.filter(|_| visit.ticket.is_none()) else { return };
        let [choice, ..] = *session.as_bytes();
        let is_rejected = matches!(answer.kind, VisitKind::Full | VisitKind::Rejected(_));
        let is_turned_away = is_rejected || matches!(answer.kind, VisitKind::NeedsPreTicket | VisitKind::NeedsProof(_));
        // A gate that has not heard that the queue is closed signs some as well.
        let is_closed = answer.kind == VisitKind::Absent && !answer.mode.accepts_joins();
        if !(is_turned_away || is_closed && choice % 4 < 2) {
            return;
        }
        let preserved = is_rejected || choice % 4 == 0;
        let visit = FirstVisit { preserved, ..FirstVisit::new(answer.epoch, session, answer.now) };
        let brought_from = if choice % 5 == 0 { OTHER_NETWORK } else { NETWORK };
        let networks = [Some(NETWORK), Some(brought_from)];
        let pre_ticket = self.reference.pre_ticket(&self.queue, &visit, networks);
        match answer.kind {
            VisitKind::NeedsProof(_) => self.keep_turned_away(answer, pre_ticket),
            _ => self.visitors.keep_pre_ticket(pre_ticket),
        }
    }

    /// Keeps the pre-ticket of a newcomer who was rejected or asked for a proof of work.
    fn keep_turned_away(&mut self, answer: &VisitAnswer, pre_ticket: PreTicket) {
        match answer.kind {
            VisitKind::NeedsProof(difficulty) => {
                *self.happened.entry("asked for a proof").or_default() += 1;
                self.visitors.keep_pre_ticket(pre_ticket.requiring(difficulty.try_into().unwrap()));
            }
            VisitKind::Rejected(_) => {
                *self.happened.entry("rejected").or_default() += 1;
                self.visitors.keep_pre_ticket(pre_ticket.preserve());
            }
            _ => {}
        }
    }

    /// The state after a step, which must be the same in every store. Active sessions are looked up
    /// one by one, so not after every visit; the counts, the line and the answer are enough then.
    async fn look(&self, before: &Snapshot, came: Option<SessionId>) -> Result<Snapshot, String> {
        let look = async |stores: &StoreFixture| Snapshot::take(&*stores.store, &self.queue, Some(before), came).await;
        let after = look(&self.reference).await;
        if let Some(other) = &self.other {
            if came.is_none() || after.active.len() < FEW {
                same("state", &after, &look(other).await)?;
            } else {
                let glance = Snapshot::glance(&*other.store, &self.queue).await;
                same("state", &(after.stats.clone(), after.line.clone()), &glance)?;
            }
        }
        Ok(after)
    }

    /// At the end all sessions expire and no data is left, including that of sessions ended by
    /// `max_session`.
    async fn empty(&mut self, seen: &Snapshot) -> Result<(), String> {
        for _ in 0..2 {
            self.advance_micros(LONG_AFTER);
            for stores in self.benches() {
                while stores.store.purge(&self.queue, usize::MAX).await.unwrap().more {}
            }
        }
        let after = self.look(seen, None).await?;
        let there = (after.stats.waiting, after.stats.active);
        if there != (0, 0) {
            return Err(format!("(waiting, active) are {there:?} long after all sessions expired"));
        }
        self.is_forgotten(self.visitors.last_ticket()).await
    }

    /// A tombstone expires.
    async fn is_forgotten(&self, ticket: Option<Ticket>) -> Result<(), String> {
        let Some(session) = ticket.map(|ticket| ticket.session()) else { return Ok(()) };
        for stores in self.benches() {
            let found = stores.store.find(&self.queue, session).await.unwrap();
            if found.is_some() {
                return Err(format!("{session} is still there: {found:?}"));
            }
        }
        Ok(())
    }
}

/// Both must be the same.
pub(super) fn same<T: PartialEq + std::fmt::Debug>(what: &str, reference: &T, other: &T) -> Result<(), String> {
    if reference == other {
        return Ok(());
    }
    Err(format!("another {what}:\nby the rules {reference:?}\nby the store {other:?}"))
}
