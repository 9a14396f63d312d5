//! Models how soon slots become free.

use vestibule_core::line::{LineRules, Observed};

/// Prior for the mean holding time of a slot, as a share of `active_ttl`.
const HOLD_PRIOR: f64 = 0.53;
/// Weight of that prior in equivalent admissions: a constant, and an addition per slot.
const HOLD_PRIOR_WEIGHT: (f64, f64) = (0.75, 0.05);
/// Prior for the abandoned share: admitted visitors who close the site without a signal.
const ABANDONED_SHARE_PRIOR: f64 = 0.27;
/// Number of ended sessions at which the observed mean stay and the prior have equal weight.
const STAY_PRIOR_WEIGHT: f64 = 8.0;
/// Square of the number of mean stays since counting began at which observation and prior have
/// equal weight.
const STAY_PRIOR_TURNOVER: f64 = 0.7;
/// Lower bound of the mean stay, as a share of the time in which as many sessions end as there are
/// slots.
const STAY_MIN: f64 = 0.3;
/// Seconds after the first slots expire in which the observed rate replaces the rate derived from
/// stays.
const OBSERVED_RATE_BLEND_SECONDS: f64 = 150.0;
/// Weight of the ended stays against that of the admissions after the first slots expire. While
/// many slots expire together, one estimate is too long and the other too short.
const ENDED_STAYS_WEIGHT: f64 = 0.3;
/// Correction for slots that expire together: visitors admitted then leave early, before the mean
/// holding time has passed.
const COHORT_CORRECTION: f64 = 0.87;
/// Minimum variance of the logarithm of the admission rate.
const LOG_RATE_VARIANCE_MIN: f64 = 0.001;
/// The same variance before any session has ended, and the share of slots freed at which it is
/// halved.
const LOG_RATE_VARIANCE_EARLY: (f64, f64) = (0.07, 0.3);
/// The same variance at the head of the line if all slots expire together, and the factor by which
/// it shrinks one quota further back.
const LOG_RATE_VARIANCE_COHORT: (f64, f64) = (1.5, 4.0);
/// Bisection steps for the abandoned share: precise to one ten-thousandth.
const BISECTION_STEPS: u32 = 13;

/// The mean stay that follows from the stays that ended, and how much it says.
#[derive(Debug, Clone, Copy)]
struct ObservedStay {
    /// In seconds, including stays that continue.
    mean: f64,
    /// Weight against a prior, from 0 to 1.
    weight: f64,
}

impl ObservedStay {
    /// If all stays began after counting did, those that ended by the age t have a mean stay of m truncated to m (1 - (1 -
    /// exp(-t/m)) / (t/m)). The number of mean stays that have passed is the inverse, accurate to one eighth.
    fn of(seen: &Observed) -> Self {
        // Stays of less than a second count as one.
        let ages = seen.age * seen.short_stays / seen.short_seconds.max(seen.short_stays).max(1.0);
        let passed = ((ages - 2.0) * 1.5).min(ages - 1.0).max(0.0);
        let turnover = passed * passed / (passed * passed + STAY_PRIOR_TURNOVER);
        Self {
            mean: if passed > 0.0 { seen.age / passed } else { 1.0 },
            weight: seen.short_stays / (seen.short_stays + STAY_PRIOR_WEIGHT) * turnover,
        }
    }

    /// The prior, drawn towards what was observed.
    fn update(&self, prior: f64, observed: f64) -> f64 {
        prior.powf(1.0 - self.weight) * observed.powf(self.weight)
    }
}

/// Model of the slots while the line waits for active sessions to end.
///
/// Some visitors leave; others close the site without a signal, and their slot expires `active_ttl`
/// later. In a young line no slot has expired yet, and silent visitors occupy more and more slots.
/// The admission rate falls, so the rate observed so far is too optimistic. The stays that ended
/// separate the two groups: with a mean stay of m, n / m of n slots are left per second. If fewer
/// are, silent visitors hold the rest (Little 1961, "A proof for the queuing formula L = λW").
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotModel {
    quota: f64,
    ttl: f64,
    /// Seconds since counting began, which is about when all slots were taken.
    age: f64,
    /// Slots freed since then, per slot.
    turnover: f64,
    /// Observed admission rate, per second.
    pace: f64,
    /// Mean stay of visitors who leave, in seconds.
    stay: f64,
    /// Share of the admitted visitors who close the site without a signal.
    abandoned_share: f64,
    /// Mean holding time of a slot over both groups, in seconds.
    mean_hold: f64,
}

impl SlotModel {
    /// Combines the prior from the rules, at no more than `rate` admissions per second, with the
    /// observations. `admissions` is the number of admissions that moved the line.
    pub(super) fn of(rules: &LineRules, rate: f64, seen: &Observed, admissions: f64) -> Self {
        let (quota, ttl) = (rules.quota as f64, hold_limit(rules));
        let prior_weight = HOLD_PRIOR_WEIGHT.0 + HOLD_PRIOR_WEIGHT.1 * quota;
        let (age, turnover) = (seen.age, admissions / quota);
        let stays = ObservedStay::of(seen);
        // Until the first slots expire, the prior of the holding time gives way to the observed stay. With visits that are
        // short for their `active_ttl`, a pace drawn towards the prior would look as if most visitors were silent.
        let hold = HOLD_PRIOR * ttl;
        let hold = if age < ttl { stays.update(hold, stays.mean / (1.0 - ABANDONED_SHARE_PRIOR)) } else { hold };
        let expected = (quota / hold).min(rate);
        let pace = ((prior_weight + admissions) / (prior_weight / expected + seen.seconds)).min(rate);
        let mut model = Self { quota, ttl, age, turnover, pace, stay: 0.0, abandoned_share: 0.0, mean_hold: 0.0 };
        // Rate at which visitors leave, per second and slot.
        let leave = pace / quota * (seen.short_stays + 1.0) / (seen.short_stays + seen.long_stays + 1.0);
        model.stay = model.mean_stay(seen, &stays, leave);
        model.abandoned_share = model.abandoned_share(seen, leave);
        model.mean_hold = model.mean_hold(seen);
        model
    }

    /// Start and end of the observation window, in seconds since the slots were taken; at most
    /// until they expire.
    fn window(&self, seen: &Observed) -> (f64, f64) {
        ((self.age - seen.seconds).clamp(0.0, self.ttl), self.age.min(self.ttl))
    }

    /// Mean stay of visitors who leave, including those still active. A visitor who stays for
    /// `active_ttl` counts as silent.
    fn mean_stay(&self, seen: &Observed, stays: &ObservedStay, leave: f64) -> f64 {
        let (from, until) = self.window(seen);
        let believed = ((1.0 - ABANDONED_SHARE_PRIOR) / leave - ABANDONED_SHARE_PRIOR * (from + until) / 2.0)
            .max(STAY_MIN / leave);
        stays.update(believed, stays.mean).min(1.0 / leave).min(self.ttl)
    }

    /// The abandoned share that explains the observed leave rate at this mean stay. A larger
    /// share means a lower leave rate.
    fn abandoned_share(&self, seen: &Observed, leave: f64) -> f64 {
        let (from, until) = self.window(seen);
        // If all who were seen to leave did so, the next one may still be silent (Laplace's rule of succession).
        let (mut least, mut most) = (1.0 / (1.0 / ABANDONED_SHARE_PRIOR + seen.short_stays + seen.long_stays), 1.0);
        for _ in 0..BISECTION_STEPS {
            let share = f64::midpoint(least, most);
            let leave_then = (1.0 - share) * self.share_of_leavers(share, from, until) / self.stay;
            if leave_then > leave { least = share } else { most = share }
        }
        least
    }

    /// Mean share of the slots held by visitors who will leave, between two instants. Every `stay`
    /// seconds such a visitor leaves, and with probability `abandoned` the successor is a silent
    /// visitor.
    fn share_of_leavers(&self, abandoned: f64, from: f64, until: f64) -> f64 {
        let (decay, seconds) = (abandoned / self.stay, until - from);
        let share = if decay * seconds < 1e-6 { 1.0 } else { -(-decay * seconds).exp_m1() / (decay * seconds) };
        (-decay * from).exp() * share
    }

    /// Mean holding time of a slot: derived from the stays and, after the first slots expire, from
    /// the observed rate.
    fn mean_hold(&self, seen: &Observed) -> f64 {
        let follows = self.stay + self.abandoned_share * self.ttl;
        let counted = self.quota / self.pace;
        let stays = seen.short_stays + seen.long_stays;
        // Silent visitors were also active for a while before they closed the site, unless no stay
        // was observed.
        let before = self.stay * seen.short_stays / (seen.short_stays + 1.0);
        let long_seconds = seen.long_stays * (self.ttl + before);
        let ended = if stays > 0.0 { (seen.short_seconds + long_seconds) / stays } else { counted };
        let counted = counted.powf(1.0 - ENDED_STAYS_WEIGHT) * ended.powf(ENDED_STAYS_WEIGHT);
        let weight = ((self.age - self.ttl) / OBSERVED_RATE_BLEND_SECONDS).clamp(0.0, 1.0);
        follows.powf(1.0 - weight) * counted.powf(weight)
    }

    /// Median time, in seconds, for this number of admissions.
    pub(super) fn median_seconds(&self, admissions: f64) -> f64 {
        let evenly = self.mean_hold / self.quota;
        if self.age >= self.ttl {
            return admissions * evenly;
        }
        // Until the first slots expire, only visitors who leave free a slot; later, also those
        // admitted to their slot.
        let decay = self.abandoned_share / self.stay;
        let most = (1.0 - self.abandoned_share) / self.abandoned_share * self.quota * (-decay * self.age).exp();
        let left = self.ttl - self.age;
        let until_then = most * -(-decay * left).exp_m1();
        if admissions <= until_then {
            -(-admissions / most).ln_1p() / decay
        } else {
            left + (admissions - until_then) * evenly * COHORT_CORRECTION
        }
    }

    /// Variance of the logarithm of the admission rate over this number of admissions.
    pub(super) fn log_rate_variance(&self, admissions: f64) -> f64 {
        let early = LOG_RATE_VARIANCE_EARLY.0 / (1.0 + self.turnover / LOG_RATE_VARIANCE_EARLY.1);
        // Slots that are held until they expire become free in waves, which even out over several
        // of them.
        let waves = (self.abandoned_share * self.ttl / (self.stay + self.abandoned_share * self.ttl)).powi(4);
        // Whether visitors are silent was seen of about as many as were admitted, and silent ones add up with every stay until
        // the first slots expire.
        let stays = (admissions / self.quota).min((self.ttl - self.age).max(0.0) / self.stay);
        let unknown = stays * stays * self.abandoned_share / (self.quota * (1.0 + self.turnover));
        LOG_RATE_VARIANCE_MIN
            + unknown
            + early
            + LOG_RATE_VARIANCE_COHORT.0 * waves / (1.0 + (LOG_RATE_VARIANCE_COHORT.1 - 1.0) * admissions / self.quota)
    }
}

/// Expected admission rate, per second, before any session has ended.
pub(super) fn prior_admission_rate(rules: &LineRules) -> f64 {
    rules.quota as f64 / (HOLD_PRIOR * hold_limit(rules))
}

/// Seconds for which a slot is held after its visitor closed the site without a signal.
fn hold_limit(rules: &LineRules) -> f64 {
    rules.max_session.map_or(rules.active_ttl, |most| most.min(rules.active_ttl)) as f64
}
