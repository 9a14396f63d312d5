//! Counters of a queue: events since its state began, and waits of admitted sessions.

use serde::{Deserialize, Serialize};

use crate::counters::counters;
use crate::time::Micros;

counters! {
    /// Events since the queue's state began.
    pub struct Counters {
        /// Sessions that joined.
        joined = "joined",
        /// Sessions that were confirmed: their ticket was returned for the first time. Clients without
        /// cookies never are.
        confirmed = "confirmed",
        /// Sessions restored from their ticket, to the line or to a slot.
        returned = "returned",
        /// Sessions admitted by the rules.
        admitted = "admitted",
        /// Sessions admitted by an operator's release.
        released = "released",
        /// Sessions that expired while waiting.
        expired_waiting = "expired_waiting",
        /// Sessions that expired while active.
        expired_active = "expired_active",
        /// Sessions ended by the visitor.
        left = "left",
        /// Sessions ended by an operator or by `max_session`.
        ended = "ended",
        /// Waiting sessions whose page was closed.
        away = "away",
        /// Pre-tickets issued to first visits.
        pre_tickets_issued = "pre_tickets_issued",
        /// Sessions that joined by a pre-ticket.
        pre_tickets_redeemed = "pre_tickets_redeemed",
        /// Tokens of accounts that were accepted.
        identities_accepted = "identities:accepted",
        /// Tokens of accounts that were rejected.
        identities_rejected = "identities:rejected",
    }
}

impl Counters {
    /// The events that these counters have and `before`, of the same state, did not have.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// The events of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn with(&self, other: &Self, combine: fn(u64, u64) -> u64) -> Self {
        let (own, others) = (self.named(), other.named());
        Self::from_values(std::array::from_fn(|index| combine(own[index].1, others[index].1)))
    }
}

/// Upper bounds of the buckets of the wait histogram, in seconds; one more bucket holds longer
/// waits.
pub const WAIT_BUCKETS: [u64; 12] = [1, 5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200];

/// Waits of admitted sessions: a histogram with fixed buckets, and the sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Waits {
    /// Admissions by bucket of [`WAIT_BUCKETS`], the last one for longer waits. Not cumulative.
    pub buckets: [u64; WAIT_BUCKETS.len() + 1],
    /// Sum of all waits, in microseconds.
    pub sum_us: u64,
}

impl Waits {
    /// Counts one admission.
    pub(super) fn count(&mut self, arrival: Micros, now: Micros) {
        let wait = now.since(arrival);
        let bucket = WAIT_BUCKETS.iter().position(|bound| wait <= bound * crate::time::MICROS_PER_SECOND);
        self.buckets[bucket.unwrap_or(WAIT_BUCKETS.len())] += 1;
        self.sum_us += wait;
    }

    /// The waits that these have and `before`, of the same state, did not have.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// The waits of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn with(&self, other: &Self, combine: fn(u64, u64) -> u64) -> Self {
        let buckets = std::array::from_fn(|index| combine(self.buckets[index], other.buckets[index]));
        Self { buckets, sum_us: combine(self.sum_us, other.sum_us) }
    }

    /// Upper bounds of the buckets in seconds, each with the number of waits up to it; the last one, without a bound, with
    /// the number of all waits.
    pub fn cumulative(&self) -> [(Option<u64>, u64); WAIT_BUCKETS.len() + 1] {
        let mut count = 0;
        std::array::from_fn(|index| {
            count += self.buckets[index];
            (WAIT_BUCKETS.get(index).copied(), count)
        })
    }
}
