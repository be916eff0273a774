//! Chunks that drop reports repaired: missing reports count for them again as for chunks sent anew.

use super::{History, OutstandingData};
use crate::Tsn;
use crate::types::Fate;

/// A chunk that was retransmitted because of a drop report.
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
    /// Remembers the retransmission that `tsn` has just had because of a drop report, for
    /// [`count_again`](Self::count_again).
    pub(crate) fn repaired(&self, tsn: Tsn) -> Repaired {
        let transmission = self.get(tsn).transmissions;
        Repaired { tsn, transmission, before: self.next.previous() }
    }

    /// Lets missing reports count again for a chunk that a drop report repaired, unless it was retransmitted for another
    /// reason before or since.
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
