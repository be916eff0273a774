//! A sheet: a grid of panels, with a title and legends.

use super::canvas::{Anchor, Canvas, Drawing, Type};
use super::font;
use super::legend::Legend;
use super::palette::Ink;
use super::panel::{Axes, Frame, Panel};
use super::picture::{Picture, Shape};
use super::style::{Dimensions, FigureStyle};

/// Pictures on one sheet.
#[derive(Clone, PartialEq, Debug)]
pub struct Sheet {
    /// Title.
    pub title: String,
    /// Note about all pictures.
    pub note: String,
    /// The pictures; if there are several, each shows its title.
    pub panels: Vec<Picture>,
    /// Shared parts.
    pub sharing: Sharing,
}

/// Parts that the panels of a sheet share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// Axes and legend.
    All,
    /// The axes.
    Axes,
    /// No parts.
    Nothing,
}

/// Maximum number of columns of panels.
const COLUMNS: usize = 3;
/// Height of one of several panels, relative to its width.
const PANEL_ASPECT: f64 = 0.85;
/// Minimum height of the rectangle of the curves, relative to its width.
const LEAST_ASPECT: f64 = 0.5;

/// A sheet that is being laid out.
struct Layout<'a> {
    sheet: &'a Sheet,
    sizes: Dimensions,
    axes: Vec<Axes>,
    legends: Vec<Legend>,
    grid: Grid,
}

/// Widths that depend on the number of panels.
#[derive(Clone, Copy)]
struct Grid {
    /// Width of the sheet.
    width: f64,
    /// Number of panels side by side.
    columns: usize,
    /// Margin of the sheet.
    pad: f64,
    /// Gap between panels.
    gap: f64,
    /// Width of the sheet without its margins.
    inner: f64,
    /// Width of a panel.
    cell: f64,
}

impl Grid {
    fn of(panels: usize, sizes: &Dimensions) -> Self {
        let count = panels.max(1);
        let columns = if count == 4 { 2 } else { count.min(COLUMNS) };
        let width = if count > 1 { sizes.page_pt() } else { sizes.column_pt() };
        let (pad, gap) = (0.6 * sizes.font_pt, 1.5 * sizes.font_pt);
        let inner = width - 2.0 * pad;
        let cell = (inner - gap * (columns as f64 - 1.0)) / columns as f64;
        Self { width, columns, pad, gap, inner, cell }
    }
}

impl Sheet {
    /// Draws it.
    pub fn draw(&self, style: FigureStyle) -> Drawing {
        let sizes = style.dimensions();
        let grid = Grid::of(self.panels.len(), &sizes);
        let axes = match self.sharing {
            Sharing::Nothing => self.panels.chunks(1).map(Axes::of).collect(),
            _ => vec![Axes::of(&self.panels); self.panels.len().max(1)],
        };
        let legends = match self.sharing {
            Sharing::All => vec![self.legend(style)],
            // The title of a panel with one curve names the curve.
            _ => {
                let own = |panel| legend(panel, (1, grid.cell), &sizes);
                self.panels.chunks(1).map(own).collect()
            }
        };
        Layout { sheet: self, axes, legends, grid, sizes }.draw()
    }

    /// A legend of all panels together.
    pub(super) fn legend(&self, style: FigureStyle) -> Legend {
        let sizes = style.dimensions();
        legend(&self.panels, (2, Grid::of(self.panels.len(), &sizes).inner), &sizes)
    }

    /// Description for screen readers.
    fn about(&self) -> String {
        let Some(first) = self.panels.first() else { return String::new() };
        let what = match first.shape {
            Shape::Bars => "Bars",
            Shape::StackedBars => "Stacked bars",
            Shape::Dots => "Dots",
            _ => "Curves",
        };
        let mut labels: Vec<String> = Vec::new();
        for curve in self.panels.iter().flat_map(|panel| &panel.curves) {
            let label = curve.label();
            if !label.is_empty() && !labels.contains(&label) {
                labels.push(label);
            }
        }
        let mut text = format!("{what}: {} by {}", first.y_label, first.x_label);
        if !labels.is_empty() {
            text += &format!(" for {}", labels.join("; "));
        }
        if self.panels.len() > 1 {
            let titles: Vec<&str> = self.panels.iter().map(|panel| panel.title.as_str()).collect();
            text += &format!(". Panels: {}", titles.join("; "));
        }
        if !self.note.is_empty() {
            text += &format!(". {}", self.note);
        }
        text + "."
    }
}

fn legend(panels: &[Picture], most: (usize, f64), sizes: &Dimensions) -> Legend {
    let curves = panels.iter().flat_map(|panel| panel.curves.iter().map(|c| (c, panel.shape)));
    Legend::of(curves, most, sizes)
}

impl Layout<'_> {
    fn draw(self) -> Drawing {
        let mut canvas = Canvas::new(&self.sheet.title, &self.sheet.about());
        let mut top = self.draw_heading(&mut canvas);
        if self.sheet.sharing == Sharing::All {
            self.legends[0].draw(&mut canvas, [self.grid.pad, top], &self.sizes);
            top += self.legends[0].height();
        }
        let count = self.sheet.panels.len();
        let bottom = match count {
            0 => top,
            1 => self.draw_single(&mut canvas, top),
            _ => self.draw_grid(&mut canvas, top),
        };
        canvas.finish([self.grid.width, bottom + self.grid.pad], None)
    }

    /// Draws title and note; returns where they end.
    fn draw_heading(&self, canvas: &mut Canvas) -> f64 {
        let mut top = self.grid.pad;
        let Some(title) = self.sizes.title_pt else { return top };
        let inner = self.grid.inner;
        let middle = |size, ink| Type::new(size, ink).anchored(Anchor::Middle);
        for (text, size, ink) in [
            (&self.sheet.title, title, Ink::Text),
            (&self.sheet.note, self.sizes.small_pt, Ink::Soft),
        ] {
            for line in font::fitted(text, size, inner) {
                let y = top + size * font::RISE;
                canvas.text([self.grid.width / 2.0, y], middle(size, ink), &line);
                top += size * font::LINE;
            }
        }
        top + 0.4 * self.sizes.font_pt
    }

    /// Draws one panel in the rest of the sheet; returns where it ends.
    fn draw_single(&self, canvas: &mut Canvas, mut top: f64) -> f64 {
        let picture = &self.sheet.panels[0];
        if self.sheet.sharing != Sharing::All {
            self.legends[0].draw(canvas, [self.grid.pad, top], &self.sizes);
            top += self.legends[0].height();
        }
        let inner = self.grid.inner;
        let height = self.grid.width * self.sizes.aspect - top - self.grid.pad;
        let axes = &self.axes[0];
        let frame = Frame::of(picture, axes, [inner, height], [true, true], &self.sizes);
        let (left, right) =
            (self.grid.pad + frame.left, self.grid.width - self.grid.pad - frame.right);
        let least = LEAST_ASPECT * (right - left);
        let bottom = top + (height - frame.below).max(least + frame.above);
        let sides = [left, top + frame.above, right, bottom];
        Panel { picture, axes, frame: &frame, sides, sizes: &self.sizes }.draw(canvas);
        bottom + frame.below
    }

    /// Draws panels in rows and columns; returns where they end.
    fn draw_grid(&self, canvas: &mut Canvas, mut top: f64) -> f64 {
        let panels = &self.sheet.panels;
        let Grid { columns, pad, gap, inner, cell, .. } = self.grid;
        let high = cell * PANEL_ASPECT;
        let shares = self.sheet.sharing != Sharing::Nothing;
        let wanted = |number: usize| match shares {
            // The labels of shared axes stand at the left and at the bottom only.
            true => [number + columns >= panels.len(), number.is_multiple_of(columns)],
            false => [true, true],
        };
        let frame = |(number, picture): (usize, &Picture)| {
            Frame::of(picture, &self.axes[number], [cell, high], wanted(number), &self.sizes)
        };
        let frames: Vec<Frame> = panels.iter().enumerate().map(frame).collect();
        // All rectangles have the same width, whatever the width of their labels.
        let around = frames.chunks(columns).map(|row| row.iter().map(|f| f.left + f.right).sum());
        let around = around.fold(0.0, f64::max);
        let between = gap * 0.5 * (columns as f64 - 1.0);
        let plot = (inner - around - between) / columns as f64;
        for (row, pictures) in panels.chunks(columns).enumerate() {
            let first = row * columns;
            let frames = &frames[first..first + pictures.len()];
            let lines: Vec<Vec<String>> = pictures
                .iter()
                .map(|picture| font::fitted(&picture.title, self.sizes.font_pt, plot))
                .collect();
            let most = lines.iter().map(Vec::len).max().unwrap_or(0) as f64;
            let titles = most * self.sizes.font_pt * font::LINE;
            let legends = match self.sheet.sharing {
                Sharing::All => &[][..],
                _ => &self.legends[first..first + pictures.len()],
            };
            let legend = legends.iter().map(Legend::height).fold(0.0, f64::max);
            let above = frames.iter().map(|frame| frame.above).fold(0.0, f64::max);
            let upper = top + titles + legend + above;
            let lower = upper + plot * PANEL_ASPECT;
            let mut x = pad;
            for (number, (picture, frame)) in pictures.iter().zip(frames).enumerate() {
                let left = x + frame.left;
                self.draw_title(canvas, [left + plot / 2.0, top], &lines[number]);
                if let Some(legend) = legends.get(number) {
                    legend.draw(canvas, [x, top + titles], &self.sizes);
                }
                let sides = [left, upper, left + plot, lower];
                let axes = &self.axes[first + number];
                Panel { picture, axes, frame, sides, sizes: &self.sizes }.draw(canvas);
                x = left + plot + frame.right + 0.5 * gap;
            }
            let below = frames.iter().map(|frame| frame.below).fold(0.0, f64::max);
            top = lower + below + 0.5 * gap;
        }
        top - 0.5 * gap
    }

    fn draw_title(&self, canvas: &mut Canvas, [x, top]: [f64; 2], lines: &[String]) {
        let size = self.sizes.font_pt;
        let kind = Type::new(size, Ink::Text).anchored(Anchor::Middle);
        for (number, line) in lines.iter().enumerate() {
            let y = top + size * (font::RISE + number as f64 * font::LINE);
            canvas.text([x, y], kind, line);
        }
    }
}
