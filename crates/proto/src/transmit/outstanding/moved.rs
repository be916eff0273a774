//! A chunk that is retransmitted on another path although nothing says that it is lost.

use super::{History, OutstandingData};
use crate::types::Fate;
use crate::{Instant, PathId, Tsn};

impl OutstandingData {
    /// Records that a chunk in flight is retransmitted on `path`, where it now belongs. What was known of the old
    /// transmission is forgotten.
    ///
    /// Missing reports do not count for it at first: TSNs above it were sent before it, so their order proves no loss. As
    /// after a [repair](Self::repaired), they count from the first chunk on that is sent after it.
    pub(crate) fn reschedule(&mut self, tsn: Tsn, path: PathId, now: Instant) {
        self.ensure_path(path);
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        debug_assert_eq!(chunk.fate, Fate::InFlight);
        chunk.history |= History::RESCHEDULED;
        chunk.history -= History::FAST_RETRANSMITTED;
        let (old, buffer_bytes) = (chunk.path, chunk.buffer_bytes());
        self.countable.clear(tsn);
        self.paths[old.index()].in_flight -= buffer_bytes;
        self.transmit_again(tsn, path, now);
    }
}
