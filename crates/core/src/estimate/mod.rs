//! How long until it is one's turn: the wait as two points of its predictive distribution.
//!
//! docs/estimates.md says how it was made, and how often it is right.

mod places;
mod quantile;
mod shown;
#[cfg(test)]
mod tests;

use self::places::{Places, expected_pace};
use self::quantile::{NORMAL_P90, f_quantile};
pub use self::shown::WaitRange;
use crate::line::{Flow, LineRules, Observed, PACE_WINDOW};
use crate::time::Micros;
use crate::visitor_status::WaitSeconds;

/// Longest wait that is told, in seconds: a week. What is longer is as good as unknown.
const WAIT_MAX: f64 = 604_800.0;
/// Who is let in sees it at the next poll, this many seconds later in the mean.
const NOTICED_AFTER: f64 = 1.0;
/// Those who leave the line are the impatient, of whom fewer are left later on: this share goes on leaving.
const GO_ON_LEAVING: f64 = 0.8;
/// Leaving nobody is believed for this many seconds of one who waits, before anybody is seen to stay or to leave.
const PATIENCE: f64 = 600.0;

/// How many admissions' worth of certainty the expected pace gets, where people wait for others to leave.
const CERTAINTY: f64 = 4.0;
/// What the median is multiplied by: those who shop leave somewhat more evenly than at random.
const LEAN: f64 = 0.96;
/// How many admissions' worth of belief and certainty the rate gets, where it lets people in one by one.
const RATE_BELIEF: f64 = 2.0;
/// Variance of the number that the rate lets in within a time, as a multiple of its mean: it does so like a clock.
const RATE_DISPERSION: f64 = 0.006;
/// How much of the own admission's time has passed there, at the median and at the 0.9-quantile.
const RATE_PASSED: (f64, f64) = (0.5, 0.2);

const _: () = assert!(PACE_WINDOW == 300, "the constants of the estimate were found with this window");

/// How so many admissions are expected to come.
struct Course {
    /// In how many seconds, at the median and at the 0.9-quantile, as long as the pace is what it is believed to be.
    seconds: (f64, f64),
    /// How many admissions' worth of belief that is.
    shape: f64,
    /// Variance of their number in a given time, as a multiple of its mean: 1 is a Poisson process.
    dispersion: f64,
}

impl Course {
    /// All places are taken: people wait for those who are in to leave.
    fn by_places(rules: &LineRules, rate: f64, seen: &Observed, admissions: f64, ahead: f64) -> Self {
        let places = Places::of(rules, rate, seen, admissions);
        let seconds = places.seconds_for(LEAN * ahead);
        let shape = 1.0 / (1.0 / (CERTAINTY + admissions) + places.strays(ahead));
        Self { seconds: (seconds, seconds), shape, dispersion: 1.0 }
    }

    /// Places are free and the rate lets people in one by one, like a clock.
    fn by_rate(rules: &LineRules, rate: f64, seen: &Observed, admissions: f64, ahead: f64) -> Self {
        let expected = expected_pace(rules).min(rate);
        let shape = RATE_BELIEF + admissions;
        let pace = (shape / (RATE_BELIEF / expected + seen.seconds)).min(rate);
        let seconds = |passed: f64| (ahead - passed) / pace;
        Self { seconds: (seconds(RATE_PASSED.0), seconds(RATE_PASSED.1)), shape, dispersion: RATE_DISPERSION }
    }
}

/// The expected wait at `position` (from 1).
///
/// Admissions are taken as a process whose rate has a Gamma(a, b) belief: a prior at the rate that quota, `active_ttl`
/// and `admissions_per_minute` let expect, plus the admissions seen in the seconds they were seen in. The time until k
/// more admissions then is b times a beta prime variable with shapes k and a (a Gamma-Poisson mixture waits like a compound
/// gamma distribution: Dubey 1970, "Compound gamma, beta and F distributions";
/// <https://en.wikipedia.org/wiki/Beta_prime_distribution#Compound_gamma_distribution>), which is b k / a times an F
/// variable with 2k and 2a degrees of freedom, both divided by the dispersion. Its quantiles are taken from `f_quantile`.
/// Where people wait for places, b k / a becomes what the stays so far let expect (`Places`), and a is no more than what
/// the pace's own straying leaves of it.
///
/// The line also moves by those who leave it ahead of their turn: at a rate of h each, a line of k falls as
/// dk/dt = -(a + h k), so that what would take t without them takes ln(1 + h t) / h.
///
/// `None` while nobody is admitted: in `paused` and `closed`, and with nothing to go by.
#[must_use]
pub fn expected_wait(rules: &LineRules, flow: &Flow, now: Micros, position: u64) -> Option<WaitRange> {
    let rate = rules.admissions_per_minute.map_or(f64::INFINITY, |per_minute| per_minute as f64 / 60.0);
    if !rules.mode.admits() || rules.quota == 0 || rate <= 0.0 {
        return None;
    }
    let ahead = position.max(1) as f64 + above_quota(rules.quota as f64, flow.active as f64);
    let seen = flow.pace.observed(now);
    // Who slept through their turn comes back to the head, and is admitted once more.
    let admissions = (seen.admissions + seen.departures.min(0.0)).max(0.0);
    let by_rate = rate.is_finite() && flow.active < rules.quota;
    let course = if by_rate { Course::by_rate } else { Course::by_places };
    let course = course(rules, rate, &seen, admissions, ahead);
    let leaving = GO_ON_LEAVING * seen.departures.max(0.0) / (flow.waiting as f64 * seen.seconds + PATIENCE);
    let quantile = |z: f64, seconds: f64| {
        let spread = f_quantile(z, 2.0 * ahead / course.dispersion, 2.0 * course.shape / course.dispersion);
        let alone = (seconds * spread).max((ahead - RATE_PASSED.0) / rate);
        let wait = if leaving > 0.0 { (leaving * alone).ln_1p() / leaving } else { alone };
        (1000.0 * (wait + NOTICED_AFTER).clamp(0.0, WAIT_MAX)).round() as u64
    };
    let (p50_ms, p90_ms) = (quantile(0.0, course.seconds.0), quantile(NORMAL_P90, course.seconds.1));
    Some(WaitRange { p50_ms, p90_ms: p90_ms.max(p50_ms) })
}

/// As how many admissions it counts that those above a lowered quota leave first. Each leaves as soon as anybody, so they
/// become fewer as exp(-t) does, and the more they are, the more leave.
fn above_quota(quota: f64, active: f64) -> f64 {
    quota * (active / quota).max(1.0).ln()
}

/// The expected wait at `position`, in whole seconds: [`expected_wait`].
#[must_use]
pub fn wait_estimate(rules: &LineRules, flow: &Flow, now: Micros, position: u64) -> Option<WaitSeconds> {
    expected_wait(rules, flow, now, position).map(WaitRange::seconds)
}
