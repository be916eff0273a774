//! Numbers as text.

use crate::stats::{Estimate, Interval};

/// A space between a number and its unit.
pub(super) const NO_BREAK: char = '\u{a0}';

/// A number with four significant digits.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return if value.is_nan() {
            "-"
        } else if value > 0.0 {
            "∞"
        } else {
            "−∞"
        }
        .into();
    }
    let magnitude = value.abs().log10().floor();
    if !(-5.0..9.0).contains(&magnitude) {
        return format!("{value:.3e}").replace('-', "−");
    }
    let decimals = (3.0 - magnitude).clamp(0.0, 8.0) as usize;
    let text = format!("{value:.decimals$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    text.replace('-', "−")
}

/// A fraction as a percentage.
pub(super) fn percent(part: f64) -> String {
    format!("{}{NO_BREAK}%", number(part * 100.0))
}

/// A text in which no line ends between a number and its percent sign.
pub(super) fn unbroken(text: &str) -> String {
    text.replace(" %", &format!("{NO_BREAK}%"))
}

/// The ends of an interval.
pub(super) fn interval(interval: Interval, format: fn(f64) -> String) -> String {
    if interval.half_width() == 0.0 {
        return "no spread".into();
    }
    if !interval.half_width().is_finite() {
        return "one run: unknown".into();
    }
    format!("{} to {}", format(interval.low), format(interval.high))
}

/// A mean with its half-width.
pub(super) fn estimate(estimate: &Estimate) -> String {
    spread(estimate.value, estimate.interval)
}

/// A value with the half-width of its interval, if that is known and not 0.
pub(super) fn spread(value: f64, interval: Interval) -> String {
    let half_width = interval.half_width();
    match half_width > 0.0 && half_width.is_finite() {
        true => format!("{} ± {}", number(value), number(half_width)),
        false => number(value),
    }
}

/// A duration in a suitable unit.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.1} s"),
        s if s < 5400.0 => format!("{:.1} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        for (value, expected) in [
            (0.0, "0"),
            (96.3456, "96.35"),
            (-0.012_345, "−0.01235"),
            (8_388_608.0, "8388608"),
            (1e12, "1.000e12"),
            (1.5e-9, "1.500e−9"),
            (100.0, "100"),
            (f64::INFINITY, "∞"),
        ] {
            assert_eq!(number(value), expected, "{value}");
        }
        assert_eq!(percent(-0.2), "−20\u{a0}%");
    }
}
