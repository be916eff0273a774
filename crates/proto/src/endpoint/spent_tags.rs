//! Verification tags of associations that have ended: the cookies that brought them are spent.
//!
//! A COOKIE ECHO that the network duplicates or delays may arrive after the end of the association, while its cookie is
//! still valid. The association that it would create has the tags of the ended one: a peer that waits for SHUTDOWN
//! COMPLETE would repeat its SHUTDOWN ACK to that one without effect, and count as unreachable. RFC 9260 section 5.3.1
//! requires another tag for each new association with the same peer, so tags are remembered for the life of a cookie.

use alloc::collections::{BTreeSet, VecDeque};

use crate::{Duration, Instant};

/// Most tags that are remembered, some 2 MB; beyond them the oldest are forgotten.
const MOST: usize = 1 << 16;

/// The tags of an endpoint.
#[derive(Debug, Default)]
pub(super) struct SpentTags {
    tags: BTreeSet<u32>,
    /// In the order in which they are forgotten, and when.
    queue: VecDeque<(Instant, u32)>,
    /// Of associations that ended since the time was last known.
    new: VecDeque<u32>,
}

impl SpentTags {
    /// The association with this tag has ended.
    pub(super) fn add(&mut self, tag: u32) {
        if self.tags.insert(tag) {
            self.new.push_back(tag);
        }
        if self.tags.len() > MOST {
            let oldest =
                self.queue.pop_front().map(|(_, tag)| tag).or_else(|| self.new.pop_front());
            oldest.map(|tag| self.tags.remove(&tag));
        }
    }

    /// Whether an association with this tag has ended, as far as is remembered: for `life` from the first question on.
    pub(super) fn contains(&mut self, tag: u32, now: Instant, life: Duration) -> bool {
        self.queue.extend(self.new.drain(..).map(|tag| (now + life, tag)));
        while let Some((end, old)) = self.queue.front().copied()
            && end < now
        {
            self.queue.pop_front();
            self.tags.remove(&old);
        }
        self.tags.contains(&tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(120);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_tag_is_spent_for_as_long_as_its_cookie_may_live() {
        let mut tags = SpentTags::default();
        tags.add(7);
        for (now, tag, is_spent) in
            [(0, 7, true), (0, 8, false), (120, 7, true), (121, 7, false), (500, 7, false)]
        {
            assert_eq!(tags.contains(tag, at(now), LIFE), is_spent, "{tag} at {now}");
        }
        tags.add(7);
        assert!(tags.contains(7, at(600), LIFE), "it can be given again, and end again");
        assert_eq!((tags.tags.len(), tags.queue.len(), tags.new.len()), (1, 1, 0));
    }

    #[test]
    fn the_oldest_are_forgotten_where_they_are_too_many() {
        for asked in [false, true] {
            let mut tags = SpentTags::default();
            for tag in 0..MOST as u32 + 2 {
                tags.add(tag);
                if asked && tag == 1 {
                    assert!(tags.contains(0, at(1), LIFE));
                }
            }
            for (tag, is_spent) in [(0, false), (1, false), (2, true), (MOST as u32 + 1, true)] {
                assert_eq!(tags.contains(tag, at(2), LIFE), is_spent, "{tag}");
            }
        }
    }
}
