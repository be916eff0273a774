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
use crate::labels::Labels;
use crate::plan::Plan;
pub use crate::processor::{CpuUtilization, ProcessorShare};
use crate::{requirements, start};
pub use end::{Alone, BothSides, End, Gain, Threshold, Way};
pub(crate) use report::SideReport;
pub use report::{Blocked, Delay, Interval, PathReport, StreamReport, Sum};

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
