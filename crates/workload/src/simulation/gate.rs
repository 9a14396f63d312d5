//! A gate in virtual time: the rules of the line, and the responses that a gate would send.

use std::collections::{BTreeSet, HashMap, VecDeque};

use vestibule_core::line::{
    ClientDigests, JoinClient, Line, LineRules, LocatedSession, Mode, SessionLocation, SessionState, Visit,
    VisitAnswer, VisitKind, delay_of,
};
use vestibule_core::{
    ClientNetworks, FirstVisit, JoinStep, KeyList, LobbyTicket, MICROS_PER_SECOND, Micros, NEAR_FRONT, POLL_NEAR,
    PreTicket, PrefixKind, QueueId, SessionId, Ticket, TicketSigner, VisitorState, draw_after, full_after, lobby_after,
    poll_after, rejected_after,
};
use vestibule_estimate::{WaitRange, expected_wait};

use super::devices::Devices;
use super::polls::{between_polls, polls, presence_ttl};
use super::sale::{Sale, VirtualSale};
use crate::hostile::ClientAddresses;
use crate::rng::Rng;
use crate::sim_time::SimTime;
use crate::visitor::{GateResponse, PollSpan, ProofNeeded, ReportedStatus, RequestKind};
use crate::visitor_kind::VisitorKind;
use crate::workload::Workload;

/// The start of the simulated time.
const START: Micros = Micros(1_700_000_000 * MICROS_PER_SECOND);
/// `waiting_ttl` of the simulated line, in seconds: polls may be skipped, so the gate expires silent visitors itself.
const PRESENCE_TTL: u64 = 30 * 86_400;
/// Maximum time in which polls are skipped, in seconds.
const SKIP_MAX: f64 = 1800.0;
/// Seconds of a minute, for which a challenge is the same, and minutes from its start to the end of the challenge.
const MINUTE: u64 = 60;
const CHALLENGE_MINUTES: u64 = 3;
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
                    self.prove(number);
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

    /// A client whose tokens are worth nothing is a newcomer each time.
    fn answer_robot(&mut self, now: SimTime, number: u32) -> GateResponse {
        let (session, client) = (self.rng.session(), self.client_of(number));
        let answer = self.line.visit(instant(now), &Visit { client, ..Visit::joining(session) });
        if answer.place.is_some_and(|place| place.admitted_at.is_none()) {
            let due = SimTime(now.add_seconds(self.rules.claim_ttl as f64).0.saturating_sub(1));
            self.robots.push_back(WaitingRobot { due, number, session });
        }
        match answer.place.filter(|place| place.admitted_at.is_some()) {
            Some(place) => {
                let slot_ms = place.expires_at.since(answer.now) / MICROS_PER_MILLI;
                GateResponse::Site { slot_ms: u32::try_from(slot_ms).ok() }
            }
            None => GateResponse::QueuePage { poll_after_ms: 2000, ticket: answer.place.is_some(), lobby: false },
        }
    }

    /// The next client without cookies whose session was admitted after it had waited, with the time of the slot. Nobody
    /// came back to claim it.
    pub(super) fn next_admitted_robot(&mut self, now: SimTime) -> Option<(u32, SimTime, SimTime)> {
        while let Some(robot) = self.robots.pop_front_if(|robot| robot.due <= now) {
            let found = self.line.find(instant(robot.due), robot.session);
            if let Some(LocatedSession { state: SessionLocation::Active { admitted_at }, expires_at }) = found {
                return Some((robot.number, sim_time(admitted_at), sim_time(expires_at)));
            }
        }
        None
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

    /// The network of a client, as it stands in pre-tickets.
    fn network_of(&self, number: u32) -> Option<String> {
        let networks = ClientNetworks::of(self.addresses.as_ref()?.of(number))?;
        Some(networks.network.to_string())
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
        if answer.place.is_none() {
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
        if let Some(place) = &answer.place {
            self.sessions[number as usize].pre_ticket = None;
            if place.admitted_at.is_none() {
                self.order.insert((place.arrival, number));
            }
            let held = self.session_of(number).ticket.as_ref();
            let confirms = |ticket: &Ticket| ticket.is_unconfirmed() && place.confirmed || ticket.is_new_from_lobby();
            if held.is_none_or(|ticket| ticket.admitted_at() != place.admitted_at || confirms(ticket)) {
                self.sign(now, number, place);
            }
            if !place.confirmed {
                self.confirm(now, number);
            }
        }
        answer
    }

    /// A page returns its ticket within seconds. That poll is simulated at once, since later ones may be skipped.
    fn confirm(&mut self, now: SimTime, number: u32) {
        let Some(ticket) = self.session_of(number).ticket.clone() else { return };
        if let Some(place) = self.line.visit(instant(now), &Visit::keeping(ticket)).place {
            self.sign(now, number, &place);
        }
    }

    /// A newcomer who is turned away keeps the first visit as the arrival, if the queue uses pre-tickets.
    fn preserve_first_visit(&mut self, now: SimTime, number: u32) {
        if self.rules.protection.pre_ticket_from.is_none() {
            return;
        }
        match &mut self.sessions[number as usize].pre_ticket {
            Some(pre_ticket) => *pre_ticket = pre_ticket.preserve(),
            None => self.sign_first_visit(now, number, true),
        }
    }

    /// The pre-ticket of a newcomer who has to prove work says how much.
    fn require_proof(&mut self, now: SimTime, number: u32, difficulty: u64) {
        if self.session_of(number).pre_ticket.is_none() {
            self.sign_first_visit(now, number, false);
        }
        let max_age = self.rules.protection.pre_ticket_max_age;
        let pre_ticket = &mut self.sessions[number as usize].pre_ticket;
        *pre_ticket = pre_ticket.map(|sent| {
            // Nothing is computed twice, and the arrival is kept (rule W5).
            let kept = match sent.proven() {
                Some(_) if sent.is_preserved() || first_visit_counts(&sent, now, max_age) => sent.preserve(),
                Some(_) => sent.restart(instant(now)),
                None => sent,
            };
            kept.requiring(u32::try_from(difficulty).unwrap_or(u32::MAX))
        });
    }

    /// When a newcomer has solved a challenge that is issued now, or when the group has a core for it. The first visit counts while
    /// the newcomer solves (rule W6).
    fn solve(&mut self, now: SimTime, number: u32) -> Option<ProofNeeded> {
        let pre_ticket = self.session_of(number).pre_ticket?;
        let work = pre_ticket.work_left() as f64 * self.rules.protection.proof_of_work.effort as f64;
        // The counter is one of twice the mean, each as likely.
        let derivations = self.rng.between(0.0, 2.0) * work;
        let (starts, solved) = self.devices.solve(&self.workload, number, now, derivations);
        let expires_at = (instant(starts).0 / MICROS_PER_SECOND / MINUTE + CHALLENGE_MINUTES) * MINUTE;
        let counts = first_visit_counts(&pre_ticket, starts, self.rules.protection.pre_ticket_max_age);
        self.sessions[number as usize].pre_ticket =
            Some(if counts { pre_ticket.solving(expires_at) } else { pre_ticket });
        let difficulty = pre_ticket.difficulty().unwrap_or_default().into();
        let first_visit = sim_time(pre_ticket.first_visit());
        let delayed = first_visit.add_seconds(delay_of(difficulty) as f64);
        Some(ProofNeeded {
            solved_after_ms: solved.0.saturating_sub(now.0).max(1),
            delayed_after_ms: delayed.0.saturating_sub(now.0),
        })
    }

    /// The newcomer sends the solution of the challenge.
    fn prove(&mut self, number: u32) {
        let pre_ticket = &mut self.sessions[number as usize].pre_ticket;
        *pre_ticket = pre_ticket.and_then(|sent| sent.proving(sent.proven().unwrap_or(0).into(), sent.work_left()));
    }

    fn sign_first_visit(&mut self, now: SimTime, number: u32, preserved: bool) {
        let (epoch, session) = (self.rules.epoch, self.session_of(number).session);
        // Virtual time is in milliseconds; a real clock tells first visits apart.
        self.last_first_visit = instant(now).max(Micros(self.last_first_visit.0 + 1));
        let network = self.network_of(number);
        let network = network.as_deref();
        let visit = FirstVisit { epoch, session, at: self.last_first_visit, network, preserved };
        let token = self.signer.sign_first_visit(&self.queue, &visit);
        let verify = |token: String| self.signer.verify_pre_ticket(&self.queue, token.as_bytes(), network).ok();
        let verified = token.and_then(verify);
        self.sessions[number as usize].pre_ticket = verified;
    }

    fn sign(&mut self, now: SimTime, number: u32, place: &SessionState) {
        let position = (place.position > 0).then_some(place.position);
        let token = self.signer.sign(&self.queue, self.rules.epoch, instant(now), place, position);
        let ticket = token.and_then(|token| self.signer.verify(&self.queue, token.as_bytes()).ok());
        self.sessions[number as usize].ticket = ticket;
    }

    /// Signs the ticket of a waiting visitor again, as the last skipped poll would have done.
    fn renew(&mut self, now: SimTime, number: u32) {
        let SimulatedSession { session, ticket: Some(ticket), shown_position, .. } = self.session_of(number) else {
            return;
        };
        if ticket.admitted_at().is_none() {
            let (session, arrival, position) = (*session, ticket.arrival(), *shown_position);
            let expires_at = instant(now);
            // A ticket newer than the last use of the line would show a loss of its state.
            self.line.visit(expires_at, &Visit::default());
            self.sign(
                now,
                number,
                &SessionState { session, arrival, admitted_at: None, position, expires_at, confirmed: true },
            );
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

    /// The wait to show, smoothed from the last one as a gate does.
    fn shown_wait(&self, now: SimTime, number: u32, expected: WaitRange, known_for: f64) -> WaitRange {
        let session_of = self.session_of(number);
        let before = (f64::from(session_of.shown_wait) * 1000.0) as u64;
        if before == 0 { expected } else { expected.after(before, now.since(session_of.shown_at), known_for) }
    }

    fn tell(&mut self, now: SimTime, number: u32, kind: RequestKind, answer: &VisitAnswer) -> GateResponse {
        let admitted = answer.place.is_some_and(|place| place.admitted_at.is_some());
        let drawing = answer.mode == Mode::Draw && !admitted;
        let position = answer.place.filter(|_| !admitted && !drawing).map(|place| place.position);
        let seen = answer.pace.observed(answer.now);
        let known_for = seen.age;
        let ranked = position.filter(|_| answer.mode.admits());
        let expected = ranked.and_then(|position| expected_wait(&self.rules, &answer.flow(), answer.now, position));
        let wait = expected.map(|expected| self.shown_wait(now, number, expected, known_for).seconds());
        let poll_wait = expected.map(WaitRange::seconds).into_iter().chain(wait).map(|wait| wait.p50).min();
        let full = match wait {
            _ if admitted => self.rules.active_ttl,
            Some(wait) => self.rules.poll_ttl(answer.now, &seen, position, Some(answer.now.add_seconds(wait.p50))),
            None => self.rules.waiting_ttl,
        };
        let left = answer.place.map(|place| full.min(place.expires_at.since(answer.now) / MICROS_PER_SECOND));
        let is_asked = !matches!(kind, RequestKind::Enter | RequestKind::Page);
        let proof = match answer.kind {
            VisitKind::NeedsProof(_) if is_asked => self.solve(now, number),
            _ => None,
        };
        let jittered = self.with_random_micros(answer.now);
        let ask_after = match answer.kind {
            VisitKind::Full => full_after(jittered),
            VisitKind::NeedsPreTicket | VisitKind::NeedsProof(_) => JoinStep::REDEEM_AFTER,
            VisitKind::Rejected(rejection) => rejected_after(rejection.retry_after, jittered),
            _ if drawing => {
                let draw_ends_in = self.sale.as_ref().and_then(|sale| sale.event.draw_ends_in(answer.now));
                draw_after(draw_ends_in, self.rules.waiting_ttl, left, jittered)
            }
            _ => poll_after(position, poll_wait, full, left, jittered),
        };
        let poll_after_ms = u32::try_from(ask_after * 1000).unwrap_or(u32::MAX);
        // Polls that are frequent for another reason than the wait are not skipped, and neither is the first one after joining:
        // no wait was shown before, so the session is present for less time.
        let near_front = NEAR_FRONT.max(self.rules.quota);
        let skip = poll_wait
            .filter(|_| kind == RequestKind::Poll && answer.kind == VisitKind::Renewed && seen.is_known())
            .filter(|_| position.is_some_and(|position| position > near_front))
            .and_then(|poll_wait| self.skip(now, poll_wait as f64, known_for));
        let session_of = &mut self.sessions[number as usize];
        session_of.shown_at = now;
        session_of.is_presumed = !seen.is_known();
        session_of.shown_wait = wait.map_or(0.0, |wait| wait.p50 as f32);
        session_of.poll_wait = poll_wait.map_or(0.0, |poll_wait| poll_wait as f32);
        session_of.shown_position = position.map_or(0, |position| {
            if session_of.shown_position == 0 { position } else { position.min(session_of.shown_position) }
        });
        let (session, shown) = (ReportedStatus::session_prefix(session_of.session), session_of.shown_position);
        let drawn = session_of.number;
        match kind {
            RequestKind::Enter | RequestKind::Page if admitted => GateResponse::Site { slot_ms: None },
            RequestKind::Enter | RequestKind::Page => {
                GateResponse::QueuePage { poll_after_ms, ticket: answer.place.is_some(), lobby: false }
            }
            _ => GateResponse::Status(ReportedStatus {
                state: match answer.kind {
                    VisitKind::Full => VisitorState::Full,
                    _ if admitted => VisitorState::Admitted,
                    _ if drawing => VisitorState::Lobby,
                    _ => VisitorState::Waiting,
                },
                session: if answer.place.is_some() { session } else { 0 },
                position: u32::try_from(shown).unwrap_or(u32::MAX),
                joined_at: answer.place.map_or(0, |place| place.arrival.0),
                number: drawn,
                drawing,
                wait,
                expires_in: Some(if admitted { full } else { PRESENCE_TTL }),
                poll_after_ms,
                is_limited: matches!(answer.kind, VisitKind::Rejected(_)),
                proof,
                skip,
            }),
        }
    }

    /// Adds random microseconds to virtual time, from which `poll_after` derives its jitter.
    fn with_random_micros(&mut self, at: Micros) -> Micros {
        Micros(at.0 + self.rng.between(0.0, MICROS_PER_MILLI as f64) as u64)
    }

    /// The span in which polls are skipped: half of the wait, and half of the time for which the pace is known. `None` if it
    /// has fewer than two polls.
    fn skip(&self, now: SimTime, wait: f64, known_for: f64) -> Option<PollSpan> {
        let wait_for_timer = (wait / 2.0).min(self.skip_max).min(known_for / 2.0);
        let polls = polls(wait - wait_for_timer, wait, &self.rules) as f32;
        (polls >= 2.0).then(|| PollSpan { until: now.add_seconds(wait_for_timer), polls })
    }
}

/// Whether the first visit counts as the arrival, though it is not preserved.
fn first_visit_counts(pre_ticket: &PreTicket, now: SimTime, max_age: u64) -> bool {
    let is_solving = pre_ticket.challenge_ends_at().is_some_and(|end| instant(now) <= end);
    is_solving || instant(now).since(pre_ticket.first_visit()) <= max_age * MICROS_PER_SECOND
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
