//! Colours and strokes of curves. The colours differ in every kind of colour vision (Okabe and Ito), the strokes in print
//! too.

use kuva::plot::LineStyle;

const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"];

/// For axes, references and notes.
pub(super) const GREY: &str = "#606060";

/// The colour of the curve of this number.
pub(super) fn colour(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

/// The stroke of the curve of this number: different for neighbours, and for curves of one colour.
pub(super) fn stroke(number: usize) -> LineStyle {
    match (number + number / COLOURS.len()) % 4 {
        0 => LineStyle::Solid,
        1 => LineStyle::Dashed,
        2 => LineStyle::DashDot,
        _ => LineStyle::Dotted,
    }
}
