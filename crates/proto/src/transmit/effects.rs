//! What the transmitter wants done elsewhere. The association applies it, in this order.

use alloc::vec::Vec;

use crate::{Event, PathId};

/// One wish.
#[derive(Debug)]
pub(crate) enum Effect {
    /// The peer answered, whichever path that took: its errors are counted anew (RFC 9260 section 8.1).
    PeerAnswered,
    /// A chunk that took no other path was acknowledged on this one.
    Delivered(PathId, Delivered),
    /// The peer answered a probe of its closed window that went over this path.
    WindowProbeAnswered(PathId),
    /// All that was outstanding on the path has moved away, so that no timer would ever find out that it is dead: a
    /// heartbeat has to.
    Emptied(PathId),
    /// The user is to know.
    Event(Event),
}

/// What an acknowledged chunk proves of its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Delivered {
    /// It was sent once: this very transmission arrived.
    Once,
    /// One of its transmissions arrived, and it is unknown which (`natarajan` section II-C).
    Sometime,
}

/// What calls of the transmitter want done.
pub(crate) type Effects = Vec<Effect>;
