//! Chunks of a path that a SACK over another path was the first to acknowledge.
//!
//! Where SACKs take less time over another path, they may acknowledge all that was sent on a path before its own arrive. Yet its own SACKs,
//! which bring no news then, still tell when the path delivered: what one of them covers, and the one before did not, arrived between both.
//!
//! But a peer may send none for a chunk, since the SACK over the other path told of it. Then a SACK over this path that comes more than a
//! round trip later answers something else, and so may one that a copy brought. And while SACKs have no room for all gap ack blocks, the one before may have left out what this
//! one names. Neither tells when the chunk arrived.

use alloc::collections::VecDeque;

use crate::transmit::outstanding::{History, Newly};
use crate::{Duration, Instant, Tsn};

/// Limit on remembered chunks: on a path that delivers more while its SACKs are longer on their way than those of others, they tell nothing.
const MOST: usize = 256;

/// State of one path.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownEarly {
    /// As they became known: mostly in the order of sending.
    chunks: VecDeque<Chunk>,
    /// Others became known, too, or one was forgotten: what the next SACK covers is not all that arrived.
    has_gap: bool,
    /// The last SACK over the path may have left out what this one names.
    after_partial: bool,
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    tsn: Tsn,
    sent_at: Instant,
    /// When the SACK over the other path came.
    known_at: Instant,
    bytes: u32,
    asked_for_sack: bool,
}

/// A SACK over the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnSack {
    pub(crate) now: Instant,
    /// A round trip of the path.
    pub(crate) round_trip: Duration,
    /// It may leave out some of what has arrived.
    pub(crate) is_partial: bool,
    /// A copy may have brought it.
    pub(crate) may_answer_copy: bool,
}

/// What a SACK over the path confirms.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Confirmed {
    /// When the newest of the chunks was sent, and whether it asked for a SACK at once.
    pub(crate) newest: Option<(Instant, bool)>,
    pub(crate) bytes: u64,
    /// More may have arrived since the last SACK over the path.
    pub(crate) may_be_more: bool,
}

impl KnownEarly {
    /// A SACK over another path acknowledges a chunk that arrived over this one. Of one that was sent again, or acknowledged and taken back, it
    /// is unknown when.
    #[inline]
    pub(crate) fn on_acked(&mut self, now: Instant, tsn: Tsn, newly: &Newly) {
        if newly.transmissions > 1 || newly.history.contains(History::CREDITED) {
            self.has_gap = true;
            return;
        }
        self.remember(Chunk {
            tsn,
            sent_at: newly.sent_at,
            known_at: now,
            bytes: newly.flight_bytes,
            asked_for_sack: newly.asked_for_sack,
        });
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
    pub(crate) fn on_sack(&mut self, sack: OwnSack, covers: impl Fn(Tsn) -> bool) -> Confirmed {
        let after_partial = core::mem::replace(&mut self.after_partial, sack.is_partial);
        if self.chunks.is_empty() && !self.has_gap {
            return Confirmed::default();
        }
        let is_unclear = after_partial || sack.is_partial || sack.may_answer_copy;
        self.confirm(sack, is_unclear, covers)
    }

    #[inline(never)]
    fn confirm(
        &mut self,
        sack: OwnSack,
        is_unclear: bool,
        covers: impl Fn(Tsn) -> bool,
    ) -> Confirmed {
        let mut confirmed =
            Confirmed { may_be_more: core::mem::take(&mut self.has_gap), ..Confirmed::default() };
        while let Some(chunk) = self.chunks.front().copied()
            && covers(chunk.tsn)
        {
            self.chunks.pop_front();
            if is_unclear || sack.now.since(chunk.known_at) > sack.round_trip {
                confirmed.may_be_more = true;
                continue;
            }
            confirmed.newest = confirmed.newest.max(Some((chunk.sent_at, chunk.asked_for_sack)));
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
    use crate::PathId;

    const ROUND_TRIP: Duration = Duration::from_millis(40);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Chunks 1 to 4, which were sent in these milliseconds, and known at 20 ms. The second one asked for a SACK.
    fn known() -> KnownEarly {
        let mut known = KnownEarly::default();
        for tsn in 1..5 {
            known.on_acked(at(20), Tsn(tsn), &sent_at(tsn.into()));
        }
        known
    }

    fn sent_at(ms: u64) -> Newly {
        Newly {
            path: PathId(0),
            flight_bytes: 1000,
            user_bytes: 1000,
            transmissions: 1,
            history: History::default(),
            sent_at: at(ms),
            was_in_flight: true,
            asked_for_sack: ms == 2,
        }
    }

    fn own(now: u64) -> OwnSack {
        OwnSack { now: at(now), round_trip: ROUND_TRIP, is_partial: false, may_answer_copy: false }
    }

    fn confirmed(newest_ms: u64, bytes: u64) -> Confirmed {
        let newest = (bytes > 0).then(|| (at(newest_ms), newest_ms == 2));
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
                assert_eq!(
                    known.on_sack(own(30), |tsn| sack.contains(&tsn.0)),
                    *expected,
                    "{what}"
                );
            }
        }
    }

    #[test]
    fn a_sack_that_answers_something_else_confirms_nothing() {
        let nothing = Confirmed { may_be_more: true, ..Confirmed::default() };
        for (what, sack, expected) in [
            ("a round trip later", own(60), confirmed(4, 4000)),
            ("more than that", own(61), nothing),
            ("a copy brought it", OwnSack { may_answer_copy: true, ..own(30) }, nothing),
            ("blocks were left out", OwnSack { is_partial: true, ..own(30) }, nothing),
        ] {
            let mut known = known();
            assert_eq!(known.on_sack(sack, |_| true), expected, "{what}");
            assert_eq!(known.on_sack(sack, |_| true), Confirmed::default(), "{what}: once");
        }
        let mut known = known();
        known.on_sack(OwnSack { is_partial: true, ..own(30) }, |_| false);
        assert_eq!(known.on_sack(own(31), |_| true), nothing, "the one before left blocks out");
    }

    #[test]
    fn what_is_not_known_of_is_said_once() {
        for (what, newly) in [
            ("sent again", Newly { transmissions: 2, ..sent_at(1) }),
            ("taken back", Newly { history: History::CREDITED, ..sent_at(1) }),
        ] {
            let mut known = KnownEarly::default();
            known.on_acked(at(20), Tsn(1), &newly);
            assert_eq!(
                known.on_sack(own(30), |_| true),
                Confirmed { may_be_more: true, ..Confirmed::default() },
                "{what}"
            );
            assert!(!known.on_sack(own(30), |_| true).may_be_more, "{what}");
        }
        let mut known = KnownEarly::default();
        for tsn in 0..=MOST as u32 {
            known.on_acked(at(20), Tsn(tsn), &sent_at(1));
        }
        let confirmed = known.on_sack(own(30), |_| true);
        assert_eq!((confirmed.bytes, confirmed.may_be_more), (MOST as u64 * 1000, true));
    }

    #[test]
    fn nothing_is_left_where_tsns_begin_anew() {
        let mut known = KnownEarly { has_gap: true, ..known() };
        known.clear();
        assert_eq!(known.on_sack(own(30), |_| true), Confirmed::default());
    }
}
