//! What is asked of a line and what it answers.

use super::{Counters, LineRules, Mode, Pace, Waits};
use crate::SessionId;
use crate::ticket::Ticket;
use crate::time::Micros;

/// A visit, or (with `join` empty) a keepalive.
#[derive(Debug, Clone, Default)]
pub struct Visit {
    /// The ticket that came along.
    pub ticket: Option<Ticket>,
    /// The id under which the bearer joins if the ticket does not hold a position; `None` joins nobody.
    pub join: Option<SessionId>,
    /// What the process that serves the visit knows of the queue from before.
    pub witness: Witness,
}

impl Visit {
    /// The first visit of a newcomer.
    #[must_use]
    pub fn joining(session: SessionId) -> Self {
        Self { join: Some(session), ..Self::default() }
    }

    /// A keepalive: the bearer of this ticket returns, and nobody joins.
    #[must_use]
    pub fn keeping(ticket: Ticket) -> Self {
        Self { ticket: Some(ticket), ..Self::default() }
    }
}

/// What a process knows of a queue from before a visit, in case the store has lost it (rule 7, recovery).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Witness {
    /// For how long this process could not serve the queue's visitors until now, in microseconds; 0 if it could. A process
    /// that just started says [`Witness::STARTED`]: it doesn't know.
    pub unserved: u64,
    /// The number of active sessions in the last answer to this process.
    pub census: Option<Census>,
}

impl Witness {
    /// The `unserved` of a process that just started.
    pub const STARTED: u64 = 1 << 52;
}

/// Who was active at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Census {
    /// When they were counted, by the store's clock.
    pub at: Micros,
    /// How many they were.
    pub active: u64,
    /// The latest arrival that had been admitted in its turn: everybody present who came before was active.
    pub reached: Micros,
}

/// Where a present session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionState {
    /// The session.
    pub session: SessionId,
    /// When it joined, as the ticket says that came along.
    pub arrival: Micros,
    /// When it was let in; `None` in line.
    pub admitted_at: Option<Micros>,
    /// Position in the line, from 1; 0 for an active session.
    pub position: u64,
    /// When it lapses unless heard of.
    pub expires_at: Micros,
    /// Whether the client has returned a ticket. The ticket of a session that is not confirmed is good for `claim_ttl` only.
    pub confirmed: bool,
}

/// How the visitor came to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitKind {
    /// Not there.
    Absent,
    /// Was there.
    Renewed,
    /// Came back by the ticket.
    Restored,
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
    pub place: Option<SessionState>,
    /// How the visitor came to be there.
    pub kind: VisitKind,
    /// How many wait.
    pub waiting: u64,
    /// How many are let in.
    pub active: u64,
    /// The latest arrival that was admitted in its turn.
    pub reached: Micros,
    /// The quota.
    pub quota: u64,
    /// Whether the state is in recovery: ranks still grow, and nobody new is admitted.
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

    /// Who was active, for the witness of a later visit.
    #[must_use]
    pub const fn census(&self) -> Census {
        Census { at: self.now, active: self.active, reached: self.reached }
    }
}

impl Stats {
    /// What the line does now.
    #[must_use]
    pub const fn flow(&self) -> Flow {
        Flow { waiting: self.waiting, active: self.active, pace: self.pace }
    }
}

/// What leave, away and end removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// The session waited.
    Waiting,
    /// The session was let in.
    Active,
    /// The session was not there.
    Absent,
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
    pub state_since: Micros,
    /// Whether the state is in recovery, so that nobody new is admitted.
    pub recovering: bool,
    /// Slots kept free for active sessions that have not returned yet (rule 7, recovery).
    pub reserved: u64,
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
pub enum SessionLocation {
    /// In line, at this rank from 1.
    Waiting {
        /// When it joined.
        arrival: Micros,
        /// Position in the line, from 1.
        position: u64,
    },
    /// In places.
    Active {
        /// When it was let in.
        admitted_at: Micros,
    },
    /// Ended; its ticket can't return.
    Ended,
}

/// A session that was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocatedSession {
    /// Where it is.
    pub state: SessionLocation,
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
