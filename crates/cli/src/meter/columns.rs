//! Columns of a measurement that fit the terminal.

use crate::table::Width;

use super::numbers::{show_bytes, show_rate};

/// Names and widths of the columns after the rate; the last ones are omitted first.
const MORE: [(&str, usize); 4] = [("Retr", 5), ("Cwnd", 11), ("RTT", 8), ("Delay99", 8)];
/// Columns for `receiver` behind a line.
const TAIL: usize = 10;

/// The columns of all lines of a measurement.
///
/// If they do not fit, times are shortened, then columns are omitted from the right, and finally the bytes: a measurement prints
/// line by line, so it cannot continue below as other tables do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Columns {
    /// Whether each line names the sending side.
    has_role: bool,
    has_short_times: bool,
    has_bytes: bool,
    /// Number of columns of [`MORE`] that are shown.
    more: usize,
}

impl Columns {
    /// Those that fit.
    pub fn new(has_role: bool, width: Width) -> Self {
        let all = Self { has_role, has_short_times: false, has_bytes: true, more: MORE.len() };
        let Some(width) = width.columns() else { return all };
        let short = Self { has_short_times: true, ..all };
        let fewer = (0..MORE.len()).rev().map(|more| Self { more, ..short });
        let least = Self { has_bytes: false, more: 0, ..short };
        [all, short]
            .into_iter()
            .chain(fewer)
            .find(|columns| columns.width() <= width)
            .unwrap_or(least)
    }

    fn width(self) -> usize {
        self.line("", "", "", ["", ""], [(); MORE.len()].map(|()| String::new())).len() + TAIL
    }

    /// The names of the columns.
    pub fn header(self) -> String {
        let role = if self.has_role { "[Role]" } else { "" };
        let more = MORE.map(|(name, _)| name.to_owned());
        let header = self.line("   ID", role, "Interval", ["Transfer", "Bitrate"], more);
        header.trim_end().to_owned()
    }

    /// A line; `role` is empty or six letters wide.
    pub fn row(
        self,
        id: &str,
        role: &str,
        [start, end]: [f64; 2],
        (bytes, bit_s): (u64, f64),
        more: [Option<String>; 4],
    ) -> String {
        let times = match self.has_short_times {
            true => format!("{start:.2}-{end:.2} s"),
            false => format!("{start:>6.2}-{end:<6.2} sec"),
        };
        let numbers = [show_bytes(bytes), show_rate(bit_s)];
        let numbers = [numbers[0].as_str(), numbers[1].as_str()];
        self.line(&format!("{id:>5}"), role, &times, numbers, more.map(Option::unwrap_or_default))
    }

    fn line(
        self,
        id: &str,
        role: &str,
        times: &str,
        [bytes, rate]: [&str; 2],
        more: [String; 4],
    ) -> String {
        let role_width = if self.has_role { 6 } else { 0 };
        let times_width = if self.has_short_times { 13 } else { 20 };
        let mut line = format!("[{id:>5}]{role:<role_width$} {times:<times_width$}");
        if self.has_bytes {
            line += &format!(" {bytes:>11} ");
        }
        line += &format!(" {rate:>14}");
        for (text, (_, width)) in more.iter().zip(MORE).take(self.more) {
            line += &format!("  {text:>width$}");
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(columns: Columns, role: &str) -> String {
        let more = [Some("12".into()), Some("1.00 MBytes".into()), Some("10.2 ms".into()), None];
        columns.row("1", role, [0.0, 1.0], (125_000_000, 1e9), more)
    }

    #[test]
    fn all_columns_are_there_where_nothing_limits_them() {
        let columns = Columns::new(false, Width::FULL);
        assert_eq!(
            columns.header(),
            "[   ID] Interval                Transfer         Bitrate   Retr         Cwnd       RTT   Delay99"
        );
        assert_eq!(columns, Columns::new(false, Width::of(120)));
        assert!(row(columns, "").contains("  0.00-1.00   sec"));
    }

    #[test]
    fn the_last_columns_are_left_out_first() {
        let header = |width| Columns::new(false, Width::of(width)).header();
        assert!(header(100).ends_with("Delay99"));
        assert!(header(90).ends_with("RTT"));
        assert!(header(80).ends_with("Cwnd"));
        assert!(header(66).ends_with("Retr"));
        assert!(header(60).ends_with("Bitrate"));
    }

    #[test]
    fn every_line_has_place_for_its_tail() {
        for width in 55..130 {
            for role in ["", "[ TX ]"] {
                let columns = Columns::new(!role.is_empty(), Width::of(width));
                let row = row(columns, role);
                assert!(
                    row.len() + TAIL <= width && columns.header().len() <= width,
                    "{width}: {row}"
                );
            }
        }
    }
}
