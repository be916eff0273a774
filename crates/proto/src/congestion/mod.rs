//! Congestion control, per path.
//!
//! Section 7.2 of RFC 9260 decides when a window grows ([`rfc9260::due`]); the coupling decides by how much, and what a
//! loss leaves. Paths that are coupled with no other, or whose group lacks a round-trip time that the coupling needs,
//! are controlled by section 7.2 alone.

pub(crate) mod burst;
pub(crate) mod coupled;
pub(crate) mod path_fill;
pub(crate) mod rate_reduction;
pub(crate) mod recovery;
pub(crate) mod rfc9260;

use crate::config::{
    Coupling, InitialCwnd, InitialSsthresh, PathFill, SlowStart, Window as WindowPolicy,
};

use coupled::group::{GroupView, Rates};
use coupled::olia::LossIntervals;
use coupled::{balia, lia, olia, rp_v1, rp_v2};

/// Congestion state of one path, in charged bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CongestionWindow {
    /// cwnd.
    pub(crate) cwnd: u64,
    /// ssthresh.
    pub(crate) ssthresh: u64,
    /// partial_bytes_acked.
    pub(crate) partial_bytes_acked: u64,
    /// Bytes delivered between losses.
    pub(crate) intervals: LossIntervals,
}

/// What section 7.2 allows after a SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Growth {
    /// Nothing.
    None,
    /// Slow start: up to these bytes.
    SlowStart(u64),
    /// Congestion avoidance: a step of up to one PMDCS; a window's worth was acknowledged.
    Avoidance,
}

/// What a congestion controller knows of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Parameters {
    /// Unit of the formulas in bytes: the largest DATA chunk (PMDCS), or as the policy says.
    pub(crate) unit: u64,
    /// Largest DATA chunk of the path, as its bytes are counted.
    pub(crate) largest_chunk: u64,
    /// Smallest slow-start threshold in bytes.
    pub(crate) ssthresh_floor: u64,
    /// How much a SACK lets the window grow in slow start.
    pub(crate) slow_start: SlowStart,
    /// How much the path takes at a time.
    pub(crate) fill: PathFill,
}

impl Parameters {
    #[cfg(test)]
    pub(crate) const fn plain(unit: u64, ssthresh_floor: u64) -> Self {
        Self {
            unit,
            largest_chunk: unit,
            ssthresh_floor,
            slow_start: SlowStart::PerSack,
            fill: PathFill::PacketByPacket,
        }
    }

    /// Whether a window of `cwnd` admits no more than one packet, whatever it holds (RFC 9260 section 7.2.3).
    pub(crate) fn one_packet(&self, cwnd: u64) -> bool {
        cwnd <= self.largest_chunk
    }

    /// Most that a SACK for so many bytes lets the window grow in slow start.
    fn slow_start_step(&self, acked_bytes: u64) -> u64 {
        match self.slow_start {
            SlowStart::PerSack => self.unit,
            SlowStart::PerSecondPacket => {
                let sacks = 1 + burst::stretched(acked_bytes, self.unit);
                self.unit.saturating_mul(sacks)
            }
        }
    }

    /// Whether `flight` uses up a window of `cwnd`, or lacks no more than a path may wait for that makes runs.
    fn is_full(&self, cwnd: u64, flight: u64) -> bool {
        let gathered = path_fill::gathered(self.fill, flight, self.unit);
        flight.saturating_add(gathered) >= cwnd || (flight > 0 && self.one_packet(cwnd))
    }
}

/// What a SACK means to one path's window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AckView {
    /// Bytes newly acknowledged on the path.
    pub(crate) acked_bytes: u64,
    /// Bytes outstanding on the path before the SACK.
    pub(crate) flight_before: u64,
    /// Bytes outstanding on the path after the SACK.
    pub(crate) flight_after: u64,
    /// Whether data arrived in order on the path, as the cwnd-update policy sees it.
    pub(crate) advanced: Advanced,
}

/// Whether the in-order point moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advanced {
    Yes,
    No,
}

/// Whether a path has just become idle, or was before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    Begins,
    GoesOn,
}

/// Address family, which decides the initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    V4,
    V6,
}

/// The control that applies to a path, with what it knows of the group.
enum Control<'a> {
    Uncoupled,
    RpV1(&'a GroupView),
    RpV2(&'a Rates),
    Lia(&'a Rates),
    Olia(&'a Rates),
    Balia(&'a Rates),
}

impl<'a> Control<'a> {
    fn of(coupling: Coupling, group: &'a GroupView) -> Self {
        if group.members < 2 {
            return Self::Uncoupled;
        }
        match (coupling, &group.rates) {
            (Coupling::None, _) => Self::Uncoupled,
            (Coupling::RpV1, _) => Self::RpV1(group),
            (_, None) => Self::Uncoupled,
            (Coupling::RpV2, Some(rates)) => Self::RpV2(rates),
            (Coupling::Lia, Some(rates)) => Self::Lia(rates),
            (Coupling::Olia, Some(rates)) => Self::Olia(rates),
            (Coupling::Balia, Some(rates)) => Self::Balia(rates),
        }
    }

    fn step(&self, due: Growth, cwnd: u64, p: &Parameters) -> i64 {
        let bytes = match self {
            Self::Uncoupled => rfc9260::growth(due, p),
            Self::RpV1(group) => rp_v1::growth(due, p, group),
            Self::RpV2(rates) => rp_v2::growth(due, p, rates),
            Self::Lia(rates) => lia::growth(due, cwnd, p, rates),
            Self::Olia(rates) => return olia::growth(due, p, rates),
            Self::Balia(rates) => balia::growth(due, p, rates),
        };
        bytes as i64
    }

    fn threshold(&self, cwnd: u64, p: &Parameters) -> u64 {
        match self {
            Self::Uncoupled => rfc9260::threshold(cwnd, p),
            Self::RpV1(group) => rp_v1::threshold(cwnd, p, group),
            Self::RpV2(rates) => rp_v2::threshold(cwnd, p, rates),
            Self::Lia(_) => lia::threshold(cwnd, p),
            Self::Olia(_) => olia::threshold(cwnd, p),
            Self::Balia(rates) => balia::threshold(cwnd, p, rates),
        }
    }
}

/// Growth after a SACK, outside fast recovery.
pub(crate) fn on_ack(
    coupling: Coupling,
    window: &mut CongestionWindow,
    p: &Parameters,
    ack: &AckView,
    group: &GroupView,
) {
    let due = rfc9260::due(window, p, ack);
    if due == Growth::None {
        return;
    }
    let step = Control::of(coupling, group).step(due, window.cwnd, p);
    // A step back never leads below the smallest window.
    let smallest = p.unit.min(window.cwnd);
    window.cwnd = window.cwnd.saturating_add_signed(step).max(smallest);
}

/// Reduction when fast recovery begins (RFC 9260 section 7.2.4).
pub(crate) fn on_fast_retransmit(
    coupling: Coupling,
    window: &mut CongestionWindow,
    p: &Parameters,
    group: &GroupView,
) {
    window.ssthresh = Control::of(coupling, group).threshold(window.cwnd, p);
    window.cwnd = window.ssthresh;
    window.partial_bytes_acked = 0;
    window.intervals.on_loss();
}

/// Reduction when T3-rtx expires (RFC 9260 section 7.2.3).
pub(crate) fn on_timeout(
    coupling: Coupling,
    window: &mut CongestionWindow,
    p: &Parameters,
    group: &GroupView,
) {
    window.ssthresh = Control::of(coupling, group).threshold(window.cwnd, p);
    window.cwnd = p.unit;
    window.partial_bytes_acked = 0;
    window.intervals.on_loss();
}

/// How many paths share an initial window: resource pooling begins as one flow would.
pub(crate) fn sharers(coupling: Coupling, group_size: u64) -> u64 {
    match coupling {
        Coupling::RpV1 | Coupling::RpV2 => group_size.max(1),
        _ => 1,
    }
}

impl CongestionWindow {
    /// A window in bytes, as if no loss had happened yet.
    pub(crate) fn new(cwnd: u64, ssthresh: u64, partial_bytes_acked: u64) -> Self {
        Self { cwnd, ssthresh, partial_bytes_acked, intervals: LossIntervals::default() }
    }

    /// The window at the start of a path (RFC 9260 section 7.2.1), which `sharers` paths share.
    pub(crate) fn initial(
        policy: &WindowPolicy,
        unit: u64,
        family: Family,
        peer_window: u64,
        sharers: u64,
    ) -> Self {
        let cwnd = match policy.initial_cwnd {
            InitialCwnd::Rfc9260 => {
                let bytes = match family {
                    Family::V4 => 4404,
                    Family::V6 => 4344,
                };
                // min(4 PMDCS, max(2 PMDCS, bytes)) for one; sharers share the 4 PMDCS.
                (2 * unit).max(bytes).min((4 * unit).div_ceil(sharers))
            }
            InitialCwnd::Bytes(bytes) => u64::from(bytes).div_ceil(sharers),
            InitialCwnd::Mtu(n) => (u64::from(n) * unit).div_ceil(sharers),
        };
        let cwnd = cwnd.max(unit);
        let ssthresh = match policy.initial_ssthresh {
            InitialSsthresh::PeerWindow => peer_window,
            InitialSsthresh::Bytes(bytes) => bytes,
            InitialSsthresh::Unlimited => u64::MAX,
        };
        Self::new(cwnd, ssthresh, 0)
    }
}

#[cfg(test)]
mod tests;
