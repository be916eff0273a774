//! A ring of bits addressed by serial number.

use alloc::vec;
use alloc::vec::Vec;

use crate::Tsn;

/// One bit per outstanding TSN. The capacity is a power of two, so that serial numbers wrap with the ring; or 0, and then
/// no bit may be asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitRing {
    words: Vec<u64>,
}

impl BitRing {
    /// A ring of `capacity` zero bits, a power of two of at least 64.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two() && capacity >= 64);
        Self { words: vec![0; capacity / 64] }
    }

    #[inline]
    fn locate(&self, tsn: Tsn) -> (usize, u32) {
        ((tsn.0 / 64) as usize & self.words.len().wrapping_sub(1), tsn.0 % 64)
    }

    #[inline]
    pub(crate) fn get(&self, tsn: Tsn) -> bool {
        let (word, bit) = self.locate(tsn);
        self.words[word] >> bit & 1 == 1
    }

    #[inline]
    pub(crate) fn set(&mut self, tsn: Tsn) {
        let (word, bit) = self.locate(tsn);
        self.words[word] |= 1 << bit;
    }

    #[inline]
    pub(crate) fn clear(&mut self, tsn: Tsn) {
        let (word, bit) = self.locate(tsn);
        self.words[word] &= !(1 << bit);
    }

    /// The first TSN with a one bit in `from..end`.
    pub(crate) fn next_set(&self, from: Tsn, end: Tsn) -> Option<Tsn> {
        self.scan(from, end, |word| word)
    }

    /// The first TSN with a zero bit in `from..end`.
    pub(crate) fn next_clear(&self, from: Tsn, end: Tsn) -> Option<Tsn> {
        self.scan(from, end, |word| !word)
    }

    /// The first TSN with a one bit in both rings, which have the same capacity.
    pub(crate) fn next_set_in_both(&self, other: &Self, from: Tsn, end: Tsn) -> Option<Tsn> {
        let mut at = from;
        while at.is_before(end) {
            let (word, bit) = self.locate(at);
            let found = (self.words[word] & other.words[word]) >> bit;
            if found != 0 {
                let tsn = at.plus(found.trailing_zeros());
                return tsn.is_before(end).then_some(tsn);
            }
            at = at.plus(64 - bit);
        }
        None
    }

    /// The first TSN with a one bit here and a zero bit in the other ring, which has the same capacity.
    pub(crate) fn next_set_without(&self, other: &Self, from: Tsn, end: Tsn) -> Option<Tsn> {
        let mut at = from;
        while at.is_before(end) {
            let (word, bit) = self.locate(at);
            let found = (self.words[word] & !other.words[word]) >> bit;
            if found != 0 {
                let tsn = at.plus(found.trailing_zeros());
                return tsn.is_before(end).then_some(tsn);
            }
            at = at.plus(64 - bit);
        }
        None
    }

    fn scan(&self, from: Tsn, end: Tsn, view: impl Fn(u64) -> u64) -> Option<Tsn> {
        let mut at = from;
        while at.is_before(end) {
            let (word, bit) = self.locate(at);
            let found = view(self.words[word]) >> bit;
            if found != 0 {
                let tsn = at.plus(found.trailing_zeros());
                return tsn.is_before(end).then_some(tsn);
            }
            at = at.plus(64 - bit);
        }
        None
    }

    /// The same bits of `from..end` in a ring of `capacity`.
    pub(crate) fn grown(&self, capacity: usize, from: Tsn, end: Tsn) -> Self {
        let mut larger = Self::with_capacity(capacity);
        let mut at = from;
        while let Some(tsn) = self.next_set(at, end) {
            larger.set(tsn);
            at = tsn.next();
        }
        larger
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_bits_across_the_wrap_of_ring_and_serial_number() {
        let mut ring = BitRing::with_capacity(128);
        for tsn in [u32::MAX - 60, u32::MAX, 0, 63, 64] {
            ring.set(Tsn(tsn));
        }
        let end = Tsn(66);
        assert_eq!(ring.next_set(Tsn(u32::MAX - 61), end), Some(Tsn(u32::MAX - 60)));
        assert_eq!(ring.next_set(Tsn(u32::MAX - 59), end), Some(Tsn(u32::MAX)));
        assert_eq!(ring.next_set(Tsn(1), end), Some(Tsn(63)));
        assert_eq!(ring.next_set(Tsn(65), end), None);
        assert_eq!(ring.next_clear(Tsn(63), end), Some(Tsn(65)));
        assert_eq!(ring.next_set(Tsn(1), Tsn(63)), None);
    }

    #[test]
    fn finds_what_is_set_here_and_not_there_from_any_place() {
        let (mut ring, mut other) = (BitRing::with_capacity(256), BitRing::with_capacity(256));
        let (from, end) = (Tsn(u32::MAX - 100), Tsn(99));
        [0, 1, 70, 71, 130, 199].iter().for_each(|offset| ring.set(from.plus(*offset)));
        [1, 71].iter().for_each(|offset| other.set(from.plus(*offset)));
        for first in 0..200 {
            let next = [0, 70, 130, 199].into_iter().find(|offset| *offset >= first);
            let found = ring.next_set_without(&other, from.plus(first), end);
            assert_eq!(found, next.map(|offset| from.plus(offset)), "{first}");
        }
    }

    #[test]
    fn growing_keeps_the_bits() {
        let mut ring = BitRing::with_capacity(64);
        let from = Tsn(u32::MAX - 9);
        for offset in [0, 5, 9, 10, 63] {
            ring.set(from.plus(offset));
        }
        let grown = ring.grown(256, from, from.plus(64));
        for offset in 0..64 {
            assert_eq!(
                grown.get(from.plus(offset)),
                [0, 5, 9, 10, 63].contains(&offset),
                "offset {offset}"
            );
        }
    }

    #[test]
    fn intersection_skips_what_only_one_has() {
        let (mut a, mut b) = (BitRing::with_capacity(64), BitRing::with_capacity(64));
        a.set(Tsn(3));
        a.set(Tsn(40));
        b.set(Tsn(7));
        b.set(Tsn(40));
        assert_eq!(a.next_set_in_both(&b, Tsn(0), Tsn(64)), Some(Tsn(40)));
        assert_eq!(a.next_set_in_both(&b, Tsn(0), Tsn(40)), None);
    }
}
