//! Split fast retransmit (SFR): a TSN is reported missing only by later TSNs *of its own path*.
//!
//! `dreibholz-model` section 3.1 and fig. 3; Iyengar, Amer, Stewart 2006. INET: `cmtUseSFR`; usrsctp: on while CMT
//! is on. Without it, TSNs that are reordered by paths of different delay look lost.

use crate::Tsn;
use crate::config::SplitFastRetransmit;

/// What a SACK says about one path and the association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SfrView {
    /// Highest TSN newly acknowledged on the path, if any.
    pub(crate) highest_newly_acked_on_path: Option<Tsn>,
    /// Highest TSN newly acknowledged on any path (HTNA).
    pub(crate) highest_newly_acked: Option<Tsn>,
    /// Highest TSN that the gap blocks report.
    pub(crate) highest_gap_acked: Option<Tsn>,
    /// Fast recovery is on and the cumulative ack advanced: every hole counts (RFC 9260 section 7.2.4).
    pub(crate) every_hole: bool,
}

/// Chunks of the path before the TSN returned get a missing report; `None`: none does.
pub(crate) fn missing_before(policy: SplitFastRetransmit, view: &SfrView) -> Option<Tsn> {
    match policy {
        SplitFastRetransmit::Sfr => view.highest_newly_acked_on_path,
        SplitFastRetransmit::Off if view.every_hole => view.highest_gap_acked,
        SplitFastRetransmit::Off => view.highest_newly_acked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathId;
    use crate::transmit::outstanding::OutstandingData;
    use crate::transmit::sack::testing::{blocks, chunk, report};

    /// `dreibholz-model` fig. 3: TSN 9 is sent on path 1; 10 to 12 are sent on path 2 and arrive first, each with a
    /// SACK. Returns the missing reports of TSN 9 after those and after one for 13, which path 1 carried after it.
    fn reports_for_9(policy: SplitFastRetransmit, offset: u32) -> [u32; 2] {
        let tsn = |n: u32| Tsn(n.wrapping_add(offset));
        let mut outstanding = OutstandingData::new(tsn(9));
        for path in [0, 1, 1, 1, 0] {
            outstanding.push(chunk(path, 100));
        }
        let mut reports = 0;
        let mut sack = |gap_end: u16| {
            let gaps = blocks(&[(2, gap_end)]);
            let report = report(tsn(8), &gaps);
            let delta =
                crate::transmit::sack::apply(&mut outstanding, &report, &[None; 2], |_, _| {});
            let path = delta.paths[usize::from(outstanding.get(tsn(9)).path.0)];
            let view = SfrView {
                highest_newly_acked_on_path: path.highest,
                highest_newly_acked: delta.highest_newly_acked,
                highest_gap_acked: delta.highest_gap_acked,
                every_hole: false,
            };
            let end = missing_before(policy, &view);
            let counts =
                |end| outstanding.next_countable_on(PathId(0), tsn(9), end) == Some(tsn(9));
            reports += u32::from(end.is_some_and(counts));
            reports
        };
        let overtaken = [2, 3, 4].map(&mut sack)[2];
        [overtaken, sack(5)]
    }

    /// Section 7.2.4 of RFC 9260: HTNA, but every hole while fast recovery lasts and the cumulative ack advances.
    #[test]
    fn where_reports_end() {
        let view = SfrView {
            highest_newly_acked_on_path: Some(Tsn(11)),
            highest_newly_acked: Some(Tsn(14)),
            highest_gap_acked: Some(Tsn(17)),
            every_hole: false,
        };
        for (policy, every_hole, end) in [
            (SplitFastRetransmit::Off, false, 14),
            (SplitFastRetransmit::Off, true, 17),
            (SplitFastRetransmit::Sfr, false, 11),
            (SplitFastRetransmit::Sfr, true, 11),
        ] {
            let end_found = missing_before(policy, &SfrView { every_hole, ..view });
            assert_eq!(end_found, Some(Tsn(end)), "{policy:?} {every_hole}");
            assert_eq!(missing_before(policy, &SfrView { every_hole, ..SfrView::default() }), None);
        }
    }

    #[test]
    fn figure_3() {
        for offset in [0, u32::MAX - 10] {
            assert_eq!(reports_for_9(SplitFastRetransmit::Off, offset), [3, 4]);
            assert_eq!(reports_for_9(SplitFastRetransmit::Sfr, offset), [0, 1]);
        }
    }
}
