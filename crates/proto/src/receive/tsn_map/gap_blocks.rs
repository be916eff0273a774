//! Which gap ack blocks report what was received out of order.
//!
//! SACKs over unequal paths have hundreds of blocks, so the words of the map are looked at once and memory is taken once,
//! none for up to four blocks.

use core::ops::Range;

use polypath_wire::GapAckBlock;
use smallvec::SmallVec;

use super::TsnMap;
use crate::extension::nr_sack::CERTAINLY_WHOLE;

/// The runs that are wanted, by their places among all: some in a row, and one more behind them.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    first: usize,
    /// The place after those in a row.
    after: usize,
    last: usize,
}

impl Wanted {
    /// The next one from `place` on.
    fn at_or_after(&self, place: usize) -> usize {
        match place < self.after {
            true => place.max(self.first),
            false => self.last,
        }
    }

    fn contains(&self, place: usize) -> bool {
        (self.first..self.after).contains(&place) || place == self.last
    }
}

impl TsnMap {
    /// Numbers of the words that have the bits above the cumulative TSN ack.
    #[inline]
    fn gap_words(&self) -> Range<u64> {
        // Not inclusive, which makes a loop slower.
        self.cumulative.next().locate().0..self.highest.locate().0 + 1
    }

    /// Number of runs of TSNs received above the cumulative TSN ack.
    pub fn gap_block_count(&self) -> usize {
        if !self.has_gaps() {
            return 0;
        }
        let mut carry = 0;
        let begun = self.gap_words().map(|number| {
            let word = self.word(number);
            let rising = word & !(word << 1 | carry);
            carry = word >> 63;
            rising.count_ones() as usize
        });
        begun.sum()
    }

    /// The lowest `room` runs of TSNs received above the cumulative TSN ack, ascending.
    pub fn gap_blocks(&self, space: usize) -> SmallVec<[GapAckBlock; 4]> {
        // Between two runs something is missing. Counting the runs would cost more than memory for as many as there can be.
        let most = (self.gap_span() as usize).div_ceil(2).min(space);
        if most == 0 {
            return SmallVec::new();
        }
        // Written into places that are there: that costs less than adding each.
        let mut blocks = SmallVec::from_elem(GapAckBlock { start: 0, end: 0 }, most);
        let mut found = 0;
        let (mut start, mut carry, mut is_open) = (0, 0, false);
        for number in self.gap_words() {
            let word = self.word(number);
            let mut edges = word ^ (word << 1 | carry);
            carry = word >> 63;
            let origin = (number << 6).wrapping_sub(self.cumulative.0);
            while edges != 0 {
                let offset = origin.wrapping_add(edges.trailing_zeros().into()) as u16;
                edges &= edges - 1;
                if is_open {
                    let Some(place) = blocks.get_mut(found) else { return blocks };
                    *place = GapAckBlock { start, end: offset.wrapping_sub(1) };
                    found += 1;
                }
                start = offset;
                is_open = !is_open;
            }
        }
        if is_open && let Some(place) = blocks.get_mut(found) {
            // The highest run ends with the last word.
            *place = GapAckBlock { start, end: self.gap_span() as u16 };
            found += 1;
        }
        blocks.truncate(found);
        blocks
    }

    /// The same, but where there is no room for all of them, those whose turn it is, and always the highest one. These
    /// leave room for `others`. So few that they could be taken for all of them are the lowest.
    pub fn gap_blocks_in_turn(
        &self,
        space: usize,
        others: usize,
        turn: u8,
    ) -> SmallVec<[GapAckBlock; 4]> {
        let count = self.gap_block_count();
        if count <= space || space < CERTAINLY_WHOLE + others {
            return self.gap_blocks(space);
        }
        let space = space - others;
        let (in_a_row, last) = (space - 1, count - 1);
        let turns = last.div_ceil(in_a_row);
        let first = (usize::from(turn) % turns * in_a_row).min(last - in_a_row);
        self.runs(space, Wanted { first, after: first + in_a_row, last })
    }

    /// The wanted runs, `count` of them, ascending.
    fn runs(&self, count: usize, wanted: Wanted) -> SmallVec<[GapAckBlock; 4]> {
        let mut blocks = SmallVec::new();
        if count == 0 {
            return blocks;
        }
        let words = self.gap_words();
        blocks.resize(count, GapAckBlock { start: 0, end: 0 });
        let mut places = blocks.iter_mut();
        let (mut start, mut carry, mut begun) = (0, 0, 0);
        for number in words {
            let word = self.word(number);
            let shifted = word << 1 | carry;
            let is_open = carry == 1 && wanted.contains(begun - 1);
            if begun > wanted.last && !is_open {
                break;
            }
            carry = word >> 63;
            let rising = (word & !shifted).count_ones() as usize;
            if !is_open && wanted.at_or_after(begun) >= begun + rising {
                begun += rising;
                continue;
            }
            let mut edges = word ^ shifted;
            let origin = (number << 6).wrapping_sub(self.cumulative.0);
            while edges != 0 {
                let bit = edges.trailing_zeros();
                edges &= edges - 1;
                let offset = origin.wrapping_add(bit.into()) as u16;
                if word >> bit & 1 == 1 {
                    start = offset;
                    begun += 1;
                } else if wanted.contains(begun - 1) {
                    let Some(place) = places.next() else { return blocks };
                    *place = GapAckBlock { start, end: offset.wrapping_sub(1) };
                }
            }
        }
        if let Some(place) = places.next() {
            *place = GapAckBlock { start, end: self.gap_span() as u16 };
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::Tsn;
    use crate::receive::tsn_map::Arrival;

    /// Runs of these lengths above TSN 9, with one TSN missing before each.
    fn map(lengths: impl Iterator<Item = u32>) -> TsnMap {
        let mut map = TsnMap::new(Tsn(10), u32::MAX);
        let mut next = 10;
        for length in lengths {
            for tsn in next + 1..=next + length {
                let Arrival::New(wide) = map.classify(Tsn(tsn)) else { panic!("{tsn} is new") };
                map.record(wide);
            }
            next += length + 1;
        }
        map
    }

    /// Places of the blocks that are named, among all of them.
    fn named(map: &TsnMap, space: usize, turn: u8) -> Vec<usize> {
        let all = map.gap_blocks(usize::MAX);
        let place = |block: &GapAckBlock| all.iter().position(|other| other == block);
        let named = map.gap_blocks_in_turn(space, 0, turn);
        named.iter().map(|block| place(block).expect("a run of the map")).collect()
    }

    #[test]
    fn what_has_room_is_named_each_time() {
        let map = map((0..150).map(|i| 1 + i % 3));
        for turn in [0, 1, 255] {
            assert_eq!(named(&map, 150, turn), (0..150).collect::<Vec<_>>());
            assert_eq!(named(&map, 99, turn), (0..99).collect::<Vec<_>>(), "the lowest");
            assert!(named(&map, 0, turn).is_empty());
        }
        assert!(TsnMap::new(Tsn(10), u32::MAX).gap_blocks_in_turn(0, 0, 7).is_empty());
    }

    #[test]
    fn what_is_cut_leaves_room_for_others() {
        let map = map((0..150).map(|_| 1));
        assert_eq!(map.gap_blocks_in_turn(120, 8, 0).len(), 112);
        assert_eq!(map.gap_blocks_in_turn(150, 8, 0).len(), 150, "not cut");
        assert_eq!(map.gap_blocks_in_turn(107, 8, 0).len(), 107, "they could be taken for all");
    }

    #[test]
    fn blocks_take_turns() {
        // Short runs, of which a word has many, and long ones, which go over many words.
        for lengths in [[1, 1, 1], [63, 64, 65], [1, 200, 7]] {
            let map = map((0..310).map(|i| lengths[i % 3]));
            let expect = |turn, first: usize| {
                let expected: Vec<_> = (first..first + 99).chain([309]).collect();
                assert_eq!(named(&map, 100, turn), expected, "{turn} {lengths:?}");
            };
            for (turn, first) in [(0, 0), (1, 99), (2, 198), (3, 210), (4, 0), (6, 198), (255, 210)]
            {
                expect(turn, first);
            }
        }
    }
}
