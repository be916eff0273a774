//! Finds the messages whose turn to be abandoned comes first. Entries of messages that are gone stay until they come up or
//! until they are many.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use crate::transmit::lanes::Slot;
use crate::types::Vacant;
use crate::{Instant, Tsn};

/// Entries that may be outdated before it is searched.
const SLACK: usize = 64;

/// Where a message is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// It was sent; the TSN of one of its chunks.
    Sent(u32),
    /// It waits, or the rest of it does.
    Waiting {
        /// Tells it from others in the slot.
        serial: Reverse<u32>,
        /// Where.
        slot: Slot,
    },
}

impl Place {
    pub(crate) fn sent(tsn: Tsn) -> Self {
        Self::Sent(tsn.0)
    }
}

/// Messages by how soon they are abandoned.
#[derive(Debug, Default)]
pub(crate) struct Index {
    deadlines: BinaryHeap<(Reverse<Instant>, Place)>,
    priorities: BinaryHeap<(u32, Place)>,
}

impl Vacant for Index {
    const VACANT: &'static Self =
        &Self { deadlines: BinaryHeap::new(), priorities: BinaryHeap::new() };
}

impl Index {
    /// The earliest deadline.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.peek().map(|(Reverse(deadline), _)| *deadline)
    }

    /// Adds a message that is abandoned at `deadline`.
    pub(crate) fn add_deadline(&mut self, deadline: Instant, place: Place) {
        self.deadlines.push((Reverse(deadline), place));
    }

    /// Adds a message that makes room for others with a lower number.
    pub(crate) fn add_priority(&mut self, priority: u32, place: Place) {
        self.priorities.push((priority, place));
    }

    /// Takes out the next message whose deadline has passed.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Place> {
        let due = self.next_deadline().is_some_and(|deadline| deadline <= now);
        due.then(|| self.deadlines.pop())?.map(|(_, place)| place)
    }

    /// The message that is least important: what waits before what was sent.
    pub(crate) fn least_important(&self) -> Option<(u32, Place)> {
        self.priorities.peek().copied()
    }

    /// Takes it out.
    pub(crate) fn take_least_important(&mut self) {
        self.priorities.pop();
    }

    /// Whether there is no entry, as long as all messages are reliable.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.deadlines.is_empty() && self.priorities.is_empty()
    }

    /// Whether entries of messages that are gone should be looked for, if `messages` can be alive.
    pub(crate) fn is_crowded(&self, messages: usize) -> bool {
        self.deadlines.len().max(self.priorities.len()) > 2 * messages + SLACK
    }

    /// Keeps only what is `alive`.
    pub(crate) fn retain(&mut self, mut alive: impl FnMut(Place) -> bool) {
        self.deadlines.retain(|(_, place)| alive(*place));
        self.priorities.retain(|(_, place)| alive(*place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_as_many_entries_as_messages_and_sixty_four_are_a_crowd() {
        for (entries, messages, is_crowded) in [
            (64, 0, false),
            (65, 0, true),
            (66, 1, false),
            (67, 1, true),
            (70, 3, false),
            (71, 3, true),
        ] {
            let (mut deadlines, mut priorities) = (Index::default(), Index::default());
            for n in 0..entries {
                deadlines.add_deadline(Instant::ZERO, Place::Sent(n));
                priorities.add_priority(1, Place::Sent(n));
            }
            for index in [&deadlines, &priorities] {
                assert_eq!(index.is_crowded(messages), is_crowded, "{entries} {messages}");
                assert!(!index.is_empty());
            }
        }
    }
}
