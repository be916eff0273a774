//! What users see of each path.

use super::Association;
use crate::PathStats;
use crate::paths::Path;
use crate::transmit::SendPath;

impl Association {
    /// What users see of a path.
    pub(super) fn stats_of(&self, path: &Path, sending: &SendPath) -> PathStats {
        let (counters, sent) = (path.counters, sending.counters);
        let probes = path.plpmtu.as_ref().map_or_else(Default::default, |plpmtu| plpmtu.counts);
        PathStats {
            path: path.id,
            local: path.local,
            remote: path.remote,
            status: path.status(),
            primary: path.id == self.paths.primary,
            cwnd_bytes: sending.window.cwnd,
            ssthresh_bytes: sending.window.ssthresh,
            flight_bytes: sending.flight,
            srtt: sending.rtt.srtt(),
            rto: sending.rtt.rto(),
            mtu_bytes: sending.mtu(),
            mtu_sought_bytes: path.plpmtu.as_ref().map_or(sending.mtu(), |plpmtu| plpmtu.sought()),
            packets_sent: counters.packets_sent,
            packets_received: counters.packets_received,
            data_packets_sent: sent.data_packets_sent,
            data_chunks_sent: sent.data_chunks_sent,
            data_bytes_sent: sent.data_bytes_sent,
            data_bytes_acked: sent.data_bytes_acked,
            data_bytes_received: counters.data_bytes_received,
            fast_retransmissions: sent.fast_retransmissions,
            timeout_retransmissions: sent.timeout_retransmissions,
            reported_retransmissions: sent.reported_retransmissions,
            rescheduled_chunks: sent.rescheduled_chunks,
            tail_probes: sent.tail_probes,
            timeouts: sent.timeouts,
            fast_recoveries: sent.fast_recoveries,
            heartbeats_sent: counters.heartbeats_sent,
            heartbeat_acks_received: counters.heartbeat_acks_received,
            mtu_probes_sent: probes.sent,
            mtu_probes_lost: probes.lost,
            black_holes: probes.black_holes,
            failed_at: path.suspicion.failed_at,
            potentially_failed: path.suspicion.times,
            potentially_failed_time: path.suspicion.time.total(),
        }
    }
}
