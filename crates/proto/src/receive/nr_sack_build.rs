//! Building an NR-SACK (draft-tuexen-tsvwg-sctp-multipath section 4).

use polypath_wire::{DuplicateTsns, GapAckBlocks, NrSack as NrSackChunk};
use smallvec::SmallVec;

use super::latest::SackTurn;
use super::tsn_map::TsnMap;

/// Bytes of an NR-SACK without blocks and duplicates.
pub(crate) const MIN_NR_SACK_BYTES: usize = 20;

/// Bytes of a block, and of a duplicate TSN.
const ENTRY_BYTES: usize = 4;

/// Number of duplicates for which rotating blocks leave space.
const DUPLICATES_BESIDE: usize = 8;

/// Which of the received TSNs the receiver will not discard (section 4.3 of the draft).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Promise {
    /// Those whose message was delivered or waits for the user.
    Delivered,
    /// All.
    Everything(Cut),
}

/// The blocks in an NR-SACK that cannot have all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// The lowest, as in a SACK.
    Lowest,
    /// Usually those around the latest arrivals, and at times others in turn. If a SACK were cut, chunks above the cut
    /// would stay in flight until the lowest gap is filled, which takes a round trip of the slowest path; and if each
    /// SACK reported another part, a low-RTT path would have to wait for several SACKs, which its small window does not
    /// cause.
    InTurn,
}

/// Builds an NR-SACK of at most `max_bytes` (at least [`MIN_NR_SACK_BYTES`]): the lowest blocks, or those of this
/// `turn`, with the latest arrivals, then duplicates.
///
/// Both lists are cut at the same TSN, so that omitted blocks are above everything reported, and nothing below the
/// highest block seems to be discarded.
pub(crate) fn build(
    tsns: &TsnMap,
    promise: Promise,
    duplicates: &[u32],
    a_rwnd: u32,
    flags: u8,
    max_bytes: usize,
    turn: &SackTurn<'_>,
) -> NrSackChunk<'static> {
    let space = max_bytes.saturating_sub(MIN_NR_SACK_BYTES) / ENTRY_BYTES;
    let (renegable, non_renegable) = match promise {
        Promise::Everything(Cut::Lowest) => (SmallVec::new(), tsns.gap_blocks(space)),
        Promise::Everything(Cut::InTurn) => {
            // Or no duplicate would ever be reported while blocks are left out.
            let others = duplicates.len().min(DUPLICATES_BESIDE);
            (SmallVec::new(), tsns.gap_blocks_in_turn(space, others, turn))
        }
        Promise::Delivered => tsns.split_gap_blocks(space),
    };
    let left = space - renegable.len() - non_renegable.len();
    let duplicates = &duplicates[..duplicates.len().min(left)];
    NrSackChunk {
        flags,
        cumulative_tsn_ack: tsns.cumulative_tsn().0,
        a_rwnd,
        renegable_blocks: GapAckBlocks::Owned(renegable),
        non_renegable_blocks: GapAckBlocks::Owned(non_renegable),
        duplicate_tsns: DuplicateTsns::Owned(SmallVec::from_slice(duplicates)),
        reserved: 0,
    }
}
