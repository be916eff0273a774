//! Statistics: counters of the association, and those collected from its components on request.

use alloc::vec::Vec;

use super::Association;
use crate::paths::Path;
use crate::transmit::SendPath;
use crate::types::{Lazy, Vacant};
use crate::{
    AbandonedMessages, AssociationStats, BlockedCause, BlockedTime, Instant, PathStats,
    PotentiallyFailedTime,
};

impl Association {
    /// Messages of a stream that were abandoned (`SCTP_PR_STREAM_STATUS`).
    pub fn abandoned_on(&self, stream: u16) -> AbandonedMessages {
        self.transmitter.abandoned_on(stream)
    }

    /// Counters.
    pub fn stats(&self) -> AssociationStats {
        let mut stats = self.stats.stats();
        self.transmitter.stats.enter(&mut stats);
        stats.send_buffer_bytes = self.transmitter.queue.used();
        stats.unsent_bytes = self.transmitter.queue.waiting();
        stats.send_buffer_size_bytes = self.transmitter.queue.limit();
        stats.send_buffer_peak_bytes = self.transmitter.queue.peak();
        stats.peer_window_bytes = self.transmitter.peer_window();
        stats.tail_probes =
            self.transmitter.paths.iter().map(|path| path.counters.repairs.tail_probes).sum();
        stats.blocked = self.blocked.total();
        stats.all_potentially_failed_time = self.suspicions.all.total();
        self.count_address_changes(&mut stats);
        if let Some(receiver) = self.state.receiver() {
            let counters = receiver.counters();
            stats.data_chunks_received = counters.new_chunks;
            stats.duplicate_chunks_received = counters.duplicate_chunks;
            stats.data_chunks_refused = counters.refused_chunks;
            stats.chunks_reneged = counters.reneged_chunks;
            stats.receive_buffer_bytes = receiver.buffered_bytes();
            stats.receive_buffer_size_bytes = receiver.buffer_size().into();
            stats.receive_buffer_peak_bytes = receiver.peak_buffered_bytes();
        }
        stats
    }

    /// Unsent user bytes, as in [`stats`](Self::stats), for frequent calls.
    pub fn unsent_bytes(&self) -> u64 {
        self.transmitter.queue.waiting()
    }

    /// How long sending was blocked until `now`, by cause. [`stats`](Self::stats) has the same up to the last time that
    /// packets were polled.
    pub fn blocked(&self, now: Instant) -> BlockedTime {
        self.blocked.total_at(now)
    }

    /// Why nothing could be sent when packets were polled the last time; nothing before that.
    pub fn blocked_by(&self) -> Option<BlockedCause> {
        self.blocked.cause()
    }

    /// How long paths were potentially failed until `now`. [`stats`](Self::stats) and [`path_stats`](Self::path_stats) have
    /// the same up to the last time that packets were polled.
    pub fn potentially_failed(&self, now: Instant) -> PotentiallyFailedTime {
        PotentiallyFailedTime {
            paths: self.paths.iter().map(|path| path.suspicion.time.total_at(now)).collect(),
            all_paths: self.suspicions.all.total_at(now),
        }
    }

    /// State and counters of each path, by path id.
    pub fn path_stats(&self) -> Vec<PathStats> {
        let sending = self.transmitter.paths.iter();
        self.paths.iter().zip(sending).map(|(path, sending)| self.stats_of(path, sending)).collect()
    }

    /// What users see of a path.
    fn stats_of(&self, path: &Path, sending: &SendPath) -> PathStats {
        let (counters, sent) = (path.counters, &sending.counters);
        let probes = path.plpmtu.as_ref().map_or_else(Default::default, |plpmtu| plpmtu.counts);
        let mtu_sought = path.plpmtu.as_ref().map_or(sending.mtu(), |plpmtu| plpmtu.sought());
        PathStats {
            path: path.id,
            local: path.local,
            remote: path.remote,
            status: path.status(),
            ecn: self.path_ecn(path),
            primary: path.id == self.paths.primary,
            cwnd_bytes: sending.congestion.cwnd,
            ssthresh_bytes: sending.congestion.ssthresh,
            flight_bytes: sending.flight,
            srtt: sending.rtt.srtt(),
            rto: sending.rtt.rto(),
            mtu_bytes: sending.mtu(),
            mtu_sought_bytes: mtu_sought,
            full_fragment_bytes: sending.chunk_payload_of(mtu_sought),
            packets_sent: counters.packets_sent,
            packets_received: counters.packets_received,
            data_packets_sent: sent.data_packets_sent,
            data_chunks_sent: sent.data_chunks_sent,
            data_bytes_sent: sent.data_bytes_sent,
            data_bytes_acked: sent.data_bytes_acked,
            data_bytes_received: counters.data_bytes_received,
            fast_retransmissions: sent.repairs.fast_retransmissions,
            timeout_retransmissions: sent.repairs.timeout_retransmissions,
            reported_retransmissions: sent.repairs.reported_retransmissions,
            rescheduled_chunks: sent.repairs.rescheduled_chunks,
            tail_probes: sent.repairs.tail_probes,
            timeouts: sent.repairs.timeouts,
            fast_recoveries: sent.repairs.fast_recoveries,
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

/// Generates the structs, and the copy into the public one, from one list. Counters that few associations need occupy
/// no memory in the others.
macro_rules! counters {
    (often: $($often:ident),*; seldom: $($seldom:ident),*;) => {
        /// As the fields of the same name in [`AssociationStats`].
        #[derive(Debug, Default)]
        pub(super) struct AssociationCounters {
            $(pub(super) $often: u64,)*
            pub(super) seldom: Lazy<SeldomCounters>,
        }

        /// As the fields of the same name in [`AssociationStats`].
        #[derive(Debug, Default)]
        pub(super) struct SeldomCounters {
            $(pub(super) $seldom: u64,)*
        }

        impl Vacant for SeldomCounters {
            const VACANT: &'static Self = &Self { $($seldom: 0,)* };
        }

        impl AssociationCounters {
            /// Statistics with these numbers, and nothing else.
            pub(super) fn stats(&self) -> AssociationStats {
                AssociationStats {
                    $($often: self.$often,)*
                    $($seldom: self.seldom.$seldom,)*
                    ..AssociationStats::default()
                }
            }
        }
    };
}

counters! {
    often: packets_sent, packets_received, sacks_sent, nr_sacks_sent, messages_received, bytes_received;
    seldom: packets_discarded, packets_damaged, zero_checksums_sent, zero_checksums_received, outgoing_stream_resets, incoming_stream_resets,
        auth_chunks_sent, auth_chunks_accepted, auth_chunks_refused, unauthenticated_chunks, drop_reports_sent,
        drop_reports_received, forward_tsns_received, addresses_ignored, ecn_capable_packets_received, ecn_marked_packets_received;
}

impl AssociationCounters {
    /// So many addresses of the peer, often none, were not used.
    pub(super) fn ignore_addresses(&mut self, count: u64) {
        if count > 0 {
            self.seldom.addresses_ignored += count;
        }
    }
}

/// Account of the time between one flush and the next, by what stopped the former.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blocked {
    since: Option<(Instant, BlockedCause)>,
    total: BlockedTime,
}

impl Blocked {
    /// A flush ended at `now` because of `cause`.
    pub(super) fn enter(&mut self, now: Instant, cause: BlockedCause) {
        self.settle(now);
        self.since = Some((now, cause));
    }

    /// The account up to `now`.
    pub(super) fn total_at(&self, now: Instant) -> BlockedTime {
        let mut account = *self;
        account.settle(now);
        account.total
    }

    /// Enters the time since the last flush.
    fn settle(&mut self, now: Instant) {
        let Some((since, cause)) = self.since else { return };
        let total = match cause {
            BlockedCause::Application => &mut self.total.application,
            BlockedCause::SendBuffer => &mut self.total.send_buffer,
            BlockedCause::CongestionWindow => &mut self.total.congestion_window,
            BlockedCause::PeerWindow => &mut self.total.peer_window,
            BlockedCause::BufferShare => &mut self.total.buffer_share,
            BlockedCause::NoPath => &mut self.total.no_path,
        };
        *total += now.since(since);
    }

    /// Why the last flush ended.
    pub(super) fn cause(&self) -> Option<BlockedCause> {
        self.since.map(|(_, cause)| cause)
    }

    pub(super) fn total(&self) -> BlockedTime {
        self.total
    }
}
