//! Visits that share a script, as it reads them: tickets go ahead, since they are answered quickly as long as nothing changed
//! before. Otherwise they stay in the order in which they came, so newcomers do.

use bytes::Bytes;
use fred::types::Value;
use vestibule_core::line::Visit;
use vestibule_core::{Micros, VerifiedTicket};

use crate::codes::{JOINS, LET_IN, SESSION_SIZE, VISIT_SIZE};
use crate::packed::NONE;

/// Visits in the order in which the script sees them.
pub(crate) struct Batch<'a> {
    /// Each with its place among those that came.
    visits: Vec<(usize, &'a Visit)>,
}

impl<'a> Batch<'a> {
    /// These visits, in the order in which they came.
    pub(crate) fn of(visits: impl Iterator<Item = &'a Visit>) -> Self {
        let mut visits: Vec<_> = visits.enumerate().collect();
        visits.sort_by_key(|(_, visit)| visit.ticket.is_none());
        Self { visits }
    }

    /// The visits, each with its place among those that came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &'a Visit)> {
        self.visits.iter().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.visits.len()
    }

    /// The visits as `VISIT_FORMAT` has them, and what `TICKETS_FORMAT` says of their tickets.
    pub(crate) fn packed(&self) -> [Value; 2] {
        let mut packed = Vec::with_capacity(self.visits.len() * VISIT_SIZE);
        for (_, visit) in self.iter() {
            pack(visit, &mut packed);
        }
        let tickets = || self.visits.iter().filter_map(|(_, visit)| visit.ticket.as_ref());
        let oldest = tickets().map(VerifiedTicket::signed_at).min().map_or(NONE, number);
        let epoch = tickets().next().map(VerifiedTicket::epoch);
        let epoch = epoch.filter(|epoch| tickets().all(|ticket| ticket.epoch() == *epoch));
        let head = [tickets().count() as f64, epoch.map_or(NONE, |epoch| epoch as f64), oldest];
        let head: Bytes = head.iter().flat_map(|number| number.to_be_bytes()).collect();
        [Value::Bytes(packed.into()), Value::Bytes(head)]
    }
}

fn number(instant: Micros) -> f64 {
    instant.0 as f64
}

/// Where the process vouches for the bearer of a waiting ticket, when they were let in stands below zero.
fn pack(visit: &Visit, packed: &mut Vec<u8>) {
    let nobody = [0; SESSION_SIZE];
    let ticket = visit.ticket.as_ref();
    let numbers = ticket.map_or([NONE; 4], |ticket| {
        let let_in_at = ticket.admitted_at().map(number).or(ticket.let_in_at().map(|at| -number(at)));
        [number(ticket.arrival()), let_in_at.unwrap_or(NONE), number(ticket.signed_at()), ticket.epoch() as f64]
    });
    let let_in = ticket.is_some_and(|ticket| ticket.admitted_at().or(ticket.let_in_at()).is_some());
    packed
        .extend_from_slice(ticket.map(VerifiedTicket::session).as_ref().map_or(&nobody, |session| session.as_bytes()));
    packed.push(if let_in { LET_IN } else { 0 } + if visit.join.is_some() { JOINS } else { 0 });
    for number in numbers {
        packed.extend_from_slice(&number.to_be_bytes());
    }
    packed.extend_from_slice(visit.join.as_ref().map_or(&nobody, |session| session.as_bytes()));
}
