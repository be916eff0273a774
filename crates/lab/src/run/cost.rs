//! Cost of running a study.

use std::ops::AddAssign;
use std::path::Path;

use super::{RunError, estimate};
use crate::journal::{Remaining, Shard, first_target, remaining};
use crate::study::Study;

/// Cost of running a study.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize)]
pub struct Cost {
    /// Runs of the study; with `until`, the minimum.
    pub runs: usize,
    /// Maximum number of runs of the study.
    pub most_runs: usize,
    /// Runs that are done already.
    pub done: usize,
    /// Simulated time of the remaining runs, in seconds.
    pub simulated_s: f64,
    /// Data packets that the remaining runs send, estimated from trial runs.
    pub packets: f64,
    /// Time on one core that the remaining runs take, in seconds, estimated likewise.
    pub core_s: f64,
    /// The same for the maximum number of runs.
    pub most_core_s: f64,
    /// The part of `core_s` for runs in real time, which run one after the other on any number of threads.
    pub real_s: f64,
    /// The part of `most_core_s` for runs in real time.
    pub most_real_s: f64,
}

impl Cost {
    /// Duration of the runs on a number of threads, in seconds.
    pub fn time_s(&self, threads: usize) -> f64 {
        self.real_s + (self.core_s - self.real_s) / threads as f64
    }

    /// The same for the maximum number of runs.
    pub fn most_time_s(&self, threads: usize) -> f64 {
        self.most_real_s + (self.most_core_s - self.most_real_s) / threads as f64
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.most_runs += other.most_runs;
        self.done += other.done;
        self.simulated_s += other.simulated_s;
        self.packets += other.packets;
        self.core_s += other.core_s;
        self.most_core_s += other.most_core_s;
        self.real_s += other.real_s;
        self.most_real_s += other.most_real_s;
    }
}

/// Cost of running a study, given the finished runs in a directory.
///
/// # Errors
/// The journal cannot be read.
pub fn cost(study: &Study, directory: &Path, shard: Shard) -> Result<Cost, RunError> {
    let first = first_target(study);
    let Remaining { runs, done, left } = remaining(study, directory, shard)?;
    let mut cost = Cost { runs, done, ..Cost::default() };
    let most = study.replications().until.as_ref().map_or(first, |until| until.max);
    cost.most_runs = cost.runs * most as usize / (first as usize).max(1);
    estimate::add(study, &left, &mut cost);
    let rest = |runs: usize| runs.saturating_sub(cost.done) as f64;
    cost.most_core_s = cost.core_s * rest(cost.most_runs) / rest(cost.runs).max(1.0);
    if study.is_in_real_time() {
        (cost.real_s, cost.most_real_s) = (cost.core_s, cost.most_core_s);
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_make_nothing_shorter_that_takes_real_time() {
        let simulated = Cost { core_s: 8.0, most_core_s: 16.0, ..Cost::default() };
        let real = Cost { real_s: 8.0, most_real_s: 16.0, ..simulated };
        assert_eq!((simulated.time_s(2), simulated.most_time_s(2)), (4.0, 8.0));
        assert_eq!((real.time_s(2), real.most_time_s(2)), (8.0, 16.0));
        let mut both = simulated;
        both += real;
        assert_eq!((both.time_s(4), both.most_time_s(4)), (10.0, 20.0));
    }
}
