//! A script that draws a figure again with matplotlib, from the CSV beside it.

use std::fmt::Write;

use super::Scale;
use super::font;
use super::palette;
use super::panel::Axes;
use super::picture::Shape;
use super::sheet::Sheet;
use super::style::{FigureStyle, millimetres};

/// The script without the parts of a single figure.
const TEMPLATE: &str = include_str!("redraw.py.in");

impl Sheet {
    /// The script, which reads `NAME.csv` beside it and writes `NAME-redrawn.pdf`, or the file named by its argument.
    pub fn script(&self, name: &str, style: FigureStyle) -> String {
        let head = format!(
            "\"\"\"Draws the figure `{name}` again, from {name}.csv beside this file: python3 {name}.py [FILE].\n\n\
             Needs matplotlib. Change what you like: Polypath writes it anew when it draws the figure.\n\"\"\"\n\n"
        );
        head + &TEMPLATE.replace("@SETTINGS@", &self.settings(style))
    }

    fn settings(&self, style: FigureStyle) -> String {
        let sizes = style.dimensions();
        let size = self.draw(style).size();
        let [width, height] = size.map(millimetres);
        let first = self.panels.first();
        let wrapped =
            font::fitted(first.map_or("", |panel| &panel.y_label), sizes.font_pt, 0.5 * size[1]);
        // The axes as in the figure.
        let begins = Axes::of(&self.panels).y.low();
        let shape = first.map_or(Shape::Lines, |panel| panel.shape);
        let shape = match shape {
            Shape::MarkedLines => "marked-lines",
            Shape::Lines => "lines",
            Shape::Dots => "dots",
            Shape::Bars => "bars",
            Shape::StackedBars => "stacked-bars",
        };
        let is_log =
            |scale: Option<Scale>| if scale == Some(Scale::Log) { "True" } else { "False" };
        let title = match sizes.title_pt {
            // The font of matplotlib is slightly wider than ours.
            Some(points) => font::fitted(&self.title, 1.1 * points, 0.9 * size[0]).join("\n"),
            None => String::new(),
        };
        let colours = palette::colours().map(|colour| format!("\"{colour}\""));
        let dash = |number: usize| match palette::dash(number) {
            [] => "\"-\"".to_owned(),
            lengths => format!("(0, {lengths:?})"),
        };
        let dashes: Vec<String> = (0..palette::MOST).map(dash).collect();
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "TITLE = {}", python(&title));
        let _ = writeln!(out, "TITLE_PT = {}", sizes.title_pt.unwrap_or(sizes.font_pt));
        let _ = writeln!(out, "X_LABEL = {}", python(first.map_or("", |panel| &panel.x_label)));
        let _ = writeln!(out, "Y_LABEL = {}", python(&wrapped.join("\n")));
        let _ = writeln!(out, "SHAPE = \"{shape}\"");
        let _ = writeln!(out, "X_LOG = {}", is_log(first.map(|panel| panel.x_scale)));
        let _ = writeln!(out, "Y_LOG = {}", is_log(first.map(|panel| panel.y_scale)));
        let _ = writeln!(out, "Y_BEGINS_AT_0 = {}", if begins == 0.0 { "True" } else { "False" });
        let _ = writeln!(out, "LEGEND_COLUMNS = {}", self.legend(style).columns());
        let _ = writeln!(out, "WIDTH_MM, HEIGHT_MM = {width:.1}, {height:.1}");
        let _ = writeln!(
            out,
            "FONT_PT, LINE_PT, MARK_PT = {}, {}, {}",
            sizes.font_pt, sizes.line_pt, sizes.mark_pt
        );
        let _ = writeln!(out, "COLOURS = [{}]", colours.join(", "));
        let _ = writeln!(out, "DASHES = [{}]", dashes.join(", "));
        let _ = writeln!(
            out,
            "# Numbers of the colour, dash and mark of curves; the other curves have them in turn."
        );
        let _ = writeln!(out, "LOOKS = {}", self.looks());
        let _ = write!(out, "REFERENCES = {}", self.references());
        out
    }

    fn looks(&self) -> String {
        let mut known: Vec<String> = Vec::new();
        for curve in self.panels.iter().flat_map(|panel| &panel.curves) {
            let entry = format!("{}: {}", python(&curve.label()), curve.look);
            if !known.contains(&entry) {
                known.push(entry);
            }
        }
        format!("{{{}}}", known.join(", "))
    }

    fn references(&self) -> String {
        let references = self.panels.first().map_or(&[][..], |panel| &panel.references);
        let finite = references.iter().filter(|reference| reference.value.is_finite());
        let pairs =
            finite.map(|reference| format!("({}, {})", reference.value, python(&reference.label)));
        format!("[{}]", pairs.collect::<Vec<_>>().join(", "))
    }
}

/// A text as a Python string literal, with everything escaped that could end it.
fn python(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() || letter as u32 > 0xffff => {
                let _ = write!(out, "\\U{:08x}", letter as u32);
            }
            letter => out.push(letter),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_end_their_string() {
        assert_eq!(python("a \"b\" \\ c"), "\"a \\\"b\\\" \\\\ c\"");
        assert_eq!(python("a\nb\u{1f600}\u{b5}"), "\"a\\U0000000ab\\U0001f600\u{b5}\"");
    }
}
