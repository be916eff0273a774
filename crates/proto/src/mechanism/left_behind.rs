//! Transmissions that remain on their way on a path that their chunk has left.
//!
//! A chunk that moves to another path leaves the flight of the old one, but its transmission is still in a queue there. If new
//! data followed at once, that queue would grow with each chunk that moves, and nothing would measure it, because an acknowledgement
//! of a chunk measures only the path that it was sent on last. So the path takes no new data until the transmission is
//! answered: by a duplicate that the peer reports in a SACK over this path, which measures its round trip, or by the
//! acknowledgement of what was sent later there. It may have been lost, so the wait ends after two round trips; each further
//! wait without an answer is twice as long, because the queue may be longer than any round trip that was measured.
//!
//! A window-based congestion control can pay with its window instead (`dreibholz-asymmetric` section IV-C); one that follows
//! a model of the path cannot.

use crate::{Duration, Instant, Tsn};

/// The last transmission that remains on its way on a path which its chunk has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LeftBehind {
    last: Option<Departure>,
    /// Waits that no answer ended.
    unanswered: u8,
}

/// Doublings of the wait; the timeout is seldom longer.
const MOST_DOUBLINGS: u8 = 6;

/// A transmission that a chunk has left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Departure {
    tsn: Tsn,
    sent_at: Instant,
}

impl LeftBehind {
    /// Nothing is on its way.
    pub(crate) const fn new() -> Self {
        Self { last: None, unanswered: 0 }
    }

    /// A chunk leaves the path on which it was sent last at `sent_at`. Returns how long the path waits from now on: at least a
    /// round trip, at most its timeout.
    pub(crate) fn on_left(
        &mut self,
        now: Instant,
        tsn: Tsn,
        sent_at: Instant,
        rtt: Duration,
        rto: Duration,
    ) -> Duration {
        if self.last.is_some() {
            self.unanswered = self.unanswered.saturating_add(1);
        }
        if self.last.is_none_or(|last| last.sent_at <= sent_at) {
            self.last = Some(Departure { tsn, sent_at });
        }
        let answer = rtt * (2 << self.unanswered.min(MOST_DOUBLINGS));
        (answer - now.since(sent_at)).max(rtt).min(rto)
    }

    /// Something is known to have arrived that was sent later on the path. Returns whether that ends a wait.
    pub(crate) fn on_later_arrived(&mut self) -> bool {
        self.unanswered = 0;
        self.last.take().is_some()
    }

    /// A SACK over the path reports duplicates. If the transmission is among them, that ends the wait, and its time of sending
    /// is returned: its round trip is known.
    pub(crate) fn on_duplicates(
        &mut self,
        mut duplicates: impl Iterator<Item = Tsn>,
    ) -> Option<Instant> {
        let last = self.last?;
        duplicates.any(|tsn| tsn == last.tsn).then(|| {
            *self = Self::new();
            last.sent_at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn leave(left: &mut LeftBehind, tsn: u32, sent_ms: u64, now_ms: u64) -> u64 {
        let (rtt, rto) = (Duration::from_millis(10), Duration::from_millis(200));
        left.on_left(at(now_ms), Tsn(tsn), at(sent_ms), rtt, rto).as_millis()
    }

    #[test]
    fn a_duplicate_of_the_last_one_measures_the_path() {
        let mut left = LeftBehind::new();
        assert_eq!(left.on_duplicates([Tsn(7)].into_iter()), None, "nothing left");
        for (tsn, sent_ms) in [(7, 10), (9, 30), (8, 20)] {
            leave(&mut left, tsn, sent_ms, 30);
        }
        for (duplicates, expected) in [
            (&[][..], None),
            (&[Tsn(7), Tsn(8)], None),
            (&[Tsn(7), Tsn(9)], Some(at(30))),
            (&[Tsn(9)], None),
        ] {
            assert_eq!(left.on_duplicates(duplicates.iter().copied()), expected, "{duplicates:?}");
        }
        assert_eq!(left, LeftBehind::new());
    }

    #[test]
    fn what_arrives_later_ends_the_wait_once() {
        let mut left = LeftBehind::new();
        assert!(!left.on_later_arrived());
        leave(&mut left, 7, 10, 10);
        assert!(left.on_later_arrived());
        assert!(!left.on_later_arrived());
    }

    /// Round trips of 10 ms, and a timeout of 200 ms.
    #[test]
    fn waits_double_until_there_is_an_answer() {
        let mut left = LeftBehind::new();
        assert_eq!(leave(&mut left, 1, 0, 5), 15, "two round trips from when it was sent");
        assert_eq!(leave(&mut left, 2, 20, 20), 40);
        assert_eq!(leave(&mut left, 3, 60, 139), 10, "a round trip at least");
        assert_eq!(leave(&mut left, 4, 150, 160), 150);
        assert_eq!(leave(&mut left, 5, 400, 400), 200, "the timeout at most");
        left.on_later_arrived();
        assert_eq!(leave(&mut left, 6, 700, 700), 20);
        (0..300).for_each(|_| {
            leave(&mut left, 7, 800, 800);
        });
    }
}
