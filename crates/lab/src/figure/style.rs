//! Styles of figures, with their sizes.

use std::fmt;
use std::str::FromStr;

/// Purpose of a figure. It determines sizes only: the content is the same in each style.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FigureStyle {
    /// A column of a paper with two columns; figures of several panels take both. They have no title, since the caption has
    /// it.
    Paper,
    /// A slide with the ratio 16:9.
    Slides,
    /// A web page or a README.
    #[default]
    Screen,
}

/// The sizes of a style; no other code has such numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dimensions {
    /// Width of a figure of one panel, in mm.
    pub column_mm: f64,
    /// Width of a figure of several panels, in mm.
    pub page_mm: f64,
    /// Height of a figure of one panel, relative to its width.
    pub aspect: f64,
    /// Size of labels and legends, in points.
    pub font_pt: f64,
    /// Size of ticks and notes, in points.
    pub small_pt: f64,
    /// Size of the title, in points; `None` if the document has a caption.
    pub title_pt: Option<f64>,
    /// Width of curves, in points.
    pub line_pt: f64,
    /// Width of axes and references, in points.
    pub axis_pt: f64,
    /// Width of marks, in points.
    pub mark_pt: f64,
    /// Pixels per inch of the PNG.
    pub pixels_per_inch: f64,
}

/// Points per millimetre.
const POINTS_PER_MM: f64 = 72.0 / 25.4;

impl FigureStyle {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Paper, Self::Slides, Self::Screen];

    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Slides => "slides",
            Self::Screen => "screen",
        }
    }

    /// Its sizes.
    pub fn dimensions(self) -> Dimensions {
        match self {
            Self::Paper => Dimensions {
                column_mm: 88.0,
                page_mm: 181.0,
                aspect: 0.72,
                font_pt: 8.0,
                small_pt: 7.0,
                title_pt: None,
                line_pt: 1.0,
                axis_pt: 0.5,
                mark_pt: 3.6,
                pixels_per_inch: 600.0,
            },
            Self::Slides => Dimensions {
                column_mm: 254.0,
                page_mm: 254.0,
                aspect: 9.0 / 16.0,
                font_pt: 16.0,
                small_pt: 14.0,
                title_pt: Some(20.0),
                line_pt: 2.4,
                axis_pt: 1.0,
                mark_pt: 8.0,
                pixels_per_inch: 192.0,
            },
            Self::Screen => Dimensions {
                column_mm: 200.0,
                page_mm: 240.0,
                aspect: 0.66,
                font_pt: 10.5,
                small_pt: 9.5,
                title_pt: Some(13.0),
                line_pt: 1.6,
                axis_pt: 0.75,
                mark_pt: 5.5,
                pixels_per_inch: 192.0,
            },
        }
    }
}

impl Dimensions {
    /// Width of a figure of one panel, in points.
    pub fn column_pt(&self) -> f64 {
        self.column_mm * POINTS_PER_MM
    }

    /// Width of a figure of several panels, in points.
    pub fn page_pt(&self) -> f64 {
        self.page_mm * POINTS_PER_MM
    }
}

/// Converts points to millimetres.
pub(super) fn millimetres(points: f64) -> f64 {
    points / POINTS_PER_MM
}

impl fmt::Display for FigureStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FigureStyle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL.into_iter().find(|style| style.name() == text);
        named.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("`{text}` is not a style of figures; choices: {names}")
        })
    }
}
