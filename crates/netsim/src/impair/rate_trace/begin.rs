//! Cycles of traces that begin elsewhere: what stands before the new begin comes at the end.

use polypath_units::Duration;

use super::Piece;

/// Values from when on they hold, in order of time from zero on.
pub(super) fn rows<T: Copy>(
    rows: &[(Duration, T)],
    offset: Duration,
    period: Duration,
) -> Vec<(Duration, T)> {
    let begun = rows.partition_point(|(from, _)| *from <= offset);
    let Some(holding) = begun.checked_sub(1) else { return rows.to_vec() };
    // The row that holds at the begin is cut in two, unless it begins there.
    let (first, _) = rows[holding];
    let cut = if first == offset { holding } else { begun };
    let now = [(Duration::ZERO, rows[holding].1)];
    let after = rows[begun..].iter().map(|(from, value)| (*from - offset, *value));
    let before = rows[..cut].iter().map(|(from, value)| (period - offset + *from, *value));
    now.into_iter().chain(after).chain(before).collect()
}

/// Times of one rate each, with what passes before them.
pub(super) fn rates(pieces: &[Piece], offset: Duration, period: Duration) -> Vec<Piece> {
    let rates: Vec<_> = pieces.iter().map(|piece| (piece.from, piece.rate)).collect();
    let mut turned: Vec<Piece> = Vec::with_capacity(rates.len() + 1);
    for (from, rate) in rows(&rates, offset, period) {
        let before = turned.last().map_or(0, |last| last.passed_by(from));
        turned.push(Piece { from, rate, before });
    }
    turned
}

/// Times in order.
pub(super) fn times(times: &[Duration], offset: Duration, period: Duration) -> Vec<Duration> {
    let (before, after) = times.split_at(times.partition_point(|time| *time < offset));
    let after = after.iter().map(|time| *time - offset);
    after.chain(before.iter().map(|time| period - offset + *time)).collect()
}
