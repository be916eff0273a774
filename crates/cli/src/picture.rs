//! The picture of the demo.

use kuva::backend::svg::SvgBackend;
use kuva::plot::{BarPlot, LegendPosition, LinePlot, LineStyle};
use kuva::render::annotations::{ReferenceLine, TextAnnotation};
use kuva::render::figure::Figure;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use polypath_sim::RunResult;

/// What the picture shows.
pub(crate) struct Picture<'a> {
    /// What it is about.
    pub title: String,
    /// Names of the paths, with their capacity.
    pub paths: Vec<String>,
    /// Most goodput that all paths together can have, in bit/s.
    pub ceiling_bit_s: f64,
    /// Name of each variant, its result, and its goodput per path in bit/s.
    pub variants: Vec<(&'a str, &'a RunResult, Vec<f64>)>,
}

/// Colour, stroke and width of the variants. The colours differ in every kind of colour vision (Okabe and Ito), the
/// strokes in print too.
const VARIANTS: [(&str, LineStyle, f64); 3] = [
    ("#999999", LineStyle::Solid, 4.5),
    ("#d55e00", LineStyle::Dashed, 2.2),
    ("#0072b2", LineStyle::Solid, 2.2),
];

/// Colours of the paths: others than those of the variants, from the same set.
const PATHS: [&str; 4] = ["#009e73", "#cc79a7", "#56b4e9", "#f0e442"];

const GREY: &str = "#606060";

impl Picture<'_> {
    /// Goodput over time, and what each path contributed to its mean, as SVG.
    pub fn draw(&self) -> String {
        let plots = vec![self.over_time(), self.by_path()];
        let below = mbit(self.ceiling_bit_s) - 0.075 * self.top();
        let over_time = self
            .panel(&plots[0], "Over time")
            .with_x_label("time (s)")
            .with_annotation(note("all paths full", 0.5 * self.duration_s(), below));
        let by_path = self
            .panel(&plots[1], "Mean, by path")
            .with_x_label(" ")
            .with_annotation(note("all paths full", 1.5, below));
        let by_path = self.totals().into_iter().fold(by_path, Layout::with_annotation);
        let figure = Figure::new(1, 2)
            .with_title(&self.title)
            .with_plots(plots)
            .with_layouts(vec![over_time, by_path])
            .with_cell_size(540.0, 420.0)
            .with_spacing(30.0);
        SvgBackend::new().render_scene(&figure.render())
    }

    /// What both halves have in common: axis, and a line for what there is to have.
    fn panel(&self, plots: &[Plot], title: &str) -> Layout {
        let ceiling = ReferenceLine::horizontal(mbit(self.ceiling_bit_s))
            .with_color(GREY)
            .with_stroke_width(1.2);
        Layout::auto_from_plots(plots)
            .with_title(title)
            .with_y_label("goodput (Mbit/s)")
            .with_y_axis_min(0.0)
            .with_y_axis_max(self.top())
            .with_legend_position(LegendPosition::InsideTopLeft)
            .with_reference_line(ceiling)
    }

    fn over_time(&self) -> Vec<Plot> {
        let lines = self.variants.iter().zip(VARIANTS);
        lines
            .map(|((name, result, _), (colour, stroke, width))| {
                let points = result.series.iter().flat_map(|series| {
                    series
                        .time_s
                        .iter()
                        .copied()
                        .zip(series.goodput_bit_s.iter().copied().map(mbit))
                });
                let line = LinePlot::new().with_data(points).with_color(colour);
                Plot::Line(line.with_line_style(stroke).with_stroke_width(width).with_legend(*name))
            })
            .collect()
    }

    fn by_path(&self) -> Vec<Plot> {
        let mut bars = BarPlot::new().with_stacked().with_width(0.6);
        for (name, _, by_path) in &self.variants {
            let parts = by_path.iter().copied().map(mbit).zip(PATHS);
            bars = bars.with_group(*name, parts.collect::<Vec<_>>());
        }
        vec![Plot::Bar(bars.with_legend(self.paths.iter().map(String::as_str).collect()))]
    }

    /// The height of each bar in figures, above it.
    fn totals(&self) -> Vec<TextAnnotation> {
        let bars = self.variants.iter().zip(1..);
        bars.map(|((_, result, _), position)| {
            let height = mbit(result.goodput_bit_s);
            let text = format!("{height:.1}");
            TextAnnotation::new(text, f64::from(position), height + 0.015 * self.top())
                .with_font_size(14)
        })
        .collect()
    }

    /// End of the axis: a round number with room for the legend above everything.
    fn top(&self) -> f64 {
        let step = 10f64.powf(mbit(self.ceiling_bit_s).log10().floor());
        (mbit(self.ceiling_bit_s) * 1.45 / step).ceil() * step
    }

    fn duration_s(&self) -> f64 {
        self.variants.iter().map(|(_, result, _)| result.duration_s).fold(0.0, f64::max)
    }
}

/// A word in the picture, centred at a place.
fn note(text: &str, x: f64, y: f64) -> TextAnnotation {
    TextAnnotation::new(text, x, y).with_color(GREY)
}

fn mbit(bit_s: f64) -> f64 {
    bit_s / 1e6
}
