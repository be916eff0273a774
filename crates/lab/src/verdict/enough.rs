//! Estimate of the runs that would decide a statement.

use super::evaluate::PlaceJudgement;
use super::rule::Verdict;
use crate::stats::{Estimate, Interval};

/// Maximum factor of the estimate over the present number of runs: the intervals of few runs are too rough for more.
const MOST: usize = 1 << 10;

/// Number of runs that would decide if the estimate stays the same and the width of its interval falls with the square root of
/// the number of runs.
pub(super) fn needed(estimate: Estimate, judged: impl Fn(&Estimate) -> Verdict) -> Option<usize> {
    let mut times = 1;
    while times < MOST {
        times *= 2;
        let half_width = estimate.interval.half_width() / (times as f64).sqrt();
        let interval = Interval::around(estimate.value, half_width);
        let n = estimate.n * times;
        if judged(&Estimate { interval, n, ..estimate }) != Verdict::Undecided {
            return Some(n);
        }
    }
    None
}

/// Why a statement is undecided, as text.
pub fn not_enough(places: &[PlaceJudgement]) -> String {
    let undecided = places.iter().filter(|place| place.verdict == Verdict::Undecided);
    let needed: Option<Vec<usize>> = undecided.map(|place| place.runs_needed).collect();
    match needed.and_then(|needed| needed.into_iter().max()) {
        Some(runs) => format!("not enough runs: up to {runs} would probably decide"),
        None => "not enough runs".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::rule;

    fn needed_of(value: f64, half_width: f64) -> Option<usize> {
        let interval = Interval::around(value, half_width);
        needed(Estimate { value, interval, n: 10 }, |e| rule::better(e.interval))
    }

    #[test]
    fn an_interval_twice_as_wide_takes_four_times_as_many_runs() {
        assert_eq!(needed_of(1.0, 1.3), Some(20));
        assert_eq!(needed_of(1.0, 2.6), Some(80));
        assert_eq!(needed_of(0.0, 1.0), None);
        assert_eq!(needed_of(1.0, f64::INFINITY), None);
    }
}
