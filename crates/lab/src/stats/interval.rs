//! Ranges of numbers.

use serde::Serialize;

/// A range of numbers with both ends in it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// Lower end; minus infinity if unknown.
    pub low: f64,
    /// Upper end; infinity if unknown.
    pub high: f64,
}

impl Interval {
    /// All numbers.
    pub const ALL: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// `half_width` to both sides of `centre`.
    pub fn around(centre: f64, half_width: f64) -> Self {
        Self { low: centre - half_width, high: centre + half_width }
    }

    /// Half of its width.
    pub fn half_width(self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether a number lies in it.
    pub fn contains(self, number: f64) -> bool {
        self.low <= number && number <= self.high
    }

    /// Whether all of it lies in another one.
    pub fn is_inside(self, other: Self) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    /// Whether no number lies in both.
    pub fn is_apart_from(self, other: Self) -> bool {
        self.high < other.low || other.high < self.low
    }

    /// Both ends times `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let (a, b) = (self.low * factor, self.high * factor);
        Self { low: a.min(b), high: a.max(b) }
    }

    /// Both ends plus `number`.
    #[must_use]
    pub fn shifted(self, number: f64) -> Self {
        Self { low: self.low + number, high: self.high + number }
    }
}
