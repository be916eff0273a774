//! The picture of the demo.

use polypath_lab::figure::{
    Curve, Drawing, FigureStyle, Picture, Reference, Scale, Shape, Sharing, Sheet, Spot,
};
use polypath_sim::RunResult;

/// Content of the picture.
pub(crate) struct DemoPicture<'a> {
    /// Title.
    pub title: String,
    /// Names of the paths, with their capacity.
    pub paths: Vec<String>,
    /// Maximum goodput of all paths together, in bit/s.
    pub ceiling_bit_s: f64,
    /// Name of each variant, its result, and its goodput per path in bit/s.
    pub variants: Vec<(&'a str, &'a RunResult, Vec<f64>)>,
}

/// Styles of the variants, and of the paths, without a style in both.
const VARIANTS: [usize; 3] = [7, 1, 0];
const PATHS: [usize; 4] = [2, 3, 5, 4];

impl DemoPicture<'_> {
    /// Goodput over time, and what each path contributed to its mean.
    pub fn draw(&self, style: FigureStyle) -> Drawing {
        let sheet = Sheet {
            title: self.title.clone(),
            note: String::new(),
            panels: vec![self.over_time(), self.by_path()],
            sharing: Sharing::Nothing,
        };
        sheet.draw(style)
    }

    fn over_time(&self) -> Picture {
        let lines = self.variants.iter().zip(VARIANTS);
        let curve = |((name, result, _), look): (&(&str, &RunResult, Vec<f64>), usize)| {
            let series = result.series.iter();
            let spots = series.flat_map(|series| {
                let goodput = series.goodput_bit_s.iter().copied().map(mbit);
                series.time_s.iter().zip(goodput).map(|(time, rate)| Spot::exact(*time, rate))
            });
            Curve::new(*name, look, spots.collect())
        };
        Picture {
            title: "Over time".into(),
            x_label: "time (s)".into(),
            shape: Shape::Lines,
            curves: lines.map(curve).collect(),
            ..self.panel()
        }
    }

    fn by_path(&self) -> Picture {
        let curve = |(number, path): (usize, &String)| {
            let spots = self.variants.iter().enumerate().map(|(place, (_, _, by_path))| {
                let height = by_path.get(number).copied().map_or(0.0, mbit);
                Spot::exact(place as f64, height)
            });
            Curve::new(path, PATHS[number % PATHS.len()], spots.collect())
        };
        Picture {
            title: "Mean, by path".into(),
            categories: self.variants.iter().map(|(name, _, _)| (*name).to_owned()).collect(),
            shape: Shape::StackedBars,
            curves: self.paths.iter().enumerate().map(curve).collect(),
            ..self.panel()
        }
    }

    /// The common parts of both panels: an axis, and a line at the sum of the links.
    fn panel(&self) -> Picture {
        Picture {
            title: String::new(),
            note: String::new(),
            x_label: String::new(),
            y_label: "goodput (Mbit/s)".into(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            categories: Vec::new(),
            shape: Shape::Lines,
            curves: Vec::new(),
            references: vec![Reference {
                value: mbit(self.ceiling_bit_s),
                label: "all paths full".into(),
            }],
        }
    }
}

fn mbit(bit_s: f64) -> f64 {
    bit_s / 1e6
}
