//! A plot of a statement: every place with its interval, and the range that the statement claims.

use maud::{Markup, PreEscaped, html};

use super::text::{interval, number};
use crate::figure::{Anchor, Canvas, Ink, Stroke, Type};
use crate::reproduce::{Answer, Row};
use crate::stats::{Estimate, Interval};
use crate::verdict::PlaceJudgement;

/// Width and height of a plot, in points.
const SIZE: [f64; 2] = [300.0, 96.0];
/// Free space around the area of the points: left, top, right, bottom.
const MARGINS: [f64; 4] = [52.0, 7.0, 6.0, 7.0];
/// Size of the text.
const TEXT: f64 = 8.0;
/// Radius of a point.
const RADIUS: f64 = 2.4;
/// Free space above and below what is drawn, as a part of its height.
const SPACE: f64 = 0.08;

/// The plot of a statement as HTML; empty if no place has a number.
pub(super) fn of(row: &Row, format: fn(f64) -> String) -> Markup {
    let places: Vec<(&PlaceJudgement, Estimate)> = row
        .places
        .iter()
        .filter_map(|place| Some((place, place.estimate.filter(|e| e.value.is_finite())?)))
        .collect();
    let Some(range) = range_of(&places) else { return Markup::default() };
    let about =
        format!("{} of {} places; the claimed range is shaded.", places.len(), row.places.len());
    let mut canvas = Canvas::new(&format!("{}: what was measured", row.id), &about);
    let frame = Frame { range, count: places.len() };
    frame.draw_claims(&mut canvas, &places);
    frame.draw_scale(&mut canvas, format);
    for (index, (place, estimate)) in places.iter().enumerate() {
        frame.draw_place(&mut canvas, index, (place, estimate), format);
    }
    let svg = canvas.finish(SIZE, None);
    html! {
        figure.plot {
            (PreEscaped(svg.svg().trim()))
        }
    }
}

/// Range of the axis, with some margin: covers all values, finite ends of intervals and finite ends of claims.
fn range_of(places: &[(&PlaceJudgement, Estimate)]) -> Option<Interval> {
    let numbers = places.iter().flat_map(|(place, estimate)| {
        let Interval { low, high } = estimate.interval;
        let claimed = place.claimed.map_or([f64::NAN; 2], |range| [range.low, range.high]);
        [estimate.value, low, high, claimed[0], claimed[1]]
    });
    let mut range = None;
    for number in numbers.filter(|number| number.is_finite()) {
        let known: Interval = range.unwrap_or(Interval { low: number, high: number });
        range = Some(Interval { low: known.low.min(number), high: known.high.max(number) });
    }
    let Interval { low, high } = range?;
    let height = if high > low { high - low } else { low.abs().max(1.0) };
    Some(Interval { low: low - SPACE * height, high: high + SPACE * height })
}

/// Maps values to positions.
struct Frame {
    range: Interval,
    count: usize,
}

impl Frame {
    fn left(&self) -> f64 {
        MARGINS[0]
    }

    fn width(&self) -> f64 {
        (SIZE[0] - MARGINS[0] - MARGINS[2]) / self.count as f64
    }

    /// Horizontal position of a place.
    fn x(&self, index: usize) -> f64 {
        self.left() + (index as f64 + 0.5) * self.width()
    }

    /// Vertical position of a value, clamped to the range.
    fn y(&self, value: f64) -> f64 {
        let Interval { low, high } = self.range;
        let [_, top, _, bottom] = MARGINS;
        let part = ((value.clamp(low, high) - low) / (high - low)).clamp(0.0, 1.0);
        SIZE[1] - bottom - part * (SIZE[1] - top - bottom)
    }

    fn draw_claims(&self, canvas: &mut Canvas, places: &[(&PlaceJudgement, Estimate)]) {
        for (index, (place, _)) in places.iter().enumerate() {
            let Some(claimed) = place.claimed.filter(|range| !range.low.is_nan()) else { continue };
            let half = self.width() / 2.0;
            let [left, right] = [self.x(index) - half, self.x(index) + half];
            let [top, bottom] = [self.y(claimed.high), self.y(claimed.low)];
            let corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
            canvas.area(&corners, Ink::Curve(2), 0.22);
        }
    }

    /// Draws the axis with labels at its ends, and the zero line.
    fn draw_scale(&self, canvas: &mut Canvas, format: fn(f64) -> String) {
        let Interval { low, high } = self.range;
        let right = SIZE[0] - MARGINS[2];
        let axis = Stroke::solid(Ink::Soft, 0.7);
        canvas.line(&[[self.left(), self.y(low)], [self.left(), self.y(high)]], axis);
        let mut labels = vec![low, high];
        if low < 0.0 && high > 0.0 {
            canvas.line(&[[self.left(), self.y(0.0)], [right, self.y(0.0)]], axis);
            labels.push(0.0);
        }
        let mut free: Vec<f64> = Vec::new();
        for label in labels.into_iter().rev() {
            let y = self.y(label);
            if free.iter().all(|other| (other - y).abs() > TEXT) {
                let kind = Type::new(TEXT, Ink::Text).anchored(Anchor::End);
                canvas.text(
                    [self.left() - 4.0, y + TEXT * 0.35],
                    kind,
                    &format(rounded(label, high - low)),
                );
                free.push(y);
            }
        }
    }

    fn draw_place(
        &self,
        canvas: &mut Canvas,
        index: usize,
        (place, estimate): (&PlaceJudgement, &Estimate),
        format: fn(f64) -> String,
    ) {
        let x = self.x(index);
        let ink = match place.verdict.into() {
            Answer::Holds => Ink::Curve(0),
            Answer::Differs => Ink::Curve(1),
            Answer::Undecided | Answer::NotRun => Ink::Curve(7),
        };
        let Interval { low, high } = estimate.interval;
        if low.is_finite() && high.is_finite() && low < high {
            let ends = [[x, self.y(low)], [x, self.y(high)]];
            canvas.line(&ends, Stroke::solid(ink, 1.1));
        }
        let name = format!(
            "{}: {} ({}), {} runs – {}",
            place.what,
            format(estimate.value),
            interval(estimate.interval, format),
            number(estimate.n as f64),
            place.verdict.name()
        );
        let centre = ([x, self.y(estimate.value)], RADIUS);
        canvas.named_circle(&name, centre, ink, Stroke::solid(ink, 0.5));
    }
}

/// Rounds a value to the resolution of an axis of this height.
fn rounded(value: f64, height: f64) -> f64 {
    let unit = 10_f64.powf(height.log10().floor() - 1.0);
    if unit.is_finite() && unit > 0.0 { (value / unit).round() * unit } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    fn place(value: f64, half_width: f64, claimed: [f64; 2], verdict: Verdict) -> PlaceJudgement {
        let [low, high] = claimed;
        PlaceJudgement {
            what: "at <1> Mbit/s".into(),
            verdict,
            estimate: Some(Estimate { value, interval: Interval::around(value, half_width), n: 9 }),
            runs_needed: None,
            claimed: Some(Interval { low, high }),
            points: Vec::new(),
        }
    }

    fn drawn(places: Vec<PlaceJudgement>) -> String {
        let mut row = crate::report::tests::row("p-1", Answer::Holds);
        row.places = places;
        of(&row, number).into_string()
    }

    #[test]
    fn every_place_has_a_point_and_its_claim() {
        let places = vec![
            place(1.0, 0.5, [0.0, f64::INFINITY], Verdict::Holds),
            place(-2.0, 0.5, [0.0, f64::INFINITY], Verdict::Differs),
            place(3.0, f64::INFINITY, [0.0, f64::INFINITY], Verdict::Undecided),
        ];
        let html = drawn(places);
        assert_eq!(html.matches("<circle").count(), 3, "{html}");
        assert_eq!(html.matches("<polygon").count(), 3, "{html}");
        // Axis, zero, and the two intervals that are known.
        assert_eq!(html.matches("<polyline").count(), 4, "{html}");
        assert!(
            html.contains("at &lt;1&gt; Mbit/s: −2 (−2.5 to −1.5), 9 runs – differs"),
            "{html}"
        );
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
    }

    #[test]
    fn what_has_no_number_has_no_plot() {
        let none =
            PlaceJudgement { estimate: None, ..place(1.0, 0.1, [0.0, 1.0], Verdict::Undecided) };
        assert_eq!(drawn(vec![none]), "");
        assert_eq!(drawn(Vec::new()), "");
        let equal = place(0.0, 0.0, [f64::NEG_INFINITY, 0.0], Verdict::Holds);
        assert!(drawn(vec![equal]).contains("<circle"));
    }

    #[test]
    fn a_higher_number_stands_higher() {
        let frame = Frame { range: Interval { low: -1.0, high: 1.0 }, count: 2 };
        assert!(frame.y(1.0) < frame.y(0.0) && frame.y(0.0) < frame.y(-1.0));
        assert_eq!(frame.y(5.0), frame.y(1.0));
        assert!(frame.x(0) < frame.x(1) && frame.x(1) < SIZE[0]);
    }
}
