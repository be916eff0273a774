//! From plain numbers to SVG and PNG.

use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use kuva::plot::{BarPlot, LegendPosition, LinePlot, ScatterPlot};
use kuva::render::annotations::{ReferenceLine, TextAnnotation};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::{Scene, collect_legend_entries, render_multiple};

use super::palette::{GREY, colour, stroke};
use super::picture::{Curve, Picture, Shape, Spot};
use crate::study::Scale;

/// How much wider a line is than the one drawn after it: where both are the same, two colours are seen.
const BENEATH: f64 = 0.8;
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 520.0;
/// Legends with more entries than this make the picture higher, by so much for each.
const ROWS: f64 = 6.0;
const LEGEND_ROW: f64 = 12.0;
/// Keeps the label of the axis off the legend below it.
const LABEL_UP: f64 = -6.0;
/// Pixels of the PNG per unit of the picture.
const RESOLUTION: f32 = 2.0;

impl Picture {
    /// As SVG. The font is the viewer's: in the file it would be three megabytes.
    pub fn svg(&self) -> String {
        SvgBackend::new().render_scene(&self.scene())
    }

    /// As PNG.
    ///
    /// # Errors
    /// The picture cannot be drawn; the error says why.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        PngBackend::new().with_scale(RESOLUTION).render_scene(&self.scene())
    }

    fn scene(&self) -> Scene {
        let plots = match self.shape {
            // Without a place there is no bar, and nothing to draw.
            Shape::Bars if self.categories.is_empty() => Vec::new(),
            Shape::Bars => vec![self.bars()],
            shape => self
                .curves
                .iter()
                .enumerate()
                .flat_map(|(number, curve)| {
                    let extra = BENEATH * (self.curves.len() - 1 - number).min(6) as f64;
                    curve_plots(shape, number, extra, &self.visible(curve))
                })
                .collect(),
        };
        // With its entries, the legend knows how wide they are, and makes as many columns as have room.
        let legend = collect_legend_entries(&plots);
        let rows = legend.len() as f64;
        let layout = self
            .layout(&plots)
            .with_legend_entries(legend)
            .with_width(WIDTH)
            .with_height(HEIGHT + LEGEND_ROW * (rows - ROWS).max(0.0));
        render_multiple(plots, layout)
    }

    fn layout(&self, plots: &[Plot]) -> Layout {
        let mut layout = Layout::auto_from_plots(plots)
            .with_title(&self.title)
            .with_title_size(self.title_size())
            .with_x_label(&self.x_label)
            .with_x_label_offset(0.0, LABEL_UP)
            .with_y_label(&self.y_label)
            .with_legend_position(LegendPosition::OutsideBottomColumns);
        if self.x_scale == Scale::Log && self.categories.is_empty() {
            layout = layout.with_log_x();
        }
        if self.y_scale == Scale::Log {
            layout = layout.with_log_y();
        } else if self.lowest() >= 0.0 {
            layout = layout.with_y_axis_min(0.0);
        }
        if self.shape != Shape::Bars && !self.categories.is_empty() {
            layout = layout.with_x_categories(self.categories.clone());
        }
        let left = self.spots().map(|spot| spot.x).fold(f64::INFINITY, f64::min);
        for reference in &self.references {
            let line = ReferenceLine::horizontal(reference.value).with_color(GREY);
            layout = layout.with_reference_line(line.with_stroke_width(1.2));
            if left.is_finite() {
                let note = TextAnnotation::new(&reference.label, left, reference.value);
                layout = layout.with_annotation(note.with_color(GREY));
            }
        }
        layout
    }

    /// So that a long title has room; letters are about 0.6 times as wide as high.
    fn title_size(&self) -> u32 {
        let letters = self.title.chars().count().max(1) as f64;
        (WIDTH / (0.6 * letters)).clamp(9.0, 18.0) as u32
    }

    fn spots(&self) -> impl Iterator<Item = &Spot> {
        self.curves.iter().flat_map(|curve| &curve.spots)
    }

    fn lowest(&self) -> f64 {
        self.spots().map(|spot| spot.low).fold(f64::INFINITY, f64::min)
    }

    /// What of a curve has a place on the axes: zero has none on logarithmic ones.
    fn visible(&self, curve: &Curve) -> Curve {
        let x_log = self.x_scale == Scale::Log && self.categories.is_empty();
        let y_log = self.y_scale == Scale::Log;
        let mut curve = curve.clone();
        curve.spots.retain(|spot| (!x_log || spot.x > 0.0) && (!y_log || spot.y > 0.0));
        if y_log {
            curve
                .spots
                .iter_mut()
                .filter(|spot| spot.low <= 0.0)
                .for_each(|spot| spot.low = spot.y);
        }
        curve
    }

    fn bars(&self) -> Plot {
        let mut bars = BarPlot::new();
        let mut errors = Vec::new();
        for (place, category) in self.categories.iter().enumerate() {
            let spots: Vec<Spot> = self.curves.iter().map(|curve| spot_at(curve, place)).collect();
            let heights = spots.iter().enumerate().map(|(number, spot)| (spot.y, colour(number)));
            bars = bars.with_group(category, heights.collect::<Vec<_>>());
            errors.extend(spots.iter().map(|spot| (spot.y - spot.low, spot.high - spot.y)));
        }
        let labels = self.curves.iter().map(|curve| curve.label.as_str()).collect();
        Plot::Bar(bars.with_legend(labels).with_asymmetric_error(errors))
    }
}

/// The spot of a curve at a category; nothing is a bar without height.
fn spot_at(curve: &Curve, place: usize) -> Spot {
    let spot = curve.spots.iter().find(|spot| spot.x == place as f64);
    spot.copied().unwrap_or(Spot::exact(place as f64, 0.0))
}

/// A curve as what the library draws, its line wider by `extra`.
fn curve_plots(shape: Shape, number: usize, extra: f64, curve: &Curve) -> Vec<Plot> {
    let colour = colour(number);
    let points: Vec<(f64, f64)> = curve.spots.iter().map(|spot| (spot.x, spot.y)).collect();
    let dots =
        |size| ScatterPlot::new().with_data(points.clone()).with_color(colour).with_size(size);
    if shape == Shape::Dots {
        return vec![Plot::Scatter(dots(1.5).with_legend(&curve.label))];
    }
    let mut line = LinePlot::new()
        .with_data(points.clone())
        .with_color(colour)
        .with_line_style(stroke(number))
        .with_stroke_width(2.0 + extra)
        .with_legend(&curve.label);
    if shape == Shape::Lines {
        return vec![Plot::Line(line.with_stroke_width(1.5))];
    }
    if curve.spots.iter().any(|spot| spot.low < spot.high) {
        let low = curve.spots.iter().map(|spot| spot.low);
        let high = curve.spots.iter().map(|spot| spot.high);
        line = line.with_band(low.collect::<Vec<_>>(), high.collect::<Vec<_>>());
    }
    vec![Plot::Line(line), Plot::Scatter(dots(2.8 + extra / 2.0))]
}
