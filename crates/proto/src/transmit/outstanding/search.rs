//! Finding outstanding chunks by what is known of them.

use super::OutstandingData;
use crate::mechanism::reordering::Transmission;
use crate::transmit::bit_ring::BitRing;
use crate::types::Fate;
use crate::{Instant, PathId, Tsn};

impl OutstandingData {
    /// Whether a gap block acknowledged `tsn`, which is outstanding.
    pub(crate) fn is_acked(&self, tsn: Tsn) -> bool {
        self.acked.get(tsn)
    }

    /// The first TSN in `from..end` that no gap block acknowledged.
    pub(crate) fn next_unacked(&self, from: Tsn, end: Tsn) -> Option<Tsn> {
        self.acked.next_clear(from, end)
    }

    /// The first TSN in `from..end` that a gap block acknowledged.
    pub(crate) fn next_acked(&self, from: Tsn, end: Tsn) -> Option<Tsn> {
        self.acked.next_set(from, end)
    }

    /// The first chunk on `path` in `from..end` for which missing reports count.
    pub(crate) fn next_countable_on(&self, path: PathId, from: Tsn, end: Tsn) -> Option<Tsn> {
        let bits = self.paths.get(path.index())?;
        let first = bits.first.next_set_in_both(&self.countable, later(from, bits.first_low), end);
        let again = bits.again.next_set_in_both(&self.countable, later(from, bits.again_low), end);
        earlier_of(first, again)
    }

    /// The first chunk that was sent once, on `path`, from `from` on, for which missing reports count.
    pub(crate) fn next_sent_once_on(&self, path: PathId, from: Tsn) -> Option<Tsn> {
        let bits = self.paths.get(path.index())?;
        let from = later(from, later(self.base, bits.first_low));
        bits.first.next_set_in_both(&self.countable, from, self.next)
    }

    /// Whether this is the last transmission of a chunk, on that path, and in flight.
    pub(crate) fn is_in_flight(&self, sent: Transmission, path: PathId) -> bool {
        self.contains(sent.tsn) && {
            let chunk = self.get(sent.tsn);
            chunk.fate == Fate::InFlight && chunk.path == path && chunk.sent_at == sent.at
        }
    }

    /// The first chunk of any path in `from..end` for which missing reports count.
    pub(crate) fn next_countable(&self, from: Tsn, end: Tsn) -> Option<Tsn> {
        self.countable.next_set(from, end)
    }

    /// Lowest unacknowledged chunk of `path` that was transmitted once, and lowest that was retransmitted.
    #[inline]
    pub(crate) fn lowest_on(&mut self, path: PathId) -> (Option<Tsn>, Option<Tsn>) {
        let Some(bits) = self.paths.get(path.index()) else { return (None, None) };
        let low = bits.first_low;
        // Where nothing was acknowledged on the path since the last search, its end is known.
        if !bits.has_again
            && !low.is_before(self.base)
            && low.is_before(self.next)
            && bits.first.get(low)
        {
            return (Some(low), None);
        }
        self.search_lowest_on(path)
    }

    #[inline(never)]
    fn search_lowest_on(&mut self, path: PathId) -> (Option<Tsn>, Option<Tsn>) {
        let (base, end) = (self.base, self.next);
        let Some(bits) = self.paths.get_mut(path.index()) else { return (None, None) };
        bits.first_low = lowest(&bits.first, later(base, bits.first_low), end);
        bits.again_low = match bits.has_again {
            true => lowest(&bits.again, later(base, bits.again_low), end),
            // As long as nothing is retransmitted, there is nothing to search.
            false => end,
        };
        bits.has_again = bits.again_low != end;
        let found = |low: Tsn| (low != end).then_some(low);
        (found(bits.first_low), found(bits.again_low))
    }

    /// The unacknowledged chunks of `path` from `from` on, in TSN order.
    pub(crate) fn next_unacked_on(&self, path: PathId, from: Tsn) -> Option<Tsn> {
        let bits = self.paths.get(path.index())?;
        let first = bits.first.next_set(later(from, later(self.base, bits.first_low)), self.next);
        if !bits.has_again {
            return first;
        }
        let again = bits.again.next_set(later(from, later(self.base, bits.again_low)), self.next);
        earlier_of(first, again)
    }

    /// When the oldest transmission on `path` was made that is still in flight. Goes over all of them, so it is only for
    /// rare events.
    pub(crate) fn oldest_in_flight_on(&self, path: PathId) -> Option<Instant> {
        let mut oldest: Option<Instant> = None;
        let mut from = self.base;
        while let Some(tsn) = self.next_unacked_on(path, from) {
            let chunk = self.get(tsn);
            if chunk.fate == Fate::InFlight {
                oldest = Some(oldest.map_or(chunk.sent_at, |oldest| oldest.min(chunk.sent_at)));
            }
            from = tsn.next();
        }
        oldest
    }

    /// Highest unacknowledged TSN of `path`; searches backwards, so it is only for rare events.
    pub(crate) fn highest_on(&self, path: PathId) -> Option<Tsn> {
        let mut last = None;
        let mut from = self.base;
        while let Some(tsn) = self.next_unacked_on(path, from) {
            last = Some(tsn);
            from = tsn.next();
        }
        last
    }

    /// The lowest lost chunk whose last transmission was on `path`.
    pub(crate) fn lowest_lost_on(&self, path: PathId) -> Option<Tsn> {
        if self.lost_count == 0 {
            return None;
        }
        let bits = self.paths.get(path.index())?;
        let start = later(self.base, self.lost_low);
        let first =
            bits.first.next_set_in_both(&self.lost, later(start, bits.first_low), self.next);
        let again =
            bits.again.next_set_in_both(&self.lost, later(start, bits.again_low), self.next);
        earlier_of(first, again)
    }
}

/// The lowest one bit in `from..end`, or `end`.
#[inline]
fn lowest(ring: &BitRing, from: Tsn, end: Tsn) -> Tsn {
    // Mostly it is the one of the last time, or there is none.
    if !from.is_before(end) {
        end
    } else if ring.get(from) {
        from
    } else {
        ring.next_set(from.next(), end).unwrap_or(end)
    }
}

fn later(a: Tsn, b: Tsn) -> Tsn {
    if a.is_before(b) { b } else { a }
}

fn earlier_of(a: Option<Tsn>, b: Option<Tsn>) -> Option<Tsn> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.is_before(a) { b } else { a }),
        (a, b) => a.or(b),
    }
}
