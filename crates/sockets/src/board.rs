//! What the service posts of each socket, in memory that programs read: whatever they know of a socket is so true at any time, in every process
//! that has it, and costs them no question.

/// Bytes of a slot: two words.
pub const SLOT_BYTES: usize = 16;

/// Slots of a board. The first is that of the board itself, with its number instead of a socket's; as a place, its number stands for none.
pub const SLOTS: usize = 1 << 20;

/// Bytes of a board. Only those that were written take memory.
pub const BOARD_BYTES: usize = SLOTS * SLOT_BYTES;

/// Where the word with the facts is in a slot.
pub const FACTS_OFFSET: usize = 0;

/// Where the word is that seals the facts.
pub const SEAL_OFFSET: usize = 8;

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
    /// As it is in the slot of this socket.
    pub fn encoded(self, socket: u64) -> [u8; SLOT_BYTES] {
        let mut slot = [0; SLOT_BYTES];
        let facts = self.facts();
        slot[FACTS_OFFSET..SEAL_OFFSET].copy_from_slice(&facts.to_ne_bytes());
        slot[SEAL_OFFSET..].copy_from_slice(&seal(facts, socket).to_ne_bytes());
        slot
    }

    /// What the words of a slot say of this socket; `None` if the slot is another socket's, or is being written.
    pub fn decode((facts, sealed): (u64, u64), socket: u64) -> Option<Self> {
        let [flags, wanted, _, _, ended @ ..] = facts.to_le_bytes();
        let posted = Self { flags, wanted, ended: u32::from_le_bytes(ended) };
        (seal(facts, socket) == sealed).then_some(posted)
    }

    fn facts(self) -> u64 {
        u64::from(self.flags) | u64::from(self.wanted) << 8 | u64::from(self.ended) << 32
    }
}

/// What confirms that these are the facts of this socket. Readers do not wait for the writer, and the system copies bytes in any order: a mixture of old and
/// new bytes has another seal.
fn seal(facts: u64, socket: u64) -> u64 {
    mixed(facts ^ mixed(socket))
}

/// Each bit of the result depends on all bits of the word, and no two words have the same result.
fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(slot: [u8; SLOT_BYTES]) -> (u64, u64) {
        let word = |at: usize| u64::from_ne_bytes(slot[at..at + 8].try_into().unwrap());
        (word(FACTS_OFFSET), word(SEAL_OFFSET))
    }

    #[test]
    fn a_slot_tells_of_its_own_socket_only() {
        let posted = Posted { flags: 3, wanted: 5, ended: 0x0102_0304 };
        let slot = words(posted.encoded(77));
        assert_eq!(Posted::decode(slot, 77), Some(posted));
        for other in [0, 76, 77 << 32, u64::MAX] {
            assert_eq!(Posted::decode(slot, other), None);
        }
        assert_eq!(Posted::decode((0, 0), 77), None, "nothing was written there");
    }

    #[test]
    fn a_mixture_of_old_and_new_bytes_tells_nothing() {
        let [old, new] = [0x00FF, 0x0100].map(|ended| Posted { flags: 1, wanted: 0, ended });
        let (from, to) = (old.encoded(77), new.encoded(77));
        for mask in 0..1_u32 << SLOT_BYTES {
            let mut mixture = from;
            for (place, byte) in to.iter().enumerate().filter(|(place, _)| mask >> place & 1 == 1) {
                mixture[place] = *byte;
            }
            let known = [from, to].contains(&mixture);
            assert_eq!(Posted::decode(words(mixture), 77).is_some(), known, "{mask:x}");
        }
    }
}
