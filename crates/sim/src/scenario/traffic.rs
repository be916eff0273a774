//! What the hosts send each other.

use polypath_netsim::Direction;
use polypath_proto::config::PartialReliability;
use polypath_units::{ByteCount, Duration};
use polypath_workload::{Delivery, FlowSpec, Source};
use serde::{Deserialize, Serialize};

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum HostName {
    /// The first end of every path.
    A,
    /// The second.
    B,
}

impl HostName {
    /// Both.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// Position among the hosts.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The other one.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// The direction of what it sends.
    pub const fn way(self) -> Direction {
        match self {
            Self::A => Direction::Forward,
            Self::B => Direction::Backward,
        }
    }

    /// The name in files and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
        }
    }
}

/// Messages from one host to the other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name in results.
    pub name: String,
    /// The pair of hosts; the first one where it is missing.
    #[serde(default)]
    pub pair: Option<String>,
    /// The sending host.
    #[serde(default = "host_a")]
    pub from: HostName,
    /// When the first message is offered, if the association is established by then.
    #[serde(default)]
    pub start: Duration,
    /// When no more messages are offered; never where it is missing.
    #[serde(default)]
    pub stop: Option<Duration>,
    /// How much there is to send.
    pub source: Source,
    /// Length of a message; the last one of a file may be shorter.
    pub message_size: ByteCount,
    /// Whether messages of a stream wait for each other.
    #[serde(default)]
    pub delivery: Delivery,
    /// Streams that the messages go round.
    #[serde(default = "one_stream")]
    pub streams: u16,
    /// The first of them.
    #[serde(default)]
    pub first_stream: u16,
    /// How reliable the messages are; what `policies.partial_reliability` says where it is missing.
    #[serde(default)]
    pub reliability: Option<PartialReliability>,
    /// What the streams are to the sender's stream scheduler, from the first one on: priorities or weights. Those that
    /// are missing have the scheduler's default.
    #[serde(default)]
    pub stream_values: Vec<u16>,
}

fn host_a() -> HostName {
    HostName::A
}

fn one_stream() -> u16 {
    1
}

impl Flow {
    /// Streams with what they are to the stream scheduler.
    pub fn valued_streams(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        (self.first_stream..).zip(self.stream_values.iter().copied())
    }

    /// What it carries, without the streams.
    pub fn spec(&self) -> FlowSpec {
        FlowSpec {
            source: self.source,
            message_size: self.message_size,
            delivery: self.delivery,
            start: self.start,
            stop: self.stop,
        }
    }
}
