//! Chunks of a path that a SACK over another path was the first to acknowledge.
//!
//! Where SACKs take less time over another path, they may acknowledge all that was sent on a path before its own arrive. Yet its own SACKs,
//! which bring no news then, still tell when the path delivered: what one of them covers, and the one before did not, arrived between both.

use alloc::collections::VecDeque;

use crate::transmit::outstanding::Newly;
use crate::{Instant, Tsn};

/// Limit on remembered chunks. Trains of packets are no longer.
const MOST: usize = 64;

/// State of one path.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownEarly {
    /// As they became known: mostly in the order of sending.
    chunks: VecDeque<Chunk>,
    /// Others became known, too, or one was forgotten: what the next SACK covers is not all that arrived.
    has_gap: bool,
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    tsn: Tsn,
    sent_at: Instant,
    bytes: u32,
}

/// What a SACK over the path confirms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Confirmed {
    /// When the newest of the chunks was sent.
    pub(crate) newest: Option<Instant>,
    pub(crate) bytes: u64,
    /// More may have arrived since the last SACK over the path.
    pub(crate) may_be_more: bool,
}

impl KnownEarly {
    /// A SACK over another path acknowledges a chunk that arrived over this one. Of one that was sent again, it is unknown when.
    #[inline]
    pub(crate) fn on_acked(&mut self, tsn: Tsn, newly: &Newly) {
        match newly.transmissions {
            1 => self.remember(Chunk { tsn, sent_at: newly.sent_at, bytes: newly.flight_bytes }),
            _ => self.has_gap = true,
        }
    }

    fn remember(&mut self, chunk: Chunk) {
        if self.chunks.len() >= MOST {
            self.chunks.pop_front();
            self.has_gap = true;
        }
        self.chunks.push_back(chunk);
    }

    /// A SACK over the path `covers` these chunks.
    #[inline]
    pub(crate) fn on_sack(&mut self, covers: impl Fn(Tsn) -> bool) -> Confirmed {
        if self.chunks.is_empty() && !self.has_gap {
            return Confirmed::default();
        }
        self.confirm(covers)
    }

    #[inline(never)]
    fn confirm(&mut self, covers: impl Fn(Tsn) -> bool) -> Confirmed {
        let mut confirmed =
            Confirmed { may_be_more: core::mem::take(&mut self.has_gap), ..Confirmed::default() };
        while let Some(chunk) = self.chunks.front().copied()
            && covers(chunk.tsn)
        {
            self.chunks.pop_front();
            confirmed.newest = confirmed.newest.max(Some(chunk.sent_at));
            confirmed.bytes += u64::from(chunk.bytes);
        }
        // Behind one that it leaves out.
        if self.chunks.back().is_some_and(|chunk| covers(chunk.tsn)) {
            self.chunks.clear();
            confirmed.may_be_more = true;
        }
        confirmed
    }

    /// TSNs begin anew.
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

    /// Chunks 1 to 4, which were sent in these milliseconds.
    fn known() -> KnownEarly {
        let mut known = KnownEarly::default();
        for tsn in 1..5 {
            known.remember(Chunk { tsn: Tsn(tsn), sent_at: at(u64::from(tsn)), bytes: 1000 });
        }
        known
    }

    fn confirmed(newest_ms: u64, bytes: u64) -> Confirmed {
        let newest = (bytes > 0).then(|| at(newest_ms));
        Confirmed { newest, bytes, may_be_more: false }
    }

    #[test]
    fn each_chunk_is_confirmed_by_the_first_sack_that_covers_it() {
        let unclear = Confirmed { may_be_more: true, ..confirmed(1, 1000) };
        for (what, sacks, expected) in [
            ("none", &[&[][..]][..], &[confirmed(0, 0)][..]),
            ("two, and two", &[&[1, 2], &[1, 2, 3, 4]], &[confirmed(2, 2000), confirmed(4, 2000)]),
            (
                "all, and no more",
                &[&[1, 2, 3, 4], &[1, 2, 3, 4]],
                &[confirmed(4, 4000), confirmed(0, 0)],
            ),
            ("a gap that moves", &[&[1, 3]], &[confirmed(1, 1000)]),
            ("a gap", &[&[1, 4], &[1, 2, 3, 4]], &[unclear, confirmed(0, 0)]),
        ] {
            let mut known = known();
            for (sack, expected) in sacks.iter().zip(expected) {
                assert_eq!(known.on_sack(|tsn| sack.contains(&tsn.0)), *expected, "{what}");
            }
        }
    }

    #[test]
    fn what_is_not_known_of_is_said_once() {
        let mut known = KnownEarly { has_gap: true, ..KnownEarly::default() };
        assert!(known.on_sack(|_| true).may_be_more);
        assert!(!known.on_sack(|_| true).may_be_more);
        for tsn in 0..=MOST as u32 {
            known.remember(Chunk { tsn: Tsn(tsn), sent_at: at(1), bytes: 1000 });
        }
        let confirmed = known.on_sack(|_| true);
        assert_eq!((confirmed.bytes, confirmed.may_be_more), (MOST as u64 * 1000, true));
    }
}
