//! The simulation: all visitors, what they do, and how their sessions end.

use std::collections::HashMap;

use vestibule_core::line::{SessionLocation, SessionState, VisitAnswer, VisitKind};
use vestibule_core::{
    KeyList, MICROS_PER_SECOND, Micros, QueueId, SessionId, ShownStatus, Ticket, TicketOrigin, TicketSigner, poll_after,
};

use crate::event_queue::{Event, EventQueue, later};
use crate::observed_line::ObservedLine;
use crate::report::Report;
use crate::rng::Rng;
use crate::scenario::{SHOPPING, Scenario};
use crate::visitor::{Phase, Visitor};

const START: Micros = Micros(1_700_000_000_000_000);
/// By then everybody has been served in any scenario; robots and the purge job go on until then.
const END: f64 = 5.0 * 3600.0;
/// When a new visitor's page asks for the first time, and so returns the ticket.
const CONFIRM: f64 = 2.0;
const PURGE_EVERY: f64 = 30.0;
/// Seconds after a loss in which shown positions are compared with the true ones.
const LOSS_SHOWS: f64 = 300.0;
/// Mean time for which the page is open before a phone falls asleep, and how long it then sleeps at least and at most:
/// `hold_ttl` counts from the last poll, up to 100 s before.
const AWAKE: f64 = 400.0;
const ASLEEP: (f64, f64) = (20.0, 490.0);

pub(crate) struct Simulation {
    scenario: Scenario,
    rng: Rng,
    events: EventQueue,
    observed: ObservedLine,
    visitors: Vec<Visitor>,
    by_session: HashMap<SessionId, usize>,
    signer: TicketSigner,
    queue: QueueId,
    report: Report,
    /// Visitors who have not left.
    present: usize,
    /// How many shop.
    shopping: u64,
}

impl Simulation {
    pub(crate) fn new(seed: u64, scenario: Scenario) -> Self {
        let queue: QueueId = "sale".parse().unwrap();
        let mut simulation = Self {
            observed: ObservedLine::new(scenario.rules(), START),
            rng: Rng::of(seed),
            events: EventQueue::default(),
            visitors: Vec::new(),
            by_session: HashMap::new(),
            signer: TicketSigner::new(&KeyList::of_bytes("k1", [7; 32])).unwrap(),
            queue,
            report: Report::default(),
            present: scenario.rush + scenario.stream,
            shopping: 0,
            scenario,
        };
        simulation.plan_operations();
        simulation.plan_arrivals();
        simulation
    }

    fn plan_operations(&mut self) {
        let (scenario, events) = (&self.scenario, &mut self.events);
        events.at(START, Event::Robot);
        events.at(START, Event::Purge);
        if let Some((from, until)) = scenario.lowered {
            events.at(later(START, from), Event::SetQuota(scenario.quota / 2));
            events.at(later(START, until), Event::SetQuota(scenario.quota));
        }
        if let Some((at, factor)) = scenario.raised {
            events.at(later(START, at), Event::SetQuota((scenario.quota as f64 * factor) as u64));
        }
        if let Some(at) = scenario.flushed {
            events.at(later(START, at), Event::Flush);
        }
    }

    fn plan_arrivals(&mut self) {
        for _ in 0..self.scenario.rush {
            let at = self.rng.between(0.0, 5.0);
            self.plan_visitor(at);
        }
        let mut at = 5.0;
        for _ in 0..self.scenario.stream {
            at += self.rng.exponential(self.scenario.every);
            self.plan_visitor(at);
        }
    }

    fn plan_visitor(&mut self, at: f64) {
        let patience = self.rng.happens(self.scenario.closed_tabs).then(|| self.rng.exponential(300.0));
        let (phone, second) = (self.rng.happens(self.scenario.phones), self.rng.happens(self.scenario.second_tabs));
        let (number, session) = (self.visitors.len(), self.rng.session());
        self.visitors.push(Visitor::new(session, patience, phone, second));
        self.by_session.insert(session, number);
        self.events.at(later(START, at), Event::Poll(number));
    }

    /// Runs from the first rush to the last visitor.
    pub(crate) fn run(mut self) -> Report {
        let mut now = START;
        while let Some((instant, event)) = self.events.next() {
            if self.present == 0 || instant > later(START, END) {
                break;
            }
            now = instant;
            self.observed.pass(now, &mut self.report);
            self.happen(now, event);
        }
        let inside = |visitor: &&Visitor| visitor.stays() && visitor.phase != Phase::Gone;
        self.report.never_admitted = self.visitors.iter().filter(inside).count() as u64;
        self.report.hours = now.since(START) as f64 / 3.6e9;
        self.report
    }

    fn happen(&mut self, now: Micros, event: Event) {
        match event {
            Event::Poll(number) => self.poll(now, number),
            Event::Close(number) => self.close(now, number),
            Event::Sleep(number) => self.sleep(now, number),
            Event::Wake(number) => self.wake(now, number),
            Event::Finish(number) => self.finish(now, number),
            Event::ClaimEnds(session) => self.observed.unclaimed_until(session, &mut self.report),
            Event::Robot => self.robot(now),
            Event::Purge => self.purge(now),
            Event::SetQuota(quota) => self.set_quota(now, quota),
            Event::Flush => self.observed.lose(now),
        }
    }

    /// Follows up on an operation: admitted visitors have a limited time to claim their slots.
    fn look(&mut self, now: Micros) {
        for (arrival, session) in self.observed.look(now, &mut self.report) {
            let claim_ttl = self.observed.rules().claim_ttl;
            self.events.at(now.add_seconds(claim_ttl), Event::ClaimEnds(session));
            let Some(number) = self.by_session.get(&session) else { continue };
            let visitor = &mut self.visitors[*number];
            // A visitor who had not noticed an admission when the state was lost and was admitted
            // again counts again, behind those admitted meanwhile.
            if !visitor.was_absent {
                self.report.admissions.push(arrival.0);
            }
        }
    }

    fn visit(&mut self, now: Micros, ticket: Option<Ticket>, join: SessionId) -> VisitAnswer {
        let confirmed = ticket.is_some();
        let answer = self.observed.visit(now, ticket, join);
        self.report.visits += 1;
        if let Some(session) = answer.session {
            let came = matches!(answer.kind, VisitKind::Joined | VisitKind::Restored);
            // A visitor restored to a slot by an admitted ticket did not join the line.
            if answer.kind == VisitKind::Restored
                && !answer.recovering
                && let Some(number) = self.by_session.get(&session.id)
            {
                self.visitors[*number].was_absent = true;
            }
            if came && session.admitted_at.is_none_or(|admitted_at| admitted_at == now) {
                self.observed.came(session.arrival, session.id);
            }
            self.look(now);
            if confirmed {
                self.observed.seen(session.id);
            }
        }
        answer
    }

    /// A tab polls at the interval it was given.
    fn poll(&mut self, now: Micros, number: usize) {
        let visitor = &self.visitors[number];
        if matches!(visitor.phase, Phase::Asleep | Phase::Gone) {
            return;
        }
        // A request of a second tab may have been on its way when the cookie changed.
        let before = visitor.tickets[1].as_ref().filter(|ticket| now < ticket.signed_at().add_seconds(30));
        let older = visitor.tabs > 1 && before.is_some() && self.rng.happens(0.3);
        let ticket = visitor.tickets[usize::from(older)].clone();
        let join = ticket.as_ref().map_or(visitor.session, |ticket| ticket.session().successor(ticket.signed_at().0));
        let answer = self.visit(now, ticket, join);
        let session = answer.session.expect("an open queue gives every visitor a position or a slot");
        self.keep(number, &answer, &session);
        self.go_on(now, number, &answer, &session);
    }

    fn keep(&mut self, number: usize, answer: &VisitAnswer, session: &SessionState) {
        let wait_ms = self.wait_shown(session, answer).map(|seconds| seconds * 1000);
        let presumed = !answer.pace.observed(answer.now).is_known();
        let position = self.position_shown(number, session, answer);
        let shown = ShownStatus { position, wait_ms, presumed };
        self.compare_position(session, shown.position, answer);
        let token = self.signer.sign(&self.queue, answer, shown, TicketOrigin::default()).unwrap();
        let ticket = self.signer.verify(&self.queue, token.as_bytes()).unwrap();
        let visitor = &mut self.visitors[number];
        visitor.keep(ticket);
        if !visitor.owns(session) {
            // A position is held for a client that has returned a ticket.
            self.report.positions_lost +=
                u64::from(visitor.tickets[1].as_ref().is_some_and(|last| !last.is_unconfirmed()));
            (visitor.session, visitor.arrival) = (session.id, None);
        }
    }

    /// What the visitor does after an answer.
    fn go_on(&mut self, now: Micros, number: usize, answer: &VisitAnswer, session: &SessionState) {
        let visitor = &mut self.visitors[number];
        let first = visitor.arrival.replace(session.arrival).is_none();
        match session.admitted_at {
            Some(_) if visitor.phase != Phase::Shopping => {
                let evicted = std::mem::replace(&mut visitor.phase, Phase::Shopping) == Phase::Evicted;
                self.shopping += 1;
                self.report.most_shopping = self.report.most_shopping.max(self.shopping);
                if evicted {
                    return self.keep_alive(now, number);
                }
                let shopping = self.rng.log_normal(SHOPPING);
                self.events.at(later(now, shopping), Event::Finish(number));
                self.keep_alive(now, number);
            }
            Some(_) => self.keep_alive(now, number),
            None => {
                if visitor.phase == Phase::Shopping {
                    visitor.phase = Phase::Evicted;
                    self.report.evicted += 1;
                    self.shopping -= 1;
                }
                let wait = if session.confirmed { self.poll_after(session, answer) } else { CONFIRM };
                self.events.at(later(now, wait), Event::Poll(number));
            }
        }
        if first {
            self.begin(now, number);
        }
    }

    /// The site sends a keepalive.
    fn keep_alive(&mut self, now: Micros, number: usize) {
        let (least, most) = self.scenario.keepalive;
        let confirmed = self.visitors[number].tickets[0].as_ref().is_some_and(|ticket| !ticket.is_unconfirmed());
        let pause = if confirmed { self.rng.between(least, most) } else { CONFIRM };
        self.events.at(later(now, pause), Event::Poll(number));
    }

    /// As the gate says it; a page is not a clock.
    fn poll_after(&mut self, session: &SessionState, answer: &VisitAnswer) -> f64 {
        let wait = self.wait_shown(session, answer);
        let due = wait.map(|wait| answer.now.add_seconds(wait));
        let full =
            self.observed.rules().poll_ttl(answer.now, &answer.pace.observed(answer.now), Some(session.position), due);
        let left = session.expires_at.since(answer.now) / MICROS_PER_SECOND;
        let after = poll_after(Some(session.position), wait, full, Some(left), answer.now);
        after as f64 + self.rng.between(0.0, 0.3)
    }

    /// The wait in seconds that a visitor is shown: that of the present quota and rate.
    fn wait_shown(&self, session: &SessionState, answer: &VisitAnswer) -> Option<u64> {
        if !self.scenario.shows_waits || session.admitted_at.is_some() {
            return None;
        }
        let per_second = answer.quota.max(1) as f64 / SHOPPING;
        let per_second = self.scenario.per_minute.map_or(per_second, |rate| per_second.min(rate as f64 / 60.0));
        Some((session.position as f64 / per_second) as u64)
    }

    /// As in the gate: the position of the ticket while others may not have returned.
    fn position_shown(&self, number: usize, session: &SessionState, answer: &VisitAnswer) -> Option<u64> {
        if session.admitted_at.is_some() {
            return None;
        }
        let ticket = self.visitors[number].tickets[0].as_ref().filter(|ticket| ticket.session() == session.id);
        let known = ticket.and_then(Ticket::position);
        if answer.restoring { known } else { Some(known.map_or(session.position, |known| known.min(session.position))) }
    }

    /// Compares a position shown after the loss with the rank among all whose page is open, present or not.
    fn compare_position(&mut self, session: &SessionState, shown: Option<u64>, answer: &VisitAnswer) {
        let lost_at = self.scenario.flushed.filter(|_| self.scenario.compares_positions).map(|at| later(START, at));
        let lately = |lost_at: Micros| (lost_at..later(lost_at, LOSS_SHOWS)).contains(&answer.now);
        let Some(shown) = shown.filter(|_| lost_at.is_some_and(lately)) else { return };
        let ahead = |visitor: &&Visitor| {
            let waits = visitor.tickets[0].as_ref().is_some_and(|ticket| ticket.admitted_at().is_none());
            let present = self.observed.line.find(answer.now, visitor.session);
            let active = present.is_some_and(|it| matches!(it.state, SessionLocation::Active { .. }));
            waits && !active && visitor.phase == Phase::Waiting && visitor.arrival < Some(session.arrival)
        };
        let rank = self.visitors.iter().filter(ahead).count() as f64 + 1.0;
        self.report.position_too_low = self.report.position_too_low.max((rank - shown as f64) / rank);
    }

    /// What the visitor means to do from the first page on.
    fn begin(&mut self, now: Micros, number: usize) {
        let visitor = &self.visitors[number];
        let (patience, tabs, has_phone) = (visitor.patience, visitor.tabs, visitor.has_phone);
        if let Some(patience) = patience {
            self.events.at(later(now, patience), Event::Close(number));
        }
        if tabs > 1 {
            let opened = self.rng.between(1.0, 30.0);
            self.events.at(later(now, opened), Event::Poll(number));
        }
        if has_phone {
            let awake = self.rng.exponential(AWAKE);
            self.events.at(later(now, awake), Event::Sleep(number));
        }
    }

    /// Half of the browsers still tell that the page was closed.
    fn close(&mut self, now: Micros, number: usize) {
        let tells = self.rng.happens(0.5);
        if !matches!(self.visitors[number].phase, Phase::Waiting | Phase::Asleep) {
            return;
        }
        self.depart(number);
        if tells && let Some(ticket) = self.visitors[number].tickets[0].clone() {
            self.observed.line.away(now, &ticket);
            self.look(now);
        }
    }

    fn depart(&mut self, number: usize) {
        let phase = std::mem::replace(&mut self.visitors[number].phase, Phase::Gone);
        self.shopping -= u64::from(phase == Phase::Shopping);
        self.present -= 1;
    }

    fn sleep(&mut self, now: Micros, number: usize) {
        if self.visitors[number].phase != Phase::Waiting {
            return;
        }
        self.visitors[number].phase = Phase::Asleep;
        self.visitors[number].was_absent = true;
        let asleep = self.rng.between(ASLEEP.0, ASLEEP.1);
        self.events.at(later(now, asleep), Event::Wake(number));
    }

    fn wake(&mut self, now: Micros, number: usize) {
        if self.visitors[number].phase != Phase::Asleep {
            return;
        }
        self.visitors[number].phase = Phase::Waiting;
        let awake = self.rng.exponential(AWAKE);
        self.events.at(later(now, awake), Event::Sleep(number));
        self.poll(now, number);
    }

    /// Two of three say goodbye, the others just close the shop's page.
    fn finish(&mut self, now: Micros, number: usize) {
        self.depart(number);
        if self.rng.happens(0.67)
            && let Some(ticket) = self.visitors[number].tickets[0].clone()
        {
            self.observed.line.leave(now, &ticket);
            self.look(now);
        }
    }

    fn robot(&mut self, now: Micros) {
        let session = self.rng.session();
        self.visit(now, None, session);
        let next = self.rng.exponential(self.scenario.robots_every);
        self.events.at(later(now, next), Event::Robot);
    }

    fn purge(&mut self, now: Micros) {
        self.observed.line.purge(now, 500);
        self.look(now);
        self.events.at(later(now, PURGE_EVERY), Event::Purge);
    }

    fn set_quota(&mut self, now: Micros, quota: u64) {
        let mut rules = self.observed.rules().clone();
        rules.quota = quota;
        rules.revision += 1;
        self.observed.line.change_rules(rules, now);
        self.look(now);
    }
}
