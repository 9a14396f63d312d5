//! Rule 23, two-step admission: while slots are scarce, the first visit of a newcomer joins nobody. The visitor gets a pre-ticket,
//! and joins by coming back with it.

use super::newcomer::Newcomer;
use super::state::Line;
use super::types::{RecognizedSession, Stats, VisitAnswer, VisitKind};
use super::{LineRules, Mode};
use crate::time::{MICROS_PER_SECOND, Micros};
use crate::{PreTicket, SessionId};

/// What it depends on whether newcomers need a pre-ticket to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreTicketLoad {
    /// The effective mode.
    pub mode: Mode,
    /// Number of waiting sessions.
    pub waiting: u64,
    /// Number of active sessions.
    pub active: u64,
    /// Whether the state is in recovery.
    pub recovering: bool,
    /// Whether the queue is in attack mode.
    pub attack_mode: bool,
}

impl LineRules {
    /// Whether newcomers need a pre-ticket to join a line in this effective mode with these numbers of sessions: from
    /// `pre_ticket_from` percent of the quota on, and while a session waits or the state is in recovery. In attack mode always.
    pub fn requires_pre_ticket(&self, load: &PreTicketLoad) -> bool {
        let PreTicketLoad { mode, waiting, active, recovering, attack_mode } = *load;
        let is_scarce = |from| waiting > 0 || recovering || active * 100 >= from * self.quota;
        matches!(mode, Mode::Open | Mode::Paused)
            && (attack_mode || self.protection.pre_ticket_from.is_some_and(is_scarce))
    }

    /// Whether the first visit of a pre-ticket counts for the arrival: it was recent, its bearer is solving a challenge, or Vestibule
    /// turned its bearer away.
    pub fn first_visit_counts(&self, now: Micros, pre_ticket: &PreTicket) -> bool {
        let Some(age) = now.0.checked_sub(pre_ticket.first_visit().0) else { return false };
        let recent = age <= self.protection.pre_ticket_max_age * MICROS_PER_SECOND;
        let solving = pre_ticket.challenge_ends_at().is_some_and(|end| now <= end);
        let preserved = pre_ticket.is_preserved() && age <= self.hold_ttl * MICROS_PER_SECOND;
        pre_ticket.is_of_same_network() && (recent || solving) || preserved
    }
}

impl VisitAnswer {
    /// Whether newcomers after this visit need a pre-ticket to join. `rules` are those of its revision.
    pub fn requires_pre_ticket(&self, rules: &LineRules) -> bool {
        let Self { mode, waiting, active, recovering, attack_mode, .. } = *self;
        rules.requires_pre_ticket(&PreTicketLoad { mode, waiting, active, recovering, attack_mode })
    }
}

impl Stats {
    /// Whether newcomers need a pre-ticket to join.
    pub fn requires_pre_ticket(&self) -> bool {
        let Self { mode, waiting, active, recovering, .. } = *self;
        let attack_mode = self.attack_mode_until.is_some();
        self.rules.requires_pre_ticket(&PreTicketLoad { mode, waiting, active, recovering, attack_mode })
    }
}

impl Line {
    /// A visitor whose ticket holds no position joins: the session of the pre-ticket, or a new one unless that needs a
    /// pre-ticket. Returns the session, and whether a pre-ticket is needed.
    pub(super) fn enter(&mut self, now: Micros, newcomer: &mut Newcomer<'_>) -> (Option<RecognizedSession>, bool) {
        let visit = newcomer.visit;
        if let Some(pre_ticket) = visit.redeemed(self.rules.epoch) {
            if let Some(account) = visit.account {
                return (self.redeem_as(now, newcomer, pre_ticket, account), false);
            }
            let is_ended = self.is_ended(now, pre_ticket.session());
            return (self.redeem(now, newcomer, pre_ticket), is_ended && self.mode(now).accepts_joins());
        }
        let Some(session) = visit.join else { return (None, false) };
        let is_new = !self.bars(now, visit, session) && !self.present.contains_key(&session);
        // An invitation names one session, however often it is presented.
        if is_new && visit.head_start.is_none() && self.requires_pre_ticket(now) {
            return (None, true);
        }
        (self.join(now, newcomer, session, self.next_arrival(now), false), false)
    }

    fn requires_pre_ticket(&self, now: Micros) -> bool {
        self.rules.requires_pre_ticket(&PreTicketLoad {
            mode: self.mode(now),
            waiting: self.waiting(),
            active: self.active(),
            recovering: self.recovering(now),
            attack_mode: self.attack_mode(now),
        })
    }

    /// The session of a pre-ticket of this epoch joins. It is confirmed, since its client kept the pre-ticket.
    fn redeem(
        &mut self,
        now: Micros,
        newcomer: &mut Newcomer<'_>,
        pre_ticket: &PreTicket,
    ) -> Option<RecognizedSession> {
        let arrival = self.first_arrival(now, pre_ticket).unwrap_or_else(|| self.next_arrival(now));
        self.join_confirmed(now, newcomer, pre_ticket.session(), arrival)
    }

    /// A session whose client kept its pre-ticket joins at this arrival.
    pub(super) fn join_confirmed(
        &mut self,
        now: Micros,
        newcomer: &mut Newcomer<'_>,
        session: SessionId,
        arrival: Micros,
    ) -> Option<RecognizedSession> {
        let joined = self.join(now, newcomer, session, arrival, true)?;
        if joined.kind == VisitKind::Joined {
            self.counters.confirmed += 1;
            self.counters.pre_tickets_redeemed += 1;
        }
        Some(joined)
    }

    /// The arrival by the first visit of a pre-ticket, if that counts. One from before newcomers could join counts from then on, and one
    /// in the lobby of a draw from the start on, behind everyone who is drawn.
    pub(super) fn first_arrival(&self, now: Micros, pre_ticket: &PreTicket) -> Option<Micros> {
        let counts = self.rules.first_visit_counts(now, pre_ticket);
        counts.then(|| self.rules.waits_since(now, pre_ticket.first_visit().max(self.open_since(now))))
    }

    /// Since when newcomers without an invitation can join; now if they can't. Never after now, though the clock stepped back.
    pub(super) fn open_since(&self, now: Micros) -> Micros {
        let is_open = self.mode(now).accepts_joins() && !self.rules.is_restricted();
        if is_open { self.opened_at.max(self.rules.lobby_opened_at(now)).min(now) } else { now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Protection;

    fn requires(from: Option<u64>, mode: Mode, waiting: u64, active: u64, recovering: bool) -> bool {
        let protection = Protection { pre_ticket_from: from, ..Protection::default() };
        let rules = LineRules { protection, ..LineRules::with_quota(9) };
        rules.requires_pre_ticket(&PreTicketLoad { mode, waiting, active, recovering, attack_mode: false })
    }

    #[test]
    fn pre_tickets_are_required_while_slots_are_scarce() {
        let open = |active| requires(Some(50), Mode::Open, 0, active, false);
        assert_eq!([0, 4, 5, 9].map(open), [false, false, true, true], "from half of 9 slots on");
        assert!(requires(Some(50), Mode::Open, 1, 0, false), "a session waits");
        assert!(requires(Some(50), Mode::Open, 0, 0, true), "in recovery");
        assert!(requires(Some(0), Mode::Open, 0, 0, false), "always");
        let full = |active| requires(Some(100), Mode::Open, 0, active, false);
        assert_eq!([8, 9].map(full), [false, true]);
        assert!(!requires(None, Mode::Open, 1, 9, true), "never");
    }

    #[test]
    fn attack_mode_always_requires_pre_tickets() {
        let rules = LineRules { protection: Protection::without_pre_tickets(), ..LineRules::with_quota(9) };
        let load = |mode| PreTicketLoad { mode, waiting: 0, active: 0, recovering: false, attack_mode: true };
        let required = |mode| rules.requires_pre_ticket(&load(mode));
        assert_eq!([Mode::Open, Mode::Paused, Mode::Closed, Mode::Draw].map(required), [true, true, false, false]);
    }

    #[test]
    fn only_modes_in_which_newcomers_join_require_pre_tickets() {
        use Mode::{Bypass, Closed, Draining, Draw, Lobby, Open, Paused};
        let required = |mode| requires(Some(50), mode, 1, 9, false);
        assert!([Open, Paused].into_iter().all(required));
        assert!(![Bypass, Closed, Draining, Draw, Lobby].into_iter().any(required));
    }
}
