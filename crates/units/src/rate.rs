//! Data rates.

use core::fmt;
use core::iter::Sum;
use core::ops::Add;
use core::str::FromStr;

use crate::text::{ParseError, Quantity, Unit, write_decimal};
use crate::{ByteCount, Duration};

/// Bits per second; arithmetic saturates.
///
/// Read from text with the units bit/s, kbit/s, Mbit/s, Gbit/s and Tbit/s (powers of 1000).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BitRate(u64);

impl BitRate {
    /// Nothing passes.
    pub const ZERO: Self = Self(0);
    /// The highest rate.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` bit/s.
    pub const fn from_bits_per_second(n: u64) -> Self {
        Self(n)
    }

    /// `n` Mbit/s.
    pub const fn from_mbit(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// `n` Gbit/s.
    pub const fn from_gbit(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }

    /// The mean rate at which `amount` passes in `time`, rounded down. If `time` is zero, the rate
    /// is zero for no bytes and [`BitRate::MAX`] for any others.
    pub const fn of(amount: ByteCount, time: Duration) -> Self {
        if amount.is_zero() {
            return Self::ZERO;
        }
        let bits = amount.as_bytes() as u128 * 8;
        match (bits * 1_000_000_000).checked_div(time.as_nanos() as u128) {
            Some(rate) if rate <= u64::MAX as u128 => Self(rate as u64),
            _ => Self::MAX,
        }
    }

    /// Bits per second.
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }

    /// Whether nothing passes.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// How long sending `amount` takes, rounded up to a nanosecond, so that a link is never faster than its rate.
    /// [`Duration::MAX`] where it takes longer than that, as at rate zero; nothing takes no time at any rate.
    pub const fn transmission_time(self, amount: ByteCount) -> Duration {
        // Bits times nanoseconds of a packet fit 64 bits, whose division is several times faster.
        const SMALL: u64 = u64::MAX / 8_000_000_000;
        let bytes = amount.as_bytes();
        if bytes == 0 {
            return Duration::ZERO;
        }
        if self.0 == 0 {
            return Duration::MAX;
        }
        if bytes <= SMALL {
            return Duration::from_nanos((bytes * 8_000_000_000).div_ceil(self.0));
        }
        let nanos = (bytes as u128 * 8_000_000_000).div_ceil(self.0 as u128);
        if nanos > u64::MAX as u128 { Duration::MAX } else { Duration::from_nanos(nanos as u64) }
    }

    /// Whole bytes that pass in `time`, rounded down; saturates.
    pub const fn bytes_in(self, time: Duration) -> ByteCount {
        let bytes = self.0 as u128 * time.as_nanos() as u128 / 8_000_000_000;
        if bytes > u64::MAX as u128 { ByteCount::MAX } else { ByteCount::from_bytes(bytes as u64) }
    }
}

pub(crate) const QUANTITY: Quantity = Quantity {
    name: "a data rate",
    example: "100 Mbit/s",
    units: &[
        Unit { name: "bit/s", factor: 1 },
        Unit { name: "kbit/s", factor: 1_000 },
        Unit { name: "Mbit/s", factor: 1_000_000 },
        Unit { name: "Gbit/s", factor: 1_000_000_000 },
        Unit { name: "Tbit/s", factor: 1_000_000_000_000 },
    ],
    without_unit: None,
    mistakes: &[
        ("bps", "bit/s"),
        ("b/s", "bit/s"),
        ("bit", "bit/s"),
        ("bits/s", "bit/s"),
        ("kbps", "kbit/s"),
        ("kb/s", "kbit/s"),
        ("kbit", "kbit/s"),
        ("kbits/s", "kbit/s"),
        ("mbps", "Mbit/s"),
        ("mb/s", "Mbit/s"),
        ("mbit", "Mbit/s"),
        ("mbits/s", "Mbit/s"),
        ("gbps", "Gbit/s"),
        ("gb/s", "Gbit/s"),
        ("gbit", "Gbit/s"),
        ("gbits/s", "Gbit/s"),
    ],
    finest: "bit/s",
    max: u64::MAX,
    largest: "18446744073709551615 bit/s",
};

impl FromStr for BitRate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        QUANTITY.parse(text).map(Self)
    }
}

/// In the largest unit that is not larger than the rate, with all digits.
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (per_unit, unit) = match self.0 {
            0..1_000 => (1, " bit/s"),
            1_000..1_000_000 => (1_000, " kbit/s"),
            1_000_000..1_000_000_000 => (1_000_000, " Mbit/s"),
            1_000_000_000..1_000_000_000_000 => (1_000_000_000, " Gbit/s"),
            _ => (1_000_000_000_000, " Tbit/s"),
        };
        write_decimal(f, self.0, per_unit, unit)
    }
}

impl Add for BitRate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for BitRate {
    fn sum<I: Iterator<Item = Self>>(rates: I) -> Self {
        rates.fold(Self::ZERO, Add::add)
    }
}
