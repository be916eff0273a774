//! The points of axes.

use super::Axis;

/// A point of the axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// Its number, in the order of results.
    pub index: usize,
    /// For each axis, the number of its value.
    pub values: Vec<usize>,
}

/// All points: a grid of groups, where the axes of a group advance together. The first group advances slowest. Points
/// are computed on demand, so that a million of them take no memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Points {
    groups: Vec<Group>,
    axes: usize,
    count: usize,
}

/// Axes that advance together.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Group {
    axes: Vec<usize>,
    /// Number of values of each.
    length: usize,
    /// Number of points from one value to the next.
    stride: usize,
}

impl Points {
    /// The points of these axes; `None` if there are too many for a `usize`.
    pub(super) fn of(axes: &[Axis]) -> Option<Self> {
        let mut count = 1_usize;
        let mut found = Vec::new();
        for group in groups(axes).into_iter().rev() {
            let length = axes[group[0]].values.len();
            found.push(Group { axes: group, length, stride: count });
            count = count.checked_mul(length)?;
        }
        found.reverse();
        Some(Self { groups: found, axes: axes.len(), count })
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The point with this number.
    ///
    /// # Panics
    /// There is no such point.
    pub fn at(&self, index: usize) -> Point {
        assert!(index < self.count, "point {index} of {}", self.count);
        let mut values = vec![0; self.axes];
        for group in &self.groups {
            for axis in &group.axes {
                values[*axis] = index / group.stride % group.length;
            }
        }
        Point { index, values }
    }

    /// All points, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Point> {
        (0..self.count).map(|index| self.at(index))
    }

    /// The first point with each value of each axis, in order.
    pub(super) fn sample(&self) -> Vec<usize> {
        let mut sample = vec![0; self.count.min(1)];
        for group in self.groups.iter().filter(|_| self.count > 0) {
            sample.extend((1..group.length).map(|value| value * group.stride));
        }
        sample.sort_unstable();
        sample
    }
}

/// Groups of axes that advance together, in the order of their first axes.
pub(super) fn groups(axes: &[Axis]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for (index, axis) in axes.iter().enumerate() {
        let zip = axis.zip.as_deref();
        match groups.iter_mut().find(|(name, _)| name.is_some() && *name == zip) {
            Some((_, group)) => group.push(index),
            None => groups.push((zip, vec![index])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
