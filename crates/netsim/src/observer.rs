//! Watching what happens on links.

use polypath_units::Instant;

use crate::{ChannelId, DropCause, QueueLevel};

/// Something that happened on a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkEvent {
    /// Where.
    pub channel: ChannelId,
    /// What.
    pub kind: LinkEventKind,
    /// The queue right after it.
    pub queue: QueueLevel,
}

/// What happened on a channel; lengths are those of the IP packet in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkEventKind {
    /// A packet was accepted for sending; it waits or is being sent.
    Accepted {
        /// Its length.
        bytes: u32,
    },
    /// A packet arrived at the other end.
    Delivered {
        /// Its length.
        bytes: u32,
    },
    /// A packet was dropped.
    Dropped {
        /// Its length.
        bytes: u32,
        /// Why.
        cause: DropCause,
    },
    /// An outage began.
    WentDown,
    /// An outage ended.
    CameUp,
    /// Rate, delay or loss changed.
    Changed,
}

/// Gets to see every link event at the moment it happens.
///
/// The observer is a type parameter of the world: with [`NoObserver`] nothing of it is left in the program.
pub trait LinkObserver {
    /// Called in the order of events.
    fn on_link_event(&mut self, now: Instant, event: &LinkEvent);
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl LinkObserver for NoObserver {
    #[inline]
    fn on_link_event(&mut self, _now: Instant, _event: &LinkEvent) {}
}
