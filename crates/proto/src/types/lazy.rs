//! State that is allocated on demand.

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};

/// A value that uses memory only once it is changed; until then it reads as [`Vacant::VACANT`].
#[derive(Debug)]
pub(crate) struct Lazy<T>(Option<Box<T>>);

/// A type with a value for instances that were never changed.
pub(crate) trait Vacant: Default + 'static {
    /// Equal to the default.
    const VACANT: &'static Self;
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Vacant> Deref for Lazy<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => T::VACANT,
        }
    }
}

impl<T: Vacant> DerefMut for Lazy<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(Box::default)
    }
}

impl<T> Lazy<T> {
    /// Makes the value vacant again, which frees its memory.
    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }

    /// The value, if it was ever changed; for queries of every packet for which a vacant value makes no difference.
    #[inline]
    pub(crate) fn used(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The value, if it was ever changed; for changes that have no effect on a vacant value.
    #[inline]
    pub(crate) fn if_used(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, PartialEq, Eq, Debug)]
    struct Counter(u32);

    impl Vacant for Counter {
        const VACANT: &'static Self = &Self(0);
    }

    #[test]
    fn only_a_change_takes_memory() {
        let mut lazy = Lazy::<Counter>::default();
        assert_eq!((&*lazy, lazy.0.is_some()), (Counter::VACANT, false));
        assert_eq!(lazy.used(), None);
        assert_eq!(lazy.if_used(), None);
        assert!(lazy.0.is_none(), "asking changes nothing");
        lazy.deref_mut().0 += 1;
        assert_eq!(&*lazy, &Counter(1));
        assert_eq!(lazy.used(), Some(&Counter(1)));
        assert_eq!(lazy.if_used(), Some(&mut Counter(1)));
        lazy.forget();
        assert_eq!((&*lazy, lazy.0.is_some()), (Counter::VACANT, false));
        assert_eq!(Counter::VACANT, &Counter::default());
        assert_eq!(size_of::<Lazy<Counter>>(), size_of::<usize>());
    }
}
