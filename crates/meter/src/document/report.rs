//! What was seen over a time: flows, paths, and what held up sending.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::ProcessorShare;
use crate::snapshot::per_second;

/// What was seen in an interval.
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
    /// Seconds since the start.
    pub start: f64,
    /// Seconds since the start.
    pub end: f64,
    /// Seconds between them.
    pub seconds: f64,
    /// Bytes of messages, headers of NetPerfMeter's protocol included.
    pub bytes: u64,
    /// Mean rate.
    pub bits_per_second: f64,
    /// Messages.
    pub messages: u64,
    /// Chunks sent again, if this is the only flow: retransmissions belong to paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Congestion windows of all paths in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snd_cwnd: Option<u64>,
    /// Smoothed round-trip time of the fastest path in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<u64>,
    /// Smallest MTU of a path in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmtu: Option<u32>,
    /// Messages that found the queue of the source full; they were never sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_messages: Option<u64>,
    /// Messages that the peer sent and that never came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_messages: Option<u64>,
    /// Messages that came after others with higher numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u64>,
    /// One-way delays of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// Whether it does not count.
    pub omitted: bool,
    /// Whether this is what the side that tells it has sent.
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
    /// Nine of ten were not longer.
    pub p90_us: u64,
    /// 95 of 100 were not longer.
    pub p95_us: u64,
    /// 99 of 100 were not longer.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
    /// Mean difference of one message to the next.
    pub jitter_us: u64,
}

/// All flows in one direction over a time.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Sum {
    /// Seconds since the start.
    pub start: f64,
    /// Seconds since the start.
    pub end: f64,
    /// Seconds between them.
    pub seconds: f64,
    /// Bytes of messages.
    pub bytes: u64,
    /// Mean rate.
    pub bits_per_second: f64,
    /// Messages.
    pub messages: u64,
    /// Chunks sent again, for a sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    /// Messages that never came, for a receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_messages: Option<u64>,
    /// Whether it does not count.
    pub omitted: bool,
    /// Whether this is what was sent.
    pub sender: bool,
}

impl Sum {
    /// All of these flows, which go one way. `retransmits` matter if this side sends them.
    pub(crate) fn of(streams: &[StreamReport], retransmits: u64) -> Self {
        let Some(first) = streams.first() else { return Self::default() };
        // Some numbers are those that a peer tells.
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
    /// Name of the path.
    pub path: String,
    /// Address of the side that tells it.
    pub local_host: IpAddr,
    /// Address of its peer.
    pub remote_host: IpAddr,
    /// `active`, `potentially-failed`, `inactive` or `unconfirmed`, at the end.
    pub status: String,
    /// Whether it is the primary path.
    pub primary: bool,
    /// Seconds since the start.
    pub start: f64,
    /// Seconds since the start.
    pub end: f64,
    /// Seconds between them.
    pub seconds: f64,
    /// Bytes of user data that it delivered to the peer.
    pub sent_bytes: u64,
    /// Their rate.
    pub sent_bits_per_second: f64,
    /// Bytes of user data that it delivered to this side.
    pub received_bytes: u64,
    /// Their rate.
    pub received_bits_per_second: f64,
    /// Chunks sent again on it, for whatever cause.
    pub retransmits: u64,
    /// Those after missing reports.
    pub fast_retransmits: u64,
    /// Those after a timeout.
    pub timeout_retransmits: u64,
    /// Those after reports of damaged or dropped packets.
    pub reported_retransmits: u64,
    /// Chunks sent again because they blocked the buffers.
    pub rescheduled: u64,
    /// Chunks sent again because a path was silent when nothing new waited.
    pub tail_probes: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Congestion window in bytes, at the end.
    pub snd_cwnd: u64,
    /// Slow-start threshold in bytes, at the end; nothing before the first loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssthresh: Option<u64>,
    /// Bytes in flight, at the end.
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

/// Seconds in which nothing could be sent, by cause.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Blocked {
    /// There was nothing to send.
    pub application: f64,
    /// What was not acknowledged filled the send buffer.
    pub send_buffer: f64,
    /// The congestion windows of all paths were full.
    pub congestion_window: f64,
    /// The receiver's window was full.
    pub peer_window: f64,
    /// Paths with room had used up their share of the buffers.
    pub buffer_share: f64,
    /// No path worked.
    pub no_path: f64,
}

/// What one side measured, as it tells the other.
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
    /// What it showed, if that was asked for.
    pub output: Option<String>,
}
