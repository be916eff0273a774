//! Numbers of bytes.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use core::str::FromStr;

use crate::text::{ParseError, Quantity, Unit};

/// A number of bytes; arithmetic saturates.
///
/// Read from text with the units B, kB (or KB), MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ByteCount(u64);

impl ByteCount {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest count.
    pub const MAX: Self = Self(u64::MAX);

    /// `n` bytes.
    pub const fn from_bytes(n: u64) -> Self {
        Self(n)
    }

    /// `n` times 1024² bytes.
    pub const fn from_mib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 20))
    }

    /// The number of bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }

    /// Whether there are none.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

pub(crate) const QUANTITY: Quantity = Quantity {
    name: "a size",
    example: "64 KiB",
    units: &[
        Unit { name: "B", factor: 1 },
        Unit { name: "kB", factor: 1_000 },
        Unit { name: "KB", factor: 1_000 },
        Unit { name: "KiB", factor: 1 << 10 },
        Unit { name: "MB", factor: 1_000_000 },
        Unit { name: "MiB", factor: 1 << 20 },
        Unit { name: "GB", factor: 1_000_000_000 },
        Unit { name: "GiB", factor: 1 << 30 },
        Unit { name: "TB", factor: 1_000_000_000_000 },
        Unit { name: "TiB", factor: 1 << 40 },
    ],
    without_unit: None,
    mistakes: &[
        ("byte", "B"),
        ("bytes", "B"),
        ("octets", "B"),
        ("k", "kB"),
        ("ki", "KiB"),
        ("m", "MB"),
        ("mi", "MiB"),
        ("g", "GB"),
        ("gi", "GiB"),
        ("kbyte", "kB"),
        ("kbytes", "kB"),
        ("mbyte", "MB"),
        ("mbytes", "MB"),
    ],
    finest: "bytes",
    max: u64::MAX,
    largest: "18446744073709551615 B",
};

impl FromStr for ByteCount {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        QUANTITY.parse(text).map(Self)
    }
}

/// A whole number of the largest unit that fits: powers of 1000 where they divide the count, else powers of 1024.
impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DECIMAL: [(u64, &str); 4] =
            [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
        const BINARY: [(u64, &str); 4] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let fits = |(factor, _): &&(u64, &str)| self.0 != 0 && self.0.is_multiple_of(*factor);
        let (factor, unit) = DECIMAL
            .iter()
            .find(fits)
            .or_else(|| BINARY.iter().find(fits))
            .copied()
            .unwrap_or((1, "B"));
        f.pad(&alloc::format!("{} {unit}", self.0 / factor))
    }
}

impl Add for ByteCount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for ByteCount {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Stops at zero.
impl Sub for ByteCount {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for ByteCount {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for ByteCount {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Sum for ByteCount {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::ZERO, Add::add)
    }
}
