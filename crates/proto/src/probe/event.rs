//! The events.

use core::net::IpAddr;

use super::ChunkKinds;
use crate::{AssociationEnd, AssociationState, BlockedCause, Duration, PathId, PathStatus, Tsn};

/// Why a chunk was transmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
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
    /// Sent again at once on a second path: a thin flow, or a path that was never measured.
    Copy,
    /// Retransmitted because it met a closed receive window, which has opened since.
    WindowProbe,
}

impl TransmissionCause {
    /// Its name in traces, such as `fast_retransmission`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::FastRetransmission => "fast_retransmission",
            Self::DropReport => "drop_report",
            Self::TimerRetransmission => "timer_retransmission",
            Self::Rescheduled => "rescheduled",
            Self::TailProbe => "tail_probe",
            Self::WindowProbe => "window_probe",
            Self::Copy => "copy",
        }
    }
}

/// How it was found that a chunk is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LossDetection {
    /// Enough SACKs reported it missing (RFC 9260 section 7.2.4).
    MissingReports,
    /// A SACK acknowledged a later chunk, and the chunk is overdue by a part of the round-trip time (after RACK, RFC
    /// 8985).
    Overdue,
    /// It was sent long before a tail probe that was answered.
    TailProbe,
    /// The peer or a middlebox reported it as damaged or dropped (PKTDROP).
    DropReport,
    /// T3-rtx expired.
    Timeout,
    /// The system cannot send on its path any more.
    PathLost,
    /// The peer's receive window was closed when it arrived, and has opened since.
    WindowClosed,
}

impl LossDetection {
    /// Its name in traces, such as `missing_reports`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MissingReports => "missing_reports",
            Self::Overdue => "overdue",
            Self::TailProbe => "tail_probe",
            Self::DropReport => "drop_report",
            Self::Timeout => "timeout",
            Self::PathLost => "path_lost",
            Self::WindowClosed => "window_closed",
        }
    }
}

impl LossDetection {
    /// The cause of the retransmission that follows.
    pub(crate) fn cause(self) -> TransmissionCause {
        match self {
            Self::MissingReports | Self::Overdue | Self::TailProbe => {
                TransmissionCause::FastRetransmission
            }
            Self::DropReport => TransmissionCause::DropReport,
            Self::Timeout | Self::PathLost => TransmissionCause::TimerRetransmission,
            Self::WindowClosed => TransmissionCause::WindowProbe,
        }
    }
}

/// A timer of an association. Expiries of T3-rtx are [`ProbeEvent::Timeout`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TimerKind {
    /// T1-init: INIT was not answered.
    T1Init,
    /// T1-cookie: COOKIE ECHO was not answered.
    T1Cookie,
    /// T2-shutdown: SHUTDOWN or SHUTDOWN ACK was not answered.
    T2Shutdown,
    /// T5-shutdown-guard: the shutdown took too long.
    T5ShutdownGuard,
    /// A HEARTBEAT was not answered in time.
    Heartbeat,
    /// T-4: ASCONF was not answered (RFC 5061 section 5.1).
    T4Asconf,
    /// The peer's receive window is closed: a probe of it is due (RFC 9260 section 6.1 A).
    ZeroWindow,
}

impl TimerKind {
    /// Its name in traces, such as `t1_init`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::T1Init => "t1_init",
            Self::T1Cookie => "t1_cookie",
            Self::T2Shutdown => "t2_shutdown",
            Self::T5ShutdownGuard => "t5_shutdown_guard",
            Self::Heartbeat => "heartbeat",
            Self::T4Asconf => "t4_asconf",
            Self::ZeroWindow => "zero_window",
        }
    }
}

/// Why an association ended: [`AssociationEnd`] without the encoded causes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EndReason {
    /// Gracefully, all data acknowledged.
    ShutdownComplete,
    /// This side aborted it.
    Aborted,
    /// The peer aborted it.
    AbortedByPeer,
    /// The peer did not answer the handshake.
    CannotConnect,
    /// The peer's answer to the handshake cannot be accepted.
    HandshakeRefused,
    /// The shutdown took too long.
    ShutdownTimeout,
    /// Too many retransmissions were not answered.
    Unreachable,
    /// A chunk is too large for every path.
    ChunkTooLarge,
    /// The peer broke the protocol.
    ProtocolViolation,
    /// The peer's host reports that it does not accept SCTP.
    ProtocolUnreachable,
}

impl EndReason {
    /// Its name in traces, such as `shutdown_complete`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ShutdownComplete => "shutdown_complete",
            Self::Aborted => "aborted",
            Self::AbortedByPeer => "aborted_by_peer",
            Self::CannotConnect => "cannot_connect",
            Self::HandshakeRefused => "handshake_refused",
            Self::ShutdownTimeout => "shutdown_timeout",
            Self::Unreachable => "unreachable",
            Self::ChunkTooLarge => "chunk_too_large",
            Self::ProtocolViolation => "protocol_violation",
            Self::ProtocolUnreachable => "protocol_unreachable",
        }
    }
}

impl From<&AssociationEnd> for EndReason {
    fn from(end: &AssociationEnd) -> Self {
        match end {
            AssociationEnd::ShutdownComplete => Self::ShutdownComplete,
            AssociationEnd::Aborted => Self::Aborted,
            AssociationEnd::AbortedByPeer(_) => Self::AbortedByPeer,
            AssociationEnd::CannotConnect => Self::CannotConnect,
            AssociationEnd::HandshakeRefused(_) => Self::HandshakeRefused,
            AssociationEnd::ShutdownTimeout => Self::ShutdownTimeout,
            AssociationEnd::Unreachable => Self::Unreachable,
            AssociationEnd::ChunkTooLarge { .. } => Self::ChunkTooLarge,
            AssociationEnd::ProtocolViolation(_) => Self::ProtocolViolation,
            AssociationEnd::ProtocolUnreachable => Self::ProtocolUnreachable,
        }
    }
}

/// Something that happened in the protocol.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
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
    /// A DATA chunk was abandoned (RFC 3758).
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
    /// A round-trip time was measured, or a lower bound of one on a path that data has not measured.
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
    /// The peer has reported packets of a path that queues have marked (ECN).
    PathMarked {
        /// The path.
        path: PathId,
        /// Packets that were not reported before.
        packets: u64,
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
    /// The state of the association changed.
    State {
        /// Its state from now on.
        state: AssociationState,
    },
    /// The association ended; nothing but packets that were queued before follows.
    Ended {
        /// Why.
        reason: EndReason,
        /// Code of the first error cause that was sent or received, if any (RFC 9260 section 3.3.10).
        cause_code: Option<u16>,
    },
    /// A path was added, or its number stands for another pair of addresses from now on: the answer to INIT settles the
    /// numbers.
    PathOpened {
        /// The path.
        path: PathId,
        /// Address of this side.
        local: IpAddr,
        /// Address of the peer.
        remote: IpAddr,
        /// Its state; [`Reachability`](Self::Reachability) tells of changes.
        status: PathStatus,
    },
    /// A packet was handed to the driver; events of its chunks precede it. One of the events that
    /// [`wants_packets`](super::Probe::wants_packets) is about.
    PacketSent {
        /// The path.
        path: PathId,
        /// Bytes of the SCTP packet, without headers below it.
        bytes: u32,
        /// What it carries.
        chunks: ChunkKinds,
    },
    /// A packet arrived; events of its chunks follow. One of the events that
    /// [`wants_packets`](super::Probe::wants_packets) is about.
    PacketReceived {
        /// The path.
        path: PathId,
        /// Bytes of the SCTP packet, without headers below it.
        bytes: u32,
        /// What it carries, as far as it can be parsed.
        chunks: ChunkKinds,
    },
    /// A SACK or NR-SACK was put into a packet. One of the events that [`wants_packets`](super::Probe::wants_packets) is
    /// about.
    SackSent {
        /// Path it was sent on.
        path: PathId,
        /// Everything up to this TSN has arrived.
        cumulative: Tsn,
        /// Number of gap ack blocks, of both kinds in an NR-SACK.
        gap_blocks: u32,
        /// Receive window in bytes.
        a_rwnd: u32,
    },
    /// A SACK or NR-SACK arrived, before anything else is made of it: it may be older than one before. One of the events
    /// that [`wants_packets`](super::Probe::wants_packets) is about.
    SackReceived {
        /// Path it arrived on.
        path: PathId,
        /// Everything up to this TSN has arrived.
        cumulative: Tsn,
        /// Number of gap ack blocks; blocks of both lists of an NR-SACK that touch are one.
        gap_blocks: u32,
        /// Receive window of the peer in bytes.
        a_rwnd: u32,
    },
    /// A DATA chunk in flight was found to be lost.
    ChunkLost {
        /// Path of its last transmission.
        path: PathId,
        /// Its TSN.
        tsn: Tsn,
        /// How that was found.
        detection: LossDetection,
    },
    /// Fast recovery ended.
    FastRecoveryLeft {
        /// The path; `None` where fast recovery is one for the whole association.
        path: Option<PathId>,
    },
    /// A timer other than T3-rtx expired.
    TimerExpired {
        /// Which.
        timer: TimerKind,
        /// The path of what was not answered, if there is one.
        path: Option<PathId>,
    },
    /// A HEARTBEAT that probes reachability was queued, which goes out at once.
    HeartbeatSent {
        /// The path.
        path: PathId,
    },
    /// The last such HEARTBEAT of a path was answered.
    HeartbeatAcked {
        /// The path.
        path: PathId,
        /// Time since it was queued.
        rtt: Duration,
    },
    /// One path delivers more than all did together: the others carry no data of their own for some time (goodput guard).
    PathsRest {
        /// The path that carries all.
        kept: PathId,
        /// What it delivered alone, in bytes per second.
        alone_bytes_s: u64,
        /// What all paths delivered together before, in bytes per second.
        together_bytes_s: u64,
    },
    /// Paths that rested carry data again.
    PathsReturn,
    /// What keeps the association from sending changed.
    Blocked {
        /// The cause from now on, whenever nothing more can be sent.
        cause: BlockedCause,
    },
}

impl ProbeEvent {
    /// Number of kinds of events, so that tests elsewhere notice a new one.
    #[doc(hidden)]
    pub const KINDS: usize = 27;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of a kind. A new one does not compile here: count it in [`ProbeEvent::KINDS`], too.
    const fn number(event: &ProbeEvent) -> usize {
        match event {
            ProbeEvent::ChunkSent { .. } => 0,
            ProbeEvent::ChunkAcked { .. } => 1,
            ProbeEvent::ChunkAbandoned { .. } => 2,
            ProbeEvent::Window { .. } => 3,
            ProbeEvent::Rtt { .. } => 4,
            ProbeEvent::FastRecoveryEntered { .. } => 5,
            ProbeEvent::Timeout { .. } => 6,
            ProbeEvent::Reachability { .. } => 7,
            ProbeEvent::PathMtu { .. } => 8,
            ProbeEvent::PeerWindow { .. } => 9,
            ProbeEvent::ChunkReceived { .. } => 10,
            ProbeEvent::State { .. } => 11,
            ProbeEvent::Ended { .. } => 12,
            ProbeEvent::PathOpened { .. } => 13,
            ProbeEvent::PacketSent { .. } => 14,
            ProbeEvent::PacketReceived { .. } => 15,
            ProbeEvent::SackSent { .. } => 16,
            ProbeEvent::SackReceived { .. } => 17,
            ProbeEvent::ChunkLost { .. } => 18,
            ProbeEvent::FastRecoveryLeft { .. } => 19,
            ProbeEvent::TimerExpired { .. } => 20,
            ProbeEvent::HeartbeatSent { .. } => 21,
            ProbeEvent::HeartbeatAcked { .. } => 22,
            ProbeEvent::Blocked { .. } => 23,
            ProbeEvent::PathsRest { .. } => 24,
            ProbeEvent::PathMarked { .. } => 25,
            ProbeEvent::PathsReturn => 26,
        }
    }

    #[test]
    fn kinds_are_counted() {
        let last = ProbeEvent::PathsReturn;
        assert_eq!(number(&last) + 1, ProbeEvent::KINDS);
    }

    #[test]
    fn events_stay_small() {
        // They wait in queues of observers by the thousand.
        assert!(size_of::<ProbeEvent>() <= 40);
    }

    #[test]
    fn a_loss_says_what_retransmission_follows() {
        use TransmissionCause::{FastRetransmission, TimerRetransmission};
        for (detection, cause) in [
            (LossDetection::MissingReports, FastRetransmission),
            (LossDetection::Overdue, FastRetransmission),
            (LossDetection::TailProbe, FastRetransmission),
            (LossDetection::DropReport, TransmissionCause::DropReport),
            (LossDetection::Timeout, TimerRetransmission),
            (LossDetection::PathLost, TimerRetransmission),
            (LossDetection::WindowClosed, TransmissionCause::WindowProbe),
        ] {
            assert_eq!(detection.cause(), cause);
        }
    }
}
