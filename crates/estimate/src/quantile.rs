//! Quantiles of an F distribution.

/// The 0.9-quantile of the standard normal distribution.
pub(super) const NORMAL_P90: f64 = 1.281_551_565_544_6;

/// The quantile of an F distribution that corresponds to the standard normal quantile `z`:
/// Abramowitz and Stegun 26.6.15, after Paulson 1942, using cube roots that are nearly normal
/// (Wilson and Hilferty). With 8 or more degrees of freedom in `denominator`, as here, the error is
/// below 2 %. The time is constant, whatever the length of the line.
pub(super) fn f_quantile(z: f64, numerator: f64, denominator: f64) -> f64 {
    let (a, b) = (2.0 / (9.0 * numerator), 2.0 / (9.0 * denominator));
    let spread = (b * (1.0 - a).powi(2) + a * (1.0 - b).powi(2) - a * b * z * z).sqrt();
    let root = ((1.0 - a) * (1.0 - b) + z * spread) / ((1.0 - b).powi(2) - b * z * z);
    root.powi(3)
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{Rng as _, SeedableRng as _};

    use super::*;

    #[test]
    fn quantiles_match_the_gamma_poisson_mixture() {
        let mut rng = SmallRng::seed_from_u64(7);
        let mut gamma = |shape: u64| -> f64 { (0..shape).map(|_| -rng.random::<f64>().max(1e-300).ln()).sum() };
        let mut ratios: Vec<f64> = (0..20_000).map(|_| gamma(20) / gamma(12)).collect();
        ratios.sort_by(f64::total_cmp);
        for (z, index) in [(0.0, 10_000), (NORMAL_P90, 18_000)] {
            let found = f_quantile(z, 40.0, 24.0) * 20.0 / 12.0;
            assert!((found / ratios[index] - 1.0).abs() < 0.03, "{found} {}", ratios[index]);
        }
    }

    #[test]
    fn quantiles_at_the_head_are_exact() {
        for shape in [4.0, 10.0, 100.0] {
            for (z, p) in [(0.0, 0.5_f64), (NORMAL_P90, 0.9)] {
                let exact = (1.0 - p).powf(-1.0 / shape) - 1.0;
                let found = f_quantile(z, 2.0, 2.0 * shape) / shape;
                assert!((found / exact - 1.0).abs() < 0.02, "{shape} {p}: {found} {exact}");
            }
        }
    }
}
