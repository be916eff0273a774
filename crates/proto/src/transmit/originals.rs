//! First transmissions of a path that were still on their way when a copy brought their chunk over another one.
//!
//! The peer reports them as duplicates when they arrive (RFC 9260 section 3.3.4). If all chunks of a path are copied to one with a
//! lower RTT, these reports are all that tells how fast the path delivers.

use alloc::collections::VecDeque;

use crate::{Instant, Tsn};

/// Most that are remembered: the flight of a thin flow is shorter, and what is not copied measures the path as well.
const MOST: usize = 64;

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
}

impl Originals {
    /// The chunk was acknowledged over another path, where a copy of it had been sent.
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
        let mut reported: Option<Reported> = None;
        for tsn in duplicates {
            let Some(place) = self.sent.iter().position(|original| original.tsn == tsn) else {
                continue;
            };
            if let Some(last) = self.sent.drain(..=place).next_back() {
                let bytes = reported.map_or(0, |it| it.bytes) + u64::from(last.bytes);
                reported = Some(Reported { sent_at: last.sent_at, bytes });
            }
        }
        reported
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
            ("each in its turn", &[&[1], &[2]], &[Some((10, 1000)), Some((11, 1000))]),
            ("two in one SACK", &[&[1, 2]], &[Some((11, 2000))]),
            ("a report twice", &[&[1], &[1]], &[Some((10, 1000)), None]),
            ("one that a later one has passed", &[&[3], &[2]], &[Some((12, 1000)), None]),
        ] {
            let mut originals = awaited();
            for (report, expected) in reports.iter().zip(expected) {
                let reported = originals.on_duplicates(report.iter().map(|&tsn: &u32| Tsn(tsn)));
                let expected = expected.map(|(ms, bytes)| Reported { sent_at: at(ms), bytes });
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
