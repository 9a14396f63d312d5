//! Active and waiting visitors, quota utilization, and the time to fill free slots, from the traces of the visitors.

use std::collections::VecDeque;

use crate::histogram::Histogram;
use crate::sim_time::SimTime;
use crate::visitor::VisitorTrace;

/// Concurrency over a run.
#[derive(Debug, Clone, Default)]
pub struct Concurrency {
    /// Maximum number of visitors who were certainly active at the same time: each from the response that showed the
    /// admission to the last successful or the leave request.
    pub peak_active: u64,
    /// When that was.
    pub peak_at: SimTime,
    /// Share of the slots that were in use while a visitor waited who was admitted later.
    pub utilization: Option<f64>,
    /// Time from a free slot to the next visitor who learned of the admission.
    pub refill: Histogram,
    /// Waiting visitors at the end of each second.
    pub waiting: Vec<u32>,
    /// Active visitors at the end of each second.
    pub active: Vec<u32>,
    /// Admissions in each second.
    pub admissions: Vec<u32>,
    /// Arrivals in each second.
    pub arrivals: Vec<u32>,
}

/// Transitions of one instant are applied in this order, so that no slot is counted twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Transition {
    Left,
    Free,
    Come,
    In,
}

/// Measures the concurrency up to `end`.
pub fn measure_concurrency(traces: &[VisitorTrace], quota: Option<u64>, end: SimTime) -> Concurrency {
    let mut transitions = transitions_of(traces, end);
    transitions.sort_unstable();
    let mut concurrency = Concurrency::default();
    let (mut active, mut taken, mut waiting) = (0_u64, 0_u64, 0_u64);
    let (mut used, mut offered, mut before) = (0.0, 0.0, SimTime(0));
    let mut free: VecDeque<SimTime> = VecDeque::new();
    for (at, turn) in transitions {
        if let Some(quota) = quota.filter(|_| waiting > 0) {
            used += at.since(before) * taken.min(quota) as f64;
            offered += at.since(before) * quota as f64;
        }
        before = at;
        match turn {
            Transition::Come => waiting += 1,
            Transition::In => {
                (waiting, active, taken) = (waiting - 1, active + 1, taken + 1);
                if let Some(since) = free.pop_front() {
                    concurrency.refill.record(u64::from(at.0 - since.0) * 1000);
                }
                if active > concurrency.peak_active {
                    (concurrency.peak_active, concurrency.peak_at) = (active, at);
                }
            }
            Transition::Left => active -= 1,
            Transition::Free => {
                taken -= 1;
                free.push_back(at);
            }
        }
        if waiting == 0 {
            free.clear();
        }
    }
    concurrency.utilization = (offered > 0.0).then(|| used / offered);
    concurrency.set_series(traces, end);
    concurrency
}

fn transitions_of(traces: &[VisitorTrace], end: SimTime) -> Vec<(SimTime, Transition)> {
    let mut transitions = Vec::with_capacity(traces.len() * 4);
    for trace in traces.iter().filter(|trace| trace.has_own_session()) {
        let (Some(since), Some(admitted)) = (trace.in_line_since(), trace.admitted) else { continue };
        transitions.push((since, Transition::Come));
        transitions.push((admitted, Transition::In));
        let out = trace.active_until.unwrap_or(admitted).max(admitted).min(end);
        transitions.push((out.max(admitted.add_ms(1)), Transition::Left));
        let free = trace.slot_free_at.unwrap_or(out).max(out).max(admitted.add_ms(1));
        if free <= end {
            transitions.push((free, Transition::Free));
        }
    }
    transitions
}

impl Concurrency {
    /// The maximum number of visitors in line or active.
    pub fn peak_present(&self) -> u64 {
        let present = self.waiting.iter().zip(&self.active).map(|(waiting, active)| waiting + active);
        u64::from(present.max().unwrap_or(0))
    }

    /// Sets the values of each second.
    fn set_series(&mut self, traces: &[VisitorTrace], end: SimTime) {
        let seconds = end.second() + 1;
        let count = |of: &dyn Fn(&VisitorTrace) -> Option<SimTime>| {
            let mut counts = vec![0_u32; seconds];
            for at in traces.iter().filter(|trace| trace.has_own_session()).filter_map(of).filter(|at| *at <= end) {
                counts[at.second()] += 1;
            }
            counts
        };
        self.arrivals = count(&|trace| trace.arrived);
        self.admissions = count(&|trace| trace.admitted);
        // A visitor who gave up left at the last poll.
        let joined = count(&VisitorTrace::in_line_since);
        let left_line = count(&|trace| {
            let gave_up = trace.last_waiting.filter(|_| trace.gave_up || trace.rejected);
            trace.in_line_since().and(trace.admitted.or(gave_up))
        });
        let out = count(&|trace| trace.admitted.and(trace.active_until));
        self.waiting = running(&joined, &left_line);
        self.active = running(&self.admissions, &out);
    }
}

fn running(more: &[u32], less: &[u32]) -> Vec<u32> {
    let mut level = 0_i64;
    let step = |(more, less): (&u32, &u32)| {
        level += i64::from(*more) - i64::from(*less);
        u32::try_from(level).unwrap_or(0)
    };
    more.iter().zip(less).map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visitor_kind::VisitorKind;

    fn shopper(arrived: u32, admitted: u32, until: u32) -> VisitorTrace {
        let mut trace = VisitorTrace::new(VisitorKind::Person);
        (trace.arrived, trace.joined, trace.admitted) =
            (Some(SimTime(arrived)), Some(SimTime(arrived)), Some(SimTime(admitted)));
        (trace.active_until, trace.slot_free_at) = (Some(SimTime(until)), Some(SimTime(until)));
        trace
    }

    #[test]
    fn only_simultaneously_active_visitors_are_counted() {
        let traces = [shopper(0, 0, 1000), shopper(0, 1000, 2000), shopper(0, 1500, 3000)];
        let concurrency = measure_concurrency(&traces, Some(1), SimTime(4000));
        assert_eq!((concurrency.peak_active, concurrency.peak_at), (2, SimTime(1500)));
        assert_eq!(concurrency.admissions, [1, 2, 0, 0, 0]);
        assert_eq!(concurrency.active, [1, 2, 1, 0, 0]);
    }

    #[test]
    fn free_slots_with_waiting_visitors_lower_utilization() {
        let traces = [shopper(0, 0, 1000), shopper(0, 3000, 4000)];
        let concurrency = measure_concurrency(&traces, Some(1), SimTime(5000));
        assert!((concurrency.utilization.unwrap() - 1.0 / 3.0).abs() < 0.01, "{:?}", concurrency.utilization);
        let refill = concurrency.refill.quantile_ms(0.5).unwrap();
        assert!((refill / 2000.0 - 1.0).abs() < 0.1, "{refill}");
    }
}
