//! What the hosts send each other.

use polypath_netsim::Direction;
use polypath_proto::config::PartialReliability;
use polypath_units::{ByteCount, Duration};
use polypath_workload::{Delivery, FlowSpec, Source};
use serde::{Deserialize, Serialize};

use super::hosts::FlowEnds;

/// One of the two hosts of a pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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
    /// The sending host. Where it is missing that is host a, or the first of two hosts with names of their own.
    #[serde(default)]
    pub from: Option<String>,
    /// The receiving host. It may be missing where there is only one other than the sending host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// What these names mean.
    #[serde(skip)]
    pub ends: FlowEnds,
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

fn one_stream() -> u16 {
    1
}

impl Flow {
    /// Whether a host of a pair sends it.
    pub fn is_from(&self, pair: usize, host: HostName) -> bool {
        (self.ends.pair, self.ends.from) == (pair, host)
    }

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
