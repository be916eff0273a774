//! What the sending half of a path counts.

use crate::types::{Lazy, Vacant};

/// Counters of a path's sending half; kept after it has failed.
#[derive(Debug, Default)]
pub(crate) struct SendCounters {
    pub(crate) data_packets_sent: u64,
    pub(crate) data_chunks_sent: u64,
    pub(crate) data_bytes_sent: u64,
    pub(crate) data_bytes_acked: u64,
    pub(crate) repairs: Lazy<RepairCounters>,
}

/// What was sent again, and why: many paths never need any of it.
#[derive(Debug, Default)]
pub(crate) struct RepairCounters {
    pub(crate) fast_retransmissions: u64,
    pub(crate) timeout_retransmissions: u64,
    pub(crate) reported_retransmissions: u64,
    pub(crate) rescheduled_chunks: u64,
    pub(crate) tail_probes: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_recoveries: u64,
}

impl Vacant for RepairCounters {
    const VACANT: &'static Self = &Self {
        fast_retransmissions: 0,
        timeout_retransmissions: 0,
        reported_retransmissions: 0,
        rescheduled_chunks: 0,
        tail_probes: 0,
        timeouts: 0,
        fast_recoveries: 0,
    };
}

impl SendCounters {
    /// Chunks retransmitted because they were lost.
    pub(crate) fn retransmissions(&self) -> u64 {
        let repairs = &*self.repairs;
        repairs.fast_retransmissions
            + repairs.timeout_retransmissions
            + repairs.reported_retransmissions
    }
}
