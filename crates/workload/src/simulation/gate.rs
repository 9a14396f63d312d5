//! A gate in virtual time: the rules of the line, and the responses that a gate would send.

mod pre_tickets;
mod robots;
mod status;

use std::collections::{BTreeSet, HashMap, VecDeque};

use vestibule_core::line::{
    ClientDigests, JoinClient, Line, LineRules, SessionLocation, SessionState, Visit, VisitAnswer, VisitKind,
};
use vestibule_core::{
    ClientNetworks, KeyList, LobbyTicket, MICROS_PER_SECOND, Micros, POLL_NEAR, PreTicket, PrefixKind, QueueId,
    SessionId, ShownStatus, Ticket, TicketOrigin, TicketSigner, VisitorState, lobby_after,
};

use super::devices::Devices;
use super::polls::{between_polls, presence_ttl};
use super::sale::{Sale, VirtualSale};
use crate::hostile::ClientAddresses;
use crate::rng::Rng;
use crate::sim_time::SimTime;
use crate::visitor::{GateResponse, ReportedStatus, RequestKind};
use crate::visitor_kind::VisitorKind;
use crate::workload::Workload;

/// The start of the simulated time.
const START: Micros = Micros(1_700_000_000 * MICROS_PER_SECOND);
/// `waiting_ttl` of the simulated line, in seconds: polls may be skipped, so the gate expires silent visitors itself.
const PRESENCE_TTL: u64 = 30 * 86_400;
/// Maximum time in which polls are skipped, in seconds.
const SKIP_MAX: f64 = 1800.0;
/// Microseconds per millisecond.
const MICROS_PER_MILLI: u64 = 1000;

/// The session of a visitor.
#[derive(Clone)]
struct SimulatedSession {
    session: SessionId,
    ticket: Option<Ticket>,
    /// The lobby ticket, until the order is drawn.
    lobby: Option<LobbyTicket>,
    /// The number of a drawn session, in millionths.
    number: Option<u32>,
    /// The pre-ticket of a first visit that joined nobody.
    pre_ticket: Option<PreTicket>,
    /// When an estimate was last shown.
    shown_at: SimTime,
    /// The estimate that was last shown, in seconds; 0 is none.
    shown_wait: f32,
    /// Whether the pace was not known when it was shown.
    is_presumed: bool,
    /// The lower of the shown and the expected wait, in seconds, which determines the poll interval.
    poll_wait: f32,
    /// The position that was last shown, which never rises; 0 is none.
    shown_position: u64,
}

/// A session in line whose client keeps no cookies.
struct WaitingRobot {
    /// Just before it expires, unless it was admitted.
    due: SimTime,
    number: u32,
    session: SessionId,
}

/// The gate.
pub(super) struct VirtualGate {
    line: Line,
    /// The event, if one is simulated.
    sale: Option<VirtualSale>,
    /// The rules, with the real `waiting_ttl`.
    rules: LineRules,
    signer: TicketSigner,
    queue: QueueId,
    sessions: Vec<SimulatedSession>,
    last_first_visit: Micros,
    /// Waiting visitors in order of arrival.
    order: BTreeSet<(Micros, u32)>,
    /// Visitors who have stopped polling, and when they expire.
    silent: HashMap<u32, SimTime>,
    /// Maximum time in which polls are skipped, in seconds.
    skip_max: f64,
    rng: Rng,
    /// Clients without cookies whose sessions were in line, in order of their expiry.
    robots: VecDeque<WaitingRobot>,
    /// The addresses of clients, if there are hostile ones.
    addresses: Option<ClientAddresses>,
    /// The workload, which says whose token a hostile client sends.
    workload: Workload,
    /// What solves challenges.
    devices: Devices,
}

impl VirtualGate {
    #[expect(clippy::expect_used, reason = "the key and the name are constants")]
    pub(super) fn new(workload: &Workload, rules: &LineRules, sale: Option<&Sale>) -> Self {
        let queue: QueueId = "plan".parse().expect("an id");
        let sale = sale.map(|sale| VirtualSale::new(sale, &queue, START));
        let followed = sale.as_ref().map_or_else(|| rules.clone(), |sale| sale.rules(rules));
        let mut rng = Rng::for_visitor(workload.seed, u32::MAX);
        let session_of = |rng: &mut Rng| SimulatedSession {
            session: rng.session(),
            ticket: None,
            lobby: None,
            number: None,
            pre_ticket: None,
            shown_at: SimTime(0),
            shown_wait: 0.0,
            is_presumed: false,
            poll_wait: 0.0,
            shown_position: 0,
        };
        Self {
            line: Line::new(LineRules { waiting_ttl: PRESENCE_TTL, ..followed }, START, false),
            sale,
            rules: rules.clone(),
            signer: TicketSigner::new(&KeyList::of_bytes("plan", [7; 32])).expect("a key of the right length"),
            queue,
            sessions: (0..workload.clients()).map(|_| session_of(&mut rng)).collect(),
            last_first_visit: Micros(0),
            order: BTreeSet::new(),
            silent: HashMap::new(),
            skip_max: SKIP_MAX,
            rng,
            robots: VecDeque::new(),
            addresses: ClientAddresses::new(workload.visitors, &workload.hostile),
            workload: workload.clone(),
            devices: Devices::default(),
        }
    }

    /// The same gate without skipped polls.
    #[cfg(test)]
    pub(super) fn exact(self) -> Self {
        Self { skip_max: 0.0, ..self }
    }

    /// The same gate with these addresses of clients.
    #[cfg(test)]
    pub(super) fn with_addresses(self, addresses: ClientAddresses) -> Self {
        Self { addresses: Some(addresses), ..self }
    }

    /// Handles a request.
    pub(super) fn handle(&mut self, now: SimTime, number: u32, kind: RequestKind, sender: VisitorKind) -> GateResponse {
        match kind {
            RequestKind::Away => {
                self.renew(now, number);
                self.go_away(now, number);
                GateResponse::Done
            }
            RequestKind::Leave => {
                if let Some(ticket) = self.session_of(number).ticket.clone() {
                    self.line.leave(instant(now), &ticket);
                }
                GateResponse::Done
            }
            _ if !sender.has_session() => self.answer_robot(now, number),
            _ if self.lobby_ends_in(now).is_some() => self.answer_in_lobby(now, number, kind),
            _ => {
                if kind == RequestKind::Join {
                    self.prove(now, number);
                }
                let answer = self.visit(now, number);
                self.tell(now, number, kind, &answer)
            }
        }
    }

    /// Seconds until the start if visitors are in the lobby of a draw.
    fn lobby_ends_in(&self, now: SimTime) -> Option<f64> {
        self.sale.as_ref()?.lobby_ends_in(instant(now))
    }

    /// A visitor in the lobby gets a lobby ticket once. They join the line at the start.
    fn answer_in_lobby(&mut self, now: SimTime, number: u32, kind: RequestKind) -> GateResponse {
        if self.session_of(number).lobby.is_none() {
            self.enter_lobby(now, number);
        }
        let draw_seconds = self.sale.as_ref().map_or(0, |sale| sale.event.draw_seconds());
        let jittered = self.with_random_micros(instant(now));
        let ask_after = lobby_after(self.lobby_ends_in(now), draw_seconds, jittered);
        let poll_after_ms = u32::try_from(ask_after * 1000).unwrap_or(u32::MAX);
        match kind {
            RequestKind::Enter | RequestKind::Page => {
                GateResponse::QueuePage { poll_after_ms, ticket: false, lobby: true }
            }
            _ => GateResponse::Status(ReportedStatus {
                state: VisitorState::Lobby,
                session: 0,
                position: 0,
                joined_at: 0,
                number: None,
                drawing: false,
                wait: None,
                expires_in: None,
                poll_after_ms,
                is_limited: false,
                proof: None,
                skip: None,
            }),
        }
    }

    fn enter_lobby(&mut self, now: SimTime, number: u32) {
        let visit = Visit::joining(self.session_of(number).session);
        let entry = self.line.visit(instant(now), &visit).lobby_entry(&visit);
        let event = self.sale.as_ref().map(|sale| &sale.event.id);
        let token = entry.zip(event).and_then(|(entry, event)| self.signer.sign_lobby(&self.queue, event, &entry));
        let ticket = token.and_then(|token| self.signer.verify_lobby(&self.queue, token.as_bytes()).ok());
        self.sessions[number as usize].lobby = ticket;
    }

    /// Converts the lobby ticket of a visitor after the draw.
    fn convert(&mut self, number: u32) {
        let Some(sale) = &self.sale else { return };
        let session_of = &mut self.sessions[number as usize];
        if let Some(ticket) = session_of.lobby.take() {
            session_of.number = sale.number(ticket.session());
            session_of.ticket = sale.drawn(&ticket);
        }
    }

    /// What limits know about a client.
    fn client_of(&self, number: u32) -> JoinClient {
        let networks = self.addresses.as_ref().and_then(|addresses| ClientNetworks::of(addresses.of(number)));
        let digest = |kind, prefix: &dyn ToString| {
            self.signer.prefix_digest(kind, &self.queue, self.rules.epoch, &prefix.to_string())
        };
        let prefixes = networks.and_then(|networks| {
            Some(ClientDigests {
                address: digest(PrefixKind::Address, &networks.address)?,
                network: digest(PrefixKind::Network, &networks.network)?,
            })
        });
        JoinClient { prefixes, ..JoinClient::default() }
    }

    /// A client of a replay sends the token of another in its first request.
    fn replay(&mut self, number: u32) {
        let first = self.workload.replayed_by(number);
        let is_new = self.session_of(number).ticket.is_none() && self.session_of(number).pre_ticket.is_none();
        if let Some(first) = first.filter(|_| is_new) {
            self.sessions[number as usize] = self.session_of(first).clone();
        }
    }

    fn session_of(&self, number: u32) -> &SimulatedSession {
        &self.sessions[number as usize]
    }

    fn visit(&mut self, now: SimTime, number: u32) -> VisitAnswer {
        self.silent.remove(&number);
        self.convert(number);
        self.replay(number);
        let session_of = self.session_of(number);
        // Only joins are counted by address.
        let client = if session_of.ticket.is_none() { self.client_of(number) } else { JoinClient::default() };
        let visit = match (session_of.pre_ticket, &session_of.ticket) {
            (Some(pre_ticket), None) => Visit::redeeming(pre_ticket),
            (_, ticket) => Visit { ticket: ticket.clone(), ..Visit::joining(session_of.session) },
        };
        let visit = Visit { client, ..visit };
        let mut answer = self.line.visit(instant(now), &visit);
        if answer.session.is_none() {
            let session_of = &mut self.sessions[number as usize];
            let had_session = session_of.ticket.take().is_some();
            let was_turned_away =
                matches!(answer.kind, VisitKind::Rejected(_) | VisitKind::Full | VisitKind::NeedsProof(_));
            let has_ended = answer.kind != VisitKind::NeedsPreTicket || visit.redeem.is_some();
            if had_session || has_ended && !was_turned_away {
                // The session has ended: the visitor joins again.
                (session_of.session, session_of.pre_ticket) = (self.rng.session(), None);
                (session_of.shown_position, session_of.shown_wait, session_of.number) = (0, 0.0, None);
                let visit = Visit { client, ..Visit::joining(session_of.session) };
                answer = self.line.visit(instant(now), &visit);
            }
        }
        match answer.kind {
            VisitKind::NeedsPreTicket => self.sign_first_visit(now, number, false),
            VisitKind::Rejected(_) | VisitKind::Full => self.preserve_first_visit(now, number),
            VisitKind::NeedsProof(difficulty) => self.require_proof(now, number, difficulty),
            _ => {}
        }
        if let Some(session) = &answer.session {
            self.sessions[number as usize].pre_ticket = None;
            if session.admitted_at.is_none() {
                self.order.insert((session.arrival, number));
            }
            let held = self.session_of(number).ticket.as_ref();
            let confirms = |ticket: &Ticket| ticket.is_unconfirmed() && session.confirmed || ticket.is_new_from_lobby();
            if held.is_none_or(|ticket| ticket.admitted_at() != session.admitted_at || confirms(ticket)) {
                self.sign(number, &answer);
            }
            if !session.confirmed {
                self.confirm(now, number);
            }
        }
        answer
    }

    /// A page returns its ticket within seconds. That poll is simulated at once, since later ones may be skipped.
    fn confirm(&mut self, now: SimTime, number: u32) {
        let Some(ticket) = self.session_of(number).ticket.clone() else { return };
        let answer = self.line.visit(instant(now), &Visit::keeping(ticket));
        if answer.session.is_some() {
            self.sign(number, &answer);
        }
    }

    fn sign(&mut self, number: u32, answer: &VisitAnswer) {
        let position = answer.session.map(|session| session.position).filter(|position| *position > 0);
        let shown = ShownStatus { position, ..ShownStatus::default() };
        let token = self.signer.sign(&self.queue, answer, shown, TicketOrigin::default());
        let ticket = token.and_then(|token| self.signer.verify(&self.queue, token.as_bytes()).ok());
        self.sessions[number as usize].ticket = ticket;
    }

    /// Signs the ticket of a waiting visitor again, as the last skipped poll would have done.
    fn renew(&mut self, now: SimTime, number: u32) {
        let SimulatedSession { session, ticket: Some(ticket), shown_position, .. } = self.session_of(number) else {
            return;
        };
        if ticket.admitted_at().is_none() {
            let (id, arrival, position) = (*session, ticket.arrival(), *shown_position);
            let expires_at = instant(now);
            // A ticket newer than the last use of the line would show a loss of its state.
            let answer = self.line.visit(expires_at, &Visit::default());
            let session = SessionState { id, arrival, admitted_at: None, position, expires_at, confirmed: true };
            self.sign(number, &VisitAnswer { session: Some(session), ..answer });
        }
    }

    /// The visitor stops polling. Returns when the session expires.
    pub(super) fn stop_polling(&mut self, now: SimTime, number: u32) -> SimTime {
        self.renew(now, number);
        let SimulatedSession { shown_at, shown_wait, is_presumed, poll_wait, .. } = *self.session_of(number);
        let passed = now.since(shown_at);
        let interval = between_polls(f64::from(poll_wait) - passed, &self.rules);
        let since_poll = self.rng.between(0.0, interval);
        let present_for = presence_ttl(&self.rules, if is_presumed { 0.0 } else { f64::from(shown_wait) - passed });
        let expires = now.add_seconds((present_for - since_poll).max(0.0));
        self.silent.insert(number, expires);
        expires
    }

    /// Expires a visitor who has not returned since.
    pub(super) fn expire(&mut self, now: SimTime, number: u32, at: SimTime) -> bool {
        let is_silent = self.silent.get(&number) == Some(&at);
        if is_silent {
            self.silent.remove(&number);
            self.go_away(now, number);
        }
        is_silent
    }

    fn go_away(&mut self, now: SimTime, number: u32) {
        if let Some(ticket) = self.session_of(number).ticket.clone() {
            self.line.away(instant(now), &ticket);
        }
    }

    /// The visitor does not return.
    pub(super) fn forget(&mut self, number: u32) {
        self.sessions[number as usize].ticket = None;
    }

    pub(super) fn purge(&mut self, now: SimTime) {
        while self.line.purge(instant(now), vestibule_core::line::PURGE_BATCH).more {}
    }

    /// The next visitor who was admitted, and the milliseconds until their next poll, as near the front.
    pub(super) fn next_admitted(&mut self, now: SimTime) -> Option<(u32, u32)> {
        loop {
            let (arrival, number) = *self.order.first()?;
            let found = self.line.find(instant(now), self.session_of(number).session);
            match found.map(|found| found.state) {
                Some(SessionLocation::Waiting { .. }) => return None,
                Some(SessionLocation::Active { .. }) => {
                    self.order.remove(&(arrival, number));
                    return Some((number, self.rng.between(0.0, POLL_NEAR as f64 * 1000.0) as u32));
                }
                Some(SessionLocation::Ended) | None => {
                    self.order.remove(&(arrival, number));
                }
            }
        }
    }
}

fn sim_time(at: Micros) -> SimTime {
    SimTime(u32::try_from(at.since(START) / MICROS_PER_MILLI).unwrap_or(u32::MAX))
}

fn instant(at: SimTime) -> Micros {
    Micros(START.0 + u64::from(at.0) * 1000)
}

#[cfg(test)]
mod tests {
    use vestibule_core::settings::Protection;

    use super::*;
    use crate::arrivals::Arrivals;
    use crate::workload::{Behavior, Shopping};

    #[test]
    fn polls_are_jittered_as_with_a_real_clock() {
        let behavior = Behavior::patient(Shopping::Fixed(30.0));
        let workload = Workload {
            visitors: 200,
            arrivals: Arrivals::Steady(1.0),
            behavior,
            seed: 1,
            repeat: None,
            hostile: Vec::new(),
        };
        let protection = Protection::without_pre_tickets();
        let rules = LineRules { protection, ..LineRules::with_quota(1) };
        let mut gate = VirtualGate::new(&workload, &rules, None);
        let request =
            (0..200).map(|number| gate.handle(SimTime(number), number, RequestKind::Enter, VisitorKind::Person));
        let pages = request.filter_map(|response| match response {
            GateResponse::QueuePage { poll_after_ms, .. } => Some(poll_after_ms / 1000),
            _ => None,
        });
        let seconds: BTreeSet<u32> = pages.skip(20).collect();
        assert_eq!(seconds, (15..=20).collect());
    }
}
