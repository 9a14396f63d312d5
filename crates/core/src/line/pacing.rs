//! When the pace of a line is counted.

use super::pace::{Movements, Pace};
use super::presence::Presence;
use super::rate::Rate;
use super::state::Line;
use super::{LineRules, Mode};
use crate::SessionId;
use crate::time::{MICROS_PER_SECOND, Micros};

/// The pace of a line, and what limits it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pacing {
    pace: Pace,
    /// The effective mode.
    mode: Mode,
    rate: Option<Rate>,
    quota: u64,
    /// Whether all slots are taken.
    is_full: bool,
}

const MICROS_PER_MILLI: u64 = 1000;

impl Line {
    /// Counts the movements of this operation, `waited` of them by admission.
    pub(super) fn save_pace(&mut self, now: Micros, waited: u64) {
        let movements = std::mem::take(&mut self.movements);
        self.pace.count(now, Movements { admissions: waited, ..movements });
        self.start_pace(now);
    }

    /// Counts the stay of an active session that is about to be removed.
    pub(super) fn record_stay(&mut self, now: Micros, session: SessionId) {
        let Some(admitted_at) = self.present.get(&session).and_then(Presence::admitted_at) else { return };
        let stay = now.since(admitted_at);
        if stay < self.rules.active_ttl * MICROS_PER_SECOND {
            self.movements.stays.short += 1;
            self.movements.stays.short_ms += stay / MICROS_PER_MILLI;
        } else {
            self.movements.stays.long += 1;
        }
    }

    /// Called when a line forms.
    pub(super) fn form(&mut self, now: Micros) {
        self.pace = Pace::default();
        self.start_pace(now);
    }

    /// What a change of the rules does to the pace depends on these. Admissions caused by the change itself do not count.
    pub(super) fn pacing(&self, now: Micros) -> Pacing {
        let LineRules { quota, .. } = self.rules;
        Pacing {
            pace: self.pace,
            mode: self.mode(now),
            rate: self.rules.rate(),
            quota,
            is_full: self.free_slots(now) == 0,
        }
    }

    /// Applies a change of the rules to the pace of before. It continues unless another limit applies: while all slots are
    /// taken, before and after, the line waits for sessions to end, and a rate is no limit.
    pub(super) fn change_pace(&mut self, now: Micros, before: Pacing) {
        let after = self.pacing(now);
        let is_same_limit = (before.is_full && after.is_full) || before.rate == after.rate;
        let is_filling = !after.is_full && after.rate.is_none();
        let continues = is_same_limit && !is_filling && after.mode == before.mode;
        self.pace = if continues { before.pace.under(before.quota, after.quota) } else { Pace::default() };
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
