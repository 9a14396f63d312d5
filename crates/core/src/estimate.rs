//! How long until it is one's turn: the wait as two points of its predictive distribution.

use crate::line::{LineRules, Pace};
use crate::standing::WaitSeconds;
use crate::time::Micros;

/// How many admissions' worth of belief the prior rate gets.
const PRIOR_ADMISSIONS: f64 = 4.0;
/// Longest wait that is told, in seconds: a week. What is longer is as good as unknown.
const WAIT_MAX: f64 = 604_800.0;

/// The expected wait at `position` (from 1).
///
/// Admissions are taken as a Poisson process whose rate has a Gamma(a, b) belief: a prior worth `PRIOR_ADMISSIONS` at
/// the rate that quota, `active_ttl` and `admissions_per_minute` let expect, plus the admissions seen in the seconds they
/// were seen in. The time until k more admissions then is b times a beta prime variable with shapes k and a (a
/// Gamma-Poisson mixture waits like a compound gamma distribution: Dubey 1970, "Compound gamma, beta and F
/// distributions"; <https://en.wikipedia.org/wiki/Beta_prime_distribution#Compound_gamma_distribution>), which is b k / a
/// times an F variable with 2k and 2a degrees of freedom. Its quantiles are taken from `f_quantile`.
///
/// `None` while nobody is admitted: in `paused` and `closed`, and with nothing to go by.
#[must_use]
pub fn wait_estimate(rules: &LineRules, pace: &Pace, now: Micros, position: u64) -> Option<WaitSeconds> {
    if !rules.mode.admits() {
        return None;
    }
    let places = rules.quota as f64 / rules.active_ttl as f64;
    let limit = rules.admissions_per_minute.map_or(f64::INFINITY, |per_minute| per_minute as f64 / 60.0);
    let prior = places.min(limit);
    if prior <= 0.0 {
        return None;
    }
    let (admissions, seconds) = pace.observed(now);
    let (shape, rate) = (PRIOR_ADMISSIONS + admissions, PRIOR_ADMISSIONS / prior + seconds);
    let position = position.max(1) as f64;
    let quantile =
        |z: f64| (rate * position / shape * f_quantile(z, 2.0 * position, 2.0 * shape)).clamp(0.0, WAIT_MAX).round();
    let (p50, p90) = (quantile(0.0), quantile(NORMAL_P90));
    Some(WaitSeconds { p50: p50 as u64, p90: (p90 as u64).max(p50 as u64) })
}

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
    use crate::line::Mode;

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

    fn steady(seconds: u64, per_second: u64) -> (Pace, Micros) {
        let start = Micros(1_000_000_000);
        let now = start.plus_seconds(seconds);
        let mut pace = Pace { since: start, window: start, current: 0, previous: 0 };
        if seconds >= 120 {
            pace.window = Micros(now.0 - 60_000_000);
            (pace.previous, pace.current) = (120 * per_second, 60 * per_second);
        } else {
            pace.current = seconds * per_second;
        }
        (pace, now)
    }

    #[test]
    fn without_history_the_quota_and_the_time_inside_say_how_long() {
        let wait = wait_estimate(&rules(600), &Pace::default(), Micros(0), 600).unwrap();
        assert!((500..=800).contains(&wait.p50), "{wait:?}");
        assert!(wait.p90 > wait.p50);
        assert_eq!(wait_estimate(&rules(0), &Pace::default(), Micros(0), 1), None);
        let paused = LineRules { mode: Mode::Paused, ..rules(600) };
        assert_eq!(wait_estimate(&paused, &Pace::default(), Micros(0), 1), None);
    }

    #[test]
    fn with_history_the_pace_of_the_last_minutes_counts() {
        let (pace, now) = steady(300, 5);
        let wait = wait_estimate(&rules(600), &pace, now, 1500).unwrap();
        assert!((290..=310).contains(&wait.p50), "{wait:?}");
        assert!((300..=330).contains(&wait.p90), "{wait:?}");
    }

    #[test]
    fn the_quantiles_are_those_of_the_gamma_poisson_mixture() {
        let mut rng = SmallRng::seed_from_u64(7);
        let mut gamma = |shape: u64| -> f64 { (0..shape).map(|_| -rng.random::<f64>().max(1e-300).ln()).sum() };
        let pace = Pace { since: Micros(0), window: Micros(0), current: 8, previous: 0 };
        let rules = rules(600);
        let wait = wait_estimate(&rules, &pace, Micros(8_000_000), 20).unwrap();
        let mut waits: Vec<f64> = (0..20_000).map(|_| gamma(20) / (gamma(12) / (4.0 + 8.0))).collect();
        waits.sort_by(f64::total_cmp);
        assert!((wait.p50 as f64 - waits[10_000]).abs() <= 1.0, "{wait:?} {}", waits[10_000]);
        assert!((wait.p90 as f64 - waits[18_000]).abs() <= 1.5, "{wait:?} {}", waits[18_000]);
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
        let (pace, now) = steady(300, 50);
        let mut last = 0;
        for position in [1, 2, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
            let wait = wait_estimate(&rules(30_000), &pace, now, position).unwrap();
            assert!(wait.p50 >= last && wait.p90 >= wait.p50, "{position}: {wait:?}");
            assert!(wait.p50.abs_diff(position / 50) <= position / 500 + 1, "{position}: {wait:?}");
            last = wait.p50;
        }
    }
}
