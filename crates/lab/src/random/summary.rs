//! Summary of a sample.

use serde::Serialize;

use super::case::Case;
use super::kind::Kind;
use super::measure::measures;
use super::ratio::{Distribution, Values};
use crate::study::Better;

/// Below this ratio, more paths hurt.
const HURT: f64 = 0.98;

/// Distribution of the ratios of a measure over the networks of a kind. Numbers are `None` if no network has a ratio.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Traffic and measure.
    pub traffic: String,
    /// Networks with a ratio.
    pub networks: usize,
    /// Networks without a ratio: the runs of no single path completed.
    pub without: usize,
    /// The lowest ratio.
    pub least: Option<f64>,
    /// First percentile.
    pub p1: Option<f64>,
    /// Fifth percentile.
    pub p5: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Mean.
    pub mean: Option<f64>,
    /// Fraction of the networks below 0.95.
    pub below_95: Option<f64>,
    /// Fraction of the networks below 0.98.
    pub below_98: Option<f64>,
    /// Fraction of the networks below 1.
    pub below_100: Option<f64>,
    /// Whether all paths are compared with the sum of the paths alone, and not with the best.
    pub of_sum: bool,
    /// All ratios.
    #[serde(skip)]
    pub ratios: Distribution,
}

/// A network in which more paths hurt.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Hurt {
    /// Its kind.
    pub kind: String,
    /// Its number.
    pub network: u32,
    /// What was measured.
    pub measure: String,
    /// All paths, divided by the best one alone.
    pub ratio: f64,
    /// Value of all paths; `None` if the runs did not complete.
    pub all: Option<f64>,
    /// The best path alone.
    pub best: f64,
    /// Unit of both.
    pub unit: String,
    /// Description of the network.
    pub description: String,
}

/// A summary for each measure of each kind; for rates, another one that compares with the sum of the paths alone.
pub fn summaries(kinds: &[Kind], cases: &[Case]) -> Vec<Summary> {
    let mut lines = Vec::new();
    for kind in kinds {
        let measures = measures(*kind);
        for (number, measure) in measures.iter().enumerate() {
            let label = match measures.len() {
                1 => kind.label(),
                _ => format!("{}, {}", kind.label(), measure.name),
            };
            let line = |label: String, of_sum: bool| {
                let ratio = if of_sum { Values::ratio_to_sum } else { Values::ratio };
                let of_kind = cases.iter().filter(|case| case.network.kind == *kind);
                Summary::of(
                    (label, of_sum),
                    of_kind.filter_map(|case| case.values.get(number)).map(ratio),
                )
            };
            lines.push(line(label.clone(), false));
            if measure.better == Better::Higher {
                lines.push(line(format!("{label}, of the sum"), true));
            }
        }
    }
    lines
}

/// Networks in which more paths hurt, by kind and measure, the worst first.
pub fn hurt(kinds: &[Kind], cases: &[Case]) -> Vec<Hurt> {
    let mut found = Vec::new();
    for kind in kinds {
        for (number, measure) in measures(*kind).iter().enumerate() {
            let of_kind = cases.iter().filter(|case| case.network.kind == *kind);
            let mut of_measure: Vec<Hurt> = of_kind
                .filter_map(|case| {
                    let values = case.values.get(number)?;
                    let ratio = values.ratio().filter(|ratio| *ratio < HURT)?;
                    Some(Hurt {
                        kind: kind.label(),
                        network: case.network.number,
                        measure: measure.name.clone(),
                        ratio,
                        all: values.all,
                        best: values.best()?.1,
                        unit: measure.unit.clone(),
                        description: case.network.to_string(),
                    })
                })
                .collect();
            of_measure.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
            found.extend(of_measure);
        }
    }
    found
}

impl Summary {
    fn of((traffic, of_sum): (String, bool), ratios: impl Iterator<Item = Option<f64>>) -> Self {
        let all: Vec<Option<f64>> = ratios.collect();
        let ratios = Distribution::of(all.iter().copied().flatten());
        Self {
            traffic,
            networks: ratios.sorted().len(),
            without: all.len() - ratios.sorted().len(),
            least: ratios.quantile(0.0),
            p1: ratios.quantile(0.01),
            p5: ratios.quantile(0.05),
            median: ratios.quantile(0.5),
            mean: ratios.mean(),
            below_95: ratios.below(0.95),
            below_98: ratios.below(HURT),
            below_100: ratios.below(1.0),
            of_sum,
            ratios,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Network;
    use super::*;

    fn case(kind: Kind, number: u32, values: Vec<Values>) -> Case {
        Case { network: Network::draw(kind, 1, number), values }
    }

    fn goodput(all: Option<f64>, alone: [f64; 2]) -> Vec<Values> {
        vec![Values { all, alone: alone.map(Some).to_vec(), better: Better::Higher }]
    }

    #[test]
    fn a_line_for_each_measure_and_the_worst_networks_first() {
        let kinds = [Kind::Bulk, Kind::Voice];
        let delay =
            |all, alone| Values { all: Some(all), alone: vec![Some(alone)], better: Better::Lower };
        let cases = [
            case(Kind::Bulk, 1, goodput(Some(9.0), [10.0, 2.0])),
            case(Kind::Bulk, 2, goodput(Some(12.0), [10.0, 2.0])),
            case(Kind::Bulk, 3, goodput(None, [10.0, 10.0])),
            case(Kind::Bulk, 4, goodput(Some(0.0), [0.0, 0.0])),
            case(Kind::Voice, 1, vec![delay(2.0, 2.0), delay(8.0, 4.0), delay(9.0, 9.0)]),
        ];
        let lines = summaries(&kinds, &cases);
        let names: Vec<&str> = lines.iter().map(|line| line.traffic.as_str()).collect();
        assert_eq!(names, ["bulk", "bulk, of the sum", "voice, p50", "voice, p99", "voice, max"]);
        assert_eq!((lines[0].networks, lines[0].without), (3, 1));
        assert_eq!((lines[0].least, lines[0].median), (Some(0.0), Some(0.9)));
        assert_eq!(lines[0].below_95, Some(2.0 / 3.0));
        assert_eq!(lines[1].ratios.sorted(), [0.0, 0.75, 1.0]);
        assert_eq!(lines[3].least, Some(0.5));
        let worst: Vec<(u32, &str, f64)> = hurt(&kinds, &cases)
            .iter()
            .map(|it| (it.network, it.unit.clone(), it.ratio))
            .map(|(n, u, r)| (n, if u == "ms" { "ms" } else { "Mbit/s" }, r))
            .collect();
        assert_eq!(worst, [(3, "Mbit/s", 0.0), (1, "Mbit/s", 0.9), (1, "ms", 0.5)]);
    }
}
