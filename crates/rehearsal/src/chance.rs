//! Chance, from a seed: a generator of eight bytes for every visitor, so that what one of them does depends on nothing
//! that another does, nor on the order in which answers come.

use std::f64::consts::TAU;

use vestibule_core::SessionId;

/// `SplitMix64`: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators".
#[derive(Debug, Clone)]
pub struct Chance(u64);

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    /// The chance of the visitor of this number in a crowd of this seed.
    #[must_use]
    pub fn of(seed: u64, number: u32) -> Self {
        // Mixed before it is spread: the numbers of one crowd must not run into those of the next seed.
        let mut mixed = Self(seed);
        let start = mixed.next();
        let mut own = Self(start ^ u64::from(number).wrapping_mul(STEP).rotate_left(17));
        Self(own.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, and without, 1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something of this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// Evenly from `least` up to `most`.
    pub fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.share()
    }

    /// An exponential time with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.share()).ln()
    }

    /// A log-normal time with this mean and shape 0.8: most are quick, and a few take very long.
    pub fn log_normal(&mut self, mean: f64) -> f64 {
        const SHAPE: f64 = 0.8;
        let (radius, angle) = ((-2.0 * (1.0 - self.share()).ln()).sqrt(), self.between(0.0, TAU));
        (mean.ln() - SHAPE * SHAPE / 2.0 + SHAPE * radius * angle.cos()).exp()
    }

    /// A session's id.
    pub fn session(&mut self) -> SessionId {
        let mut bytes = [0; SessionId::SIZE];
        for chunk in bytes.chunks_mut(size_of::<u64>()) {
            chunk.copy_from_slice(&self.next().to_be_bytes()[..chunk.len()]);
        }
        SessionId::from_bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_is_the_same_chance_and_another_is_not() {
        let first = |seed, number| Chance::of(seed, number).share().to_bits();
        assert_eq!(first(1, 7), first(1, 7));
        assert_ne!(first(1, 7), first(1, 8));
        assert_ne!(first(1, 8), first(2, 7));
    }

    #[test]
    fn times_have_the_mean_that_was_asked_for() {
        let mean = |draw: &dyn Fn(&mut Chance) -> f64| {
            (0..40_000).map(|number| draw(&mut Chance::of(3, number))).sum::<f64>() / 40_000.0
        };
        assert!((mean(&|chance| chance.exponential(60.0)) - 60.0).abs() < 1.5);
        assert!((mean(&|chance| chance.log_normal(60.0)) - 60.0).abs() < 1.5);
        assert!((mean(&|chance| chance.between(10.0, 30.0)) - 20.0).abs() < 0.2);
    }
}
