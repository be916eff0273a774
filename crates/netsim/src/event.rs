//! What the world tells its driver.

use std::net::IpAddr;

use polypath_units::Instant;

use crate::{IfaceId, NodeId};

/// Something that a driver has to act upon.
#[derive(Debug)]
pub enum Event<F> {
    /// A packet reached the host that it is addressed to.
    Arrival(Arrival<F>),
    /// The time that a node asked to be woken at has come.
    Timer {
        /// The node.
        node: NodeId,
    },
}

/// A packet at its destination.
#[derive(Debug)]
pub struct Arrival<F> {
    /// The host.
    pub node: NodeId,
    /// The interface that it came in by.
    pub iface: IfaceId,
    /// Source address.
    pub from: IpAddr,
    /// Destination address, one of the host's.
    pub to: IpAddr,
    /// When the sender sent it.
    pub sent: Instant,
    /// The payload.
    pub frame: F,
}

/// Place of an event in the total order: time, then turns of links, then the order in which events were caused.
///
/// No two events share a key, so an event that was replaced by another is recognised by its key (it is the generation
/// number of what it stands for) and ignored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub time: Instant,
    pub order: u64,
}

/// What an event is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Target {
    /// The next packet leaves this channel.
    Channel(u32),
    /// This node wants to be woken.
    Timer(u32),
    /// An outage of this channel begins or ends.
    Outage(u32),
    /// Parameters of this channel change.
    Step(u32),
}
