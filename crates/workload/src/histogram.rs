//! Durations as an HDR histogram of microseconds.

/// Significant digits of a recorded duration.
const DIGITS: u8 = 2;

/// A histogram of durations, with an error of at most 1 %.
#[derive(Debug, Clone)]
pub struct Histogram(hdrhistogram::Histogram<u32>);

impl Default for Histogram {
    #[expect(clippy::expect_used, reason = "the number of digits is valid")]
    fn default() -> Self {
        Self(hdrhistogram::Histogram::new(DIGITS).expect("a valid number of digits"))
    }
}

impl Histogram {
    /// Records a duration in microseconds.
    pub fn record(&mut self, us: u64) {
        // The histogram resizes itself, so recording cannot fail.
        let _ = self.0.record(us);
    }

    /// Adds the durations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        // Both resize themselves, so adding cannot fail.
        let _ = self.0.add(&other.0);
    }

    /// Number of recorded durations.
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A quantile in milliseconds; `None` if nothing was recorded.
    pub fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        (!self.is_empty()).then(|| self.0.value_at_quantile(quantile) as f64 / 1000.0)
    }

    /// The maximum in milliseconds; `None` if nothing was recorded.
    pub fn max_ms(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.0.max() as f64 / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_within_one_percent() {
        let mut histogram = Histogram::default();
        for us in 1..=100_000 {
            histogram.record(us);
        }
        for quantile in [0.01, 0.5, 0.9, 0.99] {
            let found = histogram.quantile_ms(quantile).unwrap();
            assert!((found / (quantile * 100.0) - 1.0).abs() < 0.01, "{quantile}: {found}");
        }
        assert!((histogram.max_ms().unwrap() / 100.0 - 1.0).abs() < 0.01);
        assert_eq!(Histogram::default().quantile_ms(0.5), None);
    }

    #[test]
    fn merge_adds_larger_values() {
        let (mut one, mut other) = (Histogram::default(), Histogram::default());
        one.record(10);
        other.record(60_000_000);
        one.merge(&other);
        assert_eq!(one.len(), 2);
        assert!(one.max_ms().unwrap() >= 60_000.0);
    }
}
