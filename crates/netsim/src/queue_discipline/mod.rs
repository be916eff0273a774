//! Queue disciplines.

mod codel;
mod drop_tail;
mod fq_codel;
mod managed;
mod red;

use polypath_units::{BitRate, ByteCount};

use crate::{Streams, Ticket};
pub use codel::CodelConfig;
use codel::CodelQueue;
pub use drop_tail::DropTail;
use fq_codel::FqCodel;
pub use fq_codel::FqCodelConfig;
pub(crate) use fq_codel::scramble;
use managed::Discipline;
pub(crate) use managed::{Admission, Managed};
pub use managed::{Class, QueueAct};
use red::Red;
pub use red::{AboveMax, RedConfig};

/// Choice of a queue discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum QueueConfig {
    /// First in, first out, with a limit; see [`DropTail`].
    DropTail(Limit),
    /// Random early detection; see [`RedConfig`].
    Red(RedConfig),
    /// Controlled delay; see [`CodelConfig`].
    Codel(CodelConfig),
    /// Fair queueing with controlled delay; see [`FqCodelConfig`].
    FqCodel(FqCodelConfig),
}

impl QueueConfig {
    /// What makes no sense in it: the key, below that of the discipline, and what is wrong there.
    pub fn problem(&self) -> Option<(&'static str, String)> {
        match self {
            Self::DropTail(_) => None,
            Self::Red(config) => config.problem(),
            Self::Codel(config) => config.problem(),
            Self::FqCodel(config) => config.problem(),
        }
    }
}

/// Limit of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case", expecting = "a limit, for example { packets = 100 }")
)]
pub enum Limit {
    /// Packets of any length.
    Packets(u64),
    /// Bytes of IP packets, with headers and without framing.
    Bytes(ByteCount),
}

impl Limit {
    /// Whether a packet of `bytes` fits beside what waits.
    #[inline]
    pub(crate) fn admits(self, level: QueueLevel, bytes: u32) -> bool {
        match self {
            Self::Packets(limit) => level.packets < limit,
            Self::Bytes(limit) => level.bytes + u64::from(bytes) <= limit.as_bytes(),
        }
    }

    /// The number alone.
    fn amount(self) -> u64 {
        match self {
            Self::Packets(packets) => packets,
            Self::Bytes(bytes) => bytes.as_bytes(),
        }
    }

    /// What is in a queue, counted as this limit counts.
    fn measure(self, level: QueueLevel) -> u64 {
        match self {
            Self::Packets(_) => level.packets,
            Self::Bytes(_) => level.bytes,
        }
    }
}

/// What a queue does with an ECN-capable packet that it would drop (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EcnMarking {
    /// It drops the packet.
    #[default]
    Off,
    /// It marks the packet with "congestion experienced" instead.
    On,
}

/// 100 packets, drop-tail.
impl Default for QueueConfig {
    fn default() -> Self {
        Self::DropTail(Limit::Packets(100))
    }
}

/// How much waits, without the packet being sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueLevel {
    /// Packets.
    pub packets: u64,
    /// Bytes of these IP packets, without framing.
    pub bytes: u64,
}

/// The queue of a channel. The plain one is at hand; the others are behind a box, so that it stays small.
#[derive(Debug)]
pub(crate) enum QueueDiscipline {
    DropTail(DropTail),
    Managed(Box<Managed>),
}

impl QueueDiscipline {
    /// The queue of the channel `name` with that rate.
    pub fn new(config: &QueueConfig, rate: BitRate, name: &str, streams: &Streams) -> Self {
        let discipline = match config {
            QueueConfig::DropTail(limit) => return Self::DropTail(DropTail::new(*limit)),
            QueueConfig::Red(red) => Discipline::Red(Red::new(red, rate, name, streams)),
            QueueConfig::Codel(codel) => Discipline::Codel(CodelQueue::new(codel)),
            QueueConfig::FqCodel(config) => {
                Discipline::FqCodel(FqCodel::new(config, name, streams))
            }
        };
        Self::Managed(Box::new(Managed::new(discipline)))
    }

    /// Whether to ask it for the packet that is sent next; if not, there is none, and asking would change nothing.
    #[inline]
    pub fn may_have_next(&self) -> bool {
        match self {
            Self::DropTail(queue) => !queue.is_empty(),
            Self::Managed(queue) => queue.may_have_next(),
        }
    }

    /// Takes any packet out, without regard to anything: the queue is to be emptied.
    pub fn remove(&mut self) -> Option<Ticket> {
        match self {
            Self::DropTail(queue) => queue.dequeue(),
            Self::Managed(queue) => queue.remove(),
        }
    }

    #[inline]
    pub fn level(&self) -> QueueLevel {
        match self {
            Self::DropTail(queue) => queue.level(),
            Self::Managed(queue) => queue.level(),
        }
    }
}
