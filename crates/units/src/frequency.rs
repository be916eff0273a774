//! How often something happens.

use core::fmt;
use core::str::FromStr;

use crate::Duration;
use crate::text::{ParseError, Quantity, Unit, write_decimal};

/// Times per second, as a whole number of millionths of a hertz.
///
/// Read from text with the units Hz, kHz and MHz.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Frequency(u64);

const HERTZ: u64 = 1_000_000;

impl Frequency {
    /// Never.
    pub const ZERO: Self = Self(0);

    /// `n` Hz.
    pub const fn from_hertz(n: u64) -> Self {
        Self(n.saturating_mul(HERTZ))
    }

    /// `n` millionths of a hertz.
    pub const fn from_microhertz(n: u64) -> Self {
        Self(n)
    }

    /// Millionths of a hertz.
    pub const fn as_microhertz(self) -> u64 {
        self.0
    }

    /// Whether it is never.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Time from one to the next, rounded to the nearest nanosecond, but never zero, so that time goes on however often it
    /// is; [`Duration::MAX`] for never.
    pub const fn period(self) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let nanos = (1_000_000_000 * HERTZ as u128 + self.0 as u128 / 2) / self.0 as u128;
        Duration::from_nanos(if nanos == 0 { 1 } else { nanos as u64 })
    }
}

pub(crate) const QUANTITY: Quantity = Quantity {
    name: "a frequency",
    example: "10 Hz",
    units: &[
        Unit { name: "Hz", factor: HERTZ },
        Unit { name: "kHz", factor: 1_000 * HERTZ },
        Unit { name: "MHz", factor: 1_000_000 * HERTZ },
    ],
    without_unit: None,
    mistakes: &[("/s", "Hz"), ("1/s", "Hz"), ("fps", "Hz"), ("hertz", "Hz")],
    finest: "1e-6 Hz",
    max: u64::MAX,
    largest: "18446744073709.551615 Hz",
};

impl FromStr for Frequency {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        QUANTITY.parse(text).map(Self)
    }
}

/// In the largest unit that is not larger than the frequency, with all digits.
impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (per_unit, unit) = match self.0 / HERTZ {
            0..1_000 => (HERTZ, " Hz"),
            1_000..1_000_000 => (1_000 * HERTZ, " kHz"),
            _ => (1_000_000 * HERTZ, " MHz"),
        };
        write_decimal(f, self.0, per_unit, unit)
    }
}
