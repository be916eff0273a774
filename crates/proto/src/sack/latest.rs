//! The latest packets of a path that a SACK acknowledges for the first time.
//!
//! RFC 9260 section 7.2.4 counts a SACK as one missing report, for it takes for granted that each second packet is answered by
//! one. A SACK that overtook others stands for all of them, and where SACKs return over several paths, that is the usual
//! case: a path that sends a window at a time would hear of a loss once per round trip. Whatever they came with, three
//! packets that were sent later and have arrived are what the three reports are to prove (RFC 6675, IsLost, for TCP).

use crate::Tsn;

/// The latest packets of one path, the last first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Latest([Option<Tsn>; 3]);

impl Latest {
    /// A packet is acknowledged for the first time; they come in the order of their TSNs.
    pub(crate) fn note(&mut self, tsn: Tsn) {
        self.0 = [Some(tsn), self.0[0], self.0[1]];
    }

    /// How many of them have this TSN or a later one: three at most.
    pub(crate) fn from(&self, first: Tsn) -> u8 {
        let is_later = |tsn: &&Tsn| first.is_at_or_before(**tsn);
        self.0.iter().flatten().filter(is_later).count() as u8
    }
}

/// Whether a chunk takes a packet of its own, so that no other one of the packet is evidence beside it.
pub(crate) fn fills_a_packet(charge: u32, largest: u64) -> bool {
    2 * u64::from(charge) > largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_later_packets_prove_a_loss() {
        for offset in [0, u32::MAX - 12] {
            let tsn = |n: u32| Tsn(n.wrapping_add(offset));
            let mut latest = Latest::default();
            assert_eq!(latest.from(tsn(0)), 0);
            for (noted, expected) in [(8, 0), (11, 1), (12, 2), (14, 3), (15, 3)] {
                latest.note(tsn(noted));
                assert_eq!(latest.from(tsn(10)), expected, "{noted}");
            }
            for (first, expected) in [(12, 3), (13, 2), (15, 1), (16, 0)] {
                assert_eq!(latest.from(tsn(first)), expected, "{first}");
            }
        }
    }

    #[test]
    fn small_chunks_share_packets() {
        for (charge, expected) in [(1468, true), (735, true), (734, false), (30, false)] {
            assert_eq!(fills_a_packet(charge, 1468), expected, "{charge}");
        }
    }
}
