//! Chunks that the receiver will not discard any more (NR-SACK): their user data goes, a marker stays until the
//! cumulative ack passes.

use polypath_wire::DataFlags;

use super::OutstandingData;
use crate::types::BufferBytes;
use crate::{PathId, Tsn};

impl OutstandingData {
    /// Forgets the user data of a chunk that a gap block acknowledged. Returns what it took in the send buffer.
    pub(crate) fn release(&mut self, tsn: Tsn) -> BufferBytes {
        debug_assert!(self.acked.get(tsn) && !self.released.get(tsn));
        self.released.set(tsn);
        self.released_count += 1;
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        if !chunk.flags.contains(DataFlags::UNORDERED) {
            chunk.released_early = chunk.user_bytes();
            self.paths[chunk.path.index()].released_early += u64::from(chunk.released_early);
        }
        self.empty(tsn)
    }

    /// A released chunk is no longer outstanding: takes its mark away.
    pub(super) fn forget_released(&mut self, tsn: Tsn) {
        self.released.clear(tsn);
        self.released_count -= 1;
        self.stop_keeping(tsn);
    }

    /// A released chunk is no longer outstanding, or is abandoned: the receiver does not keep it any longer.
    pub(super) fn stop_keeping(&mut self, tsn: Tsn) {
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        self.paths[chunk.path.index()].released_early -=
            u64::from(core::mem::take(&mut chunk.released_early));
    }

    /// User bytes of ordered chunks that were sent on `path` last and released: they left the send buffer, but the receiver
    /// holds them until what is missing below has arrived.
    pub(crate) fn released_early_on(&self, path: PathId) -> u64 {
        self.paths.get(path.index()).map_or(0, |bits| bits.released_early)
    }

    /// Whether the receiver promised to keep `tsn`, which is outstanding.
    pub(crate) fn is_released(&self, tsn: Tsn) -> bool {
        self.released.get(tsn)
    }

    /// Whether a chunk that a gap block acknowledged may still be withdrawn.
    pub(crate) fn has_renegable(&self) -> bool {
        self.acked_count > self.released_count
    }

    /// The first TSN in `from..end` that a gap block acknowledged and that may still be withdrawn.
    pub(crate) fn next_renegable(&self, from: Tsn, end: Tsn) -> Option<Tsn> {
        self.acked.next_set_without(&self.released, from, end)
    }
}
