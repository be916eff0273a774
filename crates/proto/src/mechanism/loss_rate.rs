//! How much a path loses, for RTX-LOSSRATE (`iyengar` section IV).
//!
//! The paper has an oracle. A sender can only look back: at the last chunks of the path that were acknowledged or found
//! lost.

use polypath_units::Fraction;

/// Chunks that are remembered.
const WINDOW: u32 = 100;
/// With fewer chunks than this nothing is known.
const LEAST: u32 = 10;

/// What became of the last chunks of a path, and what an oracle says of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LossRate {
    /// One bit per chunk, the latest lowest; 1: lost.
    outcomes: u128,
    known: u32,
    /// The loss rate set from outside.
    pub(crate) oracle: Option<Fraction>,
}

impl LossRate {
    /// Nothing is known.
    pub(crate) const fn new() -> Self {
        Self { outcomes: 0, known: 0, oracle: None }
    }

    /// Chunks were acknowledged.
    #[inline]
    pub(crate) fn on_delivered(&mut self, chunks: u32) {
        if chunks == 0 {
            return;
        }
        // Nearly always nothing was lost lately, and shifting 128 bits takes long.
        if self.outcomes != 0 {
            self.outcomes = self.outcomes.checked_shl(chunks).unwrap_or(0) & mask();
        }
        self.known = self.known.saturating_add(chunks).min(WINDOW);
    }

    /// A chunk was found lost.
    pub(crate) fn on_lost(&mut self) {
        self.on_delivered(1);
        self.outcomes |= 1;
    }

    /// Lost over sent, in parts per million; 0 while too little is known.
    pub(crate) fn measured_ppm(&self) -> u32 {
        if self.known < LEAST {
            return 0;
        }
        self.outcomes.count_ones() * 1_000_000 / self.known
    }

    /// The loss rate of the oracle, or else the measured one, in parts per million.
    pub(crate) fn oracle_ppm(&self) -> u32 {
        const ATTO_PER_PPM: u64 = 1_000_000_000_000;
        self.oracle.map_or_else(|| self.measured_ppm(), |f| (f.as_atto() / ATTO_PER_PPM) as u32)
    }
}

const fn mask() -> u128 {
    (1 << WINDOW) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_back_over_a_hundred_chunks() {
        let mut rate = LossRate::new();
        for _ in 0..9 {
            rate.on_lost();
        }
        assert_eq!(rate.measured_ppm(), 0, "nine chunks are too few");
        rate.on_delivered(1);
        assert_eq!(rate.measured_ppm(), 900_000);
        rate.on_delivered(35);
        assert_eq!(rate.measured_ppm(), 200_000, "9 of 45");
        rate.on_delivered(60);
        assert_eq!(rate.measured_ppm(), 40_000, "of 105 chunks, the first five are forgotten");
        rate.on_delivered(u32::MAX - 50);
        assert_eq!(rate.measured_ppm(), 0);
        rate.on_lost();
        assert_eq!(rate.measured_ppm(), 10_000);
        rate.on_delivered(0);
        assert_eq!(rate.measured_ppm(), 10_000, "a SACK with nothing of the path");
        (0..100).for_each(|_| rate.on_lost());
        assert_eq!(rate.measured_ppm(), 1_000_000);
    }

    #[test]
    fn an_oracle_knows_better() {
        let mut rate = LossRate::new();
        rate.on_delivered(50);
        rate.on_lost();
        assert_eq!(rate.oracle_ppm(), rate.measured_ppm());
        rate.oracle = Some(Fraction::from_percent(10));
        assert_eq!(rate.oracle_ppm(), 100_000);
    }
}
