//! One on-sale in virtual time, with the real rules: every displayed range, and the actual wait.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use vestibule_core::line::{Line, LineRules, Visit, VisitAnswer, VisitKind};
use vestibule_core::{
    FirstVisit, KeyList, MICROS_PER_SECOND, Micros, PreTicket, QueueId, SessionId, ShownStatus, Ticket, TicketOrigin,
    TicketSigner, poll_after,
};
use vestibule_estimate::estimate_wait;

use crate::kinds::Sale;
use crate::rng::Rng;
use crate::shown::Shown;

const START: Micros = Micros(1_700_000_000_000_000);
/// End of a run: all visitors are admitted by then.
const END: f64 = 6.0 * 3600.0;
/// Interval of the site's keepalives in seconds, at most a third of the slot's TTL.
const KEEPALIVE: f64 = 60.0;
/// Seconds between noticing an admission and arriving at the site.
const ENTERS_AFTER: f64 = 1.5;
const PURGE_EVERY: f64 = 60.0;
/// Minimum sleep of a phone.
const ASLEEP: f64 = 20.0;
/// Shortest and longest time in seconds after which a browser comes back with its pre-ticket.
const REDEEMS_AFTER: (f64, f64) = (0.2, 3.0);
/// Share of browsers that report a closed page.
const TELLS: f64 = 0.67;

/// Events; visitors are identified by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Poll(usize),
    Close(usize),
    Sleep(usize),
    Wake(usize),
    Finish(usize),
    Robot,
    Purge,
    Quota(u64),
    Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    /// The phone sleeps, or the page is closed for a while.
    Away,
    Shopping,
    Gone,
}

struct Visitor {
    phase: Phase,
    /// The last answer, its time and the wait that it showed, which the ticket contains.
    answer: Option<(VisitAnswer, ShownStatus)>,
    /// The pre-ticket of the first visit, if that did not join.
    pre_ticket: Option<PreTicket>,
    /// Time of the next poll.
    asks: Micros,
    /// Whether the visitor was ever away; such visitors are not counted.
    was_away: bool,
    shown: Vec<Shown>,
}

pub(crate) struct Run {
    sale: Sale,
    rng: Rng,
    line: Line,
    events: BinaryHeap<Reverse<(Micros, u64, Event)>>,
    planned: u64,
    visitors: Vec<Visitor>,
    signer: TicketSigner,
    queue: QueueId,
    shown: Vec<Shown>,
    about: usize,
}

fn after(now: Micros, seconds: f64) -> Micros {
    Micros(now.0 + (seconds.max(0.0) * MICROS_PER_SECOND as f64) as u64)
}

impl Run {
    pub(crate) fn new(sale: Sale, rng: Rng) -> Self {
        let mut run = Self {
            line: Line::new(sale.rules.clone(), START, false),
            rng,
            events: BinaryHeap::new(),
            planned: 0,
            visitors: Vec::new(),
            signer: TicketSigner::new(&KeyList::of_bytes("k1", [7; 32])).unwrap(),
            queue: "sale".parse().unwrap(),
            shown: Vec::new(),
            about: sale.arrivals.len(),
            sale,
        };
        run.plan();
        run
    }

    fn put(&mut self, instant: Micros, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((instant, self.planned, event)));
    }

    fn plan(&mut self) {
        self.put(START, Event::Purge);
        if self.sale.behavior.robots > 0.0 {
            self.put(START, Event::Robot);
        }
        for (at, quota) in self.sale.changes.clone() {
            self.put(after(START, at), Event::Quota(quota));
        }
        self.put(after(START, self.sale.counts_from), Event::Count);
        let behavior = self.sale.behavior.clone();
        for (number, at) in self.sale.arrivals.clone().into_iter().enumerate() {
            let comes = after(START, at);
            let (phase, answer, shown) = (Phase::Waiting, None, Vec::new());
            self.visitors.push(Visitor { phase, answer, pre_ticket: None, asks: comes, was_away: false, shown });
            self.put(comes, Event::Poll(number));
            if self.rng.happens(behavior.closed_tabs.0) {
                let closes = after(comes, self.rng.exponential(behavior.closed_tabs.1));
                self.put(closes, Event::Close(number));
            }
            if self.rng.happens(behavior.phones) {
                let sleeps = after(comes, self.rng.exponential(behavior.awake.0));
                self.put(sleeps, Event::Sleep(number));
            }
        }
    }

    /// Every range shown to visitors who stayed.
    pub(crate) fn run(mut self) -> Vec<Shown> {
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            if self.about == 0 || now > after(START, END) {
                break;
            }
            match event {
                Event::Poll(number) if self.visitors[number].asks == now => self.poll(now, number),
                // The visitor has polled since then, and polls again at the time of the last answer.
                Event::Poll(_) => {}
                Event::Close(number) => self.close(now, number),
                Event::Sleep(number) => self.sleep(now, number),
                Event::Wake(number) => self.wake(now, number),
                Event::Finish(number) => self.finish(now, number),
                Event::Robot => self.robot(now),
                Event::Purge => self.purge(now),
                Event::Quota(quota) => {
                    let rules = self.line.rules().clone();
                    let revision = rules.revision + 1;
                    self.line.change_rules(LineRules { quota, revision, ..rules }, now);
                }
                Event::Count => self.forget_ranges(),
            }
        }
        self.shown
    }

    /// Ranges shown until now do not count.
    fn forget_ranges(&mut self) {
        self.shown.clear();
        self.visitors.iter_mut().for_each(|visitor| visitor.shown.clear());
    }

    /// The ticket of the visitor's last answer.
    fn ticket(&self, number: usize) -> Option<Ticket> {
        let (answer, shown) = self.visitors[number].answer?;
        let token = self.signer.sign(&self.queue, &answer, shown, TicketOrigin::default()).unwrap();
        Some(self.signer.verify(&self.queue, token.as_bytes()).unwrap())
    }

    /// The pre-ticket of a first visit.
    fn pre_ticket(&self, now: Micros, session: SessionId) -> PreTicket {
        let epoch = self.line.rules().epoch;
        let visit = FirstVisit::new(epoch, session, now);
        let token = self.signer.sign_first_visit(&self.queue, &visit, None).unwrap();
        self.signer.verify_pre_ticket(&self.queue, token.as_bytes(), None).unwrap()
    }

    /// The next visit of a visitor: with a ticket, or else with a pre-ticket if there is one.
    fn visit_of(&mut self, number: usize) -> Visit {
        let (ticket, pre_ticket) = (self.ticket(number), self.visitors[number].pre_ticket);
        match (ticket, pre_ticket) {
            (None, Some(pre_ticket)) => Visit::redeeming(pre_ticket),
            (ticket, _) => {
                let join = ticket.as_ref().map_or_else(|| self.rng.session(), Ticket::session);
                Visit { ticket, join: Some(join), ..Visit::default() }
            }
        }
    }

    fn poll(&mut self, now: Micros, number: usize) {
        if matches!(self.visitors[number].phase, Phase::Gone | Phase::Away) {
            return;
        }
        let visit = self.visit_of(number);
        let answer = self.line.visit(now, &visit);
        if answer.kind == VisitKind::NeedsPreTicket {
            self.visitors[number].pre_ticket = visit.join.map(|session| self.pre_ticket(now, session));
            let seconds = self.rng.between(REDEEMS_AFTER.0, REDEEMS_AFTER.1);
            return self.ask_after(now, number, seconds);
        }
        let session = answer.session.expect("an open queue gives everybody a position or a slot");
        if session.admitted_at.is_some() {
            self.visitors[number].answer = Some((answer, ShownStatus::default()));
            return self.shop(now, number);
        }
        let expected = estimate_wait(self.line.rules(), &answer.flow(), now, session.position);
        let visitor = &mut self.visitors[number];
        let shown = expected.map(|expected| {
            let shown = Shown::after(visitor.shown.last(), now, expected, answer.pace.observed(now).age);
            visitor.shown.push(shown);
            shown.wait
        });
        let wait_ms = shown.map(|wait| wait.p50_ms);
        visitor.answer = Some((
            answer,
            ShownStatus { wait_ms, presumed: !answer.pace.observed(now).is_known(), ..ShownStatus::default() },
        ));
        let left = session.expires_at.since(now) / MICROS_PER_SECOND;
        let due = wait_ms.map(|wait_ms| Micros(now.0 + wait_ms * 1000));
        let full = self.line.rules().poll_ttl(now, &answer.pace.observed(now), Some(session.position), due);
        let soonest = expected.into_iter().chain(shown).map(|wait| wait.seconds().p50).min();
        let pause = poll_after(Some(session.position), soonest, full, Some(left), now);
        // Polls are late by the delays of the network and the browser.
        let pause = pause as f64 + self.rng.between(0.0, 0.3);
        self.ask_after(now, number, pause);
    }

    fn ask_after(&mut self, now: Micros, number: usize, seconds: f64) {
        self.visitors[number].asks = after(now, seconds);
        self.put(after(now, seconds), Event::Poll(number));
    }

    fn shop(&mut self, now: Micros, number: usize) {
        let visitor = &mut self.visitors[number];
        let is_new = visitor.phase == Phase::Waiting;
        if is_new {
            visitor.phase = Phase::Shopping;
            let shown = std::mem::take(&mut visitor.shown);
            if !visitor.was_away {
                self.shown.extend(shown.into_iter().map(|shown| shown.until(now)));
            }
            let shopping = self.rng.log_normal(self.sale.behavior.shopping, self.sale.behavior.spread);
            self.put(after(now, shopping), Event::Finish(number));
        }
        // The pages of the site renew the session at once, and a visit with a ticket extends the slot to its full time.
        let keepalive = if is_new { ENTERS_AFTER } else { KEEPALIVE.min(self.sale.rules.active_ttl as f64 / 3.0) };
        self.ask_after(now, number, keepalive);
    }

    fn depart(&mut self, number: usize) {
        self.visitors[number].phase = Phase::Gone;
        self.about -= 1;
    }

    fn close(&mut self, now: Micros, number: usize) {
        if !matches!(self.visitors[number].phase, Phase::Waiting | Phase::Away) {
            return;
        }
        if self.rng.happens(TELLS)
            && let Some(ticket) = self.ticket(number)
        {
            self.line.away(now, &ticket);
        }
        let (share, seconds) = self.sale.behavior.come_back;
        if self.rng.happens(share) {
            let seconds = self.rng.exponential(seconds);
            self.go_away(now, number, seconds);
        } else {
            self.depart(number);
        }
    }

    fn go_away(&mut self, now: Micros, number: usize, seconds: f64) {
        let visitor = &mut self.visitors[number];
        (visitor.phase, visitor.was_away) = (Phase::Away, true);
        self.put(after(now, seconds), Event::Wake(number));
    }

    fn sleep(&mut self, now: Micros, number: usize) {
        if self.visitors[number].phase == Phase::Waiting {
            let seconds = self.rng.between(ASLEEP, self.sale.behavior.awake.1);
            self.go_away(now, number, seconds);
            let again = seconds + self.rng.exponential(self.sale.behavior.awake.0);
            self.put(after(now, again), Event::Sleep(number));
        }
    }

    fn wake(&mut self, now: Micros, number: usize) {
        if self.visitors[number].phase == Phase::Away {
            self.visitors[number].phase = Phase::Waiting;
            self.poll(now, number);
        }
    }

    /// A visitor who closes the site without a signal keeps the slot until it expires.
    fn finish(&mut self, now: Micros, number: usize) {
        if self.visitors[number].phase != Phase::Shopping {
            return;
        }
        self.depart(number);
        if !self.rng.happens(self.sale.behavior.silent)
            && let Some(ticket) = self.ticket(number)
        {
            self.line.leave(now, &ticket);
        }
    }

    fn robot(&mut self, now: Micros) {
        let session = self.rng.session();
        self.line.visit(now, &Visit::joining(session));
        let next = self.rng.exponential(1.0 / self.sale.behavior.robots);
        self.put(after(now, next), Event::Robot);
    }

    fn purge(&mut self, now: Micros) {
        while self.line.purge(now, 500).more {}
        self.put(after(now, PURGE_EVERY), Event::Purge);
    }
}
