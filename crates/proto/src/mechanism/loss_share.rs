//! Which paths lose chunks, and which of them loses most: their chunks are the first of which copies are sent.
//!
//! A response has more chunks than copies. Whether a path loses one in a hundred or one in a thousand is seen only after so many
//! chunks, so that more are remembered than for decisions about congestion.

use core::cmp::Ordering;

/// When this many chunks are counted, all counts are halved.
const MEMORY: u32 = 4096;

/// A path that loses a smaller part than one in so many seldom loses something of a message.
const SELDOM: u32 = 1000;

/// Chunks of a path that were delivered or lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LossShare {
    chunks: u32,
    lost: u32,
}

impl LossShare {
    /// Nothing was sent.
    pub(crate) const fn new() -> Self {
        Self { chunks: 0, lost: 0 }
    }

    /// Chunks were acknowledged.
    #[inline]
    pub(crate) fn on_delivered(&mut self, chunks: u32) {
        self.chunks = self.chunks.saturating_add(chunks);
        while self.chunks >= MEMORY {
            (self.chunks, self.lost) = (self.chunks / 2, self.lost / 2);
        }
    }

    /// A chunk was found lost.
    pub(crate) fn on_lost(&mut self) {
        self.lost += 1;
        self.on_delivered(1);
    }

    /// Whether the path loses at least one in a thousand chunks, as far as it is known.
    pub(crate) fn is_large(&self) -> bool {
        self.lost > 0 && self.lost * SELDOM >= self.chunks
    }

    /// Compares which part of their chunks two paths lose.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let part = |one: &Self, of: &Self| u64::from(one.lost) * u64::from(of.chunks.max(1));
        part(self, other).cmp(&part(other, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(delivered: u32, lost: u32) -> LossShare {
        let mut share = LossShare::new();
        (0..lost).for_each(|_| share.on_lost());
        share.on_delivered(delivered);
        share
    }

    #[test]
    fn a_path_is_known_to_lose_until_a_thousand_chunks_per_loss_were_delivered() {
        for (delivered, lost, expected) in [
            (0, 0, false),
            (999, 0, false),
            (0, 1, true),
            (999, 1, true),
            (1000, 1, false),
            (1998, 2, true),
            (1999, 2, false),
            (u32::MAX, 4000, false),
        ] {
            assert_eq!(share(delivered, lost).is_large(), expected, "{delivered} {lost}");
        }
    }

    #[test]
    fn counts_are_halved_together() {
        assert_eq!(share(4095 - 40, 40), LossShare { chunks: 4095, lost: 40 });
        let mut halved = share(4096 - 40, 40);
        assert_eq!(halved, LossShare { chunks: 2048, lost: 20 });
        halved.on_delivered(3 * 4096);
        assert_eq!(halved, LossShare { chunks: 3584, lost: 5 });
    }

    #[test]
    fn what_is_compared_is_the_part_and_not_the_number() {
        for (one, other, expected) in [
            (share(990, 10), share(99, 1), Ordering::Equal),
            (share(990, 10), share(49, 1), Ordering::Less),
            (share(9, 1), share(3000, 90), Ordering::Greater),
            (share(0, 1), share(50, 50), Ordering::Greater),
            (share(9, 0), LossShare::new(), Ordering::Equal),
            (share(1000, 1), share(9, 0), Ordering::Greater),
        ] {
            assert_eq!(one.compare(&other), expected, "{one:?} {other:?}");
        }
    }
}
