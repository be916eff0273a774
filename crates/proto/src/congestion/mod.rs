//! Congestion control, per path.

pub(crate) mod recovery;
pub(crate) mod rfc9260;

use crate::config::{InitialCwnd, InitialSsthresh, Window as WindowPolicy};

/// Congestion state of one path, in charged bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CongestionWindow {
    /// cwnd.
    pub(crate) cwnd: u64,
    /// ssthresh.
    pub(crate) ssthresh: u64,
    /// partial_bytes_acked.
    pub(crate) partial_bytes_acked: u64,
}

/// What a congestion controller knows of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Parameters {
    /// Largest packet in bytes that fits the path (the unit of the formulas; RFC 9260 calls it PMDCS).
    pub(crate) mtu: u64,
    /// Smallest slow-start threshold in bytes.
    pub(crate) ssthresh_floor: u64,
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

impl CongestionWindow {
    /// The window at the start of a path (RFC 9260 section 7.2.1).
    pub(crate) fn initial(
        policy: &WindowPolicy,
        mtu: u64,
        family: Family,
        peer_window: u64,
    ) -> Self {
        let cwnd = match policy.initial_cwnd {
            InitialCwnd::Rfc9260 => {
                let bytes = match family {
                    Family::V4 => 4404,
                    Family::V6 => 4344,
                };
                (4 * mtu).min((2 * mtu).max(bytes))
            }
            InitialCwnd::Bytes(bytes) => u64::from(bytes).max(mtu),
            InitialCwnd::Mtu(n) => u64::from(n.max(1)) * mtu,
        };
        let ssthresh = match policy.initial_ssthresh {
            InitialSsthresh::PeerWindow => peer_window,
            InitialSsthresh::Bytes(bytes) => bytes,
            InitialSsthresh::Unlimited => u64::MAX,
        };
        Self { cwnd, ssthresh, partial_bytes_acked: 0 }
    }
}
