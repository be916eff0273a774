//! Reports of a span of time: flows, paths, and what blocked sending.

use std::net::IpAddr;

use polypath::text::printable;
use serde::{Deserialize, Serialize};

use super::ProcessorShare;
use crate::text::shown;

/// The report of an interval.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Interval {
    /// Each flow in each direction.
    pub streams: Vec<StreamReport>,
    /// All flows that this side sends; if it sends none, all that it receives.
    pub sum: Sum,
    /// All flows that this side receives, if it sends too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_bidir_reverse: Option<Sum>,
    /// Each path.
    pub paths: Vec<PathReport>,
    /// How long this side could not send, by cause.
    pub blocked: Blocked,
}

/// A flow in one direction over a time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StreamReport {
    /// Number of the flow, and of its stream.
    pub socket: u32,
    /// Beginning of the span in seconds since the start; after omitted time, since its end.
    pub start: f64,
    /// End of the span, likewise.
    pub end: f64,
    /// Length of the span in seconds.
    pub seconds: f64,
    /// Bytes of messages, headers of NetPerfMeter's protocol included.
    pub bytes: u64,
    /// Mean rate in bit/s.
    pub bits_per_second: f64,
    /// Number of messages.
    pub messages: u64,
    /// Retransmitted chunks, if this is the only flow: retransmissions belong to paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Sum of the congestion windows of all active paths in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snd_cwnd: Option<u64>,
    /// Smoothed round-trip time of the lowest-RTT path in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<u64>,
    /// Smallest MTU of a path in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmtu: Option<u32>,
    /// Messages that were dropped before they were sent, since the queue of the source was full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_messages: Option<u64>,
    /// Messages that the peer sent and this side did not receive: the peer abandoned them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_messages: Option<u64>,
    /// Messages that arrived after others with higher sequence numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u64>,
    /// One-way delays of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// Whether the span is part of the omitted time, which does not count.
    pub omitted: bool,
    /// Whether the reporting side is the sender.
    pub sender: bool,
}

/// One-way delays, from when the source had a message to when the application got it, in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Delay {
    /// Mean.
    pub mean_us: u64,
    /// Median.
    pub p50_us: u64,
    /// 90th percentile.
    pub p90_us: u64,
    /// 95th percentile.
    pub p95_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Maximum.
    pub max_us: u64,
    /// Mean difference between the delays of successive messages.
    pub jitter_us: u64,
}

/// All flows in one direction over a time.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Sum {
    /// Beginning of the span in seconds since the start; after omitted time, since its end.
    pub start: f64,
    /// End of the span, likewise.
    pub end: f64,
    /// Length of the span in seconds.
    pub seconds: f64,
    /// Bytes of messages.
    pub bytes: u64,
    /// Mean rate in bit/s.
    pub bits_per_second: f64,
    /// Number of messages.
    pub messages: u64,
    /// Retransmitted chunks, for a sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Messages that were sent and not received, for a receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_messages: Option<u64>,
    /// Whether the span is part of the omitted time, which does not count.
    pub omitted: bool,
    /// Whether these are the numbers of the sender.
    pub sender: bool,
}

impl Sum {
    /// All of these flows, which go one way. `retransmits` matter if this side sends them.
    pub(crate) fn of(streams: &[StreamReport], retransmits: u64) -> Self {
        let Some(first) = streams.first() else { return Self::default() };
        // Some numbers are those that a peer reports.
        let bytes = streams.iter().fold(0, |sum: u64, stream| sum.saturating_add(stream.bytes));
        Self {
            start: first.start,
            end: first.end,
            seconds: first.seconds,
            bytes,
            bits_per_second: per_second(bytes, first.seconds),
            messages: streams
                .iter()
                .fold(0, |sum: u64, stream| sum.saturating_add(stream.messages)),
            retransmits: first.sender.then_some(retransmits),
            lost_messages: streams
                .iter()
                .filter_map(|stream| stream.lost_messages)
                .reduce(u64::saturating_add),
            omitted: first.omitted,
            sender: first.sender,
        }
    }
}

/// A path over a time, as one side sees it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PathReport {
    /// Name of the path, as in `path0`.
    pub path: String,
    /// Address of the reporting side.
    pub local_host: IpAddr,
    /// Address of its peer.
    pub remote_host: IpAddr,
    /// `active`, `potentially-failed`, `inactive` or `unconfirmed`, at the end.
    pub status: String,
    /// Whether it is the primary path.
    pub primary: bool,
    /// Beginning of the span in seconds since the start; after omitted time, since its end.
    pub start: f64,
    /// End of the span, likewise.
    pub end: f64,
    /// Length of the span in seconds.
    pub seconds: f64,
    /// Bytes of user data that the path delivered to the peer.
    pub sent_bytes: u64,
    /// Rate of [`sent_bytes`](Self::sent_bytes) in bit/s.
    pub sent_bits_per_second: f64,
    /// Bytes of user data that the path delivered to this side.
    pub received_bytes: u64,
    /// Rate of [`received_bytes`](Self::received_bytes) in bit/s.
    pub received_bits_per_second: f64,
    /// Chunks retransmitted on the path, for any cause.
    pub retransmits: u64,
    /// Chunks retransmitted after missing reports.
    pub fast_retransmits: u64,
    /// Chunks retransmitted after a timeout.
    pub timeout_retransmits: u64,
    /// Chunks retransmitted after reports of damaged or dropped packets.
    pub reported_retransmits: u64,
    /// Chunks rescheduled to this path because they blocked the buffers.
    pub rescheduled: u64,
    /// Chunks retransmitted as probes because a path was silent when no new data waited.
    pub tail_probes: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Congestion window in bytes, at the end.
    pub snd_cwnd: u64,
    /// Slow-start threshold in bytes, at the end; none before the first loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssthresh: Option<u64>,
    /// Flight size in bytes, at the end.
    pub in_flight: u64,
    /// Smoothed round-trip time in microseconds, at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<u64>,
    /// Retransmission timeout in microseconds, at the end.
    pub rto: u64,
    /// MTU in bytes, at the end.
    pub pmtu: u32,
    /// Seconds in which it was potentially failed.
    pub potentially_failed_seconds: f64,
}

/// Seconds in which no data could be sent, by cause.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Blocked {
    /// There was nothing to send.
    pub application: f64,
    /// Unacknowledged data filled the send buffer.
    pub send_buffer: f64,
    /// The congestion windows of all paths were full.
    pub congestion_window: f64,
    /// The peer's receive window (a_rwnd) was full.
    pub peer_window: f64,
    /// Paths with congestion window left had used up their share of the buffers.
    pub buffer_share: f64,
    /// No path was usable.
    pub no_path: f64,
}

/// What one side measured, as it reports it to the other.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SideReport {
    /// What it sent.
    pub sent: Vec<StreamReport>,
    /// What it received.
    pub received: Vec<StreamReport>,
    /// Its paths.
    pub paths: Vec<PathReport>,
    /// How long it could not send.
    pub blocked: Blocked,
    /// How much of a processor it took.
    pub processor: Option<ProcessorShare>,
    /// Messages that were none of this measurement.
    pub malformed_messages: u64,
    /// What it showed to its user, if that was requested.
    pub output: Option<String>,
}

impl SideReport {
    /// The report of a peer as it can be shown.
    pub(crate) fn printable(mut self) -> Self {
        for path in &mut self.paths {
            path.path = shown(&path.path);
            path.status = shown(&path.status);
        }
        let lines =
            |text: String| text.lines().map(|line| printable(line, usize::MAX) + "\n").collect();
        self.output = self.output.map(lines);
        self
    }
}

/// Rate in bit/s; zero where no time has passed.
pub(crate) fn per_second(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}
