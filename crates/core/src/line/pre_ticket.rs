//! Pre-tickets, as the line sees them. Only [`TicketSigner::verify_pre_ticket`](crate::TicketSigner::verify_pre_ticket) creates
//! them, and stores accept nothing else.

use crate::SessionId;
use crate::time::{MICROS_PER_SECOND, Micros};

/// A pre-ticket for this queue whose signature was verified. The line decides what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreTicket {
    pub(crate) epoch: u64,
    pub(crate) session: SessionId,
    pub(crate) first_visit: Micros,
    pub(crate) network: Option<u32>,
    pub(crate) same_network: bool,
    pub(crate) preserved: bool,
    pub(crate) difficulty: Option<u32>,
    pub(crate) proven: Option<u32>,
    pub(crate) proven_at: Option<u64>,
    pub(crate) challenge_ends_at: Option<u64>,
}

impl PreTicket {
    /// The epoch in which it was signed.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The session that joins.
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// When the first visit was, by the store's clock.
    pub const fn first_visit(&self) -> Micros {
        self.first_visit
    }

    /// Whether the request that brought it came from the network of the first visit, or that is not known.
    pub const fn is_of_same_network(&self) -> bool {
        self.same_network
    }

    /// Whether Vestibule turned the visitor away, so that the first visit counts for `hold_ttl`.
    pub const fn is_preserved(&self) -> bool {
        self.preserved
    }

    /// The difficulty of the proof of work that was required last.
    pub const fn difficulty(&self) -> Option<u32> {
        self.difficulty
    }

    /// The difficulty that is proven.
    pub const fn proven(&self) -> Option<u32> {
        self.proven
    }

    /// The end of the first challenge: until then its bearer is solving it.
    pub fn challenge_ends_at(&self) -> Option<Micros> {
        self.challenge_ends_at.map(|seconds| Micros(0).add_seconds(seconds))
    }

    /// The same pre-ticket with a preserved arrival, since its bearer was turned away.
    #[must_use]
    pub fn preserve(self) -> Self {
        Self { preserved: true, ..self }
    }

    /// The same pre-ticket as that of a first visit now, with a preserved arrival: its own no longer counts, but what it proves does.
    #[must_use]
    pub fn restart(self, now: Micros) -> Self {
        Self { first_visit: now, preserved: true, challenge_ends_at: None, ..self }
    }

    /// The same pre-ticket after its bearer had to prove work of this difficulty.
    #[must_use]
    pub fn requiring(self, difficulty: u32) -> Self {
        Self { difficulty: Some(difficulty), ..self }
    }

    /// The difficulty that is left to prove: what was required last less what is proven.
    pub fn work_left(&self) -> u64 {
        self.difficulty.unwrap_or(0).saturating_sub(self.proven.unwrap_or(0)).into()
    }

    /// The same pre-ticket after a proof of `difficulty` more than `base` now. `None` if `base` is not proven: one proof adds to the
    /// proofs before it, and once only.
    pub fn proving(self, base: u64, difficulty: u64, now: Micros) -> Option<Self> {
        let proven = self.proven.unwrap_or(0);
        let sum = u32::try_from(base.checked_add(difficulty)?).ok()?;
        let proven_at = self.proven_at.or(Some(now.seconds()));
        (base <= proven.into()).then_some(Self { proven: Some(proven.max(sum)), proven_at, ..self })
    }

    /// The pre-ticket as it counts now. Work that was first proven `hold_ttl` seconds ago is spent, and its bearer comes for the first
    /// time now: else one proof would do for one session after another, each as soon as the one before has expired.
    #[must_use]
    pub fn without_spent_work(self, now: Micros, hold_ttl: u64) -> Self {
        let is_recent = |at| now.since(Micros(0).add_seconds(at)) < hold_ttl * MICROS_PER_SECOND;
        if self.proven.is_none() || self.proven_at.is_some_and(is_recent) {
            return self;
        }
        Self { first_visit: now, preserved: false, proven: None, proven_at: None, challenge_ends_at: None, ..self }
    }

    /// The same pre-ticket while its bearer solves a challenge that ends then. The first one counts.
    #[must_use]
    pub fn solving(self, challenge_ends_at: u64) -> Self {
        Self { challenge_ends_at: self.challenge_ends_at.or(Some(challenge_ends_at)), ..self }
    }
}
