//! Rule 7: the ticket holds the position, also through a lost state.

use super::presence::Presence;
use super::state::{Line, RecognizedSession};
use super::types::{Removed, VisitKind};
use crate::line::Ticket;
use crate::time::Micros;

impl Line {
    /// The session of a ticket of this epoch, if it is present or can be restored (rule 7).
    pub(super) fn find_or_restore(&mut self, now: Micros, ticket: &Ticket) -> Option<RecognizedSession> {
        let session = ticket.session();
        let visitor = |kind| RecognizedSession {
            session,
            arrival: ticket.arrival(),
            kind,
            confirmed: true,
            unconfirmed_until: self.unconfirmed_until(ticket),
        };
        let unheard =
            self.was_admitted_unheard(now, ticket) && self.is_good(now, ticket) && self.active() < self.rules.quota;
        let present = self.present.get(&session).copied();
        if let Some(presence) = present.filter(|presence| presence.admitted_at().is_some() || !unheard) {
            let admitted = presence.admitted_at().is_some();
            if admitted && self.is_ended(now, session) {
                return None;
            }
            if presence.exceeded_max_session(now, self.rules.max_session) {
                self.record_stay(now, session);
                self.remove(session);
                self.add_tombstone(now, session, self.rules.tombstone_ttl());
                self.counters.ended += 1;
                return None;
            }
            return Some(visitor(VisitKind::Renewed));
        }
        let returned = visitor(VisitKind::Restored);
        let waited = self.remove(session) == Removed::Waiting;
        let returns = !self.is_ended(now, session) && self.restore(now, ticket);
        self.counters.returned += u64::from(returns && !waited);
        returns.then_some(returned)
    }

    /// The expiry of the ticket of an unconfirmed session.
    fn unconfirmed_until(&self, ticket: &Ticket) -> Option<Micros> {
        ticket.is_unconfirmed().then(|| ticket.signed_at().add_seconds(self.rules.claim_ttl))
    }

    /// Whether the ticket is recent enough to restore its session.
    fn is_good(&self, now: Micros, ticket: &Ticket) -> bool {
        let ttl = if ticket.admitted_at().is_some() { self.rules.active_ttl } else { self.rules.hold_ttl };
        let until = ticket.signed_at().add_seconds(ttl);
        let claim = self.unconfirmed_until(ticket).map(|claim| self.claim_after_recovery(now, ticket, claim));
        now < claim.map_or(until, |claim| claim.min(until))
    }

    /// Rule 7: restores the session to the line at its original arrival, or to a slot if it was
    /// admitted recently and one is available.
    fn restore(&mut self, now: Micros, ticket: &Ticket) -> bool {
        let unheard = self.was_admitted_unheard(now, ticket).then_some(self.recovery.known_at);
        let admitted = ticket.admitted_at().or(unheard).map(Presence::admitted);
        if !self.is_good(now, ticket) || admitted.is_some_and(|it| it.exceeded_max_session(now, self.rules.max_session))
        {
            return false;
        }
        let presence = admitted.filter(|_| self.active() < self.rules.quota);
        if presence.is_none() {
            self.empty_since = None;
            self.departures -= 1;
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
