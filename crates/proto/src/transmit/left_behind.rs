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
    /// When each was sent, and its bytes.
    chunks: VecDeque<(Instant, u32)>,
    bytes: u64,
    /// When all of it should have arrived, if nothing tells before.
    until: Instant,
}

impl LeftBehind {
    /// A chunk leaves that was sent at `sent_at`; what the path has on its way should be answered at `until`.
    pub(crate) fn on_left(&mut self, now: Instant, sent_at: Instant, bytes: u32, until: Instant) {
        if now >= self.until {
            self.forget();
        }
        self.chunks.push_back((sent_at, bytes));
        self.bytes += u64::from(bytes);
        self.until = self.until.max(until);
    }

    /// A chunk is acknowledged that was sent on the path at `sent_at`: what was sent there before has arrived, or is lost.
    #[inline]
    pub(crate) fn on_acked(&mut self, sent_at: Instant) {
        while let Some((_, bytes)) =
            self.chunks.front().copied().filter(|(sent, _)| *sent < sent_at)
        {
            self.chunks.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }

    /// Bytes that are still on their way.
    pub(crate) fn bytes(&self, now: Instant) -> u64 {
        if now < self.until { self.bytes } else { 0 }
    }

    fn forget(&mut self) {
        self.chunks.clear();
        self.bytes = 0;
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
        assert_eq!(left.bytes(at(19)), 1500, "the later of the two times holds for both");
        left.on_acked(at(1));
        assert_eq!(left.bytes(at(10)), 1500, "what was sent with it may have left after it");
        left.on_acked(at(2));
        assert_eq!(left.bytes(at(10)), 500);
        assert_eq!(left.bytes(at(20)), 0);
        left.on_left(at(30), at(25), 100, at(40));
        assert_eq!(left.bytes(at(35)), 100, "what is over is forgotten");
        left.on_acked(at(31));
        assert_eq!(left.bytes(at(35)), 0);
    }
}
