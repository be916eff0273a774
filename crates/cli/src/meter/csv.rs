//! Intervals as lines of CSV.

use std::fmt::Display;

use polypath_meter::document::{Interval, PathReport, StreamReport, Sum};

/// Names of the columns.
pub(crate) const HEADER: [&str; 14] = [
    "kind",
    "id",
    "direction",
    "start_s",
    "end_s",
    "omitted",
    "bytes",
    "bits_per_second",
    "messages",
    "retransmits",
    "cwnd_bytes",
    "rtt_us",
    "delay_p50_us",
    "delay_p99_us",
];

/// The fields of a line.
pub(crate) type Row = [String; HEADER.len()];

/// The rows of an interval.
pub(crate) fn rows(interval: &Interval) -> Vec<Row> {
    let sums = std::iter::once(&interval.sum).chain(&interval.sum_bidir_reverse);
    let omitted = interval.sum.omitted;
    let streams = interval.streams.iter().map(stream);
    streams
        .chain(sums.map(sum))
        .chain(interval.paths.iter().flat_map(|of| path(of, omitted)))
        .collect()
}

fn stream(of: &StreamReport) -> Row {
    let delay = of.delay;
    fields([
        &"stream",
        &of.socket,
        &direction(of.sender),
        &of.start,
        &of.end,
        &of.omitted,
        &of.bytes,
        &of.bits_per_second,
        &of.messages,
        &Cell(of.retransmits),
        &Cell(of.snd_cwnd),
        &Cell(of.rtt),
        &Cell(delay.map(|delay| delay.p50_us)),
        &Cell(delay.map(|delay| delay.p99_us)),
    ])
}

fn sum(of: &Sum) -> Row {
    let (direction, retransmits) = (direction(of.sender), Cell(of.retransmits));
    fields([
        &"sum",
        &"",
        &direction,
        &of.start,
        &of.end,
        &of.omitted,
        &of.bytes,
        &of.bits_per_second,
        &of.messages,
        &retransmits,
        &"",
        &"",
        &"",
        &"",
    ])
}

fn path(of: &PathReport, omitted: bool) -> [Row; 2] {
    let row = |direction: &str, bytes: u64, rate: f64| {
        fields([
            &"path",
            &of.path,
            &direction,
            &of.start,
            &of.end,
            &omitted,
            &bytes,
            &rate,
            &"",
            &of.retransmits,
            &of.snd_cwnd,
            &Cell(of.rtt),
            &"",
            &"",
        ])
    };
    [
        row("sent", of.sent_bytes, of.sent_bits_per_second),
        row("received", of.received_bytes, of.received_bits_per_second),
    ]
}

fn direction(sender: bool) -> &'static str {
    if sender { "sent" } else { "received" }
}

/// An empty field for `None`.
struct Cell(Option<u64>);

impl Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |value| value.fmt(f))
    }
}

fn fields(cells: [&dyn Display; HEADER.len()]) -> Row {
    cells.map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_is_empty() {
        let mut interval = Interval::default();
        interval.sum_bidir_reverse = Some(Sum::default());
        let rows = rows(&interval);
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!([&row[0], &row[1], &row[10]], ["sum", "", ""]);
        }
    }
}
