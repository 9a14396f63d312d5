#![doc = include_str!("../README.md")]

mod quantile;
mod quota;
mod shown;
mod slots;
#[cfg(test)]
mod tests;

use vestibule_core::line::{Flow, LineRules, Mode, Observed, PACE_WINDOW, Stats};
use vestibule_core::{MICROS_PER_SECOND, Micros, WaitSeconds};

use self::quantile::{NORMAL_P90, f_quantile};
pub use self::quota::{QuotaForecast, quota_forecast};
pub use self::shown::WaitRange;
use self::slots::{SlotModel, prior_admission_rate};

/// Longest estimate, in seconds: one week. Longer waits are reported as unknown.
const WAIT_MAX: f64 = 604_800.0;
/// Share of a step of `admissions_every` by which an admission is later than at an even rate, at the median and at the
/// 0.9-quantile.
const STEP_DELAY: (f64, f64) = (0.5, 0.9);
/// Mean delay, in seconds, until an admitted visitor notices the admission at the next poll.
const NOTICE_DELAY: f64 = 1.0;
/// Share of the abandonment rate that is expected to continue. Impatient visitors leave first, so
/// abandonment slows down.
const ABANDONMENT_PERSISTENCE: f64 = 0.8;
/// Prior of the abandonment rate: seconds of waiting without an abandonment, assumed before any data.
const ABANDONMENT_PRIOR: f64 = 600.0;

/// Shape of the Gamma prior of the admission rate while the line waits for slots, in equivalent
/// admissions.
const SLOT_PRIOR_SHAPE: f64 = 4.0;
/// Correction of the median: departures of active visitors are slightly more regular than a Poisson
/// process.
const MEDIAN_CORRECTION: f64 = 0.96;
/// Shape of the Gamma prior while `admissions_per_minute` is the limit, in equivalent admissions.
const RATE_PRIOR_SHAPE: f64 = 2.0;
/// Variance-to-mean ratio of the number of admissions while the rate is the limit; admissions are
/// nearly periodic then.
const RATE_DISPERSION: f64 = 0.006;
/// Share of the visitor's own admission interval that has passed, at the median and at the
/// 0.9-quantile.
const RATE_INTERVAL_PASSED: (f64, f64) = (0.5, 0.2);

const _: () = assert!(PACE_WINDOW == 300, "the constants of the estimate were found with this window");

/// The predicted time for a number of admissions.
struct Forecast {
    /// Seconds at the median and at the 0.9-quantile, if the admission rate is as expected.
    seconds: (f64, f64),
    /// Shape of the Gamma posterior of the admission rate, in equivalent admissions.
    shape: f64,
    /// Variance-to-mean ratio of the number of admissions in a given time; 1 is a Poisson process.
    dispersion: f64,
}

impl Forecast {
    /// All slots are taken: the line waits for active sessions to end.
    fn limited_by_slots(rules: &LineRules, rate: f64, seen: &Observed, admissions: f64, ahead: f64) -> Self {
        let slots = SlotModel::of(rules, rate, seen, admissions);
        let seconds = slots.median_seconds(MEDIAN_CORRECTION * ahead);
        let shape = 1.0 / (1.0 / (SLOT_PRIOR_SHAPE + admissions) + slots.log_rate_variance(ahead));
        Self { seconds: (seconds, seconds), shape, dispersion: 1.0 }
    }

    /// This many slots are free: until they are taken, the line moves at the configured admission rate.
    fn limited_by_rate(rules: &LineRules, rate: f64, free: f64, seen: &Observed, ahead: f64) -> Self {
        let to_free_slots = ahead.min(free);
        let expected = ahead / (to_free_slots / rate + (ahead - to_free_slots) / prior_admission_rate(rules).min(rate));
        // A window with fewer than two steps says nothing: it may have none.
        let is_observable = rules.admissions_every.is_none_or(|every| 2 * every <= PACE_WINDOW);
        let (admissions, observed) = if is_observable { (moved(seen), seen.seconds) } else { (0.0, 0.0) };
        let shape = RATE_PRIOR_SHAPE + admissions;
        let pace = (shape / (RATE_PRIOR_SHAPE / expected + observed)).min(rate);
        let seconds = |passed: f64| (ahead - passed) / pace;
        Self {
            seconds: (seconds(RATE_INTERVAL_PASSED.0), seconds(RATE_INTERVAL_PASSED.1)),
            shape,
            dispersion: RATE_DISPERSION,
        }
    }
}

/// The expected wait at `position` (from 1).
///
/// Admissions are modeled as a process whose rate has a Gamma(a, b) distribution. The prior is the
/// admission rate expected from quota, `active_ttl` and `admissions_per_minute`; observed
/// admissions and the observed time update it. The time until k more admissions is then b times a
/// beta prime variable with shapes k and a (a Gamma-Poisson mixture waits like a compound gamma
/// distribution: Dubey 1970, "Compound gamma, beta and F distributions";
/// <https://en.wikipedia.org/wiki/Beta_prime_distribution#Compound_gamma_distribution>), which is b
/// k / a times an F variable with 2k and 2a degrees of freedom, both divided by the dispersion.
/// `f_quantile` computes its quantiles. While the line waits for slots, b k / a is replaced by the
/// time that follows from the observed holding times (`SlotModel`), and a is capped by the variance of
/// the admission rate.
///
/// Abandonment also shortens the line: at an abandonment rate of h per waiting session, a line of
/// length k shrinks by dk/dt = -(a + h k). A wait of t without abandonment becomes ln(1 + h t) / h.
///
/// `None` while no visitor is admitted (`paused` and `closed`), and while there is no basis for an
/// estimate.
pub fn estimate_wait(rules: &LineRules, flow: &Flow, now: Micros, position: u64) -> Option<WaitRange> {
    let rate = rules.admissions_per_minute.map_or(f64::INFINITY, |per_minute| per_minute as f64 / 60.0);
    if !rules.mode.admits() || rules.quota == 0 || rate <= 0.0 {
        return None;
    }
    let ahead = position.max(1) as f64 + above_quota(rules.quota as f64, flow.active as f64);
    let seen = flow.pace.observed(now);
    let admissions = moved(&seen);
    let forecast = if rate.is_finite() && flow.active < rules.quota {
        let free = (rules.quota - flow.active) as f64;
        // Nobody is admitted between steps, which says nothing about the rate.
        let seen = flow.pace.observed(last_step(rules, now));
        Forecast::limited_by_rate(rules, rate, free, &seen, ahead)
    } else {
        Forecast::limited_by_slots(rules, rate, &seen, admissions, ahead)
    };
    let leaving =
        ABANDONMENT_PERSISTENCE * seen.departures.max(0.0) / (flow.waiting as f64 * seen.seconds + ABANDONMENT_PRIOR);
    let step = rules.admissions_every.unwrap_or(0) as f64;
    let quantile = |z: f64, seconds: f64, step_delay: f64| {
        let spread = f_quantile(z, 2.0 * ahead / forecast.dispersion, 2.0 * forecast.shape / forecast.dispersion);
        let alone = (seconds * spread).max((ahead - RATE_INTERVAL_PASSED.0) / rate);
        let wait = if leaving > 0.0 { (leaving * alone).ln_1p() / leaving } else { alone };
        (1000.0 * (wait + step * step_delay + NOTICE_DELAY).clamp(0.0, WAIT_MAX)).round() as u64
    };
    let p50_ms = quantile(0.0, forecast.seconds.0, STEP_DELAY.0);
    let p90_ms = quantile(NORMAL_P90, forecast.seconds.1, STEP_DELAY.1);
    Some(WaitRange { p50_ms, p90_ms: p90_ms.max(p50_ms) })
}

/// Admissions that moved the line. A visitor who missed their turn returns to the head of the line and is admitted a second time.
fn moved(seen: &Observed) -> f64 {
    (seen.admissions + seen.departures.min(0.0)).max(0.0)
}

/// The last instant at which the rate allowed admissions: the last whole multiple of `admissions_every`, or now.
fn last_step(rules: &LineRules, now: Micros) -> Micros {
    rules.admissions_every.map_or(now, |every| Micros(now.0 - now.0 % (every * MICROS_PER_SECOND)))
}

/// Number of admissions that the sessions above a lowered quota are equivalent to. They must end
/// before anyone is admitted. Each ends at the same rate, so their number decays as exp(-t), and a
/// larger excess shrinks faster.
fn above_quota(quota: f64, active: f64) -> f64 {
    quota * (active / quota).max(1.0).ln()
}

/// The expected wait of a visitor who joins now. Zero if the same request would admit them; `None` if
/// nobody can join, and during a recovery, as part of the line has not returned.
pub fn newcomer_wait(stats: &Stats) -> Option<WaitSeconds> {
    let rules = &stats.rules.in_mode(stats.mode);
    let has_slot = stats.waiting == 0 && stats.active + stats.reserved < rules.quota;
    let is_paid = stats.paid_admissions.is_none_or(|paid| paid > 0);
    let at_once = rules.mode == Mode::Open && has_slot && is_paid;
    let wait = if at_once {
        Some(WaitSeconds { p50: 0, p90: 0 })
    } else {
        estimate_wait(rules, &stats.flow(), stats.now, stats.waiting + 1).map(WaitRange::seconds)
    };
    wait.filter(|_| rules.mode.accepts_joins() && !stats.recovering)
}
