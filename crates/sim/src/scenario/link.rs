//! A link of a scenario.

use polypath_netsim::impair::{
    BitErrorConfig, Damaged, GilbertElliottConfig, JitterConfig, PacketNumbers, ReorderingConfig,
    Within,
};
use polypath_netsim::queue_discipline::{CodelConfig, FqCodelConfig, Limit, RedConfig};
use polypath_netsim::{ChannelConfig, Direction, QueueConfig};
use polypath_units::{BitRate, ByteCount, Duration, Fraction};
use serde::{Deserialize, Serialize};

use super::TraceFile;

/// The links between the hosts and the routers, equal at both ends and in both directions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    deny_unknown_fields,
    expecting = "a table, for example { rate = \"1 Gbit/s\", delay = \"1 ms\" }"
)]
pub struct Access {
    /// Rate in each direction.
    pub rate: BitRate,
    /// Propagation delay, one way.
    #[serde(default)]
    pub delay: Duration,
    /// Bytes that the link layer adds to each packet.
    #[serde(default)]
    pub framing: ByteCount,
    /// Queue of the transmitter. Default: drop-tail with 10,000 packets.
    #[serde(default = "ample_queue")]
    pub queue: Queue,
}

pub(super) fn ample_queue() -> Queue {
    Queue::DropTail(QueueLimit::Packets(10_000))
}

/// Defines a structure with the keys of a link after its own. They hold for both directions unless `forward` or
/// `backward` overrides them.
macro_rules! link_keys {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident { $($keys:tt)* }) => {
        $(#[$attribute])*
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        $visibility struct $name {
            $($keys)*
            /// Rate in each direction.
            pub rate: BitRate,
            /// Propagation delay, one way.
            pub delay: Duration,
            /// Bytes that the link layer adds to each packet.
            #[serde(default)]
            pub framing: ByteCount,
            /// Largest packet that passes, including the IP header; larger ones are dropped silently. Default:
            /// unlimited.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub mtu: Option<ByteCount>,
            /// Queue of the transmitter. Default: drop-tail with 100 packets.
            #[serde(default)]
            pub queue: Queue,
            /// Random packet loss, independent for each packet.
            #[serde(default)]
            pub loss: Loss,
            /// Burst losses.
            #[serde(default)]
            pub gilbert_elliott: Option<GilbertElliottConfig>,
            /// Bit errors.
            #[serde(default)]
            pub bit_errors: Option<BitErrorConfig>,
            /// Extra delay that varies from packet to packet.
            #[serde(default)]
            pub jitter: Option<JitterConfig>,
            /// Packets that are delayed and thus arrive out of order.
            #[serde(default)]
            pub reordering: Option<ReorderingConfig>,
            /// Probability with which a packet is duplicated.
            #[serde(default)]
            pub duplication: Fraction,
            /// A file with the capacity of the link over time.
            #[serde(default)]
            pub rate_trace: Option<TraceFile>,
            /// Values that differ from host a to host b.
            #[serde(default)]
            pub forward: LinkDirection,
            /// Values that differ from host b to host a.
            #[serde(default)]
            pub backward: LinkDirection,
        }
    };
}
pub(super) use link_keys;

link_keys! {
    /// A link.
    pub struct Link {}
}

/// Values that differ in one direction of a link.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, expecting = "a table, for example { rate = \"5 Mbit/s\" }")]
pub struct LinkDirection {
    /// Rate.
    pub rate: Option<BitRate>,
    /// Propagation delay.
    pub delay: Option<Duration>,
    /// Largest packet that passes, including the IP header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<ByteCount>,
    /// Queue of the transmitter.
    pub queue: Option<Queue>,
    /// Probability of random loss.
    pub loss: Option<Fraction>,
    /// Packets that are lost, by number: packets count from 1 in the order in which they arrive at the far end, or
    /// would without the loss.
    #[serde(skip_serializing_if = "PacketNumbers::is_empty")]
    pub lost_packets: PacketNumbers,
    /// Burst losses.
    pub gilbert_elliott: Option<GilbertElliottConfig>,
    /// Bit errors.
    pub bit_errors: Option<BitErrorConfig>,
    /// Jitter.
    pub jitter: Option<JitterConfig>,
    /// Packets that are delayed and thus arrive out of order.
    pub reordering: Option<ReorderingConfig>,
    /// Probability with which a packet is duplicated.
    pub duplication: Option<Fraction>,
    /// A file with the capacity over time.
    pub rate_trace: Option<TraceFile>,
}

/// Probability of random loss, the same for every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields, expecting = "a table, for example { forward = \"1 %\" }")]
pub struct Loss {
    /// From host a to host b.
    pub forward: Fraction,
    /// From host b to host a.
    pub backward: Fraction,
}

/// The queue of a transmitter.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    rename_all = "kebab-case",
    expecting = "a queue, for example { drop-tail = { packets = 100 } }"
)]
pub enum Queue {
    /// First in, first out, with a limit.
    DropTail(QueueLimit),
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay.
    Codel(CodelConfig),
    /// Fair queueing with controlled delay.
    FqCodel(FqCodelConfig),
}

/// Limit of a queue. The packet being transmitted does not count.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", expecting = "a limit, for example { packets = 100 }")]
pub enum QueueLimit {
    /// Packets of any length.
    Packets(u64),
    /// Bytes of IP packets.
    Bytes(ByteCount),
    /// Multiple of the bandwidth-delay product of the path at the start: rate of the direction times round-trip
    /// propagation delay.
    Bdp(f64),
    /// Multiple of the bandwidth-delay product of the link at the start: rate of the direction times one-way
    /// propagation delay.
    LinkBdp(f64),
}

impl Default for Queue {
    fn default() -> Self {
        Self::DropTail(QueueLimit::Packets(100))
    }
}

impl Queue {
    /// The queue of a transmitter with this rate and propagation delay, on a path with this round-trip propagation delay.
    pub fn resolve(self, rate: BitRate, delay: Duration, round_trip: Duration) -> QueueConfig {
        let limit = match self {
            Self::DropTail(limit) => limit,
            Self::Red(config) => return QueueConfig::Red(config),
            Self::Codel(config) => return QueueConfig::Codel(config),
            Self::FqCodel(config) => return QueueConfig::FqCodel(config),
        };
        QueueConfig::DropTail(match limit {
            QueueLimit::Packets(packets) => Limit::Packets(packets),
            QueueLimit::Bytes(bytes) => Limit::Bytes(bytes),
            QueueLimit::Bdp(times) => product(times, rate, round_trip),
            QueueLimit::LinkBdp(times) => product(times, rate, delay),
        })
    }
}

/// A multiple of what a rate carries in a time.
fn product(times: f64, rate: BitRate, time: Duration) -> Limit {
    let bits = rate.as_bits_per_second() as f64 * time.as_secs_f64();
    Limit::Bytes(ByteCount::from_bytes((times * bits / 8.0) as u64))
}

impl Link {
    /// One direction of it, on a path with this round-trip propagation delay.
    pub fn channel(&self, direction: Direction, round_trip: Duration) -> ChannelConfig {
        let (own, loss) = match direction {
            Direction::Forward => (&self.forward, self.loss.forward),
            Direction::Backward => (&self.backward, self.loss.backward),
        };
        let (rate, delay) = (own.rate.unwrap_or(self.rate), own.delay.unwrap_or(self.delay));
        ChannelConfig {
            framing: self.framing,
            mtu: own.mtu.or(self.mtu),
            queue: own.queue.unwrap_or(self.queue).resolve(rate, delay, round_trip),
            uniform_loss: own.loss.unwrap_or(loss),
            lost_packets: own.lost_packets.clone(),
            gilbert_elliott: own.gilbert_elliott.or(self.gilbert_elliott),
            bit_errors: own.bit_errors.or(self.bit_errors),
            jitter: own.jitter.or(self.jitter),
            reordering: own.reordering.or(self.reordering),
            duplication: own.duplication.unwrap_or(self.duplication),
            rate_trace: self.trace(direction).and_then(TraceFile::content),
            ..ChannelConfig::new(rate, delay)
        }
    }

    /// The trace of one direction.
    fn trace(&self, direction: Direction) -> Option<&TraceFile> {
        let own = match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        };
        own.rate_trace.as_ref().or(self.rate_trace.as_ref())
    }

    /// All its traces.
    pub(super) fn traces(&self) -> impl Iterator<Item = &TraceFile> {
        [&self.rate_trace, &self.forward.rate_trace, &self.backward.rate_trace]
            .into_iter()
            .flatten()
    }

    pub(super) fn traces_mut(&mut self) -> impl Iterator<Item = &mut TraceFile> {
        let Self { rate_trace, forward, backward, .. } = self;
        [rate_trace, &mut forward.rate_trace, &mut backward.rate_trace].into_iter().flatten()
    }

    /// Round-trip propagation delay.
    pub fn round_trip(&self) -> Duration {
        self.forward.delay.unwrap_or(self.delay) + self.backward.delay.unwrap_or(self.delay)
    }

    /// Whether packets can be damaged in ways that only encoded packets show.
    pub fn needs_bytes(&self) -> bool {
        let all = [self.bit_errors, self.forward.bit_errors, self.backward.bit_errors];
        all.into_iter()
            .flatten()
            .any(|errors| errors.damaged == Damaged::Delivered && errors.within == Within::Anywhere)
    }
}

impl Access {
    /// Either direction of it, on a path with this round-trip propagation delay.
    pub fn channel(&self, round_trip: Duration) -> ChannelConfig {
        ChannelConfig {
            framing: self.framing,
            queue: self.queue.resolve(self.rate, self.delay, round_trip),
            ..ChannelConfig::new(self.rate, self.delay)
        }
    }
}
