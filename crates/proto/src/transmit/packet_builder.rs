//! A packet under construction.

use polypath_wire::{Chunk, Packet};

use super::Transmitter;
use crate::types::UserDataChunk;
use crate::{PathId, Tsn};

const DATA_HEADER: u32 = UserDataChunk::Data.header_bytes();

/// Chunks for one packet on one path.
#[derive(Debug)]
pub(crate) struct PacketBuilder<'a> {
    pub(crate) path: PathId,
    /// Bytes left for padded chunks.
    left: u32,
    pub(crate) packet: &'a mut Packet<'static>,
    /// Chunks in it; asking the list for its length costs more.
    chunks: u32,
    data_chunks: u32,
    /// Those of them that leave for the first time, and the TSN of the first.
    new_chunks: u32,
    first_new: Tsn,
    /// A single chunk is larger than the path's MTU.
    pub(crate) oversized: bool,
}

impl Transmitter {
    /// An empty packet for a path.
    pub(crate) fn builder<'a>(
        &self,
        path: PathId,
        packet: &'a mut Packet<'static>,
    ) -> PacketBuilder<'a> {
        PacketBuilder::new(path, self.paths[path].packet_capacity(), packet)
    }
}

impl<'a> PacketBuilder<'a> {
    /// An empty packet with room for `capacity` bytes, common header included.
    pub(crate) fn new(path: PathId, capacity: u32, packet: &'a mut Packet<'static>) -> Self {
        packet.chunks.clear();
        Self {
            path,
            left: capacity - 12,
            packet,
            chunks: 0,
            data_chunks: 0,
            new_chunks: 0,
            first_new: Tsn(0),
            oversized: false,
        }
    }

    /// Keeps `bytes` for what is added when the packet is complete.
    pub(crate) fn reserve(&mut self, bytes: u32) {
        self.left = self.left.saturating_sub(bytes);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.chunks == 0
    }

    pub(crate) fn has_data(&self) -> bool {
        self.data_chunks > 0
    }

    /// The first TSN, if the packet has data and all of it leaves for the first time.
    #[inline]
    pub(crate) fn new_data(&self) -> Option<Tsn> {
        let is_new = self.new_chunks > 0 && self.new_chunks == self.data_chunks;
        is_new.then_some(self.first_new)
    }

    /// Bytes left for padded chunks.
    pub(crate) fn left(&self) -> u32 {
        self.left
    }

    /// Whether the chunk fits; the first one always does.
    pub(crate) fn fits(&self, chunk: &Chunk<'static>) -> bool {
        self.is_empty() || chunk.padded_len() as u32 <= self.left
    }

    /// Whether a DATA chunk with `user_bytes` fits ([`as_data`](UserDataChunk::as_data) has what I-DATA takes). One that is larger than the MTU goes alone, to be fragmented by
    /// IP: it was cut when the association's smallest MTU was larger.
    pub(crate) fn fits_data(&self, user_bytes: u32) -> bool {
        self.is_empty() || DATA_HEADER + user_bytes.next_multiple_of(4) <= self.left
    }

    /// Adds a control chunk that fits.
    #[inline]
    pub(crate) fn push(&mut self, chunk: Chunk<'static>) {
        self.take(chunk.padded_len() as u32);
        self.packet.chunks.push(chunk);
    }

    /// Adds a chunk that fits, and takes as much as DATA with `user_bytes`.
    #[inline]
    pub(crate) fn push_data(&mut self, chunk: Chunk<'static>, user_bytes: u32) {
        self.take(DATA_HEADER + user_bytes.next_multiple_of(4));
        self.data_chunks += 1;
        self.packet.chunks.push(chunk);
    }

    /// Adds a chunk like [`push_data`](Self::push_data) that leaves for the first time.
    #[inline]
    pub(crate) fn push_new(&mut self, tsn: Tsn, chunk: Chunk<'static>, user_bytes: u32) {
        if self.new_chunks == 0 {
            self.first_new = tsn;
        }
        self.new_chunks += 1;
        self.push_data(chunk, user_bytes);
    }

    #[inline]
    fn take(&mut self, bytes: u32) {
        self.chunks += 1;
        self.oversized |= bytes > self.left;
        self.left = self.left.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use polypath_wire::Chunk;

    use super::*;

    #[test]
    fn new_data_is_told_from_what_leaves_again() {
        let mut packet = Packet::default();
        let mut builder = PacketBuilder::new(PathId(0), 1000, &mut packet);
        let chunk = || Chunk::Shutdown { cumulative_tsn_ack: 1 };
        builder.push(chunk());
        assert_eq!(builder.new_data(), None);
        builder.push_new(Tsn(7), chunk(), 4);
        builder.push_new(Tsn(8), chunk(), 4);
        assert_eq!(builder.new_data(), Some(Tsn(7)));
        builder.push_data(chunk(), 4);
        assert_eq!(builder.new_data(), None);
    }

    #[test]
    fn only_the_first_chunk_may_be_larger_than_the_packet() {
        let mut packet = Packet::default();
        let mut builder = PacketBuilder::new(PathId(0), 28, &mut packet);
        assert!(builder.is_empty() && builder.fits_data(1000));
        let chunk = || Chunk::Shutdown { cumulative_tsn_ack: 1 };
        builder.push(chunk());
        assert_eq!((builder.left(), builder.is_empty(), builder.oversized), (8, false, false));
        assert!(builder.fits(&chunk()) && !builder.fits_data(1));
        builder.push(chunk());
        assert_eq!((builder.left(), builder.oversized), (0, false));
        assert!(!builder.fits(&chunk()));
        builder.take(1);
        assert!(builder.oversized);
        builder.take(0);
        assert!(builder.oversized, "it stays");
    }
}
