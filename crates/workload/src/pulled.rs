//! Sources that send as much as the transport takes.

use polypath_units::{ByteCount, Duration};

use crate::random::Stream;
use crate::{Distribution, NetPerfMeter};

/// Bytes without regard to time, cut into messages.
#[derive(Clone, Debug)]
pub(crate) struct Pulled {
    /// Bytes that are left of a file; nothing for a source without end.
    left: Option<u64>,
    sizes: Distribution<ByteCount>,
    /// Longest message; what is longer is cut.
    longest: u64,
    /// What is left of a frame that was cut.
    frame: u64,
    /// When it is on and off.
    turns: Option<NetPerfMeter>,
}

impl Pulled {
    pub fn file(size: ByteCount, sizes: Distribution<ByteCount>) -> Self {
        Self { left: Some(size.as_bytes()), ..Self::endless(sizes) }
    }

    pub fn endless(sizes: Distribution<ByteCount>) -> Self {
        Self { left: None, sizes, longest: u32::MAX.into(), frame: 0, turns: None }
    }

    pub fn meter(of: NetPerfMeter) -> Self {
        let longest = of.max_message_size.as_bytes();
        Self { longest, turns: Some(of.clone()), ..Self::endless(of.frame_size) }
    }

    /// Length of the next message, which stays the same until it is [taken](Self::taken).
    #[inline]
    pub fn next(&mut self, shortest: u64, longest: u64, rng: &mut Stream) -> u64 {
        if self.frame == 0 {
            self.frame = self.sizes.draw(rng).as_bytes().max(shortest);
        }
        self.frame.min(self.longest).min(longest).min(self.left.unwrap_or(u64::MAX))
    }

    #[inline]
    pub fn taken(&mut self, bytes: u64) {
        self.frame = self.frame.saturating_sub(bytes);
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(bytes);
        }
    }

    /// Bytes that are left of a file.
    #[inline]
    pub fn left(&self) -> Option<u64> {
        self.left
    }

    #[inline]
    pub fn is_on(&self, after: Duration) -> bool {
        self.turns.as_ref().is_none_or(|turns| turns.is_on(after))
    }

    #[inline]
    pub fn next_turn(&self, after: Duration) -> Option<Duration> {
        self.turns.as_ref()?.next_turn(after)
    }
}
