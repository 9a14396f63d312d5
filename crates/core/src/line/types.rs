//! Requests to a line and its answers.

use super::continuity::Census;
use super::pre_ticket::PreTicket;
use super::{Counters, JoinClient, JoinRejection, LimitStats, LineRules, Mode, Pace, Phase, Waits};
use crate::SessionId;
use crate::line::{Ticket, TicketAccount};
use crate::time::Micros;

/// A visit, or a keepalive if `join` is `None`.
#[derive(Debug, Clone, Default)]
pub struct Visit {
    /// The ticket sent with the request.
    pub ticket: Option<Ticket>,
    /// The id under which the visitor joins if the ticket does not hold a position; `None` joins no
    /// one.
    pub join: Option<SessionId>,
    /// The head start in microseconds of a newcomer with a valid invitation (rule 19); `None` without one.
    pub head_start: Option<u64>,
    /// Whether this is a read-only visit (rule 18): it expires and admits sessions like every visit,
    /// then reads the session of the ticket. It joins, renews and restores none.
    pub read_only: bool,
    /// The pre-ticket sent with the request: its session joins (rule 23). Not used if there is a ticket.
    pub redeem: Option<PreTicket>,
    /// Number of pre-tickets that the process has issued for the queue since its last visit.
    pub pre_tickets_issued: u64,
    /// The session of the visitor's account, if a verified token named one (rule 24): the visitor joins as this session, and
    /// it takes over the position or slot of another session that the visitor has.
    pub account: Option<SessionId>,
    /// Number of tokens of accounts that the process has accepted and rejected for the queue since its last visit.
    pub identities: Identities,
    /// Proofs of work that the process has verified for the queue since its last visit.
    pub proofs: ProofCounts,
    /// What limits know about the client.
    pub client: JoinClient,
    /// What the serving process knows about the queue from earlier visits.
    pub witness: Witness,
}

impl Visit {
    /// The first visit of a newcomer.
    pub fn joining(session: SessionId) -> Self {
        Self { join: Some(session), ..Self::default() }
    }

    /// The first visit of an invited newcomer, with a head start in microseconds.
    pub fn invited(session: SessionId, head_start: u64) -> Self {
        Self { head_start: Some(head_start), ..Self::joining(session) }
    }

    /// The visit of a newcomer who comes back with a pre-ticket.
    pub fn redeeming(pre_ticket: PreTicket) -> Self {
        Self { join: Some(pre_ticket.session()), redeem: Some(pre_ticket), ..Self::default() }
    }

    /// The visit of a newcomer whose account has this session.
    pub fn of_account(account: SessionId) -> Self {
        Self { account: Some(account), ..Self::joining(account) }
    }

    /// A keepalive: restores or renews the session of this ticket and joins no one.
    pub fn keeping(ticket: Ticket) -> Self {
        Self { ticket: Some(ticket), ..Self::default() }
    }

    /// The pre-ticket that this visit redeems in a line of this epoch.
    pub(super) fn redeemed(&self, epoch: u64) -> Option<&PreTicket> {
        self.redeem.as_ref().filter(|pre_ticket| self.ticket.is_none() && pre_ticket.epoch() == epoch)
    }

    /// A read-only visit with this ticket.
    pub fn reading(ticket: Ticket) -> Self {
        Self { ticket: Some(ticket), read_only: true, ..Self::default() }
    }
}

/// Numbers of tokens of accounts that were verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Identities {
    /// Accepted.
    pub accepted: u64,
    /// Rejected: forged, expired, or of somebody else.
    pub rejected: u64,
}

/// Numbers of proofs of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProofCounts {
    /// Accepted.
    pub valid: u64,
    /// Not accepted.
    pub invalid: u64,
}

/// What a process knows about a queue from before a visit, in case the store has lost it (rule 7,
/// recovery).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Witness {
    /// How long this process has been unable to serve the queue's visitors, in microseconds; 0 if
    /// it was able to. A process that has just started does not know and uses [`Witness::STARTED`].
    pub unserved: u64,
    /// The census in the last answer to this process.
    pub census: Option<Census>,
}

impl Witness {
    /// The `unserved` value of a process that has just started.
    pub const STARTED: u64 = 1 << 52;
}

/// The state of a present session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionState {
    /// Its ID.
    pub id: SessionId,
    /// When it joined, according to its ticket.
    pub arrival: Micros,
    /// When it was admitted; `None` while it waits.
    pub admitted_at: Option<Micros>,
    /// Position in the line, from 1; 0 for an active session.
    pub position: u64,
    /// When it expires without another visit.
    pub expires_at: Micros,
    /// Whether the client has returned a ticket. The ticket of an unconfirmed session is valid for
    /// `claim_ttl` only.
    pub confirmed: bool,
}

/// How the session of a visit was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitKind {
    /// It does not exist.
    Absent,
    /// It does not exist, and no newcomer can join because the line is full (rule 22).
    Full,
    /// It does not exist, and the visitor has no invitation, without which nobody can join (rule 20).
    InvitationRequired,
    /// It does not exist: the visitor is in the lobby of an event with a draw (rule 14).
    Lobby,
    /// It does not exist, and the newcomer needs a pre-ticket to join (rule 23).
    NeedsPreTicket,
    /// It does not exist, and a limit rejected the newcomer.
    Rejected(JoinRejection),
    /// It does not exist, and the newcomer needs a proof of work of this difficulty to join.
    NeedsProof(u64),
    /// It was present.
    Renewed,
    /// It was restored from its ticket.
    Restored,
    /// It has just joined.
    Joined,
}

/// The answer to a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisitAnswer {
    /// The store's clock.
    pub now: Micros,
    /// Revision of the settings that applied.
    pub revision: u64,
    /// The current epoch.
    pub epoch: u64,
    /// The effective mode: for a scheduled queue that of its phase.
    pub mode: Mode,
    /// The visitor's session; `None` if they are not in the queue.
    pub session: Option<SessionState>,
    /// How the session was found.
    pub kind: VisitKind,
    /// Number of waiting sessions.
    pub waiting: u64,
    /// Number of active sessions.
    pub active: u64,
    /// The latest arrival that was admitted in order.
    pub reached: Micros,
    /// The quota.
    pub quota: u64,
    /// Whether the state is in recovery, so that no newcomer is admitted.
    pub recovering: bool,
    /// Whether visitors far from the front may not have returned since the recovery began: positions
    /// may still increase, so those in the tickets are shown (rule 12).
    pub restoring: bool,
    /// Whether the queue is in attack mode.
    pub attack_mode: bool,
    /// The recent pace of the line.
    pub pace: Pace,
}

/// The state of a line that a wait estimate depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flow {
    /// Number of waiting sessions.
    pub waiting: u64,
    /// Number of active sessions.
    pub active: u64,
    /// The recent pace of the line.
    pub pace: Pace,
}

/// Proof that the store counted a newcomer in the lobby of an event. Only an answer of the store contains one, and only
/// its bearer gets a lobby ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LobbyEntry {
    session: SessionId,
    epoch: u64,
    at: Micros,
    batch: Option<u16>,
    account: Option<TicketAccount>,
}

impl LobbyEntry {
    /// The entry of a visitor with this account.
    #[must_use]
    pub const fn of_account(self, account: Option<TicketAccount>) -> Self {
        Self { account, ..self }
    }

    /// The account of the visitor (rule 24).
    pub const fn account(&self) -> Option<TicketAccount> {
        self.account
    }

    /// The entry of a session that was invited with a code of this batch.
    #[must_use]
    pub const fn in_batch(self, batch: Option<u16>) -> Self {
        Self { batch, ..self }
    }

    /// The batch of the code with which the session was invited.
    pub const fn batch(&self) -> Option<u16> {
        self.batch
    }

    /// The session whose number will be drawn.
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// The epoch of the queue.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// When the visitor came, by the store's clock.
    pub const fn at(&self) -> Micros {
        self.at
    }
}

impl VisitAnswer {
    /// The entry of a visit that came to the lobby as a newcomer.
    pub fn lobby_entry(&self, visit: &Visit) -> Option<LobbyEntry> {
        let is_from_lobby = |ticket: &Ticket| ticket.is_new_from_lobby() && ticket.epoch() == self.epoch;
        let is_newcomer = !visit.ticket.as_ref().is_some_and(is_from_lobby);
        let session = visit.join.filter(|_| self.kind == VisitKind::Lobby && is_newcomer)?;
        Some(LobbyEntry { session, epoch: self.epoch, at: self.now, batch: None, account: None })
    }

    /// The current flow of the line.
    pub const fn flow(&self) -> Flow {
        Flow { waiting: self.waiting, active: self.active, pace: self.pace }
    }

    /// Whether visitors wait, or may do so although the state does not have them. After the end of an event, a queue that
    /// follows its events has one of these modes only while its line may have sessions.
    pub fn may_wait(&self) -> bool {
        self.waiting > 0 || matches!(self.mode, Mode::Open | Mode::Draining)
    }

    /// The census, for the witness of a later visit.
    pub const fn census(&self) -> Census {
        Census { at: self.now, active: self.active, reached: self.reached }
    }
}

impl Stats {
    /// Whether visitors wait, or may do so although the state does not have them: then the event is not over.
    pub fn may_wait(&self) -> bool {
        self.waiting > 0 || self.phase == Some(Phase::Ending)
    }

    /// The current flow of the line.
    pub const fn flow(&self) -> Flow {
        Flow { waiting: self.waiting, active: self.active, pace: self.pace }
    }
}

/// What `leave`, `away` and `end` removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// A waiting session.
    Waiting,
    /// An active session.
    Active,
    /// Nothing: the session was not present.
    Absent,
}

/// The result of one purge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurgeReport {
    /// Expired sessions removed.
    pub expired: u64,
    /// Old tombstones removed.
    pub tombstones: u64,
    /// Sessions admitted to the freed slots.
    pub admitted: u64,
    /// Whether work is left for another batch.
    pub more: bool,
    /// The revision with which a draining queue closed; `None` unless this purge closed it.
    pub closed: Option<u64>,
}

/// The statistics of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// The store's clock.
    pub now: Micros,
    /// The rules in force, without the events.
    pub rules: LineRules,
    /// The effective mode: for a scheduled queue that of its phase.
    pub mode: Mode,
    /// The phase of a scheduled queue.
    pub phase: Option<Phase>,
    /// When the state began.
    pub state_since: Micros,
    /// Whether the state is in recovery, so that no newcomer is admitted.
    pub recovering: bool,
    /// Slots reserved for active sessions that have not returned yet (rule 7, recovery).
    pub reserved: u64,
    /// Number of admissions that the rate allows now; `None` without a rate.
    pub paid_admissions: Option<u64>,
    /// Number of waiting sessions.
    pub waiting: u64,
    /// Number of active sessions.
    pub active: u64,
    /// Arrival of the session that has waited longest; the start of the sale for a drawn one (rule 15).
    pub oldest_arrival: Option<Micros>,
    /// Lobby tickets of the current event; 0 between events.
    pub lobby_tickets: u64,
    /// The recent pace of the line.
    pub pace: Pace,
    /// Events since the state began.
    pub counters: Counters,
    /// Waits of admitted sessions.
    pub waits: Waits,
    /// What limits of joins tell.
    pub limits: LimitStats,
    /// When attack mode ends; `None` if it is off.
    pub attack_mode_until: Option<Micros>,
}

/// The state of a session found by a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionLocation {
    /// Waiting.
    Waiting {
        /// When it joined.
        arrival: Micros,
        /// Position in the line, from 1.
        position: u64,
    },
    /// Active.
    Active {
        /// When it was admitted.
        admitted_at: Micros,
    },
    /// Ended; its ticket can't return.
    Ended,
}

/// The result of a session lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocatedSession {
    /// The state of the session.
    pub state: SessionLocation,
    /// When the session or its tombstone expires.
    pub expires_at: Micros,
}

/// A list of the sessions of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionList {
    /// The line, in order of arrival.
    Waiting,
    /// Active sessions in order of admission.
    Active,
    /// Sessions that ended, for as long as tickets of them could be presented.
    Ended,
}

crate::word_field!(SessionList { Waiting = "waiting", Active = "active", Ended = "ended" });

/// One entry of a list of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedSession {
    /// The session.
    pub session: SessionId,
    /// The arrival of a waiting session, the admission of an active one, the expiry of the tombstone
    /// of an ended one. Lists are ordered by it.
    pub at: Micros,
    /// When the session or its tombstone expires.
    pub expires_at: Micros,
}

/// The start of a page of a list of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageStart {
    /// [`ListedSession::at`] of the first entry, or an earlier time.
    pub at: Micros,
    /// How many entries of exactly that time come before the page, at most [`super::PAGE_SKIP_MAX`].
    /// Sessions that were admitted by one operation have the same time.
    pub skip: u64,
}

/// A page of a list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionPage {
    /// The entries.
    pub entries: Vec<ListedSession>,
    /// Start of the next page; `None` at the end.
    pub next: Option<PageStart>,
}

/// The session of a visit and how it was found.
pub(super) struct RecognizedSession {
    pub(super) session: SessionId,
    pub(super) arrival: Micros,
    pub(super) kind: VisitKind,
    /// Whether a ticket was returned: only then the full TTL is granted.
    pub(super) confirmed: bool,
    /// When the visitor expects the turn, by the wait that the ticket says was shown.
    pub(super) due: Option<Micros>,
    /// For a ticket that the client returns for the first time, its expiry. A later expiry was set
    /// by an earlier return of the same ticket.
    pub(super) unconfirmed_until: Option<Micros>,
}

impl RecognizedSession {
    /// One that no ticket of its own named.
    pub(super) const fn without_ticket(session: SessionId, arrival: Micros, kind: VisitKind, confirmed: bool) -> Self {
        Self { session, arrival, kind, confirmed, due: None, unconfirmed_until: None }
    }
}
