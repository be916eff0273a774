//! Parsing of a damaged packet: any length may be wrong, and the end may be missing.

use polypath_wire::COMMON_HEADER_LEN;

/// A chunk of a carried packet, which may be incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CarriedChunk<'a> {
    /// Chunk type.
    pub(crate) chunk_type: u8,
    /// The chunk from its type on: as many bytes as its length says, or as are left.
    pub(crate) bytes: &'a [u8],
}

/// The chunks of `packet`, which begins with a common header, until a length is invalid or the packet ends.
pub(crate) fn chunks(packet: &[u8]) -> impl Iterator<Item = CarriedChunk<'_>> {
    let mut rest = packet.get(COMMON_HEADER_LEN..).unwrap_or_default();
    core::iter::from_fn(move || {
        let &[chunk_type, _, high, low] = rest.first_chunk()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < 4 {
            return None;
        }
        let bytes = &rest[..length.min(rest.len())];
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(CarriedChunk { chunk_type, bytes })
    })
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn lengths(chunks_bytes: &[u8]) -> Vec<(u8, usize)> {
        let mut packet = std::vec![0; 12];
        packet.extend_from_slice(chunks_bytes);
        chunks(&packet).map(|chunk| (chunk.chunk_type, chunk.bytes.len())).collect()
    }

    #[test]
    fn garbage_ends_the_walk() {
        assert_eq!(lengths(&[3, 0, 0, 5, 9, 0, 0, 0, 7, 0, 0, 4]), [(3, 5), (7, 4)]);
        assert_eq!(lengths(&[3, 0, 0, 4, 7, 0, 0, 3, 1, 0, 0, 4]), [(3, 4)], "a length below 4");
        assert_eq!(lengths(&[3, 0, 0, 0]), []);
        assert_eq!(lengths(&[3, 0, 255, 255, 1, 2]), [(3, 6)], "longer than what is there");
        assert_eq!(lengths(&[3, 0, 0, 4, 7, 0, 0]), [(3, 4)], "cut in a header");
        assert_eq!(lengths(&[]), []);
        assert_eq!(chunks(&[0; 11]).count(), 0, "cut in the common header");
    }
}
