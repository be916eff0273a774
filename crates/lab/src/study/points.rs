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

/// All points: a grid of groups, where the axes of a group advance together. The first group advances slowest.
pub(super) fn points(axes: &[Axis]) -> Vec<Point> {
    let groups = groups(axes);
    let lengths: Vec<usize> = groups.iter().map(|group| axes[group[0]].values.len()).collect();
    let count = lengths.iter().product();
    let mut points = Vec::with_capacity(count);
    for index in 0..count {
        let mut values = vec![0; axes.len()];
        let mut rest = index;
        for (group, length) in groups.iter().zip(&lengths).rev() {
            for axis in group {
                values[*axis] = rest % length;
            }
            rest /= length;
        }
        points.push(Point { index, values });
    }
    points
}

/// The axes that advance together, in the order of the first one of each group.
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
