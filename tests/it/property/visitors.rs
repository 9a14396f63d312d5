//! Simulated visitors who keep all tickets they received, and the random operations of visitors and
//! operators.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom as _;
use serde_json::{Value, json};
use vestibule_core::line::{
    ClientDigests, Identities, JoinClient, LineRules, Mode, PageStart, SessionList, SessionState, Visit, VisitAnswer,
    Witness,
};
use vestibule_core::settings::{Access, Settings};
use vestibule_core::{
    Draw, DrawTerms, Hex32, LobbyTicket, MICROS_PER_SECOND, Micros, PreTicket, PrefixDigest, PutMode, QueueId,
    SessionId, Ticket,
};

use super::operation::Operation;
use super::snapshot::Snapshot;
use crate::conformance::phases::event;
use crate::line_fixture::settings_of;

/// Maximum number of tickets kept; further ones replace random ones.
const TICKETS_MAX: usize = 300;

/// Networks of newcomers, and addresses of each.
const NETWORKS: u8 = 12;
const ADDRESSES: u8 = 3;

/// Number of active sessions that return first after a loss.
const STRANDED: usize = 3;

#[derive(Default)]
pub(super) struct Visitors {
    tickets: Vec<Ticket>,
    newcomers: Vec<SessionId>,
    /// Number of further arrivals in the current burst.
    rush: u32,
    /// Tickets of the sessions that were active when the store lost its state; they return next.
    stranded: Vec<Ticket>,
    lobby: Vec<LobbyTicket>,
    pre_tickets: Vec<PreTicket>,
    /// Whether joins are limited and may need a proof of work. Such a run has no rollback: a line in memory does not save what it
    /// knows about joins.
    has_limits: bool,
}

fn one_of<T: Clone>(rng: &mut SmallRng, of: &[T]) -> T {
    of.choose(rng).expect("there is something to choose from").clone()
}

/// Draws sixteen bytes, as when the kept seeds were found; otherwise the seeds would stand for
/// other runs.
fn new_session(rng: &mut SmallRng) -> SessionId {
    let [bytes @ .., _, _]: [u8; 16] = rng.random();
    SessionId::from_bytes(bytes)
}

/// Head starts of the batches, in microseconds.
const HEAD_STARTS: [u64; 4] = [0, 1, 2_000_000, 60_000_000];

/// The head start of a newcomer, a third of whom are invited. It follows from the session, so that the kept seeds stand for the
/// same runs.
fn head_start_of(session: SessionId) -> Option<u64> {
    let [first, second, ..] = *session.as_bytes();
    (first % 3 == 0).then(|| HEAD_STARTS[usize::from(second) % HEAD_STARTS.len()])
}

/// The client of a newcomer. It follows from the session, so that the kept seeds stand for the same runs.
fn client_of(session: SessionId) -> JoinClient {
    let [.., address, network] = *session.as_bytes();
    let (network, address) = (network % NETWORKS, address % ADDRESSES);
    let digest = |prefix: u8| PrefixDigest::of_rows([u32::from(prefix), u32::from(prefix) + 1_000]);
    let prefixes =
        ClientDigests { network: digest(network), address: digest(NETWORKS + network * ADDRESSES + address) };
    JoinClient { prefixes: Some(prefixes), ..JoinClient::default() }
}

/// Random settings with few slots and short TTLs, so that many events occur.
fn settings(rng: &mut SmallRng, queue: &QueueId, has_limits: bool) -> Settings {
    let waiting_ttl: u64 = one_of(rng, &[3, 10, 60, 200]);
    let claim_ttl = one_of(rng, &[waiting_ttl.div_ceil(3), waiting_ttl.div_ceil(2), waiting_ttl, 100]);
    let rate = one_of(rng, &[None, None, None, Some(1), Some(7), Some(60), Some(301), Some(5000), Some(6_000_000)]);
    let mode = one_of(rng, &["open", "open", "open", "open", "open", "draining", "paused", "closed", "bypass"]);
    let quota = one_of(rng, &[0, 1, 2, 3, 5, 8, 8, 20, 400]);
    // Drawn from a copy, so that the kept seeds still stand for the same runs.
    let schedule = schedule(&mut rng.clone());
    let is_restricted = rng.clone().random_bool(0.1);
    let mut protection = protection(&mut rng.clone());
    if has_limits {
        limit_joins(&mut protection, &mut rng.clone());
    }
    let mut settings = settings_of(
        queue,
        &json!({
            "mode": mode,
            "quota": quota,
            "max_waiting": (quota == 5).then_some(3),
            "admissions_per_minute": rate,
            "admissions_every": rate.filter(|rate| [7, 5000].contains(rate)).map(|_| 15),
            "waiting_ttl": waiting_ttl,
            "claim_ttl": claim_ttl.max(waiting_ttl.div_ceil(3)),
            "active_ttl": one_of(rng, &[1, 5, 40, 40, 600]),
            "hold_ttl": waiting_ttl + one_of(rng, &[0, 1, 30, 600]),
            "max_session": one_of(rng, &[None, None, None, Some(1), Some(30), Some(300)]),
            "protection": protection,
        }),
    );
    if let Some(schedule) = schedule {
        let LineRules { mode, between_events, events, .. } = settings_of(queue, &schedule).line;
        settings.line = LineRules { mode, between_events, events, ..settings.line };
    }
    settings.line.access = is_restricted.then_some(Access::Invited);
    settings
}

/// Pre-tickets for two of five queues.
fn protection(rng: &mut SmallRng) -> Value {
    // The first number decides on the schedule.
    let _: u64 = rng.random();
    if !rng.random_bool(0.4) {
        return json!({ "pre_ticket_from": "none" });
    }
    json!({ "pre_ticket_from": one_of(rng, &[0, 50, 100]), "pre_ticket_max_age": one_of(rng, &[0, 5, 30, 300]) })
}

/// Limits that apply in short runs, and proofs of work.
fn limit_joins(protection: &mut Value, rng: &mut SmallRng) {
    protection["mode"] = "enforce".into();
    protection["per_address"] = one_of(rng, &[1, 2, 20]).into();
    protection["per_network"] = one_of(rng, &[2, 4, 40]).into();
    protection["joins_per_second"] = json!(one_of(rng, &[None, Some(1), Some(20)]));
    let (proof_mode, on_exceed) =
        one_of(rng, &[("off", "reject"), ("auto", "reject"), ("auto", "challenge"), ("always", "challenge")]);
    protection["on_exceed"] = on_exceed.into();
    protection["proof_of_work"] = json!({ "mode": proof_mode, "from": one_of(rng, &[1, 50]) });
}

/// Events in the time of a run, for one of five queues.
fn schedule(rng: &mut SmallRng) -> Option<Value> {
    if !rng.random_bool(0.2) {
        return None;
    }
    let mut begins = rng.random_range(0..200);
    let mut events = Vec::new();
    for index in 0..rng.random_range(0..4) {
        let start = begins + rng.random_range(60..120);
        let end = start + rng.random_range(60..300);
        let mut event = event(&format!("e{index}"), begins, start, end);
        if end >= start + 70 && rng.random_bool(0.7) {
            (event["order"], event["draw_seconds"]) = ("draw".into(), 10.into());
        }
        events.push(event);
        begins = end + rng.random_range(900..1_000);
    }
    let between = one_of(rng, &["bypass", "closed"]);
    Some(json!({ "mode": "scheduled", "between_events": between, "events": events }))
}

impl Visitors {
    pub(super) fn new(has_limits: bool) -> Self {
        Self { has_limits, ..Self::default() }
    }

    /// Random settings of a run with these visitors.
    pub(super) fn settings(&self, rng: &mut SmallRng, queue: &QueueId) -> Settings {
        settings(rng, queue, self.has_limits)
    }

    pub(super) fn keep(&mut self, rng: &mut SmallRng, ticket: Ticket) {
        if self.tickets.len() < TICKETS_MAX {
            self.tickets.push(ticket);
        } else {
            let index = rng.random_range(0..TICKETS_MAX);
            self.tickets[index] = ticket;
        }
    }

    /// The wait that a waiting visitor is shown, if any, in milliseconds: from none to far beyond `hold_ttl`, and another
    /// one at each visit. It is not drawn, so that the kept seeds stand for the same runs.
    pub(super) fn wait_shown(&self, answer: &VisitAnswer, session: &SessionState) -> Option<u64> {
        let mixed =
            (answer.now.0 ^ session.arrival.0 ^ self.tickets.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let waits = session.admitted_at.is_none() && !mixed.is_multiple_of(4);
        waits.then(|| (mixed / 4) % (1000 << (mixed % 13)))
    }

    pub(super) fn keep_pre_ticket(&mut self, pre_ticket: PreTicket) {
        self.pre_tickets.push(pre_ticket);
    }

    /// A pre-ticket for one of two newcomers, mostly a late one; it may have been redeemed. Drawn from a copy, so that the kept
    /// seeds stand for the same runs.
    fn pre_ticket(&self, mut rng: SmallRng) -> Option<PreTicket> {
        let count = self.pre_tickets.len();
        let from = if rng.random_bool(0.8) { count.saturating_sub(8) } else { 0 };
        let pre_ticket = self.pre_tickets[from..].choose(&mut rng).copied().filter(|_| rng.random_bool(0.5))?;
        if pre_ticket.work_left() == 0 || rng.random_bool(0.3) {
            return Some(pre_ticket);
        }
        pre_ticket.proving(pre_ticket.proven().unwrap_or(0).into(), pre_ticket.work_left(), pre_ticket.first_visit())
    }

    pub(super) fn keep_lobby_ticket(&mut self, ticket: LobbyTicket) {
        self.lobby.push(ticket);
    }

    /// A lobby ticket as a gate converts it, for one of three visits after a draw. The choice is drawn from a copy, so that the
    /// kept seeds stand for the same runs.
    fn drawn(&self, mut rng: SmallRng, rules: &LineRules, now: Micros) -> Option<Ticket> {
        let ticket = self.lobby.choose(&mut rng).filter(|_| rng.random_bool(0.33))?;
        let event = rules.events.planned().find(|event| event.id == *ticket.event())?;
        let drawn_at = event.drawn_at().filter(|drawn_at| *drawn_at <= now)?;
        let (event_id, lobby_at, starts_at) = (event.id.as_str(), event.lobby_at(), event.starts_at);
        let terms = DrawTerms { queue: "", event: event_id, lobby_at, starts_at, beacon: None };
        let head_start = head_start_of(ticket.session()).unwrap_or_default();
        Some(ticket.drawn(&Draw::new(Hex32([7; 32]), &terms), drawn_at, head_start))
    }

    /// The most recent ticket.
    pub(super) fn last_ticket(&self) -> Option<Ticket> {
        self.tickets.last().cloned()
    }

    /// A random ticket; recent ones are more likely.
    fn ticket(&self, rng: &mut SmallRng) -> Option<Ticket> {
        let count = self.tickets.len();
        let recent = if rng.random_bool(0.6) { count.min(20) } else { count };
        self.tickets[count - recent..].choose(rng).cloned()
    }

    /// A random known session, or an unknown one.
    fn session(&self, rng: &mut SmallRng) -> SessionId {
        let known = self.ticket(rng).filter(|_| rng.random_bool(0.9));
        known.map_or_else(|| new_session(rng), |ticket| ticket.session())
    }

    /// The session that an operator admits: mostly a waiting one.
    fn called(&self, rng: &mut SmallRng, seen: &Snapshot) -> SessionId {
        let waiting = seen.line.choose(rng).filter(|_| rng.random_bool(0.8));
        waiting.map_or_else(|| self.session(rng), |entry| entry.session)
    }

    fn newcomer(&mut self, rng: &mut SmallRng) -> Operation {
        let pre_ticket = self.pre_ticket(rng.clone());
        let repeated = self.newcomers.choose(rng).copied().filter(|_| self.rush == 0 && rng.random_bool(0.1));
        let session = repeated.unwrap_or_else(|| new_session(rng));
        self.newcomers.push(session);
        let visit = pre_ticket.map_or_else(|| Visit::joining(session), Visit::redeeming);
        let head_start = if pre_ticket.is_none() { head_start_of(session) } else { None };
        let count = self.newcomers.len() as u64;
        let identities = Identities { accepted: count % 3, rejected: count % 2 };
        let client = if self.has_limits { client_of(session) } else { JoinClient::default() };
        Operation::Visit(Visit { head_start, pre_tickets_issued: count % 3, identities, client, ..visit })
    }

    fn visit(&mut self, rng: &mut SmallRng, current: &Settings, now: Micros) -> Operation {
        let drawn = self.drawn(rng.clone(), &current.line, now);
        let Some(ticket) = self.stranded.pop().or_else(|| self.ticket(rng)) else { return self.newcomer(rng) };
        let ticket = drawn.unwrap_or(ticket);
        let successor = ticket.session().successor(ticket.signed_at().0);
        let join = rng.random_bool(0.8).then_some(successor);
        // Not drawn, so that the kept seeds stand for the same runs but for these visits.
        let read_only = join.is_none() && ticket.signed_at().0.is_multiple_of(3);
        Operation::Visit(Visit {
            ticket: Some(ticket),
            join,
            read_only,
            witness: Self::witness(rng),
            ..Visit::default()
        })
    }

    /// Mostly the witness of a process that could serve all the time.
    fn witness(rng: &mut SmallRng) -> Witness {
        let unserved = match rng.random_range(0..100) {
            0 => Witness::STARTED,
            1..3 => rng.random_range(0..100 * MICROS_PER_SECOND),
            _ => 0,
        };
        Witness { unserved, census: None }
    }

    /// Time until the next operation: often zero, often exactly until a session expires.
    pub(super) fn pause(&self, rng: &mut SmallRng, seen: &Snapshot) -> u64 {
        if self.rush > 0 {
            return rng.random_range(0..2);
        }
        let rules = &seen.stats.rules;
        match rng.random_range(0..1000) {
            0..400 => 0,
            400..550 => rng.random_range(1..10),
            550..750 => rng.random_range(0..MICROS_PER_SECOND),
            750..860 => rng.random_range(0..rules.waiting_ttl * MICROS_PER_SECOND / 3),
            860..980 => {
                let next = seen.expiries().into_iter().take(4).collect::<Vec<_>>();
                let expiry = next.choose(rng).map_or(0, |expiry| expiry.since(seen.stats.now));
                (expiry + rng.random_range(0..3)).saturating_sub(1)
            }
            _ => rng.random_range(0..=rules.hold_ttl.max(rules.active_ttl)) * MICROS_PER_SECOND,
        }
    }

    pub(super) fn next(&mut self, rng: &mut SmallRng, current: &Settings, seen: &Snapshot) -> Operation {
        if self.rush > 0 {
            self.rush -= 1;
            return self.newcomer(rng);
        }
        let now = seen.stats.now;
        if !self.stranded.is_empty() {
            return self.visit(rng, current, now);
        }
        match rng.random_range(0..1000) {
            0..250 => self.newcomer(rng),
            250..680 => self.visit(rng, current, now),
            680..800 => self.departure(rng),
            800..810 => Operation::Admit(self.called(rng, seen)),
            810..900 => look_after(rng, seen),
            900..904 => {
                self.rush = one_of(rng, &[40, 70, 150]);
                self.newcomer(rng)
            }
            _ => {
                let operation = operate(rng, current, self.has_limits);
                if matches!(operation, Operation::Lose(..)) {
                    self.strand(seen);
                }
                operation
            }
        }
    }

    /// Some admitted sessions that have not noticed their admission visit next.
    fn strand(&mut self, seen: &Snapshot) {
        let unnoticed =
            |ticket: &&Ticket| ticket.admitted_at().is_none() && seen.active.contains_key(&ticket.session());
        self.stranded = self.tickets.iter().rev().filter(unnoticed).take(STRANDED).cloned().collect();
    }

    fn departure(&self, rng: &mut SmallRng) -> Operation {
        let Some(ticket) = self.ticket(rng) else { return Operation::End(new_session(rng)) };
        match rng.random_range(0..10) {
            0..4 => Operation::Away(ticket),
            4..8 => Operation::Leave(ticket),
            _ => Operation::End(self.session(rng)),
        }
    }
}

/// Operations of the purge task and reads by operators.
fn look_after(rng: &mut SmallRng, seen: &Snapshot) -> Operation {
    match rng.random_range(0..10) {
        0..6 => Operation::Purge(one_of(rng, &[0, 1, 3, 40, 10_000])),
        // Attack mode instead of a release of nobody, so that the kept seeds stand for the same runs but for it.
        6..8 => match one_of(rng, &[0, 1, 2, 5, 10_000]) {
            0 => Operation::AttackMode([0, 60, 86_400][seen.stats.now.0 as usize % 3]),
            count => Operation::Release(count),
        },
        _ => {
            let list = one_of(rng, &[SessionList::Waiting, SessionList::Active, SessionList::Ended]);
            let at = seen.line.choose(rng).map_or(Micros(0), |entry| entry.at);
            let at = if list == SessionList::Waiting || rng.random() { at } else { Micros(0) };
            let start = PageStart { at: Micros(at.0 + rng.random_range(0..2)), skip: one_of(rng, &[0, 0, 1, 5]) };
            Operation::Page(list, start, one_of(rng, &[0, 1, 2, 7, 10_000]))
        }
    }
}

/// Changes by operators, and failures of the store.
fn operate(rng: &mut SmallRng, current: &Settings, has_limits: bool) -> Operation {
    let mut changed = settings(rng, &current.id, has_limits);
    changed.line.epoch = current.line.epoch + u64::from(rng.random_bool(0.1));
    changed.line.revision = current.line.revision;
    let revision = current.line.revision;
    match rng.random_range(0..100) {
        0..30 => Operation::Put(Box::new(changed), PutMode::Always),
        30..50 => {
            let mut opened = current.clone();
            (opened.line.mode, opened.line.quota) = (Mode::Open, one_of(rng, &[1, 4, 9]));
            Operation::Put(Box::new(opened), PutMode::IfRevision(revision))
        }
        50..60 => Operation::Put(Box::new(changed), PutMode::IfRevision(revision + rng.random_range(0..2))),
        60..65 => Operation::Put(Box::new(changed), PutMode::Restore),
        65..72 => Operation::Reset,
        72..80 if has_limits => Operation::Purge(1),
        72..76 => Operation::Note,
        76..80 => Operation::RollBack,
        80..92 => Operation::Lose(Box::new(current.clone()), PutMode::Restore),
        _ => Operation::Lose(Box::new(current.clone()), PutMode::Always),
    }
}
