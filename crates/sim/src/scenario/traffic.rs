//! Traffic between the hosts.

use polypath_netsim::Direction;
use polypath_proto::config::PartialReliability;
use polypath_units::{ByteCount, Duration, Fraction, Instant};
use polypath_workload::{
    DEFAULT_QUEUE, Delivery, Direction as Ways, Distribution, FlowSpec, NetPerfMeter, Source,
};
use serde::{Deserialize, Serialize};

use super::Scenario;
use super::hosts::FlowEnds;
use super::transport::{TcpSettings, Transport};

/// One of the two hosts of a pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HostName {
    /// The first end of each path.
    A,
    /// The second end.
    B,
}

impl HostName {
    /// Both hosts.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// Position in its pair.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The other host.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// The direction of the packets that it sends.
    pub const fn way(self) -> Direction {
        match self {
            Self::A => Direction::Forward,
            Self::B => Direction::Backward,
        }
    }
}

/// Messages from one host to the other.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name in results.
    pub name: String,
    /// The pair of hosts. Default: the first.
    #[serde(default)]
    pub pair: Option<String>,
    /// The sending host. Default: host a, or the first of two named hosts.
    #[serde(default)]
    pub from: Option<String>,
    /// The receiving host. Default: the other host, if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Transport protocol.
    #[serde(default)]
    pub transport: Transport,
    /// The path of a flow without association. Default: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Settings of a TCP connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSettings>,
    /// The hosts that these names stand for.
    #[serde(skip)]
    pub ends: FlowEnds,
    /// Start of the source. The first message is sent once the association is established.
    #[serde(default)]
    pub start: Duration,
    /// End of the source. Default: never.
    #[serde(default)]
    pub stop: Option<Duration>,
    /// The source of the messages.
    pub source: Source,
    /// Length of a message, for sources that do not define it; the last message of a file may be shorter.
    #[serde(default)]
    pub message_size: Option<Distribution<ByteCount>>,
    /// Maximum number of messages that wait for the transport; further ones are dropped. Only for sources with a clock.
    #[serde(default = "default_queue")]
    pub queue: u32,
    /// Order of delivery within a stream.
    #[serde(default)]
    pub delivery: Delivery,
    /// Number of streams; messages take them in turn.
    #[serde(default = "one_stream")]
    pub streams: u16,
    /// The first stream.
    #[serde(default)]
    pub first_stream: u16,
    /// Reliability of the messages. Default: `policies.partial_reliability`.
    #[serde(default)]
    pub reliability: Option<PartialReliability>,
    /// Priorities or weights for the sender's stream scheduler, from the first stream on. Further streams have the
    /// scheduler's default.
    #[serde(default)]
    pub stream_values: Vec<u16>,
    /// In a flow that another one causes, the index of that one.
    #[serde(skip)]
    pub brought_by: Option<usize>,
}

fn one_stream() -> u16 {
    1
}

fn default_queue() -> u32 {
    DEFAULT_QUEUE
}

impl Flow {
    /// A flow with all keys at their defaults.
    pub fn new(name: impl Into<String>, source: Source) -> Self {
        Self {
            name: name.into(),
            pair: None,
            from: None,
            to: None,
            transport: Transport::Sctp,
            path: None,
            tcp: None,
            ends: FlowEnds::default(),
            start: Duration::ZERO,
            stop: None,
            source,
            message_size: None,
            queue: DEFAULT_QUEUE,
            delivery: Delivery::Ordered,
            streams: 1,
            first_stream: 0,
            reliability: None,
            stream_values: Vec::new(),
            brought_by: None,
        }
    }

    /// Whether a host of a pair sends it over the association.
    pub fn is_from(&self, pair: usize, host: HostName) -> bool {
        self.transport == Transport::Sctp && (self.ends.pair, self.ends.from) == (pair, host)
    }

    /// Streams with their values for the stream scheduler.
    pub fn valued_streams(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        (self.first_stream..).zip(self.stream_values.iter().copied())
    }

    /// Its messages, without streams, over an association that is initiated at `connect`.
    pub fn spec(&self, connect: Duration) -> FlowSpec {
        let (start, stop) = match &self.source {
            Source::Netperfmeter(of) => (connect + of.start, Some(connect + of.stop)),
            _ => (self.start, self.stop),
        };
        FlowSpec {
            source: self.source.clone(),
            message_size: self.message_size.clone(),
            delivery: self.delivery,
            start,
            stop,
            queue: self.queue,
        }
    }

    /// Lengths of its messages.
    pub fn sizes(&self) -> Distribution<ByteCount> {
        let of_meter = |of: &NetPerfMeter| match of.frame_size.largest() {
            Some(largest) if largest <= of.max_message_size => of.frame_size.clone(),
            _ => of.max_message_size.into(),
        };
        match (&self.message_size, &self.source) {
            (Some(sizes), _) => sizes.clone(),
            (None, Source::Responses(of)) => of.size.clone(),
            (None, Source::CrossTraffic(of)) => of.packet_size.clone(),
            (None, Source::Netperfmeter(of)) => of_meter(of),
            (None, Source::Trace(of)) => {
                let rows = of.content.iter().flat_map(|content| content.rows());
                ByteCount::from_bytes(rows.map(|row| row.bytes.into()).max().unwrap_or(0)).into()
            }
            (None, _) => ByteCount::ZERO.into(),
        }
    }

    /// Whether the source has messages that may be abandoned.
    pub fn has_unreliable_messages(&self) -> bool {
        matches!(&self.source, Source::Netperfmeter(of) if of.unreliable != Fraction::ZERO)
    }

    /// The interval in which its deliveries count.
    pub fn measured(&self, scenario: &Scenario) -> (Instant, Instant) {
        let run = &scenario.run;
        let mut from = run.measure_from;
        let mut until = run.measure_until.unwrap_or(run.duration);
        if let Source::Netperfmeter(of) = &self.source {
            let connect = scenario.association.connect;
            from = from.max(connect + of.reset);
            until = until.min(connect + of.stop);
        }
        (Instant::ZERO + from, Instant::ZERO + until)
    }

    /// The flow that it causes in the other direction, if any. `index` is its own index in the scenario.
    pub(super) fn reverse(&self, index: usize) -> Option<Self> {
        let (word, source, message_size) = match &self.source {
            Source::RequestResponse(of) => ("response", Source::Responses(of.responses()), None),
            Source::Netperfmeter(of) if of.direction == Ways::BothWays => {
                let of = NetPerfMeter { direction: Ways::OneWay, ..of.clone() };
                ("back", Source::Netperfmeter(of), self.message_size.clone())
            }
            _ => return None,
        };
        Some(Self {
            name: format!("{} {word}", self.name),
            from: self.to.clone().or_else(|| {
                let name = if self.ends.from == HostName::A { "b" } else { "a" };
                Some(name.to_owned())
            }),
            to: self.to.as_ref().and(self.from.clone()),
            ends: FlowEnds {
                hosts: [self.ends.hosts[1], self.ends.hosts[0]],
                pair: self.ends.pair,
                from: self.ends.from.peer(),
            },
            source,
            message_size,
            stop: None,
            stream_values: Vec::new(),
            brought_by: Some(index),
            ..self.clone()
        })
    }
}
