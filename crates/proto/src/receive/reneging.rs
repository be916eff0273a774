//! Reneging: discarding chunks that gap ack blocks acknowledged and that cannot be delivered yet (RFC 9260 section
//! 6.2.1).
//!
//! Chunks that are cumulatively acknowledged, deliverable, or promised by an NR-SACK are never discarded (the latter
//! are deliverable, too, or reneging is refused). The highest TSNs are discarded first: the user needs them last.

use rand_core::Rng;

use super::Receiver;
use super::tsn_map::WideTsn;
use crate::config::Reneging;

impl Receiver {
    /// Makes space for `tsn`, under a policy that allows it, by discarding chunks above. Returns whether there is space
    /// now.
    pub(super) fn make_place_for(&mut self, tsn: WideTsn) -> bool {
        if self.reneging != Reneging::UnderPressure {
            return false;
        }
        let floor = tsn.max(self.tsns.cumulative());
        while !self.window.has_space() && self.discard_highest(floor) {}
        self.window.has_space()
    }

    /// Discards the chunk or message with the highest TSN, if the policy simulates reneging and the lot says so. To be
    /// called once per packet with DATA.
    pub fn simulate_reneging(&mut self, rng: &mut dyn Rng) {
        let Reneging::Simulated(probability) = self.reneging else { return };
        if !self.packet.has_data() {
            return;
        }
        if u128::from(rng.next_u64()) < probability.of_u64_range() {
            self.discard_highest(self.tsns.cumulative());
        }
    }

    fn discard_highest(&mut self, floor: WideTsn) -> bool {
        let Some(discarded) = self.reassembly.discard_highest(floor) else { return false };
        self.window.release(discarded.bytes, discarded.chunks as usize);
        self.tsns.forget(discarded.first, discarded.chunks);
        self.counters.reneged_chunks += u64::from(discarded.chunks);
        true
    }
}
