//! The range of possible values of a quantity, which limits its intervals.

use super::Spot;

/// The range of a quantity, derived from its values. Goodputs, times, sizes and counts are never negative, so an interval
/// around a small mean must not extend below 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Range {
    low: f64,
}

impl Range {
    /// The range of a quantity with these values: from 0, unless one of them is negative.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let is_signed = values.into_iter().any(|value| value < 0.0);
        Self { low: if is_signed { f64::NEG_INFINITY } else { 0.0 } }
    }

    /// A spot whose interval is limited to the range.
    pub fn clip(self, spot: Spot) -> Spot {
        Spot { low: spot.low.max(self.low).min(spot.y), ..spot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_ends_at_nothing_if_no_value_is_below() {
        let spot = Spot { x: 0.0, y: 1.0, low: -2.0, high: 4.0 };
        assert_eq!(Range::of([0.0, 3.0]).clip(spot), Spot { low: 0.0, ..spot });
        assert_eq!(Range::of([-0.1, 3.0]).clip(spot), spot);
        let exact = Spot::exact(0.0, 0.0);
        assert_eq!(Range::of([0.0]).clip(exact), exact);
        let negative = Spot::exact(0.0, -1.0);
        assert_eq!(Range::of([]).clip(negative).y, -1.0);
    }
}
