//! Results as JSON: the keys of iperf3, and those of paths beside them.
//!
//! Rates are in bit/s, `rtt` and other times whose name says nothing in microseconds as in iperf3, all else in the unit
//! that its name ends with.

use std::net::IpAddr;

use polypath::PathStats;
use serde::{Deserialize, Serialize};

use crate::calendar;
pub use crate::clock::{ClockRelation, ClockSource};
use crate::labels::Labels;
use crate::plan::Plan;
pub use crate::processor::{CpuUtilization, ProcessorShare};
use crate::snapshot::{path_name, per_second};
use crate::{requirements, start};

/// Name and version of the form.
pub const SCHEMA: &str = "polypath/meter-1";

/// A measurement, as `--json` prints it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "Measurement of polypath meter"))]
#[non_exhaustive]
pub struct Document {
    /// Name and version of this form.
    pub schema: &'static str,
    /// Whether the measurement came to its end.
    pub complete: bool,
    /// What the user calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the user wants to find here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_data: Option<String>,
    /// What was known before.
    pub start: Start,
    /// What was seen meanwhile.
    pub intervals: Vec<Interval>,
    /// What came out.
    pub end: End,
    /// What the server showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Document {
    /// The document of a client that never had an association with a server.
    pub fn unconnected(plan: &Plan, labels: &Labels, error: impl Into<String>) -> Self {
        let document = start::document(labels);
        Self { title: plan.shown_title().map(str::to_owned), error: Some(error.into()), ..document }
    }

    /// The rate of what was received, in bit/s; of both directions the smaller. `None` if the measurement did not come to its
    /// end, or it does not count.
    pub fn rate(&self) -> Option<f64> {
        self.complete.then(|| requirements::received(&self.end)).flatten()
    }
}

/// A line of `--json-stream`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "Line of polypath meter --json-stream"))]
#[serde(tag = "event", content = "data", rename_all = "lowercase")]
#[non_exhaustive]
pub enum StreamLine {
    /// The first.
    Start(Box<StreamStart>),
    /// After each interval.
    Interval(Box<Interval>),
    /// The last, unless there is an error.
    End(Box<StreamEnd>),
    /// What went wrong.
    Error(String),
}

impl StreamLine {
    /// The first line.
    pub fn start(document: &Document) -> Self {
        Self::Start(Box::new(StreamStart {
            schema: document.schema,
            title: document.title.clone(),
            extra_data: document.extra_data.clone(),
            start: document.start.clone(),
        }))
    }

    /// The line after an interval.
    pub fn interval(interval: &Interval) -> Self {
        Self::Interval(Box::new(interval.clone()))
    }

    /// The line of the results.
    pub fn end(document: &Document) -> Self {
        Self::End(Box::new(StreamEnd {
            complete: document.complete,
            server_output_text: document.server_output_text.clone(),
            end: document.end.clone(),
        }))
    }
}

/// The first line of `--json-stream`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StreamStart {
    /// Name and version of this form.
    pub schema: &'static str,
    /// What the user calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the user wants to find here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_data: Option<String>,
    /// What was known before.
    #[serde(flatten)]
    pub start: Start,
}

/// The results as a line of `--json-stream`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StreamEnd {
    /// Whether the measurement came to its end.
    pub complete: bool,
    /// What the server showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    /// What came out.
    #[serde(flatten)]
    pub end: End,
}

/// What was known before the measurement.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Start {
    /// Each path.
    pub connected: Vec<Connected>,
    /// Program and version.
    pub version: String,
    /// Machine.
    pub system_info: String,
    /// When it began.
    pub timestamp: Timestamp,
    /// Whom the client was told to connect to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connecting_to: Option<ConnectingTo>,
    /// Random name of the measurement.
    pub cookie: String,
    /// What is measured.
    pub test_start: TestStart,
    /// How the clocks of both ends relate: one-way delays are as good as this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRelation>,
}

/// A path at the beginning.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Connected {
    /// Number of the path.
    pub socket: u32,
    /// Name of the path.
    pub path: String,
    /// Address of this side.
    pub local_host: IpAddr,
    /// SCTP port of this side.
    pub local_port: u16,
    /// Address of the peer.
    pub remote_host: IpAddr,
    /// SCTP port of the peer.
    pub remote_port: u16,
}

/// A time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Timestamp {
    /// For people, in UTC.
    pub time: String,
    /// Seconds since 1970.
    pub timesecs: u64,
}

impl Timestamp {
    /// The present.
    pub fn now() -> Self {
        Self::at(calendar::now())
    }

    pub(crate) fn at(seconds: u64) -> Self {
        Self { time: calendar::long(seconds), timesecs: seconds }
    }

    /// As in `2026-11-21T22:58:00Z` (RFC 3339).
    pub fn to_rfc3339(&self) -> String {
        calendar::short(self.timesecs)
    }
}

/// Whom the client was told to connect to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConnectingTo {
    /// As it was written.
    pub host: String,
    /// SCTP port.
    pub port: u16,
    /// UDP port; nothing over IP itself.
    pub encapsulation_port: Option<u16>,
}

/// What is measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestStart {
    /// Always `SCTP`.
    pub protocol: String,
    /// Flows, each of which has a stream.
    pub num_streams: u32,
    /// Bytes of the longest message.
    pub blksize: u32,
    /// Seconds at the beginning that do not count.
    pub omit: f64,
    /// Seconds that count; zero if a number of bytes ends it.
    pub duration: f64,
    /// Bytes to send; zero if the time ends it.
    pub bytes: u64,
    /// Whether only the server sends: 0 or 1.
    pub reverse: u8,
    /// Whether both sides send: 0 or 1.
    pub bidir: u8,
    /// Mean rate that is asked for in bit/s; zero for as much as there is.
    pub target_bitrate: u64,
    /// Seconds between reports.
    pub interval: f64,
    /// Where random numbers begin.
    pub seed: u64,
    /// Policies that this side began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// What the flows are called, by stream.
    pub flows: Vec<String>,
}

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

/// What came out.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct End {
    /// Each flow in each direction, as both sides saw it.
    pub streams: Vec<BothSides>,
    /// What was sent: by the client, or by the server if only that sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent: Option<Sum>,
    /// What was received of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received: Option<Sum>,
    /// What the server sent, if both send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_sent_bidir_reverse: Option<Sum>,
    /// What the client received of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_received_bidir_reverse: Option<Sum>,
    /// Each path, as this side saw it.
    pub paths: Vec<PathReport>,
    /// Each path, as the peer saw it.
    pub peer_paths: Vec<PathReport>,
    /// How long this side could not send, by cause.
    pub blocked: Blocked,
    /// How long the peer could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_blocked: Option<Blocked>,
    /// How much of a processor each side took, in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_utilization_percent: Option<CpuUtilization>,
    /// Messages that were none of this measurement.
    pub malformed_messages: u64,
    /// The rate against that of each path alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// What was required, and whether it was met.
    pub thresholds: Vec<Threshold>,
}

/// A flow in one direction.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BothSides {
    /// Which way it goes.
    pub direction: Way,
    /// As its sender saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<StreamReport>,
    /// As its receiver saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<StreamReport>,
}

/// Which way a flow goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Way {
    /// The client sends.
    ToServer,
    /// The server sends.
    ToClient,
}

/// The rate of all paths together against that of each alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Gain {
    /// Rate of all together by that of the best.
    pub ratio: f64,
    /// What was received over all paths.
    pub bits_per_second: f64,
    /// Each path alone.
    pub alone: Vec<Alone>,
}

/// A path that was measured alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Alone {
    /// Name of the path.
    pub path: String,
    /// Address of the client.
    pub local_host: IpAddr,
    /// Address of the server.
    pub remote_host: IpAddr,
    /// What was received; nothing if it did not work alone, or nothing of it counts.
    pub bits_per_second: Option<f64>,
}

impl Gain {
    /// All paths together against the best of those alone; `None` if none worked alone, or all together did not.
    pub fn of(together: &Document, alone: Vec<Alone>) -> Option<Self> {
        let bits_per_second = together.rate()?;
        let best = alone.iter().filter_map(|alone| alone.bits_per_second).fold(0.0, f64::max);
        (best > 0.0).then(|| Self { ratio: bits_per_second / best, bits_per_second, alone })
    }
}

impl Alone {
    /// A path, and the measurement over it alone.
    pub fn new(path: &PathStats, document: &Document) -> Self {
        Self {
            path: path_name(path),
            local_host: path.local,
            remote_host: path.remote,
            bits_per_second: document.rate(),
        }
    }
}

/// A requirement.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Threshold {
    /// `rate` in bit/s, `gain` as a ratio, `p99` in seconds.
    pub name: String,
    /// What was asked for.
    pub required: f64,
    /// What came out; nothing where it could not be told.
    pub measured: Option<f64>,
    /// Whether that is enough.
    pub met: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_path_alone_is_the_measure() {
        let alone = |rate| Alone {
            path: "path0".to_owned(),
            local_host: IpAddr::from([192, 0, 2, 1]),
            remote_host: IpAddr::from([192, 0, 2, 2]),
            bits_per_second: rate,
        };
        let mut document = start::document(&Labels::new());
        document.end.sum_received = Some(Sum { bits_per_second: 3e6, ..Sum::default() });
        let both = || vec![alone(Some(1e6)), alone(None), alone(Some(2e6))];
        assert_eq!(Gain::of(&document, both()), None, "it is not complete");
        document.complete = true;
        assert_eq!(Gain::of(&document, both()).map(|gain| gain.ratio), Some(1.5));
        assert_eq!(Gain::of(&document, vec![alone(None)]), None);
    }
}
