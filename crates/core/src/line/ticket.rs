//! The ticket as the rules see it.

use super::Census;
use crate::SessionId;
use crate::time::Micros;

/// A ticket whose signature was verified and that is for this queue. Whether its epoch and age are good, the line decides.
///
/// Only [`TicketSigner::verify`](crate::TicketSigner::verify) makes one: what was not verified reaches no store and is never signed
/// again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    pub(crate) epoch: u64,
    pub(crate) session: SessionId,
    pub(crate) arrival: Micros,
    pub(crate) admitted_at: Option<Micros>,
    pub(crate) position: Option<u64>,
    pub(crate) wait_ms: Option<u64>,
    pub(crate) census: Option<Census>,
    pub(crate) signed_at: Micros,
    pub(crate) slot_expires_at: Option<Micros>,
    pub(crate) unconfirmed: bool,
}

impl Ticket {
    /// The epoch in which it was signed.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The session.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// When the session joined the line: its place in the order.
    #[must_use]
    pub const fn arrival(&self) -> Micros {
        self.arrival
    }

    /// When the session was admitted; `None` while it waits.
    #[must_use]
    pub const fn admitted_at(&self) -> Option<Micros> {
        self.admitted_at
    }

    /// The position that was shown last.
    #[must_use]
    pub const fn position(&self) -> Option<u64> {
        self.position
    }

    /// Median of the wait that was shown last, in milliseconds.
    #[must_use]
    pub const fn wait_ms(&self) -> Option<u64> {
        self.wait_ms
    }

    /// When it was signed, by the store's clock.
    #[must_use]
    pub const fn signed_at(&self) -> Micros {
        self.signed_at
    }

    /// Until when the slot of an admitted session is taken, as the store said when it signed. Nothing may let the bearer
    /// through without asking the store for longer.
    #[must_use]
    pub const fn slot_expires_at(&self) -> Option<Micros> {
        self.slot_expires_at
    }

    /// Whether the client had not returned a ticket when it was signed: it is good for `claim_ttl` only.
    #[must_use]
    pub const fn is_unconfirmed(&self) -> bool {
        self.unconfirmed
    }

    /// Who was active when it was signed.
    #[must_use]
    pub const fn census(&self) -> Option<Census> {
        self.census
    }
}
