//! Chunks that the receiver will not discard any more (NR-SACK): their user data goes, a marker stays until the
//! cumulative ack passes.

use super::Window;
use crate::Tsn;
use crate::send::queue::Room;

impl Window {
    /// Forgets the user data of a chunk that a gap block acknowledged. Returns what it took in the send buffer.
    pub(crate) fn release(&mut self, tsn: Tsn) -> Room {
        debug_assert!(self.acked.get(tsn) && !self.released.get(tsn));
        self.released.set(tsn);
        self.released_count += 1;
        self.empty(tsn)
    }

    /// Whether the receiver promised to keep `tsn`, which is in the window.
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
