//! Styles of curves: colours that are distinct with every kind of colour vision (Okabe and Ito), and dashes and marks that are also
//! distinct in print.

use std::fmt::Write;

/// A colour by its role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    /// The background.
    Paper,
    /// Text and outlines.
    Text,
    /// Notes, ticks and references.
    Soft,
    /// Lines of the grid and other background lines.
    Faint,
    /// The colour of the curve with this number.
    Curve(usize),
}

/// The shape of the marks of a curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    Circle,
    Square,
    Up,
    Diamond,
    Down,
    Cross,
    Plus,
    Ring,
}

/// Colours on white and on dark backgrounds. Dark ones need lighter variants of blue, green and black.
const CURVES: [[&str; 2]; 8] = [
    ["#0072b2", "#4ba6e6"],
    ["#d55e00", "#ff8c3b"],
    ["#009e73", "#2fc79a"],
    ["#cc79a7", "#e49ac4"],
    ["#e69f00", "#f2b733"],
    ["#56b4e9", "#9bd6fb"],
    ["#000000", "#f2f2f2"],
    ["#8c8c8c", "#a6a6a6"],
];

/// Dash patterns, as multiples of the line width. Only one is solid, so that it is visible through the gaps of others.
const DASHES: [&[f64]; 8] = [
    &[],
    &[5.0, 2.0],
    &[6.0, 1.8, 1.2, 1.8],
    &[1.5, 1.5],
    &[9.0, 3.0],
    &[5.0, 1.5, 1.2, 1.5, 1.2, 1.5],
    &[3.0, 3.0],
    &[1.2, 3.0],
];

const MARKS: [Mark; 8] = [
    Mark::Circle,
    Mark::Square,
    Mark::Up,
    Mark::Diamond,
    Mark::Down,
    Mark::Cross,
    Mark::Plus,
    Mark::Ring,
];

/// Maximum number of distinguishable curves in a panel.
pub const MOST: usize = CURVES.len();

impl Ink {
    /// Colours on white and on dark backgrounds.
    fn colours(self) -> [&'static str; 2] {
        match self {
            Self::Paper => ["#ffffff", "#16181c"],
            Self::Text => ["#1a1a1a", "#e8e8e8"],
            Self::Soft => ["#595959", "#b6bac1"],
            Self::Faint => ["#d9d9d9", "#3a3f47"],
            Self::Curve(number) => CURVES[number % MOST],
        }
    }

    /// On white.
    pub(super) fn colour(self) -> &'static str {
        self.colours()[0]
    }

    /// The class of its elements, which pages with a dark theme colour anew.
    pub(super) fn class(self) -> String {
        match self {
            Self::Paper => "paper".into(),
            Self::Text => "text".into(),
            Self::Soft => "soft".into(),
            Self::Faint => "faint".into(),
            Self::Curve(number) => format!("c{}", number % MOST),
        }
    }
}

/// The dash of the curve of this number.
pub(super) fn dash(number: usize) -> &'static [f64] {
    DASHES[number % DASHES.len()]
}

/// The mark of the curve of this number.
pub(super) fn mark(number: usize) -> Mark {
    MARKS[number % MARKS.len()]
}

/// CSS rules for figures inside of elements `figure`, with colours for dark backgrounds.
pub(crate) fn dark_css() -> String {
    let mut css = String::new();
    let inks = [Ink::Paper, Ink::Text, Ink::Soft, Ink::Faint];
    for ink in inks.into_iter().chain((0..MOST).map(Ink::Curve)) {
        let (class, [_, dark]) = (ink.class(), ink.colours());
        // Writing to a string cannot fail.
        let _ = write!(
            css,
            "figure .f-{class} {{ fill: {dark}; }} figure .s-{class} {{ stroke: {dark}; }}\n  "
        );
    }
    css
}

/// Colours of the curves, for scripts.
pub(super) fn colours() -> [&'static str; MOST] {
    CURVES.map(|[light, _]| light)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(colour: &str) -> f64 {
        let channel = |at: usize| {
            let value = u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour");
            let value = f64::from(value) / 255.0;
            if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn text_is_readable_and_curves_are_seen_on_both_papers() {
        for theme in 0..2 {
            let paper = Ink::Paper.colours()[theme];
            for ink in [Ink::Text, Ink::Soft] {
                assert!(contrast(ink.colours()[theme], paper) >= 4.5, "{ink:?}");
            }
            for number in 0..MOST {
                let colour = Ink::Curve(number).colours()[theme];
                assert!(contrast(colour, paper) >= 2.2, "{colour} on {paper}");
            }
        }
    }

    #[test]
    fn no_two_curves_look_the_same() {
        let looks: Vec<_> = (0..MOST)
            .map(|number| (Ink::Curve(number).colours(), mark(number), dash(number)))
            .collect();
        for (number, look) in looks.iter().enumerate() {
            for other in &looks[..number] {
                assert!(look.0[0] != other.0[0] && look.0[1] != other.0[1] && look.1 != other.1);
                assert!(look.2 != other.2);
            }
        }
    }

    #[test]
    fn dark_pages_colour_every_class() {
        let css = dark_css();
        for class in ["paper", "text", "soft", "faint", "c0", "c7"] {
            assert!(css.contains(&format!(".f-{class} ")) && css.contains(&format!(".s-{class} ")));
        }
    }
}
