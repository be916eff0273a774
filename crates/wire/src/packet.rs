//! A whole SCTP packet: common header and chunks.

use alloc::vec::Vec;

use smallvec::SmallVec;

use crate::checksum::{COMMON_HEADER_LEN, Checksum, sender_may_omit, write_checksum};
use crate::{Chunk, EncodeError};

/// The chunks of a packet in order; two fit without allocation (SACK + DATA).
pub type ChunkList<'a> = SmallVec<[Chunk<'a>; 2]>;

/// An SCTP packet (RFC 9260 section 3). The checksum is no field: it is computed when encoding.
#[derive(Clone, Debug, Default, Eq)]
pub struct Packet<'a> {
    /// Sender's SCTP port.
    pub source_port: u16,
    /// Receiver's SCTP port.
    pub destination_port: u16,
    /// The receiver's verification tag (0 for INIT; reflected where the T bit says so).
    pub verification_tag: u32,
    /// The chunks in order.
    pub chunks: ChunkList<'a>,
}

impl Packet<'_> {
    /// Length in bytes of the encoded packet: common header and padded chunks.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        COMMON_HEADER_LEN
            + match self.chunks.as_slice() {
                // As nearly all packets are.
                [only] => only.padded_len(),
                chunks => chunks.iter().map(Chunk::padded_len).sum(),
            }
    }

    /// Writes the packet to the start of `buf`, without allocation; returns its length.
    pub fn encode_into(&self, buf: &mut [u8], checksum: Checksum) -> Result<usize, EncodeError> {
        let needed = self.encoded_len();
        let available = buf.len();
        let Some(out) = buf.get_mut(..needed) else {
            return Err(EncodeError::BufferTooSmall { needed, available });
        };
        let Some((header, mut rest)) = out.split_first_chunk_mut() else {
            return Err(EncodeError::BufferTooSmall { needed, available });
        };
        *header = self.common_header();
        for chunk in &self.chunks {
            let written = chunk.encode_into(rest)?;
            rest = &mut rest[written..];
        }
        if self.carries_crc(checksum) {
            write_checksum(out);
        }
        Ok(needed)
    }

    /// Appends the packet to `out`, which stays as it was if that fails; returns the packet's length.
    pub fn append_to(&self, out: &mut Vec<u8>, checksum: Checksum) -> Result<usize, EncodeError> {
        // Before memory is taken: virtual data can claim any length.
        self.chunks.iter().try_for_each(|chunk| chunk.length_field().map(|_| ()))?;
        let start = out.len();
        out.resize(start + self.encoded_len(), 0);
        self.encode_into(&mut out[start..], checksum)
    }

    /// Copies what is borrowed.
    pub fn into_owned(self) -> Packet<'static> {
        Packet {
            source_port: self.source_port,
            destination_port: self.destination_port,
            verification_tag: self.verification_tag,
            chunks: self.chunks.into_iter().map(Chunk::into_owned).collect(),
        }
    }

    /// A copy that borrows nothing.
    pub fn to_owned(&self) -> Packet<'static> {
        self.clone().into_owned()
    }

    /// The common header with a checksum of zero.
    fn common_header(&self) -> [u8; COMMON_HEADER_LEN] {
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [t0, t1, t2, t3] = self.verification_tag.to_be_bytes();
        [s0, s1, d0, d1, t0, t1, t2, t3, 0, 0, 0, 0]
    }

    /// Whether the packet is sent with its CRC32c, or with a checksum of zero (RFC 9653 section 5.2).
    pub fn carries_crc(&self, checksum: Checksum) -> bool {
        match checksum {
            Checksum::Crc32c => true,
            Checksum::Zero => !self.chunks.iter().all(|chunk| sender_may_omit(chunk.chunk_type())),
        }
    }
}

// By hand, so that packets of different lifetimes compare: the list of chunks ties a packet to one lifetime.
impl<'b> PartialEq<Packet<'b>> for Packet<'_> {
    fn eq(&self, other: &Packet<'b>) -> bool {
        self.source_port == other.source_port
            && self.destination_port == other.destination_port
            && self.verification_tag == other.verification_tag
            && self.chunks[..] == other.chunks[..]
    }
}
