//! Names of the parts of a network, as small numbers.

/// A node; numbers count from 0 in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub(crate) u32);

/// An interface of a node; numbers count from 0 per node in the order in which its links were made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IfaceId(pub(crate) u32);

/// A full-duplex link; numbers count from 0 in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub(crate) u32);

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChannelId(pub(crate) u32);

/// Which way along a link: from the end that was named first when it was made, or towards it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Backward,
}

/// The network that a link belongs to; packets for an address of one network use only its links and those of
/// [`NetworkId::ANY`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct NetworkId(pub u32);

impl NodeId {
    /// The number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl IfaceId {
    /// The number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// The number.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// One of the two directions.
    pub const fn channel(self, direction: Direction) -> ChannelId {
        ChannelId(self.0 * 2 + direction as u32)
    }
}

impl ChannelId {
    /// The link that this is a direction of.
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// Which direction.
    pub const fn direction(self) -> Direction {
        if self.0.is_multiple_of(2) { Direction::Forward } else { Direction::Backward }
    }

    /// The other direction of the same link.
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl NetworkId {
    /// The default: belongs to all networks.
    pub const ANY: Self = Self(0);

    /// Whether packets of `packet`'s network may use what belongs to `self`.
    pub(crate) fn carries(self, packet: Self) -> bool {
        self == Self::ANY || packet == Self::ANY || self == packet
    }
}
