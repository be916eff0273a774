//! The streams that have messages, by rank: a binary heap with the place of each stream beside it, so that a stream can be
//! moved or taken out. Memory grows with the highest stream used; otherwise nothing is allocated.

use alloc::vec::Vec;

use smallvec::SmallVec;

use super::{StreamRank, Visit};

const NOWHERE: u32 = u32::MAX;

/// Ready streams.
#[derive(Debug, Default)]
pub(super) struct ReadyStreams {
    heap: Vec<u16>,
    /// By stream: its rank, also while it is not ready, and its place in the heap.
    streams: Vec<(StreamRank, u32)>,
}

impl ReadyStreams {
    /// Rank that the stream has or had last.
    pub(super) fn rank(&self, stream: u16) -> StreamRank {
        self.streams.get(usize::from(stream)).map_or(0, |(rank, _)| *rank)
    }

    pub(super) fn contains(&self, stream: u16) -> bool {
        self.streams.get(usize::from(stream)).is_some_and(|(_, place)| *place != NOWHERE)
    }

    /// The stream with the lowest rank.
    pub(super) fn first(&self) -> Option<u16> {
        self.heap.first().copied()
    }

    /// Makes a stream ready, or gives it another rank.
    pub(super) fn put(&mut self, stream: u16, rank: StreamRank) {
        let index = usize::from(stream);
        if self.streams.len() <= index {
            self.streams.resize(index + 1, (0, NOWHERE));
        }
        self.streams[index].0 = rank;
        if self.streams[index].1 == NOWHERE {
            self.streams[index].1 = self.heap.len() as u32;
            self.heap.push(stream);
        }
        let place = self.streams[index].1 as usize;
        let place = self.rise(place);
        self.sink(place);
    }

    /// Takes a stream out, if it is ready. Its rank is remembered.
    pub(super) fn remove(&mut self, stream: u16) {
        if !self.contains(stream) {
            return;
        }
        let place = self.streams[usize::from(stream)].1 as usize;
        let last = self.heap.len() - 1;
        self.swap(place, last);
        self.heap.pop();
        self.streams[usize::from(stream)].1 = NOWHERE;
        if place < last {
            let place = self.rise(place);
            self.sink(place);
        }
    }

    /// Visits the streams in the order of their ranks.
    pub(super) fn find<T>(&self, mut visit: impl FnMut(u16) -> Visit<T>) -> Option<T> {
        // Places whose parents were visited: the next stream is among them.
        let mut border: SmallVec<[usize; 16]> = SmallVec::new();
        if !self.heap.is_empty() {
            border.push(0);
        }
        while let Some(at) = (0..border.len()).min_by_key(|at| self.key(border[*at])) {
            let place = border.swap_remove(at);
            match visit(self.heap[place]) {
                Visit::Found(answer) => return Some(answer),
                Visit::Stop => return None,
                Visit::GoOn => {}
            }
            border.extend(
                [2 * place + 1, 2 * place + 2].into_iter().filter(|p| *p < self.heap.len()),
            );
        }
        None
    }

    /// Equal ranks go by the number of the stream.
    fn key(&self, place: usize) -> (StreamRank, u16) {
        let stream = self.heap[place];
        (self.streams[usize::from(stream)].0, stream)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        for place in [a, b] {
            self.streams[usize::from(self.heap[place])].1 = place as u32;
        }
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.key(parent) <= self.key(place) {
                break;
            }
            self.swap(parent, place);
            place = parent;
        }
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = [2 * place + 1, 2 * place + 2];
            let there = children.into_iter().filter(|child| *child < self.heap.len());
            let Some(least) = there.min_by_key(|child| self.key(*child)) else { return };
            if self.key(place) <= self.key(least) {
                return;
            }
            self.swap(place, least);
            place = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A sequence of numbers that looks random.
    fn noise(n: u64) -> u64 {
        (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33
    }

    #[test]
    fn agrees_with_an_ordered_set() {
        let mut ready = ReadyStreams::default();
        let mut model: BTreeSet<(StreamRank, u16)> = BTreeSet::new();
        for step in 0..20_000 {
            let stream = (noise(3 * step) % 200) as u16;
            let old = (ready.rank(stream), stream);
            assert_eq!(ready.contains(stream), model.remove(&old), "step {step}");
            if noise(3 * step + 1).is_multiple_of(3) {
                ready.remove(stream);
            } else {
                let rank = StreamRank::from(noise(3 * step + 2) % 50);
                ready.put(stream, rank);
                model.insert((rank, stream));
            }
            assert_eq!(ready.first(), model.first().map(|(_, stream)| *stream));
            if step % 500 == 0 {
                let mut visited = Vec::new();
                let end: Option<()> = ready.find(|stream| {
                    visited.push(stream);
                    Visit::GoOn
                });
                assert_eq!(end, None);
                assert_eq!(visited, model.iter().map(|(_, s)| *s).collect::<Vec<_>>());
            }
        }
    }
}
