//! The ticket as seen by the rules.

use super::continuity::Census;
use crate::identity::AccountCode;
use crate::time::Micros;
use crate::{EventId, SessionId};

/// What a ticket says of the account of its session (rule 24).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TicketAccount {
    /// Fingerprint of the token that was verified last.
    pub fingerprint: u32,
    /// The code of the account.
    pub code: AccountCode,
}

/// A ticket for this queue whose signature was verified. The line decides whether its epoch and age
/// are valid.
///
/// Only [`TicketSigner::verify`](crate::TicketSigner::verify) creates one: an unverified ticket
/// reaches no store and is never signed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    pub(crate) epoch: u64,
    pub(crate) session: SessionId,
    pub(crate) arrival: Micros,
    pub(crate) admitted_at: Option<Micros>,
    pub(crate) position: Option<u64>,
    pub(crate) wait_ms: Option<u64>,
    pub(crate) presumed: bool,
    pub(crate) census: Option<Census>,
    pub(crate) signed_at: Micros,
    pub(crate) slot_expires_at: Option<Micros>,
    pub(crate) unconfirmed: bool,
    pub(crate) event: Option<EventId>,
    pub(crate) batch: Option<u16>,
    pub(crate) account: Option<TicketAccount>,
    pub(crate) former: Option<SessionId>,
    pub(crate) came_at: Option<Micros>,
}

impl Ticket {
    /// The epoch in which it was signed.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The session.
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// When the session joined the line, which determines its order.
    pub const fn arrival(&self) -> Micros {
        self.arrival
    }

    /// When the session was admitted; `None` while it waits.
    pub const fn admitted_at(&self) -> Option<Micros> {
        self.admitted_at
    }

    /// The last position shown to the visitor.
    pub const fn position(&self) -> Option<u64> {
        self.position
    }

    /// Median of the last wait shown to the visitor, in milliseconds.
    pub const fn wait_ms(&self) -> Option<u64> {
        self.wait_ms
    }

    /// When a waiting visitor expects the turn, by the median wait last shown; `None` if none was, or if the pace of the
    /// line was not known.
    pub fn due(&self) -> Option<Micros> {
        self.wait_ms
            .filter(|_| !self.presumed)
            .map(|wait_ms| Micros(self.signed_at.0.saturating_add(wait_ms.saturating_mul(1000))))
    }

    /// When it was signed, by the store's clock.
    pub const fn signed_at(&self) -> Micros {
        self.signed_at
    }

    /// When the slot of an admitted session expires, as reported by the store at signing. Nothing
    /// may admit the bearer beyond that without asking the store.
    pub const fn slot_expires_at(&self) -> Option<Micros> {
        self.slot_expires_at
    }

    /// Whether the client had not returned a ticket when this one was signed. Such a ticket is
    /// valid for `claim_ttl` only.
    pub const fn is_unconfirmed(&self) -> bool {
        self.unconfirmed
    }

    /// The event in whose draw the session got its arrival.
    pub const fn event(&self) -> Option<&EventId> {
        self.event.as_ref()
    }

    /// The batch of the code with which the session was invited.
    pub const fn batch(&self) -> Option<u16> {
        self.batch
    }

    /// The account of its bearer (rule 24).
    pub const fn account(&self) -> Option<TicketAccount> {
        self.account
    }

    /// The session that its bearer had before signing in: that of the account took over its position or slot (rule 24). Jobs from before
    /// name it.
    pub const fn former(&self) -> Option<SessionId> {
        self.former
    }

    /// Whether its bearer has this session, or had it before signing in.
    pub fn is_of_bearer(&self, session: SessionId) -> bool {
        session == self.session || self.former == Some(session)
    }

    /// Whether its session is that of an account, which may join again under the same ID. The session of an invitation stays that of
    /// its code, whoever uses it (rule 20).
    pub const fn is_of_account(&self) -> bool {
        self.account.is_some() && self.batch.is_none()
    }

    /// Whether its session can have ended before it was issued: that of an account, which joined again, or one from the lobby, to which
    /// an account came again.
    pub const fn may_follow_an_end(&self) -> bool {
        self.is_of_account() || self.is_new_from_lobby()
    }

    /// When its bearer got it: a converted lobby ticket in the lobby, another one when it was signed. It is void if its session has ended
    /// since (rule 8).
    pub fn issued_at(&self) -> Micros {
        self.came_at.unwrap_or(self.signed_at)
    }

    /// Whether this is a lobby ticket that was converted just now: its session joins the line at the drawn arrival.
    pub const fn is_new_from_lobby(&self) -> bool {
        self.came_at.is_some()
    }

    /// When the bearer of such a lobby ticket came to the lobby, by the store's clock.
    pub const fn came_at(&self) -> Option<Micros> {
        self.came_at
    }

    /// The census at signing.
    pub const fn census(&self) -> Option<Census> {
        self.census
    }
}
