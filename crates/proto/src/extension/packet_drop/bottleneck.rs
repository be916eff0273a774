//! Reports of a middlebox about its queue (draft-stewart-sctp-pktdrprep-16 section 6; usrsctp
//! `sctp_cwnd_update_after_packet_dropped`): on paths with very long round trips the window follows it at once.

use super::flags;
use crate::Duration;
use crate::congestion::window::CongestionWindow;
use crate::congestion::{Correction, CorrectionCause};

/// RTO.Large: only for paths whose round-trip time was never shorter.
const LARGE_RTT: Duration = Duration::from_millis(500);

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A path and the bottleneck on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BottleneckView {
    /// Flags of the report.
    pub(crate) flags: u8,
    /// Rate of the bottleneck in bytes per second.
    pub(crate) bandwidth: u32,
    /// Bytes in its queue.
    pub(crate) queue: u32,
    /// Smoothed and smallest round-trip time of the path; `None` before the first sample.
    pub(crate) rtt: Option<(Duration, Duration)>,
    /// Consecutive timeouts.
    pub(crate) errors: u32,
    /// Counted bytes outstanding on the path.
    pub(crate) flight: u64,
    /// Path MTU in bytes.
    pub(crate) mtu: u64,
    /// Maximum number of packets that one report may add.
    pub(crate) burst: u64,
    /// The congestion window before a SACK in the same packet made it grow; the present one if there was none.
    pub(crate) cwnd_before_packet: u64,
}

/// The congestion window after the report, in bytes; `None` if it does not change.
pub(crate) fn cwnd_after(
    view: &BottleneckView,
    congestion: &CongestionWindow,
) -> Option<Correction> {
    let (srtt, smallest) = view.rtt?;
    let counts = view.flags & flags::PACKET_COUNTS != 0;
    if view.flags & flags::MIDDLEBOX == 0
        || counts
        || view.bandwidth == 0
        || smallest <= LARGE_RTT
        || view.errors > 0
    {
        return None;
    }
    let bandwidth = u64::from(view.bandwidth);
    // Data that the bottleneck carries in a round trip, of at most one second.
    let trip = srtt.as_nanos().min(NANOS_PER_SECOND);
    let capacity = bandwidth * trip / NANOS_PER_SECOND;
    let queued = u64::from(view.queue).max(view.flight);
    if queued > capacity {
        let cwnd = view.cwnd_before_packet;
        let packets = |bytes: u64| u128::from(bytes / view.mtu.max(1));
        let share = u128::from(queued - capacity) * packets(view.flight) / packets(queued).max(1);
        // The unused part of the window counts as given back already.
        let share = (share as u64).saturating_sub(cwnd.saturating_sub(view.flight));
        let cwnd = cwnd.saturating_sub(share).min(capacity).max(view.mtu);
        // Below the window, so that it grows as in congestion avoidance.
        let ssthresh = Some(cwnd.saturating_sub(1));
        Some(Correction { cause: CorrectionCause::BottleneckFull, cwnd, ssthresh })
    } else {
        let more = ((capacity - queued) / 4).min(view.burst * view.mtu);
        let cwnd = (congestion.cwnd + more).min(capacity).max(view.mtu);
        Some(Correction { cause: CorrectionCause::BottleneckFree, cwnd, ssthresh: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instant;
    use crate::congestion::{Context, Controller, Parameters, testing};

    const MTU: u64 = 1500;

    fn view() -> BottleneckView {
        let rtt = Duration::from_millis(800);
        BottleneckView {
            flags: flags::MIDDLEBOX,
            bandwidth: 100_000,
            queue: 0,
            rtt: Some((rtt, rtt)),
            errors: 0,
            flight: 60_000,
            mtu: MTU,
            burst: 4,
            cwnd_before_packet: 60_000,
        }
    }

    fn congestion(cwnd: u64) -> CongestionWindow {
        CongestionWindow { cwnd, ssthresh: 1 << 20 }
    }

    fn after(view: BottleneckView, cwnd: u64) -> Option<(u64, u64, u64)> {
        let correction = cwnd_after(&view, &congestion(cwnd))?;
        let mut controller = testing::controller(cwnd, 1 << 20, 700);
        let parameters = Parameters::plain(MTU, 4 * MTU);
        controller.on_correction(&Context::new(Instant::ZERO, &parameters), &correction);
        Some(testing::state(&controller))
    }

    #[test]
    fn who_takes_part() {
        let ms = Duration::from_millis;
        for (view, takes_part) in [
            (view(), true),
            (BottleneckView { flags: 0, ..view() }, false),
            (BottleneckView { flags: flags::MIDDLEBOX | flags::PACKET_COUNTS, ..view() }, false),
            (BottleneckView { bandwidth: 0, ..view() }, false),
            (BottleneckView { rtt: None, ..view() }, false),
            (BottleneckView { rtt: Some((ms(800), ms(500))), ..view() }, false),
            (BottleneckView { rtt: Some((ms(800), ms(501))), ..view() }, true),
            (BottleneckView { errors: 1, ..view() }, false),
        ] {
            assert_eq!(cwnd_after(&view, &congestion(60_000)).is_some(), takes_part, "{view:?}");
        }
    }

    #[test]
    fn room_is_taken_by_a_quarter_and_at_most_a_burst() {
        // 80,000 bytes a round trip, 60,000 of them in use: a quarter of the rest.
        assert_eq!(after(view(), 60_000), Some((65_000, 1 << 20, 700)));
        let rest = BottleneckView { flight: 10_000, ..view() };
        assert_eq!(after(rest, 60_000), Some((66_000, 1 << 20, 700)), "four packets");
        assert_eq!(after(view(), 79_000), Some((80_000, 1 << 20, 700)), "never above the capacity");
        let long = Duration::from_secs(3);
        let view = BottleneckView { rtt: Some((long, long)), ..view() };
        assert_eq!(after(view, 99_000).map(|w| w.0), Some(100_000), "of one second at most");
    }

    #[test]
    fn excess_is_given_up_by_share() {
        // 40,000 bytes too many, and half of the 120,000 are ours: 20,000.
        let full = BottleneckView { queue: 120_000, ..view() };
        assert_eq!(after(full, 60_000), Some((40_000, 39_999, 0)));
        // 5,000 of the window are not in use, and a SACK has just added 3,000.
        let idle = BottleneckView { cwnd_before_packet: 65_000, ..full };
        assert_eq!(after(idle, 68_000), Some((50_000, 49_999, 0)));
        let tiny = BottleneckView { bandwidth: 1, queue: 1, flight: 5, ..full };
        assert_eq!(after(tiny, 60_000), Some((MTU, MTU - 1, 0)), "less than a packet: no share");
        let all = BottleneckView { queue: u32::MAX, flight: u64::from(u32::MAX), ..full };
        assert_eq!(after(all, 60_000), Some((MTU, MTU - 1, 0)));
    }
}
