//! Legends.

use super::canvas::{Canvas, Stroke, Type};
use super::font;
use super::palette::{Ink, dash, mark};
use super::picture::{Curve, Shape};
use super::style::Dimensions;

/// A legend with its layout: entries in columns, from left to right and then down.
pub(super) struct Legend {
    entries: Vec<Entry>,
    columns: usize,
    /// Minimum number of entries; fewer need no legend.
    fewest: usize,
    /// Width of a column, and of the sample in it.
    widths: [f64; 2],
    line: f64,
}

struct Entry {
    look: usize,
    shape: Shape,
    lines: Vec<String>,
}

/// Gaps relative to the font size.
const BESIDE_SAMPLE: f64 = 0.5;
const BETWEEN: f64 = 1.6;

impl Legend {
    /// A legend of some curves, with a maximum width; there is none for fewer than `fewest` curves.
    pub fn of<'a>(
        curves: impl Iterator<Item = (&'a Curve, Shape)>,
        (fewest, most): (usize, f64),
        sizes: &Dimensions,
    ) -> Self {
        let size = sizes.font_pt;
        let mut known: Vec<(usize, String, Shape)> = Vec::new();
        for (curve, shape) in curves {
            let label = curve.label();
            if !known.iter().any(|(look, text, _)| (*look, text) == (curve.look, &label)) {
                known.push((curve.look, label, shape));
            }
        }
        let is_bar = known.iter().all(|(_, _, shape)| shape.is_bars() || *shape == Shape::Dots);
        let sample = size * if is_bar { 1.0 } else { 3.2 };
        let room = most - sample - BESIDE_SAMPLE * size;
        let widest = known.iter().map(|(_, text, _)| font::width(text, size)).fold(0.0, f64::max);
        let column = sample + BESIDE_SAMPLE * size + widest.min(room);
        let columns = ((most + BETWEEN * size) / (column + BETWEEN * size)).floor().max(1.0);
        let entries = known.into_iter().map(|(look, text, shape)| Entry {
            look,
            shape,
            lines: font::fitted(&text, size, room),
        });
        let entries: Vec<Entry> = entries.collect();
        // Only as many columns as the number of rows needs, so that the last row is as long as possible.
        let columns = (columns as usize).min(entries.len().max(1));
        let rows = entries.len().div_ceil(columns).max(1);
        let columns = entries.len().div_ceil(rows).max(1);
        Self { entries, columns, fewest, widths: [column, sample], line: size * font::LINE }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Height.
    pub fn height(&self) -> f64 {
        if self.entries.len() < self.fewest {
            return 0.0;
        }
        let lines: usize = self.rows().map(most_lines).sum();
        self.line * (lines as f64 + 0.4)
    }

    fn rows(&self) -> impl Iterator<Item = &[Entry]> {
        self.entries.chunks(self.columns)
    }

    /// Draws it below and to the right of a place.
    pub fn draw(&self, canvas: &mut Canvas, [left, top]: [f64; 2], sizes: &Dimensions) {
        if self.entries.len() < self.fewest {
            return;
        }
        let [column, sample] = self.widths;
        let kind = Type::new(sizes.font_pt, Ink::Text);
        let mut y = top + font::RISE * sizes.font_pt;
        for row in self.rows() {
            for (number, entry) in row.iter().enumerate() {
                let x = left + number as f64 * (column + BETWEEN * sizes.font_pt);
                entry.draw_sample(canvas, [x, y - 0.36 * sizes.font_pt], sample, sizes);
                for (line, text) in entry.lines.iter().enumerate() {
                    let y = y + self.line * line as f64;
                    canvas.text([x + sample + BESIDE_SAMPLE * sizes.font_pt, y], kind, text);
                }
            }
            y += self.line * most_lines(row) as f64;
        }
    }
}

impl Entry {
    fn draw_sample(&self, canvas: &mut Canvas, [x, y]: [f64; 2], width: f64, sizes: &Dimensions) {
        let ink = Ink::Curve(self.look);
        let middle = x + width / 2.0;
        match self.shape {
            Shape::Bars | Shape::StackedBars => {
                let half = 0.36 * sizes.font_pt;
                let sides = [middle - half, y - half, middle + half, y + half];
                canvas.rectangle(sides, ink, bar_edge(sizes));
            }
            Shape::Dots => {
                let stroke = Stroke::solid(ink, sizes.axis_pt * 1.5);
                canvas.mark([middle, y], mark(self.look), sizes.mark_pt, stroke);
            }
            shape => {
                let stroke = Stroke { ink, width: sizes.line_pt, dash: dash(self.look) };
                canvas.line(&[[x, y], [x + width, y]], stroke);
                if shape == Shape::MarkedLines {
                    let stroke = Stroke::solid(ink, sizes.line_pt);
                    canvas.mark([middle, y], mark(self.look), sizes.mark_pt, stroke);
                }
            }
        }
    }
}

/// Style of the edge of bars.
pub(super) fn bar_edge(sizes: &Dimensions) -> Stroke {
    Stroke::solid(Ink::Text, sizes.axis_pt)
}

fn most_lines(row: &[Entry]) -> usize {
    row.iter().map(|entry| entry.lines.len()).max().unwrap_or(0)
}
