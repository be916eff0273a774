//! The pending events of a world.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use polypath_units::Instant;

use crate::event::{Key, Target};

/// Pending events, the earliest first.
///
/// There is one for each busy channel and each host, so mostly there are few, and what a packet causes next comes soon:
/// the nearest events are in a short sorted list, where that one is found in a step or two. In large networks the others
/// are in a binary heap, from which the list is filled again.
///
/// Nothing is ever removed before its time: what is cancelled stays until then and is recognised by its [`Key`].
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The nearest events, the earliest last. No other one comes before any of them.
    near: Vec<Entry>,
    /// The others.
    far: BinaryHeap<Reverse<Entry>>,
    next_order: u64,
}

/// Orders below are those of the turns of links.
const FIRST_CAUSED: u64 = 1 << 40;

/// Most events in the sorted list.
const NEAR: usize = 32;

/// How many the list gets when it is empty.
const REFILL: usize = NEAR / 2;

impl Default for EventQueue {
    fn default() -> Self {
        let near = Vec::with_capacity(NEAR + 1);
        Self { near, far: BinaryHeap::new(), next_order: FIRST_CAUSED }
    }
}

/// The key for turn number `turn` of a link at `time`: before all that is caused in the run, so that a link that is
/// down from an instant on is down for everything that happens at that instant, however it came to pass.
pub(crate) fn turn_key(time: Instant, turn: u64) -> Key {
    Key { time, order: turn }
}

/// A pending event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    /// Its key as one number, which is compared without branches.
    rank: u128,
    target: Target,
}

impl Entry {
    #[inline]
    fn new(key: Key, target: Target) -> Self {
        let rank = u128::from(key.time.as_nanos()) << 64 | u128::from(key.order);
        Self { rank, target }
    }

    #[inline]
    fn nanos(self) -> u64 {
        (self.rank >> 64) as u64
    }

    #[inline]
    fn key(self) -> Key {
        Key { time: Instant::from_nanos(self.nanos()), order: self.rank as u64 }
    }
}

impl EventQueue {
    /// The place in the order for something that is caused now.
    #[inline]
    pub fn next_order(&mut self) -> u64 {
        let order = self.next_order;
        self.next_order += 1;
        order
    }

    /// The key for something at `time` that is caused now.
    #[inline]
    pub fn key(&mut self, time: Instant) -> Key {
        Key { time, order: self.next_order() }
    }

    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, key: Key, target: Target) {
        let entry = Entry::new(key, target);
        if self.far.is_empty() && self.near.len() < NEAR {
            self.insert(entry);
        } else {
            self.push_among_many(entry);
        }
    }

    /// The earliest event, if it comes by `last`. It stays until it is [removed](Self::remove_first) or
    /// [replaced](Self::replace_first).
    #[inline]
    pub fn first(&mut self, last: Instant) -> Option<(Key, Target)> {
        let first = match self.near.last() {
            Some(first) => *first,
            None => self.refill()?,
        };
        (first.nanos() <= last.as_nanos()).then(|| (first.key(), first.target))
    }

    /// Removes the event that [`first`](Self::first) has returned.
    #[inline]
    pub fn remove_first(&mut self) {
        self.near.pop();
    }

    /// Puts another event, which comes later, in the place of the one that [`first`](Self::first) has returned: what it causes
    /// next, as a channel does with most packets.
    #[inline]
    pub fn replace_first(&mut self, key: Key, target: Target) {
        let entry = Entry::new(key, target);
        if !self.far.is_empty() {
            self.near.pop();
            return self.push_among_many(entry);
        }
        let Some(mut place) = self.near.len().checked_sub(1) else { return self.insert(entry) };
        while let Some(before) = place.checked_sub(1)
            && self.near[before].rank < entry.rank
        {
            self.near[place] = self.near[before];
            place = before;
        }
        self.near[place] = entry;
    }

    /// When the earliest event comes.
    pub fn next_time(&self) -> Option<Instant> {
        let first = self.near.last().or_else(|| Some(&self.far.peek()?.0))?;
        Some(first.key().time)
    }

    /// Puts an event into its place in the sorted list.
    #[inline(always)]
    fn insert(&mut self, entry: Entry) {
        let earlier = self.near.len();
        self.near.push(entry);
        let list = &mut self.near[..=earlier];
        for place in (0..earlier).rev() {
            if list[place].rank > entry.rank {
                list[place + 1] = entry;
                return;
            }
            list[place + 1] = list[place];
        }
        list[0] = entry;
    }

    /// Adds an event where there are more than the list takes.
    #[inline(never)]
    fn push_among_many(&mut self, entry: Entry) {
        if self.near.is_empty() {
            self.refill();
        }
        if self.near.first().is_some_and(|latest| latest.rank < entry.rank) {
            self.far.push(Reverse(entry));
            return;
        }
        self.insert(entry);
        if self.near.len() > NEAR {
            self.far.push(Reverse(self.near.remove(0)));
        }
    }

    /// Fills the empty list from the heap; returns the earliest event.
    #[cold]
    fn refill(&mut self) -> Option<Entry> {
        let nearest = std::iter::from_fn(|| Some(self.far.pop()?.0));
        self.near.extend(nearest.take(REFILL));
        self.near.reverse();
        self.near.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: Instant = Instant::from_nanos(u64::MAX - 2);

    /// Pushes `burst` events and takes as many, over and over, beside a list that is searched as a whole.
    fn compare_with_a_list(burst: usize) {
        let mut events = EventQueue::default();
        let mut pending: Vec<(Key, Target)> = Vec::new();
        let mut state = burst as u64;
        for round in 0..2_000 {
            for _ in 0..burst {
                // A linear congruential generator; few different times, so that the order decides often.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let event = (
                    events.key(Instant::from_nanos(round + (state >> 59))),
                    Target::Step(burst as u32),
                );
                events.push(event.0, event.1);
                pending.push(event);
            }
            // Sometimes all, mostly what is due.
            let last =
                Instant::from_nanos(if round % 500 == 499 { u64::MAX - 2 } else { round + 16 });
            loop {
                let first = pending.iter().copied().min_by_key(|(key, _)| *key);
                assert_eq!(events.next_time(), first.map(|(key, _)| key.time));
                let due = first.filter(|(key, _)| key.time <= last);
                assert_eq!(events.first(last), due, "{burst} at a time");
                let Some((taken, _)) = due else { break };
                events.remove_first();
                pending.retain(|(key, _)| *key != taken);
            }
        }
        assert_eq!(events.first(Instant::FAR_FUTURE), None);
    }

    fn pop(events: &mut EventQueue, last: Instant) -> Option<(Key, Target)> {
        let first = events.first(last)?;
        events.remove_first();
        Some(first)
    }

    #[test]
    fn the_earliest_event_comes_first_however_many_there_are() {
        [1, 2, 3, 7].into_iter().for_each(compare_with_a_list);
    }

    #[test]
    fn an_event_in_the_place_of_the_first_is_one_that_is_added() {
        for pending in [1, 2, 7, 32, 33, 100] {
            let (mut replaced, mut added) = (EventQueue::default(), EventQueue::default());
            for at in 0..pending {
                for events in [&mut replaced, &mut added] {
                    let key = events.key(Instant::from_nanos(3 * at % 11));
                    events.push(key, Target::Channel(at as u32));
                }
            }
            for round in 0..500 {
                let first = pop(&mut added, LAST).unwrap();
                assert_eq!(replaced.first(LAST), Some(first), "{pending} pending, round {round}");
                let at = Instant::from_nanos(first.0.time.as_nanos() + 1 + 7 * round % 13);
                let key = added.key(at);
                assert_eq!(replaced.key(at), key);
                added.push(key, first.1);
                replaced.replace_first(key, first.1);
            }
        }
    }

    #[test]
    fn turns_of_links_come_before_what_is_caused() {
        let mut events = EventQueue::default();
        let at = Instant::from_nanos(5);
        let caused = events.key(at);
        events.push(caused, Target::Timer(1));
        events.push(turn_key(at, u64::from(u32::MAX)), Target::Outage(2));
        let order = [(); 3].map(|()| pop(&mut events, at));
        let targets = order.map(|event| event.map(|(_, target)| target));
        assert_eq!(targets, [Some(Target::Outage(2)), Some(Target::Timer(1)), None]);
    }
}
