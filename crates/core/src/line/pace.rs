//! How fast the line moved of late: what the wait estimate is made from.

use serde::{Deserialize, Serialize};

use super::LineRules;
use super::presence::Presence;
use super::state::Line;
use crate::SessionId;
use crate::time::{MICROS_PER_SECOND, Micros};

/// Length of the window over which a line's movement is counted, in seconds. Shorter ones follow every wave of places that
/// become free together, longer ones still tell of the first rush when it is long over; see docs/estimates.md.
pub const PACE_WINDOW: u64 = 300;
const WINDOW_US: u64 = PACE_WINDOW * MICROS_PER_SECOND;
const MICROS_PER_MILLI: u64 = 1000;

/// What moved the line, in a sliding window: the counts of the running window and of the one before it. A line moves by
/// admissions, and by those who leave it ahead of their turn.
///
/// It starts anew when a line forms, since the quiet before says nothing about how fast places become free; and only once
/// all places are taken, or a rate limits admissions, since filling empty places says nothing about it either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// When it was started; 0 while it is not known.
    pub since: Micros,
    /// Start of the running window.
    pub window: Micros,
    /// Admissions in the running window, of those who had waited.
    pub current: u64,
    /// Admissions in the window before.
    pub previous: u64,
    /// Sessions that left the line otherwise in the running window, less those who came back to it: negative where those
    /// who slept through their turn come back to the head. Only those whose ticket had come back: a robot without cookies
    /// lapses at the end of the line, and moves nobody ahead of it.
    pub departures: i64,
    /// Those of the window before.
    pub departures_before: i64,
    /// StayCounts that ended in the running window.
    pub stays: StayCounts,
    /// Those of the window before.
    pub stays_before: StayCounts,
}

/// StayCounts in places that ended: how long places are kept. Of those that still last, it tells by how few have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StayCounts {
    /// Those shorter than `active_ttl`: people who left.
    pub short: u64,
    /// How long these were, all together, in milliseconds.
    pub short_ms: u64,
    /// The others: places that lapsed after somebody left without a word, and people who stayed for long.
    pub long: u64,
}

impl StayCounts {
    const fn plus(self, other: Self) -> Self {
        Self { short: self.short + other.short, short_ms: self.short_ms + other.short_ms, long: self.long + other.long }
    }
}

/// What was seen of a line's movement.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Observed {
    /// Admissions of those who had waited.
    pub admissions: f64,
    /// Sessions that left the line otherwise, less those who came back to it.
    pub departures: f64,
    /// The seconds in which this was seen.
    pub seconds: f64,
    /// The seconds since the count began.
    pub age: f64,
    /// StayCounts that ended before `active_ttl` was over.
    pub short_stays: f64,
    /// How long these were, all together, in seconds.
    pub short_seconds: f64,
    /// StayCounts that lasted for `active_ttl` or longer.
    pub long_stays: f64,
}

impl Pace {
    /// The movement is counted from now on.
    pub(super) fn start(now: Micros) -> Self {
        Self { since: now, window: now, ..Self::default() }
    }

    fn is_known(&self) -> bool {
        self.since.0 > 0
    }

    fn roll(&mut self, now: Micros) {
        let elapsed = now.since(self.window);
        if elapsed >= 2 * WINDOW_US {
            *self = Self { since: self.since, window: now, ..Self::default() };
        } else if elapsed >= WINDOW_US {
            (self.previous, self.current) = (self.current, 0);
            (self.departures_before, self.departures) = (self.departures, 0);
            self.stays_before = std::mem::take(&mut self.stays);
            self.window = Micros(self.window.0 + WINDOW_US);
        }
    }

    /// Counts what moved the line.
    fn count(&mut self, now: Micros, admissions: u64, departures: i64, stays: StayCounts) {
        if self.is_known() && (admissions > 0 || departures != 0 || stays != StayCounts::default()) {
            self.roll(now);
            self.current += admissions;
            self.departures += departures;
            self.stays = self.stays.plus(stays);
        }
    }

    /// The pace that other rules let expect of this one: places become free the faster the more there are. Of another
    /// mode or rate it says nothing.
    fn under(&self, before: &LineRules, after: &LineRules) -> Self {
        let other = before.mode != after.mode || before.admissions_per_minute != after.admissions_per_minute;
        if other || before.quota == 0 {
            return Self::default();
        }
        let scaled = |count: u64| count * after.quota / before.quota;
        Self { current: scaled(self.current), previous: scaled(self.previous), ..*self }
    }

    /// What was seen until `now`; nothing while it is not known.
    #[must_use]
    pub fn observed(&self, now: Micros) -> Observed {
        if !self.is_known() {
            return Observed::default();
        }
        let mut pace = *self;
        pace.roll(now);
        let elapsed = now.since(pace.window) as f64;
        let share = (1.0 - elapsed / WINDOW_US as f64).clamp(0.0, 1.0);
        let (stays, before) = (pace.stays, pace.stays_before);
        let age = now.since(pace.since);
        Observed {
            admissions: pace.current as f64 + pace.previous as f64 * share,
            departures: pace.departures as f64 + pace.departures_before as f64 * share,
            seconds: age.min(WINDOW_US) as f64 / MICROS_PER_SECOND as f64,
            age: age as f64 / MICROS_PER_SECOND as f64,
            short_stays: stays.short as f64 + before.short as f64 * share,
            short_seconds: (stays.short_ms as f64 + before.short_ms as f64 * share) / 1000.0,
            long_stays: stays.long as f64 + before.long as f64 * share,
        }
    }
}

impl Line {
    /// Counts what this operation moved, `waited` of them by admission.
    pub(super) fn keep_pace(&mut self, now: Micros, waited: u64) {
        let (departures, stays) = (std::mem::take(&mut self.departures), std::mem::take(&mut self.stays));
        self.pace.count(now, waited, departures, stays);
        self.start_pace(now);
    }

    /// Counts the stay of who is let in and about to be removed.
    pub(super) fn record_stay(&mut self, now: Micros, session: SessionId) {
        let Some(admitted_at) = self.present.get(&session).and_then(Presence::admitted_at) else { return };
        let stay = now.since(admitted_at);
        if stay < self.rules.active_ttl * MICROS_PER_SECOND {
            self.stays.short += 1;
            self.stays.short_ms += stay / MICROS_PER_MILLI;
        } else {
            self.stays.long += 1;
        }
    }

    /// A line forms.
    pub(super) fn form(&mut self, now: Micros) {
        self.pace = Pace::default();
        self.start_pace(now);
    }

    /// The line goes by other rules than `before`. What they admit at once is no pace.
    pub(super) fn change_pace(&mut self, now: Micros, pace: Pace, before: &LineRules) {
        let filling = self.free_slots(now) > 0 && self.rules.admissions_per_minute.is_none();
        self.pace = if filling { Pace::default() } else { pace.under(before, &self.rules) };
        self.start_pace(now);
    }

    fn start_pace(&mut self, now: Micros) {
        let rules = &self.rules;
        let limited = self.free_slots(now) == 0 || rules.admissions_per_minute.is_some();
        let moves = rules.mode.admits() && !self.recovering(now) && !self.order.is_empty();
        if !self.pace.is_known() && limited && moves {
            self.pace = Pace::start(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_window_slides() {
        let start = Micros(5_000_000_000);
        let mut pace = Pace::start(start);
        for second in 0..2 * PACE_WINDOW + 90 {
            pace.count(start.add_seconds(second), 2, 1, StayCounts { short: 1, short_ms: 40_000, long: 3 });
        }
        let seen = pace.observed(start.add_seconds(2 * PACE_WINDOW + 90));
        assert!((seen.admissions / seen.seconds - 2.0).abs() < 0.1, "{seen:?}");
        assert!((seen.departures / seen.seconds - 1.0).abs() < 0.1, "{seen:?}");
        assert!((seen.short_seconds / seen.short_stays - 40.0).abs() < 1e-9, "{seen:?}");
        assert!((seen.long_stays / seen.short_stays - 3.0).abs() < 1e-9, "{seen:?}");
        let (seconds, age) = (PACE_WINDOW as f64, 5.0 * PACE_WINDOW as f64);
        let quiet = Observed { seconds, age, ..Observed::default() };
        assert_eq!(pace.observed(start.add_seconds(5 * PACE_WINDOW)), quiet);
    }

    #[test]
    fn unknown_pace_counts_nothing() {
        let mut unknown = Pace::default();
        unknown.count(Micros(1), 5, 5, StayCounts::default());
        assert_eq!(unknown, Pace::default(), "filling empty places is no pace");
    }
}
