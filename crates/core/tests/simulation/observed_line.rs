//! The line under observation: admissions of every operation, their order, and the utilization of
//! slots.

use std::collections::{BTreeSet, HashMap};

use vestibule_core::line::{Line, LineRules, SessionLocation, Stats, Visit, VisitAnswer, Witness};
use vestibule_core::{MICROS_PER_SECOND, Micros, SessionId, Ticket};

use crate::report::Report;

pub(crate) struct ObservedLine {
    pub(crate) line: Line,
    /// What the serving process knows about the line; it survives a lost state.
    witness: Witness,
    /// Sessions that joined and were not seen to leave; some have expired.
    waiting: BTreeSet<(Micros, SessionId)>,
    /// Admitted sessions without a visit, with the value of `waited_for` at their admission.
    unclaimed: HashMap<SessionId, f64>,
    last: Stats,
    /// Seconds in which visitors waited for slots, without recovery.
    waited_for: f64,
    /// Maximum number of active sessions: above the quota after it was lowered or the state was
    /// lost.
    most: u64,
}

impl ObservedLine {
    pub(crate) fn new(rules: LineRules, now: Micros) -> Self {
        let line = Line::new(rules, now, false);
        let (last, most) = (line.stats(now), line.rules().quota);
        let (waiting, unclaimed, witness) = (BTreeSet::new(), HashMap::new(), Witness::default());
        Self { line, witness, waiting, unclaimed, last, waited_for: 0.0, most }
    }

    pub(crate) fn rules(&self) -> &LineRules {
        self.line.rules()
    }

    /// The store loses its state; only the settings and the visitors' tickets remain.
    pub(crate) fn lose(&mut self, now: Micros) {
        self.most = self.last.active;
        self.line = Line::new(self.rules().clone(), now, true);
        self.last = self.line.stats(now);
        self.waiting.clear();
        self.unclaimed.clear();
    }

    /// Time passes while nothing happens.
    pub(crate) fn pass(&mut self, now: Micros, report: &mut Report) {
        let seconds = now.since(self.last.now) as f64 / MICROS_PER_SECOND as f64;
        if self.last.waiting > 0 && !self.last.recovering {
            // Slots reserved for sessions that have not returned are not available to the line.
            let quota = self.rules().quota.saturating_sub(self.last.reserved);
            self.waited_for += seconds;
            report.offered += seconds * quota as f64;
            report.taken += seconds * self.last.active.min(quota) as f64;
        }
        self.last.now = now;
    }

    /// A visit, as the process hands it on.
    pub(crate) fn visit(&mut self, now: Micros, ticket: Option<Ticket>, join: SessionId) -> VisitAnswer {
        let answer =
            self.line.visit(now, &Visit { ticket, join: Some(join), witness: self.witness, ..Visit::default() });
        self.witness.census = Some(answer.census());
        answer
    }

    /// A visitor joined or returned to the line.
    pub(crate) fn came(&mut self, arrival: Micros, session: SessionId) {
        self.waiting.insert((arrival, session));
    }

    /// A visit of the session claims its slot.
    pub(crate) fn seen(&mut self, session: SessionId) {
        self.unclaimed.remove(&session);
    }

    /// An unclaimed slot was not used.
    pub(crate) fn unclaimed_until(&mut self, session: SessionId, report: &mut Report) {
        if let Some(since) = self.unclaimed.remove(&session) {
            report.unclaimed += 1;
            report.taken -= self.waited_for - since;
        }
    }

    /// Examines the effect of an operation. Returns the admitted sessions in order, with their
    /// arrivals.
    pub(crate) fn look(&mut self, now: Micros, report: &mut Report) -> Vec<(Micros, SessionId)> {
        let stats = self.line.stats(now);
        let counted = |stats: &Stats| stats.counters.admitted + stats.counters.released;
        let admitted = self.admitted(now, counted(&stats) - counted(&self.last), report);
        self.watch_quota(&stats, report);
        self.last = stats;
        admitted
    }

    /// The next admitted sessions of the line. Sessions skipped on the way must have expired.
    fn admitted(&mut self, now: Micros, count: u64, report: &mut Report) -> Vec<(Micros, SessionId)> {
        let (mut admitted, mut passed_over) = (Vec::new(), Vec::new());
        for &(arrival, session) in &self.waiting {
            if admitted.len() as u64 == count {
                break;
            }
            match self.line.find(now, session).map(|found| (found.state, found.expires_at)) {
                Some((SessionLocation::Active { .. }, _)) => admitted.push((arrival, session)),
                Some((SessionLocation::Waiting { .. }, expires_at)) => report.inversions += u64::from(expires_at > now),
                _ => passed_over.push((arrival, session)),
            }
        }
        for entry in admitted.iter().chain(&passed_over) {
            self.waiting.remove(entry);
        }
        report.admitted += admitted.len() as u64;
        for (_, session) in &admitted {
            self.unclaimed.insert(*session, self.waited_for);
        }
        admitted
    }

    fn watch_quota(&mut self, stats: &Stats, report: &mut Report) {
        let allowed = stats.rules.quota.max(self.most);
        report.over_admission = report.over_admission.max(stats.active.saturating_sub(allowed));
        if !stats.recovering {
            self.most = stats.active;
        }
    }
}
