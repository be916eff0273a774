//! Reneging: the receiver discarded what a gap block had acknowledged (RFC 9260 section 6.2.1, D iii).

use super::{AckDelta, Report, Silence};
use crate::config::StaleSack;
use crate::extension::nr_sack::CERTAINLY_WHOLE;
use crate::mechanism::stale_sack::{self, Omission, OmissionView};
use crate::transmit::outstanding::OutstandingData;
use crate::{PathId, Tsn};

/// What a SACK withdrew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Withdrawn {
    /// Number of chunks that are in flight again.
    pub(crate) chunks: u32,
    /// Whether it arrived after a newer SACK: then it reports nothing missing, and its receive window is out of date.
    pub(crate) is_stale: bool,
}

/// Puts back into flight every chunk that an earlier SACK acknowledged and this one, which may be stale, withdraws; that
/// counts as one missing report. Reports path and bytes of flight of each.
///
/// Blocks may have been cut for want of room: above the highest one a long SACK says nothing. One that may leave others out always
/// names the highest; it withdraws nothing, and is stale if more is known above that. Costs nothing while the reported and
/// the remembered numbers of TSNs agree, and ends at the first TSN that proves the SACK stale.
pub(crate) fn withdraw(
    outstanding: &mut OutstandingData,
    report: &Report<'_>,
    delta: &AckDelta,
    silence: &Silence,
    policy: StaleSack,
    on_reneged: impl FnMut(PathId, u32),
) -> Withdrawn {
    if report.is_late(outstanding) {
        return Withdrawn { is_stale: true, chunks: 0 };
    }
    match u64::from(outstanding.acked_count()) <= delta.reported {
        true => Withdrawn::default(),
        false => withdraw_unreported(outstanding, report, delta, silence, policy, on_reneged),
    }
}

#[inline(never)]
fn withdraw_unreported(
    outstanding: &mut OutstandingData,
    report: &Report<'_>,
    delta: &AckDelta,
    silence: &Silence,
    policy: StaleSack,
    mut on_reneged: impl FnMut(PathId, u32),
) -> Withdrawn {
    let mut withdrawn = Withdrawn::default();
    if silence.is_partial() {
        let may_be_old = policy == StaleSack::SamePath && !delta.cumulative_ack_advanced;
        withdrawn.is_stale = may_be_old && more_is_known_above(outstanding, delta);
        return withdrawn;
    }
    let mut hole = report.cumulative.next();
    let offsets = report.blocks.iter().map(|block| (block.start, u32::from(block.end) + 1));
    let last_hole = (report.blocks.len() < CERTAINLY_WHOLE).then(|| outstanding.next_tsn());
    let holes = offsets
        .map(|(start, after)| (report.cumulative.plus(start.into()), report.cumulative.plus(after)))
        .chain(last_hole.map(|end| (end, end)));
    // Of what the receiver promised to keep, an omission tells only that the SACK is old.
    let promises_tell = policy == StaleSack::SamePath && !delta.cumulative_ack_advanced;
    for (end, after) in holes {
        while let Some(tsn) = match promises_tell {
            true => outstanding.next_acked(hole, end),
            false => outstanding.next_renegable(hole, end),
        } {
            match judge(outstanding, tsn, report, delta, policy) {
                Omission::Reneged => {
                    let (path, flight_bytes) = outstanding.renege(tsn);
                    on_reneged(path, flight_bytes);
                    withdrawn.chunks += 1;
                }
                Omission::Overtaken => {
                    withdrawn.is_stale = true;
                    return withdrawn;
                }
                Omission::Nothing => return withdrawn,
            }
            hole = tsn.next();
        }
        hole = after;
    }
    withdrawn
}

/// Whether more has arrived than a report knows that leaves blocks out: the highest one is always there.
fn more_is_known_above(outstanding: &OutstandingData, delta: &AckDelta) -> bool {
    let above = delta.highest_gap_acked.map(Tsn::next);
    above.is_some_and(|tsn| outstanding.next_acked(tsn, outstanding.next_tsn()).is_some())
}

/// Puts the chunk right behind a cumulative ack back into flight that comes without gap blocks (SHUTDOWN) and withdraws
/// that one: had the receiver not discarded it, the ack would be beyond it. Reports its path and bytes of flight.
pub(crate) fn withdraw_next(
    outstanding: &mut OutstandingData,
    cumulative: Tsn,
    on_reneged: impl FnOnce(PathId, u32),
) -> Withdrawn {
    let next = cumulative.next();
    let mut withdrawn = Withdrawn::default();
    if outstanding.contains(next) && outstanding.is_acked(next) && !outstanding.is_released(next) {
        let (path, flight_bytes) = outstanding.renege(next);
        on_reneged(path, flight_bytes);
        withdrawn.chunks = 1;
    }
    withdrawn
}

fn judge(
    outstanding: &OutstandingData,
    tsn: Tsn,
    report: &Report<'_>,
    delta: &AckDelta,
    policy: StaleSack,
) -> Omission {
    if outstanding.is_released(tsn) {
        return Omission::Overtaken;
    }
    // A hole is below whatever gap blocks acknowledge: had the receiver kept this one, the cumulative ack would be
    // beyond it.
    if tsn == report.cumulative.next() {
        return Omission::Reneged;
    }
    let view = OmissionView {
        cumulative_ack_advanced: delta.cumulative_ack_advanced,
        anything_new: delta.anything_new(),
        arrival: report.arrival,
        acked_over: outstanding.get(tsn).acked_over,
    };
    stale_sack::judge(policy, &view)
}
