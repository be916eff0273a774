//! Runs: how much a path takes before the next one has its turn.
//!
//! Taking one packet at a time from a path with a long round trip leaves a gap between the TSNs of the lower-RTT paths
//! for each, and a SACK can report some hundreds of gap ack blocks. Chunks above those stay in flight on the lower-RTT
//! path. A path that waits until it can send several packets leaves one gap for all of them.
//!
//! Runs are as short as a SACK allows, because each is a burst, and never longer than Max.Burst of RFC 9260.

use crate::Duration;
use crate::config::PathFill;

/// Packets in flight for which runs are one packet longer: this many blocks fill a third of a SACK of 1,500 bytes.
const PACKETS_PER_STEP: u64 = 128;

/// Packets of the longest run (RFC 9260 section 6.1 D, Max.Burst).
const LONGEST_RUN: u64 = 4;

/// Further bytes, beside one packet, that a path with this flight size waits for, if the policy makes runs.
pub(crate) fn gathered(policy: PathFill, flight: u64, unit: u64) -> u64 {
    match policy {
        PathFill::PacketByPacket | PathFill::FillWindow => 0,
        PathFill::Runs => {
            let unit = unit.max(1);
            let step = unit.saturating_mul(PACKETS_PER_STEP);
            // Asked several times per packet, and mostly less is in flight: that needs no division.
            let steps = if flight < step { 0 } else { flight / step };
            unit.saturating_mul(steps.min(LONGEST_RUN - 1))
        }
    }
}

/// Whether packets of a path with this round-trip time arrive so late that they leave holes between those of another.
pub(crate) fn leaves_holes(srtt: Duration, other: Duration) -> bool {
    srtt > other + other / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_grow_with_what_is_in_flight() {
        for (packets, expected) in
            [(0, 0), (127, 0), (128, 1), (255, 1), (256, 2), (384, 3), (100_000, 3)]
        {
            let gathered = |policy| gathered(policy, packets * 1468, 1468);
            assert_eq!(gathered(PathFill::Runs), expected * 1468, "{packets}");
            assert_eq!(gathered(PathFill::PacketByPacket), 0);
            assert_eq!(gathered(PathFill::FillWindow), 0);
        }
        assert_eq!(gathered(PathFill::Runs, u64::MAX, 0), 3, "no division by zero");
    }

    #[test]
    fn paths_alike_leave_no_holes() {
        let ms = Duration::from_millis;
        for (srtt, other, expected) in
            [(40, 40, false), (45, 40, false), (46, 40, true), (1, 40, false)]
        {
            assert_eq!(leaves_holes(ms(srtt), ms(other)), expected, "{srtt} {other}");
        }
    }
}
