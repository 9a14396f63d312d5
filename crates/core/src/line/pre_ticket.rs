//! Pre-tickets, as the line sees them. Only [`TicketSigner::verify_pre_ticket`](crate::TicketSigner::verify_pre_ticket) creates
//! them, and stores accept nothing else.

use serde::{Deserialize, Serialize};

use crate::SessionId;
use crate::time::{MICROS_PER_SECOND, Micros};

/// The claims of a pre-ticket but its queue. Unknown claims are ignored, as in tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PreTicketClaims {
    #[serde(rename = "e")]
    pub(crate) epoch: u64,
    /// The session that joins.
    #[serde(rename = "s")]
    pub(crate) session: SessionId,
    /// First visit, by the store's clock as the process knew it.
    #[serde(rename = "v")]
    pub(crate) first_visit: Micros,
    /// The number of the visitor's network; absent if the address was not usable.
    #[serde(rename = "c", skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<u32>,
    /// Whether the first visit counts for `hold_ttl`.
    #[serde(rename = "k", default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) preserved: bool,
    /// The difficulty of the proof of work that was required last.
    #[serde(rename = "d", skip_serializing_if = "Option::is_none")]
    pub(crate) difficulty: Option<u32>,
    #[serde(flatten)]
    pub(crate) proven: Option<ProvenWork>,
    /// The end of the first challenge, in seconds since 1970.
    #[serde(rename = "x", skip_serializing_if = "Option::is_none")]
    pub(crate) challenge_ends_at: Option<u64>,
}

/// Work that the bearer of a pre-ticket has proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProvenWork {
    /// The difficulty.
    #[serde(rename = "p")]
    difficulty: u32,
    /// When the first of it was proven, in seconds since 1970.
    #[serde(rename = "t")]
    since: u64,
}

/// A pre-ticket for this queue whose signature was verified. The line decides what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreTicket {
    pub(crate) claims: PreTicketClaims,
    pub(crate) same_network: bool,
}

impl PreTicket {
    /// The epoch in which it was signed.
    pub const fn epoch(&self) -> u64 {
        self.claims.epoch
    }

    /// The session that joins.
    pub const fn session(&self) -> SessionId {
        self.claims.session
    }

    /// When the first visit was, by the store's clock.
    pub const fn first_visit(&self) -> Micros {
        self.claims.first_visit
    }

    /// Whether the request that brought it came from the network of the first visit, or that is not known.
    pub const fn is_of_same_network(&self) -> bool {
        self.same_network
    }

    /// Whether Vestibule turned the visitor away, so that the first visit counts for `hold_ttl`.
    pub const fn is_preserved(&self) -> bool {
        self.claims.preserved
    }

    /// The difficulty of the proof of work that was required last.
    pub const fn difficulty(&self) -> Option<u32> {
        self.claims.difficulty
    }

    /// The difficulty that is proven.
    pub fn proven(&self) -> Option<u32> {
        self.claims.proven.map(|work| work.difficulty)
    }

    /// The end of the first challenge: until then its bearer is solving it.
    pub fn challenge_ends_at(&self) -> Option<Micros> {
        self.claims.challenge_ends_at.map(|seconds| Micros(0).add_seconds(seconds))
    }

    /// The same pre-ticket with a preserved arrival, since its bearer was turned away.
    #[must_use]
    pub fn preserve(self) -> Self {
        self.with(PreTicketClaims { preserved: true, ..self.claims })
    }

    /// The same pre-ticket as that of a first visit now, with a preserved arrival: its own no longer counts, but what it proves does.
    #[must_use]
    pub fn restart(self, now: Micros) -> Self {
        self.with(PreTicketClaims { first_visit: now, preserved: true, challenge_ends_at: None, ..self.claims })
    }

    /// The same pre-ticket after its bearer had to prove work of this difficulty.
    #[must_use]
    pub fn requiring(self, difficulty: u32) -> Self {
        self.with(PreTicketClaims { difficulty: Some(difficulty), ..self.claims })
    }

    /// The difficulty that is left to prove: what was required last less what is proven.
    pub fn work_left(&self) -> u64 {
        self.difficulty().unwrap_or(0).saturating_sub(self.proven().unwrap_or(0)).into()
    }

    /// The same pre-ticket after a proof of `difficulty` more than `base` now. `None` if `base` is not proven: one proof adds to the
    /// proofs before it, and once only.
    pub fn proving(self, base: u64, difficulty: u64, now: Micros) -> Option<Self> {
        let before = self.claims.proven.unwrap_or(ProvenWork { difficulty: 0, since: now.seconds() });
        let sum = u32::try_from(base.checked_add(difficulty)?).ok()?;
        let proven = Some(ProvenWork { difficulty: before.difficulty.max(sum), ..before });
        (base <= before.difficulty.into()).then(|| self.with(PreTicketClaims { proven, ..self.claims }))
    }

    /// The pre-ticket as it counts now. Work that was first proven `hold_ttl` seconds ago is spent, and its bearer comes for the first
    /// time now: else one proof would do for one session after another, each as soon as the one before has expired.
    #[must_use]
    pub fn without_spent_work(self, now: Micros, hold_ttl: u64) -> Self {
        let age = |work: ProvenWork| now.since(Micros(0).add_seconds(work.since));
        if self.claims.proven.is_none_or(|work| age(work) < hold_ttl * MICROS_PER_SECOND) {
            return self;
        }
        let claims = self.claims;
        self.with(PreTicketClaims {
            first_visit: now,
            preserved: false,
            proven: None,
            challenge_ends_at: None,
            ..claims
        })
    }

    /// The same pre-ticket while its bearer solves a challenge that ends then. The first one counts.
    #[must_use]
    pub fn solving(self, challenge_ends_at: u64) -> Self {
        let challenge_ends_at = self.claims.challenge_ends_at.or(Some(challenge_ends_at));
        self.with(PreTicketClaims { challenge_ends_at, ..self.claims })
    }

    const fn with(self, claims: PreTicketClaims) -> Self {
        Self { claims, ..self }
    }
}
