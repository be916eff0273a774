//! Window adjustment of RFC 9260 section 7.2: additive increase, halving.
//!
//! Used per path it is also the uncoupled control of plain CMT (`dreibholz-asymmetric` section II; INET `cmtCCVariant
//! = "cmt"`).

use super::Parameters;
use super::window::CongestionWindow;
use super::{Acked, Idle, Pause};
use crate::config::{AvoidanceBytes, IdleRule};

/// What a SACK lets a window grow by, before any coupling.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    /// Nothing.
    None,
    /// Slow start: growth in bytes.
    SlowStart(u64),
    /// Congestion avoidance: growth in bytes.
    Avoidance(u64),
}

impl Growth {
    /// Bytes by which the window of a path grows that is coupled with no other.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::None => 0,
            Self::SlowStart(bytes) | Self::Avoidance(bytes) => bytes,
        }
    }
}

/// State of the adjustment on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Reno {
    /// partial_bytes_acked.
    pub(crate) partial_bytes_acked: u64,
}

impl Reno {
    /// What a SACK outside fast recovery allows a window to grow by. Counts in partial_bytes_acked.
    pub(crate) fn due(
        &mut self,
        window: &CongestionWindow,
        p: &Parameters,
        acked: &Acked,
    ) -> Growth {
        let window_was_full = p.is_full(window.cwnd, acked.flight_before);
        let mut due = Growth::None;
        if window.cwnd <= window.ssthresh {
            // Slow start, section 7.2.1.
            if acked.advanced && window_was_full {
                due = Growth::SlowStart(p.slow_start.allowance(acked.acked_bytes, p.unit));
            }
            self.partial_bytes_acked = 0;
        } else {
            // Congestion avoidance, section 7.2.2.
            self.partial_bytes_acked += match p.avoidance {
                AvoidanceBytes::All => acked.acked_bytes,
                AvoidanceBytes::OfFullWindow => of_full_window(acked, window_was_full),
            };
            if self.partial_bytes_acked >= window.cwnd {
                if window_was_full {
                    if acked.advanced {
                        self.partial_bytes_acked -= window.cwnd;
                        due = Growth::Avoidance(p.unit);
                    }
                } else if p.avoidance == AvoidanceBytes::All {
                    self.partial_bytes_acked = window.cwnd;
                }
            }
        }
        if acked.flight_after == 0 {
            self.partial_bytes_acked = 0;
        }
        due
    }

    /// What a pause does to a window (`policies.window.idle`).
    pub(crate) fn on_idle(
        &mut self,
        window: &mut CongestionWindow,
        p: &Parameters,
        idle: &Idle,
        initial: u64,
    ) {
        match p.idle {
            IdleRule::Rfc9260 => self.decay(window, p, idle),
            IdleRule::Reset => self.reset(window, initial, idle.periods),
            IdleRule::Keep => {}
        }
    }

    /// Decay of a window that was not used for `periods` retransmission timeouts, section 7.2.1.
    fn decay(&mut self, window: &mut CongestionWindow, p: &Parameters, idle: &Idle) {
        let floor = 4 * p.unit;
        if idle.periods == 0 || window.cwnd <= floor {
            return;
        }
        // Before the first adjustment of a pause the threshold remembers what the path could carry.
        if idle.pause == Pause::Begins {
            window.ssthresh = window.cwnd;
        }
        for _ in 0..idle.periods.min(64) {
            window.cwnd = (window.cwnd / 2).max(floor);
        }
        self.partial_bytes_acked = 0;
    }

    /// The window of a path that paused for a retransmission timeout goes back to its initial size (INET; RFC 5681 section
    /// 4.1), if it is larger; the threshold stays.
    fn reset(&mut self, window: &mut CongestionWindow, initial: u64, periods: u64) {
        if periods > 0 && window.cwnd > initial {
            window.cwnd = initial;
            self.partial_bytes_acked = 0;
        }
    }
}

/// What counts in ns-2's congestion avoidance.
fn of_full_window(acked: &Acked, window_was_full: bool) -> u64 {
    let cumulative = acked.acked_bytes.saturating_sub(acked.acked_in_gaps);
    let in_gaps = if acked.advanced { acked.acked_in_gaps } else { 0 };
    in_gaps + if window_was_full { cumulative } else { 0 }
}

/// The threshold after a loss, section 7.2.3.
pub(crate) fn threshold(cwnd: u64, p: &Parameters) -> u64 {
    (cwnd / 2).max(p.ssthresh_floor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CongestionAlgorithm::Uncoupled;
    use crate::config::SlowStart;
    use crate::congestion::Aimd;
    use crate::congestion::GroupView;
    use crate::congestion::testing::{acked, controller, on_ack, on_fast_retransmit, on_timeout};

    const P: Parameters = Parameters::plain(1500, 6000);

    fn window(cwnd: u64, ssthresh: u64, partial_bytes_acked: u64) -> Aimd {
        controller(cwnd, ssthresh, partial_bytes_acked)
    }

    fn ack(acked_bytes: u64, flight_before: u64, advanced: bool) -> Acked {
        acked(acked_bytes, flight_before, flight_before - acked_bytes, advanced)
    }

    /// The parts of a controller that the tables compare.
    fn seen(controller: &Aimd) -> (u64, u64, u64) {
        crate::congestion::testing::state(controller)
    }

    /// ns-2 counts what gap blocks acknowledge if the cumulative ack advances, and the rest if the window was full.
    #[test]
    fn what_counts_of_a_full_window() {
        for (advanced, window_was_full, counted) in
            [(true, true, 3000), (true, false, 1000), (false, true, 2000), (false, false, 0)]
        {
            let gaps = Acked { acked_in_gaps: 1000, ..ack(3000, 9000, advanced) };
            assert_eq!(of_full_window(&gaps, window_was_full), counted, "{advanced}");
        }
    }

    #[test]
    fn a_sack_may_stand_for_several() {
        let per_second = Parameters { slow_start: SlowStart::PerSecondPacket, ..P };
        for (packets, each, second) in
            [(1, 1468, 1468), (2, 1500, 1500), (3, 1500, 1500), (4, 1500, 3000), (20, 1500, 15_000)]
        {
            let ack = ack(packets * 1468, 60_000, true);
            for (p, expected) in [(&P, each), (&per_second, second)] {
                let due = Reno::default().due(
                    &CongestionWindow { cwnd: 60_000, ssthresh: 99_999 },
                    p,
                    &ack,
                );
                assert_eq!(due.bytes(), expected, "{packets} packets");
            }
        }
    }

    #[test]
    fn growth() {
        for (what, before, ack, after) in [
            (
                "slow start, full",
                window(6000, 99_999, 7),
                ack(1468, 6000, true),
                window(7468, 99_999, 0),
            ),
            (
                "at most one MTU per SACK",
                window(6000, 99_999, 0),
                ack(2936, 6000, true),
                window(7500, 99_999, 0),
            ),
            (
                "a window of one, with a packet of small messages",
                window(1500, 99_999, 0),
                ack(116, 116, true),
                window(1616, 99_999, 0),
            ),
            (
                "slow start, not full",
                window(6000, 99_999, 0),
                ack(1468, 5999, true),
                window(6000, 99_999, 0),
            ),
            (
                "slow start, out of order",
                window(6000, 99_999, 0),
                ack(1468, 6000, false),
                window(6000, 99_999, 0),
            ),
            (
                "slow start at the threshold",
                window(6000, 6000, 0),
                ack(1468, 6000, true),
                window(7468, 6000, 0),
            ),
            (
                "avoidance collects",
                window(9000, 6000, 1000),
                ack(1468, 9000, true),
                window(9000, 6000, 2468),
            ),
            (
                "avoidance grows",
                window(9000, 6000, 8000),
                ack(1468, 9000, true),
                window(10_500, 6000, 468),
            ),
            (
                "avoidance collects out of order",
                window(9000, 6000, 8000),
                ack(1468, 9000, false),
                window(9000, 6000, 9468),
            ),
            (
                "unused window caps the count",
                window(9000, 6000, 8000),
                ack(1468, 8999, true),
                window(9000, 6000, 9000),
            ),
            (
                "nothing left in flight",
                window(9000, 6000, 100),
                ack(3000, 3000, true),
                window(9000, 6000, 0),
            ),
        ] {
            let mut w = before;
            on_ack(Uncoupled, &mut w, &P, &ack, &GroupView::ALONE);
            assert_eq!(seen(&w), seen(&after), "{what}");
        }
    }

    #[test]
    fn nothing_due_is_no_growth() {
        assert_eq!(Growth::None.bytes(), 0);
    }

    #[test]
    fn reductions() {
        let mut w = window(40_000, 99_999, 123);
        on_fast_retransmit(Uncoupled, &mut w, &P, &GroupView::ALONE);
        assert_eq!(seen(&w), seen(&window(20_000, 20_000, 0)));
        on_timeout(Uncoupled, &mut w, &P, &GroupView::ALONE);
        assert_eq!(seen(&w), seen(&window(1500, 10_000, 0)));
        on_fast_retransmit(Uncoupled, &mut w, &P, &GroupView::ALONE);
        assert_eq!(seen(&w), seen(&window(6000, 6000, 0)), "floor of 4 MTU");
    }

    /// A pause of a path that began with 4404 bytes.
    fn idle(w: &mut Aimd, idle: IdleRule, periods: u64, pause: Pause) {
        let p = Parameters { idle, ..P };
        w.adjustment.on_idle(&mut w.window, &p, &Idle { periods, pause }, 4404);
    }

    #[test]
    fn a_window_may_outlast_a_pause() {
        let mut w = window(48_000, 10_000, 5);
        idle(&mut w, IdleRule::Keep, 9, Pause::Begins);
        assert_eq!(seen(&w), seen(&window(48_000, 10_000, 5)));
    }

    #[test]
    fn idle_decay() {
        let mut w = window(48_000, 10_000, 5);
        idle(&mut w, IdleRule::Rfc9260, 0, Pause::Begins);
        assert_eq!(seen(&w), seen(&window(48_000, 10_000, 5)));
        idle(&mut w, IdleRule::Rfc9260, 2, Pause::Begins);
        assert_eq!(seen(&w), seen(&window(12_000, 48_000, 0)));
        idle(&mut w, IdleRule::Rfc9260, 1_000_000, Pause::GoesOn);
        assert_eq!(seen(&w), seen(&window(6000, 48_000, 0)));
        let mut smallest = window(6000, 48_000, 5);
        idle(&mut smallest, IdleRule::Rfc9260, 1, Pause::Begins);
        assert_eq!(seen(&smallest), seen(&window(6000, 48_000, 5)), "four packets stay");
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
            idle(&mut w, IdleRule::Reset, periods, Pause::Begins);
            assert_eq!(seen(&w), seen(&after), "{what}");
        }
    }
}
