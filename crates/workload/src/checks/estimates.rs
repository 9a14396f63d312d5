//! Accuracy of the estimated waits.

use serde::Serialize;

use crate::visitor::{EstimatedWait, VisitorTrace};

/// Seconds after the admission within which a visitor learns of it: the poll interval near the front.
const POLL_TOLERANCE: f64 = 2.0;

/// How the waits compare with the estimates.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct EstimateAccuracy {
    /// Number of visitors with an estimate who stayed and were admitted.
    pub compared: u64,
    /// Share of waits up to the estimated p90; 0.9 is exact.
    pub p90_coverage: f64,
    /// Share of waits between the estimated p50 and p90; 0.4 is exact.
    pub range_coverage: f64,
    /// Median of the wait minus the estimated p50, in seconds.
    pub bias_seconds: f64,
    /// Median deviation relative to the estimated p50: 1 is twice as long, -0.5 half as long.
    pub bias: f64,
}

/// Measures the accuracy of the estimates that `of` selects; `None` without one.
pub fn estimate_accuracy(
    traces: &[VisitorTrace],
    of: impl Fn(&VisitorTrace) -> Option<EstimatedWait>,
) -> Option<EstimateAccuracy> {
    let compared = traces.iter().filter(|trace| trace.stayed_present());
    let waits: Vec<(f64, EstimatedWait)> = compared
        .filter_map(|trace| {
            let estimate = of(trace)?;
            Some((trace.admitted?.since(estimate.at), estimate))
        })
        .collect();
    if waits.is_empty() {
        return None;
    }
    let share = |test: &dyn Fn(&(f64, EstimatedWait)) -> bool| {
        waits.iter().filter(|wait| test(wait)).count() as f64 / waits.len() as f64
    };
    let p90_coverage = share(&|(wait, estimate)| *wait <= f64::from(estimate.p90) + POLL_TOLERANCE);
    let range_coverage = share(&|(wait, estimate)| {
        *wait <= f64::from(estimate.p90) + POLL_TOLERANCE && *wait >= f64::from(estimate.p50)
    });
    let median = |of: &dyn Fn(&(f64, EstimatedWait)) -> f64| {
        let mut all: Vec<f64> = waits.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let bias_seconds = median(&|(wait, estimate)| wait - f64::from(estimate.p50));
    let bias = median(&|(wait, estimate)| (wait - f64::from(estimate.p50)) / f64::from(estimate.p50).max(1.0));
    Some(EstimateAccuracy { compared: waits.len() as u64, p90_coverage, range_coverage, bias_seconds, bias })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim_time::SimTime;
    use crate::visitor_kind::VisitorKind;

    #[test]
    fn underestimated_waits_lower_the_coverage() {
        let trace = |wait: f64, p50, p90| {
            let mut trace = VisitorTrace::new(VisitorKind::Person);
            (trace.arrived, trace.joined) = (Some(SimTime(0)), Some(SimTime(0)));
            trace.admitted = Some(SimTime::from_seconds(wait));
            trace.first_estimate = Some(EstimatedWait { at: SimTime(0), p50, p90 });
            trace
        };
        let traces = [trace(100.0, 10, 20), trace(100.0, 50, 120), trace(100.0, 110, 150)];
        let accuracy = estimate_accuracy(&traces, |trace| trace.first_estimate).unwrap();
        assert_eq!(accuracy.compared, 3);
        assert!((accuracy.p90_coverage - 2.0 / 3.0).abs() < 1e-9 && (accuracy.range_coverage - 1.0 / 3.0).abs() < 1e-9);
        assert!((accuracy.bias_seconds - 50.0).abs() < 1e-9 && (accuracy.bias - 1.0).abs() < 1e-9);
        assert_eq!(estimate_accuracy(&traces, |trace| trace.later_estimate), None);
    }
}
