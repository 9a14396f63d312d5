//! The ticket as seen by the rules.

use serde::{Deserialize, Serialize};

use super::continuity::Census;
use crate::identity::AccountCode;
use crate::time::Micros;
use crate::{EventId, QueueId, SessionId};

/// What a ticket says of the account of its session (rule 24).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TicketAccount {
    /// Fingerprint of the token that was verified last.
    #[serde(rename = "i")]
    pub fingerprint: u32,
    /// The code of the account.
    #[serde(rename = "o")]
    pub code: AccountCode,
}

/// The claims of a ticket. Their names are short because it is sent with every request.
///
/// Unknown claims are ignored: the signature is valid, and during a rollout this version also receives tickets of a newer one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TicketClaims {
    #[serde(rename = "q")]
    pub(crate) queue: QueueId,
    #[serde(rename = "e")]
    pub(crate) epoch: u64,
    #[serde(rename = "s")]
    pub(crate) session: SessionId,
    #[serde(rename = "a")]
    pub(crate) arrival: Micros,
    #[serde(rename = "n", skip_serializing_if = "Option::is_none")]
    pub(crate) admitted_at: Option<Micros>,
    /// The last position shown to the visitor.
    #[serde(rename = "p", skip_serializing_if = "Option::is_none")]
    pub(crate) position: Option<u64>,
    /// Median of the last wait shown to the visitor, in milliseconds.
    #[serde(rename = "w", skip_serializing_if = "Option::is_none")]
    pub(crate) wait_ms: Option<u64>,
    /// Whether that wait was presumed: the pace of the line was not known.
    #[serde(rename = "m", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) presumed: bool,
    /// When it was signed, by the store's clock.
    #[serde(rename = "t")]
    pub(crate) signed_at: Micros,
    /// For an admitted session, microseconds from signing until its slot expires.
    #[serde(rename = "x", skip_serializing_if = "Option::is_none")]
    pub(crate) slot_left: Option<u64>,
    /// Whether the client had not returned a ticket at signing.
    #[serde(rename = "u", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unconfirmed: bool,
    /// Number of active sessions at signing, for the census.
    #[serde(rename = "c", skip_serializing_if = "Option::is_none")]
    pub(crate) active: Option<u64>,
    /// The latest arrival admitted in order at signing.
    #[serde(rename = "r", skip_serializing_if = "Option::is_none")]
    pub(crate) reached: Option<Micros>,
    /// The event in whose draw the session got its arrival.
    #[serde(rename = "d", skip_serializing_if = "Option::is_none")]
    pub(crate) event: Option<EventId>,
    /// The batch of the code with which the session was invited.
    #[serde(rename = "b", skip_serializing_if = "Option::is_none")]
    pub(crate) batch: Option<u16>,
    #[serde(flatten)]
    pub(crate) account: Option<TicketAccount>,
    /// The session that the bearer had before signing in.
    #[serde(rename = "f", skip_serializing_if = "Option::is_none")]
    pub(crate) former: Option<SessionId>,
    /// When the bearer of a converted lobby ticket came to the lobby. No signed ticket has it.
    #[serde(skip)]
    pub(crate) came_at: Option<Micros>,
}

/// A ticket for this queue whose signature was verified. The line decides whether its epoch and age
/// are valid.
///
/// Only [`TicketSigner::verify`](crate::TicketSigner::verify) creates one: an unverified ticket
/// reaches no store and is never signed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket(pub(crate) TicketClaims);

impl Ticket {
    /// The epoch in which it was signed.
    pub const fn epoch(&self) -> u64 {
        self.0.epoch
    }

    /// The session.
    pub const fn session(&self) -> SessionId {
        self.0.session
    }

    /// When the session joined the line, which determines its order.
    pub const fn arrival(&self) -> Micros {
        self.0.arrival
    }

    /// When the session was admitted; `None` while it waits.
    pub const fn admitted_at(&self) -> Option<Micros> {
        self.0.admitted_at
    }

    /// The last position shown to the visitor.
    pub const fn position(&self) -> Option<u64> {
        self.0.position
    }

    /// Median of the last wait shown to the visitor, in milliseconds.
    pub const fn wait_ms(&self) -> Option<u64> {
        self.0.wait_ms
    }

    /// When a waiting visitor expects the turn, by the median wait last shown; `None` if none was, or if the pace of the
    /// line was not known.
    pub fn due(&self) -> Option<Micros> {
        self.0
            .wait_ms
            .filter(|_| !self.0.presumed)
            .map(|wait_ms| Micros(self.0.signed_at.0.saturating_add(wait_ms.saturating_mul(1000))))
    }

    /// When it was signed, by the store's clock.
    pub const fn signed_at(&self) -> Micros {
        self.0.signed_at
    }

    /// When the slot of an admitted session expires, as reported by the store at signing. Nothing
    /// may admit the bearer beyond that without asking the store.
    pub fn slot_expires_at(&self) -> Option<Micros> {
        self.0.slot_left.map(|left| Micros(self.0.signed_at.0.saturating_add(left)))
    }

    /// Whether the client had not returned a ticket when this one was signed. Such a ticket is
    /// valid for `claim_ttl` only.
    pub const fn is_unconfirmed(&self) -> bool {
        self.0.unconfirmed
    }

    /// The event in whose draw the session got its arrival.
    pub const fn event(&self) -> Option<&EventId> {
        self.0.event.as_ref()
    }

    /// The batch of the code with which the session was invited.
    pub const fn batch(&self) -> Option<u16> {
        self.0.batch
    }

    /// Whether others can have its session: everybody who knows the code of an invitation does (rule 20).
    pub const fn is_shared(&self) -> bool {
        self.0.batch.is_some()
    }

    /// The account of its bearer (rule 24).
    pub const fn account(&self) -> Option<TicketAccount> {
        self.0.account
    }

    /// The session that its bearer had before signing in: that of the account took over its position or slot (rule 24). Jobs from before
    /// name it.
    pub const fn former(&self) -> Option<SessionId> {
        self.0.former
    }

    /// Whether its bearer has this session, or had it before signing in.
    pub fn is_of_bearer(&self, session: SessionId) -> bool {
        session == self.0.session || self.0.former == Some(session)
    }

    /// Whether its session is that of an account, which may join again under the same ID. The session of an invitation stays that of
    /// its code, whoever uses it (rule 20).
    pub const fn is_of_account(&self) -> bool {
        self.0.account.is_some() && self.0.batch.is_none()
    }

    /// Whether its session can have ended before it was issued: that of an account, which joined again, or one from the lobby, to which
    /// an account came again.
    pub const fn may_follow_an_end(&self) -> bool {
        self.is_of_account() || self.is_new_from_lobby()
    }

    /// When its bearer got it: a converted lobby ticket in the lobby, another one when it was signed. It is void if its session has ended
    /// since (rule 8).
    pub fn issued_at(&self) -> Micros {
        self.0.came_at.unwrap_or(self.0.signed_at)
    }

    /// Whether this is a lobby ticket that was converted just now: its session joins the line at the drawn arrival.
    pub const fn is_new_from_lobby(&self) -> bool {
        self.0.came_at.is_some()
    }

    /// When the bearer of such a lobby ticket came to the lobby, by the store's clock.
    pub const fn came_at(&self) -> Option<Micros> {
        self.0.came_at
    }

    /// The census at signing.
    pub fn census(&self) -> Option<Census> {
        let (active, reached) = (self.0.active?, self.0.reached.unwrap_or(Micros(0)));
        Some(Census { at: self.0.signed_at, active, reached })
    }
}
