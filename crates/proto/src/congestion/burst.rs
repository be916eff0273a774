//! Limits of a path's bursts (RFC 9260 section 6.1 D; Max.Burst).
//!
//! The RFC limits a burst per SACK, and assumes a SACK for every second packet (section 6.2). A receiver that reads
//! many packets at a time acknowledges them with one SACK (a stretch ack), which stands for the omitted ones and allows
//! their bursts.
//!
//! A window much larger than the flight size can also be reduced permanently: "use it or lose it" and "congestion
//! window limiting" of Allman and Blanton (Notes on Burst Mitigation for Transport Protocols, 2005; INET
//! `maxBurstVariant`).

use crate::config::Burst;

/// Data packets that an ordinary SACK acknowledges (section 6.2).
const PACKETS_PER_SACK: u64 = 2;

/// What limits a path in one flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BurstView {
    /// Congestion window in bytes.
    pub(crate) cwnd: u64,
    /// Slow-start threshold in bytes.
    pub(crate) ssthresh: u64,
    /// Counted bytes outstanding.
    pub(crate) flight: u64,
    /// Unit of windows in bytes.
    pub(crate) unit: u64,
    /// Packets with acknowledgements since the last flush.
    pub(crate) sacks: u64,
    /// Bursts that their acknowledgements are worth beyond one each.
    pub(crate) extra_bursts: u64,
}

/// What the limit makes of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limit {
    /// Counted bytes that may be outstanding after the flush.
    pub(crate) flush: u64,
    /// Congestion window in bytes.
    pub(crate) cwnd: u64,
    /// Slow-start threshold in bytes.
    pub(crate) ssthresh: u64,
}

/// Whether a limit holds that a retransmission brings about ([`Burst::MaxBurstOnce`], [`Burst::MaxBurstFromRetransmission`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LimitAfterRepair {
    pub(crate) is_armed: bool,
}

impl LimitAfterRepair {
    /// A retransmitted chunk was cumulatively acknowledged; `fast` if missing reports caused that.
    pub(crate) fn on_repaired(&mut self, policy: Burst, fast: bool) {
        self.is_armed |= match policy {
            Burst::MaxBurstOnce(_) => fast,
            Burst::MaxBurstFromRetransmission(_) => true,
            _ => false,
        };
    }

    /// A flush ends, `limited` by this.
    pub(crate) fn on_flush(&mut self, policy: Burst, limited: bool) {
        self.is_armed &= !(limited && matches!(policy, Burst::MaxBurstOnce(_)));
    }
}

/// The limit that holds in an association that has retransmitted this many chunks.
pub(crate) fn in_force(policy: Burst, retransmissions: u64, repaired: LimitAfterRepair) -> Burst {
    match policy {
        Burst::MaxBurstOnce(_) | Burst::MaxBurstFromRetransmission(_) if !repaired.is_armed => {
            Burst::Off
        }
        Burst::MaxBurstAfterLoss(_) if retransmissions == 0 => Burst::Off,
        Burst::MaxBurstAfterLoss(n) => Burst::MaxBurst(n),
        policy => policy,
    }
}

/// Limits a flush.
pub(crate) fn limit(policy: Burst, view: &BurstView) -> Limit {
    let BurstView { cwnd, ssthresh, .. } = *view;
    let within = |n: u32| {
        let bursts = view.sacks.max(1).saturating_add(view.extra_bursts);
        let burst = u64::from(n.max(1)).saturating_mul(view.unit).saturating_mul(bursts);
        cwnd.min(view.flight.saturating_add(burst))
    };
    match policy {
        Burst::MaxBurst(n) | Burst::MaxBurstAfterLoss(n) => {
            Limit { flush: within(n), cwnd, ssthresh }
        }
        // The limit of a flush, whatever it answers.
        Burst::MaxBurstOnce(n) | Burst::MaxBurstFromRetransmission(n) => {
            let burst = u64::from(n.max(1)).saturating_mul(view.unit);
            Limit { flush: cwnd.min(view.flight.saturating_add(burst)), cwnd, ssthresh }
        }
        Burst::UseItOrLoseIt(n) => {
            let cut = within(n);
            Limit { flush: cut, cwnd: cut, ssthresh }
        }
        Burst::CongestionWindowLimiting(n) => {
            let cut = within(n);
            // The window before the cut, so that slow start leads back to it. (INET takes the one after it.)
            let remembered = if cut < cwnd { ssthresh.max(cwnd) } else { ssthresh };
            Limit { flush: cut, cwnd: cut, ssthresh: remembered }
        }
        Burst::Off => Limit { flush: cwnd, cwnd, ssthresh },
    }
}

/// Bursts beyond the first that a SACK is worth to a path on which it acknowledges `acked_bytes` for the first time.
pub(crate) fn extra_bursts(acked_bytes: u64, unit: u64) -> u64 {
    // Most SACKs acknowledge a packet of each path: that needs no division.
    if acked_bytes <= unit {
        return 0;
    }
    let packets = acked_bytes.div_ceil(unit.max(1));
    (packets / PACKETS_PER_SACK).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_ack_is_worth_the_sacks_that_were_left_out() {
        for (packets, expected) in
            [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 2), (40, 19)]
        {
            assert_eq!(extra_bursts(packets * 1468, 1500), expected, "{packets} packets");
            assert_eq!(extra_bursts(packets * 1500, 1500), expected, "{packets} full packets");
        }
        assert_eq!(extra_bursts(1000, 0), 499, "no division by zero");
    }

    #[test]
    fn a_limit_may_wait_for_the_first_loss() {
        for (policy, retransmissions, expected) in [
            (Burst::MaxBurstAfterLoss(4), 0, Burst::Off),
            (Burst::MaxBurstAfterLoss(4), 1, Burst::MaxBurst(4)),
            (Burst::MaxBurst(4), 0, Burst::MaxBurst(4)),
            (Burst::UseItOrLoseIt(3), 0, Burst::UseItOrLoseIt(3)),
            (Burst::Off, 9, Burst::Off),
        ] {
            let repaired = LimitAfterRepair::default();
            assert_eq!(in_force(policy, retransmissions, repaired), expected, "{policy:?}");
        }
    }

    #[test]
    fn a_limit_may_wait_for_a_repair() {
        let (once, ever) = (Burst::MaxBurstOnce(4), Burst::MaxBurstFromRetransmission(4));
        for (what, policy, fast, limited, expected) in [
            ("no such policy", Burst::MaxBurst(4), true, false, Burst::MaxBurst(4)),
            ("after a fast retransmission", once, true, false, once),
            ("until it has limited a flush", once, true, true, Burst::Off),
            ("not after a timeout", once, false, false, Burst::Off),
            ("after any retransmission", ever, false, false, ever),
            ("for ever", ever, false, true, ever),
        ] {
            let mut repaired = LimitAfterRepair::default();
            if policy != Burst::MaxBurst(4) {
                assert_eq!(in_force(policy, 9, repaired), Burst::Off, "{what}: before");
            }
            repaired.on_repaired(policy, fast);
            repaired.on_flush(policy, limited);
            assert_eq!(in_force(policy, 9, repaired), expected, "{what}");
        }
    }

    #[test]
    fn limits() {
        let view = |flight, sacks, extra_bursts| BurstView {
            cwnd: 100_000,
            ssthresh: 50_000,
            flight,
            unit: 1500,
            sacks,
            extra_bursts,
        };
        for (policy, view, expected) in [
            (Burst::MaxBurst(4), view(10_000, 1, 0), 16_000),
            // Without a SACK, data that was just handed over may go.
            (Burst::MaxBurst(4), view(10_000, 0, 0), 16_000),
            (Burst::MaxBurst(4), view(10_000, 3, 0), 28_000),
            (Burst::MaxBurst(4), view(10_000, 1, 2), 28_000),
            (Burst::MaxBurst(0), view(10_000, 1, 0), 11_500),
            (Burst::MaxBurst(4), view(98_000, 1, 0), 100_000),
            (Burst::MaxBurst(u32::MAX), view(0, u64::MAX / 2, 9), 100_000),
            (Burst::Off, view(0, 1, 0), 100_000),
        ] {
            let expected = Limit { flush: expected, cwnd: 100_000, ssthresh: 50_000 };
            assert_eq!(limit(policy, &view), expected, "{policy:?} {view:?}");
        }
    }

    #[test]
    fn windows_that_are_not_used_are_cut() {
        use Burst::{CongestionWindowLimiting, UseItOrLoseIt};
        for (policy, flight, ssthresh, expected) in [
            (UseItOrLoseIt(4), 10_000, 50_000, (16_000, 50_000)),
            (UseItOrLoseIt(4), 94_000, 50_000, (100_000, 50_000)),
            (UseItOrLoseIt(4), 0, 50_000, (6000, 50_000)),
            (CongestionWindowLimiting(4), 10_000, 50_000, (16_000, 100_000)),
            (CongestionWindowLimiting(4), 10_000, 200_000, (16_000, 200_000)),
            // Not cut, nothing to remember.
            (CongestionWindowLimiting(4), 94_000, 50_000, (100_000, 50_000)),
            (CongestionWindowLimiting(4), 99_000, 50_000, (100_000, 50_000)),
        ] {
            let (cwnd, unit) = (100_000, 1500);
            let view = BurstView { cwnd, ssthresh, flight, unit, sacks: 1, extra_bursts: 0 };
            let Limit { flush, cwnd, ssthresh } = limit(policy, &view);
            assert_eq!((cwnd, ssthresh), expected, "{policy:?} {flight}");
            assert_eq!(flush, cwnd, "{policy:?} {flight}");
        }
    }
}
