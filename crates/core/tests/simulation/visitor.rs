//! A visitor: what they hold, where they are, and what they mean to do.

use vestibule_core::line::SessionState;
use vestibule_core::{Micros, SessionId, Ticket};

/// Where a visitor is, as far as they know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not there yet, or in line with the page open.
    Waiting,
    /// In line, with the phone in the pocket.
    Asleep,
    /// Admitted.
    Shopping,
    /// Was admitted, and is back in line despite polling in time.
    Evicted,
    /// Never to come back.
    Gone,
}

#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) session: SessionId,
    pub(crate) phase: Phase,
    pub(crate) tabs: u32,
    pub(crate) has_phone: bool,
    /// How long they are willing to wait, in seconds; `None` is for ever.
    pub(crate) patience: Option<f64>,
    /// The ticket in the cookie jar, and the one before it, which a second tab may still send.
    pub(crate) tickets: [Option<Ticket>; 2],
    pub(crate) arrival: Option<Micros>,
    /// Whether the visitor was ever absent before the admission.
    pub(crate) was_absent: bool,
}

impl Visitor {
    pub(crate) fn new(session: SessionId, patience: Option<f64>, has_phone: bool, has_second_tab: bool) -> Self {
        Self {
            session,
            phase: Phase::Waiting,
            tabs: if has_second_tab { 2 } else { 1 },
            has_phone,
            patience,
            tickets: [None, None],
            arrival: None,
            was_absent: false,
        }
    }

    /// Whether this visitor never gives up.
    pub(crate) fn stays(&self) -> bool {
        self.patience.is_none()
    }

    pub(crate) fn keep(&mut self, ticket: Ticket) {
        let last = self.tickets[0].replace(ticket);
        self.tickets[1] = last;
    }

    /// Whether the session is still the one of the first answer, with its arrival.
    pub(crate) fn owns(&self, session: &SessionState) -> bool {
        session.id == self.session && self.arrival.is_none_or(|arrival| arrival == session.arrival)
    }
}
