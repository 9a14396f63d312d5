//! Seeded randomness. Every visitor has a generator, so what a visitor does depends neither on other visitors nor on the
//! order of responses.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use vestibule_core::SessionId;

/// Shape (sigma) of log-normal times.
const LOG_NORMAL_SHAPE: f64 = 0.8;

/// The random numbers of a visitor.
#[derive(Debug, Clone)]
pub struct Rng(SmallRng);

impl Rng {
    /// The generator of a visitor, by the seed of the workload and the visitor's number.
    pub fn for_visitor(seed: u64, number: u32) -> Self {
        // A generator spreads the seeds, so that visitors of one workload never equal those of the next seed.
        let base: u64 = SmallRng::seed_from_u64(seed).random();
        Self(SmallRng::seed_from_u64(base.wrapping_add(u64::from(number))))
    }

    /// A number from 0 (inclusive) to 1 (exclusive).
    pub fn share(&mut self) -> f64 {
        self.0.random()
    }

    /// Whether an event of this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// A number evenly distributed between `min` and `max`.
    pub fn between(&mut self, min: f64, max: f64) -> f64 {
        min + (max - min) * self.share()
    }

    /// An exponential time with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let unit: f64 = Exp1.sample(&mut self.0);
        mean * unit
    }

    /// A log-normal time with this mean: most are short and a few are very long.
    pub fn log_normal(&mut self, mean: f64) -> f64 {
        let normal: f64 = StandardNormal.sample(&mut self.0);
        (mean.ln() - LOG_NORMAL_SHAPE * LOG_NORMAL_SHAPE / 2.0 + LOG_NORMAL_SHAPE * normal).exp()
    }

    /// A session ID.
    pub fn session(&mut self) -> SessionId {
        SessionId::from_bytes(self.0.random())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_and_number_give_the_same_sequence() {
        let first = |seed, number| Rng::for_visitor(seed, number).share().to_bits();
        assert_eq!(first(1, 7), first(1, 7));
        assert_ne!(first(1, 7), first(1, 8));
        assert_ne!(first(1, 8), first(2, 7));
    }

    #[test]
    fn random_times_have_the_given_mean() {
        let mean = |draw: &dyn Fn(&mut Rng) -> f64| {
            (0..40_000).map(|number| draw(&mut Rng::for_visitor(3, number))).sum::<f64>() / 40_000.0
        };
        assert!((mean(&|rng| rng.exponential(60.0)) - 60.0).abs() < 1.5);
        assert!((mean(&|rng| rng.log_normal(60.0)) - 60.0).abs() < 1.5);
        assert!((mean(&|rng| rng.between(10.0, 30.0)) - 20.0).abs() < 0.2);
    }
}
