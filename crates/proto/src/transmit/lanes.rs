//! Queues of waiting messages: doubly linked lists in one piece of memory, so that a message can be taken from anywhere.

use alloc::vec::Vec;

use super::partial_reliability::Reliability;
use crate::OutgoingMessage;

const NONE: u32 = u32::MAX;

/// Where a message is kept; good until it is removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Slot(u32);

/// A message that waits, wholly or in part.
#[derive(Debug)]
pub(crate) struct QueuedMessage {
    pub(crate) message: OutgoingMessage,
    pub(crate) reliability: Reliability,
}

#[derive(Debug)]
struct LaneEntry {
    waiting: Option<QueuedMessage>,
    /// Tells messages apart that had the same slot.
    serial: u32,
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    head: u32,
    tail: u32,
}

/// The queues.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    entries: Vec<LaneEntry>,
    /// Slots that are free, linked by `after`; one more than the number of the first, 0 for none.
    free: u32,
    lanes: Vec<Lane>,
    serial: u32,
    len: usize,
}

impl Lanes {
    /// Messages in all lanes; those taken off are no longer among them.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Gives the memory of lanes without messages back.
    pub(crate) fn release_memory(&mut self) {
        if self.len == 0 {
            self.entries = Vec::new();
            self.free = 0;
        }
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&QueuedMessage> {
        self.entries.get(slot.0 as usize)?.waiting.as_ref()
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut QueuedMessage> {
        self.entries.get_mut(slot.0 as usize)?.waiting.as_mut()
    }

    /// Tells the message in a slot from others that were or will be there; `None` if there is none.
    pub(crate) fn serial(&self, slot: Slot) -> Option<u32> {
        let entry = self.entries.get(slot.0 as usize)?;
        entry.waiting.as_ref().map(|_| entry.serial)
    }

    /// The rules of all messages, wherever they are.
    pub(crate) fn rules_mut(&mut self) -> impl Iterator<Item = &mut Reliability> {
        let waiting = self.entries.iter_mut().filter_map(|entry| entry.waiting.as_mut());
        waiting.map(|waiting| &mut waiting.reliability)
    }

    /// Appends a message to a lane; says whether it is the first there.
    pub(crate) fn push(
        &mut self,
        lane: u16,
        message: OutgoingMessage,
        reliability: Reliability,
    ) -> (Slot, bool) {
        let index = usize::from(lane);
        if self.lanes.len() <= index {
            self.lanes.resize(index + 1, Lane { head: NONE, tail: NONE });
        }
        let tail = self.lanes[index].tail;
        self.serial = self.serial.wrapping_add(1);
        let slot = self.free_slot();
        // Written where it stays, because moving it about costs more than queueing it. There is nothing to drop in a free slot.
        let entry = &mut self.entries[slot as usize];
        if entry.waiting.is_none() {
            entry.waiting = Some(QueuedMessage { message, reliability });
        }
        (entry.serial, entry.before, entry.after) = (self.serial, tail, NONE);
        let lane = &mut self.lanes[index];
        lane.tail = slot;
        match tail {
            NONE => lane.head = slot,
            _ => self.entries[tail as usize].after = slot,
        }
        self.len += 1;
        (Slot(slot), tail == NONE)
    }

    /// Takes a slot without a message.
    fn free_slot(&mut self) -> u32 {
        match self.free.checked_sub(1) {
            Some(slot) => {
                self.free = self.entries[slot as usize].after;
                slot
            }
            None => {
                self.entries.push(LaneEntry {
                    waiting: None,
                    serial: 0,
                    before: NONE,
                    after: NONE,
                });
                self.entries.len() as u32 - 1
            }
        }
    }

    /// The first message of a lane.
    #[inline]
    pub(crate) fn first(&self, lane: u16) -> Option<Slot> {
        let head = self.lanes.get(usize::from(lane))?.head;
        (head != NONE).then_some(Slot(head))
    }

    /// The messages of a lane in order.
    pub(crate) fn iter(&self, lane: u16) -> impl Iterator<Item = (Slot, &OutgoingMessage)> + '_ {
        let mut next = self.first(lane);
        core::iter::from_fn(move || {
            let slot = next?;
            let entry = self.entries.get(slot.0 as usize)?;
            next = (entry.after != NONE).then_some(Slot(entry.after));
            Some((slot, &entry.waiting.as_ref()?.message))
        })
    }

    /// Numbers of lanes that were ever used.
    pub(crate) fn used(&self) -> impl Iterator<Item = u16> + use<> {
        (0..self.lanes.len()).map(|lane| lane as u16)
    }

    /// Takes a message off its lane; it stays in its slot. Returns whether the lane is empty now.
    #[inline]
    pub(crate) fn unlink(&mut self, lane: u16, slot: Slot) -> bool {
        let LaneEntry { before, after, .. } = self.entries[slot.0 as usize];
        let lane = &mut self.lanes[usize::from(lane)];
        match before {
            NONE => lane.head = after,
            _ => self.entries[before as usize].after = after,
        }
        match after {
            NONE => lane.tail = before,
            _ => self.entries[after as usize].before = before,
        }
        self.len -= 1;
        lane.head == NONE
    }

    /// Empties the slot of a message that is on no lane, after its content was taken.
    pub(crate) fn empty(&mut self, slot: Slot) {
        let Some(entry) = self.entries.get_mut(slot.0 as usize) else { return };
        entry.waiting = None;
        entry.after = self.free;
        self.free = slot.0 + 1;
    }

    /// Empties the slot of a message that is on no lane.
    pub(crate) fn remove(&mut self, slot: Slot) -> Option<QueuedMessage> {
        let entry = self.entries.get_mut(slot.0 as usize)?;
        let waiting = entry.waiting.take()?;
        entry.after = self.free;
        self.free = slot.0 + 1;
        Some(waiting)
    }
}

/// Bytes that keeping a message takes, without its content.
pub(crate) const ENTRY_BYTES: usize = size_of::<LaneEntry>();

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn push(lanes: &mut Lanes, lane: u16, context: u32) -> (Slot, bool) {
        let message = OutgoingMessage { context, ..OutgoingMessage::new(0, &b"x"[..]) };
        lanes.push(lane, message, Reliability::Full)
    }

    fn contexts(lanes: &Lanes, lane: u16) -> Vec<u32> {
        lanes.iter(lane).map(|(_, message)| message.context).collect()
    }

    #[test]
    fn memory_is_given_back_once_no_message_waits() {
        let mut lanes = Lanes::default();
        let slot = push(&mut lanes, 0, 0).0;
        lanes.release_memory();
        assert_eq!(contexts(&lanes, 0), [0]);
        lanes.unlink(0, slot);
        lanes.remove(slot);
        assert!(lanes.entries.capacity() > 0);
        lanes.release_memory();
        assert_eq!(lanes.entries.capacity(), 0);
        push(&mut lanes, 0, 1);
        assert_eq!(contexts(&lanes, 0), [1]);
    }

    #[test]
    fn messages_leave_from_anywhere_and_slots_are_used_again() {
        let mut lanes = Lanes::default();
        let slots: Vec<Slot> = (0..4).map(|n| push(&mut lanes, 1, n).0).collect();
        assert!(push(&mut lanes, 0, 9).1);
        assert_eq!(lanes.len(), 5);
        for (taken, left) in [(1, &[0, 2, 3][..]), (3, &[0, 2]), (0, &[2])] {
            assert!(!lanes.unlink(1, slots[taken]));
            let message = lanes.remove(slots[taken]).unwrap().message;
            assert_eq!(message.context, taken as u32);
            assert_eq!(contexts(&lanes, 1), left);
        }
        assert_eq!(push(&mut lanes, 1, 5), (slots[0], false));
        assert_eq!(contexts(&lanes, 1), [2, 5]);
        assert!(!lanes.unlink(1, slots[2]));
        assert!(lanes.unlink(1, slots[0]), "the last one");
        assert_eq!((lanes.first(1), contexts(&lanes, 0)), (None, [9].into()));
        assert!(lanes.get(slots[0]).is_some(), "taken off its lane, but still kept");
        assert!(lanes.remove(slots[0]).is_some());
        assert!(lanes.remove(slots[0]).is_none());
        assert_eq!(lanes.len(), 1);
    }
}
