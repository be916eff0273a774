//! Data received out of order that will not be discarded (NR-SACK), and removal of discarded TSNs (reneging).

use alloc::boxed::Box;
use alloc::vec;

use polypath_wire::GapAckBlock;
use smallvec::SmallVec;

use super::{TsnMap, WideTsn, low_bits};

/// Renegable and non-renegable blocks.
type Split = (SmallVec<[GapAckBlock; 4]>, SmallVec<[GapAckBlock; 4]>);

impl TsnMap {
    /// Records that `count` TSNs from `first` on, all of them received, will not be discarded.
    pub fn make_firm(&mut self, first: WideTsn, count: u32) {
        let end = WideTsn(first.0 + u64::from(count));
        let mut at = first.max(self.cumulative.next());
        if at >= end {
            return;
        }
        if self.firm.is_empty() {
            self.firm = vec![0; self.words.len()].into_boxed_slice();
        }
        while at < end {
            let (number, bit) = at.locate();
            let ones = (64 - u64::from(bit)).min(end.0 - at.0) as u32;
            let mask = self.firm.len() - 1;
            self.firm[number as usize & mask] |= low_bits(ones) << bit;
            at = WideTsn(at.0 + u64::from(ones));
        }
    }

    /// The runs of TSNs received above the cumulative TSN ack: those that may be discarded, and those that will not be.
    /// At most `space` of both, the lowest; omitted ones lie above all of them.
    pub fn split_gap_blocks(&self, space: usize) -> Split {
        let mut split = Split::default();
        if !self.has_gaps() || space == 0 {
            return split;
        }
        let mut carry = [0, 0];
        let mut start = [0u16; 2];
        let (mut begun, mut open) = (0, [false; 2]);
        for number in self.cumulative.next().locate().0..=self.highest.locate().0 {
            let words = self.split_word(number);
            let edges = [0, 1].map(|list| words[list] ^ (words[list] << 1 | carry[list]));
            carry = words.map(|word| word >> 63);
            let origin = (number << 6).wrapping_sub(self.cumulative.0);
            let mut rest = edges[0] | edges[1];
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                let offset = origin.wrapping_add(bit.into()) as u16;
                // A run that ends here makes place for one of the other list that begins here.
                for list in [0, 1] {
                    if edges[list] >> bit & 1 == 1 && words[list] >> bit & 1 == 0 {
                        open[list] = false;
                        split.push(
                            list,
                            GapAckBlock { start: start[list], end: offset.wrapping_sub(1) },
                        );
                    }
                }
                for list in [0, 1] {
                    if edges[list] >> bit & words[list] >> bit & 1 == 1 {
                        if begun == space {
                            return split;
                        }
                        begun += 1;
                        start[list] = offset;
                        open[list] = true;
                    }
                }
            }
        }
        for list in [0, 1] {
            if open[list] {
                split.push(list, GapAckBlock { start: start[list], end: self.gap_span() as u16 });
            }
        }
        split
    }

    /// Number of runs when those that may be discarded count apart from those that will not be.
    pub fn split_block_count(&self) -> usize {
        if !self.has_gaps() {
            return 0;
        }
        let mut carry = [0, 0];
        let begun = (self.cumulative.next().locate().0..=self.highest.locate().0).map(|number| {
            let words = self.split_word(number);
            let rising = [0, 1].map(|list| words[list] & !(words[list] << 1 | carry[list]));
            carry = words.map(|word| word >> 63);
            (rising[0].count_ones() + rising[1].count_ones()) as usize
        });
        begun.sum()
    }

    /// Forgets TSNs above the cumulative TSN ack that were discarded: `count` from `first` on.
    pub fn forget(&mut self, first: WideTsn, count: u32) {
        let end = WideTsn(first.0 + u64::from(count));
        if first <= self.cumulative || end.0 > self.highest.0 + 1 {
            debug_assert!(false, "neither cumulatively acknowledged nor unknown");
            return;
        }
        let mut at = first;
        while at < end {
            let (number, bit) = at.locate();
            *self.word_mut(number) &= !(1 << bit);
            debug_assert!(self.firm_word(number) >> bit & 1 == 0, "what was promised is kept");
            at = at.next();
        }
        while self.highest > self.cumulative && !self.has_bit(self.highest) {
            let (number, bit) = self.highest.locate();
            let below = self.word(number) & low_bits(bit + 1);
            let highest = match below {
                0 => (number << 6) - 1,
                _ => number << 6 | u64::from(below.ilog2()),
            };
            self.highest = WideTsn(highest.max(self.cumulative.0));
        }
    }

    fn split_word(&self, number: u64) -> [u64; 2] {
        let (word, firm) = (self.word(number), self.firm_word(number));
        [word & !firm, word & firm]
    }

    fn firm_word(&self, number: u64) -> u64 {
        let mask = self.firm.len().wrapping_sub(1);
        self.firm.get(number as usize & mask).copied().unwrap_or(0)
    }

    pub(super) fn clear_firm(&mut self, number: u64, bits: u64) {
        if !self.firm.is_empty() {
            let mask = self.firm.len() - 1;
            self.firm[number as usize & mask] &= !bits;
        }
    }

    /// The ring grows to `len` words; `first` is the lowest in use.
    pub(super) fn grow_firm(&mut self, len: usize, first: u64) {
        if self.firm.is_empty() || !self.has_gaps() {
            self.firm = Box::default();
            return;
        }
        let mut grown = vec![0; len];
        for number in first..=self.highest.locate().0 {
            grown[number as usize & (len - 1)] = self.firm_word(number);
        }
        self.firm = grown.into_boxed_slice();
    }
}

trait Lists {
    fn push(&mut self, list: usize, block: GapAckBlock);
}

impl Lists for Split {
    fn push(&mut self, list: usize, block: GapAckBlock) {
        if list == 0 { self.0.push(block) } else { self.1.push(block) }
    }
}

#[cfg(test)]
mod tests;
