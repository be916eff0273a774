//! SACK and NR-SACK.

use smallvec::SmallVec;

/// Received TSNs above the cumulative TSN ack: both ends are inclusive offsets from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GapAckBlock {
    /// Offset of the first TSN of the block.
    pub start: u16,
    /// Offset of the last TSN of the block.
    pub end: u16,
}

/// Gap ack blocks in the order of the chunk; a sender of SACKs lists them ascending, a parser accepts any order.
#[derive(Clone, Debug)]
pub enum GapAckBlocks<'a> {
    /// Four bytes per block, part of the datagram being parsed.
    Borrowed(&'a [u8]),
    /// Owned blocks.
    Owned(SmallVec<[GapAckBlock; 4]>),
}

/// TSNs received more than once since the last SACK.
#[derive(Clone, Debug)]
pub enum DuplicateTsns<'a> {
    /// Four bytes per TSN, part of the datagram being parsed.
    Borrowed(&'a [u8]),
    /// Owned TSNs.
    Owned(SmallVec<[u32; 2]>),
}

/// SACK chunk (RFC 9260 section 3.3.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sack<'a> {
    /// Chunk flags; bits 7-6 carry the packet count of delayed acks for CMT (0 when not used).
    pub flags: u8,
    /// Last TSN received in sequence.
    pub cumulative_tsn_ack: u32,
    /// Advertised receiver window in bytes.
    pub a_rwnd: u32,
    /// Gap ack blocks.
    pub gap_ack_blocks: GapAckBlocks<'a>,
    /// Duplicates.
    pub duplicate_tsns: DuplicateTsns<'a>,
}

/// NR-SACK chunk (draft-tuexen-tsvwg-sctp-multipath section 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NrSack<'a> {
    /// Chunk flags; bits 7-6 carry the packet count of delayed acks for CMT (0 when not used).
    pub flags: u8,
    /// Last TSN received in sequence.
    pub cumulative_tsn_ack: u32,
    /// Advertised receiver window in bytes.
    pub a_rwnd: u32,
    /// Blocks that the receiver may still discard.
    pub renegable_blocks: GapAckBlocks<'a>,
    /// Blocks that the receiver will not discard.
    pub non_renegable_blocks: GapAckBlocks<'a>,
    /// Duplicates.
    pub duplicate_tsns: DuplicateTsns<'a>,
    /// Reserved field, carried along.
    pub reserved: u16,
}

impl GapAckBlock {
    #[inline]
    fn from_wire([s0, s1, e0, e1]: [u8; 4]) -> Self {
        Self { start: u16::from_be_bytes([s0, s1]), end: u16::from_be_bytes([e0, e1]) }
    }
}

impl GapAckBlocks<'_> {
    /// Number of blocks.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(bytes) => bytes.len() / 4,
            Self::Owned(blocks) => blocks.len(),
        }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The block at `index`; `None` past the end.
    pub fn get(&self, index: usize) -> Option<GapAckBlock> {
        match self {
            Self::Borrowed(bytes) => {
                bytes.as_chunks().0.get(index).map(|b| GapAckBlock::from_wire(*b))
            }
            Self::Owned(blocks) => blocks.get(index).copied(),
        }
    }

    /// The blocks in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = GapAckBlock> + Clone + '_ {
        let (wire, owned) = match self {
            Self::Borrowed(bytes) => (bytes.as_chunks::<4>().0, &[][..]),
            Self::Owned(blocks) => (&[][..], blocks.as_slice()),
        };
        wire.iter().map(|b| GapAckBlock::from_wire(*b)).chain(owned.iter().copied())
    }
}

impl DuplicateTsns<'_> {
    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Borrowed(bytes) => bytes.len() / 4,
            Self::Owned(tsns) => tsns.len(),
        }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The TSNs in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + Clone + '_ {
        let (wire, owned) = match self {
            Self::Borrowed(bytes) => (bytes.as_chunks::<4>().0, &[][..]),
            Self::Owned(tsns) => (&[][..], tsns.as_slice()),
        };
        wire.iter().map(|b| u32::from_be_bytes(*b)).chain(owned.iter().copied())
    }
}

impl PartialEq for GapAckBlocks<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for GapAckBlocks<'_> {}

impl PartialEq for DuplicateTsns<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for DuplicateTsns<'_> {}

impl Default for GapAckBlocks<'_> {
    fn default() -> Self {
        Self::Borrowed(&[])
    }
}

impl Default for DuplicateTsns<'_> {
    fn default() -> Self {
        Self::Borrowed(&[])
    }
}

impl FromIterator<GapAckBlock> for GapAckBlocks<'_> {
    fn from_iter<I: IntoIterator<Item = GapAckBlock>>(blocks: I) -> Self {
        Self::Owned(blocks.into_iter().collect())
    }
}

impl FromIterator<u32> for DuplicateTsns<'_> {
    fn from_iter<I: IntoIterator<Item = u32>>(tsns: I) -> Self {
        Self::Owned(tsns.into_iter().collect())
    }
}
