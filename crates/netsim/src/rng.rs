//! Random numbers: one stream per component, named after it.

use polypath_units::Fraction;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest, Sha256};

/// The generator behind every stream: xoshiro256++, whose output no version will change.
pub type Stream = Xoshiro256PlusPlus;

/// All random number streams of a run.
///
/// A stream depends on the seed of the run and its own name only. Adding a component, or drawing more numbers in one,
/// leaves the numbers of all others as they were; variants of a scenario that share a seed share their randomness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Streams {
    run_seed: u64,
}

impl Streams {
    /// The streams of the run with this seed.
    pub const fn new(run_seed: u64) -> Self {
        Self { run_seed }
    }

    /// The stream `name`, from its start. Seeded with the SHA-256 of a label, the seed of the run as eight bytes, least
    /// significant first, and the name.
    pub fn stream(&self, name: &str) -> Stream {
        let digest = Sha256::new()
            .chain_update(b"polypath stream 1\0")
            .chain_update(self.run_seed.to_le_bytes())
            .chain_update(name.as_bytes())
            .finalize();
        Stream::from_seed(digest.into())
    }
}

/// A yes-or-no draw with a fixed probability.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chance {
    /// How many of the 2⁶⁴ values of a draw mean yes.
    hits: u128,
}

impl Chance {
    /// Yes with this probability, exact to 2⁻⁶⁴.
    pub const fn new(probability: Fraction) -> Self {
        Self { hits: probability.of_u64_range() }
    }

    /// Yes for that many of the 2⁶⁴ values of a draw.
    pub(crate) const fn of_u64_range(hits: u128) -> Self {
        Self { hits }
    }

    /// The probability of yes.
    pub(crate) fn probability(self) -> f64 {
        self.hits as f64 / (1u128 << 64) as f64
    }

    /// Draws once; takes exactly one number from `rng` whatever the probability.
    pub fn draw(self, rng: &mut impl Rng) -> bool {
        u128::from(rng.next_u64()) < self.hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_what_they_were() {
        // Worked out apart from this code, from the definitions of SHA-256 and xoshiro256++. A change here changes
        // every run with randomness.
        let mut stream = Streams::new(1).stream("link/core/forward/loss");
        assert_eq!(
            [stream.next_u64(), stream.next_u64()],
            [14654219710851536833, 9537058267808486382]
        );
    }

    #[test]
    fn streams_differ_by_seed_and_name() {
        let first = |seed, name| Streams::new(seed).stream(name).next_u64();
        assert_eq!(first(7, "a"), first(7, "a"));
        assert_ne!(first(7, "a"), first(7, "b"));
        assert_ne!(first(7, "a"), first(8, "a"));
    }

    #[test]
    fn chances_hit_as_often_as_they_say() {
        let mut stream = Streams::new(3).stream("chance");
        let mut hits = |probability| {
            let chance = Chance::new(probability);
            (0..100_000).filter(|_| chance.draw(&mut stream)).count()
        };
        assert_eq!(hits(Fraction::ZERO), 0);
        assert_eq!(hits(Fraction::ONE), 100_000);
        // Four standard deviations of the binomial distribution are 126.
        assert!(hits(Fraction::from_percent(1)).abs_diff(1_000) < 126);
    }
}
