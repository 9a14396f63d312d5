//! The results of a sale.

use std::fmt;

use crate::scenario::Scenario;

#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Over-admission: the maximum number of active sessions above the quota, or above the number
    /// before it was lowered.
    pub(crate) over_admission: u64,
    /// Inversions: present visitors who saw a later arrival admitted.
    pub(crate) inversions: u64,
    /// Visitors who were sent to the end of the line although they polled in time.
    pub(crate) positions_lost: u64,
    /// Visitors who stayed and were never admitted.
    pub(crate) never_admitted: u64,
    /// Arrivals of continuously present visitors, in order of admission.
    pub(crate) admissions: Vec<u64>,
    /// Admitted visitors who polled in time and were sent back to the line.
    pub(crate) evicted: u64,
    /// Maximum number of visitors shopping concurrently.
    pub(crate) most_shopping: u64,
    /// Slot-seconds used, and slot-seconds available, while visitors waited.
    pub(crate) taken: f64,
    pub(crate) offered: f64,
    pub(crate) visits: u64,
    /// Sessions admitted in order, and those of them whose slot nobody claimed.
    pub(crate) admitted: u64,
    pub(crate) unclaimed: u64,
    /// By how much a shown position was below the true rank, as a share of that, at most.
    pub(crate) position_too_low: f64,
    pub(crate) hours: f64,
}

impl Report {
    /// The normalized Kendall tau distance between arrivals and admissions: 0 is the same order, 1 the reverse.
    pub(crate) fn tau(&self) -> f64 {
        let order = &self.admissions;
        let behind = |index: usize| order[index + 1..].iter().filter(|later| **later < order[index]).count();
        let inversions: usize = (0..order.len()).map(behind).sum();
        let pairs = order.len() * order.len().saturating_sub(1) / 2;
        inversions as f64 / pairs.max(1) as f64
    }

    pub(crate) fn slots_used(&self) -> f64 {
        if self.offered > 0.0 { self.taken / self.offered } else { 1.0 }
    }

    pub(crate) fn unclaimed_share(&self) -> f64 {
        self.unclaimed as f64 / self.admitted.max(1) as f64
    }

    pub(crate) fn check(&self, seed: u64) {
        let again = format!("VESTIBULE_SIM_SEED={seed}");
        assert_eq!(self.over_admission, 0, "over-admission: {again}");
        assert_eq!(self.inversions, 0, "a later arrival was admitted before an earlier one that was present: {again}");
        assert!(self.tau() == 0.0, "the order of admission is not that of arrival: {again}");
        assert_eq!((self.positions_lost, self.never_admitted), (0, 0), "positions were lost: {again}");
        assert!(self.admissions.len() > 10, "hardly any visitor came: {again}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "over-admission {}, inversions {}, tau {:.4} of {}, positions lost {}, never admitted {}, slots used {:.3}; {} visits in {:.1} h",
            self.over_admission,
            self.inversions,
            self.tau(),
            self.admissions.len(),
            self.positions_lost,
            self.never_admitted,
            self.slots_used(),
            self.visits,
            self.hours,
        )
    }
}

/// The results of several sales.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    seeds: u64,
    visits: u64,
    /// The share of slots used in each sale that no rate limited, with its seed.
    uses: Vec<(f64, u64)>,
}

impl Summary {
    pub(crate) fn add(&mut self, seed: u64, report: &Report, scenario: &Scenario) {
        self.seeds += 1;
        self.visits += report.visits;
        if scenario.waits_for_slots() {
            self.uses.push((report.slots_used(), seed));
        }
    }

    fn least(&self) -> (f64, u64) {
        self.uses.iter().copied().min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((1.0, 0))
    }

    /// Checks the share of slots used in every sale that no rate limited.
    pub(crate) fn assert_use(&self, least: f64) {
        let (used, seed) = self.least();
        assert!(used >= least, "only {used:.3} of the slots were used: VESTIBULE_SIM_SEED={seed}");
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = self.uses.iter().map(|(used, _)| used).sum::<f64>() / self.uses.len().max(1) as f64;
        let (least, seed) = self.least();
        write!(f, "{} seeds, {} visits; slots used {mean:.3} in the mean, ", self.seeds, self.visits)?;
        write!(f, "{least:.3} at least (seed {seed}); no over-admission, no inversion, no position lost")
    }
}
