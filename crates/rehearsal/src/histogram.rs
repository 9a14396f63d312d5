//! How long things took: counts over logarithmic buckets, each a twelfth wider than the one before.

/// Buckets of an octave.
const PER_OCTAVE: f64 = 8.0;
/// 28 octaves of microseconds: up to four minutes.
const BUCKETS: usize = 224;

/// Durations, counted.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Vec<u32>,
    count: u64,
    longest_us: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], count: 0, longest_us: 0 }
    }
}

impl Histogram {
    /// Counts a duration.
    pub fn add(&mut self, us: u64) {
        let bucket = ((us.max(1) as f64).log2() * PER_OCTAVE) as usize;
        self.counts[bucket.min(BUCKETS - 1)] += 1;
        self.count += 1;
        self.longest_us = self.longest_us.max(us);
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.longest_us = self.longest_us.max(other.longest_us);
    }

    /// How many were counted.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.count
    }

    /// Whether nothing was counted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The duration in milliseconds that this share took less than, within a tenth; `None` if nothing was counted.
    #[must_use]
    pub fn quantile_ms(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += u64::from(*count);
            seen >= wanted && self.count > 0
        })?;
        let middle = 2_f64.powf((bucket as f64 + 0.5) / PER_OCTAVE);
        Some(middle.min(self.longest_us as f64) / 1000.0)
    }

    /// The longest in milliseconds.
    #[must_use]
    pub fn longest_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.longest_us as f64 / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_within_a_tenth() {
        let mut histogram = Histogram::default();
        for us in 1..=100_000 {
            histogram.add(us);
        }
        for share in [0.01, 0.5, 0.9, 0.99] {
            let found = histogram.quantile_ms(share).unwrap();
            assert!((found / (share * 100.0) - 1.0).abs() < 0.1, "{share}: {found}");
        }
        assert_eq!(histogram.longest_ms(), Some(100.0));
        assert_eq!(Histogram::default().quantile_ms(0.5), None);
    }
}
