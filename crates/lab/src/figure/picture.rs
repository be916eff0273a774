//! What a picture shows, in plain numbers.

use super::{Reference, Scale};

/// A picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// What stands above it.
    pub title: String,
    /// What stands below the axis of places.
    pub x_label: String,
    /// What stands beside the axis of numbers.
    pub y_label: String,
    /// Division of the axis of places.
    pub x_scale: Scale,
    /// Division of the axis of numbers.
    pub y_scale: Scale,
    /// Names of the places, which are then 0, 1, 2 …; empty where places are numbers.
    pub categories: Vec<String>,
    /// How curves are drawn.
    pub shape: Shape,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
    /// Horizontal lines for comparison.
    pub references: Vec<Reference>,
}

/// How curves are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Lines with a mark at each spot and a band of intervals.
    MarkedLines,
    /// Lines.
    Lines,
    /// A dot for each spot.
    Dots,
    /// A group of bars for each category, a bar for each curve.
    Bars,
}

/// A curve.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// What the legend says.
    pub label: String,
    /// Where it is, in the order of places.
    pub spots: Vec<Spot>,
}

/// A spot of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spot {
    /// The place.
    pub x: f64,
    /// The number.
    pub y: f64,
    /// Lower end of its interval; the number itself where there is none.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

impl Spot {
    /// Without interval.
    pub fn exact(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y }
    }
}
