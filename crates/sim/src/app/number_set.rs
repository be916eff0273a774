//! Which message numbers have been seen.

use std::collections::VecDeque;

/// A set of numbers that come nearly in order: all below a base, and bits above it.
#[derive(Debug, Default)]
pub(super) struct NumberSet {
    /// Multiple of 64.
    base: u64,
    words: VecDeque<u64>,
}

impl NumberSet {
    /// Adds a number; false when it was there already.
    pub fn insert(&mut self, number: u64) -> bool {
        /// Numbers this far ahead of the lowest missing one are nonsense and would only cost memory.
        const FURTHEST: u64 = 1 << 32;
        let Some(above) = number.checked_sub(self.base).filter(|above| *above < FURTHEST) else {
            return false;
        };
        let (word, bit) = ((above / 64) as usize, above % 64);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & 1 << bit == 0;
        self.words[word] |= 1 << bit;
        while self.words.front() == Some(&u64::MAX) {
            self.words.pop_front();
            self.base += 64;
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_sets_forget_nothing() {
        let mut set = NumberSet::default();
        let order: Vec<u64> = (0..1_000).map(|i| (i * 37) % 1_000).collect();
        assert!(order.iter().all(|number| set.insert(*number)));
        assert!(order.iter().all(|number| !set.insert(*number)));
        assert!(set.words.len() <= 1);
    }
}
