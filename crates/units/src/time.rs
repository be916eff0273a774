//! Points in time and spans of time, in whole nanoseconds.

use core::fmt;
use core::iter::Sum;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;

use crate::text::{ParseError, Quantity, Unit, write_decimal};

/// A point in time: nanoseconds since an origin that the owner of the clock chooses.
///
/// In the simulator the origin is the start of the run; on real networks it is the start of the process.
/// Only differences between instants of one clock mean anything. Its text form is the time since the origin, written
/// as a [`Duration`].
///
/// An `Option<Instant>` takes no more room than an `Instant`: connections are full of deadlines that may not be set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(
    /// Nanoseconds since the origin, plus one.
    NonZeroU64,
);

/// A span of time in nanoseconds; arithmetic saturates at zero and at [`Duration::MAX`].
///
/// Read from text with the units ns, us (or µs), ms, s, min and h.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Duration(u64);

impl Instant {
    /// The origin of the clock.
    pub const ZERO: Self = Self(NonZeroU64::MIN);
    /// Later than any instant that a run reaches; stands for "never".
    pub const FAR_FUTURE: Self = Self(NonZeroU64::MAX);

    /// The instant `nanos` nanoseconds after the origin, at most [`Instant::FAR_FUTURE`].
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(nanos))
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0.get() - 1
    }

    /// Seconds since the origin, for display and statistics.
    pub const fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e9
    }

    /// Time from `earlier` to `self`; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.get().saturating_sub(earlier.0.get()))
    }
}

/// The origin of the clock.
impl Default for Instant {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Instant").field(&self.as_nanos()).finish()
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `n` nanoseconds.
    pub const fn from_nanos(n: u64) -> Self {
        Self(n)
    }

    /// A span of `n` microseconds.
    pub const fn from_micros(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// A span of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// A span of `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }

    /// A span of `s` seconds, rounded to the nearest nanosecond; negative and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9 + 0.5) as u64)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// The span in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The span in seconds, for display and statistics.
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether the span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// More than [`Duration::MAX`], 584 years, becomes that.
impl From<core::time::Duration> for Duration {
    fn from(span: core::time::Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for core::time::Duration {
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.0)
    }
}

pub(crate) const QUANTITY: Quantity = Quantity {
    name: "a time",
    example: "45 ms",
    units: &[
        Unit { name: "ns", factor: 1 },
        Unit { name: "us", factor: 1_000 },
        Unit { name: "µs", factor: 1_000 },
        Unit { name: "ms", factor: 1_000_000 },
        Unit { name: "s", factor: 1_000_000_000 },
        Unit { name: "min", factor: 60_000_000_000 },
        Unit { name: "h", factor: 3_600_000_000_000 },
    ],
    without_unit: None,
    mistakes: &[
        ("nsec", "ns"),
        ("\u{3bc}s", "us"),
        ("usec", "us"),
        ("msec", "ms"),
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("m", "min"),
        ("mins", "min"),
        ("minutes", "min"),
        ("hr", "h"),
        ("hours", "h"),
    ],
    finest: "nanoseconds",
    max: u64::MAX,
    largest: "18446744073.709551615 s",
};

impl FromStr for Duration {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        QUANTITY.parse(text).map(Self)
    }
}

impl FromStr for Instant {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        QUANTITY.parse(text).map(Self::from_nanos)
    }
}

/// In the largest unit up to seconds that is not larger than the span, with all digits.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (per_unit, unit) = match self.0 {
            0 => (1, " s"),
            1..1_000 => (1, " ns"),
            1_000..1_000_000 => (1_000, " us"),
            1_000_000..1_000_000_000 => (1_000_000, " ms"),
            _ => (1_000_000_000, " s"),
        };
        write_decimal(f, self.0, per_unit, unit)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.as_nanos()).fmt(f)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(d.0))
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

/// Division by zero gives [`Duration::MAX`].
impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, n: u64) -> Self {
        match self.0.checked_div(n) {
            Some(q) => Self(q),
            None => Self::MAX,
        }
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_the_core_library_convert() {
        use core::time::Duration as Core;
        for (span, expected) in [
            (Core::ZERO, Duration::ZERO),
            (Core::from_millis(1500), Duration::from_millis(1500)),
            (Core::from_nanos(u64::MAX), Duration::MAX),
            (Core::MAX, Duration::MAX),
        ] {
            assert_eq!(Duration::from(span), expected);
        }
        assert_eq!(Core::from(Duration::from_millis(45)), Core::from_millis(45));
    }
}
