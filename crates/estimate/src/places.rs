//! Models how soon slots become free.

use vestibule_core::line::{LineRules, Observed};

/// Prior for the mean holding time of a slot, as a share of `active_ttl`.
const HELD_SHARE: f64 = 0.53;
/// Weight of that prior in equivalent admissions: a constant, and an addition per slot.
const BELIEF: (f64, f64) = (0.75, 0.05);
/// Prior for the silent share: admitted visitors who close the site without a signal.
const SILENT: f64 = 0.27;
/// Lower bound of the silent share.
const SILENT_LEAST: f64 = 0.001;
/// Number of ended sessions at which the observed mean stay and the prior have equal weight.
const STAYS: f64 = 8.0;
/// Square of the number of mean stays since counting began at which observation and prior have
/// equal weight.
const STAYS_IN_A_ROW: f64 = 0.7;
/// Lower bound of the mean stay, as a share of the time in which as many sessions end as there are
/// slots.
const STAY_LEAST: f64 = 0.3;
/// Seconds after the first slots expire in which the observed rate replaces the rate derived from
/// stays.
const TURNS_WITHIN: f64 = 150.0;
/// Weight of the ended stays against that of the admissions after the first slots expire. While
/// many slots expire together, one estimate is too long and the other too short.
const ENDED: f64 = 0.3;
/// Correction for slots that expire together: visitors admitted then leave early, before the mean
/// holding time has passed.
const TOGETHER: f64 = 0.87;
/// Minimum variance of the logarithm of the admission rate.
const STRAYS: f64 = 0.001;
/// The same variance before any session has ended, and the share of slots freed at which it is
/// halved.
const STRAYS_EARLY: (f64, f64) = (0.07, 0.3);
/// The same variance at the head of the line if all slots expire together, and the factor by which
/// it shrinks one quota further back.
const STRAYS_IN_WAVES: (f64, f64) = (1.5, 4.0);
/// Bisection steps for the silent share: precise to one ten-thousandth.
const HALVINGS: u32 = 13;

/// Model of the slots while the line waits for active sessions to end.
///
/// Some visitors leave; others close the site without a signal, and their slot expires `active_ttl`
/// later. In a young line no slot has expired yet, and silent visitors occupy more and more slots.
/// The admission rate falls, so the rate observed so far is too optimistic. The stays that ended
/// separate the two groups: with a mean stay of m, n / m of n slots are left per second. If fewer
/// are, silent visitors hold the rest (Little 1961, "A proof for the queuing formula L = λW").
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    quota: f64,
    ttl: f64,
    /// Seconds since counting began, which is about when all slots were taken.
    age: f64,
    /// Slots freed since then, per slot.
    turns: f64,
    /// Observed admission rate, per second.
    pace: f64,
    /// Mean stay of visitors who leave, in seconds.
    stay: f64,
    /// Silent share: admitted visitors who close the site without a signal.
    silent: f64,
    /// Mean holding time of a slot over both groups, in seconds.
    held: f64,
}

impl Places {
    /// Combines the prior from the rules, at no more than `rate` admissions per second, with the
    /// observations. `admissions` is the number of admissions that moved the line.
    pub(super) fn of(rules: &LineRules, rate: f64, seen: &Observed, admissions: f64) -> Self {
        let (quota, ttl) = (rules.quota as f64, kept_for(rules));
        let belief = BELIEF.0 + BELIEF.1 * quota;
        let expected = expected_pace(rules).min(rate);
        let pace = ((belief + admissions) / (belief / expected + seen.seconds)).min(rate);
        let (age, turns) = (seen.age, admissions / quota);
        let mut places = Self { quota, ttl, age, turns, pace, stay: 0.0, silent: 0.0, held: 0.0 };
        // Rate at which visitors leave, per second and slot.
        let leave = pace / quota * (seen.short_stays + 1.0) / (seen.short_stays + seen.long_stays + 1.0);
        places.stay = places.mean_stay(seen, leave);
        places.silent = places.share_of_the_silent(seen, leave);
        places.held = places.mean_hold(seen);
        places
    }

    /// Start and end of the observation window, in seconds since the slots were taken; at most
    /// until they expire.
    fn window(&self, seen: &Observed) -> (f64, f64) {
        ((self.age - seen.seconds).clamp(0.0, self.ttl), self.age.min(self.ttl))
    }

    /// Mean stay of visitors who leave, including those still active. A visitor who stays for
    /// `active_ttl` counts as silent.
    fn mean_stay(&self, seen: &Observed, leave: f64) -> f64 {
        let (from, until) = self.window(seen);
        let believed = ((1.0 - SILENT) / leave - SILENT * (from + until) / 2.0).max(STAY_LEAST / leave);
        let passed = stays_passed(self.age, seen.short_seconds / seen.short_stays.max(1.0));
        let stay = if passed > 0.0 {
            let weight =
                seen.short_stays / (seen.short_stays + STAYS) * passed * passed / (passed * passed + STAYS_IN_A_ROW);
            believed.powf(1.0 - weight) * (self.age / passed).powf(weight)
        } else {
            believed
        };
        stay.min(1.0 / leave).min(self.ttl)
    }

    /// The silent share that explains the observed leave rate at this mean stay. A larger silent
    /// share means a lower leave rate.
    fn share_of_the_silent(&self, seen: &Observed, leave: f64) -> f64 {
        let (from, until) = self.window(seen);
        let (mut least, mut most) = (SILENT_LEAST, 1.0 - SILENT_LEAST);
        for _ in 0..HALVINGS {
            let share = f64::midpoint(least, most);
            let leave_then = (1.0 - share) * self.living(share, from, until) / self.stay;
            if leave_then > leave { least = share } else { most = share }
        }
        least
    }

    /// Mean share of the slots held by visitors who will leave, between two instants. Every `stay`
    /// seconds such a visitor leaves, and with probability `silent` the successor is a silent
    /// visitor.
    fn living(&self, silent: f64, from: f64, until: f64) -> f64 {
        let (decay, seconds) = (silent / self.stay, until - from);
        let share = if decay * seconds < 1e-6 { 1.0 } else { -(-decay * seconds).exp_m1() / (decay * seconds) };
        (-decay * from).exp() * share
    }

    /// Mean holding time of a slot: derived from the stays and, after the first slots expire, from
    /// the observed rate.
    fn mean_hold(&self, seen: &Observed) -> f64 {
        let follows = self.stay + self.silent * self.ttl;
        let counted = self.quota / self.pace;
        let stays = seen.short_stays + seen.long_stays;
        // Silent visitors were also active for a while before they closed the site, unless no stay
        // was observed.
        let before = self.stay * seen.short_stays / (seen.short_stays + 1.0);
        let long_seconds = seen.long_stays * (self.ttl + before);
        let ended = if stays > 0.0 { (seen.short_seconds + long_seconds) / stays } else { counted };
        let counted = counted.powf(1.0 - ENDED) * ended.powf(ENDED);
        let weight = ((self.age - self.ttl) / TURNS_WITHIN).clamp(0.0, 1.0);
        follows.powf(1.0 - weight) * counted.powf(weight)
    }

    /// Median time, in seconds, for this number of admissions.
    pub(super) fn seconds_for(&self, admissions: f64) -> f64 {
        let evenly = self.held / self.quota;
        if self.age >= self.ttl {
            return admissions * evenly;
        }
        // Until the first slots expire, only visitors who leave free a slot; later, also those
        // admitted in their place.
        let decay = self.silent / self.stay;
        let most = (1.0 - self.silent) / self.silent * self.quota * (-decay * self.age).exp();
        let left = self.ttl - self.age;
        let until_then = most * -(-decay * left).exp_m1();
        if admissions <= until_then {
            -(-admissions / most).ln_1p() / decay
        } else {
            left + (admissions - until_then) * evenly * TOGETHER
        }
    }

    /// Variance of the logarithm of the admission rate over this number of admissions.
    pub(super) fn strays(&self, admissions: f64) -> f64 {
        let early = STRAYS_EARLY.0 / (1.0 + self.turns / STRAYS_EARLY.1);
        // Slots that are held until they expire become free in waves, which even out over several
        // of them.
        let waves = (self.silent * self.ttl / (self.stay + self.silent * self.ttl)).powi(4);
        STRAYS + early + STRAYS_IN_WAVES.0 * waves / (1.0 + (STRAYS_IN_WAVES.1 - 1.0) * admissions / self.quota)
    }
}

/// Expected admission rate, per second, before any session has ended.
pub(super) fn expected_pace(rules: &LineRules) -> f64 {
    rules.quota as f64 / (HELD_SHARE * kept_for(rules))
}

/// Seconds for which a slot is held after its visitor closed the site without a signal.
fn kept_for(rules: &LineRules) -> f64 {
    rules.max_session.map_or(rules.active_ttl, |most| most.min(rules.active_ttl)) as f64
}

/// Number of mean stays that have passed, if the ended stays lasted `ended` seconds on average and
/// all began after counting did. An observed mean stay of m is truncated at the age t, to m (1 - (1
/// - exp(-t/m)) / (t/m)). This is the inverse, accurate to one eighth.
fn stays_passed(age: f64, ended: f64) -> f64 {
    if ended <= 0.0 { 0.0 } else { ((age / ended - 2.0) * 1.5).min(age / ended - 1.0).max(0.0) }
}
