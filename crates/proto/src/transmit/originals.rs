//! First transmissions of a path whose chunks were copied, and acknowledged over another path.
//!
//! Those that were still on their way are reported as duplicates when they arrive (RFC 9260 section 3.3.4). If all chunks of a path are
//! copied to one with a lower RTT, these reports are the only measure of how fast the path delivers.

use alloc::collections::VecDeque;

use crate::{Instant, Tsn};

/// Limit on remembered transmissions: the flight of a thin flow is shorter, and what is not copied measures the path as well.
const MOST: usize = u64::BITS as usize;

/// Limit on the duplicates of one SACK that are looked at. Honest peers report each once.
const MOST_DUPLICATES: usize = 128;

/// State of one path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Originals {
    /// In the order of sending.
    sent: VecDeque<Original>,
}

#[derive(Clone, Copy, Debug)]
struct Original {
    tsn: Tsn,
    sent_at: Instant,
    bytes: u32,
}

/// Originals that the peer has reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reported {
    /// When the last of them was sent.
    pub(crate) sent_at: Instant,
    pub(crate) bytes: u64,
    /// All that was sent before it is among them. If not, some were lost, or reported by a SACK that was lost.
    pub(crate) is_whole: bool,
}

impl Originals {
    /// The chunk was copied, and is acknowledged over another path.
    pub(crate) fn on_acked_elsewhere(&mut self, tsn: Tsn, sent_at: Instant, bytes: u32) {
        if self.sent.len() >= MOST {
            self.sent.pop_front();
        }
        let place = self.sent.partition_point(|other| other.sent_at <= sent_at);
        self.sent.insert(place, Original { tsn, sent_at, bytes });
    }

    /// A SACK over the path reports duplicates. What was sent before one of them has arrived, or is lost.
    pub(crate) fn on_duplicates(
        &mut self,
        duplicates: impl Iterator<Item = Tsn>,
    ) -> Option<Reported> {
        if self.sent.is_empty() {
            return None;
        }
        let mut reported: u64 = 0;
        for tsn in duplicates.take(MOST_DUPLICATES) {
            if let Some(place) = self.sent.iter().position(|original| original.tsn == tsn) {
                reported |= 1 << place;
            }
        }
        let place = reported.checked_ilog2()? as usize;
        let last = *self.sent.get(place)?;
        let arrived = self.sent.drain(..=place).enumerate();
        let bytes = arrived.filter(|(at, _)| reported >> at & 1 == 1);
        let bytes = bytes.map(|(_, original)| u64::from(original.bytes)).sum();
        let is_whole = reported.count_ones() as usize == place + 1;
        Some(Reported { sent_at: last.sent_at, bytes, is_whole })
    }

    /// TSNs begin anew, or the path is idle.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Chunks 1 to 4, which were sent in these milliseconds and whose copies came first.
    fn awaited() -> Originals {
        let mut originals = Originals::default();
        for (tsn, ms) in [(1, 10), (3, 12), (2, 11), (4, 13)] {
            originals.on_acked_elsewhere(Tsn(tsn), at(ms), 1000);
        }
        originals
    }

    #[test]
    fn a_duplicate_is_an_original_that_was_still_on_its_way() {
        for (what, reports, expected) in [
            ("nothing", &[&[][..]][..], &[None][..]),
            ("another chunk", &[&[9]], &[None]),
            ("each in its turn", &[&[1], &[2]], &[Some((10, 1000, true)), Some((11, 1000, true))]),
            ("two in one SACK", &[&[1, 2]], &[Some((11, 2000, true))]),
            ("in any order", &[&[3, 1, 2]], &[Some((12, 3000, true))]),
            ("a report twice", &[&[1], &[1]], &[Some((10, 1000, true)), None]),
            ("one that a later one has passed", &[&[3], &[2]], &[Some((12, 1000, false)), None]),
        ] {
            let mut originals = awaited();
            for (report, expected) in reports.iter().zip(expected) {
                let reported = originals.on_duplicates(report.iter().map(|&tsn: &u32| Tsn(tsn)));
                let expected = expected.map(|(ms, bytes, is_whole)| Reported {
                    sent_at: at(ms),
                    bytes,
                    is_whole,
                });
                assert_eq!(reported, expected, "{what}");
            }
        }
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut originals = Originals::default();
        for tsn in 0..MOST as u32 + 1 {
            originals.on_acked_elsewhere(Tsn(tsn), at(tsn.into()), 1000);
        }
        assert_eq!(originals.sent.len(), MOST);
        assert_eq!(originals.on_duplicates([Tsn(0)].into_iter()), None);
    }
}
