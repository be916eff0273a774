//! Delayed acknowledgement for CMT (DAC), the sender's half: how many missing reports one SACK is worth.
//!
//! `dreibholz-model` section 3.3 and fig. 5; draft-tuexen-tsvwg-sctp-multipath section 3. INET: `cmtUseDAC`;
//! usrsctp: `cmt_use_dac`, which reads only whether the count is at least two.
//!
//! A receiver that delays SACKs in spite of gaps reports how many data packets a SACK answers. When all of them were
//! sent after the missing chunk on its own path, each of them is evidence.

use crate::Tsn;
use crate::config::DacCount;

/// What a SACK newly acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DacView {
    /// Number of paths with newly acknowledged chunks, or with such in gap ack blocks (`sack-flags-in-gaps`).
    pub(crate) paths_with_news: usize,
    /// Lowest newly acknowledged TSN; of those paths, if that matters.
    pub(crate) lowest_newly_acked: Tsn,
    /// The count in the SACK's flags (0 to 3).
    pub(crate) packets: u8,
}

/// The count in bits 7-6 of the flags of a SACK.
pub(crate) fn count_in_flags(flags: u8) -> u8 {
    flags >> 6
}

/// How much a SACK adds to the missing reports of `missing`, which SFR found reported missing.
pub(crate) fn missing_report_weight(policy: DacCount, view: &DacView, missing: Tsn) -> u8 {
    match policy {
        DacCount::Off => 1,
        DacCount::SackFlags | DacCount::SackFlagsInGaps | DacCount::CountZeroWhenNotDelayed
            if view.paths_with_news > 1 || view.lowest_newly_acked.is_before(missing) =>
        {
            1
        }
        // A peer that does not count leaves the bits 0.
        DacCount::SackFlags | DacCount::SackFlagsInGaps => view.packets.max(1),
        // Here a count of 0 is believed: a lost chunk is then found by its timeout only.
        DacCount::CountZeroWhenNotDelayed => view.packets,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(paths_with_news: usize, lowest: u32, packets: u8, missing: u32) -> u8 {
        let view = DacView { paths_with_news, lowest_newly_acked: Tsn(lowest), packets };
        missing_report_weight(DacCount::SackFlags, &view, Tsn(missing))
    }

    #[test]
    fn weights() {
        // TSN 20 is lost (fig. 5). A SACK for 21 that also covers another path counts once; a SACK for 22 and 23, two
        // packets of the same path after it, counts twice: three reports after three packets, as without delay.
        assert_eq!(weight(2, 21, 2, 20), 1, "news on two paths");
        assert_eq!(weight(1, 22, 2, 20), 2, "two packets, all after it");
        assert_eq!(weight(1, 19, 2, 20), 1, "one packet before it and one after");
        assert_eq!(weight(1, 21, 0, 20), 1, "a peer that does not count");
        assert_eq!(weight(1, 21, 3, 20), 3, "three packets");
        assert_eq!(weight(1, 0, 2, u32::MAX), 2, "across the wrap");
        assert_eq!(weight(1, u32::MAX, 2, 0), 1, "across the wrap, one before");
    }

    /// Packets received after the lost TSN 20 of path 1 until it has three missing reports. Fig. 5 of `dreibholz-model`:
    /// TSN 21 went on path 1, and the SACK for it also covers path 2; two packets of path 1 make each later SACK.
    fn packets_until_three_reports(policy: DacCount) -> u32 {
        let (mut reports, mut packets) = (0, 0);
        for (lowest, paths_with_news) in [(21, 2), (22, 1), (24, 1), (26, 1)] {
            let count = if paths_with_news == 2 { 1 } else { 2 };
            let lowest_newly_acked = Tsn(lowest);
            let view = DacView { paths_with_news, lowest_newly_acked, packets: count };
            packets += u32::from(count);
            reports += missing_report_weight(policy, &view, Tsn(20));
            if reports >= 3 {
                return packets;
            }
        }
        u32::MAX
    }

    #[test]
    fn the_count_makes_up_for_the_delay() {
        assert_eq!(packets_until_three_reports(DacCount::SackFlags), 3, "as without delay");
        // Three SACKs; if the first one answers two packets as the others do, that is six packets.
        assert_eq!(packets_until_three_reports(DacCount::Off), 5);
        let two_each = |policy| -> u8 {
            [21, 23, 25].iter().fold(0, |reports, lowest| {
                let lowest_newly_acked = Tsn(*lowest);
                let view = DacView { paths_with_news: 1, lowest_newly_acked, packets: 2 };
                reports + missing_report_weight(policy, &view, Tsn(20))
            })
        };
        assert_eq!(two_each(DacCount::Off), 3, "six further chunks");
        assert_eq!(two_each(DacCount::SackFlags), 6);
    }

    #[test]
    fn the_artefact_reports_nothing() {
        let weight = |paths_with_news, lowest, packets| {
            let view = DacView { paths_with_news, lowest_newly_acked: Tsn(lowest), packets };
            missing_report_weight(DacCount::CountZeroWhenNotDelayed, &view, Tsn(20))
        };
        assert_eq!(weight(1, 21, 0), 0, "not delayed");
        assert_eq!(weight(1, 21, 2), 2, "delayed");
        assert_eq!(weight(2, 21, 0), 1, "news on two paths");
        assert_eq!(weight(1, 19, 0), 1);
    }

    #[test]
    fn off_ignores_the_flags() {
        let view = DacView { paths_with_news: 1, lowest_newly_acked: Tsn(21), packets: 3 };
        assert_eq!(missing_report_weight(DacCount::Off, &view, Tsn(20)), 1);
        assert_eq!(count_in_flags(0b1011_1111), 2);
    }
}
