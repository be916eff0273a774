//! Which TSNs have arrived: the cumulative TSN ack and a bitmap of what lies above it.

mod firm;
mod gap_blocks;

pub(crate) use gap_blocks::MOST_NEWS;

use alloc::boxed::Box;
use alloc::vec;

use crate::Tsn;

/// Largest distance from the cumulative TSN ack that a gap ack block can express (RFC 9260 section 3.3.4).
const MAX_GAP_OFFSET: u32 = u16::MAX as u32;

/// A TSN that counts on past 2^32, so that plain order holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct WideTsn(u64);

impl WideTsn {
    /// The number on the wire.
    pub const fn narrow(self) -> Tsn {
        Tsn(self.0 as u32)
    }

    /// The TSN after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The TSN before this one.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0 - 1)
    }

    /// The TSN `n` after this one.
    #[must_use]
    pub const fn plus(self, n: u32) -> Self {
        Self(self.0 + n as u64)
    }

    /// The TSN `n` before this one.
    #[must_use]
    pub const fn minus(self, n: u32) -> Self {
        Self(self.0 - n as u64)
    }

    /// Number of the 64-bit word that holds its bit, and the bit.
    const fn locate(self) -> (u64, u32) {
        (self.0 >> 6, (self.0 & 63) as u32)
    }
}

/// What the map knows of a TSN that has just arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// Not seen before.
    New(WideTsn),
    /// Received before.
    Duplicate,
    /// So far ahead that no gap ack block could report it, or no honest sender could have sent it.
    TooFar,
}

/// The received TSNs.
///
/// The bits form a ring indexed by the TSN itself, so that nothing moves when the cumulative TSN ack does. Bits at or
/// below the cumulative TSN ack and above the highest TSN are 0. The ring grows with the widest reordering seen, to
/// 16 KiB at most; none is allocated while everything arrives in order.
#[derive(Debug)]
pub struct TsnMap {
    cumulative: WideTsn,
    highest: WideTsn,
    max_offset: u32,
    /// Its length is 0 or a power of two.
    words: Box<[u64]>,
    /// What of it was promised not to be discarded; as long as `words`, or empty.
    firm: Box<[u64]>,
}

impl TsnMap {
    /// A map in which the peer's first TSN is the next one expected. TSNs more than `max_offset` ahead of the
    /// cumulative TSN ack are refused, in any case those that gap ack blocks cannot express.
    pub fn new(initial: Tsn, max_offset: u32) -> Self {
        let cumulative = WideTsn((1 << 32) + u64::from(initial.previous().0));
        let max_offset = max_offset.clamp(1, MAX_GAP_OFFSET);
        Self {
            cumulative,
            highest: cumulative,
            max_offset,
            words: Box::default(),
            firm: Box::default(),
        }
    }

    /// Gives the memory of a map without gaps back.
    pub fn release_memory(&mut self) {
        if !self.has_gaps() {
            self.words = Box::default();
            self.firm = Box::default();
        }
    }

    /// What is known of `tsn`.
    #[inline(always)]
    pub fn classify(&self, tsn: Tsn) -> Arrival {
        let offset = tsn.distance_from(self.cumulative.narrow());
        if offset == 0 || offset > i32::MAX as u32 {
            return Arrival::Duplicate;
        }
        if offset > self.max_offset {
            return Arrival::TooFar;
        }
        let wide = self.cumulative.plus(offset);
        if self.has_bit(wide) { Arrival::Duplicate } else { Arrival::New(wide) }
    }

    /// Records a TSN that [`classify`](Self::classify) called new.
    #[inline]
    pub fn record(&mut self, tsn: WideTsn) {
        if tsn == self.cumulative.next() && self.highest <= tsn {
            (self.cumulative, self.highest) = (tsn, tsn);
        } else {
            self.record_beside_gap(tsn);
        }
    }

    /// The same, if there is a gap, or will be one.
    #[inline(never)]
    fn record_beside_gap(&mut self, tsn: WideTsn) {
        if tsn == self.cumulative.next() {
            self.cumulative = tsn;
            return self.absorb();
        }
        if tsn <= self.cumulative || tsn > self.cumulative.plus(self.max_offset) {
            debug_assert!(false, "not classified as new");
            return;
        }
        self.make_room_for(tsn);
        let (word, bit) = tsn.locate();
        *self.word_mut(word) |= 1 << bit;
        self.highest = self.highest.max(tsn);
    }

    /// Acts as if every TSN up to `new_cumulative` had arrived (FORWARD-TSN, RFC 3758 section 3.6); does nothing when
    /// that is no progress.
    pub fn advance_to(&mut self, new_cumulative: Tsn) {
        if !new_cumulative.is_after(self.cumulative_tsn()) {
            return;
        }
        let target = self.cumulative.plus(new_cumulative.distance_from(self.cumulative_tsn()));
        if target >= self.highest {
            self.words.fill(0);
            self.firm.fill(0);
            self.cumulative = target;
            self.highest = target;
            return;
        }
        let (first, _) = self.cumulative.next().locate();
        let (last, bit) = target.locate();
        for word in first..last {
            *self.word_mut(word) = 0;
            self.clear_firm(word, u64::MAX);
        }
        *self.word_mut(last) &= !(u64::MAX >> (63 - bit));
        self.clear_firm(last, u64::MAX >> (63 - bit));
        self.cumulative = target;
        self.absorb();
    }

    /// A TSN near the cumulative one, comparable with what [`classify`](Self::classify) gives.
    pub fn wide(&self, tsn: Tsn) -> WideTsn {
        let behind = self.cumulative_tsn().distance_from(tsn);
        match behind <= i32::MAX as u32 {
            true => WideTsn(self.cumulative.0 - u64::from(behind)),
            false => self.cumulative.plus(tsn.distance_from(self.cumulative_tsn())),
        }
    }

    /// Last TSN received in sequence.
    pub fn cumulative_tsn(&self) -> Tsn {
        self.cumulative.narrow()
    }

    /// The same, comparable with what [`classify`](Self::classify) gives.
    pub fn cumulative(&self) -> WideTsn {
        self.cumulative
    }

    /// Whether a TSN above the cumulative TSN ack was received.
    pub fn has_gaps(&self) -> bool {
        self.highest > self.cumulative
    }

    /// Distance of the highest TSN received from the cumulative TSN ack; 0 without gaps.
    pub fn gap_span(&self) -> u32 {
        (self.highest.0 - self.cumulative.0) as u32
    }

    /// Whether a TSN lies above the highest one while `limit` or more wait above the cumulative one. Costs as much as the map is
    /// long.
    pub fn is_crowded(&self, tsn: WideTsn, limit: u32) -> bool {
        let waiting = || self.words.iter().map(|word| word.count_ones()).sum::<u32>();
        tsn > self.highest && self.has_gaps() && waiting() >= limit
    }

    /// Moves the cumulative TSN ack over TSNs received right after it and clears their bits.
    fn absorb(&mut self) {
        let mut next = self.cumulative.next();
        loop {
            let (number, bit) = next.locate();
            let word = self.word_mut(number);
            let ones = (*word >> bit).trailing_ones();
            *word &= !(low_bits(ones) << bit);
            self.clear_firm(number, low_bits(ones) << bit);
            next = next.plus(ones);
            if bit + ones < 64 {
                break;
            }
        }
        self.cumulative = WideTsn(next.0 - 1);
    }

    fn has_bit(&self, tsn: WideTsn) -> bool {
        let (word, bit) = tsn.locate();
        tsn <= self.highest && (self.word(word) >> bit) & 1 == 1
    }

    /// Grows the ring until the words from the cumulative TSN ack to `tsn` have places of their own.
    fn make_room_for(&mut self, tsn: WideTsn) {
        let (first, _) = self.cumulative.locate();
        let needed = (tsn.locate().0 - first + 1) as usize;
        if needed <= self.words.len() {
            return;
        }
        let mut words = vec![0; needed.next_power_of_two().max(4)].into_boxed_slice();
        let mask = words.len() - 1;
        if self.has_gaps() {
            for number in first..=self.highest.locate().0 {
                words[number as usize & mask] = self.word(number);
            }
        }
        self.grow_firm(mask + 1, first);
        self.words = words;
    }

    fn word(&self, number: u64) -> u64 {
        let mask = self.words.len().wrapping_sub(1);
        self.words.get(number as usize & mask).copied().unwrap_or(0)
    }

    /// Must not be called before the ring exists, which it does as soon as there are gaps.
    fn word_mut(&mut self, number: u64) -> &mut u64 {
        let mask = self.words.len() - 1;
        &mut self.words[number as usize & mask]
    }
}

const fn low_bits(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

#[cfg(test)]
mod tests;
