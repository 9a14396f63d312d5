//! The admission rate: a token bucket with a capacity of one second, or of one step, in integers.

use serde::{Deserialize, Serialize};

use crate::time::{MICROS_PER_SECOND, Micros};

/// Maximum admission rate, per minute.
pub const RATE_MAX: u64 = 6_000_000;

/// Maximum of `admissions_every`, in seconds.
pub const STEP_MAX: u64 = 3600;

/// Units that one admission costs: the micro-minutes in which a rate of 1 per minute earns it.
pub const ADMISSION_COST: u64 = 60 * MICROS_PER_SECOND;

/// Maximum content of a bucket: more admissions than there are slots, and an integer that a double represents
/// exactly, so that scripts compute the same.
pub const CREDIT_MAX: u64 = 1 << 53;

/// Elapsed time that a bucket counts, in seconds, unless a step is longer.
pub const ELAPSED_MAX: u64 = 60;

/// A limit of admissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    per_minute: u64,
    /// Rule 21: seconds between the instants at which admissions are earned; `None` for evenly.
    every: Option<u64>,
}

impl Rate {
    /// A limit that is earned evenly.
    pub(crate) const fn evenly(per_minute: u64) -> Self {
        Self::stepped(per_minute, None)
    }

    /// A limit that is earned in steps of this many seconds; evenly if `None`.
    pub(super) const fn stepped(per_minute: u64, every: Option<u64>) -> Self {
        Self { per_minute, every }
    }

    /// One second of the rate, and at least one admission; or one step, and the fraction of an admission that steps before it left.
    fn capacity(self) -> u64 {
        let earned = self.per_minute * self.every.unwrap_or(1) * MICROS_PER_SECOND;
        let capacity = if self.every.is_some() { earned + ADMISSION_COST - 1 } else { earned.max(ADMISSION_COST) };
        capacity.min(CREDIT_MAX)
    }

    /// The instant until which units are earned at `now`: `now`, or the last whole multiple of the step.
    fn earned_until(self, now: Micros) -> Micros {
        Micros(self.every.map_or(now.0, |every| now.0 - now.0 % (every * MICROS_PER_SECOND)))
    }

    fn elapsed_max(self) -> u64 {
        self.every.unwrap_or(0).max(ELAPSED_MAX) * MICROS_PER_SECOND
    }
}

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

impl Bucket {
    /// Adds the units earned until `now` and returns the number of admissions they pay for. If the
    /// clock stepped back, the bucket is re-anchored and keeps its credit, so admissions continue.
    pub(crate) fn refill(&mut self, now: Micros, rate: Rate) -> u64 {
        self.reanchor(now);
        let earned_until = rate.earned_until(now);
        let elapsed = earned_until.since(self.at).min(rate.elapsed_max());
        self.credit = (self.credit + elapsed * rate.per_minute).min(rate.capacity());
        self.at = self.at.max(earned_until);
        self.credit / ADMISSION_COST
    }

    /// Re-anchors the bucket to `now` after the clock stepped back.
    pub(super) fn reanchor(&mut self, now: Micros) {
        self.at = self.at.min(now);
    }

    /// Pays for `count` admissions.
    pub(crate) fn spend(&mut self, count: u64) {
        self.credit = self.credit.saturating_sub(count * ADMISSION_COST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn evenly(per_minute: u64) -> Rate {
        Rate::evenly(per_minute)
    }

    #[test]
    fn idle_time_earns_at_most_one_second_of_admissions() {
        let mut bucket = Bucket::default();
        let start = Micros(1_000_000_000);
        assert_eq!(bucket.refill(start, evenly(600)), 10);
        bucket.spend(10);
        assert_eq!(bucket.refill(start, evenly(600)), 0);
        assert_eq!(bucket.refill(Micros(start.0 + 100_000), evenly(600)), 1);
        assert_eq!(bucket.refill(start.add_seconds(3600), evenly(600)), 10);
    }

    #[test]
    fn slow_rate_admits_one_at_a_time() {
        let mut bucket = Bucket::default();
        assert_eq!(bucket.refill(Micros(60_000_000), evenly(2)), 1);
        bucket.spend(1);
        assert_eq!(bucket.refill(Micros(89_000_000), evenly(2)), 0);
        assert_eq!(bucket.refill(Micros(90_000_000), evenly(2)), 1);
    }

    #[test]
    fn clock_stepping_back_does_not_stop_admissions() {
        let mut bucket = Bucket::default();
        let start = Micros(1_000_000_000);
        bucket.refill(start, evenly(600));
        bucket.spend(4);
        let back = Micros(start.0 - 120_000_000);
        assert_eq!(bucket.refill(back, evenly(600)), 6, "the credit is kept");
        bucket.spend(6);
        assert_eq!(bucket.refill(back.add_seconds(1), evenly(600)), 10, "and earned from then on");
    }

    #[test]
    fn steps_are_earned_at_whole_multiples() {
        for (every, earned) in [(15, 75), (600, 3000)] {
            let (rate, mut bucket) = (Rate { per_minute: 300, every: Some(every) }, Bucket::default());
            let multiple = Micros(1_700_000_000_000_000 / (every * MICROS_PER_SECOND) * every * MICROS_PER_SECOND);
            assert_eq!(bucket.refill(Micros(multiple.0 + 1), rate), earned, "a new bucket is full");
            bucket.spend(earned);
            let next = multiple.add_seconds(every);
            assert_eq!(bucket.refill(Micros(next.0 - 1), rate), 0);
            assert_eq!(bucket.refill(next, rate), earned);
            assert_eq!(bucket.refill(next.add_seconds(50 * every), rate), earned, "idle time earns one step");
        }
    }

    #[test]
    fn fractions_of_steps_add_up_to_the_rate() {
        for (per_minute, every) in [(20, 5), (7, 15), (1, 7), (59, 1)] {
            let (rate, mut bucket) = (Rate { per_minute, every: Some(every) }, Bucket::default());
            let start = Micros(1_700_000_000_000_000 / (every * MICROS_PER_SECOND) * every * MICROS_PER_SECOND);
            let first = bucket.refill(start, rate);
            bucket.spend(first);
            let largest = (per_minute * every).div_ceil(60);
            let admitted = (1..=3600 / every).map(|step| {
                let earned = bucket.refill(start.add_seconds(step * every), rate);
                assert!(earned <= largest, "{per_minute} per minute, {every} s: {earned} in a group");
                bucket.spend(earned);
                earned
            });
            let admitted: u64 = admitted.sum();
            let expected = per_minute * (3600 / every * every) / 60;
            assert!(admitted.abs_diff(expected) <= 1, "{per_minute} per minute, {every} s: {admitted}, not {expected}");
            assert_eq!(bucket.refill(start.add_seconds(36_000), rate), largest, "idle time earns one group");
        }
    }

    #[test]
    fn step_that_begins_late_earns_its_remainder() {
        let (mut bucket, multiple) = (Bucket::default(), Micros(600_000_000_000));
        let early = multiple.add_seconds(45);
        bucket.refill(early, evenly(300));
        bucket.spend(5);
        let stepped = Rate { per_minute: 300, every: Some(60) };
        assert_eq!(bucket.refill(early.add_seconds(14), stepped), 0);
        assert_eq!(bucket.refill(multiple.add_seconds(60), stepped), 75, "15 of 60 seconds");
    }

    #[test]
    fn fastest_rate_with_the_longest_step_stays_exact() {
        let (mut bucket, rate) = (Bucket::default(), Rate { per_minute: RATE_MAX, every: Some(STEP_MAX) });
        let admissions = bucket.refill(Micros(1_700_000_000_000_000), rate);
        assert_eq!(bucket.credit, CREDIT_MAX);
        assert!(admissions > 10_000_000, "more than any quota");
    }
}
