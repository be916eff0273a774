//! Applying a validated SACK to the outstanding data.

use polypath_wire::GapAckBlocks;

use super::{AckDelta, Report};
use crate::Tsn;
use crate::extension::nr_sack::Release;
use crate::transmit::outstanding::{History, Newly, OutstandingData, Popped};
use crate::types::{BufferBytes, TimedChunk, Unambiguous};

/// Applies the cumulative ack and then the gap blocks and tells in `delta` what that changed; for each path it has an entry
/// without news. The blocks ascend. The work is proportional to the chunks that are removed or become
/// acknowledged and to the number of blocks, plus a word per 64 TSNs that they cover.
pub(crate) fn apply_to(
    outstanding: &mut OutstandingData,
    report: &Report<'_>,
    delta: &mut AckDelta,
    mut on_newly: impl FnMut(Tsn, &Newly),
) {
    let Report { cumulative, blocks, release, .. } = *report;
    while outstanding.base().is_at_or_before(cumulative) {
        let tsn = outstanding.base();
        let Popped { released, history, newly } = outstanding.pop();
        delta.freed_history |= history;
        delta.released += released;
        delta.cumulative_ack_advanced = true;
        if let Some(newly) = &newly {
            note(delta, tsn, newly, Means::CumulativeAck);
            on_newly(tsn, newly);
        }
    }
    if report.is_late(outstanding) {
        return apply_late(outstanding, report, delta, on_newly);
    }
    if !blocks.is_empty() {
        apply_blocks(outstanding, report, delta, on_newly);
    }
    // Anything acknowledged by an earlier SACK that was not final.
    match release {
        Release::Reported if outstanding.has_renegable() => {
            delta.release_early(release_blocks(outstanding, cumulative, blocks));
        }
        Release::Blocks(final_ones) if outstanding.has_renegable() => {
            delta.release_early(release_blocks(outstanding, cumulative, final_ones));
        }
        Release::Nothing | Release::Reported | Release::Blocks(_) => {}
    }
}

/// Applies those of the gap blocks, or the parts of them, that are not below the cumulative ack of a later report.
#[inline(never)]
fn apply_late(
    outstanding: &mut OutstandingData,
    report: &Report<'_>,
    delta: &mut AckDelta,
    mut on_newly: impl FnMut(Tsn, &Newly),
) {
    let base = outstanding.base();
    for block in report.blocks.iter() {
        let start = report.cumulative.plus(block.start.into());
        let stop = report.cumulative.plus(u32::from(block.end) + 1);
        if stop.is_after(base) {
            let start = if start.is_before(base) { base } else { start };
            apply_run(outstanding, report, delta, (start, stop), &mut on_newly);
            delta.highest_gap_acked = Some(stop.previous());
        }
    }
}

/// Applies the gap blocks.
fn apply_blocks(
    outstanding: &mut OutstandingData,
    report: &Report<'_>,
    delta: &mut AckDelta,
    mut on_newly: impl FnMut(Tsn, &Newly),
) {
    let Report { cumulative, blocks, .. } = *report;
    let mut highest = 0;
    // `for_each`, because iterating from inside is faster, and SACKs over unequal paths have hundreds of blocks.
    blocks.iter().for_each(|block| {
        let (start, end) = (u32::from(block.start), u32::from(block.end));
        highest = end;
        delta.reported += u64::from(end - start + 1);
        let at = cumulative.plus(start);
        // Mostly one TSN that an earlier SACK reported already.
        if start == end && outstanding.is_acked(at) {
            return;
        }
        apply_run(outstanding, report, delta, (at, cumulative.plus(end + 1)), &mut on_newly);
    });
    delta.highest_gap_acked = Some(cumulative.plus(highest));
}

/// Applies a gap block from the first TSN up to the second. Apart, so that the blocks with nothing new do not pay for it.
#[inline(never)]
fn apply_run(
    outstanding: &mut OutstandingData,
    report: &Report<'_>,
    delta: &mut AckDelta,
    (mut at, stop): (Tsn, Tsn),
    on_newly: &mut impl FnMut(Tsn, &Newly),
) {
    while let Some(tsn) = outstanding.next_unacked(at, stop) {
        if let Some(newly) = outstanding.gap_ack(tsn, report.arrival) {
            if matches!(report.release, Release::Reported) {
                delta.release_early(outstanding.release(tsn));
            }
            note(delta, tsn, &newly, Means::GapBlock);
            on_newly(tsn, &newly);
        }
        at = tsn.next();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    CumulativeAck,
    GapBlock,
}

#[inline(always)]
fn note(delta: &mut AckDelta, tsn: Tsn, newly: &Newly, means: Means) {
    extend(&mut delta.lowest_newly_acked, &mut delta.highest_newly_acked, tsn);
    let Some(path) = delta.paths.get_mut(newly.path.index()) else { return };
    // A chunk acknowledged again after reneging was credited before and proves nothing new (CUC, SFR).
    if newly.was_in_flight {
        path.flight_bytes += u64::from(newly.flight_bytes);
    }
    path.user_bytes += u64::from(newly.user_bytes);
    if newly.history.contains(History::CREDITED) {
        return;
    }
    path.chunks += 1;
    extend(&mut path.lowest, &mut path.highest, tsn);
    if !newly.history.contains(History::MOVED) {
        path.highest_of_its_own = later(path.highest_of_its_own, tsn);
    }
    // Nobody knows which of its transmissions arrived.
    if newly.history.contains(History::RESCHEDULED) {
        return;
    }
    path.credited_bytes += u64::from(newly.flight_bytes);
    match means {
        Means::CumulativeAck => path.by_cumulative_ack = true,
        Means::GapBlock => path.credited_in_gaps += u64::from(newly.flight_bytes),
    }
    let took_one_path = !newly.history.intersects(History::MOVED | History::COPIED);
    // Of a chunk that was retransmitted, an earlier transmission may be what arrived.
    let is_fresh = newly.was_in_flight && newly.transmissions == 1;
    path.unambiguous = path.unambiguous.max(match (took_one_path, is_fresh) {
        (true, true) => Unambiguous::InFlight,
        (true, false) => Unambiguous::TakenForLost,
        (false, _) => Unambiguous::None,
    });
    path.sent_once |= took_one_path && newly.transmissions == 1;
    if newly.transmissions == 1 && path.timed == Some(tsn) {
        path.timed_chunk = Some(TimedChunk {
            sent_at: newly.sent_at,
            flight_bytes: newly.flight_bytes,
            was_copied: newly.history.contains(History::COPIED),
        });
    }
}

#[inline]
fn later(highest: Option<Tsn>, tsn: Tsn) -> Option<Tsn> {
    match highest {
        Some(high) if tsn.is_before(high) => highest,
        _ => Some(tsn),
    }
}

#[inline]
fn extend(lowest: &mut Option<Tsn>, highest: &mut Option<Tsn>, tsn: Tsn) {
    if lowest.is_none_or(|low| tsn.is_before(low)) {
        *lowest = Some(tsn);
    }
    *highest = later(*highest, tsn);
}

/// Releases what lies in `blocks` and was acknowledged but still kept. Returns the room that became free. The work is
/// that of the blocks and of what is released.
fn release_blocks(
    outstanding: &mut OutstandingData,
    cumulative: Tsn,
    blocks: &GapAckBlocks<'_>,
) -> BufferBytes {
    let mut buffer_bytes = BufferBytes::default();
    for block in blocks.iter() {
        let stop = cumulative.plus(u32::from(block.end) + 1);
        let mut at = cumulative.plus(block.start.into());
        while let Some(tsn) = outstanding.next_renegable(at, stop) {
            buffer_bytes += outstanding.release(tsn);
            at = tsn.next();
        }
    }
    buffer_bytes
}
