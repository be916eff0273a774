//! Estimates from independent runs.

use polypath_units::Fraction;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Interval;

/// Confidence of an interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Confidence {
    /// The interval covers the true value with this probability; that of a single run is infinite.
    Level(Fraction),
    /// The intervals of all numbers of runs together cover the true value with this probability, so that it also holds if
    /// intervals are inspected after each run and decide whether there are more.
    Always(Fraction),
    /// The configuration has no randomness: one run gives the true value.
    Deterministic,
}

impl Default for Confidence {
    fn default() -> Self {
        Self::Level(Fraction::from_percent(95))
    }
}

impl Confidence {
    /// Factor of the standard error of the mean of `n` runs.
    fn factor(self, n: usize) -> f64 {
        match self {
            Self::Deterministic => 0.0,
            Self::Level(_) | Self::Always(_) if n < 2 => f64::INFINITY,
            Self::Always(level) => always(1.0 - level.as_f64(), n as f64),
            Self::Level(level) => StudentsT::new(0.0, 1.0, (n - 1) as f64)
                .map_or(f64::INFINITY, |t| t.inverse_cdf(0.5 + level.as_f64() / 2.0)),
        }
    }

    /// The interval of a mean with this standard error.
    fn interval(self, mean: f64, standard_error: f64, n: usize) -> Interval {
        let factor = self.factor(n);
        // Equal runs have an interval of width 0, but a single run an infinite one.
        let half_width = if standard_error == 0.0 && factor.is_finite() {
            0.0
        } else {
            factor * standard_error.max(f64::MIN_POSITIVE)
        };
        Interval::around(mean, half_width)
    }
}

/// Factor of the standard error of a mean of `n` runs, such that the probability that the true mean is ever outside of the
/// interval is at most `alpha` for all `n` together.
///
/// It is the anytime-valid t-test of Lai (Annals of Statistics 4, 1976) and of Wang and Ramdas (Anytime-valid t-tests and
/// confidence sequences for Gaussian means with unknown variance, arXiv 2310.03722): with Student's t and g = 1,
///
/// > M(n) = (1 + n g)^(-1/2) ((1 + t²/(n-1)) / (1 + t²/((n-1)(1 + n g))))^(n/2)
///
/// is, for the true mean of normal numbers, a nonnegative martingale that begins with 1, which reaches 1/alpha with a probability
/// of at most alpha (Ville's inequality). The interval consists of all means for which it has not.
fn always(alpha: f64, n: f64) -> f64 {
    /// Variance of the effects that it is tuned for, in variances of a run.
    const G: f64 = 1.0;
    let spread = 1.0 + n * G;
    let bound = (spread.sqrt() / alpha).powf(2.0 / n);
    let rest = 1.0 - bound / spread;
    if rest <= 0.0 {
        return f64::INFINITY;
    }
    ((n - 1.0) * (bound - 1.0) / rest).sqrt()
}

/// An estimate from several runs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Interval of the true value with the requested confidence.
    pub interval: Interval,
    /// Number of runs (or pairs of runs).
    pub n: usize,
}

/// The mean of runs; `None` without runs.
pub fn mean(values: &[f64], confidence: Confidence) -> Option<Estimate> {
    let (value, error) = moments(values)?;
    let n = values.len();
    Some(Estimate { value, interval: confidence.interval(value, error, n), n })
}

/// The mean of `a - b`, run by run.
pub fn paired_difference(pairs: &[(f64, f64)], confidence: Confidence) -> Option<Estimate> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
    mean(&differences, confidence)
}

/// The ratio of the means, `a / b`, of paired runs. Its standard error is that of `a - ratio * b` (delta method), so common
/// variation cancels out. `None` if the mean of `b` is zero.
pub fn ratio(pairs: &[(f64, f64)], confidence: Confidence) -> Option<Estimate> {
    let count = pairs.len() as f64;
    let below = pairs.iter().map(|(_, b)| b).sum::<f64>() / count;
    let value = pairs.iter().map(|(a, _)| a).sum::<f64>() / count / below;
    if pairs.is_empty() || !value.is_finite() {
        return None;
    }
    let residuals: Vec<f64> = pairs.iter().map(|(a, b)| a - value * b).collect();
    let (_, error) = moments(&residuals)?;
    let interval = confidence.interval(value, error / below.abs(), pairs.len());
    Some(Estimate { value, interval, n: pairs.len() })
}

/// Mean, and standard error of the mean.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    let first = *values.first()?;
    let count = values.len() as f64;
    // Relative to the first value, so that equal values have a standard error of exactly 0.
    let mean = first + values.iter().map(|value| value - first).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = if values.len() < 2 { 0.0 } else { (squares / (count - 1.0) / count).sqrt() };
    Some((mean, error))
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const SURE: Confidence = Confidence::Level(Fraction::from_percent(95));

    /// Normal numbers from uniform ones (Box and Muller), with a fixed seed.
    struct Normal(Xoshiro256PlusPlus);

    impl Normal {
        fn next(&mut self) -> f64 {
            let mut uniform = || (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let (one, other) = (1.0 - uniform(), uniform());
            libm::sqrt(-2.0 * libm::log(one)) * libm::cos(std::f64::consts::TAU * other)
        }
    }

    /// In which part of 1,000 experiments somebody who looks after each run, up to the 200th, sees an interval without the
    /// true mean.
    fn misled(confidence: Confidence) -> f64 {
        let mut normal = Normal(Xoshiro256PlusPlus::seed_from_u64(7));
        let experiment = |_: &usize| {
            let mut values = Vec::new();
            (0..200).any(|_| {
                values.push(5.0 + 3.0 * normal.next());
                !mean(&values, confidence).expect("a mean").interval.contains(5.0)
            })
        };
        (0..1_000).filter(experiment).count() as f64 / 1_000.0
    }

    #[test]
    fn looking_again_and_again_misleads_only_where_intervals_are_not_made_for_it() {
        let level = Fraction::from_percent(90);
        let [ever, once] = [Confidence::Always(level), Confidence::Level(level)].map(misled);
        assert!(ever <= 0.10, "{ever} of the experiments, where 10 % are promised");
        assert!(ever > 0.01, "{ever}: so wide that it is not the interval that was meant");
        assert!(once > 0.30, "{once}");
    }

    #[test]
    fn intervals_for_all_numbers_of_runs_cost_some_width() {
        let always = Confidence::Always(Fraction::from_percent(95));
        // The formula solved for t, by hand: 4.25, 3.35 and 3.61 for 8, 100 and 1,000 runs.
        for (n, expected) in [(8, 4.2498), (100, 3.3465), (1000, 3.6057)] {
            let found = always.factor(n);
            assert!((found - expected).abs() < 0.01, "{n}: {found}");
        }
        assert_eq!(always.factor(1), f64::INFINITY);
        assert_eq!(mean(&[2.0; 9], always).expect("a mean").interval.half_width(), 0.0);
    }

    fn assert_close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-3 * b.abs().max(1e-9), "{a} is not {b}");
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_the_tables() {
        // t(0.975) with 1, 4 and 31 degrees of freedom: 12.706, 2.776, 2.0395.
        let two = mean(&[1.0, 3.0], SURE).expect("a mean");
        assert_close(two.value, 2.0);
        assert_close(two.interval.half_width(), 12.706 * 1.0);
        let five = mean(&[1.0, 2.0, 3.0, 4.0, 5.0], SURE).expect("a mean");
        assert_close(five.interval.half_width(), 2.776 * (2.5_f64 / 5.0).sqrt());
        let many: Vec<f64> = (0..32).map(f64::from).collect();
        let many = mean(&many, SURE).expect("a mean");
        assert_close(many.interval.half_width(), 2.0395 * (88.0_f64 / 32.0).sqrt());
        let level = Confidence::Level(Fraction::from_percent(99));
        assert_close(mean(&[1.0, 3.0], level).expect("a mean").interval.half_width(), 63.657);
    }

    #[test]
    fn one_run_says_nothing_of_its_spread_unless_there_is_none() {
        let one = mean(&[7.0], SURE).expect("a mean");
        assert!(one.interval.contains(-1e300) && one.interval.contains(1e300));
        let exact = mean(&[7.0], Confidence::Deterministic).expect("a mean");
        assert_eq!(exact.interval, Interval { low: 7.0, high: 7.0 });
        let equal = mean(&[0.1; 9], SURE).expect("a mean");
        assert_eq!(equal.interval, Interval { low: 0.1, high: 0.1 });
        assert_eq!(mean(&[], SURE), None);
    }

    #[test]
    fn what_pairs_share_does_not_widen_their_difference() {
        let pairs = [(10.0, 9.0), (100.0, 99.1), (1000.0, 999.05)];
        let difference = paired_difference(&pairs, SURE).expect("a difference");
        assert!(difference.interval.low > 0.8 && difference.interval.high < 1.2);
        let apart = mean(&[10.0, 100.0, 1000.0], SURE).expect("a mean");
        assert!(apart.interval.half_width() > 1000.0);
    }

    #[test]
    fn a_ratio_of_proportional_pairs_is_exact() {
        let proportional = ratio(&[(2.0, 1.0), (6.0, 3.0), (9.0, 4.5)], SURE).expect("a ratio");
        assert_close(proportional.value, 2.0);
        assert!(proportional.interval.half_width() < 1e-12);
        // Residuals -0.25, 0.25 of ratio 1.25 around the mean 2 of b: error 0.25 / 2, t = 12.706.
        let loose = ratio(&[(1.0, 1.0), (4.0, 3.0)], SURE).expect("a ratio");
        assert_close(loose.value, 1.25);
        assert_close(loose.interval.half_width(), 12.706 * 0.25 / 2.0);
        assert_eq!(ratio(&[(1.0, 0.0)], SURE), None);
        assert_eq!(ratio(&[], SURE), None);
    }
}
