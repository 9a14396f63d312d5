//! A seeded random number generator.

use std::f64::consts::TAU;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use vestibule_core::SessionId;

pub(crate) struct Rng(SmallRng);

impl Rng {
    pub(crate) fn of(seed: u64) -> Self {
        Self(SmallRng::seed_from_u64(seed))
    }

    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.0.random_bool(probability)
    }

    pub(crate) fn between(&mut self, least: f64, most: f64) -> f64 {
        self.0.random_range(least..most)
    }

    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.random_range(0..of.len())]
    }

    pub(crate) fn session(&mut self) -> SessionId {
        SessionId::from_bytes(self.0.random())
    }

    /// An exponential time with this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.0.random::<f64>()).ln()
    }

    /// A log-normal time with this mean and shape 0.8: most shop for minutes, a few for very long.
    pub(crate) fn log_normal(&mut self, mean: f64) -> f64 {
        const SHAPE: f64 = 0.8;
        let (radius, angle) = ((-2.0 * (1.0 - self.0.random::<f64>()).ln()).sqrt(), self.between(0.0, TAU));
        (mean.ln() - SHAPE * SHAPE / 2.0 + SHAPE * radius * angle.cos()).exp()
    }
}
