//! Numbers of things on the command line, of which there is at least one.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// Reads a whole number from 1 on.
pub(crate) fn parse<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::Zero => "it must be at least 1".into(),
        IntErrorKind::PosOverflow => "it is too large".into(),
        _ => "it must be a whole number from 1 on".into(),
    })
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU32, NonZeroUsize};

    use super::*;

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
