//! How soon places become free.

use crate::line::{LineRules, Observed};

/// Before anybody was seen to leave, a place is believed to be kept for this share of `active_ttl`.
const HELD_SHARE: f64 = 0.53;
/// How many admissions' worth of belief that gets, and how many more for each place.
const BELIEF: (f64, f64) = (0.75, 0.05);
/// Before it is seen, this share of those let in is believed to close the site without a word.
const SILENT: f64 = 0.27;
/// The share of the silent is never taken to be less.
const SILENT_LEAST: f64 = 0.001;
/// StayCounts that ended from which half of what they tell is believed.
const STAYS: f64 = 8.0;
/// Square of the number of mean stays that passed since the count began from which half of what they tell is believed.
const STAYS_IN_A_ROW: f64 = 0.7;
/// A mean stay is never taken to be a smaller share of the time in which as many leave as there are places.
const STAY_LEAST: f64 = 0.3;
/// Seconds in which, once places lapse, the pace that is counted replaces the one that follows from the stays.
const TURNS_WITHIN: f64 = 150.0;
/// Weight of the stays that ended, against that of the admissions, once places lapse. While many lapse together, the one
/// says too long and the other too short.
const ENDED: f64 = 0.3;
/// Places that lapse do so together, and those let in then leave early: less than the mean time passes until they do.
const TOGETHER: f64 = 0.87;
/// By how much the pace strays in any case, as a variance of its logarithm.
const STRAYS: f64 = 0.001;
/// The same before anybody was seen to leave, and the share of the places that has become free by which half of it is gone.
const STRAYS_EARLY: (f64, f64) = (0.07, 0.3);
/// The same at the head of the line where all places lapse together, and how many times shorter it is a quota behind.
const STRAYS_IN_WAVES: (f64, f64) = (1.5, 4.0);
/// Halvings by which the share of the silent is found: to a ten-thousandth.
const HALVINGS: u32 = 13;

/// What is believed of places for which people wait until those who are in leave.
///
/// Some leave, others close the site without a word, so that their place lapses `active_ttl` later. While a line is young
/// none has lapsed, and the silent fill the places bit by bit: fewer and fewer are let in, and the pace so far promises
/// too much. The stays that ended tell them apart: those who leave after a mean stay of m leave n / m of n places in a
/// second, so where fewer do, the rest of the places is not left (Little 1961, "A proof for the queuing formula L = λW").
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    quota: f64,
    ttl: f64,
    /// Seconds since the count began, at about which all places were taken.
    age: f64,
    /// Places that became free since then, by place.
    turns: f64,
    /// Admissions a second, by what was counted.
    pace: f64,
    /// Mean stay of those who leave.
    stay: f64,
    /// Share of those let in who don't, and close the site without a word.
    silent: f64,
    /// For how long a place is kept in the mean, by both.
    held: f64,
}

impl Places {
    /// What the rules let expect, at no more than `rate` admissions a second, and what was seen, with `admissions` that
    /// moved the line on.
    pub(super) fn of(rules: &LineRules, rate: f64, seen: &Observed, admissions: f64) -> Self {
        let (quota, ttl) = (rules.quota as f64, kept_for(rules));
        let belief = BELIEF.0 + BELIEF.1 * quota;
        let expected = expected_pace(rules).min(rate);
        let pace = ((belief + admissions) / (belief / expected + seen.seconds)).min(rate);
        let (age, turns) = (seen.age, admissions / quota);
        let mut places = Self { quota, ttl, age, turns, pace, stay: 0.0, silent: 0.0, held: 0.0 };
        // How many leave, a second and place.
        let leave = pace / quota * (seen.short_stays + 1.0) / (seen.short_stays + seen.long_stays + 1.0);
        places.stay = places.mean_stay(seen, leave);
        places.silent = places.share_of_the_silent(seen, leave);
        places.held = places.mean_hold(seen);
        places
    }

    /// From when on and until when, since the places were taken, what is seen was counted; at most until they lapse.
    fn window(&self, seen: &Observed) -> (f64, f64) {
        ((self.age - seen.seconds).clamp(0.0, self.ttl), self.age.min(self.ttl))
    }

    /// The mean stay of those who leave, those who are still in among them. Who stays for `active_ttl` counts as silent.
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

    /// The share of the silent with which, at this mean stay, as many leave as do. The more there are, the fewer leave.
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

    /// Share of the places that, from one instant to another, belonged to people who will leave: of those who do leave
    /// every `stay` seconds, the share `silent` is replaced by somebody who won't.
    fn living(&self, silent: f64, from: f64, until: f64) -> f64 {
        let (decay, seconds) = (silent / self.stay, until - from);
        let share = if decay * seconds < 1e-6 { 1.0 } else { -(-decay * seconds).exp_m1() / (decay * seconds) };
        (-decay * from).exp() * share
    }

    /// For how long a place is kept in the mean: what follows from the stays, and, once places have lapsed, what was counted.
    fn mean_hold(&self, seen: &Observed) -> f64 {
        let follows = self.stay + self.silent * self.ttl;
        let counted = self.quota / self.pace;
        let stays = seen.short_stays + seen.long_stays;
        // The silent were there for a while, too, before they went; unless nobody was seen to be.
        let before = self.stay * seen.short_stays / (seen.short_stays + 1.0);
        let long_seconds = seen.long_stays * (self.ttl + before);
        let ended = if stays > 0.0 { (seen.short_seconds + long_seconds) / stays } else { counted };
        let counted = counted.powf(1.0 - ENDED) * ended.powf(ENDED);
        let weight = ((self.age - self.ttl) / TURNS_WITHIN).clamp(0.0, 1.0);
        follows.powf(1.0 - weight) * counted.powf(weight)
    }

    /// In how many seconds so many are let in, in the middle.
    pub(super) fn seconds_for(&self, admissions: f64) -> f64 {
        let evenly = self.held / self.quota;
        if self.age >= self.ttl {
            return admissions * evenly;
        }
        // Until the first places lapse, those leave who will leave; and after them those who are let in for them.
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

    /// By how much the pace strays until so many are let in, as a variance of its logarithm.
    pub(super) fn strays(&self, admissions: f64) -> f64 {
        let early = STRAYS_EARLY.0 / (1.0 + self.turns / STRAYS_EARLY.1);
        // Places that are kept until they lapse become free in waves, which even out over some of them.
        let waves = (self.silent * self.ttl / (self.stay + self.silent * self.ttl)).powi(4);
        STRAYS + early + STRAYS_IN_WAVES.0 * waves / (1.0 + (STRAYS_IN_WAVES.1 - 1.0) * admissions / self.quota)
    }
}

/// How many admissions a second the rules let expect before anybody was seen to leave.
pub(super) fn expected_pace(rules: &LineRules) -> f64 {
    rules.quota as f64 / (HELD_SHARE * kept_for(rules))
}

/// For how many seconds a place is kept whose visitor has gone without a word.
fn kept_for(rules: &LineRules) -> f64 {
    rules.max_session.map_or(rules.active_ttl, |most| most.min(rules.active_ttl)) as f64
}

/// How many mean stays have passed, if those that ended lasted for `ended` in the mean, and all began after the count did:
/// what is known of a mean stay m is cut off at the age t, where it is m (1 - (1 - exp(-t/m)) / (t/m)). This is its
/// inverse, within an eighth.
fn stays_passed(age: f64, ended: f64) -> f64 {
    if ended <= 0.0 { 0.0 } else { ((age / ended - 2.0) * 1.5).min(age / ended - 1.0).max(0.0) }
}
