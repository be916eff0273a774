//! The congestion window and its slow-start threshold.

use crate::config::{CongestionAlgorithm, InitialCwnd, InitialSsthresh, Window as WindowPolicy};

/// What may be outstanding on a path, in counted bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CongestionWindow {
    /// cwnd.
    pub(crate) cwnd: u64,
    /// ssthresh; `u64::MAX` without a limit.
    pub(crate) ssthresh: u64,
}

/// Address family, which decides the initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    V4,
    V6,
}

/// How many paths share an initial window: resource pooling begins as one flow would.
pub(crate) fn sharers(algorithm: CongestionAlgorithm, group_size: u64) -> u64 {
    match algorithm {
        CongestionAlgorithm::RpV1 | CongestionAlgorithm::RpV2 => group_size.max(1),
        _ => 1,
    }
}

impl CongestionWindow {
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
        Self { cwnd, ssthresh }
    }
}
