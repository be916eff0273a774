//! Sets of message numbers.

use std::collections::VecDeque;

/// A set of numbers that are added nearly in order: all numbers below a base belong to it, and bits represent those
/// above.
///
/// The base follows the highest number at a fixed distance, even if numbers are missing, so that the set stays small.
#[derive(Debug)]
pub(super) struct NumberSet {
    /// Multiple of 64.
    base: u64,
    words: VecDeque<u64>,
    /// Most words.
    span: usize,
}

impl NumberSet {
    /// An empty set that distinguishes numbers up to at least `span` below the highest.
    pub fn spanning(span: u64) -> Self {
        let words = span / 64 + 2;
        Self { base: 0, words: VecDeque::new(), span: usize::try_from(words).unwrap_or(usize::MAX) }
    }

    /// Adds a number; returns false if the set has it already.
    pub fn insert(&mut self, number: u64) -> bool {
        let Some(above) = number.checked_sub(self.base) else { return false };
        let word = self.make_room(above / 64);
        let bit = 1 << (above % 64);
        let Some(bits) = self.words.get_mut(word) else { return false };
        let new = *bits & bit == 0;
        *bits |= bit;
        while self.words.front() == Some(&u64::MAX) {
            self.words.pop_front();
            self.base += 64;
        }
        new
    }

    /// Makes the set reach a word at this distance from the base, moving the base if necessary; returns the new
    /// position of the word.
    fn make_room(&mut self, word: u64) -> usize {
        let last = self.span as u64 - 1;
        let word = match word.checked_sub(last) {
            None | Some(0) => word,
            Some(excess) => {
                let gone = self.words.len().min(usize::try_from(excess).unwrap_or(usize::MAX));
                self.words.drain(..gone);
                self.base += excess * 64;
                last
            }
        };
        let word = word as usize;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_sets_forget_nothing() {
        let mut set = NumberSet::spanning(1_000);
        let order: Vec<u64> = (0..1_000).map(|i| (i * 37) % 1_000).collect();
        assert!(order.iter().all(|number| set.insert(*number)));
        assert!(order.iter().all(|number| !set.insert(*number)));
        assert!(set.words.len() <= 1);
    }

    #[test]
    fn a_number_that_never_comes_costs_no_more_than_the_span() {
        let mut set = NumberSet::spanning(200);
        // 0 is never added, 1000 late.
        for number in (1..100_000).filter(|number| *number != 1_000) {
            assert!(set.insert(number));
            assert!(number <= 150 || set.insert(number - 150) == (number == 1_150));
            assert!(set.words.len() <= 200 / 64 + 2, "{}", set.words.len());
        }
        assert!(!set.insert(17));
    }

    #[test]
    fn a_leap_leaves_everything_below_the_span_behind() {
        let mut set = NumberSet::spanning(64);
        assert!(set.insert(3));
        assert!(set.insert(u64::MAX));
        assert!(!set.insert(u64::MAX));
        assert!(!set.insert(4));
        assert!(set.insert(u64::MAX - 64));
        assert!(set.words.len() <= 3);
    }
}
