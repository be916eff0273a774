//! Builds SACK chunks (RFC 9260 section 3.3.4).

use polypath_wire::{DuplicateTsns, GapAckBlocks, Sack};
use smallvec::SmallVec;

use super::tsn_map::TsnMap;

/// Bytes of a SACK without gap ack blocks and duplicates.
pub const MIN_SACK_BYTES: usize = 16;

/// Bytes of a gap ack block, and of a duplicate TSN.
const ENTRY_BYTES: usize = 4;

/// Builds a SACK of at most `max_bytes` (at least [`MIN_SACK_BYTES`]): the lowest gap ack blocks first, then duplicates
/// as far as they fit (RFC 9260 section 6.7).
pub fn build_sack(
    tsns: &TsnMap,
    duplicates: &[u32],
    a_rwnd: u32,
    flags: u8,
    max_bytes: usize,
) -> Sack<'static> {
    let mut space = max_bytes.saturating_sub(MIN_SACK_BYTES) / ENTRY_BYTES;
    let blocks = tsns.gap_blocks(space);
    space -= blocks.len();
    let duplicates = &duplicates[..duplicates.len().min(space)];
    Sack {
        flags,
        cumulative_tsn_ack: tsns.cumulative_tsn().0,
        a_rwnd,
        gap_ack_blocks: GapAckBlocks::Owned(blocks),
        duplicate_tsns: DuplicateTsns::Owned(SmallVec::from_slice(duplicates)),
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::Tsn;
    use crate::receive::tsn_map::Arrival;

    /// TSN 9 is the cumulative one; every second TSN above it has arrived.
    fn map(blocks: u32) -> TsnMap {
        let mut map = TsnMap::new(Tsn(10), u32::MAX);
        for i in 1..=blocks {
            match map.classify(Tsn(9 + 2 * i)) {
                Arrival::New(tsn) => map.record(tsn),
                other => panic!("{other:?}"),
            }
        }
        map
    }

    #[test]
    fn entries_are_cut_to_the_room() {
        let duplicates = [7, 8, 9];
        for (blocks, space, expected_blocks, expected_duplicates) in [
            (0, 16, 0, 0),
            (0, 1400, 0, 3),
            (2, 0, 0, 0),
            (2, 19, 0, 0),
            (2, 20, 1, 0),
            (2, 24, 2, 0),
            (2, 31, 2, 1),
            (2, 36, 2, 3),
            (2, 1400, 2, 3),
            (400, 1468, 363, 0),
        ] {
            let sack = build_sack(&map(blocks), &duplicates, 5, 0x80, space);
            let got: Vec<_> = sack.gap_ack_blocks.iter().map(|b| (b.start, b.end)).collect();
            let lowest: Vec<_> = (1..=expected_blocks).map(|i| (2 * i, 2 * i)).collect();
            assert_eq!(got, lowest);
            let got: Vec<_> = sack.duplicate_tsns.iter().collect();
            assert_eq!(got, duplicates[..expected_duplicates], "{blocks} blocks in {space} bytes");
            assert_eq!((sack.cumulative_tsn_ack, sack.a_rwnd, sack.flags), (9, 5, 0x80));
        }
    }

    #[test]
    fn four_blocks_and_two_duplicates_need_no_allocation() {
        let sack = build_sack(&map(4), &[1, 2], 0, 0, 1400);
        let (GapAckBlocks::Owned(blocks), DuplicateTsns::Owned(duplicates)) =
            (sack.gap_ack_blocks, sack.duplicate_tsns)
        else {
            panic!("a SACK that is built owns its content");
        };
        assert_eq!((blocks.len(), duplicates.len()), (4, 2));
        assert!(!blocks.spilled() && !duplicates.spilled());
    }
}
