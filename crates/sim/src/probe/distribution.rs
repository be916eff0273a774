//! Statistics of times.

use polypath_units::Duration;
use serde::Serialize;

/// Statistics of times; without any, the values are none.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Distribution {
    /// Number of times.
    pub count: u64,
    /// Mean.
    pub mean_s: Option<f64>,
    /// Median; this and the other percentiles are values that occurred (nearest rank).
    pub p50_s: Option<f64>,
    /// 90th percentile.
    pub p90_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// Longest.
    pub max_s: Option<f64>,
}

impl Distribution {
    /// The statistics of these times.
    pub(super) fn of(times: impl Iterator<Item = Duration>) -> Self {
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        let count = times.len() as u64;
        let rank = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100).max(1);
            times.get(rank - 1).map(|time| time.as_secs_f64())
        };
        let sum: u128 = times.iter().map(|time| u128::from(time.as_nanos())).sum();
        Self {
            count,
            mean_s: (count > 0).then(|| sum as f64 / 1e9 / count as f64),
            p50_s: rank(50),
            p90_s: rank(90),
            p99_s: rank(99),
            max_s: rank(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let of = |times: &[u64]| Distribution::of(times.iter().map(|s| Duration::from_secs(*s)));
        assert_eq!(of(&[]), Distribution::default());
        let one = of(&[7]);
        assert_eq!([one.mean_s, one.p50_s, one.p99_s, one.max_s], [Some(7.0); 4]);
        let hundred: Vec<u64> = (1..=100).rev().collect();
        let hundred = of(&hundred);
        assert_eq!(hundred.count, 100);
        assert_eq!(hundred.mean_s, Some(50.5));
        assert_eq!([hundred.p50_s, hundred.p90_s], [Some(50.0), Some(90.0)]);
        assert_eq!([hundred.p99_s, hundred.max_s], [Some(99.0), Some(100.0)]);
    }
}
