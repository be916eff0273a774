//! Counters and state for display.

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::{Duration, Instant, PathId};

/// State of an association (RFC 9260 section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AssociationState {
    /// It has not begun or is over.
    Closed,
    /// INIT was sent.
    CookieWait,
    /// COOKIE ECHO was sent.
    CookieEchoed,
    /// Data flows.
    Established,
    /// The user has requested a shutdown; data is outstanding.
    ShutdownPending,
    /// SHUTDOWN was sent.
    ShutdownSent,
    /// The peer sent SHUTDOWN; data is outstanding.
    ShutdownReceived,
    /// SHUTDOWN ACK was sent.
    ShutdownAckSent,
}

/// Whether a path can carry data (RFC 9260 sections 5.4, 8.2; RFC 7829).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum PathStatus {
    /// Not yet confirmed by a heartbeat.
    Unconfirmed,
    /// Confirmed and working.
    Active,
    /// Timeouts make it doubtful.
    PotentiallyFailed,
    /// Failed, or refused by the system.
    Inactive,
}

impl PathStatus {
    /// Its name in reports: `unconfirmed`, `active`, `potentially-failed` or `inactive`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unconfirmed => "unconfirmed",
            Self::Active => "active",
            Self::PotentiallyFailed => "potentially-failed",
            Self::Inactive => "inactive",
        }
    }
}

/// What is known of explicit congestion notification on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum PathEcn {
    /// The two sides have not agreed on it.
    Off,
    /// New data is sent ECN-capable, and no fault was detected.
    On,
    /// ECN-capable packets of this side vanish: it sends none any more.
    Dropped,
    /// 64 KiB of new data or more have arrived over the path, none of it ECN-capable: something on the way clears the field, or the
    /// peer has disabled ECN on this path.
    Cleared,
}

impl PathEcn {
    /// Its name in reports: `off`, `on`, `dropped` or `cleared`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Dropped => "dropped",
            Self::Cleared => "cleared",
        }
    }
}

/// Counters and state of one path.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct PathStats {
    /// Which path.
    pub path: PathId,
    /// Address of this side.
    pub local: IpAddr,
    /// Address of the peer.
    pub remote: IpAddr,
    /// Whether it can carry data.
    pub status: PathStatus,
    /// What is known of ECN on it.
    pub ecn: PathEcn,
    /// Whether it is the primary path.
    pub primary: bool,
    /// Congestion window in bytes.
    pub cwnd_bytes: u64,
    /// Slow-start threshold in bytes.
    pub ssthresh_bytes: u64,
    /// Bytes outstanding, counted as the policy says.
    pub flight_bytes: u64,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Path MTU in bytes, IP header included.
    pub mtu_bytes: u32,
    /// The value that [`mtu_bytes`](Self::mtu_bytes) may reach in the current search; the same value without a search.
    pub mtu_sought_bytes: u32,
    /// Bytes of user data of a DATA chunk that fills a packet of [`mtu_sought_bytes`](Self::mtu_sought_bytes). Messages of a
    /// multiple of it leave no packet partly empty.
    pub full_fragment_bytes: u32,
    /// Packets sent, of any kind.
    pub packets_sent: u64,
    /// Packets received, of any kind.
    pub packets_received: u64,
    /// Packets sent that carried DATA.
    pub data_packets_sent: u64,
    /// DATA chunks sent, retransmissions included.
    pub data_chunks_sent: u64,
    /// Bytes of user data sent, retransmissions included.
    pub data_bytes_sent: u64,
    /// Bytes of user data acknowledged whose last transmission was on this path.
    pub data_bytes_acked: u64,
    /// Bytes of user data received for the first time on this path.
    pub data_bytes_received: u64,
    /// Chunks retransmitted on this path after missing reports.
    pub fast_retransmissions: u64,
    /// Chunks retransmitted on this path after a timeout.
    pub timeout_retransmissions: u64,
    /// Chunks retransmitted on this path because a report said that they were damaged or dropped.
    pub reported_retransmissions: u64,
    /// Chunks retransmitted on this path because they blocked the buffers (chunk rescheduling).
    pub rescheduled_chunks: u64,
    /// Chunks retransmitted on this path because it or another one was silent when nothing new waited (tail probes).
    pub tail_probes: u64,
    /// T3 expiries.
    pub timeouts: u64,
    /// Times fast recovery was entered.
    pub fast_recoveries: u64,
    /// Heartbeats sent.
    pub heartbeats_sent: u64,
    /// Heartbeat acks accepted.
    pub heartbeat_acks_received: u64,
    /// Probes of the path MTU sent (RFC 8899); they are no heartbeats.
    pub mtu_probes_sent: u64,
    /// Those that were not answered in time, because they were too large or for other reasons.
    pub mtu_probes_lost: u64,
    /// Times that the path MTU fell because data and probes of its size did not pass any more.
    pub black_holes: u64,
    /// When timeouts made it inactive the last time.
    pub failed_at: Option<Instant>,
    /// Times it became potentially failed.
    pub potentially_failed: u64,
    /// How long it was potentially failed, up to the last time that packets were polled.
    pub potentially_failed_time: Duration,
}

/// How long paths were potentially failed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PotentiallyFailedTime {
    /// Per path, by path id.
    pub paths: Vec<Duration>,
    /// How long one or more were while none was active.
    pub all_paths: Duration,
}

/// Why nothing can be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BlockedCause {
    /// Nothing waits to be sent.
    Application,
    /// No data waits, because unacknowledged data fills the send buffer.
    SendBuffer,
    /// Every usable path's congestion window is full, or its pace or its burst limit lets nothing go yet.
    CongestionWindow,
    /// The peer's receive window is full.
    PeerWindow,
    /// No path whose congestion window admits data may take what waits: its share of the buffers is used up, the data arrives
    /// earlier on a faster path or waits for one to be measured, or chunks have just left the path.
    BufferShare,
    /// No path can carry data.
    NoPath,
}

impl BlockedCause {
    /// Its name in traces, such as `send_buffer`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::SendBuffer => "send_buffer",
            Self::CongestionWindow => "congestion_window",
            Self::PeerWindow => "peer_window",
            Self::BufferShare => "buffer_share",
            Self::NoPath => "no_path",
        }
    }
}

/// How long the sender could not send, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct BlockedTime {
    /// Nothing was waiting to be sent.
    pub application: Duration,
    /// No data waited, because unacknowledged data filled the send buffer.
    pub send_buffer: Duration,
    /// Every usable path's congestion window was full.
    pub congestion_window: Duration,
    /// The peer's receive window was full.
    pub peer_window: Duration,
    /// Every path with a free congestion window had used up its share of the buffers.
    pub buffer_share: Duration,
    /// No path could carry data.
    pub no_path: Duration,
}

/// Messages that were abandoned by one rule (RFC 7496 section 4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AbandonedCount {
    /// Before any part of them was sent.
    pub unsent: u64,
    /// After a part of them was sent.
    pub sent: u64,
}

/// Messages that were abandoned, by the rule that they were sent with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AbandonedMessages {
    /// Their time was over (SCTP_PR_SCTP_TTL).
    pub timed: AbandonedCount,
    /// They were retransmitted too often (SCTP_PR_SCTP_RTX).
    pub limited_retransmissions: AbandonedCount,
    /// Abandoned to make space for other messages (SCTP_PR_SCTP_PRIO).
    pub priority: AbandonedCount,
}

impl AbandonedMessages {
    pub(crate) const NONE: Self = {
        let none = AbandonedCount { unsent: 0, sent: 0 };
        Self { timed: none, limited_retransmissions: none, priority: none }
    };

    /// Those of all rules (SCTP_PR_SCTP_ALL).
    pub fn all(&self) -> AbandonedCount {
        let rules = [self.timed, self.limited_retransmissions, self.priority];
        rules.into_iter().fold(AbandonedCount::default(), |all, rule| AbandonedCount {
            unsent: all.unsent + rule.unsent,
            sent: all.sent + rule.sent,
        })
    }
}

/// Counters of an association.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct AssociationStats {
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received and accepted.
    pub packets_received: u64,
    /// Packets dropped because something in them was malformed or not allowed.
    pub packets_discarded: u64,
    /// Packets with a wrong checksum that were the peer's by their addresses and ports.
    pub packets_damaged: u64,
    /// Packets sent with a checksum of zero (RFC 9653).
    pub zero_checksums_sent: u64,
    /// Packets received with one.
    pub zero_checksums_received: u64,
    /// Resets of outgoing streams (RE-CONFIG).
    pub outgoing_stream_resets: u64,
    /// Resets of incoming streams.
    pub incoming_stream_resets: u64,
    /// AUTH chunks sent.
    pub auth_chunks_sent: u64,
    /// AUTH chunks received whose code was right.
    pub auth_chunks_accepted: u64,
    /// AUTH chunks received that were wrong, with a key or algorithm that is not known, or not the only one: what followed them
    /// was discarded.
    pub auth_chunks_refused: u64,
    /// Chunks discarded because they must be authenticated and were not.
    pub unauthenticated_chunks: u64,
    /// ASCONF chunks sent, without those repeated (RFC 5061).
    pub asconf_sent: u64,
    /// ASCONF chunks of the peer that were worked off.
    pub asconf_received: u64,
    /// ASCONF chunks of the peer that were too old, or from nowhere, and not answered.
    pub asconf_discarded: u64,
    /// Requests of the peer for a change of its addresses that were refused.
    pub address_changes_refused: u64,
    /// DATA chunks sent, retransmissions included.
    pub data_chunks_sent: u64,
    /// DATA chunks received that were new.
    pub data_chunks_received: u64,
    /// DATA chunks received again.
    pub duplicate_chunks_received: u64,
    /// DATA chunks refused because the receive buffer was full.
    pub data_chunks_refused: u64,
    /// DATA chunks discarded after they had been acknowledged in gap blocks.
    pub chunks_reneged: u64,
    /// Acknowledged chunks that the peer's SACKs withdrew, and that are in flight again.
    pub chunks_withdrawn: u64,
    /// SACKs that arrived after later ones and were ignored (`stale_sack = same-path`).
    pub stale_sacks: u64,
    /// Bytes of user data that left the send buffer before the cumulative ack covered them (NR-SACK).
    pub bytes_released_early: u64,
    /// SACKs and NR-SACKs sent.
    pub sacks_sent: u64,
    /// NR-SACKs among them.
    pub nr_sacks_sent: u64,
    /// SACKs and NR-SACKs received.
    pub sacks_received: u64,
    /// NR-SACKs among them.
    pub nr_sacks_received: u64,
    /// Chunks retransmitted after missing reports.
    pub fast_retransmissions: u64,
    /// Chunks retransmitted after a timeout.
    pub timeout_retransmissions: u64,
    /// Chunks retransmitted on another path because they blocked the buffers (chunk rescheduling).
    pub rescheduled_chunks: u64,
    /// Chunks retransmitted because a path was silent when nothing new waited (tail probes).
    pub tail_probes: u64,
    /// T3 expiries.
    pub timeouts: u64,
    /// Reports of damaged or refused packets sent (PKTDROP).
    pub drop_reports_sent: u64,
    /// Requested reports of damaged or refused packets that were received.
    pub drop_reports_received: u64,
    /// Chunks retransmitted because a report said that they were damaged or dropped.
    pub reported_retransmissions: u64,
    /// Messages accepted from the user.
    pub messages_sent: u64,
    /// Messages abandoned.
    pub abandoned: AbandonedMessages,
    /// DATA chunks abandoned after they had been sent.
    pub chunks_abandoned: u64,
    /// Messages that could have been abandoned, but the peer does not understand FORWARD-TSN: they stay reliable.
    pub messages_kept_reliable: u64,
    /// Packets sent that queues may mark instead of dropping them (ECT(0)).
    pub ecn_capable_packets_sent: u64,
    /// Packets with new data received that are ECN-capable, marked or not: fewer than the peer has sent, if something on the way takes
    /// that off.
    pub ecn_capable_packets_received: u64,
    /// Packets with new data received that a queue has marked.
    pub ecn_marked_packets_received: u64,
    /// Echoes of marks received (ECNE), those repeated included.
    pub ecn_echoes_received: u64,
    /// Echoes of marks that were ignored because they name TSNs that were not sent.
    pub ecn_echoes_refused: u64,
    /// Times that a mark reduced the congestion window of a path.
    pub ecn_reductions: u64,
    /// Paths on which ECN-capable packets vanished, so that they get none any more.
    pub ecn_paths_given_up: u64,
    /// FORWARD-TSN chunks sent.
    pub forward_tsns_sent: u64,
    /// FORWARD-TSN chunks received.
    pub forward_tsns_received: u64,
    /// Messages delivered to the user.
    pub messages_received: u64,
    /// Bytes of user data delivered to the user.
    pub bytes_received: u64,
    /// Bytes in the send buffer now, unsent and unacknowledged.
    pub send_buffer_bytes: u64,
    /// Those of them that were not sent yet.
    pub unsent_bytes: u64,
    /// Present size of the send buffer in bytes.
    pub send_buffer_size_bytes: u64,
    /// Most bytes that were ever in the send buffer.
    pub send_buffer_peak_bytes: u64,
    /// Bytes in the receive buffer now.
    pub receive_buffer_bytes: u64,
    /// Present size of the receive buffer in bytes.
    pub receive_buffer_size_bytes: u64,
    /// Most bytes that were ever in the receive buffer.
    pub receive_buffer_peak_bytes: u64,
    /// The peer's receive window as last estimated.
    pub peer_window_bytes: u64,
    /// How long sending was blocked.
    pub blocked: BlockedTime,
    /// How long paths were potentially failed while none was active, up to the last time that packets were polled.
    pub all_potentially_failed_time: Duration,
    /// Addresses of the peer that were ignored because the path limit was reached.
    pub addresses_ignored: u64,
}
