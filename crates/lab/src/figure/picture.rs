//! Content of a figure, in plain numbers.

use super::{Reference, Scale};

/// A picture: curves over the same axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    /// Title.
    pub title: String,
    /// Note about all curves, if needed.
    pub note: String,
    /// Label of the horizontal axis.
    pub x_label: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Scale of the horizontal axis.
    pub x_scale: Scale,
    /// Scale of the vertical axis.
    pub y_scale: Scale,
    /// Names of categories, which are at 0, 1, 2 …; empty if positions are numbers.
    pub categories: Vec<String>,
    /// Kind of curves.
    pub shape: Shape,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
    /// Horizontal lines for comparison.
    pub references: Vec<Reference>,
}

/// Kind of curves.
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
    /// A bar for each category, with a part for each curve.
    StackedBars,
}

/// A curve.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Parts of its label, such as the variant and the value of each other axis. All curves of a picture have equal numbers
    /// of parts.
    pub parts: Vec<String>,
    /// Number of its colour, dash and mark.
    pub look: usize,
    /// Its spots, in the order of positions.
    pub spots: Vec<Spot>,
}

/// A spot of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spot {
    /// The position.
    pub x: f64,
    /// The number.
    pub y: f64,
    /// Lower end of its interval; the number itself without an interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

impl Shape {
    /// Whether the curves are bars, which stand on the axis of places.
    pub(super) fn is_bars(self) -> bool {
        matches!(self, Self::Bars | Self::StackedBars)
    }
}

impl Curve {
    /// A curve with a label of one part.
    pub fn new(label: impl Into<String>, look: usize, spots: Vec<Spot>) -> Self {
        Self { parts: vec![label.into()], look, spots }
    }

    /// Label in the legend.
    pub fn label(&self) -> String {
        let parts = self.parts.iter().filter(|part| !part.is_empty());
        parts.map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

impl Spot {
    /// A spot without interval.
    pub fn exact(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y }
    }

    /// Whether it has an interval.
    pub(super) fn is_uncertain(&self) -> bool {
        self.low < self.high
    }
}
