//! What has left the flight of a path for another one and is still on its way there.
//!
//! A chunk that is moved, or probes for its path, counts in the flight of the path that takes it. Its first transmission stays in
//! the network and takes its time at the bottleneck, so that what follows waits for it. Where the next chunk arrives is asked of what is
//! in flight and of what was left behind.

use alloc::collections::VecDeque;

use crate::Instant;

/// State of one path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LeftBehind {
    /// In the order in which they left the flight.
    chunks: VecDeque<LeftChunk>,
    bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LeftChunk {
    sent_at: Instant,
    bytes: u32,
    /// When it should have been answered, if nothing tells before.
    until: Instant,
}

impl LeftBehind {
    /// A chunk leaves that was sent at `sent_at`; what the path has on its way should be answered at `until`.
    pub(crate) fn on_left(&mut self, now: Instant, sent_at: Instant, bytes: u32, until: Instant) {
        self.forget_while(|chunk| chunk.until <= now);
        self.chunks.push_back(LeftChunk { sent_at, bytes, until });
        self.bytes += u64::from(bytes);
    }

    /// A chunk is acknowledged that was sent on the path at `sent_at`: what was sent there before has arrived, or is lost.
    #[inline]
    pub(crate) fn on_acked(&mut self, sent_at: Instant) {
        self.forget_while(|chunk| chunk.sent_at < sent_at);
    }

    /// Bytes that are still on their way.
    pub(crate) fn bytes(&self, now: Instant) -> u64 {
        let expired = self.chunks.iter().take_while(|chunk| chunk.until <= now);
        self.bytes - expired.map(|chunk| u64::from(chunk.bytes)).sum::<u64>()
    }

    fn forget_while(&mut self, is_over: impl Fn(&LeftChunk) -> bool) {
        while let Some(chunk) = self.chunks.front().copied().filter(&is_over) {
            self.chunks.pop_front();
            self.bytes -= u64::from(chunk.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn what_left_a_path_is_on_its_way_until_something_later_arrives_or_its_time_is_over() {
        let mut left = LeftBehind::default();
        assert_eq!(left.bytes(at(0)), 0);
        left.on_left(at(5), at(1), 1000, at(20));
        left.on_left(at(6), at(3), 500, at(18));
        assert_eq!(left.bytes(at(19)), 1500, "what left first is still on its way");
        left.on_acked(at(1));
        assert_eq!(left.bytes(at(10)), 1500, "what was sent with it may have left after it");
        left.on_acked(at(2));
        assert_eq!(left.bytes(at(10)), 500);
        assert_eq!(left.bytes(at(18)), 0);
        left.on_left(at(30), at(25), 100, at(40));
        assert_eq!(left.bytes(at(35)), 100, "what is over is forgotten");
        left.on_acked(at(31));
        assert_eq!(left.bytes(at(35)), 0);
    }

    /// One chunk leaves each 10 ms, and is answered after 15.
    #[test]
    fn what_leaves_later_does_not_keep_the_rest() {
        let mut left = LeftBehind::default();
        for n in 0..100 {
            left.on_left(at(10 * n), at(10 * n), 1000, at(10 * n + 15));
            assert!(left.bytes(at(10 * n)) <= 2000 && left.chunks.len() <= 2, "{n}");
        }
    }
}
