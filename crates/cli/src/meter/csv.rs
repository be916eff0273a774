//! Intervals as lines of CSV.

use std::fmt::Display;

use polypath_meter::document::{Interval, PathReport, StreamReport, Sum};

/// Names of the columns.
pub(crate) const HEADER: &str = "kind,id,direction,start_s,end_s,omitted,bytes,bits_per_second,messages,retransmits,cwnd_bytes,rtt_us,\
     delay_p50_us,delay_p99_us";

/// The rows of an interval.
pub(crate) fn rows(interval: &Interval) -> Vec<String> {
    let sums = std::iter::once(&interval.sum).chain(&interval.sum_bidir_reverse);
    let omitted = interval.sum.omitted;
    let streams = interval.streams.iter().map(stream);
    streams
        .chain(sums.map(sum))
        .chain(interval.paths.iter().flat_map(|of| path(of, omitted)))
        .collect()
}

fn stream(of: &StreamReport) -> String {
    let delay = of.delay;
    join(&[
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

fn sum(of: &Sum) -> String {
    let (direction, retransmits) = (direction(of.sender), Cell(of.retransmits));
    join(&[
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

fn path(of: &PathReport, omitted: bool) -> [String; 2] {
    let row = |direction: &str, bytes: u64, rate: f64| {
        join(&[
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

/// Empty where there is nothing.
struct Cell(Option<u64>);

impl Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |value| value.fmt(f))
    }
}

fn join(cells: &[&dyn Display]) -> String {
    cells.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_all_columns() {
        let mut interval = Interval::default();
        interval.sum_bidir_reverse = Some(Sum::default());
        let columns = HEADER.split(',').count();
        let rows = rows(&interval);
        assert_eq!(rows.len(), 2);
        assert!(rows.iter().all(|row| row.split(',').count() == columns), "{rows:?}");
    }
}
