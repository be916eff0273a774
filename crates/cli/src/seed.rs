//! Seeds on the command line.

/// Reads a seed.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_whole_numbers_that_are_not_negative() {
        assert_eq!(parse("7"), Ok(7));
        assert_eq!(parse(&u64::MAX.to_string()), Ok(u64::MAX));
        for wrong in ["-1", "1.5", "x", ""] {
            assert!(
                parse(wrong).unwrap_err().ends_with("from 0 to 18446744073709551615"),
                "{wrong}"
            );
        }
    }
}
