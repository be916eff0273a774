//! What of a study is done in a directory, and what the rest costs.

use std::collections::BTreeMap;
use std::path::Path;

use rayon::ThreadPoolBuilder;

use super::estimate;
use super::journal::Journal;
use super::plan::{Cost, Plan, Shard};
use super::study::{RunError, first_target, keys};
use crate::results;
use crate::study::Study;

/// How many runs remain of each point and variant.
type Remaining = BTreeMap<(usize, usize), usize>;

/// What running a study costs, with what is done in a directory.
///
/// # Errors
/// The journal cannot be read.
pub fn cost(study: &Study, directory: &Path, shard: Shard) -> Result<Cost, RunError> {
    let first = first_target(study);
    let (mut cost, remaining) = look(study, directory, shard)?;
    let most = study.replications().until.as_ref().map_or(first, |until| until.max);
    cost.most_runs = cost.runs * most as usize / (first as usize).max(1);
    estimate::add(study, &remaining, &mut cost);
    let left = |runs: usize| runs.saturating_sub(cost.done) as f64;
    cost.most_core_s = cost.core_s * left(cost.most_runs) / left(cost.runs).max(1.0);
    if study.is_in_real_time() {
        (cost.real_s, cost.most_real_s) = (cost.core_s, cost.most_core_s);
    }
    Ok(cost)
}

/// How many runs a study has, with `until` at least, and how many of them are done in a directory.
///
/// # Errors
/// The journal cannot be read.
pub(crate) fn count(study: &Study, directory: &Path) -> Result<(usize, usize), RunError> {
    let (cost, _) = look(study, directory, Shard::WHOLE)?;
    Ok((cost.runs, cost.done))
}

/// How many runs there are and are done, and those of each point and variant that remain.
fn look(study: &Study, directory: &Path, shard: Shard) -> Result<(Cost, Remaining), RunError> {
    let path = directory.join(results::JOURNAL);
    let journal = path.exists().then(|| Journal::open(&path)).transpose()?;
    let pool = ThreadPoolBuilder::new().build()?;
    let plan = pool.install(|| Plan::of(study));
    let mut cost = Cost::default();
    let mut remaining = Remaining::new();
    let targets = vec![first_target(study); study.points().len()];
    for (point, variant, replication) in keys(study, &targets, shard) {
        cost.runs += 1;
        if journal.as_ref().is_some_and(|j| j.has(plan.id(study, point, variant, replication))) {
            cost.done += 1;
        } else {
            *remaining.entry((point, variant)).or_default() += 1;
        }
    }
    Ok((cost, remaining))
}
