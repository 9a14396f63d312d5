//! What is asked of a line and what it answers.

use super::{Counters, LineRules, Mode, Pace, Waits};
use crate::SessionId;
use crate::ticket::VerifiedTicket;
use crate::time::Micros;

/// A visit, or (with `join` empty) a keepalive.
///
/// A waiting ticket may come with the word of the process that the bearer was let in
/// ([`let_in_at`](VerifiedTicket::let_in_at)), which is good for as long as the place would have stood unclaimed. That
/// means nothing to a state that is whole, which knows by itself. It counts as an admitted ticket does (rule 7) while a lost
/// state is taken back, if the bearer was let in before that state began; and in a state that went back to what it was some
/// moments before, as after a failover, and in which the bearer still waits.
#[derive(Debug, Clone, Default)]
pub struct Visit {
    /// The ticket that came along.
    pub ticket: Option<VerifiedTicket>,
    /// The id under which the bearer joins if the ticket does not hold a place; `None` joins nobody.
    pub join: Option<SessionId>,
}

/// Where a present session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The session.
    pub session: SessionId,
    /// When it joined, as the ticket says that came along.
    pub arrival: Micros,
    /// When it was let in; `None` in line.
    pub admitted_at: Option<Micros>,
    /// Rank in the line, from 1; 0 in places.
    pub rank: u64,
    /// When it lapses unless heard of.
    pub expires_at: Micros,
    /// Whether a ticket may say until when: one came back, so that the full time of presence was granted, and nothing makes
    /// the store doubt that it still knows.
    pub granted: bool,
}

impl Place {
    /// Until when the session is present in line at least, as a ticket may say it.
    pub(crate) fn present_until(&self) -> Option<Micros> {
        (self.granted && self.admitted_at.is_none()).then_some(self.expires_at)
    }
}

/// How the visitor came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presentation {
    /// Not there.
    Absent,
    /// Was there.
    Present,
    /// Came back by the ticket.
    Returned,
    /// Is new.
    Joined,
}

/// The answer to a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitAnswer {
    /// The store's clock.
    pub now: Micros,
    /// Revision of the settings that ruled.
    pub revision: u64,
    /// Epoch of the queue.
    pub epoch: u64,
    /// Mode of the queue.
    pub mode: Mode,
    /// The visitor's place; `None` if they are not in the queue.
    pub place: Option<Place>,
    /// How the visitor came to be there.
    pub presentation: Presentation,
    /// How many wait.
    pub waiting: u64,
    /// How many are let in.
    pub active: u64,
    /// The quota.
    pub quota: u64,
    /// Whether a lost state is being taken back: ranks still grow, and nobody new is admitted.
    pub recovering: bool,
    /// How fast the line moved of late.
    pub pace: Pace,
}

/// What a line does at an instant, as far as a wait depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flow {
    /// How many wait.
    pub waiting: u64,
    /// How many are let in.
    pub active: u64,
    /// How fast the line moved of late.
    pub pace: Pace,
}

impl VisitAnswer {
    /// What the line does now.
    #[must_use]
    pub const fn flow(&self) -> Flow {
        Flow { waiting: self.waiting, active: self.active, pace: self.pace }
    }
}

impl Stats {
    /// What the line does now.
    #[must_use]
    pub const fn flow(&self) -> Flow {
        Flow { waiting: self.waiting, active: self.active, pace: self.pace }
    }
}

/// Whom an operation let in: for [`Vouchers`](crate::Vouchers).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetIn {
    /// Epoch of the queue.
    pub epoch: u64,
    /// When, by the store's clock.
    pub at: Micros,
    /// Until when they have to show up.
    pub until: Micros,
    /// Who, in the order of the line.
    pub sessions: Vec<SessionId>,
}

/// What leave, away and end removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The session waited.
    Waited,
    /// The session was let in.
    WasAdmitted,
    /// The session was not there.
    WasAbsent,
}

/// What one purge did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurgeReport {
    /// Lapsed sessions removed.
    pub expired: u64,
    /// Old tombstones removed.
    pub tombstones: u64,
    /// Sessions admitted into the places that became free.
    pub admitted: u64,
    /// Whether more is left for another batch.
    pub more: bool,
    /// The revision with which a draining queue closed by itself; `None` unless this purge closed it.
    pub closed: Option<u64>,
}

/// A queue at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// The store's clock.
    pub now: Micros,
    /// The rules in force.
    pub rules: LineRules,
    /// When the state began.
    pub began: Micros,
    /// Whether a lost state is being taken back.
    pub recovering: bool,
    /// How many wait.
    pub waiting: u64,
    /// How many are let in.
    pub active: u64,
    /// Arrival of the longest waiting.
    pub oldest_arrival: Option<Micros>,
    /// How fast the line moved of late.
    pub pace: Pace,
    /// Events since the state began.
    pub counters: Counters,
    /// Waits of the admitted.
    pub waits: Waits,
}

/// State of a session that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundState {
    /// In line, at this rank from 1.
    Waiting {
        /// When it joined.
        arrival: Micros,
        /// Rank in the line, from 1.
        rank: u64,
    },
    /// In places.
    Admitted {
        /// When it was let in.
        admitted_at: Micros,
    },
    /// Ended; its ticket can't return.
    Ended,
}

/// A session that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundSession {
    /// Where it is.
    pub state: FoundState,
    /// When it lapses, or when its tombstone does.
    pub expires_at: Micros,
}

/// One entry of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineEntry {
    /// The session.
    pub session: SessionId,
    /// When it joined.
    pub arrival: Micros,
    /// When it lapses unless heard of.
    pub expires_at: Micros,
}

/// A page of the line, in order of arrival.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinePage {
    /// The entries.
    pub entries: Vec<LineEntry>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Micros>,
}
