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
        let old = chunk.path;
        if old != path {
            chunk.history |= History::MOVED;
        }
        chunk.history |= History::RESCHEDULED;
        chunk.history -= History::FAST_RETRANSMITTED;
        chunk.path = path;
        chunk.transmissions = chunk.transmissions.saturating_add(1);
        chunk.missing_reports = 0;
        chunk.sent_before = self.next;
        chunk.sent_at = now;
        let buffer_bytes = chunk.buffer_bytes();
        self.countable.clear(tsn);
        let bits = &mut self.paths[old.index()];
        bits.first.clear(tsn);
        bits.again.clear(tsn);
        bits.unreleased -= buffer_bytes;
        bits.in_flight -= buffer_bytes;
        let bits = &mut self.paths[path.index()];
        bits.again.set(tsn);
        bits.unreleased += buffer_bytes;
        bits.in_flight += buffer_bytes;
        if tsn.is_before(bits.again_low) {
            bits.again_low = tsn;
        }
    }
}
