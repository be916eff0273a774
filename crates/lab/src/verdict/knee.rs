//! The knee of a curve.
//!
//! The knee of a curve is the point that lies furthest from the straight line between its ends (V. Satopää and others, Finding a
//! "Kneedle" in a Haystack, ICDCS Workshops 2011). A rule that asked only whether a curve is steeper before a point than after
//! it would hold at every point of a convex curve.

use std::collections::BTreeMap;

use super::evaluate::{Judge, PlaceJudgement, Places};
use super::rule::{self, Verdict};
use super::statement::Knee;
use crate::stats::{Estimate, Interval, mean};
use crate::study::text;

/// A curve along one axis, all others being fixed.
struct Line {
    /// The points as text: the values of the other axes.
    place: String,
    /// Positions along the axis, with their names.
    along: Vec<(f64, String)>,
    /// Their points in the study.
    points: Vec<usize>,
}

impl Judge<'_> {
    /// Whether a curve bends at a point more than at each of the others between its ends.
    pub(super) fn knee(&self, knee: &Knee) -> Places {
        let study = self.data.study();
        let names = study.axes().iter().map(|axis| axis.name.as_str());
        let axis = study.axis(&knee.along);
        let axis = axis.ok_or_else(|| crate::study::unknown("axis", &knee.along, names))?;
        let at = study.axes()[axis].number(&knee.at);
        let at = at.ok_or_else(|| format!("{} is not a value of `{}`", knee.at, knee.along))?;
        let mut places = Vec::new();
        for line in self.lines(axis)? {
            places.extend(self.bend(knee, at, &line)?);
        }
        Ok(places)
    }

    /// The selected points, as one line along the axis for each set of values of the other axes.
    fn lines(&self, axis: usize) -> Result<Vec<Line>, String> {
        let study = self.data.study();
        let mut lines: BTreeMap<Vec<usize>, Line> = BTreeMap::new();
        for point in &self.points {
            let mut others = study.points().at(*point).values;
            let index = others.remove(axis);
            let of = &study.axes()[axis];
            let position = of.position(index);
            let position =
                position.ok_or_else(|| format!("the values of `{}` are not numbers", of.name))?;
            let axes = study.axes().iter().enumerate().filter(|(number, _)| *number != axis);
            let named = axes
                .zip(&others)
                .map(|((_, of), index)| format!("{} {}", of.name, of.label_of(*index)));
            let place: Vec<String> = named.collect();
            let new = || Line { place: place.join(", "), along: Vec::new(), points: Vec::new() };
            let line = lines.entry(others).or_insert_with(new);
            line.along.push((position, of.label_of(index).to_string()));
            line.points.push(*point);
        }
        Ok(lines.into_values().collect())
    }

    /// How much further the point lies from the straight line than each of the others, as a fraction of the curve's height.
    fn bend(&self, knee: &Knee, at: f64, line: &Line) -> Places {
        let between = 1..line.along.len().saturating_sub(1);
        let here = between.clone().find(|index| line.along[*index].0 == at);
        let Some(here) = here.filter(|_| between.len() > 1) else {
            return Err(format!(
                "a knee must lie between the first point and the last, with at least one other point between them; {} does not",
                text(&knee.at)
            ));
        };
        let curves: Result<Vec<_>, String> =
            line.points.iter().map(|point| knee.of.values(self.data, *point)).collect();
        let curves = curves?;
        let runs = curves.iter().map(Vec::len).min().unwrap_or(0);
        let x: Vec<f64> = line.along.iter().map(|(x, _)| *x).collect();
        let of_run = |run: usize| {
            let y: Option<Vec<f64>> = curves.iter().map(|curve| curve[run]).collect();
            distances(&x, &y?)
        };
        let distances: Vec<Vec<f64>> = (0..runs).filter_map(of_run).collect();
        let name = self.name(&knee.of);
        let beside = |other: usize| -> PlaceJudgement {
            let further: Vec<f64> = distances.iter().map(|of| of[here] - of[other]).collect();
            let names = [here, other].map(|index| line.along[index].1.as_str());
            let place =
                if line.place.is_empty() { String::new() } else { format!("; {}", line.place) };
            self.place(
                format!("bend of {name} at {} against {}{place}", names[0], names[1]),
                mean(&further, self.confidence),
                judged,
            )
        };
        Ok(between.filter(|other| *other != here).map(beside).collect())
    }
}

/// The knee must lie furthest; differences below a hundredth of the height do not count.
fn judged(further: &Estimate) -> Verdict {
    let none = Some(further.interval).filter(|found| *found != Interval::around(0.0, 0.0));
    rule::unless_equivalent(rule::better(further.interval), none)
}

/// Distance of each point from the straight line between the first and the last, as a fraction of the curve's height; `None` if
/// the height is 0.
fn distances(x: &[f64], y: &[f64]) -> Option<Vec<f64>> {
    let [(first_x, last_x), (first_y, last_y)] =
        [x, y].map(|of| Some((*of.first()?, *of.last()?))).map(|ends| ends.unwrap_or((0.0, 0.0)));
    let (width, height) = (last_x - first_x, last_y - first_y);
    let distance = |(x, y): (&f64, &f64)| {
        let line = first_y + height * (x - first_x) / width;
        ((y - line) / height).abs()
    };
    let distances: Vec<f64> = x.iter().zip(y).map(distance).collect();
    distances.iter().all(|distance| distance.is_finite()).then_some(distances)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_point_of_a_hyperbola_that_is_furthest_is_in_the_middle_of_its_scale() {
        let x = [16.0, 32.0, 64.0, 128.0, 256.0];
        let found = distances(&x, &x.map(|x| 1.0 + 64.0 / x)).expect("distances");
        let expected = [0.0, 0.4667, 0.6, 0.4667, 0.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-3, "{found} for {expected}");
        }
    }

    #[test]
    fn a_straight_line_bends_nowhere_and_a_flat_one_has_no_height() {
        let straight = distances(&[0.0, 1.0, 3.0], &[6.0, 4.0, 0.0]).expect("distances");
        assert!(straight.iter().all(|distance| *distance < 1e-12), "{straight:?}");
        assert_eq!(distances(&[0.0, 1.0, 3.0], &[2.0, 3.0, 2.0]), None);
        assert_eq!(distances(&[1.0, 1.0], &[2.0, 3.0]), None);
    }
}
