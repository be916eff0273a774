//! Congestion control of RFC 9260 section 7.2, applied to one path.
//!
//! Used per path it is also the uncoupled control of plain CMT (`dreibholz-asymmetric` section II; INET `cmtCCVariant
//! = "cmt"`).

use super::{AckView, Advanced, CongestionWindow, Growth, Parameters, Pause};

/// What a SACK outside fast recovery allows a window to grow by. Counts in partial_bytes_acked.
pub(crate) fn due(window: &mut CongestionWindow, p: &Parameters, ack: &AckView) -> Growth {
    let window_was_full = p.is_full(window.cwnd, ack.flight_before);
    let mut due = Growth::None;
    if window.cwnd <= window.ssthresh {
        // Slow start, section 7.2.1.
        if ack.advanced == Advanced::Yes && window_was_full {
            due = Growth::SlowStart(ack.acked_bytes.min(p.slow_start_step(ack.acked_bytes)));
        }
        window.partial_bytes_acked = 0;
    } else {
        // Congestion avoidance, section 7.2.2.
        window.partial_bytes_acked += ack.acked_bytes;
        if window.partial_bytes_acked >= window.cwnd {
            if window_was_full {
                if ack.advanced == Advanced::Yes {
                    window.partial_bytes_acked -= window.cwnd;
                    due = Growth::Avoidance;
                }
            } else {
                window.partial_bytes_acked = window.cwnd;
            }
        }
    }
    if ack.flight_after == 0 {
        window.partial_bytes_acked = 0;
    }
    due
}

/// Bytes by which the window grows.
pub(crate) fn growth(due: Growth, p: &Parameters) -> u64 {
    match due {
        Growth::None => 0,
        Growth::SlowStart(bytes) => bytes,
        Growth::Avoidance => p.unit,
    }
}

/// The threshold after a loss, section 7.2.3.
pub(crate) fn threshold(cwnd: u64, p: &Parameters) -> u64 {
    (cwnd / 2).max(p.ssthresh_floor)
}

/// Decay of a window that was not used for `periods` retransmission timeouts, section 7.2.1.
pub(crate) fn on_idle(window: &mut CongestionWindow, p: &Parameters, periods: u64, pause: Pause) {
    let floor = 4 * p.unit;
    if periods == 0 || window.cwnd <= floor {
        return;
    }
    // Before the first adjustment of a pause the threshold remembers what the path could carry.
    if pause == Pause::Begins {
        window.ssthresh = window.cwnd;
    }
    for _ in 0..periods.min(64) {
        window.cwnd = (window.cwnd / 2).max(floor);
    }
    window.partial_bytes_acked = 0;
}

/// The window of a path that paused for a retransmission timeout goes back to its initial size (INET; RFC 5681 section
/// 4.1), if it is larger; the threshold stays.
pub(crate) fn reset_idle(window: &mut CongestionWindow, initial_cwnd: u64, periods: u64) {
    if periods > 0 && window.cwnd > initial_cwnd {
        window.cwnd = initial_cwnd;
        window.partial_bytes_acked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Coupling, SlowStart};
    use crate::congestion::coupled::group::GroupView;
    use crate::congestion::{on_ack, on_fast_retransmit, on_timeout};

    const P: Parameters = Parameters::plain(1500, 6000);

    fn window(cwnd: u64, ssthresh: u64, partial_bytes_acked: u64) -> CongestionWindow {
        CongestionWindow { cwnd, ssthresh, partial_bytes_acked, intervals: Default::default() }
    }

    fn ack(acked_bytes: u64, flight_before: u64, advanced: Advanced) -> AckView {
        AckView { acked_bytes, flight_before, flight_after: flight_before - acked_bytes, advanced }
    }

    #[test]
    fn a_sack_may_stand_for_several() {
        let per_second = Parameters { slow_start: SlowStart::PerSecondPacket, ..P };
        for (packets, each, second) in
            [(1, 1468, 1468), (2, 1500, 1500), (3, 1500, 1500), (4, 1500, 3000), (20, 1500, 15_000)]
        {
            let ack = ack(packets * 1468, 60_000, Advanced::Yes);
            for (p, expected) in [(&P, each), (&per_second, second)] {
                let due = due(&mut window(60_000, 99_999, 0), p, &ack);
                assert_eq!(super::growth(due, p), expected, "{packets} packets");
            }
        }
    }

    #[test]
    fn growth() {
        use Advanced::{No, Yes};
        for (what, before, ack, after) in [
            (
                "slow start, full",
                window(6000, 99_999, 7),
                ack(1468, 6000, Yes),
                window(7468, 99_999, 0),
            ),
            (
                "at most one MTU per SACK",
                window(6000, 99_999, 0),
                ack(2936, 6000, Yes),
                window(7500, 99_999, 0),
            ),
            (
                "a window of one, with a packet of small messages",
                window(1500, 99_999, 0),
                ack(116, 116, Yes),
                window(1616, 99_999, 0),
            ),
            (
                "slow start, not full",
                window(6000, 99_999, 0),
                ack(1468, 5999, Yes),
                window(6000, 99_999, 0),
            ),
            (
                "slow start, out of order",
                window(6000, 99_999, 0),
                ack(1468, 6000, No),
                window(6000, 99_999, 0),
            ),
            (
                "slow start at the threshold",
                window(6000, 6000, 0),
                ack(1468, 6000, Yes),
                window(7468, 6000, 0),
            ),
            (
                "avoidance collects",
                window(9000, 6000, 1000),
                ack(1468, 9000, Yes),
                window(9000, 6000, 2468),
            ),
            (
                "avoidance grows",
                window(9000, 6000, 8000),
                ack(1468, 9000, Yes),
                window(10_500, 6000, 468),
            ),
            (
                "avoidance collects out of order",
                window(9000, 6000, 8000),
                ack(1468, 9000, No),
                window(9000, 6000, 9468),
            ),
            (
                "unused window caps the count",
                window(9000, 6000, 8000),
                ack(1468, 8999, Yes),
                window(9000, 6000, 9000),
            ),
            (
                "nothing left in flight",
                window(9000, 6000, 100),
                ack(3000, 3000, Yes),
                window(9000, 6000, 0),
            ),
        ] {
            let mut w = before;
            on_ack(Coupling::None, &mut w, &P, &ack, &GroupView::ALONE);
            assert_eq!(w, after, "{what}");
        }
    }

    #[test]
    fn nothing_due_is_no_growth() {
        assert_eq!(super::growth(Growth::None, &P), 0);
    }

    #[test]
    fn reductions() {
        let mut w = window(40_000, 99_999, 123);
        on_fast_retransmit(Coupling::None, &mut w, &P, &GroupView::ALONE);
        assert_eq!(w, window(20_000, 20_000, 0));
        on_timeout(Coupling::None, &mut w, &P, &GroupView::ALONE);
        assert_eq!(w, window(1500, 10_000, 0));
        on_fast_retransmit(Coupling::None, &mut w, &P, &GroupView::ALONE);
        assert_eq!(w, window(6000, 6000, 0), "floor of 4 MTU");
    }

    #[test]
    fn idle_decay() {
        let mut w = window(48_000, 10_000, 5);
        on_idle(&mut w, &P, 0, Pause::Begins);
        assert_eq!(w, window(48_000, 10_000, 5));
        on_idle(&mut w, &P, 2, Pause::Begins);
        assert_eq!(w, window(12_000, 48_000, 0));
        on_idle(&mut w, &P, 1_000_000, Pause::GoesOn);
        assert_eq!(w, window(6000, 48_000, 0));
    }

    #[test]
    fn idle_reset() {
        for (what, before, periods, after) in [
            ("shorter than a timeout", window(48_000, 10_000, 5), 0, window(48_000, 10_000, 5)),
            ("a timeout", window(48_000, 10_000, 5), 1, window(4404, 10_000, 0)),
            ("as large as at first", window(4404, 10_000, 5), 9, window(4404, 10_000, 5)),
            ("never larger than before", window(3000, 10_000, 5), 9, window(3000, 10_000, 5)),
        ] {
            let mut w = before;
            reset_idle(&mut w, 4404, periods);
            assert_eq!(w, after, "{what}");
        }
    }
}
