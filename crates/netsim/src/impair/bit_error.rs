//! Bit errors.

use std::ops::Range;

use polypath_units::{ByteCount, Fraction};
use rand_core::Rng;

use crate::{Chance, Stream, Streams};

/// Independent bit errors. A packet of n bits, framing included, is hit with probability 1 - (1 - rate)ⁿ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields, expecting = "a table, for example { rate = \"1e-6\" }")
)]
pub struct BitErrorConfig {
    /// Probability per bit.
    pub rate: Fraction,
    /// What happens to a packet with a bit error.
    #[cfg_attr(feature = "serde", serde(default))]
    pub damaged: Damaged,
    /// Position of the error in a packet that is delivered.
    #[cfg_attr(feature = "serde", serde(default))]
    pub within: Within,
}

/// What happens to a packet with a bit error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Damaged {
    /// The link detects the error and drops the packet, like links with a frame check sequence.
    #[default]
    Dropped,
    /// The packet is delivered with one wrong bit; the receiver must detect it.
    Delivered,
}

/// Position of a bit error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Within {
    /// In the transport checksum: always detected, and the rest of the packet stays intact.
    #[default]
    Checksum,
    /// Anywhere in the transport packet.
    Anywhere,
}

/// A bit error in a packet that is delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// A random number for the position.
    pub draw: u64,
    /// Which bits can be hit.
    pub within: Within,
}

impl Damage {
    /// The bit that is hit, one of `bits`; `None` if there are none.
    pub fn bit(&self, bits: &Range<u64>) -> Option<u64> {
        let count = bits.end.checked_sub(bits.start).filter(|count| *count > 0)?;
        Some(bits.start + ((u128::from(self.draw) * u128::from(count)) >> 64) as u64)
    }
}

/// The bit errors of one channel.
#[derive(Debug)]
pub(crate) struct BitErrors {
    config: BitErrorConfig,
    framing: ByteCount,
    stream: Stream,
    positions: Stream,
    /// The chance for the length of the last packet: most packets have one of two lengths.
    last: (u32, Chance),
}

/// What bit errors did to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hit {
    Dropped,
    Damaged(Damage),
}

impl BitErrors {
    pub fn new(
        config: &BitErrorConfig,
        framing: ByteCount,
        channel: &str,
        streams: &Streams,
    ) -> Self {
        Self {
            config: *config,
            framing,
            stream: streams.stream(&format!("{channel}/bit-error")),
            positions: streams.stream(&format!("{channel}/bit-error/position")),
            last: (0, hit_chance(config.rate, framing.as_bytes().saturating_mul(8))),
        }
    }

    /// Draws for an IP packet of `bytes`: one number for whether, and one for where if it is delivered.
    pub fn judge(&mut self, bytes: u32) -> Option<Hit> {
        if self.last.0 != bytes {
            let bits = self.framing.as_bytes().saturating_add(bytes.into()).saturating_mul(8);
            self.last = (bytes, hit_chance(self.config.rate, bits));
        }
        if !self.last.1.draw(&mut self.stream) {
            return None;
        }
        Some(match self.config.damaged {
            Damaged::Dropped => Hit::Dropped,
            Damaged::Delivered => {
                Hit::Damaged(Damage { draw: self.positions.next_u64(), within: self.config.within })
            }
        })
    }
}

/// The chance that any of `bits` is wrong, in fixed-point arithmetic: the same on every machine.
fn hit_chance(rate: Fraction, bits: u64) -> Chance {
    let whole = 1u128 << 64;
    let right = whole - rate.of_u64_range();
    // Both below 2⁶⁴ + 1, and both 2⁶⁴ only where a factor changes nothing.
    let times = |a: u128, b: u128| if a == whole { b } else { (a * b + (1 << 63)) >> 64 };
    let (mut all_right, mut power, mut left) = (whole, right, bits);
    while left > 0 {
        if left % 2 == 1 {
            all_right = times(all_right, power);
        }
        power = if power == whole { whole } else { times(power, power) };
        left /= 2;
    }
    Chance::of_u64_range(whole - all_right)
}

/// Probability that a packet of `bits` is hit, for display and for what a sender may be told.
pub(crate) fn hit_probability(rate: Fraction, bits: u64) -> f64 {
    hit_chance(rate, bits).probability()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Fraction {
        text.parse().unwrap()
    }

    #[test]
    fn the_chance_is_that_of_independent_bits() {
        for (per_bit, bits, expected) in [
            ("0.5", 1, 0.5),
            ("0.5", 3, 0.875),
            ("0.1", 2, 0.19),
            ("0.25", 4, 1.0 - 0.75f64.powi(4)),
            ("1", 1, 1.0),
            ("1", 7, 1.0),
            ("0", 12_000, 0.0),
            ("0.5", 0, 0.0),
            // 1 - exp(-0.012000006).
            ("1e-6", 12_000, 0.011_928_293_066),
            ("1e-12", 12_000, 1.2e-8),
        ] {
            let found = hit_probability(rate(per_bit), bits);
            let error = (found - expected).abs();
            assert!(
                error <= 1e-10 && error <= 1e-6 * expected.max(1e-9),
                "{per_bit}, {bits}: {found}"
            );
        }
    }

    #[test]
    fn packets_are_hit_as_often_as_their_length_says() {
        let config = BitErrorConfig {
            rate: rate("1e-5"),
            damaged: Damaged::Delivered,
            within: Within::Checksum,
        };
        let framing = ByteCount::from_bytes(38);
        let mut errors = BitErrors::new(&config, framing, "test", &Streams::new(1));
        for (bytes, packets, deviation) in [(1_462, 100_000, 0.001), (62, 100_000, 0.0003)] {
            let hits = (0..packets).filter(|_| errors.judge(bytes).is_some()).count() as f64;
            let bits = 8.0 * (f64::from(bytes) + 38.0);
            let expected = 1.0 - (1.0f64 - 1e-5).powf(bits);
            // Four standard deviations.
            assert!((hits / f64::from(packets) - expected).abs() < 4.0 * deviation, "{hits}");
        }
    }

    #[test]
    fn positions_are_spread_over_the_bits() {
        let config = BitErrorConfig {
            rate: Fraction::ONE,
            damaged: Damaged::Delivered,
            within: Within::Anywhere,
        };
        let mut errors = BitErrors::new(&config, ByteCount::ZERO, "test", &Streams::new(1));
        let mut hits = [0u32; 32];
        for _ in 0..32_000 {
            let Some(Hit::Damaged(damage)) = errors.judge(100) else { panic!("a sure hit") };
            hits[(damage.bit(&(64..96)).unwrap() - 64) as usize] += 1;
        }
        // Four standard deviations of 1000 are 126.
        assert!(hits.iter().all(|hits| hits.abs_diff(1_000) < 130), "{hits:?}");
        let damage = Damage { draw: u64::MAX, within: Within::Anywhere };
        assert_eq!((damage.bit(&(0..8)), damage.bit(&(8..8))), (Some(7), None));
        assert_eq!(Damage { draw: 0, ..damage }.bit(&(3..9)), Some(3));
    }

    #[test]
    fn a_link_that_checks_drops_what_was_hit() {
        let config = BitErrorConfig {
            rate: Fraction::ONE,
            damaged: Damaged::default(),
            within: Within::default(),
        };
        let mut errors = BitErrors::new(&config, ByteCount::ZERO, "test", &Streams::new(1));
        assert_eq!(errors.judge(100), Some(Hit::Dropped));
    }
}
