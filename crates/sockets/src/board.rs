//! What the service posts of each socket, in memory that programs read: whatever they know of a socket is so true at any time, in every process
//! that has it, and costs them no question.

/// Bytes of a slot.
pub const SLOT_BYTES: usize = 8;

/// Slots of a board. The first is nobody's; its number stands for none.
pub const SLOTS: usize = 1 << 20;

/// Bytes of a board. Only those that were written take memory.
pub const BOARD_BYTES: usize = SLOTS * SLOT_BYTES;

/// Where the flags are in a slot.
pub const FLAGS_OFFSET: usize = 0;

/// Where the [ancillary data](crate::frame::wanted) that the program wants is in a slot.
pub const WANTED_OFFSET: usize = 1;

/// Where the number of ended associations is in a slot.
pub const ENDED_OFFSET: usize = 4;

/// Flags of a slot.
pub mod posted {
    /// Peers can begin associations.
    pub const LISTENS: u8 = 1;
    /// Something may come: the socket has an association, begins one, or peers of a one-to-many socket can.
    pub const EXPECTS: u8 = 2;
    /// A one-to-one socket takes no more messages: its association ends, or has ended.
    pub const REFUSES: u8 = 4;
    /// A one-to-one socket has an association, or had one.
    pub const CONNECTED: u8 = 8;
}

/// Where a socket is posted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// Number of the board, which each service draws.
    pub board: u64,
    /// The slot; 0 for none.
    pub slot: u32,
}

/// What is posted of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Posted {
    /// See [`posted`].
    pub flags: u8,
    /// [Ancillary data](crate::frame::wanted) that the program wants now, and whether messages must fit into a packet.
    pub wanted: u8,
    /// How many associations the socket has lost so far, whatever the reason. What was known of its associations before a change of this number
    /// may be wrong.
    pub ended: u32,
}

impl Posted {
    /// As it is in the slot.
    pub fn encoded(self) -> [u8; SLOT_BYTES] {
        let mut slot = [0; SLOT_BYTES];
        slot[FLAGS_OFFSET] = self.flags;
        slot[WANTED_OFFSET] = self.wanted;
        slot[ENDED_OFFSET..].copy_from_slice(&self.ended.to_ne_bytes());
        slot
    }
}
