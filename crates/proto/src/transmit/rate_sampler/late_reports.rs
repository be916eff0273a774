//! Bytes that belong to each packet and all later ones: a number for each place of a queue, to which is added from a place on.
//!
//! A SACK may have hundreds of chunks that belong to thousands of packets. So a place has only what it has more than the place
//! before it, and what is asked for, at places that rise, is summed up as they do.

use alloc::collections::VecDeque;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct LateReports {
    /// What each place has more than the one before it; modulo 2^64, since it may be less.
    more: VecDeque<u64>,
    /// What the last place has.
    at_last: u64,
    /// The place that was asked for last, and what it has.
    asked: Option<(usize, u64)>,
}

impl LateReports {
    /// A packet is sent: nothing was reported since.
    pub(super) fn push(&mut self) {
        self.more.push_back(self.at_last.wrapping_neg());
        self.at_last = 0;
    }

    /// The first packet is forgotten.
    pub(super) fn pop(&mut self) {
        let Some(first) = self.more.pop_front() else { return };
        match self.more.front_mut() {
            Some(next) => *next = next.wrapping_add(first),
            None => self.at_last = 0,
        }
        self.asked = self.asked.and_then(|(place, bytes)| Some((place.checked_sub(1)?, bytes)));
    }

    /// All packets are forgotten.
    pub(super) fn clear(&mut self) {
        *self = Self { more: core::mem::take(&mut self.more), ..Self::default() };
        self.more.clear();
    }

    /// Bytes were reported that were delivered before the packet at `place` and all later ones were sent.
    pub(super) fn add_from(&mut self, place: usize, bytes: u64) {
        let Some(more) = self.more.get_mut(place) else { return };
        *more = more.wrapping_add(bytes);
        self.at_last = self.at_last.wrapping_add(bytes);
        if let Some((asked, sum)) = &mut self.asked
            && *asked >= place
        {
            *sum = sum.wrapping_add(bytes);
        }
    }

    /// What belongs to the packet at `place`. Places that rise cost no more than their number.
    pub(super) fn at(&mut self, place: usize) -> u64 {
        let (from, sum) = match self.asked {
            Some((asked, sum)) if asked <= place => (asked + 1, sum),
            _ => (0, 0),
        };
        let more = self.more.range(from.min(self.more.len())..self.more.len().min(place + 1));
        let sum = more.fold(sum, |sum, more| sum.wrapping_add(*more));
        self.asked = Some((place, sum));
        sum
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a list that does what is said.
        #[test]
        fn it_is_a_list_with_sums_from_a_place_on(
            steps in proptest::collection::vec((0..6u8, 0..20usize, 0..1000u64), 0..200),
        ) {
            let (mut reports, mut list) = (LateReports::default(), Vec::<u64>::new());
            for (what, place, bytes) in steps {
                match what {
                    0 | 1 => {
                        reports.push();
                        list.push(0);
                    }
                    2 if !list.is_empty() => {
                        reports.pop();
                        list.remove(0);
                    }
                    3 if place == 0 => {
                        reports.clear();
                        list.clear();
                    }
                    4 => {
                        reports.add_from(place, bytes);
                        list.iter_mut().skip(place).for_each(|sum| *sum += bytes);
                    }
                    _ => {
                        if let Some(expected) = list.get(place) {
                            prop_assert_eq!(reports.at(place), *expected, "{}", place);
                        }
                    }
                }
            }
            for (place, expected) in list.iter().enumerate() {
                prop_assert_eq!(reports.at(place), *expected);
            }
        }
    }
}
