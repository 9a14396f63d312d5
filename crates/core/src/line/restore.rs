//! Rule 7: the ticket holds the position, also through a lost state.

use super::presence::Presence;
use super::state::Line;
use super::types::{RecognizedSession, Removed, VisitKind};
use crate::line::{Mode, Ticket};
use crate::time::Micros;

impl Line {
    /// The bearer of a ticket.
    pub(super) fn bearer(&self, ticket: &Ticket, kind: VisitKind) -> RecognizedSession {
        RecognizedSession {
            session: ticket.session(),
            arrival: ticket.arrival(),
            kind,
            confirmed: true,
            due: ticket.due(),
            unconfirmed_until: self.unconfirmed_until(ticket),
        }
    }

    /// Rule 18: the session of a ticket of this epoch, if it is present and neither expired nor ended.
    pub(super) fn find_present(&self, now: Micros, ticket: &Ticket) -> Option<RecognizedSession> {
        let presence = self.present.get(&ticket.session()).filter(|presence| presence.expires_at > now)?;
        let is_over = presence.admitted_at().is_some_and(|at| self.is_over(now, ticket.session(), at));
        (!is_over).then(|| self.bearer(ticket, VisitKind::Renewed))
    }

    /// The session of a ticket of this epoch, if it is present or can be restored (rule 7).
    pub(super) fn find_or_restore(&mut self, now: Micros, ticket: &Ticket) -> Option<RecognizedSession> {
        let session = ticket.session();
        let was_admitted = self.was_admitted_before_recovery(now, ticket)
            && self.is_good(now, ticket)
            && self.active() < self.rules.quota;
        let present = self.present.get(&session).copied();
        if let Some(presence) = present.filter(|presence| presence.admitted_at().is_some() || !was_admitted) {
            if presence.admitted_at().is_some_and(|admitted_at| self.is_over(now, session, admitted_at)) {
                return None;
            }
            if presence.exceeded_max_session(now, self.rules.max_session) {
                self.record_stay(now, session);
                self.remove(session);
                self.add_tombstone(session, now.max(presence.since()));
                self.counters.ended += 1;
                return None;
            }
            return Some(self.renewed(now, ticket));
        }
        let returned = self.bearer(ticket, VisitKind::Restored);
        let waited = self.remove(session) == Removed::Waiting;
        // While the store's clock is before the draw, the visitor is still in the lobby.
        let too_early = ticket.is_new_from_lobby() && self.mode(now) == Mode::Lobby;
        let is_ended = !ticket.may_follow_an_end() && self.is_ended(now, session);
        let returns = !too_early && !is_ended && self.restore(now, ticket);
        // A session that waited takes its reserved slot, and was counted before.
        let comes = u64::from(returns && !waited);
        if ticket.is_new_from_lobby() {
            self.counters.joined += comes;
            self.counters.confirmed += comes;
        } else {
            self.counters.returned += comes;
        }
        returns.then_some(returned)
    }

    /// The expiry of the ticket of an unconfirmed session.
    fn unconfirmed_until(&self, ticket: &Ticket) -> Option<Micros> {
        ticket.is_unconfirmed().then(|| ticket.signed_at().add_seconds(self.rules.claim_ttl))
    }

    /// Whether the ticket is recent enough to restore its session.
    pub(super) fn is_good(&self, now: Micros, ticket: &Ticket) -> bool {
        let ttl = if ticket.admitted_at().is_some() { self.rules.active_ttl } else { self.rules.hold_ttl };
        let until = ticket.signed_at().add_seconds(ttl);
        let claim = self.unconfirmed_until(ticket).map(|claim| self.claim_after_recovery(now, ticket, claim));
        now < claim.map_or(until, |claim| claim.min(until)) && !self.void_tickets.contain(ticket)
    }

    /// Whether the session of a ticket that returns had left the line. It had not if it comes from the lobby, or was lost.
    fn had_left(&self, ticket: &Ticket) -> bool {
        !ticket.is_new_from_lobby() && ticket.signed_at() >= self.recovery.since
    }

    /// Rule 7: restores the session to the line at its original arrival, or to a slot if it was
    /// admitted recently and one is available.
    fn restore(&mut self, now: Micros, ticket: &Ticket) -> bool {
        let slot_since = self.was_admitted_before_recovery(now, ticket).then_some(self.recovery.known_at);
        let admitted = ticket.admitted_at().or(slot_since).map(Presence::admitted);
        if !self.is_good(now, ticket) || admitted.is_some_and(|it| it.exceeded_max_session(now, self.rules.max_session))
        {
            return false;
        }
        let presence = admitted.filter(|_| self.active() < self.rules.quota);
        if presence.is_none() {
            self.empty_since = None;
            self.movements.departures -= i64::from(self.had_left(ticket));
        }
        if admitted.is_some() {
            self.settle(now);
        }
        self.insert(ticket.session(), presence.unwrap_or(Presence::waiting(ticket.arrival())));
        self.counters.confirmed += u64::from(ticket.is_unconfirmed());
        self.last_arrival = self.last_arrival.max(ticket.arrival());
        true
    }
}
