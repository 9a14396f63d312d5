//! One on-sale in virtual time, by the rules themselves: every range that is shown, and how long it took in truth.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use vestibule_core::line::{Line, Visit};
use vestibule_core::{
    KeyList, MICROS_PER_SECOND, Micros, QueueId, TicketSigner, VerifiedTicket, WaitSeconds, expected_wait, poll_after,
};

use crate::chance::Chance;
use crate::kinds::Sale;

const START: Micros = Micros(1_700_000_000_000_000);
/// By then everybody has been let in.
const END: f64 = 6.0 * 3600.0;
/// How often a shop's page says that somebody is there.
const KEEPALIVE: f64 = 60.0;
const PURGE_EVERY: f64 = 60.0;
/// Mean time for which a phone is awake, and how long it then sleeps.
const AWAKE: f64 = 400.0;
const ASLEEP: (f64, f64) = (20.0, 300.0);

/// What can happen next; visitors are named by their number.
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    Asleep,
    Shopping,
    Gone,
}

struct Visitor {
    phase: Phase,
    ticket: Option<VerifiedTicket>,
    /// Whether they were away at any time: what they were shown does not count.
    was_away: bool,
    shown: Vec<Shown>,
}

/// A range that a visitor was shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    at: Micros,
    p50_ms: u64,
    pub(crate) range: WaitSeconds,
    /// How long it took in truth, in seconds.
    pub(crate) took: f64,
    /// By how much the median is off what the visitor expects after the range before, as a share of it.
    pub(crate) jump: Option<f64>,
}

impl Shown {
    fn seconds_until(&self, now: Micros) -> f64 {
        now.since(self.at) as f64 / MICROS_PER_SECOND as f64
    }

    /// The median is expected to shrink by the time that passed. Below a minute seconds are no jump.
    fn jump_to(&self, now: Micros, range: WaitSeconds) -> Option<f64> {
        let expected = self.range.p50 as f64 - self.seconds_until(now);
        (expected >= 60.0).then(|| (range.p50 as f64 / expected - 1.0).abs())
    }
}

pub(crate) struct Run {
    sale: Sale,
    chance: Chance,
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
    pub(crate) fn new(sale: Sale, chance: Chance) -> Self {
        let mut run = Self {
            line: Line::new(sale.rules(), START, false),
            chance,
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

    fn at(&mut self, seconds: f64, event: Event) {
        self.put(after(START, seconds), event);
    }

    fn put(&mut self, instant: Micros, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((instant, self.planned, event)));
    }

    fn plan(&mut self) {
        self.at(0.0, Event::Purge);
        if self.sale.robots > 0.0 {
            self.at(0.0, Event::Robot);
        }
        for (at, quota) in self.sale.changes.clone() {
            self.at(at, Event::Quota(quota));
        }
        for (number, at) in self.sale.arrivals.clone().into_iter().enumerate() {
            let (phase, ticket, shown) = (Phase::Waiting, None, Vec::new());
            self.visitors.push(Visitor { phase, ticket, was_away: false, shown });
            self.at(at, Event::Poll(number));
            let (share, patience) = self.sale.closed_tabs;
            if self.chance.happens(share) {
                let closes = at + self.chance.exponential(patience);
                self.at(closes, Event::Close(number));
            }
            if self.chance.happens(self.sale.phones) {
                let sleeps = at + self.chance.exponential(AWAKE);
                self.at(sleeps, Event::Sleep(number));
            }
        }
    }

    /// Every range that was shown to those who stayed.
    pub(crate) fn run(mut self) -> Vec<Shown> {
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            if self.about == 0 || now > after(START, END) {
                break;
            }
            match event {
                Event::Poll(number) => self.poll(now, number),
                Event::Close(number) => self.close(now, number),
                Event::Sleep(number) => self.sleep(now, number),
                Event::Wake(number) => self.wake(now, number),
                Event::Finish(number) => self.finish(now, number),
                Event::Robot => self.robot(now),
                Event::Purge => self.purge(now),
                Event::Quota(quota) => {
                    let rules = self.line.rules().clone();
                    let revision = rules.revision + 1;
                    self.line.change_rules(vestibule_core::line::LineRules { quota, revision, ..rules }, now);
                }
            }
        }
        self.shown
    }

    fn poll(&mut self, now: Micros, number: usize) {
        if matches!(self.visitors[number].phase, Phase::Gone | Phase::Asleep) {
            return;
        }
        let ticket = self.visitors[number].ticket.clone();
        let join = ticket.as_ref().map_or_else(|| self.chance.session(), VerifiedTicket::session);
        let answer = self.line.visit(now, &Visit { ticket, join: Some(join) });
        let place = answer.place.expect("an open queue gives everybody a place");
        let token = self.signer.sign(&self.queue, answer.epoch, now, &place, None).unwrap();
        self.visitors[number].ticket = Some(self.signer.verify(&self.queue, token.as_bytes()).unwrap());
        if place.admitted_at.is_some() {
            return self.shop(now, number);
        }
        let range = expected_wait(self.line.rules(), &answer.flow(), now, place.rank);
        if let Some(range) = range {
            let shown = &mut self.visitors[number].shown;
            let wait = shown.last().map_or(range, |before| range.after(before.p50_ms, before.seconds_until(now)));
            let range = wait.seconds();
            let jump = shown.last().and_then(|before| before.jump_to(now, range));
            shown.push(Shown { at: now, p50_ms: wait.p50_ms, range, took: 0.0, jump });
        }
        let left = place.expires_at.since(now) / MICROS_PER_SECOND;
        let pause = poll_after(Some(place.rank), range.map(|range| range.seconds().p50), 180, Some(left), now);
        // A page is not a clock: the network and the browser take their time.
        let pause = pause as f64 + self.chance.between(0.0, 0.3);
        self.put(after(now, pause), Event::Poll(number));
    }

    fn shop(&mut self, now: Micros, number: usize) {
        let visitor = &mut self.visitors[number];
        if visitor.phase == Phase::Waiting {
            visitor.phase = Phase::Shopping;
            if !visitor.was_away {
                let took = |shown: &Shown| now.since(shown.at) as f64 / MICROS_PER_SECOND as f64;
                self.shown.extend(visitor.shown.iter().map(|shown| Shown { took: took(shown), ..*shown }));
            }
            let shopping = self.chance.log_normal(self.sale.shopping, self.sale.spread);
            self.put(after(now, shopping), Event::Finish(number));
        }
        self.put(after(now, KEEPALIVE), Event::Poll(number));
    }

    fn depart(&mut self, number: usize) {
        self.visitors[number].phase = Phase::Gone;
        self.about -= 1;
    }

    /// Two of three browsers tell that the page was closed.
    fn close(&mut self, now: Micros, number: usize) {
        if !matches!(self.visitors[number].phase, Phase::Waiting | Phase::Asleep) {
            return;
        }
        self.depart(number);
        if self.chance.happens(0.67)
            && let Some(ticket) = &self.visitors[number].ticket
        {
            self.line.away(now, ticket);
        }
    }

    fn sleep(&mut self, now: Micros, number: usize) {
        if self.visitors[number].phase == Phase::Waiting {
            self.visitors[number].phase = Phase::Asleep;
            self.visitors[number].was_away = true;
            let asleep = self.chance.between(ASLEEP.0, ASLEEP.1);
            self.put(after(now, asleep), Event::Wake(number));
        }
    }

    fn wake(&mut self, now: Micros, number: usize) {
        if self.visitors[number].phase == Phase::Asleep {
            self.visitors[number].phase = Phase::Waiting;
            let awake = self.chance.exponential(AWAKE);
            self.put(after(now, awake), Event::Sleep(number));
            self.poll(now, number);
        }
    }

    /// Two of three say goodbye, the others just close the shop's page.
    fn finish(&mut self, now: Micros, number: usize) {
        if self.visitors[number].phase != Phase::Shopping {
            return;
        }
        self.depart(number);
        if self.chance.happens(0.67)
            && let Some(ticket) = &self.visitors[number].ticket
        {
            self.line.leave(now, ticket);
        }
    }

    fn robot(&mut self, now: Micros) {
        let session = self.chance.session();
        self.line.visit(now, &Visit { ticket: None, join: Some(session) });
        let next = self.chance.exponential(1.0 / self.sale.robots);
        self.put(after(now, next), Event::Robot);
    }

    fn purge(&mut self, now: Micros) {
        while self.line.purge(now, 500).more {}
        self.put(after(now, PURGE_EVERY), Event::Purge);
    }
}
