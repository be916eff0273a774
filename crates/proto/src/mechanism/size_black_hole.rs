//! Chunks that are too large for every path of a reachable peer.
//!
//! A chunk keeps its size. If the MTU of all paths falls below it, larger packets are not fragmented, and no router
//! reports that, each of its retransmissions times out, while heartbeats are answered and clear the error counters of
//! RFC 9260 section 8. The association would neither progress nor end. Timeouts of the lowest chunk are therefore
//! counted separately, as often as a timer expires that backs off, and only while something smaller is answered.

use crate::types::PathSet;
use crate::{Duration, Instant, PathId, Tsn};

/// Timeouts of the lowest outstanding chunk, counted while it is larger than anything known to arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SizeBlackHole {
    tsn: Tsn,
    timeouts: u32,
    /// When one counted last, and for how long none counts from then on.
    counted: Instant,
    wait: Duration,
    /// Paths that it timed out on.
    paths: PathSet,
    /// The peer has answered something since one counted last.
    is_answered: bool,
}

/// A timeout of the lowest outstanding chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LowestTimeout {
    pub(crate) tsn: Tsn,
    pub(crate) path: PathId,
    /// Timeout of the path that is not backed off.
    pub(crate) rto: Duration,
    /// RTO.Max.
    pub(crate) longest: Duration,
}

impl SizeBlackHole {
    /// Nothing has timed out yet.
    pub(crate) fn new(tsn: Tsn) -> Self {
        Self {
            tsn,
            timeouts: 0,
            counted: Instant::ZERO,
            wait: Duration::ZERO,
            paths: PathSet::EMPTY,
            is_answered: true,
        }
    }

    /// The peer answered something.
    pub(crate) fn on_answer(&mut self) {
        self.is_answered = true;
    }

    /// The chunk has timed out. Counting starts again for another one.
    pub(crate) fn on_timeout(&mut self, now: Instant, timeout: LowestTimeout) {
        if timeout.tsn != self.tsn {
            *self = Self::new(timeout.tsn);
        }
        self.paths.insert(timeout.path);
        if !self.is_answered || now.since(self.counted) < self.wait {
            return;
        }
        self.is_answered = false;
        self.timeouts += 1;
        self.counted = now;
        self.wait = (self.wait * 2).max(timeout.rto * 2).min(timeout.longest);
    }

    /// Whether the chunk has timed out more than so often, and on each of these paths.
    pub(crate) fn is_proved(&self, most: u32, paths: impl Iterator<Item = PathId>) -> bool {
        let mut paths = paths;
        self.timeouts > most && paths.all(|path| self.paths.contains(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn timeout(tsn: u32, path: u8) -> LowestTimeout {
        LowestTimeout {
            tsn: Tsn(tsn),
            path: PathId(path),
            rto: Duration::from_secs(1),
            longest: Duration::from_secs(60),
        }
    }

    fn both() -> impl Iterator<Item = PathId> {
        [PathId(0), PathId(1)].into_iter()
    }

    #[test]
    fn as_many_count_as_a_timer_that_backs_off_expires() {
        let mut hole = SizeBlackHole::new(Tsn(5));
        let mut proved = None;
        for secs in 0..2000 {
            hole.on_timeout(at(secs), timeout(5, (secs % 2) as u8));
            hole.on_answer();
            if hole.is_proved(20, both()) {
                proved = proved.or(Some(secs));
            }
        }
        // 2, 4, 8, 16 and 32 s, and then 60 s each.
        assert_eq!(proved, Some(62 + 15 * 60));
    }

    #[test]
    fn what_else_it_takes() {
        for (what, answers, on_both, tsns, proved) in [
            ("small packets are answered, and the chunk is not", true, true, 1, true),
            ("nothing is answered", false, true, 1, false),
            ("one path was not tried", true, false, 1, false),
            ("the cumulative ack advances", true, true, 2, false),
        ] {
            let mut hole = SizeBlackHole::new(Tsn(5));
            for secs in 0..2000 {
                let path = if on_both { (secs % 2) as u8 } else { 0 };
                hole.on_timeout(at(secs), timeout(5 + (secs % tsns) as u32, path));
                if answers {
                    hole.on_answer();
                }
            }
            assert_eq!(hole.is_proved(20, both()), proved, "{what}");
        }
    }
}
