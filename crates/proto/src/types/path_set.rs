//! Sets of paths.

use crate::PathId;

/// A set of paths of one association, which has at most [`PathSet::CAPACITY`] paths in its lifetime.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathSet(u32);

impl PathSet {
    /// Paths that a set can hold.
    pub(crate) const CAPACITY: usize = 32;
    /// No path.
    pub(crate) const EMPTY: Self = Self(0);
    /// All possible paths.
    pub(crate) const ALL: Self = Self(u32::MAX);

    /// One path.
    #[inline]
    pub(crate) fn of(path: PathId) -> Self {
        debug_assert!(path.index() < Self::CAPACITY);
        Self(1 << path.0)
    }

    /// Whether the path is in the set.
    #[inline]
    pub(crate) fn contains(self, path: PathId) -> bool {
        self.0 >> path.0 & 1 == 1
    }

    /// Adds a path.
    #[inline]
    pub(crate) fn insert(&mut self, path: PathId) {
        self.0 |= Self::of(path).0;
    }

    /// Adds a path if the condition holds, without a branch.
    #[inline]
    pub(crate) fn insert_if(&mut self, path: PathId, condition: bool) {
        self.0 |= u32::from(condition) << path.0;
    }

    /// The lowest path.
    #[inline]
    pub(crate) fn first(self) -> Option<PathId> {
        (self.0 != 0).then(|| PathId(self.0.trailing_zeros() as u8))
    }

    /// Removes the lowest path and returns it.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<PathId> {
        let lowest = self.first()?;
        self.0 &= self.0 - 1;
        Some(lowest)
    }

    /// The paths, lowest first.
    pub(crate) fn iter(mut self) -> impl Iterator<Item = PathId> {
        core::iter::from_fn(move || self.pop())
    }

    /// The paths of both sets.
    #[inline]
    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The paths of this set that are not in `other`.
    #[inline]
    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has more than one path.
    #[inline]
    pub(crate) fn is_several(self) -> bool {
        self.0 & self.0.wrapping_sub(1) != 0
    }

    /// Number of paths in the set before this one.
    #[inline]
    pub(crate) fn place_of(self, path: PathId) -> usize {
        (self.0 & (Self::of(path).0 - 1)).count_ones() as usize
    }

    /// Number of paths.
    #[inline]
    pub(crate) fn len(self) -> u32 {
        self.0.count_ones()
    }
}

impl FromIterator<PathId> for PathSet {
    fn from_iter<I: IntoIterator<Item = PathId>>(paths: I) -> Self {
        paths.into_iter().fold(Self::EMPTY, |mut set, path| {
            set.insert(path);
            set
        })
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in_and_gives_the_lowest_first() {
        let paths = [PathId(31), PathId(0), PathId(7)];
        let mut set: PathSet = paths.into_iter().collect();
        assert!(paths.iter().all(|path| set.contains(*path)));
        assert!(!set.contains(PathId(1)));
        assert_eq!((set.len(), PathSet::EMPTY.len(), PathSet::ALL.len()), (3, 0, 32));
        assert_eq!(set.without(PathSet::of(PathId(7))).len(), 2);
        assert_eq!(set.union(PathSet::of(PathId(1))).len(), 4);
        assert!(set.is_several() && !PathSet::of(PathId(7)).is_several());
        assert!(!PathSet::EMPTY.is_several());
        assert_eq!(paths.map(|path| set.place_of(path)), [2, 0, 1]);
        let drained: Vec<u8> = core::iter::from_fn(|| set.pop()).map(|path| path.0).collect();
        assert_eq!(drained, [0, 7, 31]);
        assert!(set.is_empty());
    }
}
