//! The recent pace of the line: the input of the wait estimate.

use serde::{Deserialize, Serialize};

use super::rules::LineRules;
use crate::time::{MICROS_PER_SECOND, Micros};

/// Length of the window over which movements of the line are counted, in seconds. A shorter window
/// follows every wave of slots that become free together; a longer one still reflects the first
/// rush long after it is over. See docs/internals/estimates.md.
pub const PACE_WINDOW: u64 = 300;
const WINDOW_US: u64 = PACE_WINDOW * MICROS_PER_SECOND;

/// Movements of the line in a sliding window: the counts of the current window and of the previous
/// one. A line moves by admissions and by departures of waiting sessions.
///
/// Joins do not count, not even those ahead of others: newcomers with a pre-ticket join out of order near the end of the
/// line, and how many invited visitors and late ones of a draw come ahead of it is not known in advance. Neither do sessions
/// that return after a loss of data, which had not left the line.
///
/// Counting restarts when a line forms, since the quiet time before says nothing about how fast
/// slots become free. It starts only when all slots are taken or a rate limits admissions, since
/// filling empty slots says nothing about it either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// Start of counting; 0 while unknown.
    pub since: Micros,
    /// Start of the current window.
    pub window: Micros,
    /// Admissions of waiting sessions in the current window.
    pub current: u64,
    /// Admissions in the previous window.
    pub previous: u64,
    /// Departures from the line in the current window, other than by admission, minus returns of
    /// sessions that had left it. Only confirmed sessions count: a robot without cookies expires at
    /// the end of the line and moves no one ahead of it. Negative if visitors who missed their turn
    /// return to the head: they are admitted twice.
    pub departures: i64,
    /// Departures in the previous window.
    pub departures_before: i64,
    /// Stays that ended in the current window.
    pub stays: StayCounts,
    /// Stays that ended in the previous window.
    pub stays_before: StayCounts,
}

/// Ended stays of active sessions: how long slots are held. Stays that continue show only in how
/// few have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StayCounts {
    /// Stays shorter than `active_ttl`: the visitor left.
    pub short: u64,
    /// Sum of the short stays, in milliseconds.
    pub short_ms: u64,
    /// Longer stays: slots that expired after the visitor closed the site without a signal, and
    /// visitors who stayed long.
    pub long: u64,
}

impl StayCounts {
    const fn plus(self, other: Self) -> Self {
        Self { short: self.short + other.short, short_ms: self.short_ms + other.short_ms, long: self.long + other.long }
    }
}

/// Movements of a line in one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Movements {
    /// Admissions of waiting sessions.
    pub(super) admissions: u64,
    /// Departures from the line minus returns; see [`Pace::departures`].
    pub(super) departures: i64,
    /// Stays that ended.
    pub(super) stays: StayCounts,
}

/// Observed movements of a line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Observed {
    /// Admissions of waiting sessions.
    pub admissions: f64,
    /// Departures from the line other than by admission, minus returns of sessions that had left it.
    pub departures: f64,
    /// Length of the observation, in seconds.
    pub seconds: f64,
    /// Time since counting began, in seconds.
    pub age: f64,
    /// Stays that ended before `active_ttl`.
    pub short_stays: f64,
    /// Sum of these stays, in seconds.
    pub short_seconds: f64,
    /// Stays of `active_ttl` or longer.
    pub long_stays: f64,
}

/// Admissions after which the pace of a line is known, if they take less than [`PACE_WINDOW`].
const ADMISSIONS_MIN: f64 = 10.0;

impl Observed {
    /// Whether the line was observed for long enough to tell its pace. Before that, estimates rest on `active_ttl`, and the
    /// line may move many times faster.
    pub fn is_known(&self) -> bool {
        self.admissions >= ADMISSIONS_MIN || self.age >= PACE_WINDOW as f64
    }

    /// Seconds in which this many visitors are admitted at the pace observed; `None` if nobody was.
    fn seconds_for(&self, admissions: u64) -> Option<u64> {
        (self.admissions > 0.0).then(|| (admissions as f64 * self.seconds / self.admissions) as u64)
    }
}

impl Pace {
    /// A pace that is counted from now on.
    pub(super) fn start(now: Micros) -> Self {
        Self { since: now, window: now, ..Self::default() }
    }

    pub(super) fn is_known(&self) -> bool {
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

    /// Counts movements of the line.
    pub(super) fn count(&mut self, now: Micros, movements: Movements) {
        if self.is_known() && movements != Movements::default() {
            self.roll(now);
            self.current += movements.admissions;
            self.departures += movements.departures;
            self.stays = self.stays.plus(movements.stays);
        }
    }

    /// This pace scaled to another quota: slots become free in proportion to it. After a quota of 0 the pace is unknown.
    #[must_use]
    pub fn under(&self, before: u64, after: u64) -> Self {
        if before == 0 {
            return Self::default();
        }
        let scaled = |count: u64| count * after / before;
        Self { current: scaled(self.current), previous: scaled(self.previous), ..*self }
    }

    /// The observations until `now`; zero while the pace is unknown.
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

impl LineRules {
    /// Seconds of which a waiting visitor's poll interval is at most a third: the presence TTL.
    ///
    /// It is `waiting_ttl`, a third of which is within `claim_ttl`, where the turn may come much earlier than `due`: within
    /// `quota` positions of the front, since all slots may become free at once, and while the pace is not known. Farther
    /// back, the wait shown follows a change of pace slowly: the turn counts as due when the line gets there at the pace
    /// observed, if that is earlier.
    pub fn poll_ttl(&self, now: Micros, pace: &Observed, position: Option<u64>, due: Option<Micros>) -> u64 {
        let near = position.is_some_and(|position| position <= self.quota);
        if near || !pace.is_known() {
            return self.waiting_ttl;
        }
        let at_pace = position.and_then(|position| pace.seconds_for(position)).map(|seconds| now.add_seconds(seconds));
        self.presence_ttl(now, due.map(|due| at_pace.map_or(due, |at_pace| due.min(at_pace))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_window_slides() {
        let start = Micros(5_000_000_000);
        let mut pace = Pace::start(start);
        let stays = StayCounts { short: 1, short_ms: 40_000, long: 3 };
        let movements = Movements { admissions: 2, departures: 1, stays };
        for second in 0..2 * PACE_WINDOW + 90 {
            pace.count(start.add_seconds(second), movements);
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
    fn unknown_pace_excludes_departures() {
        let mut unknown = Pace::default();
        unknown.count(Micros(1), Movements { admissions: 5, departures: 5, ..Movements::default() });
        assert_eq!(unknown, Pace::default(), "filling free slots is no pace");
    }
}
