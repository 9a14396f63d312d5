//! Invariants checked after every step.

use std::collections::{HashMap, HashSet};

use vestibule_core::line::{
    ADMISSION_COST, ADVANCE_BATCH, CLOCK_GRAIN, Counters, Mode, Phase, PreTicketLoad, PurgeReport, VisitKind,
};
use vestibule_core::settings::Access;
use vestibule_core::{MICROS_PER_SECOND, Micros, PreTicket, PutOutcome, SessionId, Ticket};

use super::operation::{Operation, OperationResult};
use super::snapshot::Snapshot;

/// How far arrivals can be ahead of the clock, in microseconds: newcomers of one instant get different ones.
const ARRIVALS_AHEAD: u64 = 1_000;

/// Data carried from step to step in addition to the state.
#[derive(Clone, Default)]
pub(super) struct StepHistory {
    last_arrival: u64,
    /// Cost of recent admissions minus the units earned since: never more than the bucket's
    /// capacity.
    spent: u64,
    spent_at: Micros,
    /// When newcomers without an invitation could last not join.
    closed_at: Micros,
    /// When a session was last waiting.
    waited_at: Micros,
    /// The last visit of the line, or the start of its state; `None` if unknown.
    visited_at: Option<Micros>,
    /// When sessions joined, by session and arrival, and their head starts in microseconds.
    joined: HashMap<(SessionId, Micros), (Micros, u64)>,
}

pub(super) struct Step<'a> {
    pub(super) before: &'a Snapshot,
    pub(super) after: &'a Snapshot,
    pub(super) operation: &'a Operation,
    pub(super) answer: &'a OperationResult,
}

macro_rules! hold {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl Step<'_> {
    pub(super) fn check(&self, history: &mut StepHistory) -> Result<(), String> {
        if matches!(self.operation, Operation::RollBack) {
            history.visited_at = None;
            return self.state_is_whole();
        }
        let admitted = self.newly_admitted();
        self.state_is_whole()?;
        self.counters_add_up(admitted.len() as u64)?;
        self.arrivals_increase(history)?;
        self.pre_tickets_are_required()?;
        self.presence_is_limited()?;
        self.reading_renews_nothing()?;
        self.no_inversions(&admitted)?;
        self.head_start_is_bounded(&admitted, history)?;
        self.quota_holds()?;
        self.rate_holds(history)?;
        self.closes_when_drained(history)?;
        match self.answer {
            _ if self.is_new_state() => history.visited_at = Some(self.now()),
            // It may have passed the line by.
            OperationResult::Visit(answer) if answer.mode == Mode::Bypass => history.visited_at = None,
            OperationResult::Visit(_) => history.visited_at = Some(self.now()),
            _ => {}
        }
        self.a_visit_tells_of_interruptions(history)?;
        self.no_slot_stays_free(history)
    }

    fn now(&self) -> Micros {
        self.after.stats.now
    }

    /// Whether this step started a new state.
    fn is_new_state(&self) -> bool {
        let epoch = |snapshot: &Snapshot| snapshot.stats.rules.epoch;
        matches!(self.operation, Operation::Lose(..)) || epoch(self.before) != epoch(self.after)
    }

    fn counters_before(&self) -> Counters {
        if self.is_new_state() { Counters::default() } else { self.before.stats.counters }
    }

    /// Sessions admitted by this step, with their arrivals, without those restored to their slots.
    fn newly_admitted(&self) -> Vec<(SessionId, Option<Micros>)> {
        let since_when = |session: &SessionId| self.before.active.get(session).map(|(admitted_at, _)| *admitted_at);
        let is_new = |session: &SessionId, admitted_at: Micros| {
            admitted_at == self.now() && since_when(session) != Some(admitted_at) && !self.came_back(*session)
        };
        let admitted = self.after.active.iter().filter(|(session, (admitted_at, _))| is_new(session, *admitted_at));
        admitted.map(|(session, _)| (*session, self.arrival(*session))).collect()
    }

    /// Whether the session was restored to its slot by an admitted ticket.
    fn came_back(&self, session: SessionId) -> bool {
        let (Operation::Visit(visit), OperationResult::Visit(answer)) = (self.operation, self.answer) else {
            return false;
        };
        let state = answer.session.filter(|state| state.id == session);
        let admitted_at = visit.ticket.as_ref().and_then(vestibule_core::Ticket::admitted_at);
        answer.kind == VisitKind::Restored
            && state.is_some_and(|state| state.admitted_at.is_some() && state.admitted_at == admitted_at)
    }

    /// The arrival of the session in line, before this step or at it.
    fn arrival(&self, session: SessionId) -> Option<Micros> {
        let came = match self.answer {
            OperationResult::Visit(answer) if answer.kind != VisitKind::Renewed => answer.session,
            _ => None,
        };
        let came = came.filter(|state| state.id == session).map(|state| state.arrival);
        came.or_else(|| self.before.arrival(session))
    }

    /// Every session is in exactly one set, and the sizes of the sets match the counts.
    fn state_is_whole(&self) -> Result<(), String> {
        let Snapshot { stats, line, active } = self.after;
        hold!(stats.waiting == line.len() as u64, "{} wait, and the line has {}", stats.waiting, line.len());
        hold!(stats.active == active.len() as u64, "{} are active, found are {}", stats.active, active.len());
        let key = |index: usize| (line[index].at, line[index].session);
        hold!((1..line.len()).all(|index| key(index - 1) < key(index)), "the line is in disorder: {line:?}");
        let sessions: HashSet<_> = self.after.sessions().collect();
        hold!(sessions.len() == line.len() + active.len(), "a session is there twice");
        let head = line.first().map(|entry| entry.at);
        // A drawn arrival is an order; its wait began with the sale, at a whole second, in whatever mode the queue is since.
        let is_start = |at: Micros| at <= stats.now && at.0.is_multiple_of(MICROS_PER_SECOND);
        let is_drawn = stats.oldest_arrival > head && stats.oldest_arrival.is_some_and(is_start);
        hold!(stats.oldest_arrival == head || is_drawn, "the oldest is {:?}, the head {head:?}", stats.oldest_arrival);
        hold!(self.after.expiries().iter().all(|expiry| expiry.0 > 0), "a session has no expiry");
        Ok(())
    }

    fn counters_add_up(&self, admitted: u64) -> Result<(), String> {
        let (stats, before) = (&self.after.stats, self.counters_before());
        let it = stats.counters;
        let gone = it.expired_waiting + it.expired_active + it.left + it.ended + it.away;
        hold!(it.joined + it.returned == stats.waiting + stats.active + gone, "they do not add up: {it:?}");
        let counted = it.admitted + it.released;
        hold!(stats.waits.buckets.iter().sum::<u64>() == counted, "waits of others than the admitted: {it:?}");
        let grown = counted.checked_sub(before.admitted + before.released);
        hold!(grown == Some(admitted), "{admitted} were admitted, counted were {grown:?}");
        Ok(())
    }

    /// Rule 1.
    fn arrivals_increase(&self, history: &mut StepHistory) -> Result<(), String> {
        if self.is_new_state() {
            (history.last_arrival, history.closed_at) = (0, Micros(0));
        }
        let result = self.newcomer_arrives(history);
        let stats = &self.after.stats;
        // The event may go on: a visit can tell that its line became empty only because nobody could be served.
        let may_go_on = stats.phase == Some(Phase::Idle);
        if !may_go_on && !stats.mode.accepts_newcomers() || stats.rules.access == Some(Access::Invited) {
            history.closed_at = self.now();
        }
        result
    }

    fn newcomer_arrives(&self, history: &mut StepHistory) -> Result<(), String> {
        let OperationResult::Visit(answer) = self.answer else { return Ok(()) };
        let Some(session) = answer.session else { return Ok(()) };
        let head_start = match self.operation {
            Operation::Visit(visit) => visit.head_start,
            _ => None,
        };
        if answer.kind == VisitKind::Joined {
            let ahead = head_start.unwrap_or_default();
            let expected = self.first_arrival().unwrap_or(self.now().0.max(history.last_arrival + 1) - ahead);
            let restricted = self.after.stats.rules.access == Some(Access::Invited);
            hold!(!restricted || head_start.is_some(), "{} joined without an invitation", session.id);
            // Who comes back with a pre-ticket came with the first visit.
            let came = self.redeemed().map_or(self.now(), |_| session.arrival);
            history.joined.insert((session.id, session.arrival), (came, ahead));
            let stats = &self.after.stats;
            let most = stats.rules.max_waiting.unwrap_or(u64::MAX);
            hold!(stats.waiting <= most, "{} wait after a newcomer joined, at most {most} may", stats.waiting);
            // Rules 20 and 23: behind everyone drawn, so that a draw can shorten a head start, and delay a first visit in its lobby.
            let is_earlier = ahead > 0 || self.redeemed().is_some();
            let is_behind = is_earlier && (expected..=self.now().0).contains(&session.arrival.0);
            let is_expected = session.arrival.0 == expected || is_behind;
            hold!(is_expected, "arrived at {}, not {expected}", session.arrival.0);
            // Rule 23: a first visit while nobody could join counts from when newcomers could.
            let is_open = head_start.is_some() || session.arrival >= history.closed_at;
            hold!(is_open, "arrived at {}, but nobody could join at {}", session.arrival.0, history.closed_at.0);
        }
        // Rule 19: an invited newcomer delays nobody.
        let is_ahead = answer.kind == VisitKind::Joined && head_start.is_some_and(|head_start| head_start > 0);
        if matches!(answer.kind, VisitKind::Joined | VisitKind::Restored) && !is_ahead {
            history.last_arrival = history.last_arrival.max(session.arrival.0);
        }
        Ok(())
    }

    /// Rule 23: the first visit of a redeemed pre-ticket, if it counts as the arrival.
    fn first_arrival(&self) -> Option<u64> {
        let pre_ticket = self.redeemed().filter(|_| !self.joined_late())?;
        let (rules, first_visit) = (&self.after.stats.rules, pre_ticket.first_visit());
        let age = self.now().0.checked_sub(first_visit.0)?;
        let recent = pre_ticket.is_of_same_network() && age <= rules.protection.pre_ticket_max_age * MICROS_PER_SECOND;
        let preserved = pre_ticket.is_preserved() && age <= rules.hold_ttl * MICROS_PER_SECOND;
        (recent || preserved).then_some(first_visit.0)
    }

    /// Whether a newcomer joined without the proof of work that was required, at the end of the line.
    fn joined_late(&self) -> bool {
        let delayed = |snapshot: &Snapshot| snapshot.stats.limits.counters.delayed_joins;
        delayed(self.after) > if self.is_new_state() { 0 } else { delayed(self.before) }
    }

    /// The pre-ticket of this visit, if it is of the epoch.
    fn redeemed(&self) -> Option<PreTicket> {
        let Operation::Visit(visit) = self.operation else { return None };
        visit.redeem.filter(|pre_ticket| pre_ticket.epoch() == self.after.stats.rules.epoch)
    }

    /// Rule 23: while a pre-ticket is required, no session joins without one, and a pre-ticket is one session.
    fn pre_tickets_are_required(&self) -> Result<(), String> {
        let OperationResult::Visit(answer) = self.answer else { return Ok(()) };
        let Some(session) = answer.session else { return Ok(()) };
        if let Some(pre_ticket) = self.redeemed() {
            hold!(session.id == pre_ticket.session(), "{} joined by the pre-ticket of another", session.id);
            return Ok(());
        }
        let stats = &self.after.stats;
        let waits = u64::from(session.admitted_at.is_none());
        // The others wait or are active; those who were admitted by this visit had waited.
        let (waiting, active) = (stats.waiting - waits, stats.active - (1 - waits));
        let required = stats.rules.requires_pre_ticket(&PreTicketLoad {
            mode: stats.mode,
            waiting,
            active,
            recovering: stats.recovering,
            attack_mode: stats.attack_mode_until.is_some(),
        });
        let is_invited = matches!(self.operation, Operation::Visit(visit) if visit.head_start.is_some());
        let may_join = !required || is_invited;
        hold!(answer.kind != VisitKind::Joined || may_join, "{} joined without a pre-ticket", session.id);
        Ok(())
    }

    /// Rules 5 and 12: after a visit a waiting session expires within the presence TTL, however it was before.
    fn presence_is_limited(&self) -> Result<(), String> {
        let (Operation::Visit(visit), OperationResult::Visit(answer)) = (self.operation, self.answer) else {
            return Ok(());
        };
        let Some(session) = answer.session.filter(|session| session.admitted_at.is_none()) else { return Ok(()) };
        let ticket = visit.ticket.as_ref().filter(|_| session.confirmed);
        let due = ticket.and_then(vestibule_core::Ticket::due);
        let latest = self.now().add_seconds(self.after.stats.rules.presence_ttl(self.now(), due));
        // A visit without a ticket renews nothing.
        let limited = (ticket.is_some() || answer.kind != VisitKind::Renewed) && !visit.read_only;
        hold!(!limited || session.expires_at <= latest, "{} expires at {}", session.id, session.expires_at.0);
        hold!(!limited || session.expires_at > self.now(), "{} has expired", session.id);
        Ok(())
    }

    /// Rule 18: a read-only visit brings no session back, and extends no expiry.
    fn reading_renews_nothing(&self) -> Result<(), String> {
        let Operation::Visit(visit) = self.operation else { return Ok(()) };
        if !visit.read_only || self.is_new_state() {
            return Ok(());
        }
        let before: HashSet<_> = self.before.sessions().collect();
        let came = self.after.sessions().find(|session| !before.contains(session));
        hold!(came.is_none(), "{came:?} came with a read-only visit");
        let renewed = self.after.line.iter().find(|entry| !self.before.line.contains(entry));
        hold!(renewed.is_none(), "a read-only visit renewed {renewed:?}");
        Ok(())
    }

    /// Rule 2: every present waiting session arrived after all admitted ones. Two arrivals can be
    /// equal only if a store lost its state within the microsecond; then the ids decide.
    fn no_inversions(&self, admitted: &[(SessionId, Option<Micros>)]) -> Result<(), String> {
        let present = self.after.line.iter().find(|entry| entry.expires_at > self.now());
        let Some(head) = present else { return Ok(()) };
        for (session, arrival) in admitted.iter().filter(|(session, _)| !self.is_called(*session)) {
            hold!(
                arrival.is_some_and(|arrival| (arrival, *session) < (head.at, head.session)),
                "{session} of {arrival:?} overtook {head:?}"
            );
        }
        Ok(())
    }

    /// Rule 19: whoever joined more than the head start later is never admitted first.
    fn head_start_is_bounded(
        &self,
        admitted: &[(SessionId, Option<Micros>)],
        history: &StepHistory,
    ) -> Result<(), String> {
        let joined = |session: SessionId, arrival: Micros| history.joined.get(&(session, arrival)).copied();
        let present = self.after.line.iter().filter(|entry| entry.expires_at > self.now());
        let waits: Vec<(SessionId, Micros)> =
            present.filter_map(|entry| Some((entry.session, joined(entry.session, entry.at)?.0))).collect();
        for (session, arrival) in admitted.iter().filter(|(session, _)| !self.is_called(*session)) {
            let Some((at, head_start)) = arrival.and_then(|arrival| joined(*session, arrival)) else { continue };
            let late = waits.iter().find(|(_, since)| at.0 > since.0 + head_start + ARRIVALS_AHEAD);
            hold!(late.is_none(), "{session} joined at {at:?} and was admitted before {late:?}");
        }
        Ok(())
    }

    /// Whether an operator admitted this session out of order.
    fn is_called(&self, session: SessionId) -> bool {
        matches!((self.operation, self.answer), (Operation::Admit(called), OperationResult::Admitted(true)) if *called == session)
    }

    /// Whether an event may have ended in this step, because the step emptied the line (rule 13).
    fn is_over(&self) -> bool {
        self.after.stats.phase == Some(Phase::Idle)
    }

    /// Rules 3, 7 and 9.
    fn quota_holds(&self) -> Result<(), String> {
        let (before, after) = (&self.before.stats, &self.after.stats);
        let admitted = after.counters.admitted - self.counters_before().admitted;
        let shut = (!after.mode.admits() && !self.is_over()) || after.recovering;
        hold!(admitted == 0 || !shut, "{admitted} were admitted to a shut queue");
        let released = after.counters.released - self.counters_before().released;
        hold!(released == 0 || after.mode != Mode::Draw, "{released} were released while the order is drawn");
        let exempt = matches!(self.operation, Operation::Release(_) | Operation::Admit(_));
        let inside_before = if self.is_new_state() { 0 } else { before.active };
        let most = after.rules.quota.max(inside_before);
        hold!(exempt || after.active <= most, "{} are active, at most {most} may be", after.active);
        Ok(())
    }

    /// Rules 4 and 21, computed from the other side: as a debt that decreases, evenly or at whole multiples of a step.
    fn rate_holds(&self, history: &mut StepHistory) -> Result<(), String> {
        let rate = |snapshot: &Snapshot| {
            let rules = &snapshot.stats.rules;
            rules.admissions_per_minute.map(|per_minute| (per_minute, rules.admissions_every))
        };
        if self.is_new_state() || rate(self.before) != rate(self.after) {
            history.spent = 0;
        }
        let Some((per_minute, every)) = rate(self.after) else { return Ok(()) };
        let step = every.unwrap_or(1) * MICROS_PER_SECOND;
        let earned_until = |at: Micros| every.map_or(at, |_| Micros(at.0 / step * step));
        let elapsed = earned_until(self.now()).since(earned_until(history.spent_at));
        let admitted = self.after.stats.counters.admitted - self.counters_before().admitted;
        history.spent = history.spent.saturating_sub(elapsed.saturating_mul(per_minute)) + admitted * ADMISSION_COST;
        history.spent_at = self.now();
        let earned = per_minute * step;
        // A step can be spent together with the fraction of an admission that steps before it left.
        let most = if every.is_some() { earned + ADMISSION_COST - 1 } else { earned.max(ADMISSION_COST) };
        hold!(history.spent <= most, "{admitted} were admitted, too many for {per_minute} a minute, every {every:?} s");
        Ok(())
    }

    /// Rule 9: a draining queue accepts no newcomers, and closes once the line has been empty for
    /// as long as a ticket holds a position.
    fn closes_when_drained(&self, history: &mut StepHistory) -> Result<(), String> {
        let (before, after) = (&self.before.stats, &self.after.stats);
        let joined = after.counters.joined - self.counters_before().joined;
        let is_drawn = matches!(self.operation, Operation::Visit(visit) if visit.ticket.as_ref().is_some_and(Ticket::is_new_from_lobby));
        hold!(joined == 0 || after.mode.accepts_joins() || self.is_over() || is_drawn, "{joined} joined a shut queue");
        if before.waiting + after.waiting > 0 {
            history.waited_at = self.now();
        }
        let OperationResult::Purge(PurgeReport { closed: Some(revision), .. }) = self.answer else { return Ok(()) };
        hold!(before.rules.mode == Mode::Draining, "closed by itself, from {:?}", before.rules.mode);
        hold!(after.rules.mode == Mode::Closed && after.rules.revision == *revision, "closed, but not written");
        hold!(*revision == before.rules.revision + 1, "written more than once");
        let empty_for = self.now().since(history.waited_at);
        hold!(empty_for >= after.rules.hold_ttl * MICROS_PER_SECOND, "closed while tickets held positions");
        Ok(())
    }

    /// Whether nobody may be admitted before the next visit, and whether that is sure.
    fn may_be_interrupted(&self, history: &StepHistory) -> (bool, bool) {
        let Some(visited_at) = history.visited_at else { return (true, false) };
        let unvisited = self.now().since(visited_at);
        let least = self.after.stats.rules.waiting_ttl * MICROS_PER_SECOND / 2;
        (unvisited + CLOCK_GRAIN >= least, unvisited >= least + CLOCK_GRAIN)
    }

    /// Rule 7: without visits for half of `waiting_ttl`, only a visit admits.
    fn a_visit_tells_of_interruptions(&self, history: &StepHistory) -> Result<(), String> {
        let admitted = self.after.stats.counters.admitted - self.counters_before().admitted;
        let (_, is_sure) = self.may_be_interrupted(history);
        hold!(
            admitted == 0 || !is_sure || matches!(self.operation, Operation::Visit(_)),
            "{admitted} were admitted before a visit"
        );
        Ok(())
    }

    /// Rule 2: an operation fills all free slots.
    fn no_slot_stays_free(&self, history: &StepHistory) -> Result<(), String> {
        if self.may_be_interrupted(history).0 {
            return Ok(());
        }
        let stats = &self.after.stats;
        let rules = &stats.rules;
        let free = stats.mode.admits() && !stats.recovering && rules.admissions_per_minute.is_none();
        let refused = matches!(self.answer, OperationResult::Put(PutOutcome::Conflict(_) | PutOutcome::Removed));
        if !free || stats.active + stats.reserved >= rules.quota || !self.operation.advances(rules.epoch) || refused {
            return Ok(());
        }
        let (before, after) = (self.counters_before(), stats.counters);
        let moved = after.admitted + after.expired_waiting - before.admitted - before.expired_waiting;
        hold!(stats.waiting == 0 || moved >= ADVANCE_BATCH as u64, "slots are free, and {} wait", stats.waiting);
        Ok(())
    }
}
