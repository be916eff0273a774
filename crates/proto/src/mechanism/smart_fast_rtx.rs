//! Smart fast retransmission: a chunk that was moved from another path shows nothing about the order on its new one.
//!
//! `dreibholz-asymmetric` sections III-C and IV-D; INET: `cmtSmartFastRTX`. After a timeout, chunks are retransmitted
//! on another path. If the originals were only late, their acknowledgements count for the new path and open gaps among
//! its TSNs that do not exist; bursts of spurious fast retransmissions would follow, and the congestion window would be
//! reduced.

use crate::Tsn;
use crate::config::SmartFastRtx;
use crate::types::PathDelta;

/// The highest TSN newly acknowledged on a path for missing reports (split fast retransmit). With the mechanism, only
/// chunks count that were always on this path, whether a timeout, a fast retransmission or rescheduling moved the
/// others.
pub(crate) fn highest(policy: SmartFastRtx, news: &PathDelta) -> Option<Tsn> {
    match policy {
        SmartFastRtx::Off => news.highest,
        SmartFastRtx::On => news.highest_of_its_own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SplitFastRetransmit;
    use crate::mechanism::sfr::{self, SfrView};
    use crate::probe::TransmissionCause;
    use crate::transmit::outstanding::OutstandingData;
    use crate::transmit::sack::apply;
    use crate::transmit::sack::testing::{blocks, chunk, report};
    use crate::{Instant, PathId, Tsn};

    /// The situation of section III-C: ten chunks are on their way on path 1 when the three after them, late on path 0,
    /// time out and go out again on path 1. Then the originals of those three are acknowledged. Returns how many chunks
    /// of path 1 the SACK reports missing.
    fn reported_after_late_originals(policy: SmartFastRtx, first: u32) -> usize {
        let mut outstanding = OutstandingData::new(Tsn(first));
        for path in [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0] {
            outstanding.push(chunk(path, 1452));
        }
        for late in 10..13 {
            let tsn = Tsn(first).plus(late);
            outstanding.mark_lost(tsn, TransmissionCause::TimerRetransmission);
            outstanding.retransmit(tsn, PathId(1), Instant::ZERO);
        }
        let cumulative = Tsn(first).previous();
        let gaps = blocks(&[(11, 13)]);
        let delta = apply(&mut outstanding, &report(cumulative, &gaps), &[None; 2], |_, _| {});
        let view = SfrView {
            highest_newly_acked_on_path: highest(policy, &delta.paths[1]),
            highest_newly_acked: delta.highest_newly_acked,
            highest_gap_acked: delta.highest_gap_acked,
            every_hole: false,
        };
        let Some(end) = sfr::missing_before(SplitFastRetransmit::Sfr, &view) else { return 0 };
        let mut from = cumulative.next();
        let mut reported = 0;
        while let Some(tsn) = outstanding.next_countable_on(PathId(1), from, end) {
            reported += 1;
            from = tsn.next();
        }
        reported
    }

    #[test]
    fn late_originals_report_nothing_missing_on_the_new_path() {
        for first in [1, u32::MAX - 11, u32::MAX - 2] {
            assert_eq!(reported_after_late_originals(SmartFastRtx::Off, first), 10, "{first}");
            assert_eq!(reported_after_late_originals(SmartFastRtx::On, first), 0, "{first}");
        }
    }

    #[test]
    fn what_stayed_on_its_path_reports_as_ever() {
        let mut outstanding = OutstandingData::new(Tsn(u32::MAX));
        for path in [0, 1, 1, 0] {
            outstanding.push(chunk(path, 1452));
        }
        let delta = apply(
            &mut outstanding,
            &report(Tsn(u32::MAX - 1), &blocks(&[(3, 4)])),
            &[None; 2],
            |_, _| {},
        );
        for policy in [SmartFastRtx::Off, SmartFastRtx::On] {
            assert_eq!(highest(policy, &delta.paths[0]), Some(Tsn(2)));
            assert_eq!(highest(policy, &delta.paths[1]), Some(Tsn(1)));
        }
    }
}
