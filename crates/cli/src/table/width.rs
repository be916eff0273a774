//! Width of text output.

use std::io::{self, IsTerminal};

/// Minimum width: narrower output is laid out for this many columns.
const NARROWEST: usize = 40;

/// Columns of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Width(Option<usize>);

impl Width {
    /// No limit.
    pub const FULL: Self = Self(None);

    /// A number of columns.
    pub fn of(columns: usize) -> Self {
        Self(Some(columns.max(NARROWEST)))
    }

    /// That of standard output: what `COLUMNS` says, else the terminal's, else no limit.
    pub fn of_output() -> Self {
        let wanted = std::env::var("COLUMNS").ok();
        let terminal = || {
            let size = io::stdout().is_terminal().then(|| console::Term::stdout().size_checked());
            size.flatten().map(|(_, columns)| usize::from(columns))
        };
        Self::from(wanted.as_deref(), terminal)
    }

    fn from(wanted: Option<&str>, terminal: impl FnOnce() -> Option<usize>) -> Self {
        let wanted = wanted.and_then(|text| text.trim().parse().ok());
        let known = wanted.or_else(terminal).filter(|columns| *columns > 0);
        known.map_or(Self(None), Self::of)
    }

    /// The limit, if there is one.
    pub fn columns(self) -> Option<usize> {
        self.0
    }

    /// The width that is left beside a number of columns.
    pub fn less(self, columns: usize) -> Self {
        self.0.map_or(self, |width| Self::of(width.saturating_sub(columns)))
    }

    /// At most a number of columns: running text is hard to read in longer lines.
    pub fn at_most(self, columns: usize) -> usize {
        self.0.map_or(columns, |width| width.min(columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_comes_before_the_terminal() {
        let width = |wanted, terminal| Width::from(wanted, || terminal).columns();
        assert_eq!(width(Some("70"), Some(120)), Some(70));
        assert_eq!(width(Some("70"), None), Some(70));
        assert_eq!(width(None, Some(120)), Some(120));
        assert_eq!(width(None, None), None);
    }

    #[test]
    fn a_useless_value_of_columns_is_none() {
        let width = |wanted, terminal| Width::from(Some(wanted), || terminal).columns();
        assert_eq!(width("wide", Some(120)), Some(120));
        assert_eq!(width("", None), None);
        assert_eq!(width("0", Some(120)), None);
        assert_eq!(width("-5", None), None);
        assert_eq!(width("3", None), Some(NARROWEST));
    }
}
