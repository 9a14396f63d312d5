//! The request rate per second, including skipped polls.

use crate::request_stats::RequestStats;
use crate::sim_time::SimTime;

/// Changes of the request rate from second to second.
#[derive(Default)]
pub(super) struct RequestRate {
    steps: Vec<f64>,
    sum: f64,
}

impl RequestRate {
    /// Adds a request.
    pub(super) fn add(&mut self, at: SimTime) {
        self.spread(at, at, 1.0);
    }

    /// Adds requests that are spread evenly between two instants.
    pub(super) fn spread(&mut self, from: SimTime, until: SimTime, requests: f64) {
        let (first, end) = (from.second(), until.second().max(from.second()) + 1);
        if self.steps.len() <= end {
            self.steps.resize(end + 1, 0.0);
        }
        let each = requests / (end - first) as f64;
        self.steps[first] += each;
        self.steps[end] -= each;
        self.sum += requests;
    }

    /// Writes the rates to the statistics.
    pub(super) fn write(&self, request_stats: &mut RequestStats) {
        let mut rate = 0.0;
        for (second, step) in self.steps.iter().enumerate().take(self.steps.len().saturating_sub(1)) {
            rate += step;
            request_stats.second(SimTime::from_seconds(second as f64)).requests = rate.max(0.0) as f32;
        }
        request_stats.requests = self.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_spread_over_their_time() {
        let mut request_rate = RequestRate::default();
        request_rate.spread(SimTime(1_500), SimTime(4_200), 8.0);
        request_rate.add(SimTime(2_000));
        let mut request_stats = RequestStats::default();
        request_rate.write(&mut request_stats);
        let seconds: Vec<f32> = request_stats.seconds.iter().map(|second| second.requests).collect();
        assert_eq!(seconds, [0.0, 2.0, 3.0, 2.0, 2.0]);
        assert!((request_stats.requests - 9.0).abs() < 1e-9);
    }
}
