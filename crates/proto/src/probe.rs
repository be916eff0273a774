//! Observation of an association from outside.

use crate::{Duration, Instant, PathId, PathStatus, Tsn};

/// Receives protocol events; handed in with each call like the time.
pub trait Probe {
    /// Called at the moment of the event.
    fn on(&mut self, now: Instant, event: ProbeEvent);
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn on(&mut self, _now: Instant, _event: ProbeEvent) {}
}

/// Why a chunk was transmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransmissionCause {
    /// First transmission.
    New,
    /// Retransmitted after enough missing reports.
    FastRetransmission,
    /// Retransmitted because a report said that it was damaged or dropped (PKTDROP).
    DropReport,
    /// Retransmitted after a T3 timeout.
    TimerRetransmission,
    /// Sent again on another path because it blocked the buffers (chunk rescheduling).
    Rescheduled,
    /// Sent again because its path was silent when nothing new waited (tail probe).
    TailProbe,
    /// Retransmitted because it met a closed receive window, which has opened since.
    WindowProbe,
}

/// Something that happened in the protocol.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ProbeEvent {
    /// A DATA chunk was put into a packet.
    ChunkSent {
        /// Path it was sent on.
        path: PathId,
        /// Its TSN.
        tsn: Tsn,
        /// Why.
        cause: TransmissionCause,
    },
    /// A DATA chunk was acknowledged for the first time.
    ChunkAcked {
        /// Path of its last transmission.
        path: PathId,
        /// Its TSN.
        tsn: Tsn,
    },
    /// A DATA chunk was given up (RFC 3758).
    ChunkAbandoned {
        /// Path of its last transmission.
        path: PathId,
        /// Its TSN.
        tsn: Tsn,
    },
    /// Congestion state of a path changed.
    Window {
        /// The path.
        path: PathId,
        /// Congestion window in bytes.
        cwnd: u64,
        /// Slow-start threshold in bytes.
        ssthresh: u64,
        /// Outstanding bytes.
        flight: u64,
    },
    /// A round-trip time was measured.
    Rtt {
        /// The path.
        path: PathId,
        /// The sample.
        sample: Duration,
        /// Smoothed value.
        srtt: Duration,
        /// Resulting retransmission timeout.
        rto: Duration,
    },
    /// Fast recovery began on a path (or, association-wide, because of it).
    FastRecoveryEntered {
        /// The path.
        path: PathId,
    },
    /// T3-rtx expired.
    Timeout {
        /// The path.
        path: PathId,
        /// Consecutive errors of the path, this one included.
        errors: u32,
    },
    /// Whether a path can carry data changed.
    Reachability {
        /// The path.
        path: PathId,
        /// Its state from now on.
        status: PathStatus,
    },
    /// The MTU of a path changed.
    PathMtu {
        /// The path.
        path: PathId,
        /// Bytes, IP header included.
        bytes: u32,
    },
    /// Estimate of the peer's receive window after a SACK.
    PeerWindow {
        /// Bytes.
        bytes: u64,
    },
    /// A DATA chunk arrived for the first time.
    ChunkReceived {
        /// Path it arrived on.
        path: PathId,
        /// Its TSN.
        tsn: Tsn,
    },
}
