//! A panel: axes, and curves over them.

use super::axis::{Axis, Tick};
use super::canvas::{Anchor, Canvas, Stroke, Type};
use super::font;
use super::legend::bar_edge;
use super::palette::{Ink, dash, mark};
use super::picture::{Curve, Picture, Shape, Spot};
use super::style::Dimensions;

/// Both axes of a panel.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Axes {
    pub x: Axis,
    pub y: Axis,
}

/// Margins around the rectangle of the curves, for labels and ticks.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Frame {
    pub left: f64,
    pub right: f64,
    pub below: f64,
    /// Above the rectangle, for the upper half of the topmost tick's text.
    pub above: f64,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    turned: bool,
    x_lines: Vec<Vec<String>>,
    x_label: Vec<String>,
    y_label: Vec<String>,
}

/// Length of ticks, and their distance from their text, relative to the size of the text.
const TICK: f64 = 0.35;
const GAP: f64 = 0.35;
/// Fraction of a place that its bars take.
const BARS: f64 = 0.8;
/// Maximum number of marks on a line.
const MOST_MARKS: usize = 25;
/// Maximum number of dots with marks in a panel.
const MOST_DOT_MARKS: usize = 300;
/// Opacity of the band of intervals.
const BAND: f64 = 0.18;
/// Maximum number of spots of a curve for whiskers, which stay distinct where bands would cover each other.
const WHISKERS: usize = 8;
/// Width of all whiskers of a place together, as a multiple of the size of marks.
const SPREAD: f64 = 1.6;

impl Axes {
    /// Common axes of several pictures.
    pub fn of(pictures: &[Picture]) -> Self {
        let spots = || pictures.iter().flat_map(|p| p.curves.iter().flat_map(|c| &c.spots));
        let Some(first) = pictures.first() else {
            let none = || std::iter::empty();
            let linear = super::Scale::Linear;
            return Self {
                x: Axis::of_places(none(), linear),
                y: Axis::of_numbers(none(), linear),
            };
        };
        let x = match first.categories.is_empty() {
            true => Axis::of_places(spots().map(|spot| spot.x), first.x_scale),
            false => Axis::of_names(&first.categories),
        };
        let intervals = spots().flat_map(|spot| [spot.y, spot.low, spot.high]);
        let references = pictures.iter().flat_map(|p| p.references.iter().map(|r| r.value));
        let heights = pictures.iter().filter(|p| p.shape == Shape::StackedBars).flat_map(stacks);
        let numbers = intervals.chain(references).chain(heights);
        let y = match first.y_scale {
            // The interval of a positive number may reach 0, which has no position on a logarithmic axis.
            super::Scale::Log => Axis::of_numbers(numbers.filter(|y| *y > 0.0), first.y_scale),
            super::Scale::Linear => Axis::of_numbers(numbers, first.y_scale),
        };
        Self { x, y }
    }
}

/// The height of each stack of bars.
fn stacks(picture: &Picture) -> Vec<f64> {
    let height = |place: usize| picture.curves.iter().map(|curve| spot_at(curve, place).y).sum();
    (0..picture.categories.len()).map(height).collect()
}

impl Frame {
    /// Margins for the labels and ticks of a panel with a given width and height.
    pub fn of(
        picture: &Picture,
        axes: &Axes,
        [width, height]: [f64; 2],
        [with_x, with_y]: [bool; 2],
        sizes: &Dimensions,
    ) -> Self {
        let (font, small) = (sizes.font_pt, sizes.small_pt);
        let y_ticks = axes.y.ticks(|ticks| {
            let least = 1.7 * small / (0.6 * height);
            ticks.windows(2).all(|pair| axes.y.part(pair[1].at) - axes.y.part(pair[0].at) > least)
        });
        let y_label = match with_y {
            true => font::fitted(&picture.y_label, font, 0.8 * height),
            false => Vec::new(),
        };
        let widest = y_ticks.iter().map(|t| font::width(&t.text, small)).fold(0.0, f64::max);
        let label = y_label.len() as f64 * font * font::LINE;
        let left = label + (TICK + 2.0 * GAP) * small + widest;
        let room = width - left;
        let fits = |ticks: &[Tick]| {
            ticks.windows(2).all(|pair| {
                let apart = (axes.x.part(pair[1].at) - axes.x.part(pair[0].at)) * 0.94 * room;
                let widths = pair.iter().map(|tick| font::width(&tick.text, small)).sum::<f64>();
                apart > widths / 2.0 + 0.8 * small
            })
        };
        let x_ticks = axes.x.ticks(fits);
        // The last tick is in the middle of its text.
        let over = |tick: &Tick| {
            let part = axes.x.part(tick.at);
            font::width(&tick.text, small) / 2.0 - (1.0 - part) * room
        };
        let mut frame = Self {
            left,
            right: x_ticks.last().map_or(0.0, over).max(0.4 * small),
            below: 0.0,
            above: 0.5 * small,
            turned: false,
            x_lines: x_ticks.iter().map(|tick| vec![tick.text.clone()]).collect(),
            x_label: if with_x { font::fitted(&picture.x_label, font, room) } else { Vec::new() },
            y_label,
            x_ticks,
            y_ticks,
        };
        if !picture.categories.is_empty() && !fits(&frame.x_ticks) {
            frame.fit_names(axes, room, height, small);
        } else if !picture.categories.is_empty() {
            frame.right = 0.4 * small;
        }
        let lines = frame.x_lines.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let names = match frame.turned {
            true => frame.longest(small),
            false => lines * small * font::LINE,
        };
        let labels = frame.x_label.len() as f64 * font * font::LINE;
        frame.below =
            (TICK + GAP) * small + names + if labels > 0.0 { GAP * font + labels } else { 0.0 };
        frame
    }

    /// Names of places that do not fit side by side: broken into lines, or written upwards.
    fn fit_names(&mut self, axes: &Axes, room: f64, height: f64, small: f64) {
        let slot = match &self.x_ticks[..] {
            [first, second, ..] => (axes.x.part(second.at) - axes.x.part(first.at)) * room,
            _ => room,
        };
        let most = slot - 0.5 * small;
        let in_lines = |tick: &Tick| font::wrapped(&tick.text, small, most);
        let lines: Vec<Vec<String>> = self.x_ticks.iter().map(in_lines).collect();
        let narrow = lines.iter().flatten().all(|line| font::width(line, small) <= most);
        self.right = 0.4 * small;
        if narrow && lines.iter().all(|lines| lines.len() <= 3) {
            self.x_lines = lines;
            return;
        }
        self.turned = true;
        let cut = |tick: &Tick| {
            let mut lines = font::fitted(&tick.text.replace(' ', "\u{a0}"), small, 0.5 * height);
            lines.truncate(1);
            lines
        };
        self.x_lines = self.x_ticks.iter().map(cut).collect();
    }

    fn longest(&self, small: f64) -> f64 {
        self.x_lines.iter().flatten().map(|line| font::width(line, small)).fold(0.0, f64::max)
    }
}

/// A panel with its position.
pub(super) struct Panel<'a> {
    pub picture: &'a Picture,
    pub axes: &'a Axes,
    pub frame: &'a Frame,
    /// The rectangle of the curves: left, top, right, bottom.
    pub sides: [f64; 4],
    pub sizes: &'a Dimensions,
}

impl Panel<'_> {
    /// Draws it.
    pub fn draw(&self, canvas: &mut Canvas) {
        self.draw_grid(canvas);
        match self.picture.shape {
            Shape::Bars => self.draw_bars(canvas),
            Shape::StackedBars => self.draw_stacks(canvas),
            Shape::Dots => self.draw_dots(canvas),
            shape => {
                if shape == Shape::MarkedLines {
                    self.draw_intervals(canvas);
                }
                self.picture.curves.iter().for_each(|curve| self.draw_curve(canvas, curve, shape));
            }
        }
        self.draw_axes(canvas);
        self.draw_references(canvas);
    }

    fn x(&self, value: f64) -> f64 {
        let [left, _, right, _] = self.sides;
        left + self.axes.x.part(value) * (right - left)
    }

    fn y(&self, value: f64) -> f64 {
        let [_, top, _, bottom] = self.sides;
        bottom - self.axes.y.part(value) * (bottom - top)
    }

    /// The spots of a curve that have a position.
    fn visible<'a>(&self, curve: &'a Curve) -> impl Iterator<Item = &'a Spot> {
        let (x, y) = (self.axes.x.clone(), self.axes.y.clone());
        curve.spots.iter().filter(move |spot| x.has(spot.x) && y.has(spot.y))
    }

    /// Their positions, without consecutive duplicates.
    fn points(&self, curve: &Curve) -> Vec<[f64; 2]> {
        let mut points: Vec<[f64; 2]> =
            self.visible(curve).map(|spot| [self.x(spot.x), self.y(spot.y)]).collect();
        points.dedup_by(|one, other| {
            (one[0] - other[0]).abs() < 0.05 && (one[1] - other[1]).abs() < 0.05
        });
        points
    }

    fn draw_grid(&self, canvas: &mut Canvas) {
        let [left, _, right, _] = self.sides;
        let stroke = Stroke::solid(Ink::Faint, self.sizes.axis_pt);
        for tick in &self.frame.y_ticks {
            let y = self.y(tick.at);
            canvas.line(&[[left, y], [right, y]], stroke);
        }
    }

    /// Marks for few spots, and dots for many.
    fn draw_dots(&self, canvas: &mut Canvas) {
        let curves = &self.picture.curves;
        let count: usize = curves.iter().map(|curve| curve.spots.len()).sum();
        for curve in curves {
            let (points, ink) = (self.points(curve), Ink::Curve(curve.look));
            if count > MOST_DOT_MARKS {
                canvas.dots(&points, ink, 1.3 * self.sizes.line_pt);
                continue;
            }
            let stroke = Stroke::solid(ink, self.sizes.axis_pt * 1.5);
            for point in points {
                canvas.mark(point, mark(curve.look), 0.8 * self.sizes.mark_pt, stroke);
            }
        }
    }

    /// Intervals, beneath all curves: whiskers for few spots, and bands for many.
    fn draw_intervals(&self, canvas: &mut Canvas) {
        let curves = &self.picture.curves;
        let most = curves.iter().map(|curve| self.visible(curve).count()).max().unwrap_or(0);
        let step = SPREAD * self.sizes.mark_pt / curves.len().max(1) as f64;
        for (number, curve) in curves.iter().enumerate() {
            if most > WHISKERS {
                self.draw_band(canvas, curve);
                continue;
            }
            let aside = (number as f64 - (curves.len() as f64 - 1.0) / 2.0) * step;
            // An interval that the mark covers is not drawn.
            let is_seen = |spot: &&Spot| {
                spot.is_uncertain() && self.y(spot.low) - self.y(spot.high) > self.sizes.mark_pt
            };
            for spot in self.visible(curve).filter(is_seen) {
                self.draw_whisker(canvas, self.x(spot.x) + aside, spot, Ink::Curve(curve.look));
            }
        }
    }

    fn draw_band(&self, canvas: &mut Canvas, curve: &Curve) {
        let spots: Vec<&Spot> = self.visible(curve).collect();
        if !spots.iter().any(|spot| spot.is_uncertain()) {
            return;
        }
        let above = spots.iter().map(|spot| [self.x(spot.x), self.y(spot.high)]);
        let below = spots.iter().rev().map(|spot| [self.x(spot.x), self.y(spot.low)]);
        canvas.area(&above.chain(below).collect::<Vec<_>>(), Ink::Curve(curve.look), BAND);
    }

    fn draw_curve(&self, canvas: &mut Canvas, curve: &Curve, shape: Shape) {
        let ink = Ink::Curve(curve.look);
        let stroke = Stroke { ink, width: self.sizes.line_pt, dash: dash(curve.look) };
        let points = self.points(curve);
        canvas.named_line(&curve.label(), &points, stroke);
        if shape == Shape::MarkedLines {
            let stroke = Stroke::solid(ink, self.sizes.line_pt);
            for point in points.iter().step_by(points.len().div_ceil(MOST_MARKS).max(1)) {
                canvas.mark(*point, mark(curve.look), self.sizes.mark_pt, stroke);
            }
        }
    }

    fn draw_whisker(&self, canvas: &mut Canvas, x: f64, spot: &Spot, ink: Ink) {
        let (low, high) = (self.y(spot.low), self.y(spot.high));
        let half = 0.3 * self.sizes.mark_pt;
        let stroke = Stroke::solid(ink, self.sizes.axis_pt * 1.5);
        canvas.line(&[[x, low], [x, high]], stroke);
        for y in [low, high] {
            canvas.line(&[[x - half, y], [x + half, y]], stroke);
        }
    }

    /// The width of a place on an axis of names.
    fn slot(&self) -> f64 {
        let [left, _, right, _] = self.sides;
        (right - left) / self.picture.categories.len().max(1) as f64
    }

    fn draw_bars(&self, canvas: &mut Canvas) {
        let count = self.picture.curves.len().max(1) as f64;
        let width = self.slot() * BARS / count;
        let base = self.y(self.axes.y.low().max(0.0));
        for place in 0..self.picture.categories.len() {
            let begin = self.x(place as f64) - self.slot() * BARS / 2.0;
            for (number, curve) in self.picture.curves.iter().enumerate() {
                let spot = spot_at(curve, place);
                if !self.axes.y.has(spot.y) {
                    continue;
                }
                let left = begin + number as f64 * width;
                let (top, bottom) = (self.y(spot.y).min(base), self.y(spot.y).max(base));
                let sides = [left, top, left + width, bottom];
                canvas.rectangle(sides, Ink::Curve(curve.look), bar_edge(self.sizes));
                if spot.is_uncertain() {
                    self.draw_whisker(canvas, left + width / 2.0, &spot, Ink::Text);
                }
            }
        }
    }

    fn draw_stacks(&self, canvas: &mut Canvas) {
        let half = self.slot() * 0.6 / 2.0;
        for place in 0..self.picture.categories.len() {
            let (x, mut height) = (self.x(place as f64), 0.0);
            for curve in &self.picture.curves {
                let next = height + spot_at(curve, place).y.max(0.0);
                let sides = [x - half, self.y(next), x + half, self.y(height)];
                canvas.rectangle(sides, Ink::Curve(curve.look), bar_edge(self.sizes));
                height = next;
            }
            let kind = Type::new(self.sizes.small_pt, Ink::Text).anchored(Anchor::Middle).patched();
            let y = self.y(height) - 0.4 * self.sizes.small_pt;
            canvas.text([x, y], kind, &format!("{height:.1}"));
        }
    }

    fn draw_axes(&self, canvas: &mut Canvas) {
        let [left, top, right, bottom] = self.sides;
        let (small, font) = (self.sizes.small_pt, self.sizes.font_pt);
        let stroke = Stroke::solid(Ink::Text, self.sizes.axis_pt);
        canvas.line(&[[left, top], [left, bottom], [right, bottom]], stroke);
        let tick = TICK * small;
        let named = !self.picture.categories.is_empty();
        let small_ticks = self.axes.x.small_ticks().into_iter().map(|at| {
            let x = self.x(at);
            [[x, bottom], [x, bottom + tick / 2.0]]
        });
        let small_y = self.axes.y.small_ticks().into_iter().map(|at| {
            let y = self.y(at);
            [[left, y], [left - tick / 2.0, y]]
        });
        small_ticks.chain(small_y).for_each(|line| canvas.line(&line, stroke));
        for at in &self.frame.y_ticks {
            let y = self.y(at.at);
            canvas.line(&[[left - tick, y], [left, y]], stroke);
            let kind = Type::new(small, Ink::Text).anchored(Anchor::End);
            canvas.text([left - tick - GAP * small, y + 0.36 * small], kind, &at.text);
        }
        for (at, lines) in self.frame.x_ticks.iter().zip(&self.frame.x_lines) {
            let x = self.x(at.at);
            if !named {
                canvas.line(&[[x, bottom], [x, bottom + tick]], stroke);
            }
            self.draw_name(canvas, [x, bottom + tick + GAP * small], lines);
        }
        let middle = Type::new(font, Ink::Text).anchored(Anchor::Middle);
        let first = bottom + self.frame.below - font::FALL * font;
        for (number, line) in self.frame.x_label.iter().rev().enumerate() {
            let y = first - number as f64 * font * font::LINE;
            canvas.text([(left + right) / 2.0, y], middle, line);
        }
        for (number, line) in self.frame.y_label.iter().enumerate() {
            let x = left - self.frame.left + font * (font::RISE + number as f64 * font::LINE);
            let kind = Type { upwards: true, ..middle };
            canvas.text([x, (top + bottom) / 2.0], kind, line);
        }
    }

    /// The text of a tick of the axis of places.
    fn draw_name(&self, canvas: &mut Canvas, [x, top]: [f64; 2], lines: &[String]) {
        let small = self.sizes.small_pt;
        let kind = Type::new(small, Ink::Text);
        for (number, line) in lines.iter().enumerate() {
            if self.frame.turned {
                let kind = Type { upwards: true, ..kind }.anchored(Anchor::End);
                canvas.text([x + 0.3 * small, top], kind, line);
            } else {
                let y = top + small * (font::RISE + number as f64 * font::LINE);
                canvas.text([x, y], kind.anchored(Anchor::Middle), line);
            }
        }
    }

    fn draw_references(&self, canvas: &mut Canvas) {
        let [left, top, right, bottom] = self.sides;
        let stroke = Stroke { ink: Ink::Soft, width: self.sizes.axis_pt * 1.5, dash: &[4.0, 2.0] };
        let spots: Vec<[f64; 2]> = match self.picture.shape.is_bars() {
            true => Vec::new(),
            false => self.picture.curves.iter().flat_map(|c| dense(&self.points(c))).collect(),
        };
        for reference in self.picture.references.iter().filter(|r| self.axes.y.has(r.value)) {
            let y = self.y(reference.value);
            canvas.line(&[[left, y], [right, y]], stroke);
            let size = self.sizes.small_pt;
            let lines = font::fitted(&reference.label, size, right - left - size);
            let Some(text) = lines.first() else { continue };
            let above = y - 0.4 * size;
            let below = y + size;
            let start = Type::new(size, Ink::Soft).patched();
            let end = start.anchored(Anchor::End);
            let places = [
                (start, [left + 0.5 * size, above]),
                (end, [right - 0.5 * size, above]),
                (start, [left + 0.5 * size, below]),
                (end, [right - 0.5 * size, below]),
            ];
            // At the place with the fewest spots beneath.
            let free = places.into_iter().filter(|(kind, place)| {
                let [_, upper, _, lower] = kind.sides(*place, text);
                upper >= top && lower <= bottom
            });
            let beneath = |(kind, place): &(Type, [f64; 2])| {
                let [l, t, r, b] = kind.sides(*place, text);
                let within =
                    |[x, y]: &&[f64; 2]| l < *x && *x < r && t - size < *y && *y < b + size;
                spots.iter().filter(within).count()
            };
            if let Some((kind, place)) = free.min_by_key(beneath) {
                canvas.text(place, kind, text);
            }
        }
    }
}

/// Points with others between them, along the line.
fn dense(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let between = |pair: &[[f64; 2]]| {
        let [[x, y], [to_x, to_y]] = [pair[0], pair[1]];
        (0..8).map(move |eighth| {
            let part = f64::from(eighth) / 8.0;
            [x + part * (to_x - x), y + part * (to_y - y)]
        })
    };
    points.windows(2).flat_map(between).chain(points.last().copied()).collect()
}

/// The spot of a curve at a name; a missing one is a bar without height.
fn spot_at(curve: &Curve, place: usize) -> Spot {
    let spot = curve.spots.iter().find(|spot| spot.x == place as f64);
    spot.copied().unwrap_or(Spot::exact(place as f64, 0.0))
}
