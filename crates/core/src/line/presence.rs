//! The presence of one session.

use crate::time::Micros;

/// Whether a present session waits or is active, since when, and the expiry without another visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Presence {
    since: Micros,
    admitted: bool,
    pub(super) expires_at: Micros,
}

impl Presence {
    pub(super) const fn waiting(arrival: Micros) -> Self {
        Self { since: arrival, admitted: false, expires_at: Micros(0) }
    }

    pub(super) const fn admitted(admitted_at: Micros) -> Self {
        Self { since: admitted_at, admitted: true, expires_at: Micros(0) }
    }

    /// The same presence with another expiry.
    pub(super) const fn until(self, expires_at: Micros) -> Self {
        Self { expires_at, ..self }
    }

    /// The arrival of a waiting session, the admission of an active one.
    pub(super) const fn since(&self) -> Micros {
        self.since
    }

    pub(super) fn admitted_at(&self) -> Option<Micros> {
        self.admitted.then_some(self.since)
    }

    /// Whether an active session has reached `max_session`.
    pub(super) fn exceeded_max_session(&self, now: Micros, max_session: Option<u64>) -> bool {
        self.admitted && max_session.is_some_and(|most| self.since.add_seconds(most) <= now)
    }
}

/// The expiry of a waiting session is rewritten only when less than half of its presence TTL is left.
/// Visitors poll three times per TTL, so none expires because of it, and most polls of a long line
/// do not write to the pool.
pub const WAITING_REFRESH_SHARE: (u64, u64) = (1, 2);
/// For active sessions, which may be silent for minutes, the expiry is rewritten once a sixteenth
/// of the TTL has passed.
pub const ACTIVE_REFRESH_SHARE: (u64, u64) = (15, 16);
