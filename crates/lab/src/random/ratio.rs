//! Ratios of all paths together to the best path alone.

use crate::study::Better;

/// Values of a measure for a network, with all paths and with each alone: means over the runs. `None` if a run did not complete.
#[derive(Clone, PartialEq, Debug)]
pub struct Values {
    /// All paths.
    pub all: Option<f64>,
    /// Each path alone.
    pub alone: Vec<Option<f64>>,
    /// Whether larger or smaller numbers are better.
    pub better: Better,
}

impl Values {
    /// Index and value of the best path alone, chosen with hindsight.
    pub fn best(&self) -> Option<(usize, f64)> {
        let known =
            self.alone.iter().enumerate().filter_map(|(place, value)| Some((place, (*value)?)));
        // Of equal ones, the first.
        known.reduce(|best, one| {
            let is_better = match self.better {
                Better::Higher => one.1 > best.1,
                Better::Lower => one.1 < best.1,
            };
            if is_better { one } else { best }
        })
    }

    /// All paths divided by the best one alone, inverted for times, so that more is always better and below 1 more paths
    /// hurt. 0 if the runs with all paths did not complete, `None` if those of no single path did.
    pub fn ratio(&self) -> Option<f64> {
        let (_, best) = self.best()?;
        let Some(all) = self.all else { return Some(0.0) };
        let ratio = match self.better {
            Better::Higher => all / best,
            Better::Lower => best / all,
        };
        Some(ratio).filter(|ratio| ratio.is_finite())
    }

    /// All paths divided by the sum of the paths alone; `None` for times.
    pub fn ratio_to_sum(&self) -> Option<f64> {
        let sum: f64 = self.alone.iter().flatten().sum();
        let is_rate = self.better == Better::Higher && self.best().is_some();
        let ratio = self.all.unwrap_or(0.0) / sum;
        Some(ratio).filter(|ratio| is_rate && ratio.is_finite())
    }
}

/// Mean of the values of runs; `None` if one of them has no value, or if there are none.
pub(super) fn mean(values: &[Option<f64>]) -> Option<f64> {
    let sum: Option<f64> = values.iter().copied().sum();
    sum.filter(|_| !values.is_empty()).map(|sum| sum / values.len() as f64)
}

/// Distribution of ratios.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Distribution(Vec<f64>);

impl Distribution {
    /// Distribution of these ratios.
    pub fn of(ratios: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = ratios.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }

    /// Ratios in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.0
    }

    /// The quantile `part` (0 to 1), by nearest rank.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let rank = (part * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.max(1) - 1).copied()
    }

    /// The mean.
    pub fn mean(&self) -> Option<f64> {
        let count = self.0.len();
        (count > 0).then(|| self.0.iter().sum::<f64>() / count as f64)
    }

    /// Fraction of the ratios below a limit.
    pub fn below(&self, limit: f64) -> Option<f64> {
        let count = self.0.len();
        let below = self.0.partition_point(|ratio| *ratio < limit);
        (count > 0).then(|| below as f64 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_paths_are_compared_with_the_best_one() {
        use Better::{Higher, Lower};
        type Case<'a> = (Better, Option<f64>, &'a [Option<f64>], [Option<f64>; 2]);
        let cases: [Case<'_>; 8] = [
            (Higher, Some(15.0), &[Some(10.0), Some(20.0)], [Some(0.75), Some(0.5)]),
            (Higher, Some(30.0), &[Some(20.0), None], [Some(1.5), Some(1.5)]),
            (Higher, None, &[Some(20.0), Some(1.0)], [Some(0.0), Some(0.0)]),
            (Higher, Some(5.0), &[Some(0.0), Some(0.0)], [None, None]),
            (Lower, Some(4.0), &[Some(3.0), Some(6.0)], [Some(0.75), None]),
            (Lower, Some(2.0), &[None, Some(3.0)], [Some(1.5), None]),
            (Lower, None, &[Some(3.0), None], [Some(0.0), None]),
            (Lower, Some(2.0), &[None, None], [None, None]),
        ];
        for (better, all, alone, expected) in cases {
            let values = Values { all, alone: alone.to_vec(), better };
            assert_eq!([values.ratio(), values.ratio_to_sum()], expected, "{values:?}");
        }
        let values = Values { all: None, alone: vec![None, Some(2.0), Some(2.0)], better: Lower };
        assert_eq!(values.best(), Some((1, 2.0)));
    }

    #[test]
    fn a_mean_needs_all_runs() {
        let cases: [(&[Option<f64>], Option<f64>); 4] = [
            (&[Some(2.5)], Some(2.5)),
            (&[Some(1.0), Some(2.0), Some(6.0)], Some(3.0)),
            (&[Some(1.0), None, Some(6.0)], None),
            (&[], None),
        ];
        for (values, expected) in cases {
            assert_eq!(mean(values), expected, "{values:?}");
        }
    }

    #[test]
    fn quantiles_are_the_nearest_ranks() {
        let hundred = Distribution::of((1..=100).rev().map(f64::from));
        for (part, expected) in [(0.0, 1.0), (0.01, 1.0), (0.05, 5.0), (0.5, 50.0), (1.0, 100.0)] {
            assert_eq!(hundred.quantile(part), Some(expected), "{part}");
        }
        assert_eq!((hundred.mean(), hundred.below(11.0)), (Some(50.5), Some(0.1)));
        let one = Distribution::of([0.98]);
        assert_eq!((one.quantile(0.01), one.quantile(0.5)), (Some(0.98), Some(0.98)));
        assert_eq!((one.below(0.98), one.below(1.0)), (Some(0.0), Some(1.0)));
        let none = Distribution::default();
        assert_eq!((none.quantile(0.5), none.mean(), none.below(1.0)), (None, None, None));
    }
}
