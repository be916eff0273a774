//! CRC32c of SCTP packets (RFC 9260 section 6.8 and appendix A; RFC 9653 for a checksum of zero).

use crc_fast::{CrcAlgorithm, Digest};

use crate::codes::chunk_type;

/// Length of the common header in bytes (RFC 9260 section 3.1).
pub const COMMON_HEADER_LEN: usize = 12;

/// Where the checksum stands in the common header.
const FIELD: core::ops::Range<usize> = 8..12;

/// Packets up to this length, as those without data are, are copied: that costs less than a checksum in two parts.
const SHORT: usize = 256;

/// What an encoder puts into the checksum field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Checksum {
    /// The CRC32c.
    #[default]
    Crc32c,
    /// Zero, for a peer that accepts it. A packet with INIT, COOKIE ECHO or ASCONF gets its CRC32c all the same
    /// (RFC 9653 section 5.2).
    Zero,
}

/// Which checksums a receiver takes as right.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChecksumPolicy {
    /// Only the CRC32c.
    #[default]
    Verify,
    /// The CRC32c, or zero except in packets with INIT or COOKIE ECHO, which always carry a CRC32c
    /// (RFC 9653 sections 5.2 and 5.3). Any other value is still an error.
    AcceptZero,
    /// Anything; for reading packets known to be damaged, such as the content of a packet drop report.
    Ignore,
}

/// The right content of the checksum field of `packet`, as if that field were zero; `None` when `packet` is shorter
/// than a common header.
///
/// The number is the CRC32c itself; the field holds it with the least significant byte first.
pub fn packet_checksum(packet: &[u8]) -> Option<u32> {
    let (header, chunks) = packet.split_first_chunk::<COMMON_HEADER_LEN>()?;
    let mut header = *header;
    header[FIELD].fill(0);
    if packet.len() <= SHORT {
        let mut whole = [0; SHORT];
        whole[..COMMON_HEADER_LEN].copy_from_slice(&header);
        whole[COMMON_HEADER_LEN..packet.len()].copy_from_slice(chunks);
        return Some(crc_fast::crc32_iscsi(&whole[..packet.len()]));
    }
    // A running CRC is the inverted result: feeding the two parts equals feeding one buffer with the field zeroed.
    let state = !crc_fast::crc32_iscsi(&header);
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(state));
    digest.update(chunks);
    Some(digest.finalize() as u32)
}

/// Writes the CRC32c into the common header of an encoded packet, for those who change it after encoding (AUTH).
/// Does nothing when `packet` is shorter than a common header.
pub fn write_checksum(packet: &mut [u8]) {
    if let Some(field) = packet.get_mut(FIELD) {
        field.fill(0);
        let crc = crc_fast::crc32_iscsi(packet);
        packet[FIELD].copy_from_slice(&crc.to_le_bytes());
    }
}

/// The content of the checksum field; 0 when `packet` is too short to have one.
pub(crate) fn stored_checksum(packet: &[u8]) -> u32 {
    packet.get(FIELD).and_then(|field| field.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Whether a sender may put zero into the checksum field of a packet with this chunk.
pub(crate) fn sender_may_omit(chunk: u8) -> bool {
    !matches!(chunk, chunk_type::INIT | chunk_type::COOKIE_ECHO | chunk_type::ASCONF)
}

/// Whether a receiver that accepts zero does so in a packet with this chunk.
pub(crate) fn receiver_may_skip(chunk: u8) -> bool {
    !matches!(chunk, chunk_type::INIT | chunk_type::COOKIE_ECHO)
}
