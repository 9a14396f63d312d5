//! How long until it is one's turn: the wait as two points of its predictive distribution.
//!
//! docs/estimates.md says how it was made, and how often it is right.

use crate::line::{Flow, LineRules, PACE_WINDOW};
use crate::standing::WaitSeconds;
use crate::time::Micros;

/// Longest wait that is told, in seconds: a week. What is longer is as good as unknown.
const WAIT_MAX: f64 = 604_800.0;
/// Who is let in sees it at the next poll, this many seconds later in the mean.
const NOTICED_AFTER: f64 = 1.0;
/// Those who leave the line are the impatient, of whom fewer are left later on: this share goes on leaving.
const GO_ON_LEAVING: f64 = 0.8;
/// Leaving nobody is believed for this many seconds of one who waits, before anybody is seen to stay or to leave.
const PATIENCE: f64 = 600.0;

/// What admissions wait for, and how evenly they come for it.
struct Limit {
    /// How many admissions' worth of belief the expected pace gets before any is seen.
    belief: f64,
    /// How many admissions' worth of certainty it gets.
    certainty: f64,
    /// Variance of the number of admissions in a given time, as a multiple of its mean: 1 is a Poisson process.
    dispersion: f64,
    /// What the median is multiplied by: those who shop leave somewhat more evenly than at random.
    lean: f64,
    /// How much of the own admission's time has passed, at the median and at the 0.9-quantile.
    passed: (f64, f64),
}

/// All places are taken: people wait for those who are in to leave.
const PLACES: Limit = Limit { belief: 0.75, certainty: 3.0, dispersion: 1.4, lean: 0.955, passed: (0.0, 0.0) };
/// Places are free and the rate lets people in one by one, like a clock.
const RATE: Limit = Limit { belief: 2.0, certainty: 2.0, dispersion: 0.006, lean: 1.0, passed: (0.5, 0.2) };

/// The expected wait at `position` (from 1).
///
/// Admissions are taken as a process whose rate has a Gamma(a, b) belief: a prior at the rate that quota, `active_ttl`
/// and `admissions_per_minute` let expect, plus the admissions seen in the seconds they were seen in. The time until k
/// more admissions then is b times a beta prime variable with shapes k and a (a Gamma-Poisson mixture waits like a compound
/// gamma distribution: Dubey 1970, "Compound gamma, beta and F distributions";
/// <https://en.wikipedia.org/wiki/Beta_prime_distribution#Compound_gamma_distribution>), which is b k / a times an F
/// variable with 2k and 2a degrees of freedom, both divided by the dispersion. Its quantiles are taken from `f_quantile`.
///
/// The line also moves by those who leave it ahead of their turn: at a rate of h each, a line of k falls as
/// dk/dt = -(a + h k), so that what would take t without them takes ln(1 + h t) / h.
///
/// `None` while nobody is admitted: in `paused` and `closed`, and with nothing to go by.
#[must_use]
pub fn expected_wait(rules: &LineRules, flow: &Flow, now: Micros, position: u64) -> Option<Wait> {
    if !rules.mode.admits() {
        return None;
    }
    let places = rules.quota as f64 / rules.active_ttl as f64;
    let rate = rules.admissions_per_minute.map_or(f64::INFINITY, |per_minute| per_minute as f64 / 60.0);
    let expected = places.min(rate);
    if expected <= 0.0 {
        return None;
    }
    let by_rate = rate.is_finite() && flow.active < rules.quota;
    let limit = if by_rate { RATE } else { PLACES };
    // Those above a lowered quota leave first.
    let ahead = position.max(1) as f64 + flow.active.saturating_sub(rules.quota) as f64;
    let seen = flow.pace.observed(now);
    // Who slept through their turn comes back to the head, and is admitted once more.
    let admissions = (seen.admissions + seen.gone.min(0.0)).max(0.0);
    let pace = (limit.belief + admissions) / (limit.belief / expected.min(rate) + seen.seconds);
    let pace = pace.min(rate);
    let leaving = GO_ON_LEAVING * seen.gone.max(0.0) / (flow.waiting as f64 * seen.seconds + PATIENCE);
    let quantile = |z: f64, passed: f64| {
        let spread =
            f_quantile(z, 2.0 * ahead / limit.dispersion, 2.0 * (limit.certainty + admissions) / limit.dispersion);
        let alone = (limit.lean * (ahead - passed) / pace * spread).max((ahead - RATE.passed.0) / rate);
        let wait = if leaving > 0.0 { (leaving * alone).ln_1p() / leaving } else { alone };
        (1000.0 * (wait + NOTICED_AFTER).clamp(0.0, WAIT_MAX)).round() as u64
    };
    let (p50_ms, p90_ms) = (quantile(0.0, limit.passed.0), quantile(NORMAL_P90, limit.passed.1));
    Some(Wait { p50_ms, p90_ms: p90_ms.max(p50_ms) })
}

/// Seconds in which a shown wait follows what is known now by all but a third.
const FOLLOWS_WITHIN: f64 = 60.0;

/// Below this many seconds a wait is shown as it is known.
const SOON: f64 = 60.0;

/// An expected wait, finer than it is shown: in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Half of those at this position wait less.
    pub p50_ms: u64,
    /// Nine of ten at this position wait less.
    pub p90_ms: u64,
}

impl Wait {
    /// What a visitor is shown who was shown a median of `before_ms`, `passed` seconds ago: what that lets expect by now,
    /// and of what is known now (`self`) the more the longer ago it was. So a wait does not jump with everyone who leaves
    /// a place. The range keeps its proportions.
    #[must_use]
    pub fn after(self, before_ms: u64, passed: f64) -> Self {
        let expected = before_ms as f64 - passed * 1000.0;
        if expected.min(self.p50_ms as f64) < SOON * 1000.0 {
            return self;
        }
        let share = -(-passed / FOLLOWS_WITHIN).exp_m1();
        let p50 = expected + share * (self.p50_ms as f64 - expected);
        let p90 = self.p90_ms as f64 * p50 / self.p50_ms as f64;
        Self { p50_ms: p50.round() as u64, p90_ms: p90.round() as u64 }
    }

    /// In whole seconds, as it is shown.
    #[must_use]
    pub const fn seconds(self) -> WaitSeconds {
        WaitSeconds { p50: (self.p50_ms + 500) / 1000, p90: (self.p90_ms + 500) / 1000 }
    }
}

/// The expected wait at `position`, in whole seconds: [`expected_wait`].
#[must_use]
pub fn wait_estimate(rules: &LineRules, flow: &Flow, now: Micros, position: u64) -> Option<WaitSeconds> {
    expected_wait(rules, flow, now, position).map(Wait::seconds)
}

const _: () = assert!(PACE_WINDOW == 300, "the constants above were found with this window");

/// The 0.9-quantile of the standard normal distribution.
const NORMAL_P90: f64 = 1.281_551_565_544_6;

/// The quantile of an F distribution that answers to the standard normal quantile `z`: Abramowitz and Stegun 26.6.15,
/// after Paulson 1942, by way of cube roots that are nearly normal (Wilson and Hilferty). For the 8 and more degrees of
/// freedom that `denominator` has here it is right within 2 %, in constant time and whatever the size of the line.
fn f_quantile(z: f64, numerator: f64, denominator: f64) -> f64 {
    let (a, b) = (2.0 / (9.0 * numerator), 2.0 / (9.0 * denominator));
    let spread = (b * (1.0 - a).powi(2) + a * (1.0 - b).powi(2) - a * b * z * z).sqrt();
    let root = ((1.0 - a) * (1.0 - b) + z * spread) / ((1.0 - b).powi(2) - b * z * z);
    root.powi(3)
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{Rng as _, SeedableRng as _};

    use super::*;
    use crate::line::{Mode, Pace};

    fn rules(quota: u64) -> LineRules {
        LineRules {
            mode: Mode::Open,
            quota,
            admissions_per_minute: None,
            waiting_ttl: 60,
            active_ttl: 600,
            claim_ttl: 30,
            hold_ttl: 600,
            max_session: None,
            epoch: 1,
            revision: 1,
        }
    }

    /// A full house whose line moved evenly for two windows.
    fn steady(quota: u64, admissions: u64, gone: i64) -> (Flow, Micros) {
        let start = Micros(1_000_000_000);
        let now = start.plus_seconds(2 * PACE_WINDOW);
        let window = Micros(now.0 - PACE_WINDOW * 1_000_000);
        let (current, previous, gone_before) = (admissions, admissions, gone);
        let pace = Pace { since: start, window, current, previous, gone, gone_before };
        (Flow { waiting: 1000, active: quota, pace }, now)
    }

    #[test]
    fn without_history_the_quota_and_the_time_inside_say_how_long_and_the_range_is_wide() {
        let full = Flow { waiting: 600, active: 600, pace: Pace::default() };
        let wait = wait_estimate(&rules(600), &full, Micros(0), 600).unwrap();
        assert!((450..=750).contains(&wait.p50), "{wait:?}");
        assert!(wait.p90 > 2 * wait.p50 && wait.p90 < 5 * wait.p50, "{wait:?}");
        assert_eq!(wait_estimate(&rules(0), &full, Micros(0), 1), None);
    }

    #[test]
    fn nobody_is_told_a_wait_while_nobody_is_admitted() {
        let (flow, now) = steady(600, 300, 0);
        for (mode, is_told) in
            [(Mode::Open, true), (Mode::Draining, true), (Mode::Paused, false), (Mode::Closed, false)]
        {
            let rules = LineRules { mode, ..rules(600) };
            assert_eq!(wait_estimate(&rules, &flow, now, 1).is_some(), is_told, "{mode:?}");
        }
    }

    #[test]
    fn with_history_the_pace_of_the_last_minutes_counts() {
        let (flow, now) = steady(600, 5 * PACE_WINDOW, 0);
        let wait = wait_estimate(&rules(600), &flow, now, 1500).unwrap();
        assert!((280..=305).contains(&wait.p50), "{wait:?}");
        assert!((300..=330).contains(&wait.p90), "{wait:?}");
    }

    #[test]
    fn those_who_leave_the_line_shorten_the_wait_of_those_behind() {
        let wait = |gone: i64, position: u64| {
            let (flow, now) = steady(600, PACE_WINDOW, gone);
            wait_estimate(&rules(600), &flow, now, position).unwrap()
        };
        let (patient, impatient) = (wait(0, 1000), wait(300, 1000));
        assert!(impatient.p50 < patient.p50 * 4 / 5, "{impatient:?} {patient:?}");
        assert!(wait(300, 3).p50.abs_diff(wait(0, 3).p50) <= 1, "hardly anybody leaves ahead of the third");
    }

    #[test]
    fn a_rate_that_limits_lets_in_like_a_clock() {
        let rules = LineRules { admissions_per_minute: Some(60), ..rules(600) };
        let (flow, now) = steady(100, PACE_WINDOW, 0);
        let wait = wait_estimate(&rules, &flow, now, 600).unwrap();
        assert!(wait.p50.abs_diff(600) <= 2 && wait.p90 <= 606, "{wait:?}");
        let fast = Flow { pace: Pace { current: 9000, previous: 9000, ..flow.pace }, ..flow };
        assert!(wait_estimate(&rules, &fast, now, 600).unwrap().p50 >= 600, "a release is no pace to count on");
    }

    #[test]
    fn those_above_a_lowered_quota_leave_first() {
        let (full, now) = steady(100, PACE_WINDOW, 0);
        let above = Flow { active: 150, ..full };
        let wait = |flow: &Flow, position| wait_estimate(&rules(100), flow, now, position).unwrap();
        assert_eq!(wait(&above, 10), wait(&full, 60));
    }

    #[test]
    fn a_shown_wait_shrinks_with_time_and_follows_what_is_known_within_a_minute_or_two() {
        let now = Wait { p50_ms: 300_000, p90_ms: 400_000 };
        assert_eq!(now.after(600_000, 0.0).p50_ms, 600_000, "who asks twice at once is told the same");
        let soon = now.after(600_000, 2.0);
        assert!((585_000..=595_000).contains(&soon.p50_ms), "{soon:?}");
        assert_eq!(soon.p90_ms / 1000, soon.p50_ms * 4 / 3000, "{soon:?}");
        let mut shown = 600_000;
        for _ in 0..30 {
            shown = now.after(shown, 5.0).p50_ms;
        }
        assert!(shown.abs_diff(300_000) < 80_000, "{shown}");
        assert_eq!(now.after(61_000, 2.0), now, "near the end it is shown as it is known");
        assert_eq!(now.after(5000, 600.0), now, "who was away for longer than the wait is told anew");
    }

    #[test]
    fn the_quantiles_are_those_of_the_gamma_poisson_mixture() {
        let mut rng = SmallRng::seed_from_u64(7);
        let mut gamma = |shape: u64| -> f64 { (0..shape).map(|_| -rng.random::<f64>().max(1e-300).ln()).sum() };
        let mut ratios: Vec<f64> = (0..20_000).map(|_| gamma(20) / gamma(12)).collect();
        ratios.sort_by(f64::total_cmp);
        for (z, index) in [(0.0, 10_000), (NORMAL_P90, 18_000)] {
            let found = f_quantile(z, 40.0, 24.0) * 20.0 / 12.0;
            assert!((found / ratios[index] - 1.0).abs() < 0.03, "{found} {}", ratios[index]);
        }
    }

    #[test]
    fn the_quantiles_at_the_head_are_the_exact_ones() {
        for shape in [4.0, 10.0, 100.0] {
            for (z, p) in [(0.0, 0.5_f64), (NORMAL_P90, 0.9)] {
                let exact = (1.0 - p).powf(-1.0 / shape) - 1.0;
                let found = f_quantile(z, 2.0, 2.0 * shape) / shape;
                assert!((found / exact - 1.0).abs() < 0.02, "{shape} {p}: {found} {exact}");
            }
        }
    }

    #[test]
    fn the_estimate_holds_from_the_head_to_the_millionth() {
        let (flow, now) = steady(30_000, 50 * PACE_WINDOW, 0);
        let mut last = 0;
        for position in [1, 2, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
            let wait = wait_estimate(&rules(30_000), &flow, now, position).unwrap();
            assert!(wait.p50 >= last && wait.p90 >= wait.p50, "{position}: {wait:?}");
            assert!(wait.p50.abs_diff(position / 50) <= position / 500 + 1, "{position}: {wait:?}");
            last = wait.p50;
        }
    }
}
