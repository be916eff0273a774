//! Reinjection at the tail: when nothing new waits, chunks that are still on their way over a slow path are retransmitted on a
//! fast one whose congestion window admits them, if they arrive earlier so.
//!
//! The end of a transfer is otherwise that of its slowest path, and two paths are slower than one. Multipath TCP does the
//! same when the receive window is full (Raiciu et al. 2012, "How hard can it be?", section 4.2, opportunistic retransmission);
//! here it is the sender that has nothing else to do. Chunk rescheduling is the same for buffers that are full.

use crate::{Duration, Instant, Tsn};

/// Timers and hosts are not more exact.
const LEAST_LATE: Duration = Duration::from_millis(2);

/// A chunk in flight and the path that would take it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LateChunk {
    /// Time since its transmission.
    pub(crate) age: Duration,
    /// Smallest round-trip time of the path that it is on: what waits in a queue there, later chunks would report missing
    /// if it was lost, which nothing does at the tail for a copy that is lost in a queue.
    pub(crate) its_rtt: Duration,
    /// Round-trip time of the path that would take it.
    pub(crate) new_rtt: Duration,
}

/// When data sent at `sent_at` on a path with this smoothed round-trip time, whose SACK may be delayed, should have
/// been acknowledged, a quarter late (the allowance of RFC 8985 section 6.2) or as late as the path reorders: it may be
/// lost, and a copy costs nothing on an otherwise idle path.
pub(crate) fn overdue_at(
    sent_at: Instant,
    srtt: Duration,
    reordering: Option<Duration>,
    sack_delay: Duration,
) -> Instant {
    sent_at + srtt + allowed(srtt, reordering) + sack_delay
}

/// How much later than the smoothed round-trip time an answer may come, on a path with this reordering window.
pub(crate) fn allowed(srtt: Duration, reordering: Option<Duration>) -> Duration {
    reordering.unwrap_or_default().max(srtt / 4).max(LEAST_LATE)
}

/// Whether a copy is answered clearly before the original is: by a quarter of its round trip, or paths that are nearly
/// alike would repeat each other's packets.
pub(crate) fn arrives_earlier(waiting: &LateChunk) -> bool {
    let copy = waiting.new_rtt + waiting.new_rtt / 4;
    waiting.its_rtt > waiting.age + copy
}

/// Progress of the search for chunks to reinject. Chunks before this point would not arrive earlier on another path,
/// less so the longer they are in flight: the search returns to one only when its acknowledgement is overdue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SearchPoint {
    next: Tsn,
}

impl SearchPoint {
    /// Nothing was searched yet.
    pub(crate) fn new(initial_tsn: Tsn) -> Self {
        Self { next: initial_tsn }
    }

    /// The acknowledgement of this chunk is overdue: it is searched again unless it is still ahead.
    pub(crate) fn return_to(&mut self, overdue: Tsn) {
        if overdue.is_before(self.next) {
            self.next = overdue;
        }
    }

    /// Everything before `tsn` was searched.
    pub(crate) fn advance_to(&mut self, tsn: Tsn) {
        self.next = tsn;
    }

    /// The first TSN to search of those outstanding, which are the ones from `base` to before `end`.
    pub(crate) fn within(&self, base: Tsn, end: Tsn) -> Tsn {
        match self.next.distance_from(base) <= end.distance_from(base) {
            true => self.next,
            false => base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_goes_on_where_it_ended() {
        for first in [100, u32::MAX - 3] {
            let tsn = |n| Tsn(first).plus(n);
            let mut search = SearchPoint::new(tsn(0));
            assert_eq!(search.within(tsn(0), tsn(0)), tsn(0), "nothing is outstanding");
            assert_eq!(search.within(tsn(0), tsn(8)), tsn(0));
            search.advance_to(tsn(5));
            search.return_to(tsn(6));
            assert_eq!(search.within(tsn(0), tsn(8)), tsn(5), "it comes to an overdue one later");
            assert_eq!(search.within(tsn(5), tsn(8)), tsn(5));
            assert_eq!(search.within(tsn(2), tsn(5)), tsn(5), "all were searched");
            assert_eq!(search.within(tsn(6), tsn(8)), tsn(6), "it was acknowledged");
            search.return_to(tsn(4));
            assert_eq!(search.within(tsn(0), tsn(8)), tsn(4));
        }
    }

    #[test]
    fn only_what_is_quicker_is_sent_again() {
        for (what, age, its_rtt, new_rtt, expected) in [
            ("just sent on a slow path", 0, 400, 20, true),
            ("half way", 200, 400, 20, true),
            ("late, and a copy is clearly earlier all the same", 370, 400, 20, true),
            ("a copy would be a little earlier", 375, 400, 20, false),
            ("as good as there", 390, 400, 20, false),
            ("after its answer was due", 450, 400, 20, false),
            ("paths alike", 0, 44, 40, false),
            ("on the faster one", 0, 20, 400, false),
        ] {
            let ms = Duration::from_millis;
            let waiting = LateChunk { age: ms(age), its_rtt: ms(its_rtt), new_rtt: ms(new_rtt) };
            assert_eq!(arrives_earlier(&waiting), expected, "{what}");
        }
    }

    #[test]
    fn an_answer_may_be_late_by_a_quarter_or_the_reordering_window() {
        let ms = Duration::from_millis;
        for (srtt, reordering, delay, expected) in [
            (200, None, 0, 280),
            (200, None, 200, 480),
            (0, None, 0, 32),
            (200, Some(40), 0, 280),
            (200, Some(90), 200, 520),
        ] {
            let at = overdue_at(Instant::ZERO + ms(30), ms(srtt), reordering.map(ms), ms(delay));
            assert_eq!(at, Instant::ZERO + ms(expected), "{srtt} {reordering:?} {delay}");
        }
    }
}
