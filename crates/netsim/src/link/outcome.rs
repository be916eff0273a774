//! What a channel answers and gives back.

use polypath_units::Instant;

use crate::event::Key;
use crate::impair::Damage;
use crate::{DropCause, Ticket};

/// Answer of a channel to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The channel will send it.
    Accepted,
    /// The same, to be marked with "congestion experienced" by whoever owns the packets.
    Marked,
    /// It is gone.
    Dropped(DropCause),
}

/// A packet at the far end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The packet.
    pub ticket: Ticket,
    /// The cause, if it was lost on the medium instead of arriving.
    pub lost: Option<DropCause>,
    /// A bit error that it suffered.
    pub damage: Option<Damage>,
    /// Whether it arrives twice: whoever owns the packets makes a copy and hands it to
    /// [`repeat`](crate::Channel::repeat).
    pub duplicated: bool,
}

/// A packet whose transmission has started.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub ticket: Ticket,
    pub arrives: Instant,
}

impl InFlight {
    #[inline]
    pub fn key(&self) -> Key {
        Key { time: self.arrives, order: self.ticket.order }
    }
}
