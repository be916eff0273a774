//! The pending events of a world.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use polypath_units::Instant;

use crate::event::{Key, Target};

/// Pending events, the earliest first.
///
/// Small copied entries in a binary heap. Nothing is ever removed from its middle: what is cancelled stays until its
/// time and is then recognised by its [`Key`].
///
/// A packet that leaves a link mostly enters another one: the place of an event that was taken stays empty until the next
/// one comes, which is half the work of closing the gap and making another.
#[derive(Debug)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    /// The first entry was taken away.
    first_is_gone: bool,
    next_order: u64,
}

/// Orders below are those of the turns of links.
const FIRST_CAUSED: u64 = 1 << 40;

impl Default for EventQueue {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), first_is_gone: false, next_order: FIRST_CAUSED }
    }
}

/// The key for turn number `turn` of a link at `time`: before all that is caused in the run, so that a link that is
/// down from an instant on is down for everything that happens at that instant, however it came to pass.
pub(crate) fn turn_key(time: Instant, turn: u64) -> Key {
    Key { time, order: turn }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub key: Key,
    pub target: Target,
}

impl EventQueue {
    /// The place in the order for something that is caused now.
    pub fn next_order(&mut self) -> u64 {
        let order = self.next_order;
        self.next_order += 1;
        order
    }

    /// The key for something at `time` that is caused now.
    pub fn key(&mut self, time: Instant) -> Key {
        Key { time, order: self.next_order() }
    }

    pub fn push(&mut self, key: Key, target: Target) {
        let entry = Reverse(Entry { key, target });
        if std::mem::take(&mut self.first_is_gone)
            && let Some(mut first) = self.heap.peek_mut()
        {
            *first = entry;
            return;
        }
        self.heap.push(entry);
    }

    /// The earliest event.
    #[inline]
    pub fn first(&mut self) -> Option<Entry> {
        if std::mem::take(&mut self.first_is_gone) {
            self.heap.pop();
        }
        self.heap.peek().map(|entry| entry.0)
    }

    /// When the earliest event comes.
    pub fn next_time(&self) -> Option<Instant> {
        // In a heap, the second one is right below the first.
        let pending = self.heap.as_slice().iter().take(3).skip(usize::from(self.first_is_gone));
        pending.map(|entry| entry.0.key.time).min()
    }

    /// Takes the [`first`](Self::first) event away and puts `next` in its place, if there is one; cheaper than both steps.
    #[inline]
    pub fn replace_first(&mut self, next: Option<Key>) {
        match (next, self.heap.peek_mut()) {
            (Some(key), Some(mut first)) => first.0.key = key,
            (None, Some(_)) => self.first_is_gone = true,
            (_, None) => {}
        }
    }
}

impl Entry {
    /// Its key as one number, which is compared without branches.
    #[inline]
    fn rank(&self) -> u128 {
        u128::from(self.key.time.as_nanos()) << 64 | u128::from(self.key.order)
    }
}

impl Ord for Entry {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// The heap compares with these four; made of [`cmp`](Ord::cmp), each would take several times as long.
impl PartialOrd for Entry {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn lt(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.rank() <= other.rank()
    }

    #[inline]
    fn gt(&self, other: &Self) -> bool {
        self.rank() > other.rank()
    }

    #[inline]
    fn ge(&self, other: &Self) -> bool {
        self.rank() >= other.rank()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}
