//! A queue of small values.

/// A queue whose capacity is a power of two: the place of an element is found without a comparison, and several packets on each link
/// pass through one.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// As many as the capacity, those outside of the queue are old. None, or a power of two.
    places: Vec<T>,
    /// Place of the first element.
    first: usize,
    len: usize,
}

/// Places that the first element gets.
const LEAST: usize = 8;

impl<T: Copy> Ring<T> {
    /// An empty queue, without memory.
    pub fn new() -> Self {
        Self { places: Vec::new(), first: 0, len: 0 }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn place(&self, index: usize) -> usize {
        (self.first + index) & self.places.len().wrapping_sub(1)
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&T> {
        if index < self.len { self.places.get(self.place(index)) } else { None }
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.places.get(self.first) }
    }

    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.get(self.len.wrapping_sub(1))
    }

    #[inline]
    pub fn push_back(&mut self, element: T) {
        if self.len == self.places.len() {
            self.grow(element);
        }
        let place = self.place(self.len);
        if let Some(free) = self.places.get_mut(place) {
            *free = element;
            self.len += 1;
        }
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.first = self.place(1);
        self.len -= 1;
        Some(first)
    }

    /// Doubles the capacity; `filler` is in the new places.
    #[cold]
    fn grow(&mut self, filler: T) {
        let capacity = (2 * self.places.len()).max(LEAST);
        self.places.rotate_left(self.first);
        self.first = 0;
        self.places.resize(capacity, filler);
    }

    /// The elements, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        (0..self.len).map(|index| &self.places[self.place(index)])
    }

    /// How many elements are in front for which `is_before` holds; it must hold for none behind one for which it does not.
    pub fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(&is_before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Puts an element behind this many others; at the end if there are not as many.
    pub fn insert(&mut self, index: usize, element: T) {
        self.push_back(element);
        for later in (index + 1..self.len).rev() {
            let (here, there) = (self.place(later), self.place(later - 1));
            self.places.swap(here, there);
        }
    }

    /// Takes out the element behind this many others.
    pub fn remove(&mut self, index: usize) -> Option<T> {
        let removed = *self.get(index)?;
        for later in index + 1..self.len {
            let (here, there) = (self.place(later), self.place(later - 1));
            self.places.swap(here, there);
        }
        self.len -= 1;
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn does_what_a_queue_of_the_standard_library_does() {
        let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
        let mut state = 1u64;
        let mut longest = 0;
        for round in 0..20_000u64 {
            // A linear congruential generator.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let index = (state >> 40) as usize % (queue.len() + 1);
            // Sometimes it grows, sometimes it shrinks.
            let adds = if round % 2_000 < 1_000 { 6 } else { 3 };
            match state >> 61 {
                0 => {
                    ring.insert(index, round);
                    queue.insert(index, round);
                }
                1 => assert_eq!(ring.remove(index), queue.remove(index)),
                step if step < adds => {
                    ring.push_back(round);
                    queue.push_back(round);
                }
                _ => assert_eq!(ring.pop_front(), queue.pop_front()),
            }
            assert_eq!((ring.front(), ring.back()), (queue.front(), queue.back()), "{round}");
            assert_eq!((ring.len(), ring.is_empty()), (queue.len(), queue.is_empty()));
            assert!(ring.iter().eq(queue.iter()), "{round}");
            assert!(ring.iter().rev().eq(queue.iter().rev()), "{round}");
            longest = longest.max(queue.len());
        }
        assert!(longest > 4 * LEAST, "{longest}");
    }

    #[test]
    fn finds_the_end_of_what_is_before() {
        let mut ring = Ring::new();
        assert_eq!(ring.partition_point(|_: &u32| true), 0);
        (0..6).for_each(|element| ring.push_back(element));
        assert_eq!([ring.pop_front(), ring.pop_front()], [Some(0), Some(1)]);
        (6..10).for_each(|element| ring.push_back(element));
        for bound in 2..=10 {
            assert_eq!(ring.partition_point(|element| *element < bound), bound as usize - 2);
        }
    }
}
