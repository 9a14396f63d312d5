//! Requests by the second, many of which are only counted.

use crate::moment::Moment;
use crate::tally::Tally;

/// How the rate of requests changes from second to second.
#[derive(Default)]
pub(super) struct Rates {
    steps: Vec<f64>,
    sum: f64,
}

impl Rates {
    /// Counts a request.
    pub(super) fn add(&mut self, at: Moment) {
        self.spread(at, at, 1.0);
    }

    /// Counts requests that are made evenly between two instants.
    pub(super) fn spread(&mut self, from: Moment, until: Moment, requests: f64) {
        let (first, end) = (from.second(), until.second().max(from.second()) + 1);
        if self.steps.len() <= end {
            self.steps.resize(end + 1, 0.0);
        }
        let each = requests / (end - first) as f64;
        self.steps[first] += each;
        self.steps[end] -= each;
        self.sum += requests;
    }

    pub(super) const fn sum(&self) -> f64 {
        self.sum
    }

    /// Writes the counts down.
    pub(super) fn write(&self, tally: &mut Tally) {
        let mut rate = 0.0;
        for (second, step) in self.steps.iter().enumerate().take(self.steps.len().saturating_sub(1)) {
            rate += step;
            tally.second(Moment::of_seconds(second as f64)).requests = rate.max(0.0) as f32;
        }
        tally.requests = self.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_spread_over_its_time() {
        let mut rates = Rates::default();
        rates.spread(Moment(1_500), Moment(4_200), 8.0);
        rates.add(Moment(2_000));
        let mut tally = Tally::default();
        rates.write(&mut tally);
        let seconds: Vec<f32> = tally.seconds.iter().map(|second| second.requests).collect();
        assert_eq!(seconds, [0.0, 2.0, 3.0, 2.0, 2.0]);
        assert!((tally.requests - 9.0).abs() < 1e-9);
    }
}
