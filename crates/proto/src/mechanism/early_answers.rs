//! The first round trip of a path whose data is acknowledged over other paths.
//!
//! A peer sends no SACK over a path before it has confirmed it (RFC 9260 section 5.4), so the first chunks on a path
//! are acknowledged over another one, and the first SACKs over the path itself answer later chunks. SACKs return over
//! the path of the last data: of the chunks that one covers, it answers the one sent last.

use alloc::collections::VecDeque;

use crate::{Duration, Instant, Tsn};

/// Chunks that are remembered of one path.
const MOST: usize = 32;

/// A chunk that was sent on the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EarlyChunk {
    pub(crate) tsn: Tsn,
    pub(crate) sent_at: Instant,
    /// What it took in flight.
    pub(crate) flight_bytes: u32,
    /// It was sent before, on this or another path: that it is acknowledged says little, since that may have arrived.
    pub(crate) is_again: bool,
}

/// Chunks sent on a path that data has not measured, in that order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct EarlyAnswers {
    chunks: VecDeque<EarlyChunk>,
}

impl EarlyAnswers {
    /// A chunk is sent, for the first time or again.
    pub(crate) fn on_sent(&mut self, chunk: EarlyChunk) {
        if self.chunks.len() == MOST {
            self.chunks.pop_front();
        }
        self.chunks.push_back(chunk);
    }

    /// It is unknown what answers the chunk.
    pub(crate) fn forget(&mut self, tsn: Tsn) {
        self.chunks.retain(|chunk| chunk.tsn != tsn);
    }

    /// A SACK arrived over the path. Returns the chunk that it answers, unless that may be one that was sent again long after
    /// it. A chunk that moved to another path may have arrived there: answers before `smallest` do not count, or if it would
    /// answer no chunk then, those more than a quarter sooner, since what is known of the path may come from larger packets. None is expected
    /// after `longest`.
    pub(crate) fn on_sack(
        &self,
        now: Instant,
        (smallest, longest): (Duration, Duration),
        covers: impl Fn(Tsn) -> bool,
    ) -> Option<EarlyChunk> {
        let may_be = |least: Duration| {
            let is_due =
                move |chunk: &EarlyChunk| (least..=longest).contains(&now.since(chunk.sent_at));
            let covers = &covers;
            move |chunk: &&EarlyChunk| is_due(chunk) && covers(chunk.tsn)
        };
        let is_due = self.chunks.iter().any(|chunk| may_be(smallest)(&chunk));
        let may_be = may_be(if is_due { smallest } else { smallest - smallest / 4 });
        let mut answered = self.chunks.iter().rev().filter(may_be).peekable();
        let latest = answered.peek()?.sent_at;
        let last = answered.find(|chunk| !chunk.is_again)?;
        let apart = latest.since(last.sent_at);
        (apart <= now.since(last.sent_at) / 4).then_some(*last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn sent(tsn: u32, sent_at: Instant) -> EarlyChunk {
        EarlyChunk { tsn: Tsn(tsn), sent_at, flight_bytes: 1000, is_again: false }
    }

    /// TSN 1 leaves at 0 ms, 2 and 3 at 50 ms; a round trip takes 100 ms or more.
    #[test]
    fn a_sack_answers_what_left_last_of_what_it_covers() {
        for (what, now_ms, covered, copied_ms, answers) in [
            ("the first of two that left together", 160, 2, None, Some((2, 50))),
            ("the second", 160, 3, None, Some((3, 50))),
            ("too soon for those", 149, 3, None, Some((1, 0))),
            ("for what nothing is covered", 160, 0, None, None),
            ("too late for all", 400, 1, None, None),
            ("a quarter too soon for all", 75, 1, None, Some((1, 0))),
            ("more than that", 74, 1, None, None),
            ("a copy left soon after them", 180, 3, Some(70), Some((3, 50))),
            ("a copy left long after them", 250, 3, Some(110), None),
        ] {
            let mut early = EarlyAnswers::default();
            for (tsn, ms) in [(1, 0), (2, 50), (3, 50)] {
                early.on_sent(sent(tsn, at(ms)));
            }
            if let Some(ms) = copied_ms {
                early.on_sent(EarlyChunk { is_again: true, ..sent(0, at(ms)) });
            }
            let within = (Duration::from_millis(100), Duration::from_millis(300));
            let covers = |tsn: Tsn| tsn.0 <= covered;
            let answer = early.on_sack(at(now_ms), within, covers);
            let answer = answer.map(|chunk| (chunk.tsn, chunk.sent_at));
            assert_eq!(answer, answers.map(|(tsn, ms)| (Tsn(tsn), at(ms))), "{what}");
        }
    }

    #[test]
    fn the_latest_are_remembered() {
        let mut early = EarlyAnswers::default();
        for tsn in 0..=MOST as u32 {
            early.on_sent(sent(tsn, at(0)));
        }
        let within = (Duration::ZERO, Duration::MAX);
        let covers = |only: u32| move |tsn: Tsn| tsn.0 == only;
        assert_eq!(early.on_sack(at(1), within, covers(0)), None, "the first is forgotten");
        assert!(early.on_sack(at(1), within, covers(1)).is_some());
    }
}
