//! Polls in virtual time: how long a visitor is present without one, and how many a span of the wait takes.

use vestibule_core::line::LineRules;
use vestibule_core::{Micros, POLL_NEAR, POLLS_PER_WAIT};

/// Poll interval near the front, in seconds.
const POLL_MIN: f64 = POLL_NEAR as f64;
/// Number of polls in the estimated wait.
const POLLS: f64 = POLLS_PER_WAIT as f64;

/// Time in seconds for which a visitor with this wait, in seconds, is present without a poll.
pub(super) fn presence_ttl(rules: &LineRules, wait: f64) -> f64 {
    rules.presence_ttl(Micros(0), Some(Micros(0).add_seconds(wait.max(0.0) as u64))) as f64
}

/// Mean poll interval far from the front. `poll_after` has whole seconds and subtracts up to a quarter as jitter.
pub(super) fn between_polls(wait: f64, rules: &LineRules) -> f64 {
    let longest = (presence_ttl(rules, wait) / 3.0).floor().max(POLL_MIN);
    let most = (wait / POLLS).floor().clamp(POLL_MIN, longest);
    most - (most / 4.0).floor().min(most - POLL_MIN) / 2.0
}

/// Number of polls while the expected wait decreases from `more` to `less`. The interval changes at most once in
/// [`POLLS`] seconds of it.
pub(super) fn polls(less: f64, more: f64, rules: &LineRules) -> f64 {
    let (mut from, mut polls) = (less, 0.0);
    while from < more {
        let until = (((from / POLLS).floor() + 1.0) * POLLS).min(more);
        polls += (until - from) / between_polls(from, rules);
        from = until;
    }
    polls
}

#[cfg(test)]
mod tests {
    use vestibule_core::poll_after;

    use super::*;

    #[test]
    fn skipped_polls_are_counted_exactly() {
        let rules = LineRules::with_quota(1);
        for (less, more) in [(900.0, 1800.0), (100.0, 200.0), (5.0, 30.0), (10.0, 3000.0)] {
            let count = polls_one_by_one(less, more, &rules);
            let skipped = polls(less, more, &rules);
            assert!((skipped / f64::from(count) - 1.0).abs() < 0.06, "{less}..{more}: {skipped} and {count}");
        }
    }

    /// Polls while the wait decreases as it is shown, each when the one before said.
    fn polls_one_by_one(less: f64, more: f64, rules: &LineRules) -> u32 {
        let (mut wait, mut count) = (more, 0_u32);
        while wait > less {
            let now = Micros(u64::from(count).wrapping_mul(7_919));
            let full = presence_ttl(rules, wait) as u64;
            wait -= poll_after(Some(1000), Some(wait as u64), full, None, now) as f64;
            count += 1;
        }
        count
    }

    /// With the request that joins, the one that confirms, and the one that enters.
    #[test]
    fn a_long_wait_takes_few_requests() {
        for (minutes, most) in [(30.0, 92), (60.0, 115)] {
            let requests = 3 + polls_one_by_one(0.0, minutes * 60.0, &LineRules::with_quota(1));
            assert!(requests <= most, "{minutes} minutes: {requests} requests");
        }
    }
}
