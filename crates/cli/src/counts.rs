//! Whole numbers on the command line.

use std::fmt::Display;
use std::num::{IntErrorKind, ParseIntError};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Reads a whole number from 1 on.
pub(crate) fn parse<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::Zero => "it must be at least 1".into(),
        IntErrorKind::PosOverflow => "it is too large".into(),
        _ => "it must be a whole number from 1 on".into(),
    })
}

/// Reads a whole number in a range.
pub(crate) fn within<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("it must be a whole number from {} to {}", range.start(), range.end())),
    }
}

/// Reads a whole number, 0 included.
pub(crate) fn any(text: &str) -> Result<u64, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "it is too large".into(),
        _ => "it must be a whole number from 0 on".into(),
    })
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroUsize};

    use super::*;

    #[test]
    fn numbers_out_of_their_range_are_refused_with_it() {
        let port = within(1..=u16::MAX);
        assert_eq!((port("1"), port("65535")), (Ok(1), Ok(65535)));
        for wrong in ["0", "65536", "-1", "x", "", "1.5"] {
            assert_eq!(port(wrong).unwrap_err(), "it must be a whole number from 1 to 65535");
        }
        assert_eq!(any("0"), Ok(0));
        assert!(any("x").unwrap_err().contains("from 0 on"));
        assert!(any("99999999999999999999").unwrap_err().contains("too large"));
    }

    #[test]
    fn counts_begin_with_one() {
        assert_eq!(parse::<NonZeroU32>("1").unwrap().get(), 1);
        assert_eq!(parse::<NonZeroUsize>("4096").unwrap().get(), 4096);
        for (wrong, told) in [
            ("0", "at least 1"),
            ("5000000000", "too large"),
            ("-1", "whole"),
            ("x", "whole"),
            ("", "whole"),
        ] {
            let error = parse::<NonZeroU32>(wrong).unwrap_err();
            assert!(error.contains(told), "{wrong}: {error}");
        }
    }
}
