//! Drawings of lines, marks and text in points, for SVG, PDF and PNG.

use std::fmt::Write;

use super::font::{self, FALL, RISE};
use super::palette::{Ink, Mark};
use super::style::millimetres;

/// A drawing in progress. Coordinates are in points from the upper left corner.
#[derive(Clone, PartialEq, Debug)]
pub struct Canvas {
    title: String,
    about: String,
    body: String,
    texts: Vec<TextBox>,
}

/// A finished drawing.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    pub(super) svg: String,
    texts: Vec<TextBox>,
    size: [f64; 2],
}

/// A text with its rectangle: left, top, right, bottom.
#[derive(Clone, PartialEq, Debug)]
pub struct TextBox {
    /// The text.
    pub text: String,
    /// The rectangle.
    pub sides: [f64; 4],
}

/// Style of a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stroke {
    /// Colour.
    pub ink: Ink,
    /// Width in points.
    pub width: f64,
    /// Lengths of dashes and gaps, as multiples of the width; empty for a solid line.
    pub dash: &'static [f64],
}

/// Anchor of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// Style of a text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Type {
    /// Size in points.
    pub size: f64,
    /// Colour.
    pub ink: Ink,
    /// Anchor.
    pub anchor: Anchor,
    /// Whether it is written upwards.
    pub upwards: bool,
    /// Whether it has a background that covers lines.
    pub patch: bool,
}

impl Stroke {
    /// A solid line.
    pub fn solid(ink: Ink, width: f64) -> Self {
        Self { ink, width, dash: &[] }
    }

    fn attributes(&self) -> String {
        let mut out = format!(
            "class=\"s-{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"",
            self.ink.class(),
            self.ink.colour(),
            number(self.width)
        );
        if !self.dash.is_empty() {
            let lengths: Vec<String> =
                self.dash.iter().map(|part| number(part * self.width)).collect();
            out += &format!(" stroke-dasharray=\"{}\"", lengths.join(" "));
        }
        out
    }
}

impl Type {
    /// Text of this size, anchored at its beginning.
    pub fn new(size: f64, ink: Ink) -> Self {
        Self { size, ink, anchor: Anchor::Start, upwards: false, patch: false }
    }

    /// The same with another anchor.
    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same with a background.
    pub fn patched(self) -> Self {
        Self { patch: true, ..self }
    }

    /// The rectangle of a text that is anchored at a place.
    pub fn sides(&self, [x, y]: [f64; 2], text: &str) -> [f64; 4] {
        let width = font::width(text, self.size);
        let before = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let (rise, fall) = (RISE * self.size, FALL * self.size);
        match self.upwards {
            false => [x - before, y - rise, x - before + width, y + fall],
            true => [x - rise, y + before - width, x + fall, y + before],
        }
    }
}

impl Canvas {
    /// An empty drawing, with a title and a description for screen readers.
    pub fn new(title: &str, about: &str) -> Self {
        Self {
            title: title.to_owned(),
            about: about.to_owned(),
            body: String::new(),
            texts: Vec::new(),
        }
    }

    /// Joins points.
    pub fn line(&mut self, points: &[[f64; 2]], stroke: Stroke) {
        self.named_line("", points, stroke);
    }

    /// Joins points with a line that has a tooltip in browsers.
    pub fn named_line(&mut self, name: &str, points: &[[f64; 2]], stroke: Stroke) {
        if points.len() < 2 {
            return;
        }
        let attributes = format!(
            "points=\"{}\" {} stroke-linejoin=\"round\"",
            places(points),
            stroke.attributes()
        );
        self.element("polyline", &attributes, name);
    }

    /// Fills a polygon.
    pub fn area(&mut self, points: &[[f64; 2]], ink: Ink, opacity: f64) {
        let attributes = format!(
            "points=\"{}\" {} fill-opacity=\"{}\" stroke=\"none\"",
            places(points),
            fill(ink),
            number(opacity)
        );
        self.element("polygon", &attributes, "");
    }

    /// A rectangle between two corners, with a corner radius.
    pub fn rectangle(&mut self, [left, top, right, bottom]: [f64; 4], inside: Ink, edge: Stroke) {
        self.named_rectangle("", [left, top, right, bottom], (inside, 0.0), edge);
    }

    /// The same with round corners, and a tooltip in browsers.
    pub fn named_rectangle(
        &mut self,
        name: &str,
        [left, top, right, bottom]: [f64; 4],
        (inside, radius): (Ink, f64),
        edge: Stroke,
    ) {
        let attributes = format!(
            "x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" {}",
            number(left),
            number(top),
            number(right - left),
            number(bottom - top),
            number(radius),
            filled(inside, edge)
        );
        self.element("rect", &attributes, name);
    }

    /// A circle around a place.
    pub fn named_circle(
        &mut self,
        name: &str,
        ([x, y], radius): ([f64; 2], f64),
        inside: Ink,
        edge: Stroke,
    ) {
        let attributes = format!(
            "cx=\"{}\" cy=\"{}\" r=\"{}\" {}",
            number(x),
            number(y),
            number(radius),
            filled(inside, edge)
        );
        self.element("circle", &attributes, name);
    }

    /// A dot at each place.
    pub(super) fn dots(&mut self, points: &[[f64; 2]], ink: Ink, width: f64) {
        if points.is_empty() {
            return;
        }
        let mut path = String::new();
        for [x, y] in points {
            // Writing to a string cannot fail. Some programs do not draw lines of length 0.
            let _ = write!(path, "M{} {}h.01", number(*x), number(*y));
        }
        let stroke = Stroke::solid(ink, width).attributes();
        self.element("path", &format!("d=\"{path}\" {stroke} stroke-linecap=\"round\""), "");
    }

    /// A mark at a place.
    pub(super) fn mark(&mut self, [x, y]: [f64; 2], mark: Mark, size: f64, stroke: Stroke) {
        let half = size / 2.0;
        let path = |corners: &[[f64; 2]]| -> Vec<[f64; 2]> {
            corners.iter().map(|[dx, dy]| [x + dx * half, y + dy * half]).collect()
        };
        let filled: &[[f64; 2]] = match mark {
            Mark::Circle => {
                return self.named_circle("", ([x, y], half * 0.95), stroke.ink, stroke);
            }
            Mark::Ring => return self.named_circle("", ([x, y], half * 0.95), Ink::Paper, stroke),
            Mark::Cross | Mark::Plus => {
                let ends: [[[f64; 2]; 2]; 2] = match mark {
                    Mark::Cross => [[[-0.85, -0.85], [0.85, 0.85]], [[-0.85, 0.85], [0.85, -0.85]]],
                    _ => [[[-1.1, 0.0], [1.1, 0.0]], [[0.0, -1.1], [0.0, 1.1]]],
                };
                return ends.iter().for_each(|line| self.line(&path(line), stroke));
            }
            Mark::Square => &[[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]],
            Mark::Up => &[[0.0, -1.1], [1.05, 0.8], [-1.05, 0.8]],
            Mark::Down => &[[0.0, 1.1], [1.05, -0.8], [-1.05, -0.8]],
            Mark::Diamond => &[[0.0, -1.2], [1.05, 0.0], [0.0, 1.2], [-1.05, 0.0]],
        };
        self.area(&path(filled), stroke.ink, 1.0);
    }

    /// Writes a text.
    pub fn text(&mut self, place: [f64; 2], kind: Type, text: &str) {
        if text.is_empty() {
            return;
        }
        let sides = kind.sides(place, text);
        if kind.patch {
            let [left, top, right, bottom] = sides;
            let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
            self.area(&corners, Ink::Paper, 0.85);
        }
        let [x, y] = place.map(number);
        let anchor = match kind.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let turn = match kind.upwards {
            true => format!(" transform=\"rotate(-90 {x} {y})\""),
            false => String::new(),
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" {}{anchor}{turn}>{}</text>",
            number(kind.size),
            fill(kind.ink),
            escape(text)
        );
        self.texts.push(TextBox { text: text.to_owned(), sides });
    }

    fn element(&mut self, tag: &str, attributes: &str, name: &str) {
        let _ = match name {
            "" => writeln!(self.body, "<{tag} {attributes}/>"),
            name => {
                writeln!(self.body, "<{tag} {attributes}><title>{}</title></{tag}>", escape(name))
            }
        };
    }

    /// The drawing, with its width and height in points. A drawing wider than `most` is scaled down.
    pub fn finish(self, [width, height]: [f64; 2], most: Option<f64>) -> Drawing {
        let scale = most.map_or(1.0, |most| (most / width).min(1.0));
        let [wide, high] =
            [width, height].map(|length| number(millimetres((length * scale).max(1.0))));
        let view = format!("0 0 {} {}", number(width), number(height));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}mm\" height=\"{high}mm\" viewBox=\"{view}\" \
             role=\"img\" font-family=\"{}\">\n<title>{}</title>\n",
            font::FAMILY,
            escape(&self.title)
        );
        if !self.about.is_empty() {
            let _ = writeln!(svg, "<desc>{}</desc>", escape(&self.about));
        }
        let _ = writeln!(
            svg,
            "<rect width=\"{}\" height=\"{}\" {}/>",
            number(width),
            number(height),
            fill(Ink::Paper)
        );
        Drawing { svg: svg + &self.body + "</svg>\n", texts: self.texts, size: [width, height] }
    }
}

impl Drawing {
    /// As SVG.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// All texts, each with its rectangle.
    pub fn texts(&self) -> &[TextBox] {
        &self.texts
    }

    /// Width and height, in the unit of the rectangles of texts.
    pub fn size(&self) -> [f64; 2] {
        self.size
    }
}

impl TextBox {
    /// Whether two of them overlap.
    pub fn meets(&self, other: &Self) -> bool {
        let ([l, t, r, b], [left, top, right, bottom]) = (self.sides, other.sides);
        l < right && left < r && t < bottom && top < b
    }
}

fn fill(ink: Ink) -> String {
    format!("class=\"f-{}\" fill=\"{}\"", ink.class(), ink.colour())
}

fn filled(inside: Ink, edge: Stroke) -> String {
    format!(
        "class=\"f-{} s-{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"{}\"",
        inside.class(),
        edge.ink.class(),
        inside.colour(),
        edge.ink.colour(),
        number(edge.width)
    )
}

fn places(points: &[[f64; 2]]) -> String {
    let mut out = String::new();
    for [x, y] in points {
        let space = if out.is_empty() { "" } else { " " };
        let _ = write!(out, "{space}{},{}", number(*x), number(*y));
    }
    out
}

/// A coordinate with at most two decimals; NaN becomes 0.
fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.to_owned() }
}

/// Text for XML, without invalid characters.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_takes_the_rectangle_that_its_anchor_says() {
        let kind = Type::new(10.0, Ink::Text);
        let width = font::width("abc", 10.0);
        let sides = kind.sides([50.0, 20.0], "abc");
        assert_eq!(sides, [50.0, 20.0 - 7.6, 50.0 + width, 22.4]);
        let end = kind.anchored(Anchor::End).sides([50.0, 20.0], "abc");
        assert!((end[2] - 50.0).abs() < 1e-9 && (end[0] - 50.0 + width).abs() < 1e-9);
        let up = Type { upwards: true, ..kind }.sides([50.0, 20.0], "abc");
        assert!(up[3] == 20.0 && up[1] < 20.0 && up[0] < 50.0, "{up:?}");
    }

    #[test]
    fn what_xml_cannot_have_is_not_written() {
        let mut canvas = Canvas::new("a < b & \u{1}", "");
        canvas.text([0.0, 10.0], Type::new(8.0, Ink::Text), "\"x\"\u{0}\u{ffff}");
        canvas.line(&[[f64::NAN, 1.0], [2.0, f64::INFINITY]], Stroke::solid(Ink::Text, 1.0));
        let drawing = canvas.finish([100.0, 20.0], None);
        assert!(drawing.svg().contains("<title>a &lt; b &amp;  </title>"), "{}", drawing.svg());
        assert!(drawing.pdf().is_ok() && drawing.png(72.0).is_ok());
    }

    #[test]
    fn sizes_are_in_millimetres() {
        let drawing = Canvas::new("t", "about").finish([144.0, 72.0], None);
        assert!(
            drawing.svg().contains("width=\"50.8mm\" height=\"25.4mm\" viewBox=\"0 0 144 72\"")
        );
        assert!(drawing.svg().contains("<desc>about</desc>"));
        let drawing = Canvas::new("t", "").finish([144.0, 72.0], Some(72.0));
        assert!(
            drawing.svg().contains("width=\"25.4mm\" height=\"12.7mm\" viewBox=\"0 0 144 72\"")
        );
    }
}
