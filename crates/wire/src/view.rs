//! Reading a packet without copying it.

use crate::checksum::{
    COMMON_HEADER_LEN, ChecksumPolicy, packet_checksum, receiver_may_skip, stored_checksum,
};
use crate::{Chunk, ChunkError, Packet, ParseError};

/// An SCTP packet in a datagram whose common header is complete and whose checksum was accepted. Chunks are read when
/// they are asked for.
#[derive(Clone, Copy, Debug)]
pub struct PacketView<'a> {
    bytes: &'a [u8],
}

/// Iterator over the chunks of a packet; ends after the first malformed chunk.
#[derive(Clone, Debug)]
pub struct Chunks<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> PacketView<'a> {
    /// Looks at the common header and the checksum of `packet`, which starts at the common header.
    pub fn parse(packet: &'a [u8], policy: ChecksumPolicy) -> Result<Self, ParseError> {
        let len = packet.len();
        let view = Self { bytes: packet };
        if len < COMMON_HEADER_LEN {
            return Err(ParseError::TooShort { len });
        }
        if view.needs_check(policy) {
            let found = view.checksum();
            let computed = packet_checksum(packet).ok_or(ParseError::TooShort { len })?;
            if found != computed {
                return Err(ParseError::WrongChecksum { found, computed });
            }
        }
        Ok(view)
    }

    /// Sender's SCTP port.
    pub fn source_port(&self) -> u16 {
        (self.header_word(0) >> 16) as u16
    }

    /// Receiver's SCTP port.
    pub fn destination_port(&self) -> u16 {
        self.header_word(0) as u16
    }

    /// Verification tag.
    pub fn verification_tag(&self) -> u32 {
        self.header_word(4)
    }

    /// Content of the checksum field; the CRC32c as a number where it was verified.
    pub fn checksum(&self) -> u32 {
        stored_checksum(self.bytes)
    }

    /// The whole packet.
    pub fn as_slice(&self) -> &'a [u8] {
        self.bytes
    }

    /// The chunks in order, each read when it is its turn.
    pub fn chunks(&self) -> Chunks<'a> {
        let rest = self.bytes.get(COMMON_HEADER_LEN..).unwrap_or_default();
        Chunks { rest, offset: COMMON_HEADER_LEN }
    }

    /// Reads all chunks.
    pub fn to_packet(&self) -> Result<Packet<'a>, ChunkError> {
        Ok(Packet {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            verification_tag: self.verification_tag(),
            chunks: self.chunks().collect::<Result<_, _>>()?,
        })
    }

    fn needs_check(&self, policy: ChecksumPolicy) -> bool {
        match policy {
            ChecksumPolicy::Verify => true,
            ChecksumPolicy::AcceptZero => {
                self.checksum() != 0 || !self.every_type(receiver_may_skip)
            }
            ChecksumPolicy::Ignore => false,
        }
    }

    /// Whether `holds` for the type of every chunk, in order up to the first for which it does not. Reads types and lengths only,
    /// as far as they can be followed.
    #[inline]
    pub fn every_type(&self, mut holds: impl FnMut(u8) -> bool) -> bool {
        let mut rest = self.bytes.get(COMMON_HEADER_LEN..).unwrap_or_default();
        while let Some(&[chunk_type, _, high, low]) = rest.first_chunk() {
            if !holds(chunk_type) {
                return false;
            }
            let length = usize::from(u16::from_be_bytes([high, low])).max(4);
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        true
    }

    /// Four bytes of the common header.
    fn header_word(&self, offset: usize) -> u32 {
        let word = self.bytes.get(offset..offset + 4).and_then(|word| word.try_into().ok());
        word.map_or(0, u32::from_be_bytes)
    }
}

impl Chunks<'_> {
    /// Where the next chunk starts, in bytes from the start of the packet.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, ChunkError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        match Chunk::parse(self.rest) {
            Ok((chunk, occupied)) => {
                self.rest = self.rest.get(occupied..).unwrap_or_default();
                self.offset += occupied;
                Some(Ok(chunk))
            }
            Err(error) => {
                self.rest = &[];
                Some(Err(ChunkError { offset: self.offset, ..error }))
            }
        }
    }
}
