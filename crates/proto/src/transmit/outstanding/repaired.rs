//! Chunks that were retransmitted for another reason than missing reports or T3-rtx: because of a drop report, because they
//! moved to another path, or as a tail probe. Missing reports count for them again as for chunks sent anew.

use super::{History, OutstandingData};
use crate::Tsn;
use crate::types::Fate;

/// A chunk that was retransmitted because of a drop report, moved, or sent as a tail probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Repaired {
    pub(crate) tsn: Tsn,
    /// Which transmission that was.
    transmission: u16,
    /// Highest TSN sent before it on any path: what was sent later reports the chunk missing again.
    before: Tsn,
}

impl Repaired {
    /// Whether `acked`, sent on the same path, was sent later.
    pub(crate) fn is_older_than(&self, acked: Tsn) -> bool {
        acked.is_after(self.before)
    }
}

impl OutstandingData {
    /// Remembers the retransmission that `tsn` has just had, for [`count_again`](Self::count_again).
    pub(crate) fn repaired(&self, tsn: Tsn) -> Repaired {
        let transmission = self.get(tsn).transmissions;
        Repaired { tsn, transmission, before: self.next.previous() }
    }

    /// Lets missing reports count again for such a chunk, unless missing reports or T3-rtx retransmitted it before, or
    /// anything did since.
    pub(crate) fn count_again(&mut self, repaired: &Repaired) {
        if !self.contains(repaired.tsn) {
            return;
        }
        let index = self.slot_index(repaired.tsn);
        let chunk = &mut self.slots[index];
        let otherwise = History::FAST_RETRANSMITTED | History::TIMER_RETRANSMITTED;
        if chunk.fate == Fate::InFlight
            && chunk.transmissions == repaired.transmission
            && !chunk.history.intersects(otherwise)
        {
            self.countable.set(repaired.tsn);
        }
    }
}
