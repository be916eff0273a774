//! Results as JSON: the keys of iperf3, and those of paths beside them.
//!
//! Rates are in bit/s, `rtt` and other times whose name says nothing in microseconds as in iperf3, all else in the unit
//! that its name ends with.

use std::net::IpAddr;

use serde::Serialize;

mod end;
mod report;

use crate::calendar;
pub use crate::clock::{ClockRelation, ClockSource};
pub use crate::processor::{CpuUtilization, ProcessorShare};
pub use end::{Alone, BothSides, End, FlowDirection, Gain, Threshold};
pub use report::{Blocked, Delay, Interval, PathReport, StreamReport, Sum};
pub(crate) use report::{SideReport, per_second};

/// Name and version of the form.
pub const SCHEMA: &str = "polypath/meter-1";

/// A measurement, as `polypath meter client --json` prints it.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "Measurement of polypath meter"))]
#[non_exhaustive]
pub struct Document {
    /// Name and version of this form.
    pub schema: &'static str,
    /// Whether the measurement was completed.
    pub complete: bool,
    /// Title that the user gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Any text of the user ([`Labels::extra_data`](crate::Labels::extra_data)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_data: Option<String>,
    /// What was known before the measurement.
    pub start: Start,
    /// Reports of the intervals, in their order.
    pub intervals: Vec<Interval>,
    /// The results.
    pub end: End,
    /// What the server showed to its user, if [that was requested](crate::Plan::server_output).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    /// Why the measurement was not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Document {
    /// The [rate of what was received](End::received_rate), in bit/s; `None` if the measurement was not completed.
    pub fn rate(&self) -> Option<f64> {
        self.complete.then(|| self.end.received_rate()).flatten()
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
    /// Why the measurement was not completed.
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
    /// Title that the user gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Any text of the user ([`Labels::extra_data`](crate::Labels::extra_data)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_data: Option<String>,
    /// What was known before the measurement.
    #[serde(flatten)]
    pub start: Start,
}

/// The results as a line of `--json-stream`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StreamEnd {
    /// Whether the measurement was completed.
    pub complete: bool,
    /// What the server showed to its user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    /// The results.
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
    /// Name and version of the program.
    pub version: String,
    /// Operating system, architecture and name of this host.
    pub system_info: String,
    /// Time of day at which it began.
    pub timestamp: Timestamp,
    /// The server as the user named it; none at a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connecting_to: Option<ConnectingTo>,
    /// Random identifier of the measurement: 16 hexadecimal digits.
    pub cookie: String,
    /// What is measured.
    pub test_start: TestStart,
    /// How the clocks of both ends relate: one-way delays are no more accurate than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockRelation>,
}

/// A path of the association at the beginning.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Connected {
    /// Number of the path.
    pub socket: u32,
    /// Name of the path, as in `path0`.
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

/// A time of day in UTC.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Timestamp {
    /// In the form of iperf3, as in `Sat, 21 Nov 2026 22:58:00 GMT`.
    pub time: String,
    /// Seconds since 1970-01-01.
    pub timesecs: u64,
}

impl Timestamp {
    /// The present time by the system's clock.
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

/// The server as the user named it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConnectingTo {
    /// As it was written.
    pub host: String,
    /// SCTP port.
    pub port: u16,
    /// UDP port; none if SCTP travels over IP itself.
    pub encapsulation_port: Option<u16>,
}

/// What is measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestStart {
    /// Always `SCTP`.
    pub protocol: String,
    /// Number of flows, each of which has a stream.
    pub num_streams: u32,
    /// Length of the longest message in bytes.
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
    /// Planned mean rate of all flows in bit/s; zero if they send as much as the association carries.
    pub target_bitrate: u64,
    /// Seconds between reports; zero if there are none before the end.
    pub interval: f64,
    /// Seed of the random numbers of all flows.
    pub seed: u64,
    /// Preset of the policies that this side began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Descriptions of the flows, by stream; empty if a flow has none.
    pub flows: Vec<String>,
}
