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
            present_until: ticket.present_until(),
        };
        let word = self.word(now, ticket);
        if let Some(presence) = self.present.get(&session).copied() {
            if presence.outlived(now, self.rules.max_session) {
                self.end_stay(now, session);
                self.remove(session);
                self.bury(now, session);
                self.counters.ended += 1;
                return None;
            }
            let forgot = |at: &Micros| self.lost_since(now, *at) || self.went_back_behind(&presence, ticket, *at);
            let Some(let_in_at) = word.filter(|at| presence.admitted_at().is_none() && forgot(at)) else {
                return Some(visitor(Presentation::Present));
            };
            self.counters.confirmed += u64::from(!presence.confirmed);
            self.drop_out(session);
            self.insert(session, Presence::admitted(let_in_at).with_ticket());
            return Some(visitor(Presentation::Returned));
        }
        if self.ended.get(&session).is_some_and(|until| *until > now) {
            return None;
        }
        self.take_back(now, ticket, word).then(|| visitor(Presentation::Returned))
    }

    /// When the bearer was let in, by the ticket or by the word of the process that did it, while that is good: an admitted
    /// ticket for `active_ttl` from its signature, the word for as long as the place would have stood unclaimed. A session
    /// that lapsed and joined once more under its old id was let in before it arrived: that word is not about this ticket.
    fn word(&self, now: Micros, ticket: &VerifiedTicket) -> Option<Micros> {
        match ticket.admitted_at() {
            Some(at) => {
                let fresh = now < ticket.signed_at().plus_seconds(self.rules.active_ttl);
                (fresh && !Presence::admitted(at).outlived(now, self.rules.max_session)).then_some(at)
            }
            None => ticket.let_in_at().filter(|at| *at > ticket.arrival() && now < self.claim_ends(*at)),
        }
    }

    /// Whether a state that knew of this instant is being taken back.
    fn lost_since(&self, now: Micros, at: Micros) -> bool {
        self.recovering(now) && at < self.began
    }

    /// Whether a failover lost the state's last moments, and with them that the bearer of the ticket, who waits by this
    /// state, was let in at that instant. Whoever waits again after that came back to the line after it, and such a visit
    /// is good for a full `waiting_ttl`; who lapses earlier stands there since before it.
    fn went_back_behind(&self, presence: &Presence, ticket: &VerifiedTicket, at: Micros) -> bool {
        let since_before = presence.expires_at < at.plus_seconds(self.rules.waiting_ttl);
        since_before && presence.since() == ticket.arrival() && at > self.waiting_ttl_since
    }

    /// Rule 7: back to the line at the original arrival, or back to places for who was let in a short while ago.
    fn take_back(&mut self, now: Micros, ticket: &VerifiedTicket, word: Option<Micros>) -> bool {
        let knows = ticket.admitted_at().is_some();
        let room = knows && (self.active() < self.rules.quota || self.recovering(now));
        let held = if knows { word.is_some() } else { now < ticket.signed_at().plus_seconds(self.rules.hold_ttl) };
        let presence = match word {
            Some(let_in_at) if room || self.lost_since(now, let_in_at) => Presence::admitted(let_in_at),
            _ if held => Presence::waiting(ticket.arrival()),
            _ => return false,
        };
        if presence.admitted_at().is_none() {
            self.drained_since = None;
            self.gone -= 1;
        }
        self.insert(ticket.session(), presence.with_ticket());
        // The ticket of the visit that joined was signed no later than its arrival.
        self.counters.confirmed += u64::from(ticket.signed_at() <= ticket.arrival());
        self.last_arrival = self.last_arrival.max(ticket.arrival());
        self.counters.returned += 1;
        true
    }

    /// A ticket that is older than the state shows that the state was lost.
    pub(super) fn notice_loss(&mut self, now: Micros, ticket: &VerifiedTicket) {
        if !self.lost && ticket.signed_at() < self.began && now < self.taking_back_until() {
            self.lost = true;
        }
    }

    fn taking_back_until(&self) -> Micros {
        self.began.plus_seconds(self.rules.waiting_ttl)
    }

    /// Whether a lost state is being taken back.
    pub(super) fn recovering(&self, now: Micros) -> bool {
        self.lost && now < self.taking_back_until()
    }
}
