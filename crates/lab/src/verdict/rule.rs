//! Rules for the words of statements, as pure functions of estimates with their intervals.
//!
//! A statement holds if the whole interval agrees with it, differs if the whole interval contradicts it, and otherwise needs
//! more runs.

use serde::Serialize;

use crate::stats::{Estimate, Interval};

/// "About", "alike" and "almost nothing": within this fraction.
pub const ABOUT: f64 = 0.05;
/// "Clearly", "much" and "vast": at least this fraction; "slightly" and "somewhat": less.
pub const CLEARLY: f64 = 0.20;
/// "No difference": certainly less than this fraction.
pub const NO_DIFFERENCE: f64 = 0.01;

/// Whether a statement holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// Undecided: more runs are needed.
    Undecided,
    /// It differs.
    Differs,
}

impl Verdict {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Undecided => "undecided",
            Self::Differs => "differs",
        }
    }

    /// The verdict of a statement with several parts that must all hold.
    #[must_use]
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().max().unwrap_or(Self::Undecided)
    }

    /// The verdict of a statement with several parts, one of which must hold.
    #[must_use]
    pub fn any(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().min().unwrap_or(Self::Undecided)
    }
}

/// About `value`: the mean lies within `tolerance` of it (a fraction of it). An interval wider than the tolerance decides
/// nothing, and neither does a mean outside if its interval reaches the tolerated range.
pub fn about(estimate: &Estimate, value: f64, tolerance: f64) -> Verdict {
    let allowed = (tolerance * value).abs();
    if (estimate.value - value).abs() <= allowed {
        return if estimate.interval.half_width() <= allowed {
            Verdict::Holds
        } else {
            Verdict::Undecided
        };
    }
    if estimate.interval.is_apart_from(Interval::around(value, allowed)) {
        Verdict::Differs
    } else {
        Verdict::Undecided
    }
}

/// Between two numbers.
pub fn between(interval: Interval, band: Interval) -> Verdict {
    if interval.is_inside(band) {
        Verdict::Holds
    } else if interval.is_apart_from(band) {
        Verdict::Differs
    } else {
        Verdict::Undecided
    }
}

/// Alike: the relative difference is at most `within`.
pub fn alike(difference: Interval, within: f64) -> Verdict {
    between(difference, Interval::around(0.0, within))
}

/// Better: the advantage is above zero.
pub fn better(advantage: Interval) -> Verdict {
    if advantage.low > 0.0 {
        Verdict::Holds
    } else if advantage.high <= 0.0 {
        Verdict::Differs
    } else {
        Verdict::Undecided
    }
}

/// The verdict of an undecided comparison: if the relative difference certainly lies within [`NO_DIFFERENCE`] (two one-sided tests,
/// Schuirmann 1987), there is no difference, and neither curve is better.
pub fn unless_equivalent(verdict: Verdict, difference: Option<Interval>) -> Verdict {
    let none = Interval::around(0.0, NO_DIFFERENCE);
    match verdict {
        Verdict::Undecided if difference.is_some_and(|found| found.is_inside(none)) => {
            Verdict::Differs
        }
        other => other,
    }
}

/// Clearly, much, vastly better: the relative advantage is at least `by`.
pub fn clearly(advantage: Interval, by: f64) -> Verdict {
    if advantage.low >= by {
        Verdict::Holds
    } else if advantage.high < by {
        Verdict::Differs
    } else {
        Verdict::Undecided
    }
}

/// Slightly, somewhat better: the relative advantage is above zero and below [`CLEARLY`].
pub fn slightly(advantage: Interval) -> Verdict {
    if advantage.low > 0.0 && advantage.high < CLEARLY {
        Verdict::Holds
    } else if advantage.high <= 0.0 || advantage.low >= CLEARLY {
        Verdict::Differs
    } else {
        Verdict::Undecided
    }
}

/// Almost nothing: the fraction of the best curve is less than `below`.
pub fn almost_nothing(part: Interval, below: f64) -> Verdict {
    if part.high < below {
        Verdict::Holds
    } else if part.low >= below {
        Verdict::Differs
    } else {
        Verdict::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Differs, Holds, Undecided};
    use super::*;

    fn interval(low: f64, high: f64) -> Interval {
        Interval { low, high }
    }

    #[test]
    fn about_x_is_a_mean_within_five_per_cent() {
        for (value, half_width, expected) in [
            (100.0, 1.0, Holds),
            (104.9, 1.0, Holds),
            (95.1, 4.0, Holds),
            (104.9, 5.1, Undecided),
            (100.0, f64::INFINITY, Undecided),
            (105.1, 0.2, Undecided),
            (105.1, 0.05, Differs),
            (94.0, 2.0, Undecided),
            (94.0, 0.5, Differs),
            (80.0, f64::INFINITY, Undecided),
        ] {
            let interval = Interval::around(value, half_width);
            let estimate = Estimate { value, interval, n: 10 };
            assert_eq!(about(&estimate, 100.0, ABOUT), expected, "{value} ± {half_width}");
        }
    }

    #[test]
    fn between_needs_the_whole_interval() {
        let band = interval(67.0, 71.0);
        for (low, high, expected) in [
            (67.0, 71.0, Holds),
            (68.0, 69.0, Holds),
            (66.0, 69.0, Undecided),
            (60.0, 80.0, Undecided),
            (71.5, 80.0, Differs),
            (60.0, 66.9, Differs),
        ] {
            assert_eq!(between(interval(low, high), band), expected, "{low} to {high}");
        }
    }

    #[test]
    fn alike_is_a_difference_within_five_per_cent() {
        for (low, high, expected) in [
            (-0.05, 0.05, Holds),
            (0.01, 0.04, Holds),
            (0.02, 0.06, Undecided),
            (-0.3, 0.3, Undecided),
            (0.051, 0.1, Differs),
            (-0.2, -0.06, Differs),
        ] {
            assert_eq!(alike(interval(low, high), ABOUT), expected, "{low} to {high}");
        }
    }

    #[test]
    fn better_excludes_zero() {
        for (low, high, expected) in [
            (0.001, 0.5, Holds),
            (-0.001, 0.5, Undecided),
            (0.0, 0.5, Undecided),
            (-0.5, -0.001, Differs),
            (0.0, 0.0, Differs),
        ] {
            assert_eq!(better(interval(low, high)), expected, "{low} to {high}");
        }
    }

    #[test]
    fn no_difference_takes_proof_and_not_its_absence() {
        for (low, high, expected) in [
            (-0.009, 0.008, Differs),
            (-0.011, 0.008, Undecided),
            (-0.3, 0.3, Undecided),
            (f64::NEG_INFINITY, f64::INFINITY, Undecided),
        ] {
            let found = unless_equivalent(Undecided, Some(interval(low, high)));
            assert_eq!(found, expected, "{low} to {high}");
        }
        assert_eq!(unless_equivalent(Holds, Some(interval(0.001, 0.002))), Holds);
        assert_eq!(unless_equivalent(Undecided, None), Undecided);
    }

    #[test]
    fn clearly_is_at_least_twenty_per_cent_and_slightly_less() {
        for (low, high, is_clear, is_slight) in [
            (0.2, 0.3, Holds, Differs),
            (0.25, f64::INFINITY, Holds, Differs),
            (0.1, 0.3, Undecided, Undecided),
            (0.05, 0.19, Differs, Holds),
            (-0.05, 0.19, Differs, Undecided),
            (-0.05, 0.3, Undecided, Undecided),
            (-0.3, -0.1, Differs, Differs),
            (0.0, 0.0, Differs, Differs),
        ] {
            let advantage = interval(low, high);
            assert_eq!(clearly(advantage, CLEARLY), is_clear, "clearly: {low} to {high}");
            assert_eq!(slightly(advantage), is_slight, "slightly: {low} to {high}");
        }
    }

    #[test]
    fn almost_nothing_is_below_five_per_cent_of_the_best() {
        for (low, high, expected) in [
            (0.0, 0.04, Holds),
            (0.0, 0.05, Undecided),
            (0.04, 0.2, Undecided),
            (0.05, 0.06, Differs),
        ] {
            assert_eq!(almost_nothing(interval(low, high), ABOUT), expected, "{low} to {high}");
        }
    }

    #[test]
    fn parts_are_joined() {
        assert_eq!(Verdict::all([Holds, Holds]), Holds);
        assert_eq!(Verdict::all([Holds, Undecided]), Undecided);
        assert_eq!(Verdict::all([Undecided, Differs, Holds]), Differs);
        assert_eq!(Verdict::any([Differs, Undecided]), Undecided);
        assert_eq!(Verdict::any([Differs, Holds]), Holds);
        assert_eq!(Verdict::all([]), Undecided);
        assert_eq!(Verdict::any([]), Undecided);
    }
}
