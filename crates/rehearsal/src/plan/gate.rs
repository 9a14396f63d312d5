//! The gate in virtual time: the line's own rules, and what a gate makes of its answers.

use std::collections::{BTreeSet, HashMap};

use vestibule_core::line::{Line, LineRules, SessionLocation, SessionState, Visit, VisitAnswer};
use vestibule_core::{
    KeyList, MICROS_PER_SECOND, Micros, QueueId, SessionId, Ticket, TicketSigner, VisitorState, WaitRange,
    expected_wait, poll_after,
};

use crate::chance::Chance;
use crate::crowd::Crowd;
use crate::moment::Moment;
use crate::visitor::{Heard, Question, ReportedStatus, Stretch};

/// When it all happens, as the line sees it.
const START: Micros = Micros(1_700_000_000 * MICROS_PER_SECOND);
/// For how long the line keeps those present who are not asked for: they are taken away when they would have lapsed.
const KEPT: u64 = 30 * 86_400;
/// Expected waits beyond this are looked at again after this, in seconds.
const LOOK_AGAIN: f64 = 1800.0;
/// Seconds between two polls near the front.
const NEAR: f64 = 2.0;
/// Polls that fit into the expected wait.
const POLLS_PER_WAIT: f64 = 20.0;
/// Positions that count as near the front.
const NEAR_FRONT: u64 = 10;
/// Microseconds of a step of virtual time.
const MICROS_PER_MILLI: f64 = 1000.0;

/// What the gate knows of a visitor.
#[derive(Clone)]
struct Guest {
    session: SessionId,
    ticket: Option<Ticket>,
    /// When they were told something last.
    told_at: Moment,
    /// The wait that they were told, in seconds; 0 is none.
    told: f32,
    /// The wait that they were told or that was expected, whichever is less, in seconds: their polls go by it.
    soonest: f32,
    /// The position that was shown last, which never rises while they stay; 0 is none.
    shown: u64,
}

/// The gate.
pub(super) struct VirtualGate {
    line: Line,
    /// The rules as they are; the line itself keeps people present for longer.
    rules: LineRules,
    signer: TicketSigner,
    queue: QueueId,
    guests: Vec<Guest>,
    /// Who came to the line and was not seen to leave it.
    order: BTreeSet<(Micros, u32)>,
    /// Who fell silent, and when they lapse.
    silent: HashMap<u32, Moment>,
    /// Seconds for which polls are counted rather than played at most.
    counts_for: f64,
    chance: Chance,
}

impl VirtualGate {
    #[expect(clippy::expect_used, reason = "the key and the name are constants")]
    pub(super) fn new(crowd: &Crowd, rules: &LineRules) -> Self {
        let mut chance = Chance::of(crowd.seed, u32::MAX);
        let guest = |chance: &mut Chance| Guest {
            session: chance.session(),
            ticket: None,
            told_at: Moment(0),
            told: 0.0,
            soonest: 0.0,
            shown: 0,
        };
        Self {
            line: Line::new(LineRules { waiting_ttl: KEPT, ..rules.clone() }, START, false),
            rules: rules.clone(),
            signer: TicketSigner::new(&KeyList::of_bytes("plan", [7; 32])).expect("a key of the right length"),
            queue: "plan".parse().expect("an id"),
            guests: (0..crowd.visitors).map(|_| guest(&mut chance)).collect(),
            order: BTreeSet::new(),
            silent: HashMap::new(),
            counts_for: LOOK_AGAIN,
            chance,
        }
    }

    /// The same, which has every single poll played.
    #[cfg(test)]
    pub(super) fn exact(self) -> Self {
        Self { counts_for: 0.0, ..self }
    }

    /// Answers a question.
    pub(super) fn ask(&mut self, now: Moment, number: u32, question: Question, is_robot: bool) -> Heard {
        match question {
            Question::Away => {
                self.renew(now, number);
                self.go_away(now, number);
                Heard::Done
            }
            Question::Leave => {
                if let Some(ticket) = self.guest(number).ticket.clone() {
                    self.line.leave(instant(now), &ticket);
                }
                Heard::Done
            }
            _ if is_robot => self.answer_robot(now),
            _ => {
                let answer = self.visit(now, number);
                self.tell(now, number, question, &answer)
            }
        }
    }

    fn answer_robot(&mut self, now: Moment) -> Heard {
        let join = Some(self.chance.session());
        let answer = self.line.visit(instant(now), &Visit { join, ..Visit::default() });
        let is_in = answer.place.is_some_and(|place| place.admitted_at.is_some());
        if is_in { Heard::Through } else { Heard::QueuePage { ask_after_ms: 2000, ticket: true } }
    }

    fn guest(&self, number: u32) -> &Guest {
        &self.guests[number as usize]
    }

    fn visit(&mut self, now: Moment, number: u32) -> VisitAnswer {
        self.silent.remove(&number);
        let guest = self.guest(number);
        let visit = Visit { ticket: guest.ticket.clone(), join: Some(guest.session), ..Visit::default() };
        let mut answer = self.line.visit(instant(now), &visit);
        if answer.place.is_none() {
            // The session ended, and its ticket is good no more: somebody new.
            let guest = &mut self.guests[number as usize];
            (guest.session, guest.ticket) = (self.chance.session(), None);
            (guest.shown, guest.told) = (0, 0.0);
            let visit = Visit::joining(guest.session);
            answer = self.line.visit(instant(now), &visit);
        }
        if let Some(place) = &answer.place {
            if place.admitted_at.is_none() {
                self.order.insert((place.arrival, number));
            }
            let held = self.guest(number).ticket.as_ref();
            let confirms = |ticket: &Ticket| ticket.is_unconfirmed() && place.confirmed;
            if held.is_none_or(|ticket| ticket.admitted_at() != place.admitted_at || confirms(ticket)) {
                self.sign(now, number, place);
            }
            if !place.confirmed {
                self.confirm(now, number);
            }
        }
        answer
    }

    /// A page returns its ticket within seconds. That poll is played at once: later ones may only be counted.
    fn confirm(&mut self, now: Moment, number: u32) {
        let Some(ticket) = self.guest(number).ticket.clone() else { return };
        if let Some(place) = self.line.visit(instant(now), &Visit::keeping(ticket)).place {
            self.sign(now, number, &place);
        }
    }

    fn sign(&mut self, now: Moment, number: u32, place: &SessionState) {
        let position = (place.position > 0).then_some(place.position);
        let token = self.signer.sign(&self.queue, self.rules.epoch, instant(now), place, position);
        let ticket = token.and_then(|token| self.signer.verify(&self.queue, token.as_bytes()).ok());
        self.guests[number as usize].ticket = ticket;
    }

    /// Signs the ticket of somebody who waits anew, as the last of the polls did that were only counted. Who was let in
    /// since then does not know of it yet, so their ticket says that they wait.
    fn renew(&mut self, now: Moment, number: u32) {
        let Guest { session, ticket: Some(ticket), shown, .. } = self.guest(number) else { return };
        if ticket.admitted_at().is_none() {
            let (session, arrival, position) = (*session, ticket.arrival(), *shown);
            let expires_at = instant(now);
            // A ticket that is signed while nobody uses the line would show that the line lost its state.
            self.line.visit(expires_at, &Visit::default());
            self.sign(
                now,
                number,
                &SessionState { session, arrival, admitted_at: None, position, expires_at, confirmed: true },
            );
        }
    }

    /// The visitor asks no more for a while. Returns when their presence lapses: so long after their last poll.
    pub(super) fn falls_silent(&mut self, now: Moment, number: u32) -> Moment {
        self.renew(now, number);
        let since_poll = self.chance.between(0.0, self.interval(now, number));
        let lapses = now.after((self.rules.waiting_ttl as f64 - since_poll).max(0.0));
        self.silent.insert(number, lapses);
        lapses
    }

    /// The presence of a visitor lapses who has not been heard of since.
    pub(super) fn lapse(&mut self, now: Moment, number: u32, at: Moment) -> bool {
        let is_silent = self.silent.get(&number) == Some(&at);
        if is_silent {
            self.silent.remove(&number);
            self.go_away(now, number);
        }
        is_silent
    }

    fn go_away(&mut self, now: Moment, number: u32) {
        if let Some(ticket) = self.guest(number).ticket.clone() {
            self.line.away(instant(now), &ticket);
        }
    }

    /// The visitor will not come back.
    pub(super) fn forget(&mut self, number: u32) {
        self.guests[number as usize].ticket = None;
    }

    pub(super) fn purge(&mut self, now: Moment) {
        while self.line.purge(instant(now), vestibule_core::line::PURGE_BATCH).more {}
    }

    /// The next of the line who was let in, and within how many milliseconds their next poll comes: as near the front, where
    /// they are by then.
    pub(super) fn next_admitted(&mut self, now: Moment) -> Option<(u32, u32)> {
        loop {
            let (arrival, number) = *self.order.first()?;
            let found = self.line.find(instant(now), self.guest(number).session);
            match found.map(|found| found.state) {
                Some(SessionLocation::Waiting { .. }) => return None,
                Some(SessionLocation::Active { .. }) => {
                    self.order.remove(&(arrival, number));
                    return Some((number, self.chance.between(0.0, NEAR * 1000.0) as u32));
                }
                Some(SessionLocation::Ended) | None => {
                    self.order.remove(&(arrival, number));
                }
            }
        }
    }

    /// Seconds between two polls of a visitor, by the wait that they were told and what has passed of it.
    fn interval(&self, now: Moment, number: u32) -> f64 {
        let Guest { told_at: at, soonest: wait, .. } = *self.guest(number);
        between_polls(f64::from(wait) - now.since(at), self.longest())
    }

    /// Longest seconds between two polls.
    fn longest(&self) -> f64 {
        ((self.rules.waiting_ttl / 3) as f64).max(NEAR)
    }

    /// What a visitor is shown of this expected wait, as a gate goes on from what it told them last.
    fn shown_wait(&self, now: Moment, number: u32, expected: WaitRange, known_for: f64) -> WaitRange {
        let guest = self.guest(number);
        let before = (f64::from(guest.told) * 1000.0) as u64;
        if before == 0 { expected } else { expected.after(before, now.since(guest.told_at), known_for) }
    }

    fn tell(&mut self, now: Moment, number: u32, question: Question, answer: &VisitAnswer) -> Heard {
        let admitted = answer.place.is_some_and(|place| place.admitted_at.is_some());
        let position = answer.place.filter(|_| !admitted).map(|place| place.position);
        let known_for = answer.pace.observed(answer.now).age;
        let expected = position.and_then(|position| expected_wait(&self.rules, &answer.flow(), answer.now, position));
        let wait = expected.map(|expected| self.shown_wait(now, number, expected, known_for).seconds());
        let soonest = expected.map(WaitRange::seconds).into_iter().chain(wait).map(|wait| wait.p50).min();
        let full = if admitted { self.rules.active_ttl } else { self.rules.waiting_ttl };
        let left = answer.place.map(|place| full.min(place.expires_at.since(answer.now) / MICROS_PER_SECOND));
        let ask_after = poll_after(position, soonest, full, left, self.finer(answer.now));
        let ask_after_ms = u32::try_from(ask_after * 1000).unwrap_or(u32::MAX);
        let stretch = soonest
            .filter(|_| question == Question::Poll && position.is_some_and(|position| position > NEAR_FRONT))
            .and_then(|soonest| self.stretch(now, soonest as f64, known_for));
        let guest = &mut self.guests[number as usize];
        guest.told_at = now;
        guest.told = wait.map_or(0.0, |wait| wait.p50 as f32);
        guest.soonest = soonest.map_or(0.0, |soonest| soonest as f32);
        guest.shown =
            position.map_or(0, |position| if guest.shown == 0 { position } else { position.min(guest.shown) });
        let (session, shown) = (ReportedStatus::first_bytes(guest.session), guest.shown);
        match question {
            Question::Enter | Question::Page if admitted => Heard::Through,
            Question::Enter | Question::Page => Heard::QueuePage { ask_after_ms, ticket: true },
            _ => Heard::VisitorStatus(ReportedStatus {
                state: if admitted { VisitorState::Admitted } else { VisitorState::Waiting },
                session,
                position: u32::try_from(shown).unwrap_or(u32::MAX),
                joined_at: answer.place.map_or(0, |place| place.arrival.0),
                wait,
                expires_in: Some(if admitted { full } else { KEPT }),
                poll_after_ms: ask_after_ms,
                stretch,
            }),
        }
    }

    /// The instant as a real clock tells it, whose last digits are as good as random: polls are jittered by them. Those of
    /// virtual time are all zeros, and of 15 to 20 seconds they would leave 16, 18 and 20.
    fn finer(&mut self, at: Micros) -> Micros {
        Micros(at.0 + self.chance.between(0.0, MICROS_PER_MILLI) as u64)
    }

    /// Nothing changes for somebody with so long to wait before half of it is over; nor, where the line has not been known
    /// for long, before it has been known for half as long again, since what is told may be far off until then. `None` if
    /// that is before the second poll.
    fn stretch(&self, now: Moment, wait: f64, known_for: f64) -> Option<Stretch> {
        let rest = (wait / 2.0).min(self.counts_for).min(known_for / 2.0);
        let questions = questions(wait - rest, wait, self.longest()) as f32;
        (questions >= 2.0).then(|| Stretch { until: now.after(rest), questions })
    }
}

/// Seconds between two polls in the mean, of somebody far from the front with so long to wait: `poll_after` goes by whole
/// seconds, and takes up to a quarter of them away.
fn between_polls(wait: f64, longest: f64) -> f64 {
    let most = (wait / POLLS_PER_WAIT).floor().clamp(NEAR, longest);
    most - (most / 4.0).floor().min(most - NEAR) / 2.0
}

/// How many polls somebody makes while the expected wait goes from `more` down to `less`: the integral of their rate,
/// which is the same for as long as the wait is the same number of twentieths.
fn questions(less: f64, more: f64, longest: f64) -> f64 {
    let (mut from, mut polls) = (less, 0.0);
    while from < more {
        let step = ((from / POLLS_PER_WAIT).floor() + 1.0) * POLLS_PER_WAIT;
        let until = if from < longest * POLLS_PER_WAIT { step.min(more) } else { more };
        polls += (until - from) / between_polls(from, longest);
        from = until;
    }
    polls
}

fn instant(at: Moment) -> Micros {
    Micros(START.0 + u64::from(at.0) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::crowd::{Habits, Shopping};
    use crate::plan::tests::rules;

    #[test]
    fn polls_are_jittered_as_by_a_real_clock() {
        let habits = Habits::steadfast(Shopping::Fixed(30.0));
        let crowd = Crowd { visitors: 200, arrivals: Arrivals::Steady(1.0), habits, seed: 1 };
        let mut gate = VirtualGate::new(&crowd, &rules(1));
        let asked = (0..200).map(|number| gate.ask(Moment(number), number, Question::Enter, false));
        let pages = asked.filter_map(|heard| match heard {
            Heard::QueuePage { ask_after_ms, .. } => Some(ask_after_ms / 1000),
            _ => None,
        });
        let seconds: BTreeSet<u32> = pages.skip(20).collect();
        assert_eq!(seconds, (15..=20).collect());
    }

    #[test]
    fn polls_are_counted_as_they_are_made() {
        for (less, more, longest) in
            [(900.0, 1800.0, 20.0), (100.0, 200.0, 20.0), (5.0, 30.0, 20.0), (10.0, 3000.0, 20.0)]
        {
            let (mut wait, mut polls) = (more, 0_u32);
            while wait > less {
                let now = Micros(u64::from(polls).wrapping_mul(7_919));
                wait -= poll_after(Some(1000), Some(wait as u64), 3 * longest as u64, None, now) as f64;
                polls += 1;
            }
            let counted = questions(less, more, longest);
            assert!((counted / f64::from(polls) - 1.0).abs() < 0.06, "{less}..{more}: {counted} and {polls}");
        }
    }
}
