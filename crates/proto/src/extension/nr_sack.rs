//! Non-renegable acknowledgement: the receiver says what it will never discard, and the sender frees it at once.
//!
//! draft-tuexen-tsvwg-sctp-multipath section 4; `dreibholz-asymmetric` section II. INET: `nrSack`, and `disableReneging`
//! for all chunks; usrsctp and FreeBSD: `net.inet.sctp.nrsack_enable`.
//!
//! An NR-SACK says what a SACK says, with the gap ack blocks in two lists. To everything that reads acknowledgements it
//! is a SACK with the union of both; what the second list promises is released in addition.

use polypath_wire::{DuplicateTsns, GapAckBlock, GapAckBlocks, NrSack as NrSackChunk};
use smallvec::SmallVec;

use crate::Tsn;
use crate::recv::tsn_map::TsnMap;
use crate::send::queue::Room;
use crate::send::window::Window;

/// Bytes of an NR-SACK without blocks and duplicates.
pub(crate) const MIN_NR_SACK_BYTES: usize = 20;

/// Bytes of a block, and of a duplicate TSN.
const ENTRY_BYTES: usize = 4;

/// An acknowledgement with fewer blocks than this had room for all of them: the smallest MTU that IP allows carries more.
pub(crate) const CERTAINLY_WHOLE: usize = 100;

/// Duplicates for which blocks that take turns leave room.
const DUPLICATES_BESIDE: usize = 8;

/// Which of the received TSNs the receiver will not discard (section 4.3 of the draft).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Promise {
    /// Those whose message was delivered or waits for the user.
    Delivered,
    /// All.
    Everything(Cut),
}

/// Which blocks an NR-SACK names that has no room for all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// The lowest, as in a SACK.
    Lowest,
    /// Some of them, and the next one others. Above what a cut one names, nothing would leave the peer's flight before
    /// the lowest hole is filled, and beside a path with a long round trip that takes its round trip.
    InTurn,
}

/// Builds an NR-SACK of at most `max_bytes` (at least [`MIN_NR_SACK_BYTES`]): the lowest blocks or those whose `turn` it
/// is, then duplicates.
///
/// Two lists are cut at the same TSN, so that what is left out is above everything reported and nothing below the
/// highest block seems to be discarded.
pub(crate) fn build(
    tsns: &TsnMap,
    promise: Promise,
    duplicates: &[u32],
    a_rwnd: u32,
    flags: u8,
    max_bytes: usize,
    turn: u8,
) -> NrSackChunk<'static> {
    let room = max_bytes.saturating_sub(MIN_NR_SACK_BYTES) / ENTRY_BYTES;
    let (renegable, non_renegable) = match promise {
        Promise::Everything(Cut::Lowest) => (SmallVec::new(), tsns.gap_blocks(room)),
        Promise::Everything(Cut::InTurn) => {
            // Or no duplicate would ever be reported while blocks are left out.
            let others = duplicates.len().min(DUPLICATES_BESIDE);
            (SmallVec::new(), tsns.gap_blocks_in_turn(room, others, turn))
        }
        Promise::Delivered => tsns.split_gap_blocks(room),
    };
    let left = room - renegable.len() - non_renegable.len();
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

/// One of the two lists does not ascend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Disordered;

/// The blocks of both lists as a SACK would have them: ascending, joined where they touch or overlap.
pub(crate) fn union(
    renegable: &GapAckBlocks<'_>,
    non_renegable: &GapAckBlocks<'_>,
    joined: &mut SmallVec<[GapAckBlock; 4]>,
) -> Result<(), Disordered> {
    joined.clear();
    let (mut r, mut nr) = (renegable.iter().peekable(), non_renegable.iter().peekable());
    let mut last = [0u16; 2];
    loop {
        let (list, next) = match (r.peek(), nr.peek()) {
            (Some(a), Some(b)) if a.start <= b.start => (0, r.next()),
            (Some(_), None) => (0, r.next()),
            _ => (1, nr.next()),
        };
        let Some(next) = next else { return Ok(()) };
        if next.start <= last[list] || next.end < next.start {
            return Err(Disordered);
        }
        last[list] = next.end;
        match joined.last_mut() {
            Some(open) if u32::from(next.start) <= u32::from(open.end) + 1 => {
                open.end = open.end.max(next.end);
            }
            _ => joined.push(next),
        }
    }
}

/// What an acknowledgement allows the sender to forget although a lower TSN is missing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Release<'a> {
    /// Nothing (a SACK).
    Nothing,
    /// Every TSN that it reports: its other list is empty.
    Reported,
    /// The TSNs of these blocks.
    Blocks(&'a GapAckBlocks<'a>),
}

impl<'a> Release<'a> {
    /// What an NR-SACK releases.
    pub(crate) fn by(nr_sack: &'a NrSackChunk<'_>) -> Self {
        match (nr_sack.non_renegable_blocks.is_empty(), nr_sack.renegable_blocks.is_empty()) {
            (true, _) => Self::Nothing,
            (false, true) => Self::Reported,
            (false, false) => Self::Blocks(&nr_sack.non_renegable_blocks),
        }
    }
}

/// Releases what lies in `blocks` and was acknowledged but still kept. Returns the room that became free. The work is
/// that of the blocks and of what is released.
pub(crate) fn release(window: &mut Window, cumulative: Tsn, blocks: &GapAckBlocks<'_>) -> Room {
    let mut room = Room::default();
    for block in blocks.iter() {
        let stop = cumulative.plus(u32::from(block.end) + 1);
        let mut at = cumulative.plus(block.start.into());
        while let Some(tsn) = window.next_renegable(at, stop) {
            room += window.release(tsn);
            at = tsn.next();
        }
    }
    room
}

#[cfg(test)]
mod tests;
