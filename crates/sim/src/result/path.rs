//! Results of a run per path.

use polypath_proto::PathStatus;
use polypath_units::{Duration, Instant};
use serde::Serialize;

use super::{PairView, Window};
use crate::meter::{PathKey, path_name};
use crate::scenario::{HostName, Scenario};

/// A path as its sending host sees it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathResult {
    /// Name of the path; both names if its local and remote address belong to different ones.
    pub name: String,
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// State at the end.
    pub status: &'static str,
    /// User data that arrived for the first time on this path, per second of the measured interval.
    pub goodput_bit_s: f64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets sent with user data.
    pub data_packets_sent: u64,
    /// DATA chunks sent, including retransmissions.
    pub data_chunks_sent: u64,
    /// Chunks retransmitted after missing reports.
    pub fast_retransmissions: u64,
    /// Chunks retransmitted after a timeout.
    pub timeout_retransmissions: u64,
    /// Chunks retransmitted because of a packet drop report.
    pub reported_retransmissions: u64,
    /// Chunks rescheduled to this path because they blocked the buffers.
    pub rescheduled_chunks: u64,
    /// Tail probes sent on this path.
    pub tail_probes: u64,
    /// T3 expiries.
    pub timeouts: u64,
    /// Number of fast recoveries.
    pub fast_recoveries: u64,
    /// Heartbeats sent.
    pub heartbeats_sent: u64,
    /// Path MTU at the end, including the IP header.
    pub mtu_bytes: u32,
    /// Probes of the path MTU sent.
    pub mtu_probes_sent: u64,
    /// Path MTU probes that were not answered.
    pub mtu_probes_lost: u64,
    /// Reductions of the path MTU because packets of its size were lost.
    pub black_holes: u64,
    /// When timeouts last made it inactive.
    pub failed_s: Option<f64>,
    /// Number of times it became potentially failed.
    pub potentially_failed: u64,
    /// Time for which it was potentially failed.
    pub potentially_failed_s: f64,
    /// Smoothed round-trip time at the end.
    pub srtt_s: Option<f64>,
    /// Retransmission timeout at the end.
    pub rto_s: f64,
    /// Congestion window at the end.
    pub cwnd_bytes: u64,
    /// Slow-start threshold at the end.
    pub ssthresh_bytes: u64,
    /// Long-run fraction of full-sized packets that the links of the path lose or damage, as configured for the end of
    /// the run: the value for `retransmission.loss_rate = "oracle"`.
    pub oracle_loss: Option<f64>,
}

pub(super) fn path_results(
    scenario: &Scenario,
    pair: &PairView<'_>,
    window: &Window<'_>,
    now: Instant,
) -> Vec<PathResult> {
    let PairView { index, hosts, network, .. } = *pair;
    let mut results = Vec::new();
    for name in HostName::ALL {
        let mut flows = scenario.traffic.iter();
        if !flows.any(|flow| flow.is_from(index, name)) {
            continue;
        }
        let Some(association) = hosts[name.index()].association() else { continue };
        let doubted = association.potentially_failed(now).paths;
        results.extend(association.path_stats().into_iter().map(|path| {
            let doubted = doubted.get(path.path.index()).copied();
            let arrival = PathKey::of(index, name, &path).reverse();
            PathResult {
                name: path_name(network, &path),
                pair: pair.name.to_owned(),
                from: scenario.host_name(index, name).to_owned(),
                status: status_name(path.status),
                goodput_bit_s: window.rate(|snapshot| snapshot.arrived(arrival)),
                packets_sent: path.packets_sent,
                data_packets_sent: path.data_packets_sent,
                data_chunks_sent: path.data_chunks_sent,
                fast_retransmissions: path.fast_retransmissions,
                timeout_retransmissions: path.timeout_retransmissions,
                reported_retransmissions: path.reported_retransmissions,
                rescheduled_chunks: path.rescheduled_chunks,
                tail_probes: path.tail_probes,
                timeouts: path.timeouts,
                fast_recoveries: path.fast_recoveries,
                heartbeats_sent: path.heartbeats_sent,
                mtu_bytes: path.mtu_bytes,
                mtu_probes_sent: path.mtu_probes_sent,
                mtu_probes_lost: path.mtu_probes_lost,
                black_holes: path.black_holes,
                failed_s: path.failed_at.map(Instant::as_secs_f64),
                potentially_failed: path.potentially_failed,
                potentially_failed_s: doubted.map_or(0.0, Duration::as_secs_f64),
                srtt_s: path.srtt.map(Duration::as_secs_f64),
                rto_s: path.rto.as_secs_f64(),
                cwnd_bytes: path.cwnd_bytes,
                ssthresh_bytes: path.ssthresh_bytes,
                oracle_loss: hosts[name.index()].oracle_loss(&path),
            }
        }));
    }
    results
}

fn status_name(status: PathStatus) -> &'static str {
    match status {
        PathStatus::PotentiallyFailed => "potentially failed",
        other => other.name(),
    }
}
