//! Results of a run per host.

use polypath_proto::{AbandonedCount, AbandonedMessages, Association, BlockedTime};
use polypath_units::{Duration, Instant};
use serde::Serialize;

use super::PairView;
use crate::meter::Meter;
use crate::scenario::HostName;

/// One end of the association.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HostResult {
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The host.
    pub name: String,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets accepted.
    pub packets_received: u64,
    /// Packets dropped by the stack.
    pub packets_discarded: u64,
    /// Packets that arrived with a wrong checksum.
    pub checksum_failures: u64,
    /// Packets that the stack sent between addresses without a route; they never entered the network.
    pub packets_unroutable: u64,
    /// Packets that cannot be encoded; counted only if packets travel as bytes.
    pub packets_unencodable: u64,
    /// DATA chunks received that were new.
    pub data_chunks_received: u64,
    /// DATA chunks received again.
    pub duplicate_chunks_received: u64,
    /// DATA chunks dropped because the receive buffer was full.
    pub data_chunks_refused: u64,
    /// SACKs and NR-SACKs sent.
    pub sacks_sent: u64,
    /// NR-SACKs among them.
    pub nr_sacks_sent: u64,
    /// Reordered SACKs received, which were ignored.
    pub stale_sacks: u64,
    /// DATA chunks that the receiver reneged on.
    pub chunks_reneged: u64,
    /// Acknowledged chunks that the peer reneged on.
    pub chunks_withdrawn: u64,
    /// User bytes that left the send buffer before the cumulative ack covered them.
    pub bytes_released_early: u64,
    /// Reports of damaged or refused packets sent.
    pub drop_reports_sent: u64,
    /// Abandoned messages, by their rule of partial reliability.
    pub messages_abandoned: AbandonedResult,
    /// Messages that could have been abandoned if the peer supported FORWARD-TSN.
    pub messages_kept_reliable: u64,
    /// Abandoned DATA chunks that had been sent.
    pub chunks_abandoned: u64,
    /// FORWARD-TSN chunks sent.
    pub forward_tsns_sent: u64,
    /// Packets with new data received that a queue had marked.
    pub ecn_marked_packets_received: u64,
    /// Reductions of a path's congestion window because of a mark.
    pub ecn_reductions: u64,
    /// Maximum of the send buffer.
    pub send_buffer_peak_bytes: u64,
    /// Mean of the send buffer in the measured interval.
    pub send_buffer_mean_bytes: f64,
    /// Maximum of the receive buffer.
    pub receive_buffer_peak_bytes: u64,
    /// Mean of the receive buffer in the measured interval.
    pub receive_buffer_mean_bytes: f64,
    /// Times for which sending was blocked.
    pub blocked: BlockedResult,
    /// Time for which paths were potentially failed and none was active.
    pub all_potentially_failed_s: f64,
}

/// Abandoned messages, by rule (RFC 7496 section 4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct AbandonedResult {
    /// Timed, before any part was sent.
    pub timed_unsent: u64,
    /// Timed, after a part was sent.
    pub timed_sent: u64,
    /// With limited retransmissions, before any part was sent.
    pub limited_retransmissions_unsent: u64,
    /// With limited retransmissions, after a part was sent.
    pub limited_retransmissions_sent: u64,
    /// With a priority, before any part was sent.
    pub priority_unsent: u64,
    /// With a priority, after a part was sent.
    pub priority_sent: u64,
}

/// Times for which sending was blocked, by cause.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BlockedResult {
    /// No data waited.
    pub application_s: f64,
    /// No data waited, because unacknowledged data filled the send buffer.
    pub send_buffer_s: f64,
    /// The congestion windows were full.
    pub congestion_window_s: f64,
    /// The peer's receive window was full.
    pub peer_window_s: f64,
    /// Paths that had free congestion windows had used up their shares of the buffers.
    pub buffer_share_s: f64,
    /// No path could carry data.
    pub no_path_s: f64,
}

impl HostResult {
    pub(super) fn gather(
        name: HostName,
        host_name: &str,
        pair: &PairView<'_>,
        meter: &Meter,
        now: Instant,
    ) -> Self {
        let host = &pair.hosts[name.index()];
        let association = host.association();
        let stats = association.map(Association::stats).unwrap_or_default();
        let blocked = association.map(|association| association.blocked(now)).unwrap_or_default();
        let [send_buffer_mean_bytes, receive_buffer_mean_bytes] =
            meter.mean_occupancy(pair.index, name);
        let all_doubted =
            association.map(|association| association.potentially_failed(now).all_paths);
        Self {
            pair: pair.name.to_owned(),
            name: host_name.to_owned(),
            packets_sent: stats.packets_sent,
            packets_received: stats.packets_received,
            packets_discarded: stats.packets_discarded,
            checksum_failures: host.checksum_failures(),
            packets_unroutable: host.unsent().unroutable,
            packets_unencodable: host.unsent().unencodable,
            data_chunks_received: stats.data_chunks_received,
            duplicate_chunks_received: stats.duplicate_chunks_received,
            data_chunks_refused: stats.data_chunks_refused,
            sacks_sent: stats.sacks_sent,
            nr_sacks_sent: stats.nr_sacks_sent,
            stale_sacks: stats.stale_sacks,
            chunks_reneged: stats.chunks_reneged,
            chunks_withdrawn: stats.chunks_withdrawn,
            bytes_released_early: stats.bytes_released_early,
            drop_reports_sent: stats.drop_reports_sent,
            messages_abandoned: AbandonedResult::from(stats.abandoned),
            messages_kept_reliable: stats.messages_kept_reliable,
            chunks_abandoned: stats.chunks_abandoned,
            forward_tsns_sent: stats.forward_tsns_sent,
            ecn_marked_packets_received: stats.ecn_marked_packets_received,
            ecn_reductions: stats.ecn_reductions,
            send_buffer_peak_bytes: stats.send_buffer_peak_bytes,
            send_buffer_mean_bytes,
            receive_buffer_peak_bytes: stats.receive_buffer_peak_bytes,
            receive_buffer_mean_bytes,
            blocked: BlockedResult::from(blocked),
            all_potentially_failed_s: all_doubted.map_or(0.0, Duration::as_secs_f64),
        }
    }
}

impl From<BlockedTime> for BlockedResult {
    fn from(blocked: BlockedTime) -> Self {
        Self {
            application_s: blocked.application.as_secs_f64(),
            send_buffer_s: blocked.send_buffer.as_secs_f64(),
            congestion_window_s: blocked.congestion_window.as_secs_f64(),
            peer_window_s: blocked.peer_window.as_secs_f64(),
            buffer_share_s: blocked.buffer_share.as_secs_f64(),
            no_path_s: blocked.no_path.as_secs_f64(),
        }
    }
}

impl From<AbandonedMessages> for AbandonedResult {
    fn from(abandoned: AbandonedMessages) -> Self {
        let AbandonedMessages { timed, limited_retransmissions, priority } = abandoned;
        let split = |AbandonedCount { unsent, sent }| (unsent, sent);
        let (timed_unsent, timed_sent) = split(timed);
        let (limited_retransmissions_unsent, limited_retransmissions_sent) =
            split(limited_retransmissions);
        let (priority_unsent, priority_sent) = split(priority);
        Self {
            timed_unsent,
            timed_sent,
            limited_retransmissions_unsent,
            limited_retransmissions_sent,
            priority_unsent,
            priority_sent,
        }
    }
}
