//! When the pace of a line is counted.

use super::pace::Pace;
use super::presence::Presence;
use super::state::Line;
use super::{LineRules, Mode};
use crate::SessionId;
use crate::time::{MICROS_PER_SECOND, Micros};

const MICROS_PER_MILLI: u64 = 1000;

impl Line {
    /// Counts the movements of this operation, `waited` of them by admission.
    pub(super) fn keep_pace(&mut self, now: Micros, waited: u64) {
        let (departures, stays) = (std::mem::take(&mut self.departures), std::mem::take(&mut self.stays));
        self.pace.count(now, waited, departures, stays);
        self.start_pace(now);
    }

    /// Counts the stay of an active session that is about to be removed.
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

    /// Called when a line forms.
    pub(super) fn form(&mut self, now: Micros) {
        self.pace = Pace::default();
        self.start_pace(now);
    }

    /// Applies a change of rules from `before`. Admissions caused by the change itself do not count
    /// as pace.
    /// `mode_before` was the effective mode.
    pub(super) fn change_pace(&mut self, now: Micros, pace: Pace, before: &LineRules, mode_before: Mode) {
        let filling = self.free_slots(now) > 0 && self.rules.admissions_per_minute.is_none();
        let is_same_mode = self.mode(now) == mode_before;
        self.pace = if filling || !is_same_mode { Pace::default() } else { pace.under(before, &self.rules) };
        self.start_pace(now);
    }

    fn start_pace(&mut self, now: Micros) {
        let rules = &self.rules;
        let limited = self.free_slots(now) == 0 || rules.admissions_per_minute.is_some();
        let moves = self.mode(now).admits() && !self.recovering(now) && !self.order.is_empty();
        if !self.pace.is_known() && limited && moves {
            self.pace = Pace::start(now);
        }
    }
}
