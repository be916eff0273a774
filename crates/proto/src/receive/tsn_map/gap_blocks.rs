//! The gap ack blocks of data received out of order.
//!
//! SACKs over unequal paths have hundreds of blocks, so the words of the map are scanned once and memory is allocated
//! once, none for up to four blocks.

use core::ops::Range;

use polypath_wire::GapAckBlock;
use smallvec::SmallVec;

use super::{TsnMap, WideTsn};
use crate::extension::nr_sack::CERTAINLY_WHOLE;
use crate::receive::latest::{REMEMBERED, SackNews, SackTurn};

/// Of this many acknowledgements with more than [`MOST_NEWS`] blocks, one has all of them, or as many as fit; the
/// others have the latest arrivals.
const TURNS: u16 = 8;

/// Blocks in a row that an acknowledgement has which names what came in last: so many that they are not taken for all.
const NEWS_ROW: usize = CERTAINLY_WHOLE;

/// Blocks that such an acknowledgement has, nearly always at most. With all of them it would be three times as long, and fill a thin
/// way back.
pub(crate) const MOST_NEWS: usize = NEWS_ROW + REMEMBERED;

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
        self.runs_begun_by(self.highest)
    }

    /// How many of these runs begin at or below a TSN.
    fn runs_begun_by(&self, tsn: WideTsn) -> usize {
        if tsn <= self.cumulative {
            return 0;
        }
        let (last, bit) = tsn.locate();
        let mut carry = 0;
        let begun = (self.gap_words().start..last + 1).map(|number| {
            let word = self.word(number);
            let rising = word & !(word << 1 | carry);
            carry = word >> 63;
            let counts = if number == last { u64::MAX >> (63 - bit) } else { u64::MAX };
            (rising & counts).count_ones() as usize
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

    /// The same of a receiver that may leave blocks out. Mostly those of what is `news`, some in a row, so many that nobody takes
    /// them for all, and the highest one; every [`TURNS`]th time all, or the next part of all. They
    /// leave room for `others`; with any, all have their turn more rarely. So few that they could be taken for all of
    /// them are the lowest.
    pub fn gap_blocks_in_turn(
        &self,
        space: usize,
        others: usize,
        turn: &SackTurn<'_>,
    ) -> SmallVec<[GapAckBlock; 4]> {
        let count = self.gap_block_count();
        let period = if others == 0 { TURNS } else { 4 * TURNS };
        let is_news = !turn.number.is_multiple_of(period);
        let is_whole = count <= MOST_NEWS || !is_news;
        if is_whole && count <= space || space < NEWS_ROW + others {
            return self.gap_blocks(space);
        }
        let space = space - others;
        if is_news {
            return self.news(count, space, &turn.news);
        }
        let in_a_row = space - 1;
        let first = usize::from(turn.number / TURNS) % (count - 1).div_ceil(in_a_row) * in_a_row;
        self.row(count, first, in_a_row)
    }

    /// So many runs in a row, of `count`, from the `first` one, and the last one.
    fn row(&self, count: usize, first: usize, in_a_row: usize) -> SmallVec<[GapAckBlock; 4]> {
        let last = count - 1;
        let first = first.min(last - in_a_row);
        self.runs(in_a_row + 1, Wanted { first, after: first + in_a_row, last })
    }

    /// At most `space` runs, of `count`: those in a row up to the TSN that came in last on the path that is answered, those of what came
    /// in last on any, and the highest one.
    fn news(&self, count: usize, space: usize, news: &SackNews<'_>) -> SmallVec<[GapAckBlock; 4]> {
        let in_a_row = NEWS_ROW - 1;
        let after = news.last().map_or(0, |tsn| self.runs_begun_by(self.wide(tsn)));
        let mut blocks = self.row(count, after.saturating_sub(in_a_row), in_a_row);
        for tsn in news.all().map(|tsn| self.wide(tsn)) {
            if blocks.len() == space || tsn <= self.cumulative || !self.has_bit(tsn) {
                continue;
            }
            let offset = tsn.0 - self.cumulative.0;
            let names = |block: &GapAckBlock| {
                (u64::from(block.start)..=u64::from(block.end)).contains(&offset)
            };
            if !blocks.iter().any(names) {
                blocks.push(self.run_around(tsn));
            }
        }
        blocks.sort_unstable_by_key(|block| block.start);
        blocks
    }

    /// The run that has this TSN, which was received.
    fn run_around(&self, tsn: WideTsn) -> GapAckBlock {
        let (mut number, bit) = tsn.locate();
        let (mut below, mut above) = (number, number);
        let word = self.word(number);
        let mut start = 63 - bit;
        start = bit + 1 - (word << start).leading_ones();
        let mut end = bit + (word >> bit).trailing_ones() - 1;
        while start == 0 && below > self.cumulative.0 >> 6 {
            let ones = self.word(below - 1).leading_ones();
            if ones == 0 {
                break;
            }
            below -= 1;
            start = 64 - ones;
        }
        while end == 63 && above < self.highest.0 >> 6 {
            let ones = self.word(above + 1).trailing_ones();
            if ones == 0 {
                break;
            }
            above += 1;
            end = ones - 1;
        }
        number = below;
        let offset = |number: u64, bit: u32| {
            ((number << 6) + u64::from(bit)).wrapping_sub(self.cumulative.0) as u16
        };
        GapAckBlock { start: offset(number, start), end: offset(above, end) }
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
    use crate::receive::latest::LatestTsns;
    use crate::receive::tsn_map::Arrival;
    use crate::{PathId, Tsn};

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

    /// An acknowledgement that names all, or the next part of all.
    fn part(number: u16) -> SackTurn<'static> {
        SackTurn { number: number * TURNS, ..SackTurn::default() }
    }

    /// Places of blocks among all of them.
    fn places(map: &TsnMap, blocks: &[GapAckBlock]) -> Vec<usize> {
        let all = map.gap_blocks(usize::MAX);
        let place = |block: &GapAckBlock| all.iter().position(|other| other == block);
        blocks.iter().map(|block| place(block).expect("a run of the map")).collect()
    }

    fn named(map: &TsnMap, space: usize, turn: &SackTurn<'_>) -> Vec<usize> {
        places(map, &map.gap_blocks_in_turn(space, 0, turn))
    }

    #[test]
    fn what_has_room_is_named_each_time() {
        let map = map((0..150).map(|i| 1 + i % 3));
        for turn in [0, 1, 255] {
            assert_eq!(named(&map, 150, &part(turn)), (0..150).collect::<Vec<_>>());
            assert_eq!(named(&map, 99, &part(turn)), (0..99).collect::<Vec<_>>(), "the lowest");
            assert!(named(&map, 0, &part(turn)).is_empty());
        }
        let empty = TsnMap::new(Tsn(10), u32::MAX);
        assert!(empty.gap_blocks_in_turn(0, 0, &part(7)).is_empty());
    }

    #[test]
    fn what_is_cut_leaves_room_for_others() {
        let map = map((0..150).map(|_| 1));
        assert_eq!(map.gap_blocks_in_turn(120, 8, &part(0)).len(), 112);
        assert_eq!(map.gap_blocks_in_turn(150, 8, &part(0)).len(), 150, "not cut");
        let few = map.gap_blocks_in_turn(107, 8, &part(0)).len();
        assert_eq!(few, 107, "they could be taken for all");
    }

    #[test]
    fn blocks_take_turns() {
        // Short runs, of which a word has many, and long ones, which go over many words.
        for lengths in [[1, 1, 1], [63, 64, 65], [1, 200, 7]] {
            let map = map((0..310).map(|i| lengths[i % 3]));
            let expect = |turn, first: usize| {
                let expected: Vec<_> = (first..first + 99).chain([309]).collect();
                assert_eq!(named(&map, 100, &part(turn)), expected, "{turn} {lengths:?}");
            };
            for (turn, first) in [(0, 0), (1, 99), (2, 198), (3, 210), (4, 0), (6, 198), (255, 210)]
            {
                expect(turn, first);
            }
        }
    }

    /// Runs of these lengths, `count` of them; TSNs of some came in last over one path or another.
    #[test]
    fn what_came_in_last_is_named_first() {
        let (here, there, count) = (PathId(0), PathId(1), 310);
        for lengths in [[1, 1, 1], [63, 64, 65], [1, 200, 7], [130, 64, 64]] {
            let length = |i: usize| lengths[i % 3];
            let map = map((0..count).map(length));
            // Some TSN of a run.
            let tsn_in = |run: usize| {
                let below: u32 = (0..run).map(|i| length(i) + 1).sum();
                Tsn(9 + 1 + below + 1 + length(run) / 2)
            };
            for (last, others, named) in [
                (250, &[][..], &[][..]),
                (250, &[3, 40, 249, 300], &[3, 40, 300]),
                (20, &[100, 200], &[100, 200]),
                (309, &[0, 205], &[0, 205]),
            ] {
                let mut latest = LatestTsns::default();
                others.iter().for_each(|run| latest.note(there, tsn_in(*run)));
                // What is acknowledged already, and what never came.
                for old in [9, 10, u32::MAX - 5] {
                    latest.note(there, Tsn(old));
                }
                let _reported = latest.news(here, None);
                latest.note(here, tsn_in(last));
                let turn = SackTurn { number: 1, news: latest.news(here, Some(there)) };
                let blocks = map.gap_blocks_in_turn(300, 0, &turn);
                let first = (last + 1).saturating_sub(NEWS_ROW - 1).min(count - NEWS_ROW);
                let row = first..first + NEWS_ROW - 1;
                let mut expected: Vec<_> = row.chain(named.iter().copied()).collect();
                expected.push(count - 1);
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(places(&map, &blocks), expected, "{last} {others:?} {lengths:?}");
                let few = map.gap_blocks_in_turn(NEWS_ROW + 1, 0, &turn);
                assert_eq!(few.len(), expected.len().min(NEWS_ROW + 1), "no more than has room");
            }
        }
    }

    /// A duplicate is to be reported, too: then all blocks have their turn more rarely.
    #[test]
    fn all_are_named_at_times() {
        let map = map((0..150).map(|_| 1));
        let whole = |others| {
            let is_whole = |number: &u16| {
                let turn = SackTurn { number: *number, ..SackTurn::default() };
                map.gap_blocks_in_turn(300, others, &turn).len() == 150
            };
            (0..=64).filter(is_whole).collect::<Vec<u16>>()
        };
        assert_eq!(whole(0), [0, 8, 16, 24, 32, 40, 48, 56, 64]);
        assert_eq!(whole(1), [0, 32, 64]);
    }
}
