//! The admission rate: a token bucket with a capacity of one second, in integers.

use serde::{Deserialize, Serialize};

use crate::time::{MICROS_PER_SECOND, Micros};

/// Maximum admission rate, per minute.
pub const RATE_MAX: u64 = 6_000_000;

/// Units that one admission costs: the micro-minutes in which a rate of 1 per minute earns it.
pub const ADMISSION_COST: u64 = 60 * MICROS_PER_SECOND;

/// A token bucket (<https://en.wikipedia.org/wiki/Token_bucket>). An admission costs 60 000 000
/// units. A rate of r per minute earns r units per microsecond, and a new bucket is full. Integers
/// only, so every store computes the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bucket {
    /// Units in the bucket at `at`.
    pub credit: u64,
    /// When the units were last updated.
    pub at: Micros,
}

/// One second of the rate, and at least one admission.
fn capacity(per_minute: u64) -> u64 {
    ADMISSION_COST.max(per_minute * MICROS_PER_SECOND)
}

impl Bucket {
    /// Adds the units earned until `now` and returns the number of admissions they pay for. If the
    /// clock stepped back, the bucket is re-anchored and keeps its credit, so admissions continue.
    pub(super) fn refill(&mut self, now: Micros, per_minute: u64) -> u64 {
        let elapsed = now.since(self.at).min(ADMISSION_COST);
        self.credit = (self.credit + elapsed * per_minute).min(capacity(per_minute));
        self.at = now;
        self.credit / ADMISSION_COST
    }

    /// Re-anchors the bucket to `now` after the clock stepped back.
    pub(super) fn reanchor(&mut self, now: Micros) {
        self.at = self.at.min(now);
    }

    /// Pays for `count` admissions.
    pub(super) fn spend(&mut self, count: u64) {
        self.credit = self.credit.saturating_sub(count * ADMISSION_COST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_earns_at_most_one_second_of_admissions() {
        let mut bucket = Bucket::default();
        let start = Micros(1_000_000_000);
        assert_eq!(bucket.refill(start, 600), 10);
        bucket.spend(10);
        assert_eq!(bucket.refill(start, 600), 0);
        assert_eq!(bucket.refill(Micros(start.0 + 100_000), 600), 1);
        assert_eq!(bucket.refill(start.add_seconds(3600), 600), 10);
    }

    #[test]
    fn slow_rate_admits_one_at_a_time() {
        let mut bucket = Bucket::default();
        assert_eq!(bucket.refill(Micros(60_000_000), 2), 1);
        bucket.spend(1);
        assert_eq!(bucket.refill(Micros(89_000_000), 2), 0);
        assert_eq!(bucket.refill(Micros(90_000_000), 2), 1);
    }

    #[test]
    fn clock_stepping_back_does_not_stop_admissions() {
        let mut bucket = Bucket::default();
        let start = Micros(1_000_000_000);
        bucket.refill(start, 600);
        bucket.spend(4);
        let back = Micros(start.0 - 120_000_000);
        assert_eq!(bucket.refill(back, 600), 6, "the credit is kept");
        bucket.spend(6);
        assert_eq!(bucket.refill(back.add_seconds(1), 600), 10, "and earned from then on");
    }
}
