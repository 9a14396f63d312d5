//! The admission rate: a token bucket that holds one second's worth, in whole numbers.

use serde::{Deserialize, Serialize};

use crate::time::{MICROS_PER_SECOND, Micros};

/// Largest admission rate a minute.
pub const RATE_MAX: u64 = 6_000_000;

/// What one admission costs: the micro-minutes that a rate of 1 a minute takes to earn it.
pub const ADMISSION_COST: u64 = 60 * MICROS_PER_SECOND;

/// A token bucket (<https://en.wikipedia.org/wiki/Token_bucket>) in units of which an admission costs 60 000 000: at a
/// rate of r a minute, r units are earned a microsecond, and a new bucket is full. All whole numbers, so every store counts the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bucket {
    /// Units in the bucket at `at`.
    pub credit: u64,
    /// When the units were last counted.
    pub at: Micros,
}

/// One second's worth, and at least one admission.
fn capacity(per_minute: u64) -> u64 {
    ADMISSION_COST.max(per_minute * MICROS_PER_SECOND)
}

impl Bucket {
    /// Counts what was earned until `now` and returns how many admissions it pays for. A clock that stepped back re-anchors
    /// the bucket and keeps its credit, so that admissions go on.
    pub(super) fn refill(&mut self, now: Micros, per_minute: u64) -> u64 {
        let elapsed = now.since(self.at).min(ADMISSION_COST);
        self.credit = (self.credit + elapsed * per_minute).min(capacity(per_minute));
        self.at = now;
        self.credit / ADMISSION_COST
    }

    /// The clock stepped back: what was counted by then counts from now on.
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
