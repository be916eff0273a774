//! What waits, in which order, and what is dropped when too much does.

mod drop_tail;

use polypath_units::ByteCount;

use crate::{DropCause, Ticket};
pub use drop_tail::DropTail;

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
}

/// How much may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Limit {
    /// That many packets of any length.
    Packets(u64),
    /// That many bytes of IP packets, headers included, framing not.
    Bytes(ByteCount),
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

/// The queue of a channel.
#[derive(Debug)]
pub(crate) enum QueueDiscipline {
    DropTail(DropTail),
}

impl QueueDiscipline {
    pub fn new(config: &QueueConfig) -> Self {
        match config {
            QueueConfig::DropTail(limit) => Self::DropTail(DropTail::new(*limit)),
        }
    }

    #[inline]
    pub fn enqueue(&mut self, ticket: Ticket) -> Result<(), DropCause> {
        match self {
            Self::DropTail(queue) => queue.enqueue(ticket),
        }
    }

    #[inline]
    pub fn dequeue(&mut self) -> Option<Ticket> {
        match self {
            Self::DropTail(queue) => queue.dequeue(),
        }
    }

    #[inline]
    pub fn level(&self) -> QueueLevel {
        match self {
            Self::DropTail(queue) => queue.level(),
        }
    }
}
