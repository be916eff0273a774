//! Draws from the distributions of the field, the same on every machine.

use rand_core::Rng;

/// The generator behind all draws: xoshiro256++, whose output no version will change.
pub type Stream = rand_xoshiro::Xoshiro256PlusPlus;

/// Above zero, up to and including one.
pub(crate) fn unit(rng: &mut Stream) -> f64 {
    const STEPS: f64 = (1u64 << 53) as f64;
    ((rng.next_u64() >> 11) + 1) as f64 / STEPS
}

/// From `from` to `to`.
pub(crate) fn uniform(from: f64, to: f64, rng: &mut Stream) -> f64 {
    from + (to - from) * unit(rng)
}

/// Exponential with this mean.
pub(crate) fn exponential(mean: f64, rng: &mut Stream) -> f64 {
    -mean * libm::log(unit(rng))
}

/// Pareto: never below `min`, above x with probability (min / x)^shape.
pub(crate) fn pareto(min: f64, shape: f64, rng: &mut Stream) -> f64 {
    min * libm::pow(unit(rng), -1.0 / shape)
}

/// Pareto with this mean, which a shape above 1 has.
pub(crate) fn pareto_of_mean(mean: f64, shape: f64, rng: &mut Stream) -> f64 {
    pareto(mean * (shape - 1.0) / shape, shape, rng)
}

#[cfg(test)]
pub(crate) fn stream(seed: u64) -> Stream {
    use rand_core::SeedableRng;
    Stream::seed_from_u64(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 100_000;

    fn draws(draw: impl Fn(&mut Stream) -> f64) -> Vec<f64> {
        let mut rng = stream(7);
        let mut all: Vec<f64> = (0..DRAWS).map(|_| draw(&mut rng)).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Largest distance between the distribution of these sorted draws and the one given: Kolmogorov and Smirnov's.
    fn distance(sorted: &[f64], below: impl Fn(f64) -> f64) -> f64 {
        let n = sorted.len() as f64;
        let distances = sorted.iter().enumerate().map(|(rank, x)| {
            let p = below(*x);
            (p - rank as f64 / n).abs().max((p - (rank + 1) as f64 / n).abs())
        });
        distances.fold(0.0, f64::max)
    }

    /// Exceeded by a right generator in one of a thousand seeds.
    fn critical() -> f64 {
        1.95 / libm::sqrt(DRAWS as f64)
    }

    #[test]
    fn shapes_are_those_of_their_names() {
        let exponential = draws(|rng| exponential(3.0, rng));
        assert!(distance(&exponential, |x| 1.0 - libm::exp(-x / 3.0)) < critical());
        let pareto = draws(|rng| pareto(2.0, 1.5, rng));
        assert!(pareto[0] >= 2.0);
        assert!(distance(&pareto, |x| 1.0 - libm::pow(2.0 / x, 1.5)) < critical());
        let uniform = draws(|rng| uniform(5.0, 7.0, rng));
        assert!(distance(&uniform, |x| (x - 5.0) / 2.0) < critical());
        // The test itself finds a wrong shape.
        assert!(distance(&pareto, |x| 1.0 - libm::pow(2.0 / x, 1.4)) > 2.0 * critical());
        assert!(distance(&exponential, |x| 1.0 - libm::exp(-x / 3.1)) > 2.0 * critical());
    }

    #[test]
    fn means_are_as_told() {
        let mean = |all: Vec<f64>| all.iter().sum::<f64>() / DRAWS as f64;
        // Four standard deviations of the mean.
        let exponential = mean(draws(|rng| exponential(3.0, rng)));
        assert!((exponential - 3.0).abs() < 4.0 * 3.0 / libm::sqrt(DRAWS as f64), "{exponential}");
        // A shape of 3 has a variance: min² 3 / 4 with min = 2.
        let pareto = mean(draws(|rng| pareto_of_mean(3.0, 3.0, rng)));
        assert!((pareto - 3.0).abs() < 4.0 * libm::sqrt(3.0 / DRAWS as f64), "{pareto}");
    }
}
