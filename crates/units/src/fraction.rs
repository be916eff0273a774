//! Parts of a whole, and probabilities.

use core::fmt;
use core::str::FromStr;

use crate::text::{ParseError, Quantity, Unit, write_decimal};

/// A number from 0 to 1, as a whole number of 10⁻¹⁸.
///
/// Read from text as a number (`0.01`, `1e-7`) or with `%` (`1 %`); in files with `%` or an exponent only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Fraction(u64);

const WHOLE: u64 = 1_000_000_000_000_000_000;

impl Fraction {
    /// None of it; an event that never happens.
    pub const ZERO: Self = Self(0);
    /// All of it; an event that always happens.
    pub const ONE: Self = Self(WHOLE);

    /// `n` per cent; more than 100 are all.
    pub const fn from_percent(n: u64) -> Self {
        if n >= 100 { Self::ONE } else { Self(n * (WHOLE / 100)) }
    }

    /// The fraction closest to `value`.
    ///
    /// # Errors
    /// `value` is negative, above 1 or not a number.
    pub fn from_f64(value: f64) -> Result<Self, NotAFraction> {
        if !(0.0..=1.0).contains(&value) {
            return Err(NotAFraction(value));
        }
        Ok(Self(((value * WHOLE as f64 + 0.5) as u64).min(WHOLE)))
    }

    /// As a floating-point number, for display and statistics.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / WHOLE as f64
    }

    /// As a whole number of 10⁻¹⁸.
    pub const fn as_atto(self) -> u64 {
        self.0
    }

    /// How many of the 2⁶⁴ values of a uniform random 64-bit number count as a hit; 2⁶⁴ for [`Fraction::ONE`].
    pub const fn of_u64_range(self) -> u128 {
        ((self.0 as u128) << 64) / WHOLE as u128
    }

    /// Whether it is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// A number that is no fraction.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("{0} is not a fraction: it has to be from 0 to 1")]
pub struct NotAFraction(pub f64);

pub(crate) const QUANTITY: Quantity = Quantity {
    name: "a fraction",
    example: "1 %",
    units: &[Unit { name: "%", factor: WHOLE / 100 }],
    without_unit: Some(WHOLE),
    mistakes: &[("percent", "%"), ("per cent", "%"), ("pct", "%")],
    finest: "1e-18",
    max: WHOLE,
    largest: "1 (or 100 %)",
};

impl FromStr for Fraction {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        QUANTITY.parse(text).map(Self)
    }
}

/// In per cent from 0.01 % upwards, below that as a plain number.
impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.pad("0 %"),
            small if small < WHOLE / 10_000 => {
                // The power of ten of the first digit; the digits after it follow the point.
                let power = small.ilog10();
                write_decimal(f, small, 10u64.pow(power), &alloc::format!("e-{}", 18 - power))
            }
            value => write_decimal(f, value, WHOLE / 100, " %"),
        }
    }
}
