//! Random draws of a network, the same on every machine: logarithms come from `libm`.

use polypath_netsim::{Stream, Streams};
use rand_core::Rng;

/// An independent stream of draws.
pub(super) struct Draw(Stream);

impl Draw {
    /// The stream of this name. It depends on the seed and the name only.
    pub fn of(seed: u64, name: &str) -> Self {
        Self(Streams::new(seed).stream(name))
    }

    /// A number from 0 (inclusive) to 1 (exclusive).
    fn unit(&mut self) -> f64 {
        const STEPS: f64 = (1_u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 / STEPS
    }

    /// A number from 0 up to 2³¹ - 1.
    pub fn seed(&mut self) -> u64 {
        self.0.next_u64() >> 33
    }

    /// Uniform over a range.
    pub fn uniform(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.unit()
    }

    /// Log-uniform over a range.
    pub fn log_uniform(&mut self, from: f64, to: f64) -> f64 {
        let exponent = self.uniform(libm::log(from), libm::log(to));
        libm::exp(exponent).clamp(from, to)
    }

    /// The same, rounded to a whole number.
    pub fn whole(&mut self, from: u64, to: u64) -> u64 {
        rounded(self.log_uniform(from as f64, to as f64)).clamp(from, to)
    }

    /// True with a probability in per cent.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.unit() * 100.0 < f64::from(percent)
    }

    /// A number below `count`; 0 if that is 0.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// One of several values, by their weights in per cent; the last one has the remaining weight.
    pub fn pick<T: Copy>(&mut self, first: T, others: &[(u32, T)]) -> T {
        let mut rest = self.unit() * 100.0;
        for (weight, value) in others {
            rest -= f64::from(*weight);
            if rest < 0.0 {
                return *value;
            }
        }
        first
    }
}

/// The nearest whole number.
pub(super) fn rounded(number: f64) -> u64 {
    (number + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 20_000;

    /// How many of many draws fulfil a condition, in per cent.
    fn share(mut one: impl FnMut(&mut Draw) -> bool) -> f64 {
        let mut draw = Draw::of(7, "share");
        (0..DRAWS).filter(|_| one(&mut draw)).count() as f64 * 100.0 / DRAWS as f64
    }

    #[test]
    fn streams_depend_on_seed_and_name() {
        let first = |seed, name| Draw::of(seed, name).seed();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
    }

    /// Each share has a standard deviation of at most 0.36 per cent here.
    #[test]
    fn shares_are_what_they_should_be() {
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1.5, "{found}, not {expected}");
        };
        near(share(|draw| draw.percent(30)), 30.0);
        near(share(|draw| draw.uniform(2.0, 6.0) < 3.0), 25.0);
        // A third of three orders of magnitude.
        near(share(|draw| draw.log_uniform(0.1, 100.0) < 1.0), 33.3);
        near(share(|draw| draw.below(4) == 2), 25.0);
        near(share(|draw| draw.pick('a', &[(20, 'b'), (30, 'c')]) == 'a'), 50.0);
        near(share(|draw| draw.pick('a', &[(20, 'b'), (30, 'c')]) == 'c'), 30.0);
    }

    #[test]
    fn draws_stay_in_their_range() {
        let mut draw = Draw::of(3, "range");
        for _ in 0..DRAWS {
            assert!((5..=9).contains(&draw.whole(5, 9)));
            assert!((1e-3..=1e3).contains(&draw.log_uniform(1e-3, 1e3)));
            assert!(draw.below(3) < 3);
            assert!(draw.seed() < 1 << 31);
        }
        assert_eq!(draw.below(0), 0);
    }
}
