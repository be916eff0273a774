//! Finished and missing runs of a study.

use std::collections::BTreeMap;
use std::path::Path;

use rayon::ThreadPoolBuilder;

use super::{Journal, JournalError, Plan, Shard, first_target, keys};
use crate::study::Study;

/// Finished and missing runs of a study.
#[derive(Debug, Default)]
pub(crate) struct Remaining {
    /// Runs of the study; with `until`, the minimum.
    pub runs: usize,
    /// Finished runs.
    pub done: usize,
    /// Number of remaining runs of each point and variant.
    pub left: BTreeMap<(usize, usize), usize>,
}

/// Why the missing runs cannot be determined.
#[derive(Debug, thiserror::Error)]
pub enum RemainingError {
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The threads cannot be started.
    #[error("cannot start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Progress of a part of a study in a directory; none if the directory does not exist.
///
/// # Errors
/// The journal cannot be read.
pub(crate) fn remaining(
    study: &Study,
    directory: &Path,
    shard: Shard,
) -> Result<Remaining, RemainingError> {
    let journal = Journal::of_share(directory, shard)?;
    let pool = ThreadPoolBuilder::new().build()?;
    let plan = pool.install(|| Plan::of(study, shard));
    let mut found = Remaining::default();
    let targets = vec![first_target(study); study.points().len()];
    for (point, variant, replication) in keys(study, &targets, shard) {
        found.runs += 1;
        if journal.has(plan.id(study, point, variant, replication)) {
            found.done += 1;
        } else {
            *found.left.entry((point, variant)).or_default() += 1;
        }
    }
    Ok(found)
}
