//! The figure of a sample: the distribution of its ratios.

use super::summary::Summary;
use crate::figure::{Curve, Picture, Scale, Shape, Spot};

/// Name of the picture in the folder of pictures.
pub const PICTURE: &str = "ratios";

/// Lower end of the axis; lower ratios, and 0, are drawn there.
const LOWEST: f64 = 0.01;

/// The empirical distribution of every line of the summary that compares with the best path alone.
pub fn picture(title: &str, summaries: &[Summary]) -> Picture {
    let mut curves: Vec<Curve> = summaries
        .iter()
        .filter(|summary| summary.networks > 0 && !summary.of_sum)
        .enumerate()
        .map(|(look, summary)| Curve::new(&summary.traffic, look, steps(summary.ratios.sorted())))
        .collect();
    curves.push(Curve::new(
        "as good as the best path alone",
        curves.len(),
        vec![Spot::exact(1.0, 0.0), Spot::exact(1.0, 100.0)],
    ));
    Picture {
        title: title.to_owned(),
        note: String::new(),
        x_label: "all paths / best path alone (below 1, more paths hurt)".into(),
        y_label: "networks with at most this ratio (%)".into(),
        x_scale: Scale::Log,
        y_scale: Scale::Linear,
        categories: Vec::new(),
        shape: Shape::Lines,
        curves,
        references: Vec::new(),
    }
}

/// An ascending step function with a step at each ratio.
fn steps(sorted: &[f64]) -> Vec<Spot> {
    let count = sorted.len() as f64;
    let step = |(rank, ratio): (usize, &f64)| {
        let x = ratio.max(LOWEST);
        let height = |rank: usize| rank as f64 * 100.0 / count;
        [Spot::exact(x, height(rank)), Spot::exact(x, height(rank + 1))]
    };
    sorted.iter().enumerate().flat_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::FigureStyle;

    #[test]
    fn a_curve_rises_from_nothing_to_all() {
        let spots = steps(&[0.0, 0.5, 2.0, 2.0]);
        let points: Vec<(f64, f64)> = spots.iter().map(|spot| (spot.x, spot.y)).collect();
        assert_eq!(points[..4], [(0.01, 0.0), (0.01, 25.0), (0.5, 25.0), (0.5, 50.0)]);
        assert_eq!(points.last(), Some(&(2.0, 100.0)));
        assert!(steps(&[]).is_empty());
    }

    #[test]
    fn it_is_drawn_with_a_curve_for_each_line() {
        let drawing = picture("a sample", &[]).draw(FigureStyle::Screen);
        assert!(drawing.svg().contains("a sample") && drawing.svg().contains("as good as"));
    }
}
