//! The kinds of chunks in a packet.

use core::fmt;

use polypath_wire::chunk_type;

/// Known types of chunks, in the order of their numbers, with their names.
const KINDS: [(u8, &str); 26] = [
    (chunk_type::DATA, "DATA"),
    (chunk_type::INIT, "INIT"),
    (chunk_type::INIT_ACK, "INIT-ACK"),
    (chunk_type::SACK, "SACK"),
    (chunk_type::HEARTBEAT, "HEARTBEAT"),
    (chunk_type::HEARTBEAT_ACK, "HEARTBEAT-ACK"),
    (chunk_type::ABORT, "ABORT"),
    (chunk_type::SHUTDOWN, "SHUTDOWN"),
    (chunk_type::SHUTDOWN_ACK, "SHUTDOWN-ACK"),
    (chunk_type::ERROR, "ERROR"),
    (chunk_type::COOKIE_ECHO, "COOKIE-ECHO"),
    (chunk_type::COOKIE_ACK, "COOKIE-ACK"),
    (chunk_type::ECNE, "ECNE"),
    (chunk_type::CWR, "CWR"),
    (chunk_type::SHUTDOWN_COMPLETE, "SHUTDOWN-COMPLETE"),
    (chunk_type::AUTH, "AUTH"),
    (chunk_type::NR_SACK, "NR-SACK"),
    (chunk_type::I_DATA, "I-DATA"),
    (chunk_type::ASCONF_ACK, "ASCONF-ACK"),
    (chunk_type::PACKET_DROP, "PKTDROP"),
    (chunk_type::RE_CONFIG, "RE-CONFIG"),
    (chunk_type::PAD, "PAD"),
    (chunk_type::FORWARD_TSN, "FORWARD-TSN"),
    (chunk_type::ASCONF, "ASCONF"),
    (chunk_type::I_FORWARD_TSN, "I-FORWARD-TSN"),
    // Stands for every other type.
    (u8::MAX, "UNKNOWN"),
];

/// A set of kinds of chunks: those in a packet. Types that are not known here are one kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ChunkKinds(u32);

impl ChunkKinds {
    /// No kind.
    pub const EMPTY: Self = Self(0);

    /// Adds the kind of a chunk type.
    pub fn insert(&mut self, chunk_type: u8) {
        self.0 |= bit(chunk_type);
    }

    /// Whether the kind of a chunk type is in the set.
    pub fn contains(self, chunk_type: u8) -> bool {
        self.0 & bit(chunk_type) != 0
    }

    /// Names of the kinds as in the RFCs, with hyphens (`DATA`, `HEARTBEAT-ACK`), in the order of their types.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let kinds = KINDS.iter().enumerate();
        kinds.filter(move |(place, _)| self.0 & 1 << place != 0).map(|(_, (_, name))| *name)
    }
}

/// The kinds of these chunk types.
impl FromIterator<u8> for ChunkKinds {
    fn from_iter<I: IntoIterator<Item = u8>>(chunk_types: I) -> Self {
        let mut kinds = Self::EMPTY;
        chunk_types.into_iter().for_each(|chunk_type| kinds.insert(chunk_type));
        kinds
    }
}

/// The names, with spaces between them.
impl fmt::Display for ChunkKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, name) in self.names().enumerate() {
            let space = if count == 0 { "" } else { " " };
            write!(f, "{space}{name}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ChunkKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{self}]")
    }
}

fn bit(chunk_type: u8) -> u32 {
    let known = KINDS.iter().position(|(known, _)| *known == chunk_type);
    1 << known.unwrap_or(KINDS.len() - 1)
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    #[test]
    fn every_type_has_its_place() {
        let types = KINDS.map(|(number, _)| number);
        assert!(types.is_sorted_by(|a, b| a < b), "no type twice");
        for (number, name) in KINDS {
            let kinds = ChunkKinds::from_iter([number]);
            assert_eq!(kinds.names().collect::<Vec<_>>(), [name]);
            assert!(kinds.contains(number));
            let others = types.into_iter().filter(|other| *other != number);
            assert_eq!(others.filter(|other| kinds.contains(*other)).count(), 0, "{name}");
        }
    }

    #[test]
    fn names_come_in_the_order_of_the_types() {
        let kinds = ChunkKinds::from_iter([chunk_type::FORWARD_TSN, 99, 0, 3, 0, 98]);
        assert_eq!(kinds.to_string(), "DATA SACK FORWARD-TSN UNKNOWN");
        assert_eq!(ChunkKinds::EMPTY.to_string(), "");
    }
}
