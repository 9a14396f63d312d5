//! Rule 7: the ticket holds the place, through a lost state as well.

use super::answers::Presentation;
use super::presence::Presence;
use super::state::{Line, Visitor};
use crate::ticket::VerifiedTicket;
use crate::time::Micros;

impl Line {
    /// The bearer of a ticket of this epoch, if present or able to return (rule 7).
    pub(super) fn recognise(&mut self, now: Micros, ticket: &VerifiedTicket) -> Option<Visitor> {
        let session = ticket.session();
        let visitor = |presentation| Visitor {
            session,
            arrival: ticket.arrival(),
            presentation,
            confirmed: true,
            unconfirmed_until: self.unconfirmed_until(ticket),
        };
        if let Some(presence) = self.present.get(&session).copied() {
            let admitted = presence.admitted_at().is_some();
            if admitted && self.is_ended(now, session) {
                return None;
            }
            if presence.outlived(now, self.rules.max_session) {
                self.end_stay(now, session);
                self.remove(session);
                self.bury(now, session, self.rules.tombstone_ttl());
                self.counters.ended += 1;
                return None;
            }
            return Some(visitor(Presentation::Present));
        }
        let returned = visitor(Presentation::Returned);
        (!self.is_ended(now, session) && self.take_back(now, ticket)).then_some(returned)
    }

    /// Until when the ticket of a session whose client had not returned one is good.
    fn unconfirmed_until(&self, ticket: &VerifiedTicket) -> Option<Micros> {
        ticket.is_unconfirmed().then(|| ticket.signed_at().plus_seconds(self.rules.claim_ttl))
    }

    /// Whether the ticket was signed so late that it still brings its bearer back.
    fn is_good(&self, now: Micros, ticket: &VerifiedTicket) -> bool {
        let ttl = if ticket.admitted_at().is_some() { self.rules.active_ttl } else { self.rules.hold_ttl };
        let until = ticket.signed_at().plus_seconds(ttl);
        now < self.unconfirmed_until(ticket).map_or(until, |claim| claim.min(until))
    }

    /// Rule 7: back to the line at the original arrival, or back to places for who was let in a short while ago, if a slot
    /// is free.
    fn take_back(&mut self, now: Micros, ticket: &VerifiedTicket) -> bool {
        let admitted = ticket.admitted_at().map(Presence::admitted);
        if !self.is_good(now, ticket) || admitted.is_some_and(|it| it.outlived(now, self.rules.max_session)) {
            return false;
        }
        let presence = admitted.filter(|_| self.active() < self.rules.quota);
        if presence.is_none() {
            self.drained_since = None;
            self.gone -= 1;
        }
        if admitted.is_some() {
            self.settle(now);
        }
        self.insert(ticket.session(), presence.unwrap_or(Presence::waiting(ticket.arrival())));
        self.counters.confirmed += u64::from(ticket.is_unconfirmed());
        self.last_arrival = self.last_arrival.max(ticket.arrival());
        self.counters.returned += 1;
        true
    }
}
