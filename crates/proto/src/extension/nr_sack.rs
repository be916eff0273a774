//! Non-renegable acknowledgement: the receiver reports data that it will never discard, and the sender frees it at once.
//!
//! draft-tuexen-tsvwg-sctp-multipath section 4; `dreibholz-asymmetric` section II. INET: `nrSack`, and `disableReneging`
//! for all chunks; usrsctp and FreeBSD: `net.inet.sctp.nrsack_enable`.
//!
//! An NR-SACK has the content of a SACK, with the gap ack blocks in two lists. It is processed as a SACK with the union of
//! both; the data of the second list is released in addition.

use polypath_wire::{GapAckBlock, GapAckBlocks, NrSack as NrSackChunk};
use smallvec::SmallVec;

/// An acknowledgement with fewer blocks than this is complete: the smallest MTU of IP has room for more.
pub(crate) const CERTAINLY_WHOLE: usize = 100;

/// One of the two lists is not in ascending order.
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

/// Data that an acknowledgement allows the sender to free although a lower TSN is missing.
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
    /// Data that an NR-SACK releases.
    pub(crate) fn by(nr_sack: &'a NrSackChunk<'_>) -> Self {
        match (nr_sack.non_renegable_blocks.is_empty(), nr_sack.renegable_blocks.is_empty()) {
            (true, _) => Self::Nothing,
            (false, true) => Self::Reported,
            (false, false) => Self::Blocks(&nr_sack.non_renegable_blocks),
        }
    }
}

#[cfg(test)]
mod tests;
