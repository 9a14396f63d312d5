//! Visits that share a script, as it reads them: tickets go ahead, since they are answered quickly as long as nothing changed
//! before, and of these the ones that say how long their bearers are present, the longest first. Otherwise they stay in the
//! order in which they came, so newcomers do.

use std::cmp::Reverse;

use bytes::Bytes;
use fred::types::Value;
use vestibule_core::line::Visit;
use vestibule_core::{Micros, SessionId, VerifiedTicket};

use crate::codes::{JOINS, LET_IN, VISIT_SIZE};
use crate::packed::NONE;

/// Visits in the order in which the script sees them.
pub(crate) struct Batch<'a>(Vec<Entry<'a>>);

struct Entry<'a> {
    /// Its place among those that came.
    place: usize,
    visit: &'a Visit,
    /// Until when the ticket says that the bearer is present, where it is believed.
    present_until: Option<Micros>,
}

impl<'a> Batch<'a> {
    /// These visits, in the order in which they came. A ticket that was signed since then is believed to say how long its
    /// bearer is present.
    pub(crate) fn of(visits: impl Iterator<Item = &'a Visit>, unbroken_since: Option<Micros>) -> Self {
        let is_believed = |ticket: &&VerifiedTicket| unbroken_since.is_some_and(|since| ticket.signed_at() >= since);
        let entry = |(place, visit): (usize, &'a Visit)| {
            let believed = visit.ticket.as_ref().filter(is_believed);
            Entry { place, visit, present_until: believed.and_then(VerifiedTicket::present_until) }
        };
        let mut entries: Vec<_> = visits.enumerate().map(entry).collect();
        entries.sort_by_key(|entry| (entry.visit.ticket.is_none(), Reverse(entry.present_until)));
        Self(entries)
    }

    /// The visits, each with its place among those that came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &'a Visit)> {
        self.0.iter().map(|entry| (entry.place, entry.visit))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The visits as `VISIT_FORMAT` has them, and what `TICKETS_FORMAT` says of their tickets.
    pub(crate) fn packed(&self) -> [Value; 2] {
        let mut packed = Vec::with_capacity(self.len() * VISIT_SIZE);
        for entry in &self.0 {
            entry.pack(&mut packed);
        }
        let tickets = || self.0.iter().filter_map(|entry| entry.visit.ticket.as_ref());
        let oldest = tickets().map(VerifiedTicket::signed_at).min().map_or(NONE, number);
        let epoch = tickets().next().map(VerifiedTicket::epoch);
        let epoch = epoch.filter(|epoch| tickets().all(|ticket| ticket.epoch() == *epoch));
        let let_in = tickets().filter(|ticket| is_let_in(ticket)).count();
        let head = [tickets().count() as f64, let_in as f64, epoch.map_or(NONE, |epoch| epoch as f64), oldest];
        let head: Bytes = head.iter().flat_map(|number| number.to_be_bytes()).collect();
        [Value::Bytes(packed.into()), Value::Bytes(head)]
    }
}

impl Entry<'_> {
    /// Where the process vouches for the bearer of a waiting ticket, when they were let in stands below zero.
    fn pack(&self, packed: &mut Vec<u8>) {
        let nobody = [0; SessionId::SIZE];
        let ticket = self.visit.ticket.as_ref();
        let numbers = ticket.map_or([NONE; 5], |ticket| {
            let let_in_at = ticket.admitted_at().map(number).or(ticket.let_in_at().map(|at| -number(at)));
            let present_until = self.present_until.map_or(NONE, number);
            let (arrival, signed_at) = (number(ticket.arrival()), number(ticket.signed_at()));
            [present_until, arrival, let_in_at.unwrap_or(NONE), signed_at, ticket.epoch() as f64]
        });
        let let_in = ticket.is_some_and(is_let_in);
        let session = ticket.map(VerifiedTicket::session);
        packed.extend_from_slice(session.as_ref().map_or(&nobody, |session| session.as_bytes()));
        packed.push(if let_in { LET_IN } else { 0 } + if self.visit.join.is_some() { JOINS } else { 0 });
        for number in numbers {
            packed.extend_from_slice(&number.to_be_bytes());
        }
        packed.extend_from_slice(self.visit.join.as_ref().map_or(&nobody, |session| session.as_bytes()));
    }
}

/// By the ticket, or by the word of the process.
fn is_let_in(ticket: &VerifiedTicket) -> bool {
    ticket.admitted_at().or(ticket.let_in_at()).is_some()
}

fn number(instant: Micros) -> f64 {
    instant.0 as f64
}
